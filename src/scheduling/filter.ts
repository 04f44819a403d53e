import type { ClusterState, NodeState, PodInfo } from './cluster-state.js'

/** Why a node does not take a pod, in the scheduler's words. */
export interface Rejection {
  reasons: readonly string[]
  /** True: removing pods from the node could help (framework code Unschedulable). False: UnschedulableAndUnresolvable. */
  helpedByPreemption: boolean
}

export function unresolvable(...reasons: string[]): Rejection {
  return { reasons, helpedByPreemption: false }
}

export function resolvable(...reasons: string[]): Rejection {
  return { reasons, helpedByPreemption: true }
}

/** A filter that knows its pod. `added` and `removed` keep it in step while preemption tries what removing pods would do. */
export interface PreparedFilter {
  /** null: the node passes. */
  check(node: NodeState): Rejection | null
  added?(pod: PodInfo, node: NodeState): void
  removed?(pod: PodInfo, node: NodeState): void
}

/**
 * What a filter says before it looks at any node (the framework's PreFilter):
 * it has nothing to do with this pod; the pod can go to no node; the whole attempt ends with an error, which the scheduler
 * shows instead of its usual message; or it has to look at nodes, maybe only at those named.
 */
export type Preparation =
  | { kind: 'skip' }
  | { kind: 'reject'; rejection: Rejection }
  | { kind: 'error'; message: string }
  | { kind: 'check'; filter: PreparedFilter; onlyNodes?: ReadonlySet<string> }

/** One of the scheduler's filter plugins. Pure: it reads the cluster state and changes nothing in it but the counts it keeps there, which answer the same before and after. */
export interface Filter {
  /** The plugin's name (pkg/scheduler/framework/plugins/names). */
  name: string
  prepare(pod: PodInfo, cluster: ClusterState): Preparation
}

export const skip: Preparation = { kind: 'skip' }
