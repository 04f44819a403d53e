import type { ClusterState, NodeState, PodInfo } from './cluster-state.js'
import type { PreparedFilter, Rejection } from './filter.js'
import { filters as allFilters } from './filters/index.js'
import { fitError } from './message.js'
import { preempt } from './preemption.js'
import { intersection } from './sets.js'

export interface Attempt {
  /** Nodes that pass every filter, in the cluster's order. */
  feasible: readonly NodeState[]
  /** The scheduler's message when none passes; null otherwise. */
  message: string | null
  /** Where preemption makes room, and of whom; null when it does not or is not needed. */
  preemption: { node: NodeState; victims: readonly PodInfo[] } | null
  /** Why each node that was looked at refused the pod. */
  rejections: ReadonlyMap<NodeState, Rejection>
}

const pendingAttempt = (message: string): Attempt => ({
  feasible: [],
  message,
  preemption: null,
  rejections: new Map(),
})

/** The state `not found`: the DynamicResources plugin looks in vain for what its PreFilter, which did not run, would have left. */
const noDynamicResourcesState = 'not found'

/**
 * One scheduling cycle of the default profile for a pod that is not placed (pkg/scheduler schedulePod and what follows when it
 * fails), without scoring: which nodes pass, or the message and what preemption would do. Changes nothing in the cluster.
 */
export function schedule(pod: PodInfo, cluster: ClusterState): Attempt {
  const gates = pod.pod.spec?.schedulingGates ?? []
  // The API server's own words (the pod's condition): the scheduler does not look at such a pod at all.
  if (gates.length > 0) return pendingAttempt('Scheduling is blocked due to non-empty scheduling gates')
  if (cluster.nodes.length === 0) return pendingAttempt('no nodes available to schedule pods')

  const { rules } = cluster
  const prepared: PreparedFilter[] = []
  let onlyNodes: ReadonlySet<string> | null = null
  const restricting: string[] = []
  let refused: string | null = null
  for (const filter of allFilters) {
    const preparation = filter.prepare(pod, cluster)
    if (preparation.kind === 'skip') continue
    if (preparation.kind === 'error') return pendingAttempt(preparation.message)
    if (preparation.kind === 'reject') {
      refused = preparation.rejection.reasons.join(', ')
      break
    }
    prepared.push(preparation.filter)
    if (preparation.onlyNodes === undefined) continue
    restricting.push(filter.name)
    onlyNodes = onlyNodes === null ? preparation.onlyNodes : intersection(onlyNodes, preparation.onlyNodes)
    if (onlyNodes.size === 0) {
      refused = `node(s) didn't satisfy plugin${restricting.length === 1 ? ` ${restricting[0]}` : `(s) [${restricting.sort().join(' ')}] simultaneously`}`
      break
    }
  }
  if (refused !== null) {
    const diagnosis = { nodes: cluster.nodes.length, preFilter: refused, rejections: [], others: null }
    const nothingHelps = () => preemptionMessage(preempt(pod, cluster, [], new Map(), () => null))
    return pendingAttempt(fitError(diagnosis, rules.dynamicResources ? noDynamicResourcesState : nothingHelps()))
  }

  const runFilters = (node: NodeState): Rejection | null => {
    for (const filter of prepared) {
      const rejection = filter.check(node)
      if (rejection !== null) return rejection
    }
    return null
  }
  // Pods that preemption has promised this node to count as if they were there, and the node must do without them as well.
  const check = (node: NodeState): Rejection | null => {
    const promised = (cluster.nominated.get(node.name) ?? []).filter(
      (other) => other.priority >= pod.priority && other.key !== pod.key,
    )
    if (promised.length === 0) return runFilters(node)
    for (const other of promised) {
      node.add(other)
      for (const filter of prepared) filter.added?.(other, node)
    }
    const rejection = runFilters(node)
    for (const other of promised) {
      node.remove(other)
      for (const filter of prepared) filter.removed?.(other, node)
    }
    return rejection ?? runFilters(node)
  }

  const feasible: NodeState[] = []
  const rejections = new Map<NodeState, Rejection>()
  for (const node of cluster.nodes) {
    if (onlyNodes !== null && !onlyNodes.has(node.name)) continue
    const rejection = check(node)
    if (rejection === null) feasible.push(node)
    else rejections.set(node, rejection)
  }
  if (feasible.length > 0) return { feasible, message: null, preemption: null, rejections }

  const diagnosis = {
    nodes: cluster.nodes.length,
    preFilter: null,
    rejections: [...rejections.values()],
    others:
      onlyNodes === null || !rules.saysLeftOut
        ? null
        : `node(s) didn't satisfy plugin(s) [${restricting.sort().join(' ')}]`,
  }
  const outcome = preempt(pod, cluster, prepared, rejections, check)
  if (outcome.placement !== null) {
    const { node, victims } = outcome.placement
    const said = rules.namesPlacement
      ? `preemption: found a potential placement for pod on node ${node.name}, preempting ${victims.length} victims`
      : ''
    return { feasible, message: fitError(diagnosis, said), preemption: { node, victims }, rejections }
  }
  const said = `${rules.saysNoNewClaims ? 'no new claims to deallocate, ' : ''}${preemptionMessage(outcome)}`
  return { feasible, message: fitError(diagnosis, said), preemption: null, rejections }
}

function preemptionMessage(outcome: ReturnType<typeof preempt>): string {
  return outcome.placement === null ? `preemption: ${outcome.message}` : ''
}
