import { describe, expect, it } from 'vitest'
import type { OwnerReference, PodSpec } from '../../src/cluster/objects.js'
import { type DrainOptions, planDrain } from '../../src/drain/plan.js'
import { drainOptions } from '../support/drain-options.js'
import { budget, claim, node, owner, pod, snapshot, storageClass, volume } from '../support/objects.js'

type Objects = Parameters<typeof snapshot>[0]

function drain(objects: Objects, nodes = ['a'], rest: Partial<DrainOptions> = {}) {
  return planDrain(snapshot(objects), drainOptions(nodes, rest))
}

const cpu = (amount: string, rest: PodSpec = {}): PodSpec => ({
  containers: [{ name: 'app', resources: { requests: { cpu: amount } } }],
  ...rest,
})
const ends = (objects: Objects, nodes?: string[]) =>
  Object.fromEntries(
    drain(objects, nodes).pods.map(({ name, verdict, effects }) => [
      name,
      effects.some(({ effect }) => effect === 'contended') ? `${verdict}, contended` : verdict,
    ]),
  )

describe('pods that are evicted together', () => {
  it('move when there is room for all of them', () => {
    const objects = [
      node('a'),
      node('b'),
      ...['p', 'q', 'r'].map((name) => pod(`demo/${name}`, { node: 'a', spec: cpu('1') })),
    ]
    expect(ends(objects)).toEqual({ p: 'moves', q: 'moves', r: 'moves' })
    expect(drain(objects).contention).toBeUndefined()
  })

  it('are contended when the room is not enough for all, and it is said how many stay Pending', () => {
    const objects = [
      node('a'),
      node('b'),
      ...['p', 'q', 'r'].map((name) => pod(`demo/${name}`, { node: 'a', spec: cpu('1500m') })),
    ]
    const report = drain(objects)
    expect(ends(objects)).toEqual({ p: 'moves, contended', q: 'moves, contended', r: 'moves, contended' })
    expect(report.pods[0]?.effects).toEqual([{ effect: 'contended', node: 'b', with: ['demo/q', 'demo/r'] }])
    expect(report.contention).toEqual([{ pods: ['demo/p', 'demo/q', 'demo/r'], pending: { min: 1, max: 1 } }])
    expect(report.notSafe).toEqual(['contended'])
  })

  it('count with bounds when it depends on who comes first', () => {
    const objects = [
      node('a'),
      node('b'),
      pod('demo/large', { node: 'a', spec: cpu('4') }),
      pod('demo/small-1', { node: 'a', spec: cpu('2') }),
      pod('demo/small-2', { node: 'a', spec: cpu('2') }),
    ]
    expect(drain(objects).contention?.[0]?.pending).toEqual({ min: 1, max: 2 })
  })

  it('the one of higher priority has its place; the other is stuck, in the words of the state then', () => {
    const objects = [
      node('a'),
      node('b'),
      pod('demo/high', { node: 'a', spec: cpu('3', { priority: 10 }) }),
      pod('demo/low', { node: 'a', spec: cpu('3') }),
    ]
    expect(ends(objects)).toEqual({ high: 'moves', low: 'stuck' })
    const low = drain(objects).pods[1]
    expect(low?.scheduling).toEqual({
      feasibleNodes: ['b'],
      message: expect.stringContaining('1 Insufficient cpu, 1 node(s) were unschedulable'),
      nominatedNode: null,
    })
    expect(low?.why).toBe('b takes it, but not beside demo/high')
  })

  it('do not disturb each other where the others can not fill every node', () => {
    const objects = [
      node('a'),
      node('b'),
      node('c'),
      node('d'),
      ...['p', 'q', 'r'].map((name) => pod(`demo/${name}`, { node: 'a', spec: cpu('3') })),
    ]
    expect(ends(objects)).toEqual({ p: 'moves', q: 'moves', r: 'moves' })
  })

  it('of one host port, one of two finds no node', () => {
    const port: PodSpec = { containers: [{ name: 'app', ports: [{ hostPort: 80 }] }] }
    const objects = [
      node('a'),
      node('b'),
      pod('demo/p', { node: 'a', spec: port }),
      pod('demo/q', { node: 'a', spec: port }),
    ]
    expect(ends(objects)).toEqual({ p: 'moves, contended', q: 'moves, contended' })
  })

  it('follow one that they want to be with, though alone they are stuck', () => {
    const near: PodSpec = {
      affinity: {
        podAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: [
            { topologyKey: 'kubernetes.io/hostname', labelSelector: { matchLabels: { app: 'db' } } },
          ],
        },
      },
    }
    const objects = [
      node('a'),
      node('b'),
      pod('demo/db', { node: 'a', labels: { app: 'db' } }),
      pod('demo/web', { node: 'a', spec: near }),
    ]
    const report = drain(objects)
    expect(ends(objects)).toEqual({ db: 'moves', web: 'moves' })
    expect(report.pods[1]).toMatchObject({
      why: 'it has to wait for demo/db',
      scheduling: { feasibleNodes: [], message: expect.stringContaining('pod affinity rules') },
    })
    // Asked about alone, it is evicted alone.
    expect(drain(objects, ['a'], { pods: [{ namespace: 'demo', name: 'web' }] }).pods[0]?.verdict).toBe('stuck')
  })

  it('that keep apart from each other need a node each', () => {
    const apart = (name: string): ReturnType<typeof pod> =>
      pod(`demo/${name}`, {
        node: name === 'p' ? 'a' : 'b',
        labels: { app: 'db' },
        spec: {
          affinity: {
            podAntiAffinity: {
              requiredDuringSchedulingIgnoredDuringExecution: [
                { topologyKey: 'kubernetes.io/hostname', labelSelector: { matchLabels: { app: 'db' } } },
              ],
            },
          },
        },
      })
    expect(ends([node('a'), node('b'), node('c'), apart('p'), apart('q')], ['a', 'b'])).toEqual({
      p: 'moves',
      q: 'stuck',
    })
    expect(ends([node('a'), node('b'), node('c'), node('d'), apart('p'), apart('q')], ['a', 'b'])).toEqual({
      p: 'moves',
      q: 'moves',
    })
  })

  it('share the free disks of a class', () => {
    const waiting = (name: string) => [
      pod(`demo/${name}`, {
        node: 'a',
        spec: { volumes: [{ name: 'data', persistentVolumeClaim: { claimName: name } }] },
      }),
      claim(`demo/${name}`, { storageClassName: 'disks' }),
    ]
    const disks = storageClass('disks', { provisioner: 'kubernetes.io/no-provisioner' })
    const disk = (name: string) =>
      volume(name, {
        on: ['b'],
        phase: 'Available',
        spec: { storageClassName: 'disks', local: { path: `/mnt/${name}` } },
      })
    const objects = [node('a'), node('b'), disks, ...waiting('p'), ...waiting('q'), disk('one')]
    expect(ends(objects)).toEqual({ p: 'moves, contended', q: 'moves, contended' })
    expect(ends([...objects, disk('two')])).toEqual({ p: 'moves', q: 'moves' })
  })

  it('that one which is held by its budget does not take room', () => {
    const held = budget(
      'demo/b',
      { app: 'held' },
      { disruptionsAllowed: 0, currentHealthy: 1, desiredHealthy: 1, expectedPods: 1 },
    )
    const objects = [
      node('a'),
      node('b'),
      held,
      pod('demo/held', { node: 'a', labels: { app: 'held' }, spec: cpu('3') }),
      pod('demo/free', { node: 'a', spec: cpu('3') }),
    ]
    expect(ends(objects)).toEqual({ held: 'blocked', free: 'moves' })
  })

  it('one that finds no room gives its budget nothing back', () => {
    const labels = { app: 'web' }
    const one = budget('demo/b', labels, {
      disruptionsAllowed: 1,
      currentHealthy: 3,
      desiredHealthy: 2,
      expectedPods: 3,
    })
    const objects = [
      node('a'),
      node('b'),
      one,
      pod('demo/boss', { node: 'a', spec: cpu('3', { priority: 9 }) }),
      pod('demo/w1', { node: 'a', labels, spec: cpu('2') }),
      pod('demo/w2', { node: 'a', labels, spec: cpu('2') }),
    ]
    expect(ends(objects)).toEqual({ boss: 'moves', w1: 'stuck', w2: 'blocked' })
  })

  it('in large numbers are judged in time, the same each time', () => {
    const many = Array.from({ length: 60 }, (_, index) =>
      pod(`demo/p${index}`, { node: 'a', spec: cpu(`${200 + index}m`) }),
    )
    const objects = [node('a'), node('b'), node('c'), ...many]
    const report = drain(objects)
    expect(report.contention?.[0]?.pods).toHaveLength(60)
    const { min, max } = report.contention?.[0]?.pending ?? { min: 0, max: 0 }
    expect([min > 0, max < 60, min <= max]).toEqual([true, true, true])
    expect(drain(objects)).toEqual(report)
  })
})

describe('quorum', () => {
  const set: OwnerReference = { apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'etcd', uid: 's-1', controller: true }
  const object = (replicas: number) => ({ ...owner('apps/v1', 'StatefulSet', 'shop/etcd', 's-1'), spec: { replicas } })
  const member = (index: number, on: string, rest: Parameters<typeof pod>[1] = {}) =>
    pod(`shop/etcd-${index}`, { node: on, owner: set, labels: { app: 'etcd' }, ...rest })
  const nodes = [node('a'), node('b'), node('c'), node('d')]
  const quorumOf = (objects: Objects, drained: string[], replicas = 3) => {
    const from = snapshot([...nodes, ...objects], { owners: [object(replicas)] })
    const report = planDrain(from, drainOptions(drained))
    return report.pods.flatMap(({ effects }) => effects.filter(({ effect }) => effect === 'quorum'))
  }
  const effect = (down: number, bears: number) => ({ effect: 'quorum', of: 'StatefulSet shop/etcd', down, bears })

  it('is lost when two of three leave one node at once', () => {
    expect(quorumOf([member(0, 'a'), member(1, 'a'), member(2, 'b')], ['a'])).toEqual([effect(2, 1), effect(2, 1)])
  })

  it('is kept when they leave one after the other', () => {
    expect(quorumOf([member(0, 'a'), member(1, 'b'), member(2, 'c')], ['a', 'b'])).toEqual([])
    const one = budget(
      'shop/b',
      { app: 'etcd' },
      { disruptionsAllowed: 1, currentHealthy: 3, desiredHealthy: 2, expectedPods: 3 },
    )
    expect(quorumOf([one, member(0, 'a'), member(1, 'a'), member(2, 'b')], ['a'])).toEqual([])
  })

  it('counts a replica that is down already, and one that found no place', () => {
    expect(quorumOf([member(0, 'a'), member(1, 'b', { ready: false }), member(2, 'c')], ['a'])).toEqual([effect(2, 1)])
    const tied = { spec: { nodeSelector: { 'kubernetes.io/hostname': 'a' } } }
    expect(quorumOf([member(0, 'a', tied), member(1, 'b'), member(2, 'c')], ['a', 'b'])).toEqual([
      effect(2, 1),
      effect(2, 1),
    ])
  })

  it('of two replicas there is none, and five bear two', () => {
    expect(quorumOf([member(0, 'a'), member(1, 'a')], ['a'], 2)).toEqual([])
    const five = [0, 1].map((index) => member(index, 'a')).concat([2, 3, 4].map((index) => member(index, 'b')))
    expect(quorumOf(five, ['a'], 5)).toEqual([])
    expect(quorumOf(five, ['b'], 5)).toEqual([effect(3, 2), effect(3, 2), effect(3, 2)])
  })
})

describe('FUSE servers', () => {
  const s3 = (name: string, driver: string, handle = name) =>
    volume(name, { claim: `demo/${name}`, spec: { csi: { driver, volumeHandle: handle } } })
  const user = (name: string, on = 'a') => [
    pod(`demo/user-${name}`, {
      node: on,
      spec: { volumes: [{ name: 'data', persistentVolumeClaim: { claimName: name } }] },
    }),
    claim(`demo/${name}`, { volumeName: name }),
  ]
  const losing = (objects: Objects) =>
    drain([node('a'), node('b'), ...objects]).pods.flatMap(({ name, effects }) =>
      effects.flatMap((effect) => (effect.effect === 'loses-fuse-server' ? [{ name, claims: effect.claims }] : [])),
    )

  it('a mounter pod that drain ends with its users, for the volume that it names', () => {
    const mounter = pod('mount-s3/mp-1', {
      node: 'a',
      owner: null,
      labels: { 's3.csi.aws.com/volume-name': 'one', 's3.csi.aws.com/mountpoint-version': '1' },
    })
    const objects = [mounter, ...user('one'), s3('one', 's3.csi.aws.com'), ...user('two'), s3('two', 's3.csi.aws.com')]
    expect(losing(objects)).toEqual([{ name: 'user-one', claims: ['one'] }])
  })

  it('a mounter pod of a shared mount, for every volume of its driver on the node', () => {
    const mounter = pod('kube-system/juicefs-a', {
      node: 'a',
      owner: null,
      labels: { 'app.kubernetes.io/name': 'juicefs-mount', 'volume-id': 'class-a' },
    })
    const objects = [
      mounter,
      ...user('one'),
      s3('one', 'csi.juicefs.com'),
      ...user('two', 'b'),
      s3('two', 'csi.juicefs.com'),
    ]
    expect(losing(objects)).toEqual([{ name: 'user-one', claims: ['one'] }])
  })

  it('a node plugin that is no DaemonSet pod; one that is stays', () => {
    const plugin = (owned: OwnerReference | undefined) =>
      pod('kube-system/csi-s3', {
        node: 'a',
        owner: owned,
        spec: { volumes: [{ name: 'plugin', hostPath: { path: '/var/lib/kubelet/plugins/ru.yandex.s3.csi' } }] },
      })
    const daemonSet: OwnerReference = {
      apiVersion: 'apps/v1',
      kind: 'DaemonSet',
      name: 'csi-s3',
      uid: 'd-1',
      controller: true,
    }
    const rest = [...user('one'), s3('one', 'ru.yandex.s3.csi')]
    expect(losing([plugin(undefined), ...rest])).toEqual([{ name: 'user-one', claims: ['one'] }])
    expect(losing([plugin(daemonSet), ...rest])).toEqual([])
  })

  it('nothing is said of a server that nobody uses', () => {
    const mounter = pod('mount-s3/mp-1', { node: 'a', owner: null })
    expect(losing([mounter, ...user('one', 'b'), s3('one', 's3.csi.aws.com')])).toEqual([])
  })
})

describe('pods that are Pending before the drain', () => {
  const cordonTolerated = { tolerations: [{ key: 'node.kubernetes.io/unschedulable', operator: 'Exists' }] }
  const pending = { phase: 'Pending' }

  it('may take the room that one which comes back has just left', () => {
    const objects = [
      node('a'),
      pod('demo/back', { node: 'a', spec: cpu('3', cordonTolerated) }),
      pod('demo/waits', { spec: cpu('3', cordonTolerated), status: pending }),
    ]
    const report = drain(objects)
    expect(ends(objects)).toEqual({ back: 'returns, contended' })
    expect(report.pods[0]?.effects).toEqual([{ effect: 'contended', node: 'a', with: ['demo/waits'] }])
    expect(report.contention).toEqual([
      { pods: ['demo/back', 'demo/waits'], waiting: ['demo/waits'], pending: { min: 1, max: 1 } },
    ])
  })

  it('may be tried first although their priority is lower, and are driven out again where that can be', () => {
    const never = { preemptionPolicy: 'Never', priority: 10, ...cordonTolerated }
    const first = (spec: PodSpec) => [
      node('a'),
      pod('demo/back', { node: 'a', spec: cpu('3', spec) }),
      pod('demo/waits', { spec: cpu('3', cordonTolerated), status: pending }),
    ]
    expect(ends(first(never))).toEqual({ back: 'returns, contended' })
    expect(ends(first({ priority: 10, ...cordonTolerated }))).toEqual({ back: 'returns' })
  })

  it('change nothing when they can not go where the others go, or all find room', () => {
    const objects = (waits: PodSpec, status: { phase: string } = pending) => [
      node('a'),
      node('b'),
      pod('demo/p', { node: 'a', spec: cpu('2') }),
      pod('demo/waits', { spec: waits, status }),
    ]
    expect(ends(objects(cpu('9')))).toEqual({ p: 'moves' })
    expect(ends(objects(cpu('1')))).toEqual({ p: 'moves' })
    expect(ends(objects(cpu('3')))).toEqual({ p: 'moves, contended' })
    // Those that the scheduler does not look at wait for something else.
    expect(ends(objects(cpu('3', { schedulingGates: [{ name: 'g' }] })))).toEqual({ p: 'moves' })
    expect(ends(objects(cpu('3', { schedulerName: 'other' })))).toEqual({ p: 'moves' })
    expect(ends(objects(cpu('3'), { phase: 'Failed' }))).toEqual({ p: 'moves' })
  })

  it('are no pods of the report, and their number does not make the play endless', () => {
    const many = Array.from({ length: 3000 }, (_, index) =>
      pod(`demo/waits-${index}`, { spec: cpu('1', cordonTolerated), status: pending }),
    )
    const report = drain([node('a'), pod('demo/back', { node: 'a', spec: cpu('1', cordonTolerated) }), ...many])
    expect(report.pods).toMatchObject([{ name: 'back', verdict: 'returns' }])
    expect(report.pods[0]?.effects).toMatchObject([{ effect: 'contended' }])
  })
})

describe('pods that preemption drives out', () => {
  const near = (app: string): PodSpec => ({
    affinity: {
      podAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: [
          { topologyKey: 'kubernetes.io/hostname', labelSelector: { matchLabels: { app } } },
        ],
      },
    },
  })

  it('may be those that another one wants to be with', () => {
    const objects = [
      node('a'),
      node('b'),
      pod('demo/db', { node: 'b', spec: cpu('2'), labels: { app: 'db' } }),
      pod('demo/filler', { node: 'b', spec: cpu('1500m', { priority: 10 }) }),
      pod('demo/high', { node: 'a', spec: cpu('2', { priority: 10 }) }),
      pod('demo/near', { node: 'a', spec: cpu('100m', { ...near('db'), priority: 10 }) }),
    ]
    const report = drain(objects)
    expect(ends(objects)).toEqual({ high: 'moves', near: 'moves, contended' })
    expect(report.pods[0]?.effects).toMatchObject([{ effect: 'preempts', node: 'b', victims: ['demo/db'] }])
  })

  it('come back where they find room, when a controller makes them again', () => {
    const objects = (rest: { owner?: null }) => [
      node('a'),
      node('b'),
      node('c', { allocatable: { cpu: '2' } }),
      pod('demo/db', { node: 'b', spec: cpu('2'), labels: { app: 'db' }, ...rest }),
      pod('demo/filler', { node: 'b', spec: cpu('1500m', { priority: 10 }) }),
      pod('demo/high', { node: 'a', spec: cpu('2500m', { priority: 10 }) }),
      pod('demo/near', { node: 'a', spec: cpu('0', { ...near('db'), priority: 10 }) }),
    ]
    expect(ends(objects({}))).toEqual({ high: 'moves', near: 'moves' })
    expect(ends(objects({ owner: null }))).toEqual({ high: 'moves', near: 'moves, contended' })
  })
})
