/**
 * The Kubernetes objects this tool reads, reduced to the fields it decides with.
 * Names, nesting and units are those of the API (k8s.io/api core/v1, storage/v1, policy/v1, apps/v1), so that an object of a
 * dump or of a server can be used as it is; what is not listed here is dropped when lists are read (see project.ts).
 */

export interface OwnerReference {
  apiVersion: string
  kind: string
  name: string
  uid: string
  controller?: boolean
}

export interface ObjectMeta {
  name: string
  namespace?: string
  uid?: string
  resourceVersion?: string
  generation?: number
  creationTimestamp?: string
  deletionTimestamp?: string
  labels?: Record<string, string>
  annotations?: Record<string, string>
  ownerReferences?: OwnerReference[]
  finalizers?: string[]
}

export interface LabelSelectorRequirement {
  key: string
  operator: string
  values?: string[]
}

export interface LabelSelector {
  matchLabels?: Record<string, string>
  matchExpressions?: LabelSelectorRequirement[]
}

export interface NodeSelectorTerm {
  matchExpressions?: LabelSelectorRequirement[]
  matchFields?: LabelSelectorRequirement[]
}

export interface NodeSelector {
  nodeSelectorTerms?: NodeSelectorTerm[]
}

/** Resource name to quantity, as the API writes quantities ("100m", "2Gi"; a number in hand-made YAML). */
export type ResourceList = Record<string, string | number>

export interface Taint {
  key: string
  value?: string
  effect: string
}

export interface Node {
  kind: 'Node'
  metadata: ObjectMeta
  spec?: { unschedulable?: boolean; taints?: Taint[]; providerID?: string }
  status?: {
    allocatable?: ResourceList
    capacity?: ResourceList
    conditions?: { type: string; status: string }[]
    addresses?: { type: string; address: string }[]
    nodeInfo?: { kubeletVersion?: string }
    declaredFeatures?: string[]
  }
}

export interface Toleration {
  key?: string
  operator?: string
  value?: string
  effect?: string
  tolerationSeconds?: number
}

export interface ContainerPort {
  containerPort?: number
  hostPort?: number
  hostIP?: string
  protocol?: string
}

export interface ResourceRequirements {
  requests?: ResourceList
  limits?: ResourceList
  claims?: { name: string }[]
}

export interface VolumeMount {
  name: string
  mountPath?: string
  readOnly?: boolean
  subPath?: string
  mountPropagation?: string
  bindMountOptions?: string[]
}

export interface Container {
  name: string
  image?: string
  restartPolicy?: string
  restartPolicyRules?: { action?: string }[]
  resources?: ResourceRequirements
  ports?: ContainerPort[]
  volumeMounts?: VolumeMount[]
  volumeDevices?: { name: string; devicePath?: string }[]
}

/** A pod's volume. Sources that the tool has no rule for are dropped; the name stays. */
export interface PodVolume {
  name: string
  emptyDir?: { medium?: string; sizeLimit?: string | number }
  hostPath?: { path: string; type?: string }
  persistentVolumeClaim?: { claimName: string; readOnly?: boolean }
  ephemeral?: { volumeClaimTemplate?: { metadata?: ObjectMeta; spec?: PersistentVolumeClaimSpec } }
  csi?: { driver: string }
  gcePersistentDisk?: { pdName: string; readOnly?: boolean }
  awsElasticBlockStore?: { volumeID: string; readOnly?: boolean }
  azureDisk?: { diskName: string; readOnly?: boolean }
  rbd?: { monitors: string[]; image: string; pool?: string; readOnly?: boolean }
  iscsi?: { iqn: string; lun?: number; targetPortal?: string; readOnly?: boolean }
  cinder?: { volumeID: string }
  nfs?: { server: string; path: string }
  azureFile?: object
  cephfs?: object
  fc?: object
  flexVolume?: object
  glusterfs?: object
  portworxVolume?: object
  vsphereVolume?: object
}

export interface PodAffinityTerm {
  labelSelector?: LabelSelector
  namespaces?: string[]
  namespaceSelector?: LabelSelector
  topologyKey: string
  matchLabelKeys?: string[]
  mismatchLabelKeys?: string[]
}

export interface Affinity {
  nodeAffinity?: { requiredDuringSchedulingIgnoredDuringExecution?: NodeSelector }
  podAffinity?: { requiredDuringSchedulingIgnoredDuringExecution?: PodAffinityTerm[] }
  podAntiAffinity?: { requiredDuringSchedulingIgnoredDuringExecution?: PodAffinityTerm[] }
}

export interface TopologySpreadConstraint {
  maxSkew: number
  topologyKey: string
  whenUnsatisfiable: string
  labelSelector?: LabelSelector
  minDomains?: number
  nodeAffinityPolicy?: string
  nodeTaintsPolicy?: string
  matchLabelKeys?: string[]
}

export interface PodSpec {
  nodeName?: string
  schedulerName?: string
  containers?: Container[]
  initContainers?: Container[]
  overhead?: ResourceList
  resources?: ResourceRequirements
  volumes?: PodVolume[]
  nodeSelector?: Record<string, string>
  affinity?: Affinity
  tolerations?: Toleration[]
  topologySpreadConstraints?: TopologySpreadConstraint[]
  priority?: number
  priorityClassName?: string
  preemptionPolicy?: string
  schedulingGates?: { name: string }[]
  resourceClaims?: { name: string; resourceClaimName?: string; resourceClaimTemplateName?: string }[]
  hostNetwork?: boolean
  hostPID?: boolean
  hostIPC?: boolean
  hostUsers?: boolean
  restartPolicy?: string
  terminationGracePeriodSeconds?: number
  os?: { name: string }
}

export interface ContainerStatus {
  name: string
  allocatedResources?: ResourceList
  resources?: ResourceRequirements
  state?: { running?: object; waiting?: object; terminated?: object }
}

export interface Pod {
  kind: 'Pod'
  metadata: ObjectMeta
  spec?: PodSpec
  status?: {
    phase?: string
    reason?: string
    startTime?: string
    nominatedNodeName?: string
    conditions?: { type: string; status: string; reason?: string }[]
    containerStatuses?: ContainerStatus[]
    initContainerStatuses?: ContainerStatus[]
    resources?: ResourceRequirements
    allocatedResources?: ResourceList
  }
}

export interface PersistentVolumeClaimSpec {
  accessModes?: string[]
  resources?: ResourceRequirements
  selector?: LabelSelector
  storageClassName?: string
  volumeMode?: string
  volumeName?: string
  volumeAttributesClassName?: string
  dataSource?: object
  dataSourceRef?: object
}

export interface PersistentVolumeClaim {
  kind: 'PersistentVolumeClaim'
  metadata: ObjectMeta
  spec?: PersistentVolumeClaimSpec
  status?: { phase?: string; capacity?: ResourceList }
}

export interface ObjectReference {
  namespace?: string
  name?: string
  uid?: string
  resourceVersion?: string
}

export interface PersistentVolume {
  kind: 'PersistentVolume'
  metadata: ObjectMeta
  spec?: {
    accessModes?: string[]
    capacity?: ResourceList
    claimRef?: ObjectReference
    nodeAffinity?: { required?: NodeSelector }
    persistentVolumeReclaimPolicy?: string
    storageClassName?: string
    volumeMode?: string
    volumeAttributesClassName?: string
    mountOptions?: string[]
    hostPath?: { path: string; type?: string }
    local?: { path: string; fsType?: string }
    csi?: { driver: string; volumeHandle: string; volumeAttributes?: Record<string, string> }
    nfs?: { server: string; path: string }
    gcePersistentDisk?: { pdName: string }
    awsElasticBlockStore?: { volumeID: string }
    azureDisk?: { diskName: string }
    azureFile?: object
    cephfs?: object
    cinder?: { volumeID: string }
    fc?: object
    flexVolume?: { driver: string }
    flocker?: object
    glusterfs?: object
    iscsi?: { iqn: string }
    photonPersistentDisk?: object
    portworxVolume?: object
    quobyte?: object
    rbd?: { image: string }
    scaleIO?: object
    storageos?: object
    vsphereVolume?: object
  }
  status?: { phase?: string; reason?: string; message?: string }
}

export interface StorageClass {
  kind: 'StorageClass'
  metadata: ObjectMeta
  provisioner?: string
  volumeBindingMode?: string
  reclaimPolicy?: string
  allowedTopologies?: { matchLabelExpressions?: { key: string; values?: string[] }[] }[]
  parameters?: Record<string, string>
}

export interface CSINode {
  kind: 'CSINode'
  metadata: ObjectMeta
  spec?: { drivers?: { name: string; nodeID?: string; topologyKeys?: string[]; allocatable?: { count?: number } }[] }
}

export interface CSIDriver {
  kind: 'CSIDriver'
  metadata: ObjectMeta
  spec?: { storageCapacity?: boolean; attachRequired?: boolean; preventPodSchedulingIfMissing?: boolean }
}

export interface CSIStorageCapacity {
  kind: 'CSIStorageCapacity'
  metadata: ObjectMeta
  storageClassName?: string
  nodeTopology?: LabelSelector
  capacity?: string | number
  maximumVolumeSize?: string | number
}

export interface VolumeAttachment {
  kind: 'VolumeAttachment'
  metadata: ObjectMeta
  spec?: { attacher?: string; nodeName?: string; source?: { persistentVolumeName?: string } }
}

export interface PodDisruptionBudget {
  kind: 'PodDisruptionBudget'
  metadata: ObjectMeta
  spec?: {
    minAvailable?: string | number
    maxUnavailable?: string | number
    selector?: LabelSelector
    unhealthyPodEvictionPolicy?: string
  }
  status?: {
    disruptionsAllowed?: number
    currentHealthy?: number
    desiredHealthy?: number
    expectedPods?: number
    observedGeneration?: number
    disruptedPods?: Record<string, string>
  }
}

export interface Namespace {
  kind: 'Namespace'
  metadata: ObjectMeta
}

export interface PriorityClass {
  kind: 'PriorityClass'
  metadata: ObjectMeta
  value?: number
  globalDefault?: boolean
  preemptionPolicy?: string
}

/** Anything that is the controller of a pod, or the controller of such a controller: a workload or a custom resource. */
export interface OwnerObject {
  apiVersion: string
  kind: string
  metadata: ObjectMeta
  spec?: {
    replicas?: number
    suspend?: boolean
    /** Of the template only the node, which a workload can name to pass the scheduler by. */
    template?: { spec?: { nodeName?: string } }
    /** Of a Job: failures that it bears; absent: 6. */
    backoffLimit?: number
    /** Of a Job: whether its podFailurePolicy ignores pods that are evicted (condition DisruptionTarget). */
    ignoresDisruption?: boolean
  }
  status?: {
    /** Of a Job: pods that have failed so far. */
    failed?: number
  }
}
