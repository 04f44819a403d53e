import { describe, expect, it } from 'vitest'
import type { ResourceList } from '../../../src/cluster/objects.js'
import { nodeResources } from '../../../src/scheduling/filters/node-resources.js'
import { node, pod } from '../../support/objects.js'
import { filterSays } from '../../support/scheduling.js'

const asking = (id: string, requests: ResourceList, onNode?: string) =>
  pod(id, { node: onNode, spec: { containers: [{ name: 'app', resources: { requests } }] } })

describe('on a node with 2 CPUs, 4Gi, 10Gi of disk, 2 GPUs, of which 1 CPU, 1Gi, 4Gi and 1 GPU are taken', () => {
  const allocatable = { cpu: '2', memory: '4Gi', 'ephemeral-storage': '10Gi', pods: '10', 'example.com/gpu': '2' }
  const taken = { cpu: '1', memory: '1Gi', 'ephemeral-storage': '4Gi', 'example.com/gpu': '1' }
  const objects = [node('n1', { allocatable }), asking('demo/q', taken, 'n1')]
  it.each<[string, ResourceList, string]>([
    ['nothing asked', {}, 'passes'],
    ['exactly what is left', { cpu: '1', memory: '3Gi', 'ephemeral-storage': '6Gi', 'example.com/gpu': '1' }, 'passes'],
    ['one thousandth of a CPU too many', { cpu: '1001m' }, 'no: Insufficient cpu'],
    ['one byte too many', { memory: `${3 * 2 ** 30 + 1}` }, 'no: Insufficient memory'],
    ['disk', { 'ephemeral-storage': '7Gi' }, 'no: Insufficient ephemeral-storage'],
    ['devices', { 'example.com/gpu': '2' }, 'no: Insufficient example.com/gpu'],
    [
      'all that is missing is said',
      { cpu: '2', memory: '4Gi', 'example.com/gpu': '2' },
      'no: Insufficient cpu, Insufficient memory, Insufficient example.com/gpu',
    ],
    ['more than the node has', { cpu: '2500m' }, 'never: Insufficient cpu'],
    ['one of them more than the node has', { cpu: '2', memory: '5Gi' }, 'never: Insufficient cpu, Insufficient memory'],
    ['a device that the node does not have', { 'example.com/fpga': '1' }, 'never: Insufficient example.com/fpga'],
    ['none of a device that the node does not have', { 'example.com/fpga': '0' }, 'passes'],
    ['huge pages that the node does not have', { 'hugepages-2Mi': '2Mi' }, 'never: Insufficient hugepages-2Mi'],
    ['a name that is no resource to the scheduler', { 'requests.example.com/x': '9' }, 'passes'],
  ])('%s', (_, requests, says) => {
    expect(filterSays(nodeResources, asking('demo/p', requests), objects)).toBe(says)
  })

  it('until 1.33 preemption is tried on a node that is too small, too', () => {
    expect(filterSays(nodeResources, asking('demo/p', { cpu: '3' }), objects, 'v1.33.0')).toBe('no: Insufficient cpu')
  })
})

describe('the number of pods', () => {
  it.each([
    ['one place left', '2', 'passes'],
    ['none left', '1', 'no: Too many pods'],
  ])('%s', (_, pods, says) => {
    const objects = [node('n1', { allocatable: { pods } }), pod('other/q', { node: 'n1' })]
    expect(filterSays(nodeResources, pod('demo/p'), objects)).toBe(says)
  })

  it('a node that does not say how many takes none', () => {
    const objects = [node('n1', { status: { allocatable: { cpu: '4' } } })]
    expect(filterSays(nodeResources, pod('demo/p'), objects)).toBe('no: Too many pods')
  })

  it('finished pods hold nothing, terminating ones do', () => {
    const gone = asking('demo/gone', { cpu: '4' }, 'n1')
    const failed = { ...gone, status: { phase: 'Failed' } }
    const dying = { ...gone, metadata: { ...gone.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } }
    const wants = asking('demo/p', { cpu: '1' })
    expect(filterSays(nodeResources, wants, [node('n1'), failed])).toBe('passes')
    expect(filterSays(nodeResources, wants, [node('n1'), dying])).toBe('no: Insufficient cpu')
  })

  it('a node that holds more than it has takes only pods that ask for nothing of it', () => {
    const objects = [node('n1'), asking('demo/q', { cpu: '6' }, 'n1')]
    expect(filterSays(nodeResources, asking('demo/p', { memory: '1Gi' }), objects)).toBe('passes')
    expect(filterSays(nodeResources, asking('demo/p', { cpu: '1m' }), objects)).toBe('no: Insufficient cpu')
  })
})
