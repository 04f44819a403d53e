import { expect, it } from 'vitest'
import type { Toleration } from '../../../src/cluster/objects.js'
import { nodeUnschedulable } from '../../../src/scheduling/filters/node-unschedulable.js'
import { node, pod } from '../../support/objects.js'
import { filterSays } from '../../support/scheduling.js'

const refused = 'never: node(s) were unschedulable'

it.each<[string, boolean | undefined, Toleration[] | undefined, string]>([
  ['a node that is not cordoned', undefined, undefined, 'passes'],
  ['a cordoned node', true, undefined, refused],
  [
    'a toleration of the cordon by key',
    true,
    [{ key: 'node.kubernetes.io/unschedulable', operator: 'Exists' }],
    'passes',
  ],
  ['one with the effect, too', true, [{ key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' }], 'passes'],
  [
    'one of another effect',
    true,
    [{ key: 'node.kubernetes.io/unschedulable', operator: 'Exists', effect: 'NoExecute' }],
    refused,
  ],
  ['one that wants a value', true, [{ key: 'node.kubernetes.io/unschedulable', value: 'true' }], refused],
  ['one of everything', true, [{ operator: 'Exists' }], 'passes'],
  ['one of another key', true, [{ key: 'node.kubernetes.io/not-ready', operator: 'Exists' }], refused],
])('%s', (_, unschedulable, tolerations, says) => {
  // The taint that goes with a cordon is another filter's business.
  const nodes = [node('n1', { spec: { unschedulable } })]
  expect(filterSays(nodeUnschedulable, pod('demo/p', { spec: { tolerations } }), nodes)).toBe(says)
})
