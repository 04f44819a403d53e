import { matchesSelector, parseLabelSelector } from '../cluster/labels.js'
import type { ClusterState, NodeState, PodInfo } from './cluster-state.js'
import type { PreparedFilter, Rejection } from './filter.js'
import { unresolvable } from './filter.js'
import { fitError } from './message.js'

export interface Candidate {
  node: NodeState
  /** In order of importance, the most important first. */
  victims: readonly PodInfo[]
  budgetViolations: number
}

export type Preemption = { placement: Candidate } | { placement: null; message: string }

/** Checks a node for the pod; the rejection of the first filter that refuses it, or null. */
export type CheckNode = (node: NodeState) => Rejection | null

const startOf = (pod: PodInfo): number => {
  const time = Date.parse(pod.pod.status?.startTime ?? '')
  // A pod that has not started counts as started now, that is, last.
  return Number.isNaN(time) ? Number.POSITIVE_INFINITY : time
}

/** pkg/scheduler/util MoreImportantPod: higher priority first, then the one that started earlier. */
function byImportance(a: PodInfo, b: PodInfo): number {
  if (a.priority !== b.priority) return b.priority - a.priority
  const [startA, startB] = [startOf(a), startOf(b)]
  return startA === startB ? 0 : startA - startB
}

/** default_preemption.go filterPodsWithPDBViolation: which of these would go against a budget, if they went in this order. */
function splitByBudget(pods: readonly PodInfo[], cluster: ClusterState): { violating: PodInfo[]; others: PodInfo[] } {
  const budgets = cluster.budgets.map((budget) => ({
    budget,
    selector: parseLabelSelector(budget.spec?.selector),
    allowed: budget.status?.disruptionsAllowed ?? 0,
  }))
  const violating: PodInfo[] = []
  const others: PodInfo[] = []
  for (const pod of pods) {
    const { name, labels = {} } = pod.pod.metadata
    let violates = false
    for (const entry of Object.keys(labels).length === 0 ? [] : budgets) {
      if (entry.budget.metadata.namespace !== pod.namespace) continue
      if (entry.selector === null || entry.selector.length === 0 || !matchesSelector(entry.selector, labels)) continue
      if (Object.hasOwn(entry.budget.status?.disruptedPods ?? {}, name)) continue
      entry.allowed -= 1
      if (entry.allowed < 0) violates = true
    }
    ;(violates ? violating : others).push(pod)
  }
  return { violating, others }
}

/**
 * default_preemption.go SelectVictimsOnNode: all pods of lower priority go, then as many as fit come back, those whose budget
 * would be violated first. The cluster and the filters are as before when it returns.
 */
function selectVictims(
  pod: PodInfo,
  node: NodeState,
  cluster: ClusterState,
  filters: readonly PreparedFilter[],
  check: CheckNode,
): Candidate | Rejection {
  const potential = [...node.pods].filter((other) => other.priority < pod.priority)
  if (potential.length === 0) return unresolvable('No preemption victims found for incoming pod')

  const out = new Set<PodInfo>()
  const remove = (other: PodInfo) => {
    out.add(other)
    node.remove(other)
    for (const filter of filters) filter.removed?.(other, node)
  }
  const restore = (other: PodInfo) => {
    out.delete(other)
    node.add(other)
    for (const filter of filters) filter.added?.(other, node)
  }
  const order = [...node.pods]
  for (const other of potential) remove(other)
  try {
    const rejection = check(node)
    if (rejection !== null) return rejection
    const { violating, others } = splitByBudget([...potential].sort(byImportance), cluster)
    const victims: PodInfo[] = []
    let budgetViolations = 0
    for (const other of [...violating, ...others]) {
      restore(other)
      if (check(node) === null) continue
      remove(other)
      victims.push(other)
      if (violating.includes(other)) budgetViolations += 1
    }
    return { node, victims: victims.sort(byImportance), budgetViolations }
  } finally {
    for (const other of [...out]) restore(other)
    // Back in the order they were in, so that one question does not change the answer to the next.
    node.pods.clear()
    for (const other of order) node.pods.add(other)
  }
}

const MAX_INT32 = 2 ** 31 - 1

function earliestStart({ victims }: Candidate): number {
  const highest = victims[0]?.priority ?? 0
  return Math.min(...victims.filter((victim) => victim.priority === highest).map(startOf))
}

/** preemption.go pickOneNodeForPreemption. What is still a tie at the end the scheduler leaves to chance: here the first node. */
function pick(candidates: readonly Candidate[]): Candidate | null {
  const scores: ((candidate: Candidate) => number)[] = [
    (candidate) => -candidate.budgetViolations,
    (candidate) => -(candidate.victims[0]?.priority ?? 0),
    (candidate) => -candidate.victims.reduce((sum, victim) => sum + victim.priority + MAX_INT32 + 1, 0),
    (candidate) => -candidate.victims.length,
    earliestStart,
  ]
  let left = candidates
  for (const score of scores) {
    const best = Math.max(...left.map(score))
    left = left.filter((candidate) => score(candidate) === best)
    if (left.length === 1) break
  }
  return left[0] ?? null
}

/** DefaultPreemption's PostFilter: whether removing pods of lower priority from one node makes room, and where it would be done. */
export function preempt(
  pod: PodInfo,
  cluster: ClusterState,
  filters: readonly PreparedFilter[],
  rejections: ReadonlyMap<NodeState, Rejection>,
  check: CheckNode,
): Preemption {
  if (pod.pod.spec?.preemptionPolicy === 'Never')
    return { placement: null, message: 'not eligible due to preemptionPolicy=Never.' }
  const candidates: Candidate[] = []
  const failed: Rejection[] = []
  for (const [node, { helpedByPreemption }] of rejections) {
    if (!helpedByPreemption) continue
    const result = selectVictims(pod, node, cluster, filters, check)
    if ('reasons' in result) failed.push(result)
    else if (result.victims.length > 0) candidates.push(result)
  }
  const placement = pick(candidates)
  if (placement !== null) return { placement }
  const diagnosis = {
    nodes: cluster.nodes.length,
    preFilter: null,
    rejections: failed,
    others: 'Preemption is not helpful for scheduling',
  }
  return { placement: null, message: fitError(diagnosis, '') }
}
