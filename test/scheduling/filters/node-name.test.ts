import { expect, it } from 'vitest'
import { nodeName } from '../../../src/scheduling/filters/node-name.js'
import { node, pod } from '../../support/objects.js'
import { filterSays } from '../../support/scheduling.js'

it.each([
  ['a pod that names no node', undefined, 'skip'],
  ['an empty name', '', 'skip'],
  ['the node itself', 'n1', 'passes'],
  ['another node', 'n2', "never: node(s) didn't match the requested node name"],
])('%s', (_, name, says) => {
  expect(filterSays(nodeName, pod('demo/p', { node: name }), [node('n1')])).toBe(says)
})
