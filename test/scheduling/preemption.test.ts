import { describe, expect, it } from 'vitest'
import type { Pod, PodSpec } from '../../src/cluster/objects.js'
import { budget, claim, node, pod } from '../support/objects.js'
import { schedulerSays } from '../support/scheduling.js'

interface Rest {
  cpu?: string
  labels?: Record<string, string>
  started?: string
  spec?: PodSpec
}
const taking = (id: string, onNode: string | undefined, priority: number, rest: Rest = {}): Pod =>
  pod(id, {
    node: onNode,
    labels: rest.labels,
    status: { phase: 'Running', startTime: rest.started },
    spec: {
      priority,
      containers: [{ name: 'app', resources: { requests: { cpu: rest.cpu ?? '1' } } }],
      ...rest.spec,
    },
  })
const cpus = (name: string, cpu = '2') => node(name, { allocatable: { cpu } })
const wants = (cpu: string, priority = 100, spec: PodSpec = {}) => taking('demo/p', undefined, priority, { cpu, spec })

describe('whom a node gives up', () => {
  it.each<[string, Pod, Pod[], string[]]>([
    ['the one of lower priority', wants('1'), [taking('demo/a', 'n1', 0), taking('demo/b', 'n1', 100)], ['demo/a']],
    ['nobody of equal priority', wants('1', 0), [taking('demo/a', 'n1', 0), taking('demo/b', 'n1', 0)], []],
    [
      'below zero is lower than none',
      wants('1', 0),
      [taking('demo/a', 'n1', -5), taking('demo/b', 'n1', 0)],
      ['demo/a'],
    ],
    ['no more than it must', wants('1'), [taking('demo/a', 'n1', 1), taking('demo/b', 'n1', 2)], ['demo/a']],
    [
      'of equal priority the one that started later',
      wants('1'),
      [
        taking('demo/a', 'n1', 0, { started: '2026-01-02T00:00:00Z' }),
        taking('demo/b', 'n1', 0, { started: '2026-01-01T00:00:00Z' }),
      ],
      ['demo/a'],
    ],
    [
      'the more important first, though the less important would have been enough',
      wants('1500m'),
      [taking('demo/a', 'n1', 2, { cpu: '1500m' }), taking('demo/b', 'n1', 1, { cpu: '500m' })],
      ['demo/a'],
    ],
    ['all of them', wants('2'), [taking('demo/a', 'n1', 1), taking('demo/b', 'n1', 2)], ['demo/b', 'demo/a']],
    ['nobody, if that is not enough', wants('2'), [taking('demo/a', 'n1', 1), taking('demo/b', 'n1', 200)], []],
    ['nobody, if the node is too small', wants('3'), [taking('demo/a', 'n1', 1)], []],
    ['nobody, if the pod must not', wants('2', 100, { preemptionPolicy: 'Never' }), [taking('demo/a', 'n1', 0)], []],
  ])('%s', (_, asked, others, victims) => {
    const says = schedulerSays(asked, [cpus('n1'), ...others])
    expect(says.feasible).toEqual([])
    expect(says.victims).toEqual(victims)
    expect(says.nominated).toBe(victims.length === 0 ? null : 'n1')
  })

  it('not whom it needs beside it: what is gone can’t be near', () => {
    const near: PodSpec = {
      affinity: {
        podAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: [
            { topologyKey: 'kubernetes.io/hostname', labelSelector: { matchLabels: { app: 'db' } } },
          ],
        },
      },
    }
    const db = taking('demo/db', 'n1', 0, { cpu: '2', labels: { app: 'db' } })
    expect(schedulerSays(wants('1', 100, near), [cpus('n1'), db]).message).toBe(
      "0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, preemption: 0/1 nodes are available: 1 node(s) didn't match pod affinity rules.",
    )
  })

  it.each<[string, PodSpec, PodSpec, string]>([
    [
      'the holder of a host port',
      { containers: [{ name: 'a', ports: [{ hostPort: 80 }] }] },
      { containers: [{ name: 'a', ports: [{ hostPort: 80 }] }] },
      "1 node(s) didn't have free ports for the requested pod ports",
    ],
    [
      'the holder of a ReadWriteOncePod claim',
      { volumes: [{ name: 'd', persistentVolumeClaim: { claimName: 'c' } }] },
      { volumes: [{ name: 'd', persistentVolumeClaim: { claimName: 'c' } }] },
      '1 node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod',
    ],
    [
      'the one that keeps its kind away',
      {},
      {
        affinity: {
          podAntiAffinity: {
            requiredDuringSchedulingIgnoredDuringExecution: [
              { topologyKey: 'kubernetes.io/hostname', labelSelector: {} },
            ],
          },
        },
      },
      "1 node(s) didn't satisfy existing pods anti-affinity rules",
    ],
  ])('%s', (_, asked, held, reason) => {
    const once = claim('demo/c', { accessModes: ['ReadWriteOncePod'], volumeName: 'v' })
    const volume = { kind: 'PersistentVolume', metadata: { name: 'v' }, spec: { hostPath: { path: '/v' } } } as const
    const holder = pod('demo/a', { node: 'n1', spec: { priority: 0, ...held } })
    const says = schedulerSays(pod('demo/p', { spec: { priority: 1, ...asked } }), [node('n1'), once, volume, holder])
    expect(says).toMatchObject({
      message: `0/1 nodes are available: ${reason}.`,
      nominated: 'n1',
      victims: ['demo/a'],
    })
  })
})

describe('budgets', () => {
  const web = { app: 'web' }
  const a = taking('demo/a', 'n1', 1, { labels: web })
  const b = taking('demo/b', 'n1', 0)
  it.each([
    ['spare the one whose budget is used up, though it matters less', taking('demo/b', 'n1', 5), 0, 'demo/b'],
    ['that allow it spare nobody', taking('demo/b', 'n1', 5), 1, 'demo/a'],
  ])('%s', (_, other, disruptionsAllowed, victim) => {
    const objects = [cpus('n1'), a, other, budget('demo/web', web, { disruptionsAllowed })]
    expect(schedulerSays(wants('1'), objects).victims).toEqual([victim])
  })

  it.each<[string, Parameters<typeof budget>, string]>([
    ['of another namespace', ['other/web', web, { disruptionsAllowed: 0 }], 'n1'],
    ['with an empty selector', ['demo/web', {}, { disruptionsAllowed: 0 }], 'n1'],
    [
      'that count the pod as gone already',
      ['demo/web', web, { disruptionsAllowed: 0, disruptedPods: { a: '2026-01-01T00:00:00Z' } }],
      'n1',
    ],
    ['that are used up, and another node asks for no violation', ['demo/web', web, { disruptionsAllowed: 0 }], 'n2'],
  ])('%s', (_, made, nominated) => {
    // Without a budget n1 is better: its victim has the lower priority.
    const objects = [cpus('n1', '1'), cpus('n2', '1'), a, taking('demo/c', 'n2', 2), budget(...made)]
    expect(schedulerSays(wants('1'), objects).nominated).toBe(nominated)
  })

  it('are broken when there is no other way', () => {
    const objects = [cpus('n1', '2'), a, b, budget('demo/web', web, { disruptionsAllowed: 0 })]
    expect(schedulerSays(wants('2'), objects).victims).toEqual(['demo/a', 'demo/b'])
  })
})

describe('which node', () => {
  const on = (name: string, ...pods: [priority: number, cpu: string, day?: string][]) => [
    cpus(name),
    ...pods.map(([priority, cpu, day = '01'], i) =>
      taking(`demo/${name}-${i}`, name, priority, { cpu, started: `2026-01-${day}T00:00:00Z` }),
    ),
  ]
  it.each([
    ['whose most important victim matters least', on('n1', [5, '2']), on('n2', [4, '1'], [4, '1']), 'n2'],
    ['whose victims matter least in sum', on('n1', [5, '1'], [4, '1']), on('n2', [5, '1'], [3, '1']), 'n2'],
    [
      'with fewer victims, also where priorities are below zero',
      on('n1', [-5, '1'], [-5, '1']),
      on('n2', [-5, '2']),
      'n2',
    ],
    ['whose most important victims started last', on('n1', [5, '2', '01']), on('n2', [5, '2', '02']), 'n2'],
    [
      'where the first of them to start started last',
      on('n1', [5, '1', '01'], [5, '1', '09']),
      on('n2', [5, '1', '03'], [5, '1', '02']),
      'n2',
    ],
  ])('%s', (_, n1, n2, nominated) => {
    expect(schedulerSays(wants('2'), [...n1, ...n2]).nominated).toBe(nominated)
    expect(schedulerSays(wants('2'), [...n2, ...n1]).nominated).toBe(nominated)
  })
})

describe('a pod that waits for a node it was promised', () => {
  const waiting = (priority: number, rest: PodSpec = {}): Pod => {
    const boss = taking('demo/boss', undefined, priority, { spec: rest })
    return { ...boss, status: { phase: 'Pending', nominatedNodeName: 'n1' } }
  }
  const full =
    '0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod.'
  it.each<[string, Pod, string | null]>([
    ['of higher priority holds it', waiting(200), full],
    ['of equal priority holds it', waiting(100), full],
    ['of lower priority does not', waiting(99), null],
    ['of another scheduler does not', waiting(200, { schedulerName: 'other' }), null],
    ['that is held back by a gate does not', waiting(200, { schedulingGates: [{ name: 'x' }] }), null],
  ])('%s', (_, boss, message) => {
    expect(schedulerSays(wants('1'), [cpus('n1', '1'), boss]).message).toBe(message)
  })

  it('is not there yet for a pod that wants to be near it', () => {
    const boss = { ...waiting(200), metadata: { namespace: 'demo', name: 'boss', labels: { app: 'boss' } } }
    const near: PodSpec = {
      affinity: {
        podAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: [
            { topologyKey: 'kubernetes.io/hostname', labelSelector: { matchLabels: { app: 'boss' } } },
          ],
        },
      },
    }
    expect(schedulerSays(wants('1', 100, near), [cpus('n1', '4'), boss]).message).toMatch(
      /^0\/1 nodes are available: 1 node\(s\) didn't match pod affinity rules\./,
    )
  })
})

describe('what is said', () => {
  it.each([
    ['v1.36.0', '0/1 nodes are available: 1 Insufficient cpu.'],
    [
      'v1.37.2',
      '0/1 nodes are available: 1 Insufficient cpu. preemption: found a potential placement for pod on node n1, preempting 1 victims',
    ],
  ])('of a placement that was found, by %s', (version, message) => {
    expect(schedulerSays(wants('2'), [cpus('n1'), taking('demo/a', 'n1', 0)], version).message).toBe(message)
  })

  it('of a pod that may not preempt', () => {
    expect(
      schedulerSays(wants('2', 100, { preemptionPolicy: 'Never' }), [cpus('n1'), taking('demo/a', 'n1', 0)]).message,
    ).toBe(
      '0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, preemption: not eligible due to preemptionPolicy=Never.',
    )
  })

  it('asking changes nothing: the same question gets the same answer', () => {
    const objects = [
      cpus('n1'),
      cpus('n2'),
      taking('demo/a', 'n1', 0),
      taking('demo/b', 'n2', 0),
      taking('demo/c', 'n1', 5),
    ]
    expect(schedulerSays(wants('2'), objects)).toEqual(schedulerSays(wants('2'), objects))
  })
})
