import { describe, expect, it } from 'vitest'
import type { Namespace, PodAffinityTerm, PodSpec } from '../../../src/cluster/objects.js'
import { interPodAffinity } from '../../../src/scheduling/filters/inter-pod-affinity.js'
import { node, pod } from '../../support/objects.js'
import { filterSays } from '../../support/scheduling.js'

const noAffinity = "never: node(s) didn't match pod affinity rules"
const noAntiAffinity = "no: node(s) didn't match pod anti-affinity rules"
const keptAway = "no: node(s) didn't satisfy existing pods anti-affinity rules"
const host = 'kubernetes.io/hostname'
const zone = 'topology.kubernetes.io/zone'
const web = { app: 'web' }
const db = { app: 'db' }
const term = (rest: Partial<PodAffinityTerm> = {}): PodAffinityTerm => ({
  topologyKey: host,
  labelSelector: { matchLabels: db },
  ...rest,
})
const near = (...terms: PodAffinityTerm[]): PodSpec => ({
  affinity: { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: terms } },
})
const far = (...terms: PodAffinityTerm[]): PodSpec => ({
  affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: terms } },
})
const namespace = (name: string, labels: Record<string, string> = {}): Namespace => ({
  kind: 'Namespace',
  metadata: { name, labels: { 'kubernetes.io/metadata.name': name, ...labels } },
})
const nodes = [
  node('n1', { labels: { [zone]: 'za' } }),
  node('n2', { labels: { [zone]: 'za' } }),
  node('n3', { labels: { [zone]: 'zb' } }),
]
const wanting = (spec: PodSpec, labels: Record<string, string> = web) => pod('demo/p', { labels, spec })

describe('affinity', () => {
  const beside = [...nodes, pod('demo/q', { node: 'n1', labels: db })]
  const inZone = [...nodes, pod('demo/q', { node: 'n2', labels: db })]
  const elsewhere = [...nodes, pod('demo/q', { node: 'n3', labels: db })]
  it.each([
    ['a pod on the node', near(term()), beside, 'passes'],
    ['a pod on another node', near(term()), inZone, noAffinity],
    ['a pod in the zone', near(term({ topologyKey: zone })), inZone, 'passes'],
    ['a pod in another zone', near(term({ topologyKey: zone })), elsewhere, noAffinity],
    ['a key that the node lacks', near(term({ topologyKey: 'rack' })), beside, noAffinity],
    ['no selector takes no pod', near(term({ labelSelector: undefined })), beside, noAffinity],
    ['an empty selector takes every pod', near(term({ labelSelector: {} })), beside, 'passes'],
    [
      'every term by one and the same pod',
      near(term(), term({ labelSelector: { matchLabels: web } })),
      beside,
      noAffinity,
    ],
    ['no pod anywhere', near(term()), nodes, noAffinity],
  ])('%s', (_, spec, objects, says) => {
    expect(filterSays(interPodAffinity, wanting(spec), objects)).toBe(says)
  })

  it.each([
    ['the first of its kind may start anywhere', near(term()), nodes, 'passes'],
    ['but not where the key is missing', near(term({ topologyKey: 'rack' })), nodes, noAffinity],
    ['the second has to follow', near(term()), elsewhere, noAffinity],
    ['the first, but looking into another namespace', near(term({ namespaces: ['other'] })), nodes, noAffinity],
  ])('%s', (_, spec, objects, says) => {
    expect(filterSays(interPodAffinity, wanting(spec, db), objects)).toBe(says)
  })
})

describe('anti-affinity', () => {
  it.each([
    ['of the pod, against one on the node', far(term()), 'n1', noAntiAffinity],
    ['of the pod, against one on another node', far(term()), 'n2', 'passes'],
    ['of the pod, against one in the zone', far(term({ topologyKey: zone })), 'n2', noAntiAffinity],
    ['of the pod, by a key that the node lacks', far(term({ topologyKey: 'rack' })), 'n1', 'passes'],
    ['of the pod, one of two terms', far(term({ labelSelector: { matchLabels: web } }), term()), 'n1', noAntiAffinity],
  ])('%s', (_, spec, onNode, says) => {
    expect(filterSays(interPodAffinity, wanting(spec), [...nodes, pod('demo/q', { node: onNode, labels: db })])).toBe(
      says,
    )
  })

  it.each([
    ['of a pod on the node', far(term({ labelSelector: { matchLabels: web } })), 'demo/q', 'n1', keptAway],
    [
      'of a pod in the zone',
      far(term({ labelSelector: { matchLabels: web }, topologyKey: zone })),
      'demo/q',
      'n2',
      keptAway,
    ],
    [
      'of a pod in another zone',
      far(term({ labelSelector: { matchLabels: web }, topologyKey: zone })),
      'demo/q',
      'n3',
      'passes',
    ],
    ['of a pod that does not mean this one', far(term()), 'demo/q', 'n1', 'skip'],
    ['of a pod of another namespace, which means its own', far(term({ labelSelector: {} })), 'other/q', 'n1', 'skip'],
    [
      'of a pod of another namespace, which means this one',
      far(term({ labelSelector: {}, namespaces: ['demo'] })),
      'other/q',
      'n1',
      keptAway,
    ],
    [
      'of a pod of another namespace, which means all',
      far(term({ labelSelector: {}, namespaceSelector: {} })),
      'other/q',
      'n1',
      keptAway,
    ],
  ])('%s', (_, spec, id, onNode, says) => {
    expect(
      filterSays(interPodAffinity, pod('demo/p', { labels: web }), [...nodes, pod(id, { node: onNode, spec })]),
    ).toBe(says)
  })
})

describe('namespaces', () => {
  const namespaces = [namespace('demo'), namespace('other', { team: 'a' }), namespace('third', { team: 'b' })]
  const objects = [...nodes, ...namespaces, pod('other/q', { node: 'n1', labels: db })]
  const byTeam = (operator: string, ...values: string[]) => ({ matchExpressions: [{ key: 'team', operator, values }] })
  it.each<[string, Partial<PodAffinityTerm>, string]>([
    ['none named: the pod’s own', {}, 'passes'],
    ['named', { namespaces: ['other'] }, noAntiAffinity],
    ['another named', { namespaces: ['third', 'nowhere'] }, 'passes'],
    ['an empty selector takes all', { namespaceSelector: {} }, noAntiAffinity],
    ['selected by label', { namespaceSelector: { matchLabels: { team: 'a' } } }, noAntiAffinity],
    ['another selected', { namespaceSelector: { matchLabels: { team: 'b' } } }, 'passes'],
    ['named or selected', { namespaces: ['other'], namespaceSelector: { matchLabels: { team: 'b' } } }, noAntiAffinity],
    ['none selected', { namespaceSelector: { matchLabels: { team: 'c' } } }, 'passes'],
    [
      'selected by its name',
      { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'other' } } },
      noAntiAffinity,
    ],
  ])('%s', (_, rest, says) => {
    expect(filterSays(interPodAffinity, wanting(far(term(rest))), objects)).toBe(says)
  })

  // Recorded: the schedulers of 1.34 and 1.36 take pods of every namespace here, those of 1.33 and 1.37 do not.
  it.each([
    ['v1.33.0', 'DoesNotExist', [], 'passes'],
    ['v1.34.4', 'DoesNotExist', [], noAntiAffinity],
    ['v1.34.4', 'NotIn', ['a'], noAntiAffinity],
    ['v1.36.0', 'DoesNotExist', [], noAntiAffinity],
    ['v1.37.2', 'DoesNotExist', [], 'passes'],
  ])('%s asks a selector with %s without labels, too', (version, operator, values, says) => {
    const spec = far(term({ namespaceSelector: byTeam(operator, ...values) }))
    expect(filterSays(interPodAffinity, wanting(spec), objects, version)).toBe(says)
  })
})
