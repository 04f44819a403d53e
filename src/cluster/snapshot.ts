import type {
  CSIDriver,
  CSINode,
  CSIStorageCapacity,
  Namespace,
  Node,
  OwnerObject,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  PodDisruptionBudget,
  PriorityClass,
  StorageClass,
  VolumeAttachment,
} from './objects.js'

/** The kinds that are read as lists. Owners are read apart: see {@link ClusterSnapshot.owners}. */
export interface KindObjects {
  Node: Node
  Pod: Pod
  PersistentVolume: PersistentVolume
  PersistentVolumeClaim: PersistentVolumeClaim
  StorageClass: StorageClass
  CSINode: CSINode
  CSIDriver: CSIDriver
  CSIStorageCapacity: CSIStorageCapacity
  VolumeAttachment: VolumeAttachment
  PodDisruptionBudget: PodDisruptionBudget
  Namespace: Namespace
  PriorityClass: PriorityClass
}
export type KindName = keyof KindObjects

/**
 * How far a kind was read.
 * - `read`: whole (a list from the server; in a dump, at least one object of it was there)
 * - `absent`: a dump has no object of it, which may mean "none exist" or "not recorded"
 * - `failed`: the server did not give it; `reason` says why and which verb on what was refused
 * - `not-asked`: the reader saw no need for it
 */
export type KindStatus =
  | { state: 'read' }
  | { state: 'absent' }
  | { state: 'failed'; forbidden: boolean; reason: string }
  | { state: 'not-asked' }

/** `Kind.group` of a controller, e.g. `ReplicaSet.apps`, `Job.batch`, `Cluster.postgresql.cnpg.io`, `ReplicationController` (core). */
export type OwnerKind = string

/**
 * One moment of a cluster, from a server or from a dump. Plain data: it survives JSON.
 * `resourceVersion`s of the lists may differ by what happened between the requests.
 */
export interface ClusterSnapshot {
  source: 'server' | 'dump'
  /** `/version`'s gitVersion of a server, e.g. `v1.34.4`; null for a dump. */
  serverVersion: string | null
  objects: { [K in KindName]: KindObjects[K][] }
  kinds: Record<KindName, KindStatus>
  /**
   * Controllers of pods and their controllers. From a server, those that were asked for and exist; from a dump, every object
   * with an apiVersion, a kind and a name that is none of {@link KindName}.
   */
  owners: OwnerObject[]
  /** A kind that is not a key here counts as `absent`. */
  ownerKinds: Record<OwnerKind, KindStatus>
  /** What the reader wants the user to know (a file passed over, a list restarted), ready to print. */
  warnings: string[]
}
