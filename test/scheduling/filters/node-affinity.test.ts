import { describe, expect, it } from 'vitest'
import type { LabelSelectorRequirement, NodeSelectorTerm, PodSpec } from '../../../src/cluster/objects.js'
import { nodeAffinity } from '../../../src/scheduling/filters/node-affinity.js'
import { node, pod } from '../../support/objects.js'
import { filterSays, schedulerSays } from '../../support/scheduling.js'

const refused = "never: node(s) didn't match Pod's node affinity/selector"
const requires = (...nodeSelectorTerms: NodeSelectorTerm[]): PodSpec => ({
  affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } } },
})
const nodes = [node('n1', { labels: { disk: 'ssd', rank: '5', odd: 'x', empty: '' } }), node('n2')]

describe('an expression', () => {
  it.each<[string, LabelSelectorRequirement, string]>([
    ['In, one of the values', { key: 'disk', operator: 'In', values: ['hdd', 'ssd'] }, 'passes'],
    ['In, none of the values', { key: 'disk', operator: 'In', values: ['hdd'] }, refused],
    ['In, no such label', { key: 'rack', operator: 'In', values: ['a'] }, refused],
    ['In, the empty value', { key: 'empty', operator: 'In', values: [''] }, 'passes'],
    ['In without values', { key: 'disk', operator: 'In', values: [] }, refused],
    ['NotIn, another value', { key: 'disk', operator: 'NotIn', values: ['hdd'] }, 'passes'],
    ['NotIn, the value', { key: 'disk', operator: 'NotIn', values: ['ssd'] }, refused],
    ['NotIn, no such label', { key: 'rack', operator: 'NotIn', values: ['a'] }, 'passes'],
    ['Exists', { key: 'disk', operator: 'Exists' }, 'passes'],
    ['Exists with an empty value', { key: 'empty', operator: 'Exists' }, 'passes'],
    ['Exists, no such label', { key: 'rack', operator: 'Exists' }, refused],
    ['Exists, a name every object inherits', { key: 'constructor', operator: 'Exists' }, refused],
    ['DoesNotExist', { key: 'rack', operator: 'DoesNotExist' }, 'passes'],
    ['DoesNotExist, but it does', { key: 'disk', operator: 'DoesNotExist' }, refused],
    ['Gt, greater', { key: 'rank', operator: 'Gt', values: ['4'] }, 'passes'],
    ['Gt, equal', { key: 'rank', operator: 'Gt', values: ['5'] }, refused],
    ['Gt, a label that is no number', { key: 'odd', operator: 'Gt', values: ['0'] }, refused],
    ['Gt, a bound that is no label value', { key: 'rank', operator: 'Gt', values: ['-5'] }, refused],
    ['Gt, no such label', { key: 'rack', operator: 'Gt', values: ['0'] }, refused],
    ['Lt, less', { key: 'rank', operator: 'Lt', values: ['6'] }, 'passes'],
    ['Lt, equal', { key: 'rank', operator: 'Lt', values: ['5'] }, refused],
    ['an operator that is not known', { key: 'disk', operator: 'Like', values: ['s'] }, refused],
  ])('%s', (_, expression, says) => {
    expect(filterSays(nodeAffinity, pod('demo/p', { spec: requires({ matchExpressions: [expression] }) }), nodes)).toBe(
      says,
    )
  })
})

describe('terms', () => {
  const ssd = { key: 'disk', operator: 'In', values: ['ssd'] }
  const rack = { key: 'rack', operator: 'Exists' }
  const named = (name: string, operator = 'In') => ({ key: 'metadata.name', operator, values: [name] })
  it.each<[string, PodSpec, string]>([
    ['nothing asked', {}, 'skip'],
    ['expressions of a term are ANDed', requires({ matchExpressions: [ssd, rack] }), refused],
    ['terms are ORed', requires({ matchExpressions: [rack] }, { matchExpressions: [ssd] }), 'passes'],
    ['a term without anything matches nothing', requires({}), refused],
    ['no term matches nothing', requires(), refused],
    ['nodeSelector', { nodeSelector: { disk: 'ssd' } }, 'passes'],
    ['nodeSelector, each of its labels', { nodeSelector: { disk: 'ssd', rack: 'a' } }, refused],
    ['nodeSelector, the empty value', { nodeSelector: { empty: '' } }, 'passes'],
    ['nodeSelector, an empty value that is not there', { nodeSelector: { rack: '' } }, refused],
    [
      'nodeSelector and affinity are ANDed',
      { nodeSelector: { disk: 'hdd' }, ...requires({ matchExpressions: [ssd] }) },
      refused,
    ],
    ['the name', requires({ matchFields: [named('n1')] }), 'passes'],
    ['another name', requires({ matchFields: [named('n2')] }), 'left out'],
    ['not the name', requires({ matchFields: [named('n1', 'NotIn')] }), refused],
    ['not another name', requires({ matchFields: [named('n2', 'NotIn')] }), 'passes'],
    [
      'the name, and an expression that does not match',
      requires({ matchFields: [named('n1')], matchExpressions: [rack] }),
      refused,
    ],
    ['another name, or an expression', requires({ matchFields: [named('n2')] }, { matchExpressions: [ssd] }), 'passes'],
    [
      'a field that nodes do not have',
      requires({ matchFields: [{ key: 'spec.x', operator: 'In', values: ['a'] }] }),
      refused,
    ],
    [
      'two names at once',
      requires({ matchFields: [named('n1'), named('n2')] }),
      'no node: pod affinity terms conflict',
    ],
  ])('%s', (_, spec, says) => {
    expect(filterSays(nodeAffinity, pod('demo/p', { spec }), nodes)).toBe(says)
  })
})

describe('nodes that are not named', () => {
  const gone = pod('demo/p', {
    spec: requires({ matchFields: [{ key: 'metadata.name', operator: 'In', values: ['gone'] }] }),
  })
  const tail = 'preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling.'
  it.each([
    ['v1.31.0', `0/2 nodes are available: ${tail}`],
    ['v1.33.0', `0/2 nodes are available: 2 node(s) didn't satisfy plugin(s) [NodeAffinity]. ${tail}`],
    [
      'v1.34.4',
      `0/2 nodes are available: 2 node(s) didn't satisfy plugin(s) [NodeAffinity]. no new claims to deallocate, ${tail}`,
    ],
  ])('are counted as %s does', (version, message) => {
    expect(schedulerSays(gone, nodes, version).message).toBe(message)
  })
})
