import { describe, expect, it } from 'vitest'
import { planDrain } from '../../src/drain/plan.js'
import type { PodReport } from '../../src/drain/types.js'
import { drainOptionsOfPod } from '../support/drain-options.js'
import { snapshot } from '../support/objects.js'
import { clusterState, schedulerCases } from '../support/scheduler-cases.js'

/** What becomes of the pod once a budget lets it go: the scheduler asks no budget of the pod that it places. */
const verdictOf = (report: PodReport) => (report.verdict === 'blocked' ? report.then?.verdict : report.verdict)

// Numbers of the recordings, so that a case that gets lost is seen.
describe.each([
  { file: 'v1.34.4', cases: 230, scheduled: 240, pending: 350 },
  { file: 'v1.37.2', cases: 80, scheduled: 68, pending: 123 },
  { file: 'v1.31.13-rare', cases: 30, scheduled: 32, pending: 91 },
  { file: 'v1.33.0-rare', cases: 30, scheduled: 38, pending: 86 },
  { file: 'v1.34.4-rare', cases: 160, scheduled: 136, pending: 599 },
  { file: 'v1.35.0-rare', cases: 30, scheduled: 45, pending: 86 },
  { file: 'v1.36.0-rare', cases: 30, scheduled: 34, pending: 104 },
  { file: 'v1.37.2-rare', cases: 31, scheduled: 36, pending: 96 },
])('every answer in $file', ({ file, cases, scheduled, pending }) => {
  const recorded = schedulerCases(file)
  const version = recorded[0]?.kubernetes ?? ''
  const outcomes = recorded.flatMap(({ seed, drain, objects, outcomes: all }) => {
    const gone = new Set<string>()
    return Object.entries(all).map(([key, outcome]) => {
      const left = objects.filter(
        (object) => !(object.kind === 'Pod' && gone.has(`${object.metadata.namespace}/${object.metadata.name}`)),
      )
      gone.add(key)
      const [report] = planDrain(snapshot(left), drainOptionsOfPod(drain, key)).pods
      return { id: `${seed} ${key}`, drain, left, outcome, report: report as PodReport }
    })
  })

  it('is there', () => {
    expect(recorded).toHaveLength(cases)
    expect(outcomes.filter(({ outcome }) => outcome.result === 'scheduled')).toHaveLength(scheduled)
    expect(outcomes.filter(({ outcome }) => outcome.result === 'pending')).toHaveLength(pending)
  })

  it('gets the right verdict', () => {
    const wrong = outcomes.filter(({ outcome, report, drain }) => {
      if (outcome.result === 'scheduled') {
        const back = report.scheduling?.feasibleNodes.includes(drain)
        return (
          verdictOf(report) !== (back ? 'returns' : 'moves') || !report.scheduling?.feasibleNodes.includes(outcome.node)
        )
      }
      if (outcome.nominated) return verdictOf(report) !== (outcome.nominated === drain ? 'returns' : 'moves')
      return verdictOf(report) !== 'stuck'
    })
    expect(wrong.map(({ id, report }) => `${id}: ${report.verdict}`)).toEqual([])
  })

  it('is told word for word', () => {
    const differing = outcomes.flatMap(({ id, outcome, report }) => {
      const said = outcome.result === 'pending' ? outcome.message : null
      const predicted = report.scheduling?.message
      return predicted === said ? [] : [{ id, said, predicted }]
    })
    expect(differing).toEqual([])
  })

  it('names the node that preemption makes room on, and as many victims of the same priorities', () => {
    const differing = outcomes.flatMap(({ id, left, outcome, report }) => {
      if (outcome.result !== 'pending') return []
      const nominated = report.scheduling?.nominatedNode ?? null
      const effect = report.effects.find((one) => one.effect === 'preempts')
      const state = clusterState(left, version)
      const priorities = (keys: readonly string[]) => keys.map((key) => state.placed(key)?.pod.priority).sort()
      const victims = priorities(effect?.effect === 'preempts' ? effect.victims : [])
      const expected = priorities((outcome.preempted ?? []).map((name) => (name.includes('/') ? name : `demo/${name}`)))
      const same = nominated === (outcome.nominated || null) && JSON.stringify(victims) === JSON.stringify(expected)
      return same ? [] : [{ id, nominated, expected: outcome.nominated, victims, preempted: expected }]
    })
    expect(differing).toEqual([])
  })
})
