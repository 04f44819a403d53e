import { expect, it } from 'vitest'
import type { ContainerPort } from '../../../src/cluster/objects.js'
import { nodePorts } from '../../../src/scheduling/filters/node-ports.js'
import { node, pod } from '../../support/objects.js'
import { filterSays } from '../../support/scheduling.js'

const refused = "no: node(s) didn't have free ports for the requested pod ports"
const withPorts = (id: string, ports: ContainerPort[], onNode?: string) =>
  pod(id, { node: onNode, spec: { containers: [{ name: 'app', ports }] } })

it.each<[string, ContainerPort, ContainerPort, string]>([
  ['no host port', { containerPort: 80 }, { hostPort: 80 }, 'skip'],
  ['host port 0', { hostPort: 0 }, { hostPort: 80 }, 'skip'],
  ['another port', { hostPort: 81 }, { hostPort: 80 }, 'passes'],
  ['the same port', { hostPort: 80 }, { hostPort: 80 }, refused],
  ['no protocol means TCP', { hostPort: 80, protocol: 'TCP' }, { hostPort: 80 }, refused],
  ['another protocol', { hostPort: 80, protocol: 'UDP' }, { hostPort: 80 }, 'passes'],
  ['SCTP against SCTP', { hostPort: 80, protocol: 'SCTP' }, { hostPort: 80, protocol: 'SCTP' }, refused],
  ['two addresses', { hostPort: 80, hostIP: '10.0.0.1' }, { hostPort: 80, hostIP: '127.0.0.1' }, 'passes'],
  ['one address', { hostPort: 80, hostIP: '10.0.0.1' }, { hostPort: 80, hostIP: '10.0.0.1' }, refused],
  ['all addresses wanted', { hostPort: 80, hostIP: '0.0.0.0' }, { hostPort: 80, hostIP: '10.0.0.1' }, refused],
  ['all addresses taken', { hostPort: 80, hostIP: '10.0.0.1' }, { hostPort: 80 }, refused],
  ['`::` is an address like any other', { hostPort: 80, hostIP: '::' }, { hostPort: 80, hostIP: '10.0.0.1' }, 'passes'],
])('%s', (_, wanted, taken, says) => {
  const objects = [node('n1'), withPorts('other/q', [taken], 'n1')]
  expect(filterSays(nodePorts, withPorts('demo/p', [wanted]), objects)).toBe(says)
})

it('a port of another node or of a finished pod is free', () => {
  const finished = { ...withPorts('demo/old', [{ hostPort: 80 }], 'n1'), status: { phase: 'Succeeded' } }
  const objects = [node('n1'), node('n2'), withPorts('demo/q', [{ hostPort: 80 }], 'n2'), finished]
  expect(filterSays(nodePorts, withPorts('demo/p', [{ hostPort: 80 }]), objects)).toBe('passes')
})

it.each([
  ['a sidecar holds its port from 1.33 on', 'Always', 'v1.33.13', refused],
  ['it does not before', 'Always', 'v1.32.9', 'passes'],
  ['an init container that ends holds none', undefined, 'v1.34.4', 'passes'],
])('%s', (_, restartPolicy, version, says) => {
  const side = pod('demo/q', {
    node: 'n1',
    spec: { containers: [], initContainers: [{ name: 'side', restartPolicy, ports: [{ hostPort: 80 }] }] },
  })
  expect(filterSays(nodePorts, withPorts('demo/p', [{ hostPort: 80 }]), [node('n1'), side], version)).toBe(says)
})
