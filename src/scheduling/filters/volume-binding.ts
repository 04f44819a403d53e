import { matchesLabelSelector } from '../../cluster/labels.js'
import type { PersistentVolume, PersistentVolumeClaim, StorageClass } from '../../cluster/objects.js'
import { type ClusterState, classOfClaim, classOfVolume, type NodeState, type PodInfo } from '../cluster-state.js'
import { ephemeralClaimName } from '../ephemeral.js'
import { type Filter, type Preparation, skip, unresolvable } from '../filter.js'
import { nodeSelectorMatches } from '../node-selector.js'
import { quantityValue } from '../quantity.js'

/** A volume's node affinity is matched with the node's labels only. */
function volumeAllowsNode(volume: PersistentVolume, node: NodeState): boolean {
  const required = volume.spec?.nodeAffinity?.required
  return !required || nodeSelectorMatches(required, node.labels, null)
}

/** component-helpers/storage/volume IsVolumeBoundToClaim. */
function isBoundTo(volume: PersistentVolume, claim: PersistentVolumeClaim): boolean {
  const ref = volume.spec?.claimRef
  if (!ref || ref.name !== claim.metadata.name || ref.namespace !== claim.metadata.namespace) return false
  return !ref.uid || ref.uid === claim.metadata.uid
}

const sizeOfClaim = (claim: PersistentVolumeClaim): number => quantityValue(claim.spec?.resources?.requests?.storage)
const sizeOfVolume = (volume: PersistentVolume): number => quantityValue(volume.spec?.capacity?.storage)
const modeOf = (spec: { volumeMode?: string } | undefined): string => spec?.volumeMode || 'Filesystem'

/** component-helpers/storage/volume FindMatchingVolume, as the scheduler calls it: the smallest Available volume that fits. */
function findVolume(
  claim: PersistentVolumeClaim,
  volumes: readonly PersistentVolume[],
  node: NodeState,
  taken: ReadonlySet<PersistentVolume>,
): PersistentVolume | null {
  let smallest: PersistentVolume | null = null
  for (const volume of volumes) {
    if (taken.has(volume)) continue
    const boundToClaim = isBoundTo(volume, claim)
    if (volume.spec?.claimRef && !boundToClaim) continue
    if (sizeOfVolume(volume) < sizeOfClaim(claim)) continue
    if (modeOf(volume.spec) !== modeOf(claim.spec)) continue
    if ((volume.spec?.volumeAttributesClassName ?? '') !== (claim.spec?.volumeAttributesClassName ?? '')) continue
    if (volume.metadata.deletionTimestamp) continue
    const allowed = volumeAllowsNode(volume, node)
    if (boundToClaim) return allowed ? volume : null
    if (volume.status?.phase !== 'Available') continue
    if (claim.spec?.selector && !matchesLabelSelector(claim.spec.selector, volume.metadata.labels)) continue
    if (classOfVolume(volume) !== classOfClaim(claim) || !allowed) continue
    const modes = volume.spec?.accessModes ?? []
    if (!(claim.spec?.accessModes ?? []).every((mode) => modes.includes(mode))) continue
    if (smallest === null || sizeOfVolume(volume) < sizeOfVolume(smallest)) smallest = volume
  }
  return smallest
}

/** The node that the scheduler has chosen for a volume that is yet to be provisioned. */
function selectedNode(claim: PersistentVolumeClaim): string | undefined {
  return claim.metadata.annotations?.['volume.kubernetes.io/selected-node']
}

/** StorageClass.allowedTopologies; none allows every node, a term without expressions none. */
function topologyAllows(storageClass: StorageClass, node: NodeState): boolean {
  const terms = storageClass.allowedTopologies ?? []
  if (terms.length === 0) return true
  return terms.some(
    ({ matchLabelExpressions = [] }) =>
      matchLabelExpressions.length > 0 &&
      matchLabelExpressions.every(
        ({ key, values = [] }) => Object.hasOwn(node.labels, key) && values.includes(node.labels[key] ?? ''),
      ),
  )
}

/** Only drivers that publish their capacity (CSIDriver.storageCapacity) are asked for it. */
function hasCapacity(
  claim: PersistentVolumeClaim,
  storageClass: StorageClass,
  node: NodeState,
  cluster: ClusterState,
): boolean {
  if (claim.spec?.resources?.requests?.storage === undefined) return true
  if (cluster.csiDrivers.get(storageClass.provisioner ?? '')?.spec?.storageCapacity !== true) return true
  return (cluster.capacitiesByClass.get(storageClass.metadata.name) ?? []).some((capacity) => {
    const limit = capacity.maximumVolumeSize ?? capacity.capacity
    if (limit === undefined || limit === null || quantityValue(limit) < sizeOfClaim(claim)) return false
    return Boolean(capacity.nodeTopology) && matchesLabelSelector(capacity.nodeTopology, node.labels)
  })
}

/** The volumes that these claims (the smallest first) find on the node, and those claims that find none. */
function matchVolumes(claims: readonly PersistentVolumeClaim[], node: NodeState, cluster: ClusterState) {
  const taken = new Set(cluster.reserved)
  const found: PersistentVolume[] = []
  const toProvision: PersistentVolumeClaim[] = []
  for (const claim of claims) {
    const volumes = cluster.volumesByClass.get(classOfClaim(claim)) ?? []
    const volume = selectedNode(claim) === undefined ? findVolume(claim, volumes, node, taken) : null
    if (volume === null) toProvision.push(claim)
    else {
      found.push(volume)
      taken.add(volume)
    }
  }
  return { found, toProvision }
}

/**
 * The claims that wait for their pod to be scheduled: first those whose provisioner has been told, in the pod's order (the first
 * that can't be provisioned gives the reason), then the smallest first, so that small ones do not take the large volumes.
 */
function delayedClaims(claims: readonly PersistentVolumeClaim[]): PersistentVolumeClaim[] {
  const waiting = claims.filter((claim) => !claim.spec?.volumeName)
  const told = waiting.filter((claim) => selectedNode(claim) !== undefined)
  const toMatch = waiting.filter((claim) => selectedNode(claim) === undefined)
  return [...told, ...toMatch.sort((a, b) => sizeOfClaim(a) - sizeOfClaim(b))]
}

/** The free volumes that the pod's claims bind to when the pod is placed on the node. */
export function volumesToBind(pod: PodInfo, node: NodeState, cluster: ClusterState): PersistentVolume[] {
  const claims = pod.claims.flatMap((name) => cluster.claims.get(`${pod.namespace}/${name}`) ?? [])
  return claims.length === 0 ? [] : matchVolumes(delayedClaims(claims), node, cluster).found
}

type Provision = 'possible' | 'impossible' | 'no-space'

function provision(claims: readonly PersistentVolumeClaim[], node: NodeState, cluster: ClusterState): Provision {
  for (const claim of claims) {
    const storageClass = cluster.classes.get(classOfClaim(claim))
    if (!storageClass?.provisioner || storageClass.provisioner === 'kubernetes.io/no-provisioner') return 'impossible'
    if (!topologyAllows(storageClass, node)) return 'impossible'
    if (!hasCapacity(claim, storageClass, node, cluster)) return 'no-space'
  }
  return 'possible'
}

function reject(reason: string): Preparation {
  return { kind: 'reject', rejection: unresolvable(reason) }
}

/**
 * Bound claims must have a volume that the node may use; claims of a WaitForFirstConsumer class must find a volume there or be
 * provisioned there; other unbound claims keep the pod from every node.
 */
export const volumeBinding: Filter = {
  name: 'VolumeBinding',
  prepare(pod, cluster) {
    const claims: PersistentVolumeClaim[] = []
    for (const volume of pod.pod.spec?.volumes ?? []) {
      if (!volume.persistentVolumeClaim && !volume.ephemeral) continue
      const name = volume.persistentVolumeClaim?.claimName ?? ephemeralClaimName(pod.pod, volume)
      const claim = cluster.claims.get(`${pod.namespace}/${name}`)
      if (claim === undefined) {
        return reject(
          volume.ephemeral
            ? `waiting for ephemeral volume controller to create the persistentvolumeclaim "${name}"`
            : `persistentvolumeclaim "${name}" not found`,
        )
      }
      if (claim.status?.phase === 'Lost') {
        return reject(
          `persistentvolumeclaim "${name}" bound to non-existent persistentvolume "${claim.spec?.volumeName ?? ''}"`,
        )
      }
      if (claim.metadata.deletionTimestamp) return reject(`persistentvolumeclaim "${name}" is being deleted`)
      claims.push(claim)
    }
    if (claims.length === 0) return skip

    const bound: PersistentVolumeClaim[] = []
    const unbound: PersistentVolumeClaim[] = []
    for (const claim of claims) {
      const volumeName = claim.spec?.volumeName ?? ''
      if (volumeName !== '' && claim.metadata.annotations?.['pv.kubernetes.io/bind-completed'] !== undefined)
        bound.push(claim)
      else {
        const waits = cluster.classes.get(classOfClaim(claim))?.volumeBindingMode === 'WaitForFirstConsumer'
        if (!waits || volumeName !== '') return reject('pod has unbound immediate PersistentVolumeClaims')
        unbound.push(claim)
      }
    }
    const delayed = delayedClaims(unbound)

    const check = (node: NodeState) => {
      let boundFound = true
      let boundMatch = true
      for (const claim of bound) {
        const volume = cluster.volumes.get(claim.spec?.volumeName ?? '')
        if (volume === undefined) boundFound = false
        else if (!volumeAllowsNode(volume, node)) boundMatch = false
        else continue
        break
      }
      let result: Provision = 'possible'
      const elsewhere = delayed.some((claim) => (selectedNode(claim) ?? node.name) !== node.name)
      if (elsewhere) result = 'impossible'
      else {
        const { toProvision } = matchVolumes(delayed, node, cluster)
        result = provision(toProvision, node, cluster)
      }
      const reasons: string[] = []
      if (!boundMatch) reasons.push(cluster.rules.nodeConflict)
      if (result === 'impossible') reasons.push("node(s) didn't find available persistent volumes to bind")
      if (result === 'no-space') reasons.push('node(s) did not have enough free storage')
      if (!boundFound) reasons.push('node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)')
      return reasons.length === 0 ? null : unresolvable(...reasons)
    }
    return { kind: 'check', filter: { check } }
  },
}
