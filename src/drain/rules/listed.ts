import type { ClusterSnapshot } from '../../cluster/snapshot.js'
import { ephemeralClaimName } from '../../scheduling/ephemeral.js'
import { placementOf, sourceOf } from '../../volumes/volume.js'
import type { DrainReport, ListedVolume } from '../types.js'
import { isFinished } from './drain-filters.js'

export function listedVolumes(snapshot: ClusterSnapshot, nodes: readonly string[]): ListedVolume[] {
  const { objects } = snapshot
  const podsKnown = snapshot.kinds.Pod.state === 'read'
  const uids = new Map(
    objects.PersistentVolumeClaim.map((claim) => [
      `${claim.metadata.namespace ?? ''}/${claim.metadata.name}`,
      claim.metadata.uid,
    ]),
  )
  const used = new Set<string>()
  for (const pod of objects.Pod) {
    if (isFinished(pod) || !pod.spec?.nodeName) continue
    for (const volume of pod.spec.volumes ?? []) {
      const name =
        volume.persistentVolumeClaim?.claimName ?? (volume.ephemeral ? ephemeralClaimName(pod, volume) : undefined)
      if (name !== undefined) used.add(`${pod.metadata.namespace ?? ''}/${name}`)
    }
  }
  const listed: ListedVolume[] = []
  for (const volume of objects.PersistentVolume) {
    const placement = placementOf(volume, objects.Node)
    const here =
      placement.nodes !== null && placement.nodes.length > 0 && placement.nodes.every((node) => nodes.includes(node))
    if (!here) continue
    const ref = volume.spec?.claimRef
    const claim = ref?.name ? `${ref.namespace ?? ''}/${ref.name}` : null
    const phase = volume.status?.phase ?? ''
    const released = phase === 'Released' || phase === 'Failed'
    // Without pods nobody can tell what is in use. A claim of the same name with another uid is not this volume's.
    const sameClaim = claim !== null && (!ref?.uid || !uids.get(claim) || uids.get(claim) === ref.uid)
    if (!released && (!podsKnown || (claim !== null && sameClaim && used.has(claim)))) continue
    listed.push({
      name: volume.metadata.name,
      phase,
      source: sourceOf(volume),
      pinnedTo: placement.nodes ?? [],
      claim,
      reason: released ? 'released' : 'unused',
    })
  }
  return listed.sort((a, b) => (a.name < b.name ? -1 : 1))
}

/** Claims that wait to be provisioned on a node of the call (volume.kubernetes.io/selected-node). */
export function unboundClaims(snapshot: ClusterSnapshot, nodes: readonly string[]): DrainReport['claims'] {
  return snapshot.objects.PersistentVolumeClaim.flatMap((claim) => {
    const selectedNode = claim.metadata.annotations?.['volume.kubernetes.io/selected-node']
    if (selectedNode === undefined || !nodes.includes(selectedNode) || claim.spec?.volumeName) return []
    return [{ namespace: claim.metadata.namespace ?? '', name: claim.metadata.name, selectedNode }]
  }).sort((a, b) => (`${a.namespace}/${a.name}` < `${b.namespace}/${b.name}` ? -1 : 1))
}
