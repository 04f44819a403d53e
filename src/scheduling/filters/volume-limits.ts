import type { CSINode, PersistentVolumeClaim } from '../../cluster/objects.js'
import { type ClusterState, classOfClaim, type PodInfo } from '../cluster-state.js'
import { ephemeralClaimName } from '../ephemeral.js'
import { type Filter, resolvable, skip } from '../filter.js'

function claimsOf(pod: PodInfo): string[] {
  return (pod.pod.spec?.volumes ?? []).flatMap((volume) => {
    if (volume.persistentVolumeClaim) return [volume.persistentVolumeClaim.claimName]
    return volume.ephemeral ? [ephemeralClaimName(pod.pod, volume)] : []
  })
}

/** The CSI driver and a unique handle of the claim's volume; of a claim without one, its class's provisioner. null: no CSI volume. */
function driverOf(claim: PersistentVolumeClaim, cluster: ClusterState): { driver: string; handle: string } | null {
  const volume = cluster.volumes.get(claim.spec?.volumeName ?? '')
  if (volume !== undefined) {
    const csi = volume.spec?.csi
    return csi ? { driver: csi.driver, handle: csi.volumeHandle } : null
  }
  const provisioner = cluster.classes.get(classOfClaim(claim))?.provisioner
  return provisioner
    ? { driver: provisioner, handle: `unbound:${claim.metadata.namespace}/${claim.metadata.name}` }
    : null
}

function attachable(pod: PodInfo, cluster: ClusterState): Map<string, string> {
  const drivers = new Map<string, string>()
  for (const name of claimsOf(pod)) {
    const claim = cluster.claims.get(`${pod.namespace}/${name}`)
    const found = claim === undefined ? null : driverOf(claim, cluster)
    if (found !== null) drivers.set(`${found.driver}/${found.handle}`, found.driver)
  }
  return drivers
}

function isInstalled(driver: string, csiNode: CSINode | undefined): boolean {
  return csiNode?.spec?.drivers?.some((entry) => entry.name === driver) ?? false
}

/** How many volumes a CSI driver attaches to a node (CSINode). In-tree volumes that migrate to CSI are not counted here. */
export const volumeLimits: Filter = {
  name: 'NodeVolumeLimits',
  prepare(pod, cluster) {
    if (claimsOf(pod).length === 0) return skip
    const wanted = attachable(pod, cluster)
    const tooMany = resolvable('node(s) exceed max volume count')
    return {
      kind: 'check',
      filter: {
        check(node) {
          if (wanted.size === 0) return null
          const csiNode = cluster.csiNodes.get(node.name)
          if (cluster.rules.requiresDriver) {
            for (const driver of wanted.values()) {
              const required = cluster.csiDrivers.get(driver)?.spec?.preventPodSchedulingIfMissing === true
              if (required && !isInstalled(driver, csiNode))
                return resolvable(`${driver} CSI driver is not installed on the node`)
            }
          }
          const limits = new Map<string, number>()
          for (const { name, allocatable } of csiNode?.spec?.drivers ?? []) {
            if (allocatable?.count !== undefined && allocatable.count !== null) limits.set(name, allocatable.count)
          }
          if (limits.size === 0) return null

          const attached = new Map<string, string>()
          for (const other of node.pods) {
            for (const [id, driver] of attachable(other, cluster)) attached.set(id, driver)
          }
          const count = new Map<string, number>()
          const add = (driver: string) => count.set(driver, (count.get(driver) ?? 0) + 1)
          const held = new Map(attached)
          const attachments = cluster.rules.countsAttachments ? cluster.attachmentsByNode.get(node.name) : undefined
          for (const { spec } of attachments ?? []) {
            const csi = cluster.volumes.get(spec?.source?.persistentVolumeName ?? '')?.spec?.csi
            if (spec?.attacher && csi) held.set(`${spec.attacher}/${csi.volumeHandle}`, spec.attacher)
          }
          for (const driver of held.values()) add(driver)
          const fresh = new Map<string, number>()
          for (const [id, driver] of wanted) {
            if (!attached.has(id)) fresh.set(driver, (fresh.get(driver) ?? 0) + 1)
          }
          for (const [driver, more] of fresh) {
            const limit = limits.get(driver)
            if (limit !== undefined && (count.get(driver) ?? 0) + more > limit) return tooMany
          }
          return null
        },
      },
    }
  },
}
