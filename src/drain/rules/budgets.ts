import { matchesLabelSelector } from '../../cluster/labels.js'
import type { Pod, PodDisruptionBudget } from '../../cluster/objects.js'
import { podKey } from '../../scheduling/cluster-state.js'
import { isFinished } from './drain-filters.js'

/** A pod that the drain wants to evict, with what becomes of it afterwards. */
export interface Eviction {
  pod: Pod
  /** Whether a replacement comes up somewhere (it is taken to become ready). */
  comesBack: boolean
}

export type EvictionResult =
  | { result: 'evicted'; waits: { budget: string; after: string[] } | null }
  /** Names of the budgets that refuse (in the pod's namespace); more than one: the API refuses such a pod whatever they allow. */
  | { result: 'blocked'; budgets: string[] }

interface Ledger {
  name: string
  budget: PodDisruptionBudget
  /** How many more healthy pods there are than the budget wants. */
  slack: number
  desired: number
  /** Pods whose replacements have not been counted yet. */
  returning: { key: string; gain: number }[]
}

export function isReady(pod: Pod): boolean {
  return pod.status?.conditions?.some((condition) => condition.type === 'Ready' && condition.status === 'True') ?? false
}

function scaled(value: string | number, of: number): number {
  const percent = /^(\d+)%$/.exec(String(value))
  return percent === null ? Number(value) : Math.ceil((Number(percent[1]) * of) / 100)
}

/**
 * The healthy pods that the budget wants (disruption controller, getExpectedPodCount): as its status says, else from its
 * spec; percentages of the pods it expects, rounded up.
 */
function desiredHealthy(budget: PodDisruptionBudget, matching: readonly Pod[]): number {
  const { spec, status } = budget
  if (status?.desiredHealthy !== undefined) return status.desiredHealthy
  const expected = status?.expectedPods ?? matching.length
  if (spec?.maxUnavailable !== undefined) return Math.max(0, expected - scaled(spec.maxUnavailable, expected))
  return spec?.minAvailable === undefined ? 0 : scaled(spec.minAvailable, expected)
}

/**
 * Plays a drain's evictions through the budgets of the cluster (registry/core/pod/storage eviction.go): each takes one
 * disruption and gives it back when its replacement is up. Kept over several nodes, drained one after the other.
 */
export class BudgetPlay {
  readonly #ledgers: readonly Ledger[]

  constructor(budgets: readonly PodDisruptionBudget[], pods: readonly Pod[]) {
    this.#ledgers = budgets.map((budget) => {
      const matching = pods.filter((pod) => covers(budget, pod) && !isFinished(pod))
      const desired = desiredHealthy(budget, matching)
      const healthy =
        budget.status?.currentHealthy ??
        matching.filter((pod) => isReady(pod) && !pod.metadata.deletionTimestamp).length
      // A status that allows none although enough are healthy has evictions that are not confirmed yet, or does not know its pods.
      const allowed = budget.status?.disruptionsAllowed
      const slack = allowed === undefined ? healthy - desired : allowed > 0 ? allowed : Math.min(healthy - desired, 0)
      return {
        name: budget.metadata.name,
        budget,
        slack,
        desired,
        returning: [],
      }
    })
  }

  /** Evicts the pods of one node, all at once, each when its budget lets it go. Results by NS/NAME. */
  drain(evictions: readonly Eviction[]): Map<string, EvictionResult> {
    const results = new Map<string, EvictionResult>()
    // In whatever order kubectl's requests arrive, a pod that comes back lets the next one go, and one that does not can wait.
    const order = [...evictions].sort(
      (a, b) => Number(b.comesBack) - Number(a.comesBack) || (podKey(a.pod) < podKey(b.pod) ? -1 : 1),
    )
    let left = order
    for (let progress = true; progress; ) {
      const refused: Eviction[] = []
      for (const eviction of left) {
        const result = this.#evict(eviction)
        if (result.result === 'blocked') refused.push(eviction)
        results.set(podKey(eviction.pod), result)
      }
      // A later pod of the same node may have come back healthier than it went and made room for one refused before.
      progress = refused.length > 0 && refused.length < left.length
      left = refused
    }
    return results
  }

  #evict({ pod, comesBack }: Eviction): EvictionResult {
    const matching = this.#ledgers.filter(({ budget }) => covers(budget, pod))
    const key = podKey(pod)
    const held = pod.status?.phase !== 'Pending' && !isFinished(pod) && !pod.metadata.deletionTimestamp
    const ready = isReady(pod)
    const done = (ledger: Ledger | undefined, waits: { budget: string; after: string[] } | null): EvictionResult => {
      if (ledger !== undefined && comesBack) ledger.returning.push({ key, gain: 1 })
      return { result: 'evicted', waits }
    }
    if (!held) {
      for (const ledger of matching) if (comesBack) ledger.returning.push({ key, gain: 1 })
      return { result: 'evicted', waits: null }
    }
    if (matching.length > 1) return { result: 'blocked', budgets: matching.map(({ name }) => name).sort() }
    const [ledger] = matching
    if (ledger === undefined) return done(undefined, null)
    if (!ready) {
      if (ledger.budget.spec?.unhealthyPodEvictionPolicy === 'AlwaysAllow') return done(ledger, null)
      if (ledger.slack >= 0 && ledger.desired > 0) return done(ledger, null)
    }
    let waits: { budget: string; after: string[] } | null = null
    if (ledger.slack <= 0 && ledger.returning.length > 0) {
      waits = { budget: ledger.name, after: ledger.returning.map((entry) => entry.key).sort() }
      for (const { gain } of ledger.returning) ledger.slack += gain
      ledger.returning = []
    }
    if (ledger.slack <= 0) return { result: 'blocked', budgets: [ledger.name] }
    // The API takes one even for a pod that is not ready; when the controller counts anew, that one is back at once.
    if (ready) ledger.slack -= 1
    return done(ledger, waits)
  }
}

/** policy/v1: an absent selector covers no pod, an empty one all pods of the namespace. */
export function covers(budget: PodDisruptionBudget, pod: Pod): boolean {
  return (
    budget.metadata.namespace === pod.metadata.namespace &&
    matchesLabelSelector(budget.spec?.selector, pod.metadata.labels)
  )
}
