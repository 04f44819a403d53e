import { expect, it } from 'vitest'
import type { PodSpec } from '../../../src/cluster/objects.js'
import { nodeDeclaredFeatures } from '../../../src/scheduling/filters/node-declared-features.js'
import { node, pod } from '../../support/objects.js'
import { filterSays } from '../../support/scheduling.js'

const refused = "never: node(s) didn't match Pod's required features"
const restarts: PodSpec = {
  containers: [{ name: 'app', restartPolicyRules: [{ action: 'RestartAllContainers' }] }],
}

it.each<[string, PodSpec, string[], string, string]>([
  ['a pod that needs no feature', {}, [], 'v1.36.0', 'skip'],
  ['a host-network pod in its own user namespace', { hostNetwork: true, hostUsers: false }, [], 'v1.36.0', refused],
  [
    'the same where the node can',
    { hostNetwork: true, hostUsers: false },
    ['UserNamespacesHostNetworkSupport'],
    'v1.36.0',
    'passes',
  ],
  ['a host-network pod in the host’s user namespace', { hostNetwork: true }, [], 'v1.36.0', 'skip'],
  ['restarting all containers', restarts, ['UserNamespacesHostNetworkSupport'], 'v1.36.0', refused],
  [
    'restarting all containers where the node can',
    restarts,
    ['RestartAllContainersOnContainerExits'],
    'v1.36.0',
    'passes',
  ],
  ['nobody asks before 1.36', restarts, [], 'v1.35.0', 'skip'],
])('%s', (_, spec, declaredFeatures, version, says) => {
  const nodes = [node('n1', { status: { declaredFeatures } })]
  expect(filterSays(nodeDeclaredFeatures, pod('demo/p', { spec }), nodes, version)).toBe(says)
})
