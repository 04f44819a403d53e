import type { Node, PersistentVolumeClaim, Pod } from '../cluster/objects.js'
import type { ClusterSnapshot } from '../cluster/snapshot.js'
import { ClusterState } from '../scheduling/cluster-state.js'
import { type Rules, rulesOf, schedulerVersion } from '../scheduling/wording.js'
import { controllerOf } from './rules/drain-filters.js'
import type { OwnerIndex } from './rules/owners.js'
import { freshEphemeralClaim } from './rules/replacement.js'

/** The cluster and the scheduler's view of it with all nodes of the call cordoned. */
export interface Scene {
  snapshot: ClusterSnapshot
  rules: Rules
  state: ClusterState
  nodes: readonly string[]
  nodeByName: ReadonlyMap<string, Node>
  /** By NAMESPACE/NAME. */
  claims: ReadonlyMap<string, PersistentVolumeClaim>
  owners: OwnerIndex
  /** How many pods the drain evicts of each controller, by its uid. */
  evictedOf: ReadonlyMap<string, number>
  unknownVolumes: ReadonlyMap<string, ReadonlyMap<string, string>>
}

export function sceneOf(
  snapshot: ClusterSnapshot,
  nodes: readonly string[],
  evicted: readonly Pod[],
  owners: OwnerIndex,
  unknownVolumes: ReadonlyMap<string, ReadonlyMap<string, string>>,
): Scene {
  const { objects } = snapshot
  const rules = rulesOf(schedulerVersionOf(snapshot))
  const fresh = evicted.flatMap((pod) =>
    (pod.spec?.volumes ?? [])
      .filter((volume) => volume.ephemeral)
      .map((volume) => freshEphemeralClaim(pod, volume, objects.StorageClass)),
  )
  const replaced = new Set(fresh.map(claimKey))
  const state = new ClusterState(
    objects.Node,
    objects.Pod,
    {
      claims: [...objects.PersistentVolumeClaim.filter((claim) => !replaced.has(claimKey(claim))), ...fresh],
      volumes: objects.PersistentVolume,
      classes: objects.StorageClass,
      csiNodes: objects.CSINode,
      csiDrivers: objects.CSIDriver,
      csiCapacities: objects.CSIStorageCapacity,
      attachments: objects.VolumeAttachment,
      namespaces: objects.Namespace,
      budgets: objects.PodDisruptionBudget,
    },
    rules,
  )
  for (const name of nodes) {
    const node = state.nodeByName.get(name)
    if (node !== undefined) state.cordon(node)
  }
  const nodeByName = new Map(objects.Node.map((node) => [node.metadata.name, node]))
  const claims = new Map(objects.PersistentVolumeClaim.map((claim) => [claimKey(claim), claim]))
  const evictedOf = new Map<string, number>()
  for (const pod of evicted) {
    const uid = controllerOf(pod)?.uid ?? ''
    evictedOf.set(uid, (evictedOf.get(uid) ?? 0) + 1)
  }
  return { snapshot, rules, state, nodes, nodeByName, claims, owners, evictedOf, unknownVolumes }
}

export function schedulerVersionOf(snapshot: ClusterSnapshot) {
  if (snapshot.serverVersion !== null) return schedulerVersion(snapshot.serverVersion)
  // A dump has no server to ask; the control plane is never older than its nodes.
  const versions = snapshot.objects.Node.flatMap((node) => node.status?.nodeInfo?.kubeletVersion ?? [])
  const highest = versions
    .map((said) => ({ said, parts: (/(\d+)\.(\d+)/.exec(said) ?? []).slice(1).map(Number) }))
    .sort((a, b) => {
      const [majorA = 0, minorA = 0] = a.parts
      const [majorB = 0, minorB = 0] = b.parts
      return majorB - majorA || minorB - minorA
    })[0]
  return schedulerVersion(highest?.said ?? null)
}

export function claimKey(claim: PersistentVolumeClaim): string {
  return `${claim.metadata.namespace ?? ''}/${claim.metadata.name}`
}
