import type { Pod } from '../../cluster/objects.js'
import { podKey } from '../../scheduling/cluster-state.js'
import type { Judged } from '../judge.js'
import type { Scene } from '../scene.js'
import type { Effect } from '../types.js'
import { type EvictionResult, isReady } from './budgets.js'
import { isFinished } from './drain-filters.js'
import { ownerKind } from './owners.js'

/** Fewer replicas have no majority to lose. */
const SMALLEST_QUORUM = 3

/**
 * StatefulSets of which the drain takes down more replicas at once than a majority bears, by the NS/NAME of their evicted pods.
 * Down are those that are not ready now, those evicted from one node at the same time (a budget may make others wait), and those
 * that found no place when an earlier node was drained.
 */
export function quorumEffects(
  judged: readonly Judged[],
  evictions: ReadonlyMap<string, EvictionResult>,
  staysDown: (judged: Judged) => boolean,
  scene: Scene,
): Map<string, Effect> {
  const sets = new Map<string, Judged[]>()
  for (const one of judged) {
    const owner = one.chain.links[0]
    if (one.kind !== 'evicted' || owner === undefined || ownerKind(owner.reference) !== 'StatefulSet.apps') continue
    if (evictions.get(podKey(one.pod))?.result !== 'evicted') continue
    sets.set(owner.reference.uid, [...(sets.get(owner.reference.uid) ?? []), one])
  }
  const effects = new Map<string, Effect>()
  for (const [uid, evicted] of sets) {
    const [first] = evicted
    const owner = first?.chain.links[0]
    const replicas = scene.snapshot.objects.Pod.filter((pod) => !isFinished(pod) && hasController(pod, uid))
    const wanted = owner?.object?.spec?.replicas ?? replicas.length
    if (first === undefined || owner === undefined || wanted < SMALLEST_QUORUM) continue
    const bears = wanted - (Math.floor(wanted / 2) + 1)
    const down = mostDown(evicted, evictions, staysDown, wanted - replicas.filter(isReady).length, scene.nodes)
    if (down <= bears) continue
    const of = `StatefulSet ${first.pod.metadata.namespace ?? ''}/${owner.reference.name}`
    for (const { pod } of evicted) effects.set(podKey(pod), { effect: 'quorum', of, down, bears })
  }
  return effects
}

function hasController(pod: Pod, uid: string): boolean {
  return (
    pod.metadata.ownerReferences?.some((reference) => reference.controller === true && reference.uid === uid) ?? false
  )
}

function mostDown(
  evicted: readonly Judged[],
  evictions: ReadonlyMap<string, EvictionResult>,
  staysDown: (judged: Judged) => boolean,
  notReady: number,
  nodes: readonly string[],
): number {
  let lasting = Math.max(0, notReady)
  let most = 0
  for (const node of nodes) {
    const here = evicted.filter(({ pod }) => pod.spec?.nodeName === node && isReady(pod))
    if (here.length === 0) continue
    const waits = ({ pod }: Judged) => {
      const eviction = evictions.get(podKey(pod))
      return eviction?.result === 'evicted' && eviction.waits !== null
    }
    const atOnce = here.filter((one) => !waits(one)).length
    const down = here.filter(staysDown).length
    // Those that wait go one after the other, each when the one before is back.
    const later = here.some((one) => waits(one) && !staysDown(one)) ? 1 : 0
    most = Math.max(most, lasting + Math.max(atOnce, down + later))
    lasting += down
  }
  return most
}
