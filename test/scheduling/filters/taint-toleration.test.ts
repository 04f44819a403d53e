import { expect, it } from 'vitest'
import type { Taint, Toleration } from '../../../src/cluster/objects.js'
import { taintToleration } from '../../../src/scheduling/filters/taint-toleration.js'
import { node, pod } from '../../support/objects.js'
import { filterSays } from '../../support/scheduling.js'

const refused = 'never: node(s) had untolerated taint(s)'
const noSchedule: Taint = { key: 'dedicated', value: 'db', effect: 'NoSchedule' }
const noExecute: Taint = { key: 'dedicated', value: 'db', effect: 'NoExecute' }
const prefer: Taint = { key: 'dedicated', value: 'db', effect: 'PreferNoSchedule' }
const empty: Taint = { key: 'dedicated', effect: 'NoSchedule' }

it.each<[string, Taint[], Toleration[], string]>([
  ['no taint', [], [], 'passes'],
  ['NoSchedule', [noSchedule], [], refused],
  ['NoExecute', [noExecute], [], refused],
  ['PreferNoSchedule keeps no pod away', [prefer], [], 'passes'],
  ['an equal value', [noSchedule], [{ key: 'dedicated', operator: 'Equal', value: 'db' }], 'passes'],
  ['no operator means Equal', [noSchedule], [{ key: 'dedicated', value: 'db' }], 'passes'],
  ['another value', [noSchedule], [{ key: 'dedicated', value: 'web' }], refused],
  ['no value where the taint has one', [noSchedule], [{ key: 'dedicated' }], refused],
  ['an empty value where the taint has none', [empty], [{ key: 'dedicated', operator: 'Equal', value: '' }], 'passes'],
  ['Exists', [noSchedule], [{ key: 'dedicated', operator: 'Exists' }], 'passes'],
  ['Exists without a key', [noSchedule, noExecute], [{ operator: 'Exists' }], 'passes'],
  [
    'Exists without a key, of one effect',
    [noSchedule, noExecute],
    [{ operator: 'Exists', effect: 'NoSchedule' }],
    refused,
  ],
  [
    'the effect must be the same',
    [noSchedule],
    [{ key: 'dedicated', operator: 'Exists', effect: 'NoExecute' }],
    refused,
  ],
  ['an operator that is not known', [noSchedule], [{ key: 'dedicated', operator: 'Lt', value: 'db' }], refused],
  [
    'each taint by a toleration of its own',
    [noSchedule, noExecute],
    [
      { key: 'dedicated', value: 'db', effect: 'NoExecute' },
      { key: 'dedicated', value: 'db', effect: 'NoSchedule' },
    ],
    'passes',
  ],
  [
    'one taint of two tolerated',
    [prefer, noExecute, noSchedule],
    [{ key: 'dedicated', effect: 'NoExecute', value: 'db' }],
    refused,
  ],
])('%s', (_, taints, tolerations, says) => {
  const nodes = [node('n1', { spec: { taints } })]
  expect(filterSays(taintToleration, pod('demo/p', { spec: { tolerations } }), nodes)).toBe(says)
})

it.each([
  ['with its value', noSchedule, 'never: node(s) had untolerated taint {dedicated: db}'],
  ['without one', empty, 'never: node(s) had untolerated taint {dedicated: }'],
])('until 1.33 the taint is named, %s', (_, taint, says) => {
  expect(filterSays(taintToleration, pod('demo/p'), [node('n1', { spec: { taints: [taint] } })], 'v1.33.0')).toBe(says)
})
