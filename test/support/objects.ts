import { KIND_NAMES } from '../../src/cluster/kinds.js'
import type {
  Node,
  ObjectMeta,
  OwnerObject,
  OwnerReference,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  PodDisruptionBudget,
  PodSpec,
  StorageClass,
} from '../../src/cluster/objects.js'
import type { ClusterSnapshot, KindName, KindObjects, KindStatus } from '../../src/cluster/snapshot.js'
import { ownerKind } from '../../src/drain/rules/owners.js'

/** Small builders of objects: what a test does not name is as plain as can be. */

export function node(
  name: string,
  rest: {
    labels?: Record<string, string>
    spec?: Node['spec']
    allocatable?: Record<string, string>
    status?: Node['status']
  } = {},
): Node {
  return {
    kind: 'Node',
    metadata: { name, labels: { 'kubernetes.io/hostname': name, ...rest.labels } },
    spec: rest.spec ?? {},
    status: {
      allocatable: { cpu: '4', memory: '8Gi', pods: '110', 'ephemeral-storage': '50Gi', ...rest.allocatable },
      nodeInfo: { kubeletVersion: 'v1.34.4' },
      ...rest.status,
    },
  }
}

export interface PodRest {
  node?: string
  labels?: Record<string, string>
  annotations?: Record<string, string>
  owner?: OwnerReference | null
  spec?: PodSpec
  phase?: string
  ready?: boolean
  deleting?: boolean
  status?: Pod['status']
}

export const replicaSet: OwnerReference = {
  apiVersion: 'apps/v1',
  kind: 'ReplicaSet',
  name: 'web-1',
  uid: 'rs-1',
  controller: true,
}

/** A running, ready pod `NAMESPACE/NAME` of a ReplicaSet. */
export function pod(id: string, rest: PodRest = {}): Pod {
  const [namespace = '', name = ''] = id.split('/')
  const metadata: ObjectMeta = {
    namespace,
    name,
    uid: `uid-${id}`,
    labels: rest.labels ?? {},
    annotations: rest.annotations ?? {},
  }
  const owner = rest.owner === undefined ? replicaSet : rest.owner
  if (owner !== null) metadata.ownerReferences = [owner]
  if (rest.deleting) metadata.deletionTimestamp = '2026-01-01T00:00:00Z'
  return {
    kind: 'Pod',
    metadata,
    spec: { containers: [{ name: 'app' }], ...(rest.node === undefined ? {} : { nodeName: rest.node }), ...rest.spec },
    status: {
      phase: rest.phase ?? 'Running',
      conditions: [{ type: 'Ready', status: (rest.ready ?? true) ? 'True' : 'False' }],
      ...rest.status,
    },
  }
}

export function claim(
  id: string,
  spec: PersistentVolumeClaim['spec'] = {},
  meta: Partial<ObjectMeta> = {},
): PersistentVolumeClaim {
  const [namespace = '', name = ''] = id.split('/')
  const bound = spec.volumeName !== undefined
  return {
    kind: 'PersistentVolumeClaim',
    metadata: {
      namespace,
      name,
      uid: `uid-${id}`,
      annotations: bound ? { 'pv.kubernetes.io/bind-completed': 'yes' } : {},
      ...meta,
    },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } }, ...spec },
    status: { phase: bound ? 'Bound' : 'Pending' },
  }
}

/** A volume; `on` pins it to the node with that kubernetes.io/hostname. */
export function volume(
  name: string,
  rest: {
    on?: string[]
    spec?: PersistentVolume['spec']
    phase?: string
    labels?: Record<string, string>
    claim?: string
  } = {},
): PersistentVolume {
  const [namespace, claimName] = rest.claim?.split('/') ?? []
  return {
    kind: 'PersistentVolume',
    metadata: { name, labels: rest.labels ?? {} },
    spec: {
      capacity: { storage: '1Gi' },
      accessModes: ['ReadWriteOnce'],
      persistentVolumeReclaimPolicy: 'Retain',
      ...(rest.on === undefined
        ? {}
        : {
            nodeAffinity: {
              required: {
                nodeSelectorTerms: [
                  { matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'In', values: rest.on }] },
                ],
              },
            },
          }),
      ...(rest.claim === undefined ? {} : { claimRef: { namespace, name: claimName, uid: `uid-${rest.claim}` } }),
      ...(rest.spec ?? { hostPath: { path: `/srv/${name}` } }),
    },
    status: { phase: rest.phase ?? 'Bound' },
  }
}

export function storageClass(name: string, rest: Partial<StorageClass> = {}): StorageClass {
  return {
    kind: 'StorageClass',
    metadata: { name },
    provisioner: 'rancher.io/local-path',
    volumeBindingMode: 'WaitForFirstConsumer',
    reclaimPolicy: 'Delete',
    ...rest,
  }
}

export function budget(
  id: string,
  labels: Record<string, string>,
  status: PodDisruptionBudget['status'],
  spec: PodDisruptionBudget['spec'] = {},
): PodDisruptionBudget {
  const [namespace = '', name = ''] = id.split('/')
  return {
    kind: 'PodDisruptionBudget',
    metadata: { namespace, name },
    spec: { selector: { matchLabels: labels }, ...spec },
    status,
  }
}

export function owner(
  apiVersion: string,
  kind: string,
  id: string,
  uid: string,
  rest: Partial<ObjectMeta> = {},
): OwnerObject {
  const [namespace = '', name = ''] = id.split('/')
  return { apiVersion, kind, metadata: { namespace, name, uid, ...rest } }
}

type AnyObject = KindObjects[KindName]

/** A dump of these objects: a kind of which there is none is absent, unless `kinds` says otherwise. */
export function snapshot(
  objects: readonly AnyObject[],
  rest: Partial<Omit<ClusterSnapshot, 'objects' | 'kinds'>> & { kinds?: Partial<Record<KindName, KindStatus>> } = {},
): ClusterSnapshot {
  const byKind = Object.fromEntries(KIND_NAMES.map((kind) => [kind, objects.filter((object) => object.kind === kind)]))
  const kinds = Object.fromEntries(
    KIND_NAMES.map((kind): [KindName, KindStatus] => [kind, { state: byKind[kind]?.length ? 'read' : 'absent' }]),
  ) as Record<KindName, KindStatus>
  const owners = rest.owners ?? []
  return {
    source: 'dump',
    serverVersion: null,
    objects: byKind as unknown as ClusterSnapshot['objects'],
    owners,
    ownerKinds: Object.fromEntries(owners.map((one) => [ownerKind(one), { state: 'read' }])),
    warnings: [],
    ...rest,
    kinds: { ...kinds, ...rest.kinds },
  }
}
