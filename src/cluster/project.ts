/**
 * Cuts an object as the API or a dump gives it down to the fields of objects.ts, one object at a time, so that a reader can do it
 * as a list streams in and memory holds only what the tool decides with.
 *
 * Input is not trusted. What has the wrong type is turned into the right one where that can't be mistaken (`name: 123`), else left
 * out, and counted in {@link Projector.problems}; null is absence, as in the API. Maps keep every key, `__proto__` too, as their
 * own property: look keys up with `Object.hasOwn` (see labels.ts).
 *
 * The readers below are typed against objects.ts: a field that is added there does not compile until it has a reader here.
 */
import { ownerKindOf } from './kinds.js'
import type * as o from './objects.js'
import type { KindName, KindObjects } from './snapshot.js'

/** Annotations that the tool reads; all others are dropped, for they make up a good part of a cluster's bytes. */
const ANNOTATIONS: ReadonlySet<string> = new Set([
  'argocd.argoproj.io/instance',
  'argocd.argoproj.io/tracking-id',
  'cluster-autoscaler.kubernetes.io/safe-to-evict',
  'kubernetes.io/config.mirror',
  'kubernetes.io/config.source',
  'local.path.provisioner/selected-node',
  'meta.helm.sh/release-name',
  'meta.helm.sh/release-namespace',
  'pv.kubernetes.io/bind-completed',
  'pv.kubernetes.io/bound-by-controller',
  'pv.kubernetes.io/migrated-to',
  'pv.kubernetes.io/provisioned-by',
  'scheduler.alpha.kubernetes.io/preemption-policy',
  'storage.alpha.kubernetes.io/migrated-plugins',
  'storageclass.beta.kubernetes.io/is-default-class',
  'storageclass.kubernetes.io/is-default-class',
  'volume.beta.kubernetes.io/storage-class',
  'volume.beta.kubernetes.io/storage-provisioner',
  'volume.kubernetes.io/selected-node',
  'volume.kubernetes.io/storage-provisioner',
])

/** A value was not what the API would have: told with the path to it, to be counted. */
type Complain = () => void

/** Gives the value in its right type, or undefined when there is none to be had; calls `complain` when it had to change or drop something. */
type Reader<T> = (value: unknown, complain: Complain) => T | undefined

/** The type of a field, as it is when it is there. */
type Of<T, K extends keyof T> = NonNullable<T[K]>
type ItemOf<T, K extends keyof T> = NonNullable<T[K]> extends (infer I)[] ? I : never

type NodeStatus = Of<o.Node, 'status'>
type PodStatus = Of<o.Pod, 'status'>
type VolumeSpec = Of<o.PersistentVolume, 'spec'>

type Fields<T> = { [K in keyof T]-?: Reader<NonNullable<T[K]>> }

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

const text: Reader<string> = (value, complain) => {
  if (typeof value === 'string') return value
  complain()
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : undefined
}

const integer: Reader<number> = (value, complain) => {
  if (typeof value === 'number' && Number.isFinite(value)) return value
  complain()
  return typeof value === 'string' && /^[+-]?\d{1,15}$/.test(value) ? Number(value) : undefined
}

// YAML 1.1, which kubectl's own reader follows, has more words for true and false than YAML 1.2; in a field that wants a boolean
// they mean what they meant to whoever wrote them.
const WORDS = new Map([
  ...['true', 'yes', 'on', 'y'].map((word) => [word, true] as const),
  ...['false', 'no', 'off', 'n'].map((word) => [word, false] as const),
])

const flag: Reader<boolean> = (value, complain) => {
  if (typeof value === 'boolean') return value
  complain()
  return typeof value === 'string' ? WORDS.get(value.toLowerCase()) : undefined
}

/** A quantity, or an int-or-string. */
const quantity: Reader<string | number> = (value, complain) => {
  if (typeof value === 'string' || (typeof value === 'number' && Number.isFinite(value))) return value
  complain()
  return undefined
}

/** Only that it is there counts. */
const present: Reader<object> = (value, complain) => {
  if (isMap(value)) return {}
  complain()
  return undefined
}

function list<T>(item: Reader<T>): Reader<T[]> {
  return (value, complain) => {
    if (!Array.isArray(value)) {
      complain()
      return undefined
    }
    const items: T[] = []
    for (const element of value) {
      const read = element === null || element === undefined ? undefined : item(element, complain)
      if (read === undefined) complain()
      else items.push(read)
    }
    return items
  }
}

function map<T>(item: Reader<T>, keep?: ReadonlySet<string>, whenNull?: T): Reader<Record<string, T>> {
  return (value, complain) => {
    if (!isMap(value)) {
      complain()
      return undefined
    }
    const entries: [string, T][] = []
    for (const key of Object.keys(value)) {
      if (keep !== undefined && !keep.has(key)) continue
      const read = value[key] === null ? whenNull : item(value[key], complain)
      if (read !== undefined) entries.push([key, read])
    }
    if (keep !== undefined && entries.length === 0) return undefined
    // fromEntries makes own properties of any key, which an assignment would not.
    return Object.fromEntries(entries)
  }
}

function object<T extends object>(fields: Fields<T>, defaults?: NoInfer<Partial<T>>): Reader<T> {
  const readers = Object.entries(fields) as [keyof T & string, Reader<T[keyof T & string]>][]
  return (value, complain) => {
    if (!isMap(value)) {
      complain()
      return undefined
    }
    const result: Partial<T> = {}
    for (const [key, reader] of readers) {
      const field = Object.hasOwn(value, key) ? value[key] : undefined
      const read = field === undefined || field === null ? undefined : reader(field, complain)
      if (read !== undefined) result[key] = read
      else if (defaults !== undefined && Object.hasOwn(defaults, key)) result[key] = (defaults as Partial<T>)[key]
    }
    return result as T
  }
}

// A label whose value is null is the empty string to the API.
const labels = map(text, undefined, '')
const texts = list(text)
const resourceList: Reader<o.ResourceList> = map(quantity)

const ownerReference = object<o.OwnerReference>(
  { apiVersion: text, kind: text, name: text, uid: text, controller: flag },
  { apiVersion: '', kind: '', name: '', uid: '' },
)

const metadata = object<o.ObjectMeta>(
  {
    name: text,
    namespace: text,
    uid: text,
    resourceVersion: text,
    generation: integer,
    creationTimestamp: text,
    deletionTimestamp: text,
    labels,
    annotations: map(text, ANNOTATIONS, ''),
    ownerReferences: list(ownerReference),
    finalizers: texts,
  },
  // The metadata of a template has no name. An object without one is refused in project().
  { name: '' },
)

// A requirement without a key or an operator stays, for without it the selector would take more than it should.
const requirement = object<o.LabelSelectorRequirement>(
  { key: text, operator: text, values: texts },
  { key: '', operator: '' },
)
const labelSelector = object<o.LabelSelector>({ matchLabels: labels, matchExpressions: list(requirement) })
const nodeSelector = object<o.NodeSelector>({
  nodeSelectorTerms: list(
    object<o.NodeSelectorTerm>({ matchExpressions: list(requirement), matchFields: list(requirement) }),
  ),
})

const node = object<Omit<o.Node, 'kind' | 'metadata'>>({
  spec: object<Of<o.Node, 'spec'>>({
    unschedulable: flag,
    taints: list(object<o.Taint>({ key: text, value: text, effect: text }, { key: '', effect: '' })),
    providerID: text,
  }),
  status: object<NodeStatus>({
    allocatable: resourceList,
    capacity: resourceList,
    conditions: list(object<ItemOf<NodeStatus, 'conditions'>>({ type: text, status: text }, { type: '', status: '' })),
    addresses: list(object<ItemOf<NodeStatus, 'addresses'>>({ type: text, address: text }, { type: '', address: '' })),
    nodeInfo: object<Of<NodeStatus, 'nodeInfo'>>({ kubeletVersion: text }),
    declaredFeatures: texts,
  }),
})

const resources = object<o.ResourceRequirements>({
  requests: resourceList,
  limits: resourceList,
  claims: list(object<ItemOf<o.ResourceRequirements, 'claims'>>({ name: text }, { name: '' })),
})

const claimSpec = object<o.PersistentVolumeClaimSpec>({
  accessModes: texts,
  resources,
  selector: labelSelector,
  storageClassName: text,
  volumeMode: text,
  volumeName: text,
  volumeAttributesClassName: text,
  dataSource: present,
  dataSourceRef: present,
})

const podVolume = object<o.PodVolume>(
  {
    name: text,
    emptyDir: object<Of<o.PodVolume, 'emptyDir'>>({ medium: text, sizeLimit: quantity }),
    hostPath: object<Of<o.PodVolume, 'hostPath'>>({ path: text, type: text }, { path: '' }),
    persistentVolumeClaim: object<Of<o.PodVolume, 'persistentVolumeClaim'>>(
      { claimName: text, readOnly: flag },
      { claimName: '' },
    ),
    ephemeral: object<Of<o.PodVolume, 'ephemeral'>>({
      volumeClaimTemplate: object<Of<Of<o.PodVolume, 'ephemeral'>, 'volumeClaimTemplate'>>({
        metadata,
        spec: claimSpec,
      }),
    }),
    csi: object<Of<o.PodVolume, 'csi'>>({ driver: text }, { driver: '' }),
    gcePersistentDisk: object<Of<o.PodVolume, 'gcePersistentDisk'>>({ pdName: text, readOnly: flag }, { pdName: '' }),
    awsElasticBlockStore: object<Of<o.PodVolume, 'awsElasticBlockStore'>>(
      { volumeID: text, readOnly: flag },
      { volumeID: '' },
    ),
    azureDisk: object<Of<o.PodVolume, 'azureDisk'>>({ diskName: text, readOnly: flag }, { diskName: '' }),
    rbd: object<Of<o.PodVolume, 'rbd'>>(
      { monitors: texts, image: text, pool: text, readOnly: flag },
      { monitors: [], image: '' },
    ),
    iscsi: object<Of<o.PodVolume, 'iscsi'>>(
      { iqn: text, lun: integer, targetPortal: text, readOnly: flag },
      { iqn: '' },
    ),
    cinder: object<Of<o.PodVolume, 'cinder'>>({ volumeID: text }, { volumeID: '' }),
    nfs: object<Of<o.PodVolume, 'nfs'>>({ server: text, path: text }, { server: '', path: '' }),
    azureFile: present,
    cephfs: present,
    fc: present,
    flexVolume: present,
    glusterfs: present,
    portworxVolume: present,
    vsphereVolume: present,
  },
  { name: '' },
)

const container = object<o.Container>(
  {
    name: text,
    image: text,
    restartPolicy: text,
    restartPolicyRules: list(object<ItemOf<o.Container, 'restartPolicyRules'>>({ action: text })),
    resources,
    ports: list(object<o.ContainerPort>({ containerPort: integer, hostPort: integer, hostIP: text, protocol: text })),
    volumeMounts: list(
      object<o.VolumeMount>(
        { name: text, mountPath: text, readOnly: flag, subPath: text, mountPropagation: text, bindMountOptions: texts },
        { name: '' },
      ),
    ),
    volumeDevices: list(object<ItemOf<o.Container, 'volumeDevices'>>({ name: text, devicePath: text }, { name: '' })),
  },
  { name: '' },
)

const affinityTerm = object<o.PodAffinityTerm>(
  {
    labelSelector,
    namespaces: texts,
    namespaceSelector: labelSelector,
    topologyKey: text,
    matchLabelKeys: texts,
    mismatchLabelKeys: texts,
  },
  { topologyKey: '' },
)
const podAffinity = object<Of<o.Affinity, 'podAffinity'>>({
  requiredDuringSchedulingIgnoredDuringExecution: list(affinityTerm),
})

const containerState = object<Of<o.ContainerStatus, 'state'>>({
  running: present,
  waiting: present,
  terminated: present,
})
const containerStatuses = list(
  object<o.ContainerStatus>(
    { name: text, allocatedResources: resourceList, resources, state: containerState },
    { name: '' },
  ),
)

const pod = object<Omit<o.Pod, 'kind' | 'metadata'>>({
  spec: object<o.PodSpec>({
    nodeName: text,
    schedulerName: text,
    containers: list(container),
    initContainers: list(container),
    overhead: resourceList,
    resources,
    volumes: list(podVolume),
    nodeSelector: labels,
    affinity: object<o.Affinity>({
      nodeAffinity: object<Of<o.Affinity, 'nodeAffinity'>>({
        requiredDuringSchedulingIgnoredDuringExecution: nodeSelector,
      }),
      podAffinity,
      podAntiAffinity: podAffinity,
    }),
    tolerations: list(
      object<o.Toleration>({ key: text, operator: text, value: text, effect: text, tolerationSeconds: integer }),
    ),
    topologySpreadConstraints: list(
      object<o.TopologySpreadConstraint>(
        {
          maxSkew: integer,
          topologyKey: text,
          whenUnsatisfiable: text,
          labelSelector,
          minDomains: integer,
          nodeAffinityPolicy: text,
          nodeTaintsPolicy: text,
          matchLabelKeys: texts,
        },
        { maxSkew: 1, topologyKey: '', whenUnsatisfiable: '' },
      ),
    ),
    priority: integer,
    priorityClassName: text,
    preemptionPolicy: text,
    schedulingGates: list(object<ItemOf<o.PodSpec, 'schedulingGates'>>({ name: text }, { name: '' })),
    resourceClaims: list(
      object<ItemOf<o.PodSpec, 'resourceClaims'>>(
        { name: text, resourceClaimName: text, resourceClaimTemplateName: text },
        { name: '' },
      ),
    ),
    hostNetwork: flag,
    hostPID: flag,
    hostIPC: flag,
    hostUsers: flag,
    restartPolicy: text,
    terminationGracePeriodSeconds: integer,
    os: object<Of<o.PodSpec, 'os'>>({ name: text }, { name: '' }),
  }),
  status: object<PodStatus>({
    phase: text,
    reason: text,
    startTime: text,
    nominatedNodeName: text,
    conditions: list(
      object<ItemOf<PodStatus, 'conditions'>>({ type: text, status: text, reason: text }, { type: '', status: '' }),
    ),
    containerStatuses,
    initContainerStatuses: containerStatuses,
    resources,
    allocatedResources: resourceList,
  }),
})

const persistentVolumeClaim = object<Omit<o.PersistentVolumeClaim, 'kind' | 'metadata'>>({
  spec: claimSpec,
  status: object<Of<o.PersistentVolumeClaim, 'status'>>({ phase: text, capacity: resourceList }),
})

const persistentVolume = object<Omit<o.PersistentVolume, 'kind' | 'metadata'>>({
  spec: object<VolumeSpec>({
    accessModes: texts,
    capacity: resourceList,
    claimRef: object<o.ObjectReference>({ namespace: text, name: text, uid: text, resourceVersion: text }),
    nodeAffinity: object<Of<VolumeSpec, 'nodeAffinity'>>({ required: nodeSelector }),
    persistentVolumeReclaimPolicy: text,
    storageClassName: text,
    volumeMode: text,
    volumeAttributesClassName: text,
    mountOptions: texts,
    hostPath: object<Of<VolumeSpec, 'hostPath'>>({ path: text, type: text }, { path: '' }),
    local: object<Of<VolumeSpec, 'local'>>({ path: text, fsType: text }, { path: '' }),
    csi: object<Of<VolumeSpec, 'csi'>>(
      { driver: text, volumeHandle: text, volumeAttributes: map(text, undefined, '') },
      { driver: '', volumeHandle: '' },
    ),
    nfs: object<Of<VolumeSpec, 'nfs'>>({ server: text, path: text }, { server: '', path: '' }),
    gcePersistentDisk: object<Of<VolumeSpec, 'gcePersistentDisk'>>({ pdName: text }, { pdName: '' }),
    awsElasticBlockStore: object<Of<VolumeSpec, 'awsElasticBlockStore'>>({ volumeID: text }, { volumeID: '' }),
    azureDisk: object<Of<VolumeSpec, 'azureDisk'>>({ diskName: text }, { diskName: '' }),
    azureFile: present,
    cephfs: present,
    cinder: object<Of<VolumeSpec, 'cinder'>>({ volumeID: text }, { volumeID: '' }),
    fc: present,
    flexVolume: object<Of<VolumeSpec, 'flexVolume'>>({ driver: text }, { driver: '' }),
    flocker: present,
    glusterfs: present,
    iscsi: object<Of<VolumeSpec, 'iscsi'>>({ iqn: text }, { iqn: '' }),
    photonPersistentDisk: present,
    portworxVolume: present,
    quobyte: present,
    rbd: object<Of<VolumeSpec, 'rbd'>>({ image: text }, { image: '' }),
    scaleIO: present,
    storageos: present,
    vsphereVolume: present,
  }),
  status: object<Of<o.PersistentVolume, 'status'>>({ phase: text, reason: text, message: text }),
})

const storageClass = object<Omit<o.StorageClass, 'kind' | 'metadata'>>({
  provisioner: text,
  volumeBindingMode: text,
  reclaimPolicy: text,
  allowedTopologies: list(
    object<ItemOf<o.StorageClass, 'allowedTopologies'>>({
      matchLabelExpressions: list(
        object<ItemOf<ItemOf<o.StorageClass, 'allowedTopologies'>, 'matchLabelExpressions'>>(
          { key: text, values: texts },
          { key: '' },
        ),
      ),
    }),
  ),
  parameters: map(text, undefined, ''),
})

type CSINodeDriver = ItemOf<Of<o.CSINode, 'spec'>, 'drivers'>

const csiNode = object<Omit<o.CSINode, 'kind' | 'metadata'>>({
  spec: object<Of<o.CSINode, 'spec'>>({
    drivers: list(
      object<CSINodeDriver>(
        {
          name: text,
          nodeID: text,
          topologyKeys: texts,
          allocatable: object<Of<CSINodeDriver, 'allocatable'>>({ count: integer }),
        },
        { name: '' },
      ),
    ),
  }),
})

const csiDriver = object<Omit<o.CSIDriver, 'kind' | 'metadata'>>({
  spec: object<Of<o.CSIDriver, 'spec'>>({
    storageCapacity: flag,
    attachRequired: flag,
    preventPodSchedulingIfMissing: flag,
  }),
})

const csiStorageCapacity = object<Omit<o.CSIStorageCapacity, 'kind' | 'metadata'>>({
  storageClassName: text,
  nodeTopology: labelSelector,
  capacity: quantity,
  maximumVolumeSize: quantity,
})

const volumeAttachment = object<Omit<o.VolumeAttachment, 'kind' | 'metadata'>>({
  spec: object<Of<o.VolumeAttachment, 'spec'>>({
    attacher: text,
    nodeName: text,
    source: object<Of<Of<o.VolumeAttachment, 'spec'>, 'source'>>({ persistentVolumeName: text }),
  }),
})

const podDisruptionBudget = object<Omit<o.PodDisruptionBudget, 'kind' | 'metadata'>>({
  spec: object<Of<o.PodDisruptionBudget, 'spec'>>({
    minAvailable: quantity,
    maxUnavailable: quantity,
    selector: labelSelector,
    unhealthyPodEvictionPolicy: text,
  }),
  status: object<Of<o.PodDisruptionBudget, 'status'>>({
    disruptionsAllowed: integer,
    currentHealthy: integer,
    desiredHealthy: integer,
    expectedPods: integer,
    observedGeneration: integer,
    disruptedPods: map(text),
  }),
})

const priorityClass = object<Omit<o.PriorityClass, 'kind' | 'metadata'>>({
  value: integer,
  globalDefault: flag,
  preemptionPolicy: text,
})

const readers: { [K in KindName]: Reader<Omit<KindObjects[K], 'kind' | 'metadata'>> } = {
  Node: node,
  Pod: pod,
  PersistentVolume: persistentVolume,
  PersistentVolumeClaim: persistentVolumeClaim,
  StorageClass: storageClass,
  CSINode: csiNode,
  CSIDriver: csiDriver,
  CSIStorageCapacity: csiStorageCapacity,
  VolumeAttachment: volumeAttachment,
  PodDisruptionBudget: podDisruptionBudget,
  Namespace: object<Omit<o.Namespace, 'kind' | 'metadata'>>({}),
  PriorityClass: priorityClass,
}

// An owner is kept for that it exists and for these; a field of that name means something else in some custom resource, so its
// having another type is nobody's mistake.
function ownerSpec(value: unknown): o.OwnerObject['spec'] {
  if (!isMap(value)) return undefined
  const spec: NonNullable<o.OwnerObject['spec']> = {}
  if (typeof value.replicas === 'number') spec.replicas = value.replicas
  if (typeof value.suspend === 'boolean') spec.suspend = value.suspend
  const template = isMap(value.template) && isMap(value.template.spec) ? value.template.spec : {}
  if (typeof template.nodeName === 'string') spec.template = { spec: { nodeName: template.nodeName } }
  if (typeof value.backoffLimit === 'number') spec.backoffLimit = value.backoffLimit
  if (ignoresDisruption(value.podFailurePolicy)) spec.ignoresDisruption = true
  return spec
}

/** Whether some rule of a Job's podFailurePolicy ignores pods with the condition that the eviction API sets. */
function ignoresDisruption(policy: unknown): boolean {
  const rules = isMap(policy) && Array.isArray(policy.rules) ? policy.rules : []
  return rules.some((rule) => {
    if (!isMap(rule) || rule.action !== 'Ignore' || !Array.isArray(rule.onPodConditions)) return false
    return rule.onPodConditions.some((condition) => isMap(condition) && condition.type === 'DisruptionTarget')
  })
}

/** What the projector had to change or leave out. */
export interface ProjectionProblems {
  /** Objects with at least one value of a wrong type. */
  objects: number
  /** The first of them, `Kind NAMESPACE/NAME`; null when there is none. */
  first: string | null
  /** Things in lists that are no objects or have no name; they are left out. */
  nameless: number
}

export class Projector {
  readonly problems: ProjectionProblems = { objects: 0, first: null, nameless: 0 }
  #complaints = 0
  readonly #complain: Complain = () => {
    this.#complaints++
  }

  /** The object, which came as this apiVersion, reduced to objects.ts; null when it has no name or is no object at all (counted). */
  project<K extends KindName>(kind: K, raw: unknown, apiVersion: string): KindObjects[K] | null {
    const before = this.#complaints
    const meta = this.#metadata(raw)
    const rest = meta === null ? undefined : readers[kind](raw, this.#complain)
    if (meta === null || rest === undefined) return null
    const projected = { kind, metadata: meta, ...rest } as KindObjects[K]
    if (projected.kind === 'PodDisruptionBudget' && apiVersion === 'policy/v1beta1') dropEmptySelector(projected)
    this.#count(before, kind, meta)
    return projected
  }

  /** An object that may be the controller of pods: its metadata and the little of its spec that is looked at; null as in {@link project}. */
  projectOwner(apiVersion: string, kind: string, raw: unknown): o.OwnerObject | null {
    const before = this.#complaints
    const meta = this.#metadata(raw)
    if (meta === null || !isMap(raw)) return null
    const spec = ownerSpec(raw.spec)
    this.#count(before, ownerKindOf(apiVersion, kind), meta)
    const failed = isMap(raw.status) ? raw.status.failed : undefined
    return {
      apiVersion,
      kind,
      metadata: meta,
      ...(spec === undefined ? {} : { spec }),
      ...(typeof failed === 'number' ? { status: { failed } } : {}),
    }
  }

  /** {@link problems} in sentences for the user. */
  warnings(): string[] {
    const { objects, first, nameless } = this.problems
    const warnings: string[] = []
    if (objects > 0) {
      const others = objects === 1 ? '' : ` and ${objects - 1} more`
      warnings.push(`${first}${others}: values of a wrong type in it were converted or passed over`)
    }
    if (nameless > 0) warnings.push(`${nameless} object${nameless === 1 ? '' : 's'} without a name passed over`)
    return warnings
  }

  #metadata(raw: unknown): o.ObjectMeta | null {
    const given = isMap(raw) ? raw.metadata : undefined
    const meta = isMap(given) ? metadata(given, this.#complain) : undefined
    if (meta === undefined || meta.name === '') {
      this.problems.nameless++
      return null
    }
    return meta
  }

  #count(before: number, kind: string, meta: o.ObjectMeta): void {
    if (this.#complaints === before) return
    this.problems.objects++
    this.problems.first ??= `${kind} ${meta.namespace === undefined ? '' : `${meta.namespace}/`}${meta.name}`
  }
}

/** In policy/v1beta1 an empty selector took no pod, in policy/v1 it takes all. */
function dropEmptySelector(budget: o.PodDisruptionBudget): void {
  const selector = budget.spec?.selector
  if (selector === undefined || budget.spec === undefined) return
  const { matchLabels = {}, matchExpressions = [] } = selector
  if (Object.keys(matchLabels).length === 0 && matchExpressions.length === 0) delete budget.spec.selector
}
