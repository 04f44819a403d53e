import type { Pod } from '../../src/cluster/objects.js'
import type { KindName, KindObjects } from '../../src/cluster/snapshot.js'
import { podInfo } from '../../src/scheduling/cluster-state.js'
import type { Filter } from '../../src/scheduling/filter.js'
import { schedule } from '../../src/scheduling/schedule.js'
import { clusterState } from './scheduler-cases.js'

type AnyObject = KindObjects[KindName]

/**
 * What a filter says of the node `n1` for a pod that is not placed: `skip` (nothing to do), `passes`, `no: …` (removing pods could
 * help), `never: …` (it could not), `no node: …` (before any node is looked at).
 */
export function filterSays(filter: Filter, pod: Pod, objects: readonly AnyObject[], version = 'v1.34.4'): string {
  const state = clusterState(objects, version)
  const preparation = filter.prepare(podInfo(pod, state.rules, 'spec'), state)
  if (preparation.kind === 'skip') return 'skip'
  if (preparation.kind === 'error') return `error: ${preparation.message}`
  if (preparation.kind === 'reject') return `no node: ${preparation.rejection.reasons.join(', ')}`
  const node = state.nodeByName.get('n1')
  if (node === undefined) throw new Error('the case has no node n1')
  if (preparation.onlyNodes !== undefined && !preparation.onlyNodes.has('n1')) return 'left out'
  const rejection = preparation.filter.check(node)
  if (rejection === null) return 'passes'
  return `${rejection.helpedByPreemption ? 'no' : 'never'}: ${rejection.reasons.join(', ')}`
}

/** What the scheduler would do with the pod: all filters, message, preemption. */
export function schedulerSays(pod: Pod, objects: readonly AnyObject[], version = 'v1.34.4') {
  const state = clusterState(objects, version)
  const { feasible, message, preemption } = schedule(podInfo(pod, state.rules, 'spec'), state)
  return {
    feasible: feasible.map(({ name }) => name).sort(),
    message,
    nominated: preemption?.node.name ?? null,
    victims: preemption?.victims.map(({ key }) => key) ?? [],
  }
}
