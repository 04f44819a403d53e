import { planDrain } from '../../src/drain/plan.js'
import type { PodReport } from '../../src/drain/types.js'
import { drainOptionsOfPod } from './drain-options.js'
import { snapshot } from './objects.js'
import { clusterState, type Outcome, type SchedulerCase } from './scheduler-cases.js'

export interface Predicted {
  verdict: string | undefined
  feasibleNodes: string[]
  message: string | null
  nominatedNode: string | null
  victims: string[]
}

export interface Difference {
  /** NAMESPACE/NAME */
  key: string
  outcome: Outcome
  predicted: Predicted
}

function prediction(report: PodReport | undefined): Predicted {
  const effect = report?.effects.find((one) => one.effect === 'preempts')
  return {
    // What becomes of the pod once a budget lets it go: the scheduler asks no budget of the pod that it places.
    verdict: report?.verdict === 'blocked' ? report.then?.verdict : report?.verdict,
    feasibleNodes: report?.scheduling?.feasibleNodes ?? [],
    message: report?.scheduling?.message ?? null,
    nominatedNode: report?.scheduling?.nominatedNode ?? null,
    victims: effect?.effect === 'preempts' ? effect.victims : [],
  }
}

/** What the scheduler's answer means for the pod. */
function verdictOf(outcome: Outcome, { feasibleNodes }: Predicted, drain: string): string {
  // It goes to one of the passing nodes, and comes back when the drained one is among them: which one is scoring.
  if (outcome.result === 'scheduled') return feasibleNodes.includes(drain) ? 'returns' : 'moves'
  if (!outcome.nominated) return 'stuck'
  return outcome.nominated === drain ? 'returns' : 'moves'
}

/** Answers of the scheduler that are not what a drain check says of the same pod: its verdict, message, preemption. */
export function differences({ drain, objects, outcomes, kubernetes }: Omit<SchedulerCase, 'seed'>): Difference[] {
  const gone = new Set<string>()
  return Object.entries(outcomes).flatMap(([key, outcome]) => {
    const left = objects.filter(
      (object) => !(object.kind === 'Pod' && gone.has(`${object.metadata.namespace}/${object.metadata.name}`)),
    )
    gone.add(key)
    const predicted = prediction(planDrain(snapshot(left), drainOptionsOfPod(drain, key)).pods[0])
    const differs = [{ key, outcome, predicted }]
    if (predicted.verdict !== verdictOf(outcome, predicted, drain)) return differs
    if (outcome.result === 'scheduled') {
      const passes = predicted.message === null && predicted.feasibleNodes.includes(outcome.node)
      return passes ? [] : differs
    }
    if (predicted.message !== outcome.message) return differs
    if ((predicted.nominatedNode ?? '') !== (outcome.nominated ?? '')) return differs

    const state = clusterState(left, kubernetes)
    // Pods that are ending already are victims, too, but nothing more is done to them, or it does not show.
    const priorities = (victims: readonly string[]) =>
      victims
        .map((victim) => state.placed(victim))
        .filter((victim) => victim !== undefined && !victim.pod.pod.metadata.deletionTimestamp)
        .map((victim) => victim?.pod.priority)
        .sort()
        .join()
    return priorities(predicted.victims) === priorities(outcome.preempted ?? []) ? [] : differs
  })
}
