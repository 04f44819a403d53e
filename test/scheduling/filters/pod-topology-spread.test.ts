import { describe, expect, it } from 'vitest'
import type { PodSpec, TopologySpreadConstraint } from '../../../src/cluster/objects.js'
import { podTopologySpread } from '../../../src/scheduling/filters/pod-topology-spread.js'
import { node, pod } from '../../support/objects.js'
import { filterSays } from '../../support/scheduling.js'

const skewed = "no: node(s) didn't match pod topology spread constraints"
const noLabel = "never: node(s) didn't match pod topology spread constraints (missing required label)"
const zone = 'topology.kubernetes.io/zone'
const inZone = (name: string, value: string, spec = {}) => node(name, { labels: { [zone]: value }, spec })
const web = { app: 'web' }
const spread = (rest: Partial<TopologySpreadConstraint> = {}): TopologySpreadConstraint => ({
  maxSkew: 1,
  topologyKey: zone,
  whenUnsatisfiable: 'DoNotSchedule',
  labelSelector: { matchLabels: web },
  ...rest,
})
const wanting = (constraints: TopologySpreadConstraint[], spec: PodSpec = {}, labels: Record<string, string> = web) =>
  pod('demo/p', { labels, spec: { ...spec, topologySpreadConstraints: constraints } })
const running = (name: string, onNode: string, labels: Record<string, string> = web) =>
  pod(`demo/${name}`, { node: onNode, labels })

describe('n1 in zone za with two pods of the app, n2 in zone zb with one', () => {
  const objects = [inZone('n1', 'za'), inZone('n2', 'zb'), running('a', 'n1'), running('b', 'n1'), running('c', 'n2')]
  it.each<[string, Partial<TopologySpreadConstraint>, string]>([
    ['one more would be a skew of two', {}, skewed],
    ['which may be allowed', { maxSkew: 2 }, 'passes'],
    ['or only be asked for', { whenUnsatisfiable: 'ScheduleAnyway' }, 'skip'],
    ['a pod that the selector does not take adds nothing', { labelSelector: { matchLabels: { app: 'db' } } }, 'passes'],
    ['no selector counts no pod', { labelSelector: undefined }, 'passes'],
    ['an empty selector counts no pod that is there', { labelSelector: {} }, 'passes'],
    ['fewer zones than minDomains: the fewest is 0', { maxSkew: 2, minDomains: 3 }, skewed],
    ['as many zones as minDomains', { maxSkew: 2, minDomains: 2 }, 'passes'],
    ['a key that the node lacks', { topologyKey: 'rack' }, noLabel],
    ['a label of the pod’s own, by its key', { matchLabelKeys: ['app'], labelSelector: {} }, skewed],
    ['a key that the pod lacks is passed over', { matchLabelKeys: ['version'] }, skewed],
  ])('%s', (_, rest, says) => {
    expect(filterSays(podTopologySpread, wanting([spread(rest)]), objects)).toBe(says)
  })

  it('each constraint must hold', () => {
    const both = [spread({ maxSkew: 2 }), spread({ topologyKey: 'kubernetes.io/hostname' })]
    expect(filterSays(podTopologySpread, wanting(both), objects)).toBe(skewed)
  })

  it('the pods of a node that lacks one of the keys count for none', () => {
    const both = [spread(), spread({ topologyKey: 'rack', maxSkew: 9 })]
    const [n1, ...rest] = objects
    const racked = node('n1', { labels: { ...n1?.metadata.labels, rack: 'a' } })
    // Zone zb counts for nothing: n2 has no rack, so za alone is the fewest.
    expect(filterSays(podTopologySpread, wanting(both), [racked, ...rest])).toBe('passes')
  })

  it('terminating pods, finished ones and those of other namespaces do not count', () => {
    const [n1, n2] = objects
    if (n1 === undefined || n2 === undefined) throw new Error('two nodes')
    const others = [
      pod('demo/dying', { node: 'n1', labels: web, deleting: true }),
      pod('demo/done', { node: 'n1', labels: web, phase: 'Succeeded' }),
      pod('other/web', { node: 'n1', labels: web }),
    ]
    expect(filterSays(podTopologySpread, wanting([spread()]), [n1, n2, ...others])).toBe('passes')
  })
})

describe('which nodes count', () => {
  const taints = [{ key: 'dedicated', effect: 'NoSchedule' }]
  // The empty zone zb makes za, with its one pod, uneven; where zb does not count, za is all there is.
  const tainted = [inZone('n1', 'za'), inZone('n2', 'zb', { taints }), running('a', 'n1')]
  const onlyA: PodSpec = { nodeSelector: { [zone]: 'za' } }
  it.each<[string, Partial<TopologySpreadConstraint>, PodSpec, string]>([
    ['tainted nodes do, unless said otherwise', {}, {}, skewed],
    ['tainted nodes do not', { nodeTaintsPolicy: 'Honor' }, {}, 'passes'],
    [
      'those that the pod tolerates do',
      { nodeTaintsPolicy: 'Honor' },
      { tolerations: [{ operator: 'Exists' }] },
      skewed,
    ],
    ['nodes that the pod does not select do not, unless said otherwise', {}, onlyA, 'passes'],
    ['nodes that the pod does not select do', { nodeAffinityPolicy: 'Ignore' }, onlyA, skewed],
  ])('%s', (_, rest, spec, says) => {
    expect(filterSays(podTopologySpread, wanting([spread(rest)], spec), tainted)).toBe(says)
  })
})
