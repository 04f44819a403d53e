/** Where the API keeps the kinds that are read as lists. */
import type { KindName } from './snapshot.js'

export interface KindLocation {
  /** API group; empty for the core. */
  group: string
  /** Newest first; an older one is asked for only when the server has no newer one. */
  versions: readonly [string, ...string[]]
  plural: string
  namespaced: boolean
}

export const KINDS: Readonly<Record<KindName, KindLocation>> = {
  Node: { group: '', versions: ['v1'], plural: 'nodes', namespaced: false },
  Pod: { group: '', versions: ['v1'], plural: 'pods', namespaced: true },
  PersistentVolume: { group: '', versions: ['v1'], plural: 'persistentvolumes', namespaced: false },
  PersistentVolumeClaim: { group: '', versions: ['v1'], plural: 'persistentvolumeclaims', namespaced: true },
  StorageClass: { group: 'storage.k8s.io', versions: ['v1'], plural: 'storageclasses', namespaced: false },
  CSINode: { group: 'storage.k8s.io', versions: ['v1'], plural: 'csinodes', namespaced: false },
  CSIDriver: { group: 'storage.k8s.io', versions: ['v1'], plural: 'csidrivers', namespaced: false },
  CSIStorageCapacity: {
    group: 'storage.k8s.io',
    versions: ['v1', 'v1beta1'],
    plural: 'csistoragecapacities',
    namespaced: true,
  },
  VolumeAttachment: { group: 'storage.k8s.io', versions: ['v1'], plural: 'volumeattachments', namespaced: false },
  PodDisruptionBudget: {
    group: 'policy',
    versions: ['v1', 'v1beta1'],
    plural: 'poddisruptionbudgets',
    namespaced: true,
  },
  Namespace: { group: '', versions: ['v1'], plural: 'namespaces', namespaced: false },
  PriorityClass: { group: 'scheduling.k8s.io', versions: ['v1'], plural: 'priorityclasses', namespaced: false },
}

export const KIND_NAMES = Object.keys(KINDS) as KindName[]

/** The API group in an apiVersion: `apps/v1` → `apps`, `v1` → the empty core group. */
export function groupOf(apiVersion: string): string {
  const slash = apiVersion.indexOf('/')
  return slash < 0 ? '' : apiVersion.slice(0, slash)
}

/**
 * The listed kind that an object is of; null when it is none. The group decides too: `nodes.longhorn.io` are no nodes.
 * The version does not: the fields that are read have not moved between them.
 */
export function kindNameOf(apiVersion: string, kind: string): KindName | null {
  if (!Object.hasOwn(KINDS, kind)) return null
  const name = kind as KindName
  return KINDS[name].group === groupOf(apiVersion) ? name : null
}

/** `Kind.group`, as {@link ClusterSnapshot.ownerKinds} is keyed; the core group leaves the kind alone. */
export function ownerKindOf(apiVersion: string, kind: string): string {
  const group = groupOf(apiVersion)
  return group === '' ? kind : `${kind}.${group}`
}

// What controllers of pods can't be, though there may be many of them in a dump. Everything else is kept: any custom resource
// may be a controller.
const NO_OWNER_GROUPS = new Set([
  'admissionregistration.k8s.io',
  'apiregistration.k8s.io',
  'authentication.k8s.io',
  'authorization.k8s.io',
  'certificates.k8s.io',
  'coordination.k8s.io',
  'discovery.k8s.io',
  'events.k8s.io',
  'flowcontrol.apiserver.k8s.io',
  'metrics.k8s.io',
  'networking.k8s.io',
  'node.k8s.io',
  'policy',
  'rbac.authorization.k8s.io',
  'scheduling.k8s.io',
  'storage.k8s.io',
])

/** Whether an object of this kind may be the controller of a pod. Of the core group only a ReplicationController is. */
export function mayOwnPods(apiVersion: string, kind: string): boolean {
  const group = groupOf(apiVersion)
  if (group === '') return kind === 'ReplicationController'
  if (group === 'apps') return kind !== 'ControllerRevision'
  return !NO_OWNER_GROUPS.has(group)
}
