import type { PersistentVolumeClaim, Pod } from '../../cluster/objects.js'
import type { ClusterSnapshot, KindName } from '../../cluster/snapshot.js'
import { isBound } from '../../volumes/volume.js'

/** Names that `kubectl get` takes, for the advice how to complete a dump. */
const resourceOf: Readonly<Record<KindName, string>> = {
  Node: 'nodes',
  Pod: 'pods',
  PersistentVolume: 'persistentvolumes',
  PersistentVolumeClaim: 'persistentvolumeclaims',
  StorageClass: 'storageclasses',
  CSINode: 'csinodes',
  CSIDriver: 'csidrivers',
  CSIStorageCapacity: 'csistoragecapacities',
  VolumeAttachment: 'volumeattachments',
  PodDisruptionBudget: 'poddisruptionbudgets',
  Namespace: 'namespaces',
  PriorityClass: 'priorityclasses',
}

const namespaced: ReadonlySet<KindName> = new Set([
  'Pod',
  'PersistentVolumeClaim',
  'CSIStorageCapacity',
  'PodDisruptionBudget',
])

export interface Coverage {
  /** Kinds that are needed and are not there. */
  missing: Map<KindName, string>
  /** Kinds whose absence is taken to mean that there is no such object. */
  takenAsNone: KindName[]
  /** Volumes of evicted pods that can't be judged: NS/POD → volume name → what is missing. */
  unknownVolumes: Map<string, Map<string, string>>
}

function usesNamespaceSelector(pod: Pod): boolean {
  const affinity = pod.spec?.affinity
  return [affinity?.podAffinity, affinity?.podAntiAffinity].some((group) =>
    (group?.requiredDuringSchedulingIgnoredDuringExecution ?? []).some(
      (term) => Object.keys(term.namespaceSelector ?? {}).length > 0,
    ),
  )
}

/**
 * Which kinds the question needs and the snapshot lacks. A dump that has no object of a kind may come from a cluster that has
 * none: it counts as missing only when something else says that there must be one.
 */
export function coverageOf(snapshot: ClusterSnapshot, evicted: readonly Pod[]): Coverage {
  const { kinds, objects } = snapshot
  const missing = new Map<KindName, string>()
  const takenAsNone: KindName[] = []
  const unknownVolumes = new Map<string, Map<string, string>>()
  const lacks = (kind: KindName) =>
    kinds[kind].state === 'absent' || kinds[kind].state === 'failed' || kinds[kind].state === 'not-asked'
  const need = (kind: KindName, because: string) => {
    if (!missing.has(kind)) missing.set(kind, because)
  }

  for (const kind of ['Node', 'Pod'] as const) if (lacks(kind)) need(kind, 'nothing can be judged without them')
  const claims = new Map(
    objects.PersistentVolumeClaim.map((claim) => [`${claim.metadata.namespace ?? ''}/${claim.metadata.name}`, claim]),
  )
  const volumes = new Map(objects.PersistentVolume.map((volume) => [volume.metadata.name, volume]))
  const classes = new Set(objects.StorageClass.map((storageClass) => storageClass.metadata.name))

  for (const pod of evicted) {
    const key = `${pod.metadata.namespace ?? ''}/${pod.metadata.name}`
    const unknown = (volume: string, kind: KindName, because: string) => {
      need(kind, because)
      const ofPod = unknownVolumes.get(key) ?? new Map<string, string>()
      unknownVolumes.set(key, ofPod.set(volume, because))
    }
    for (const volume of pod.spec?.volumes ?? []) {
      if (volume.ephemeral && lacks('StorageClass')) {
        unknown(volume.name, 'StorageClass', `pod ${key} has the ephemeral volume ${volume.name}`)
      }
      const name = volume.persistentVolumeClaim?.claimName
      if (name === undefined) continue
      if (lacks('PersistentVolumeClaim')) {
        unknown(volume.name, 'PersistentVolumeClaim', `pod ${key} names the claim ${name}`)
        continue
      }
      const claim: PersistentVolumeClaim | undefined = claims.get(`${pod.metadata.namespace ?? ''}/${name}`)
      if (claim === undefined) continue
      const claimName = `claim ${pod.metadata.namespace}/${name}`
      if (claim.spec?.volumeName && lacks('PersistentVolume') && !isBound(claim)) {
        // Not bound yet: the scheduler does not look at the volume, but what the claim waits for can't be said.
        need('PersistentVolume', `${claimName} names the volume ${claim.spec.volumeName}`)
      } else if (claim.spec?.volumeName && lacks('PersistentVolume')) {
        unknown(volume.name, 'PersistentVolume', `${claimName} names the volume ${claim.spec.volumeName}`)
      } else if (!isBound(claim) && !claim.spec?.volumeName && claim.spec?.storageClassName && lacks('StorageClass')) {
        unknown(volume.name, 'StorageClass', `${claimName} waits for a volume of class ${claim.spec.storageClassName}`)
      } else if (!isBound(claim) && classes.has(claim.spec?.storageClassName ?? '') && lacks('PersistentVolume')) {
        // Unbound claims look for a free volume: none recorded may well mean that there is none.
        if (!takenAsNone.includes('PersistentVolume')) takenAsNone.push('PersistentVolume')
      }
    }
    if (usesNamespaceSelector(pod) && lacks('Namespace'))
      need('Namespace', `pod ${key} has an affinity with a namespaceSelector`)
  }
  if (lacks('Namespace') && objects.Pod.some(usesNamespaceSelector)) {
    need('Namespace', 'some pods have an affinity with a namespaceSelector')
  }
  if (evicted.length > 0 && lacks('PodDisruptionBudget')) takenAsNone.push('PodDisruptionBudget')
  const csi = evicted.some((pod) =>
    (pod.spec?.volumes ?? []).some((volume) => {
      const claim = claims.get(`${pod.metadata.namespace ?? ''}/${volume.persistentVolumeClaim?.claimName ?? ''}`)
      return (
        volumes.get(claim?.spec?.volumeName ?? '')?.spec?.csi !== undefined || (claim !== undefined && !isBound(claim))
      )
    }),
  )
  if (csi) {
    for (const kind of ['CSINode', 'CSIDriver', 'CSIStorageCapacity'] as const) if (lacks(kind)) takenAsNone.push(kind)
  }
  return { missing, takenAsNone, unknownVolumes }
}

/** Warnings, ready to print: what is missing and how to record it; and what was taken as none. */
export function coverageWarnings(snapshot: ClusterSnapshot, { missing, takenAsNone }: Coverage): string[] {
  const warnings: string[] = []
  for (const [kind, because] of missing) {
    const status = snapshot.kinds[kind]
    if (status.state === 'failed') continue
    warnings.push(
      `no ${kind} in the dump, but ${because}: record them too (kubectl get ${resourceOf[kind]}${namespaced.has(kind) ? ' -A' : ''} -o yaml)`,
    )
  }
  for (const status of Object.values(snapshot.kinds)) {
    if (status.state === 'failed') warnings.push(`${status.reason}; what depends on them is not judged`)
  }
  const none = takenAsNone.filter((kind) => snapshot.kinds[kind].state === 'absent')
  if (none.length > 0) warnings.push(`no ${none.join(', ')} in the dump: taken to mean that the cluster has none`)
  return warnings
}
