import { matchesSelector, type ParsedSelector, parseLabelSelector } from '../cluster/labels.js'
import type {
  CSIDriver,
  CSINode,
  CSIStorageCapacity,
  Namespace,
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  PodAffinityTerm,
  PodDisruptionBudget,
  StorageClass,
  Taint,
  VolumeAttachment,
} from '../cluster/objects.js'
import type { LiveCount } from './counts.js'
import { addResources, noResources, podRequests, type Resources, toResources } from './resources.js'
import { unschedulableTaint } from './tolerations.js'
import type { Rules } from './wording.js'

/** A required (anti-)affinity term, its selectors parsed (pkg/scheduler/framework AffinityTerm). */
export interface AffinityTerm {
  namespaces: ReadonlySet<string>
  /** null: selects no namespace. */
  namespaceSelector: ParsedSelector | null
  /** null: selects no pod. */
  selector: ParsedSelector | null
  topologyKey: string
  /** The same for terms that say the same. */
  id: string
}

export interface HostPort {
  protocol: string
  ip: string
  port: number
}

/** A pod with what the filters ask of it again and again, worked out once. */
export interface PodInfo {
  pod: Pod
  /** NAMESPACE/NAME */
  key: string
  namespace: string
  priority: number
  requests: Resources
  hostPorts: readonly HostPort[]
  /** Names of the claims that the pod's volumes name (generic ephemeral volumes apart). */
  claims: readonly string[]
  affinity: readonly AffinityTerm[]
  antiAffinity: readonly AffinityTerm[]
}

function affinityTerms(pod: Pod, terms: PodAffinityTerm[] | undefined): AffinityTerm[] {
  return (terms ?? []).map((term) => {
    const named = term.namespaces ?? []
    const own = named.length === 0 && (term.namespaceSelector === undefined || term.namespaceSelector === null)
    const namespaces = own ? [pod.metadata.namespace ?? ''] : named
    return {
      id: JSON.stringify([namespaces, term.namespaceSelector, term.labelSelector, term.topologyKey]),
      namespaces: new Set(namespaces),
      namespaceSelector: parseLabelSelector(term.namespaceSelector),
      selector: parseLabelSelector(term.labelSelector),
      topologyKey: term.topologyKey,
    }
  })
}

/** pkg/scheduler/util GetHostPorts: of containers and sidecars. */
function hostPorts(pod: Pod, rules: Rules): HostPort[] {
  const sidecars = (pod.spec?.initContainers ?? []).filter((container) => container.restartPolicy === 'Always')
  const containers = [...(rules.sidecarPorts ? sidecars : []), ...(pod.spec?.containers ?? [])]
  return containers
    .flatMap((container) => container.ports ?? [])
    .filter((port) => (port.hostPort ?? 0) > 0)
    .map((port) => ({ protocol: port.protocol || 'TCP', ip: port.hostIP || '0.0.0.0', port: port.hostPort ?? 0 }))
}

export function podKey(pod: Pod): string {
  return `${pod.metadata.namespace ?? ''}/${pod.metadata.name}`
}

export function podInfo(pod: Pod, rules: Rules, from: 'spec' | 'status'): PodInfo {
  return {
    pod,
    key: podKey(pod),
    namespace: pod.metadata.namespace ?? '',
    priority: pod.spec?.priority ?? 0,
    requests: podRequests(pod, rules, from),
    hostPorts: hostPorts(pod, rules),
    claims: (pod.spec?.volumes ?? []).flatMap((volume) => volume.persistentVolumeClaim?.claimName ?? []),
    affinity: affinityTerms(pod, pod.spec?.affinity?.podAffinity?.requiredDuringSchedulingIgnoredDuringExecution),
    antiAffinity: affinityTerms(
      pod,
      pod.spec?.affinity?.podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution,
    ),
  }
}

/** Whether the term selects the pod; `namespaceLabels` are those of the pod's namespace (undefined: not known, none). */
export function termMatches(
  term: AffinityTerm,
  pod: PodInfo,
  namespaceLabels: Readonly<Record<string, string>> | undefined,
): boolean {
  const inNamespace =
    term.namespaces.has(pod.namespace) ||
    (term.namespaceSelector !== null && matchesSelector(term.namespaceSelector, namespaceLabels))
  return inNamespace && term.selector !== null && matchesSelector(term.selector, pod.pod.metadata.labels)
}

/** A node and the pods that hold room on it (pkg/scheduler/framework NodeInfo). */
export class NodeState {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly allocatable: Resources
  readonly requested = noResources()
  readonly pods = new Set<PodInfo>()
  readonly declaredFeatures: ReadonlySet<string>
  unschedulable: boolean
  taints: readonly Taint[]

  constructor(node: Node) {
    this.name = node.metadata.name
    this.labels = node.metadata.labels ?? {}
    this.allocatable = toResources(node.status?.allocatable)
    this.declaredFeatures = new Set(node.status?.declaredFeatures ?? [])
    this.unschedulable = node.spec?.unschedulable ?? false
    this.taints = node.spec?.taints ?? []
  }

  add(pod: PodInfo): void {
    this.pods.add(pod)
    addResources(this.requested, pod.requests)
  }

  remove(pod: PodInfo): void {
    this.pods.delete(pod)
    addResources(this.requested, pod.requests, -1)
  }
}

/** The objects beside nodes and pods that the filters look up. */
export interface Objects {
  claims: PersistentVolumeClaim[]
  volumes: PersistentVolume[]
  classes: StorageClass[]
  csiNodes: CSINode[]
  csiDrivers: CSIDriver[]
  csiCapacities: CSIStorageCapacity[]
  attachments: VolumeAttachment[]
  namespaces: Namespace[]
  budgets: PodDisruptionBudget[]
}

function byName<T extends { metadata: { name: string } }>(objects: readonly T[]): Map<string, T> {
  return new Map(objects.map((object) => [object.metadata.name, object]))
}

function groupBy<T>(objects: readonly T[], key: (object: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>()
  for (const object of objects) {
    const group = groups.get(key(object))
    if (group === undefined) groups.set(key(object), [object])
    else group.push(object)
  }
  return groups
}

/** Class of a volume; the old annotation goes first (component-helpers/storage/volume). */
export function classOfVolume(volume: PersistentVolume): string {
  return volume.metadata.annotations?.['volume.beta.kubernetes.io/storage-class'] ?? volume.spec?.storageClassName ?? ''
}

/** Class of a claim; the old annotation goes first (component-helpers/storage/volume). */
export function classOfClaim(claim: PersistentVolumeClaim): string {
  return claim.metadata.annotations?.['volume.beta.kubernetes.io/storage-class'] ?? claim.spec?.storageClassName ?? ''
}

/**
 * A cluster as the scheduler's cache sees it: pods that are bound and not finished, on nodes that exist. It can be changed
 * (`place`, `remove`, `cordon`) to ask what would be if.
 */
export class ClusterState {
  readonly rules: Rules
  readonly nodes: readonly NodeState[]
  readonly nodeByName: ReadonlyMap<string, NodeState>
  readonly claims: ReadonlyMap<string, PersistentVolumeClaim>
  readonly volumes: ReadonlyMap<string, PersistentVolume>
  readonly volumesByClass: ReadonlyMap<string, readonly PersistentVolume[]>
  readonly classes: ReadonlyMap<string, StorageClass>
  readonly csiNodes: ReadonlyMap<string, CSINode>
  readonly csiDrivers: ReadonlyMap<string, CSIDriver>
  readonly capacitiesByClass: ReadonlyMap<string, readonly CSIStorageCapacity[]>
  readonly attachmentsByNode: ReadonlyMap<string, readonly VolumeAttachment[]>
  readonly namespaces: ReadonlyMap<string, Namespace>
  readonly budgets: readonly PodDisruptionBudget[]
  /** Pending pods that preemption has promised a node to, by that node. */
  readonly nominated = new Map<string, PodInfo[]>()
  /** Volumes that a pod placed in play has taken, though their objects do not say so. */
  readonly reserved = new Set<PersistentVolume>()
  /** How many volumes of placed pods name the claim, by NAMESPACE/CLAIM. */
  readonly claimUse = new Map<string, number>()
  readonly #placed = new Map<string, { pod: PodInfo; node: NodeState }>()
  readonly #counts = new Map<string, LiveCount>()

  constructor(nodes: readonly Node[], pods: readonly Pod[], objects: Objects, rules: Rules) {
    this.rules = rules
    this.nodes = nodes.map((node) => new NodeState(node))
    this.nodeByName = new Map(this.nodes.map((node) => [node.name, node]))
    this.claims = new Map(
      objects.claims.map((claim) => [`${claim.metadata.namespace ?? ''}/${claim.metadata.name}`, claim]),
    )
    // The scheduler lists volumes in no order; by name gives one answer always.
    const volumes = [...objects.volumes].sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1))
    this.volumes = byName(volumes)
    this.volumesByClass = groupBy(volumes, classOfVolume)
    this.classes = byName(objects.classes)
    this.csiNodes = byName(objects.csiNodes)
    this.csiDrivers = byName(objects.csiDrivers)
    this.capacitiesByClass = groupBy(objects.csiCapacities, (capacity) => capacity.storageClassName ?? '')
    this.attachmentsByNode = groupBy(objects.attachments, (attachment) => attachment.spec?.nodeName ?? '')
    this.namespaces = byName(objects.namespaces)
    this.budgets = objects.budgets
    for (const pod of pods) this.#take(pod)
  }

  #take(pod: Pod): void {
    if (pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed') return
    const node = this.nodeByName.get(pod.spec?.nodeName ?? '')
    if (node !== undefined) {
      this.place(podInfo(pod, this.rules, 'status'), node)
      return
    }
    // Only pods of its own that it may look at hold a node for the scheduler.
    const { nodeName, schedulerName = 'default-scheduler', schedulingGates = [] } = pod.spec ?? {}
    const waits = !nodeName && schedulerName === 'default-scheduler' && schedulingGates.length === 0
    const promised = waits ? pod.status?.nominatedNodeName : undefined
    if (promised) {
      const info = podInfo(pod, this.rules, 'spec')
      const others = this.nominated.get(promised)
      if (others === undefined) this.nominated.set(promised, [info])
      else others.push(info)
    }
  }

  /** The placed pod with that NAMESPACE/NAME. */
  placed(key: string): { pod: PodInfo; node: NodeState } | undefined {
    return this.#placed.get(key)
  }

  place(pod: PodInfo, node: NodeState): void {
    node.add(pod)
    this.#placed.set(pod.key, { pod, node })
    this.#countClaims(pod, 1)
    for (const live of this.#counts.values()) live.count(pod, node, 1)
  }

  remove(pod: PodInfo, node: NodeState): void {
    node.remove(pod)
    if (this.#placed.get(pod.key)?.pod === pod) this.#placed.delete(pod.key)
    this.#countClaims(pod, -1)
    for (const live of this.#counts.values()) live.count(pod, node, -1)
  }

  /** The count of that name (the same name for the same question), made and filled when it is asked for first. */
  counted<T extends LiveCount>(name: string, make: () => T): T {
    let live = this.#counts.get(name)
    if (live === undefined) {
      live = make()
      this.#counts.set(name, live)
      for (const node of this.nodes) for (const pod of node.pods) live.count(pod, node, 1)
    }
    return live as T
  }

  #countClaims(pod: PodInfo, by: 1 | -1): void {
    for (const claim of pod.claims) {
      const key = `${pod.namespace}/${claim}`
      this.claimUse.set(key, (this.claimUse.get(key) ?? 0) + by)
    }
  }

  /** As `kubectl cordon` and the node lifecycle controller do together. */
  cordon(node: NodeState): void {
    // Some counts depend on taints.
    this.#counts.clear()
    node.unschedulable = true
    const has = node.taints.some(
      (taint) => taint.key === unschedulableTaint.key && taint.effect === unschedulableTaint.effect,
    )
    if (!has) node.taints = [...node.taints, unschedulableTaint]
  }
}
