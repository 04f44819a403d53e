import { describe, expect, it } from 'vitest'
import type { Container, Pod, PodSpec, ResourceList } from '../../src/cluster/objects.js'
import { podRequests, type Resources, toResources } from '../../src/scheduling/resources.js'
import { rulesOf, schedulerVersion } from '../../src/scheduling/wording.js'
import { pod } from '../support/objects.js'

const rules = (version = 'v1.34.4') => rulesOf(schedulerVersion(version))
const c = (requests: ResourceList, rest: Partial<Container> = {}): Container => ({
  name: 'c',
  resources: { requests },
  ...rest,
})
const sidecar = (requests: ResourceList) => c(requests, { restartPolicy: 'Always' })
const cpuOf = (spec: PodSpec, version?: string) => podRequests(pod('demo/p', { spec }), rules(version), 'spec').cpu

describe('CPU of a pod, in thousandths', () => {
  it.each<[string, PodSpec, number]>([
    ['no container asks', { containers: [c({})] }, 0],
    ['containers add up', { containers: [c({ cpu: '100m' }), c({ cpu: '0.25' })] }, 350],
    [
      'a larger init container counts alone',
      { containers: [c({ cpu: '1' })], initContainers: [c({ cpu: '3' })] },
      3000,
    ],
    ['a smaller one does not', { containers: [c({ cpu: '1' })], initContainers: [c({ cpu: '500m' })] }, 1000],
    [
      'init containers run one after the other',
      { containers: [c({})], initContainers: [c({ cpu: '2' }), c({ cpu: '1' })] },
      2000,
    ],
    [
      'a sidecar runs beside the containers',
      { containers: [c({ cpu: '1' })], initContainers: [sidecar({ cpu: '1' })] },
      2000,
    ],
    [
      'an init container after a sidecar runs beside it',
      { containers: [c({})], initContainers: [sidecar({ cpu: '1' }), c({ cpu: '2' })] },
      3000,
    ],
    [
      'an init container before it does not',
      { containers: [c({})], initContainers: [c({ cpu: '2' }), sidecar({ cpu: '1' })] },
      2000,
    ],
    [
      'sidecars between init containers',
      {
        containers: [c({ cpu: '1' })],
        initContainers: [sidecar({ cpu: '1' }), c({ cpu: '3' }), sidecar({ cpu: '1' }), c({ cpu: '1' })],
      },
      4000,
    ],
    ['overhead comes on top', { containers: [c({ cpu: '1' })], overhead: { cpu: '250m' } }, 1250],
    [
      'pod-level requests stand for all',
      { containers: [c({ cpu: '1' })], resources: { requests: { cpu: '4' } } },
      4000,
    ],
    [
      'pod-level requests of something else do not',
      { containers: [c({ cpu: '1' })], resources: { requests: { memory: '4Gi' } } },
      1000,
    ],
    [
      'overhead comes on top of pod-level requests',
      { containers: [c({})], resources: { requests: { cpu: '4' } }, overhead: { cpu: '250m' } },
      4250,
    ],
    [
      'a limit is no request here: the API server has made it one',
      { containers: [{ name: 'c', resources: { limits: { cpu: '1' } } }] },
      0,
    ],
  ])('%s', (_, spec, cpu) => {
    expect(cpuOf(spec)).toBe(cpu)
  })

  it('pod-level requests do not count until 1.33', () => {
    expect(cpuOf({ containers: [c({ cpu: '1' })], resources: { requests: { cpu: '4' } } }, 'v1.33.0')).toBe(1000)
  })
})

describe('pod-level requests', () => {
  it('are of CPU, memory and huge pages only', () => {
    const requests = { cpu: '2', 'hugepages-2Mi': '4Mi', 'example.com/gpu': '9', 'ephemeral-storage': '9Gi' }
    const containers = [c({ 'example.com/gpu': '1', 'ephemeral-storage': '1Gi', 'hugepages-2Mi': '2Mi' })]
    const { cpu, ephemeralStorage, scalars } = podRequests(
      pod('demo/p', { spec: { containers, resources: { requests } } }),
      rules(),
      'spec',
    )
    expect({ cpu, ephemeralStorage, scalars: Object.fromEntries(scalars) }).toEqual({
      cpu: 2000,
      ephemeralStorage: 2 ** 30,
      scalars: { 'example.com/gpu': 1, 'hugepages-2Mi': 4 * 2 ** 20 },
    })
  })
})

describe('what a running pod holds', () => {
  const running = (
    requests: ResourceList,
    held: ResourceList | undefined,
    allocated?: ResourceList,
    infeasible = false,
  ): Pod =>
    pod('demo/p', {
      node: 'n1',
      spec: { containers: [c(requests)] },
      status: {
        containerStatuses: [
          {
            name: 'c',
            ...(held === undefined ? {} : { resources: { requests: held } }),
            ...(allocated === undefined ? {} : { allocatedResources: allocated }),
          },
        ],
        conditions: infeasible ? [{ type: 'PodResizePending', status: 'True', reason: 'Infeasible' }] : [],
      },
    })
  it.each<[string, Pod, string, number]>([
    ['what it asks for', running({ cpu: '1' }, undefined), 'v1.34.4', 1000],
    ['what it still has while it shrinks', running({ cpu: '1' }, { cpu: '2' }), 'v1.34.4', 2000],
    ['what it wants while it grows', running({ cpu: '3' }, { cpu: '2' }), 'v1.34.4', 3000],
    ['what was allocated, if that is more', running({ cpu: '1' }, { cpu: '1' }, { cpu: '2' }), 'v1.34.4', 2000],
    ['what it has when it can’t grow', running({ cpu: '9' }, { cpu: '2' }, { cpu: '2' }, true), 'v1.34.4', 2000],
    ['what it asks for, until 1.32', running({ cpu: '1' }, { cpu: '2' }), 'v1.32.0', 1000],
  ])('%s', (_, one, version, cpu) => {
    expect(podRequests(one, rules(version), 'status').cpu).toBe(cpu)
  })
})

describe('what a running pod with pod-level requests holds', () => {
  const running = (held: string | undefined, infeasible = false): Pod =>
    pod('demo/p', {
      node: 'n1',
      spec: { containers: [c({})], resources: { requests: { cpu: '2' } } },
      status: {
        ...(held === undefined ? {} : { resources: { requests: { cpu: held } }, allocatedResources: { cpu: '1500m' } }),
        conditions: infeasible ? [{ type: 'PodResizePending', status: 'True', reason: 'Infeasible' }] : [],
      },
    })
  it.each<[string, Pod, string, number]>([
    ['what it asks for', running(undefined), 'v1.36.0', 2000],
    ['what it still has', running('3'), 'v1.36.0', 3000],
    ['what it wants while it grows', running('1'), 'v1.36.0', 2000],
    ['what was allocated when it can’t grow', running('1', true), 'v1.36.0', 1500],
    ['what it asks for, until 1.35', running('3'), 'v1.35.0', 2000],
  ])('%s', (_, one, version, cpu) => {
    expect(podRequests(one, rules(version), 'status').cpu).toBe(cpu)
  })
})

describe('a resource list', () => {
  const none: Partial<Resources> = { cpu: 0, memory: 0, ephemeralStorage: 0, pods: 0 }
  it.each<[string, ResourceList, Partial<Resources>, Record<string, number>]>([
    [
      'the native ones',
      { cpu: '1', memory: '1Ki', 'ephemeral-storage': '1k', pods: '110' },
      { cpu: 1000, memory: 1024, ephemeralStorage: 1000, pods: 110 },
      {},
    ],
    ['devices', { 'example.com/gpu': '2' }, none, { 'example.com/gpu': 2 }],
    ['huge pages', { 'hugepages-1Gi': '2Gi' }, none, { 'hugepages-1Gi': 2 ** 31 }],
    ['volume attachments', { 'attachable-volumes-csi-x': '5' }, none, { 'attachable-volumes-csi-x': 5 }],
    ['Kubernetes’ own', { 'kubernetes.io/batch-cpu': '3' }, none, { 'kubernetes.io/batch-cpu': 3 }],
    ['no resource: no domain', { gpu: '1', storage: '1Gi' }, none, {}],
    ['no resource: quota’s name', { 'requests.example.com/gpu': '1' }, none, {}],
    ['no resource: two slashes', { 'example.com/a/b': '1' }, none, {}],
  ])('%s', (_, list, native, scalars) => {
    const resources = toResources(list)
    expect(resources).toMatchObject(native)
    expect(Object.fromEntries(resources.scalars)).toEqual(scalars)
  })
})
