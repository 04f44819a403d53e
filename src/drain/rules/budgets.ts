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
  | {
      result: 'evicted'
      waits: { budget: string; after: string[] } | null
      /** A budget that would hold it, if other pods that do not come back happened to go first. */
      mayBeHeldBy: string | null
    }
  /** Names of the budgets that refuse (in the pod's namespace); more than one: the API refuses such a pod whatever they allow. */
  | { result: 'blocked'; budgets: string[]; usedUp: boolean }

interface Ledger {
  name: string
  budget: PodDisruptionBudget
  /** How many more healthy pods there are than the budget wants. */
  slack: number
  desired: number
  /** What it allowed before the drain. */
  allowed: number
  /** Pods whose replacements have not been counted yet. */
  returning: string[]
}

export function isReady(pod: Pod): boolean {
  return pod.status?.conditions?.some((condition) => condition.type === 'Ready' && condition.status === 'True') ?? false
}

function scaled(value: string | number, of: number): number {
  const percent = /^(\d+)%$/.exec(String(value))
  return percent === null ? Number(value) : Math.ceil((Number(percent[1]) * of) / 100)
}

type Status = PodDisruptionBudget['status']

/** The budget's status; none when the disruption controller has not looked at the budget as it is now. */
function currentStatus({ metadata, status }: PodDisruptionBudget): Status {
  return (status?.observedGeneration ?? metadata.generation ?? 0) < (metadata.generation ?? 0) ? undefined : status
}

/**
 * The healthy pods that the budget wants (disruption controller, getExpectedPodCount): as its status says, else from its
 * spec; percentages of the pods it expects, rounded up.
 */
function desiredHealthy({ spec }: PodDisruptionBudget, status: Status, matching: readonly Pod[]): number {
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
      const status = currentStatus(budget)
      const desired = desiredHealthy(budget, status, matching)
      const healthy =
        status?.currentHealthy ?? matching.filter((pod) => isReady(pod) && !pod.metadata.deletionTimestamp).length
      // A status that allows none although enough are healthy has evictions that are not confirmed yet, or does not know its pods.
      const allowed = status?.disruptionsAllowed
      const slack = allowed === undefined ? healthy - desired : allowed > 0 ? allowed : Math.min(healthy - desired, 0)
      return {
        name: budget.metadata.name,
        budget,
        slack,
        desired,
        allowed: slack,
        returning: [],
      }
    })
  }

  /** Evicts the pods of one node, all at once, each when its budget lets it go. Results by NS/NAME. */
  drain(evictions: readonly Eviction[]): Map<string, EvictionResult> {
    const results = new Map<string, EvictionResult>()
    const uncertain = this.#exhaustible(evictions)
    // In whatever order kubectl's requests arrive, a pod that comes back lets the next one go, and one that does not can wait.
    let left = [...evictions].sort(
      (a, b) => Number(b.comesBack) - Number(a.comesBack) || (podKey(a.pod) < podKey(b.pod) ? -1 : 1),
    )
    for (let progress = true; progress; ) {
      const refused: Eviction[] = []
      for (const eviction of left) {
        const result = this.#evict(eviction, uncertain)
        if (result.result === 'blocked') refused.push(eviction)
        results.set(podKey(eviction.pod), result)
      }
      // A later pod of the same node may have come back healthier than it went and made room for one refused before.
      progress = refused.length > 0 && refused.length < left.length
      left = refused
    }
    return results
  }

  /** Budgets that the pods which do not come back could use up alone, if they went first. */
  #exhaustible(evictions: readonly Eviction[]): Set<Ledger> {
    const lasting = evictions.filter(({ pod, comesBack }) => !comesBack && isReady(pod) && isHeld(pod))
    return new Set(
      this.#ledgers.filter((ledger) => {
        const count = lasting.filter(({ pod }) => covers(ledger.budget, pod)).length
        return count > 0 && count >= ledger.slack + ledger.returning.length
      }),
    )
  }

  #evict({ pod, comesBack }: Eviction, exhaustible: ReadonlySet<Ledger>): EvictionResult {
    const matching = this.#ledgers.filter(({ budget }) => covers(budget, pod))
    const evicted = (waits: { budget: string; after: string[] } | null, mayBeHeldBy: string | null): EvictionResult => {
      if (comesBack) for (const ledger of matching) ledger.returning.push(podKey(pod))
      return { result: 'evicted', waits, mayBeHeldBy }
    }
    if (!isHeld(pod)) return evicted(null, null)
    if (matching.length > 1)
      return { result: 'blocked', budgets: matching.map(({ name }) => name).sort(), usedUp: false }
    const [ledger] = matching
    if (ledger === undefined) return evicted(null, null)
    const ready = isReady(pod)
    if (!ready) {
      if (ledger.budget.spec?.unhealthyPodEvictionPolicy === 'AlwaysAllow') return evicted(null, null)
      if (ledger.slack >= 0 && ledger.desired > 0) return evicted(null, null)
    }
    let waits: { budget: string; after: string[] } | null = null
    if (ledger.slack <= 0 && ledger.returning.length > 0) {
      waits = { budget: ledger.name, after: [...ledger.returning].sort() }
      ledger.slack += ledger.returning.length
      ledger.returning = []
    }
    if (ledger.slack <= 0) return { result: 'blocked', budgets: [ledger.name], usedUp: ledger.allowed > 0 }
    // The API takes one even for a pod that is not ready; when the controller counts anew, that one is back at once.
    if (ready) ledger.slack -= 1
    return evicted(waits, comesBack && exhaustible.has(ledger) ? ledger.name : null)
  }
}

/** The eviction API does not ask the budgets of pods that are Pending, finished or being deleted. */
function isHeld(pod: Pod): boolean {
  return pod.status?.phase !== 'Pending' && !isFinished(pod) && !pod.metadata.deletionTimestamp
}

/** policy/v1: an absent selector covers no pod, an empty one all pods of the namespace. */
export function covers(budget: PodDisruptionBudget, pod: Pod): boolean {
  return (
    budget.metadata.namespace === pod.metadata.namespace &&
    matchesLabelSelector(budget.spec?.selector, pod.metadata.labels)
  )
}
