import { describe, expect, it } from 'vitest'
import { parseSelector } from '../../src/cluster/labels.js'
import type { OwnerReference, PodSpec } from '../../src/cluster/objects.js'
import type { ClusterSnapshot } from '../../src/cluster/snapshot.js'
import { type DrainOptions, planDrain } from '../../src/drain/plan.js'
import type { Effect, PodReport } from '../../src/drain/types.js'
import { drainOptions } from '../support/drain-options.js'
import { budget, claim, node, owner, pod, replicaSet, snapshot, storageClass, volume } from '../support/objects.js'

function drain(from: ClusterSnapshot, nodes: string[], rest: Partial<DrainOptions> = {}) {
  return planDrain(from, drainOptions(nodes, rest))
}

const nodes = [node('a'), node('b')]
const mounts = (claimName: string): PodSpec => ({ volumes: [{ name: 'data', persistentVolumeClaim: { claimName } }] })
const pinned = (on: string, name = 'data') => [
  claim(`demo/${name}`, { volumeName: `pv-${name}` }),
  volume(`pv-${name}`, { on: [on], claim: `demo/${name}` }),
]
const only = ({ pods }: { pods: PodReport[] }): PodReport => {
  expect(pods).toHaveLength(1)
  return pods[0] as PodReport
}
const effect = (report: PodReport, name: Effect['effect']) => report.effects.filter((one) => one.effect === name)

describe('verdicts, the first that holds', () => {
  const daemonSet: OwnerReference = {
    apiVersion: 'apps/v1',
    kind: 'DaemonSet',
    name: 'agent',
    uid: 'ds-1',
    controller: true,
  }
  const daemonSetObject = owner('apps/v1', 'DaemonSet', 'demo/agent', 'ds-1')
  const mirror = { 'kubernetes.io/config.mirror': 'x' }

  it.each([
    { holds: 'a mirror pod stays', rest: { annotations: mirror, owner: null }, verdict: 'stays', flags: [] },
    {
      holds: 'a pod of a DaemonSet stays, behind a flag',
      rest: { owner: daemonSet },
      verdict: 'stays',
      flags: ['--ignore-daemonsets'],
    },
    {
      holds: 'of a pod of a DaemonSet nothing else is asked',
      rest: { owner: daemonSet, spec: { volumes: [{ name: 'tmp', emptyDir: {} }] } },
      verdict: 'stays',
      flags: ['--ignore-daemonsets'],
    },
    {
      holds: 'a failed pod of a DaemonSet only goes',
      rest: { owner: daemonSet, phase: 'Failed' },
      verdict: 'finished',
      flags: [],
    },
    {
      holds: 'a finished pod needs no flag',
      rest: { owner: null, phase: 'Succeeded', spec: { volumes: [{ name: 't', emptyDir: {} }] } },
      verdict: 'finished',
      flags: [],
    },
    {
      holds: 'a pod that is being deleted is finished, but drain asks for its flags',
      rest: { owner: null, deleting: true },
      verdict: 'finished',
      flags: ['--force'],
    },
    { holds: 'a pod without controller is gone', rest: { owner: null }, verdict: 'gone', flags: ['--force'] },
    {
      holds: 'an owner that is no controller re-creates nothing',
      rest: { owner: { ...replicaSet, controller: false } },
      verdict: 'gone',
      flags: ['--force'],
    },
    { holds: 'a pod that another node takes moves', rest: {}, verdict: 'moves', flags: [] },
    {
      holds: 'one that no node takes is stuck',
      rest: { spec: { nodeSelector: { 'kubernetes.io/hostname': 'a' } } },
      verdict: 'stuck',
      flags: [],
    },
    {
      holds: 'one that tolerates the cordon returns',
      rest: { spec: { tolerations: [{ operator: 'Exists' }] } },
      verdict: 'returns',
      flags: [],
    },
    {
      holds: 'flags come in the order of the drain command',
      rest: { owner: null, spec: { volumes: [{ name: 'tmp', emptyDir: { medium: 'Memory' } }] } },
      verdict: 'gone',
      flags: ['--delete-emptydir-data', '--force'],
    },
  ])('$holds', ({ rest, verdict, flags }) => {
    const report = only(
      drain(snapshot([...nodes, pod('demo/p', { node: 'a', ...rest })], { owners: [daemonSetObject] }), ['a']),
    )
    expect(report.verdict).toBe(verdict)
    expect(effect(report, 'needs-flag').map((one) => (one.effect === 'needs-flag' ? one.flag : ''))).toEqual(flags)
  })

  it('says of a finished pod whether it is being deleted', () => {
    const report = drain(
      snapshot([...nodes, pod('demo/a', { node: 'a', deleting: true }), pod('demo/b', { node: 'a', phase: 'Failed' })]),
      ['a'],
    )
    expect(report.pods.map(({ verdict, terminating }) => ({ verdict, terminating }))).toEqual([
      { verdict: 'finished', terminating: true },
      { verdict: 'finished', terminating: undefined },
    ])
  })

  it('a pod whose DaemonSet is gone is evicted and gone, with --force and its emptyDir', () => {
    const orphan = pod('demo/p', {
      node: 'a',
      owner: { ...daemonSet, name: 'old', uid: 'ds-0' },
      spec: { volumes: [{ name: 'tmp', emptyDir: {} }] },
    })
    const report = only(drain(snapshot([...nodes, orphan], { owners: [daemonSetObject] }), ['a']))
    expect(report.verdict).toBe('gone')
    expect(report.effects).toEqual([
      { effect: 'needs-flag', flag: '--delete-emptydir-data' },
      { effect: 'needs-flag', flag: '--force' },
      { effect: 'data-lost', volume: 'tmp' },
    ])
  })

  it.each([
    {
      holds: 'its controller is not there any more',
      owners: [owner('apps/v1', 'ReplicaSet', 'demo/other', 'rs-2')],
      verdict: 'gone',
    },
    {
      holds: 'a controller of the same name has another uid',
      owners: [owner('apps/v1', 'ReplicaSet', 'demo/web-1', 'rs-9')],
      verdict: 'gone',
    },
    {
      holds: 'its controller is being deleted',
      owners: [owner('apps/v1', 'ReplicaSet', 'demo/web-1', 'rs-1', { deletionTimestamp: '2026-01-01T00:00:00Z' })],
      verdict: 'gone',
    },
    {
      holds: 'its controller is there',
      owners: [owner('apps/v1', 'ReplicaSet', 'demo/web-1', 'rs-1')],
      verdict: 'moves',
    },
  ])('$verdict, since $holds', ({ owners, verdict }) => {
    expect(only(drain(snapshot([...nodes, pod('demo/p', { node: 'a' })], { owners }), ['a'])).verdict).toBe(verdict)
  })

  it('a pod whose template names the node returns, whatever the cordon', () => {
    const bound = {
      ...owner('apps/v1', 'ReplicaSet', 'demo/web-1', 'rs-1'),
      spec: { template: { spec: { nodeName: 'a' } } },
    }
    const report = only(drain(snapshot([...nodes, pod('demo/p', { node: 'a' })], { owners: [bound] }), ['a']))
    expect([report.verdict, report.why]).toEqual(['returns', expect.stringContaining('template names the node')])
  })

  it('believes a reference to a kind that was not read, and warns once', () => {
    const report = drain(snapshot([...nodes, pod('demo/p', { node: 'a' }), pod('demo/q', { node: 'a' })]), ['a'])
    expect(report.pods.map(({ verdict }) => verdict)).toEqual(['moves', 'moves'])
    expect(report.warnings.filter((warning) => warning.includes('ReplicaSet.apps'))).toHaveLength(1)
    expect(report.complete).toBe(true)
  })

  it('names the top owner, also when only the reference to it is known', () => {
    const cluster: OwnerReference = {
      apiVersion: 'postgresql.cnpg.io/v1',
      kind: 'Cluster',
      name: 'db',
      uid: 'c-1',
      controller: true,
    }
    const deployment: OwnerReference = {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      name: 'web',
      uid: 'd-1',
      controller: true,
    }
    const owners = [owner('apps/v1', 'ReplicaSet', 'demo/web-1', 'rs-1', { ownerReferences: [deployment] })]
    const report = drain(
      snapshot([...nodes, pod('demo/db-1', { node: 'a', owner: cluster }), pod('demo/web-1-x', { node: 'a' })], {
        owners,
      }),
      ['a'],
    )
    expect(report.pods.map((one) => one.owner)).toEqual([
      { apiVersion: 'postgresql.cnpg.io/v1', kind: 'Cluster', name: 'db' },
      { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' },
    ])
  })
})

describe('volumes', () => {
  const volumeOf = (objects: Parameters<typeof snapshot>[0]) =>
    only(drain(snapshot([...nodes, ...objects]), ['a'])).volumes[0]
  const user = pod('demo/p', { node: 'a', spec: mounts('data') })

  it.each([
    { affinity: 'pinned', on: ['a'], pinnedTo: ['a'] },
    { affinity: 'orphaned', on: ['c'], pinnedTo: [] },
    { affinity: 'free', on: ['a', 'b'], pinnedTo: null },
    { affinity: 'free', on: undefined, pinnedTo: null },
  ])('$affinity when it is on $on of a and b', ({ affinity, on, pinnedTo }) => {
    const objects = [user, claim('demo/data', { volumeName: 'pv' }), volume('pv', { on, claim: 'demo/data' })]
    expect(volumeOf(objects)).toMatchObject({
      name: 'data',
      claim: 'data',
      volume: 'pv',
      source: 'hostPath',
      affinity,
      pinnedTo,
    })
  })

  it('restricted when it is on some of several nodes', () => {
    const objects = [
      node('c'),
      user,
      claim('demo/data', { volumeName: 'pv' }),
      volume('pv', { on: ['a', 'c'], claim: 'demo/data' }),
    ]
    expect(volumeOf(objects)).toMatchObject({ affinity: 'restricted', pinnedTo: ['a', 'c'] })
  })

  it('pinned by any key and any source: labels count, not names', () => {
    const labelled = [
      node('x', { labels: { 'topology.topolvm.io/node': 'x1', 'kubernetes.io/hostname': '10.0.0.1' } }),
      node('y', { labels: { 'topology.topolvm.io/node': 'x' } }),
    ]
    const csi = volume('pv', {
      claim: 'demo/data',
      spec: {
        csi: { driver: 'topolvm.io', volumeHandle: 'h' },
        nodeAffinity: {
          required: {
            nodeSelectorTerms: [
              { matchExpressions: [{ key: 'topology.topolvm.io/node', operator: 'In', values: ['x'] }] },
            ],
          },
        },
      },
    })
    const there = pod('demo/p', { node: 'y', spec: mounts('data') })
    const report = only(drain(snapshot([...labelled, there, claim('demo/data', { volumeName: 'pv' }), csi]), ['y']))
    expect(report.verdict).toBe('stuck')
    expect(report.volumes).toEqual([
      {
        name: 'data',
        claim: 'data',
        volume: 'pv',
        source: 'csi',
        driver: 'topolvm.io',
        affinity: 'pinned',
        pinnedTo: ['y'],
      },
    ])
  })

  it('tells a volume that names its node by name from one whose node is gone', () => {
    const objects = [
      node('vm-a', { labels: { 'kubernetes.io/hostname': '10.0.0.12' } }),
      node('b'),
      pod('demo/p', { node: 'vm-a', spec: mounts('data') }),
      ...pinned('vm-a'),
    ]
    expect(only(drain(snapshot(objects), ['vm-a'])).why).toBe(
      'volume pv-data (claim data) is on no node that exists; a node named vm-a does, with kubernetes.io/hostname=10.0.0.12',
    )
  })

  it('leaves out what goes wherever the pod goes', () => {
    const report = only(
      drain(
        snapshot([
          ...nodes,
          pod('demo/p', { node: 'a', spec: { volumes: [{ name: 'token' }, { name: 'tmp', emptyDir: {} }] } }),
        ]),
        ['a'],
      ),
    )
    expect(report.volumes.map(({ name, source }) => [name, source])).toEqual([['tmp', 'emptyDir']])
  })

  it('judges the claim of a generic ephemeral volume as a new one', () => {
    const ephemeral = pod('demo/p', {
      node: 'a',
      spec: {
        volumes: [
          {
            name: 'scratch',
            ephemeral: {
              volumeClaimTemplate: {
                spec: {
                  storageClassName: 'local',
                  accessModes: ['ReadWriteOnce'],
                  resources: { requests: { storage: '1Gi' } },
                },
              },
            },
          },
        ],
      },
    })
    const objects = [
      ...nodes,
      storageClass('local'),
      ephemeral,
      claim('demo/p-scratch', { volumeName: 'pv', storageClassName: 'local' }),
      volume('pv', { on: ['a'], claim: 'demo/p-scratch' }),
    ]
    expect(only(drain(snapshot(objects), ['a'])).verdict).toBe('moves')
  })
})

describe('effects', () => {
  const hostPath = (path: string, type?: string, readOnly = false): PodSpec => ({
    containers: [{ name: 'app', volumeMounts: [{ name: 'data', mountPath: '/data', readOnly }] }],
    volumes: [{ name: 'data', hostPath: type === undefined ? { path } : { path, type } }],
  })
  const empties = (spec: PodSpec, objects: Parameters<typeof snapshot>[0] = []) =>
    effect(only(drain(snapshot([...nodes, pod('demo/p', { node: 'a', spec }), ...objects]), ['a'])), 'starts-empty')

  it.each([
    { spec: hostPath('/srv/data'), found: true },
    { spec: hostPath('/srv/data', 'Directory'), found: true },
    { spec: hostPath('/srv/data', 'DirectoryOrCreate'), found: true },
    { spec: hostPath('/srv/data', 'File'), found: false },
    { spec: hostPath('/srv/data', 'Socket'), found: false },
    { spec: hostPath('/srv/data', '', true), found: false },
    { spec: hostPath('/etc/ssl'), found: false },
    { spec: hostPath('/dev'), found: false },
    { spec: hostPath('/var/lib/kubelet/pods'), found: false },
    { spec: hostPath('/run/containerd/containerd.sock'), found: false },
    { spec: hostPath('/lib/modules/'), found: false },
    { spec: hostPath('/'), found: false },
    { spec: hostPath('/etcd-data'), found: true },
    { spec: hostPath('/var/lib/mysql'), found: true },
  ])(
    'an inline hostPath starts empty elsewhere: $found for $spec.volumes.0.hostPath, read-only $spec.containers.0.volumeMounts.0.readOnly',
    ({ spec, found }) => {
      expect(empties(spec).length > 0).toBe(found)
    },
  )

  it('a hostPath volume that is bound to no node starts empty, also when it is mounted read-only', () => {
    const objects = [
      claim('demo/data', { volumeName: 'pv' }),
      volume('pv', { claim: 'demo/data', spec: { hostPath: { path: '/etc/x' } } }),
    ]
    expect(empties(mounts('data'), objects)).toEqual([{ effect: 'starts-empty', volume: 'data', path: '/etc/x' }])
  })

  it('a pod that can only come back to its own directory does not start empty', () => {
    const spec = {
      ...hostPath('/srv/data'),
      tolerations: [{ operator: 'Exists' }],
      nodeSelector: { 'kubernetes.io/hostname': 'a' },
    }
    const report = only(drain(snapshot([...nodes, pod('demo/p', { node: 'a', spec })]), ['a']))
    expect([report.verdict, effect(report, 'starts-empty')]).toEqual(['returns', []])
  })

  it('an emptyDir on disk is lost, one in memory only wants the flag', () => {
    const spec = {
      volumes: [
        { name: 'disk', emptyDir: {} },
        { name: 'memory', emptyDir: { medium: 'Memory' } },
      ],
    }
    expect(only(drain(snapshot([...nodes, pod('demo/p', { node: 'a', spec })]), ['a'])).effects).toEqual([
      { effect: 'needs-flag', flag: '--delete-emptydir-data' },
      { effect: 'data-lost', volume: 'disk' },
    ])
  })

  it('gives a pod that drain leaves alone no effect but the flag', () => {
    const daemonSet: OwnerReference = {
      apiVersion: 'apps/v1',
      kind: 'DaemonSet',
      name: 'agent',
      uid: 'ds-1',
      controller: true,
    }
    const report = only(
      drain(
        snapshot([
          ...nodes,
          pod('demo/p', {
            node: 'a',
            owner: daemonSet,
            spec: { ...hostPath('/srv/x'), volumes: [{ name: 'tmp', emptyDir: {} }] },
          }),
        ]),
        ['a'],
      ),
    )
    expect(report.effects).toEqual([{ effect: 'needs-flag', flag: '--ignore-daemonsets' }])
  })

  it('names where preemption makes room and of whom', () => {
    const full = { requests: { cpu: '3' } }
    const objects = [
      ...nodes,
      pod('demo/high', { node: 'a', spec: { priority: 100, containers: [{ name: 'app', resources: full }] } }),
      pod('demo/low', { node: 'b', spec: { priority: 1, containers: [{ name: 'app', resources: full }] } }),
    ]
    const report = drain(snapshot(objects), ['a'])
    expect(only(report)).toMatchObject({
      verdict: 'moves',
      effects: [{ effect: 'preempts', node: 'b', victims: ['demo/low'] }],
      scheduling: { feasibleNodes: [], nominatedNode: 'b' },
    })
    expect(report.notSafe).toEqual(['preempts'])
  })
})

describe('what makes it unsafe', () => {
  const lonely = snapshot([
    ...nodes,
    pod('demo/p', { node: 'a', owner: null, spec: { volumes: [{ name: 'tmp', emptyDir: {} }] } }),
  ])

  it('lists the words, and those accepted not', () => {
    expect(drain(lonely, ['a']).notSafe).toEqual(['data-lost', 'gone'])
    expect(drain(lonely, ['a'], { accept: ['gone'] }).notSafe).toEqual(['data-lost'])
    expect(drain(lonely, ['a'], { accept: ['gone', 'data-lost'] }).notSafe).toEqual([])
  })

  it('does not count flags, moves and stays', () => {
    const daemonSet: OwnerReference = {
      apiVersion: 'apps/v1',
      kind: 'DaemonSet',
      name: 'agent',
      uid: 'ds-1',
      controller: true,
    }
    expect(
      drain(snapshot([...nodes, pod('demo/p', { node: 'a' }), pod('demo/q', { node: 'a', owner: daemonSet })]), ['a'])
        .notSafe,
    ).toEqual([])
  })

  it('counts only what was asked about', () => {
    const two = snapshot([...nodes, pod('demo/p', { node: 'a', owner: null }), pod('demo/q', { node: 'a' })])
    const report = drain(two, ['a'], { pods: [{ namespace: 'demo', name: 'q' }] })
    // drain has no way to evict that pod alone.
    expect([report.pods.length, report.notSafe, report.only, report.drainCommand]).toEqual([1, [], ['demo/q'], null])
  })

  it('judges only the pods that --pod-selector lets drain evict', () => {
    const two = snapshot([
      ...nodes,
      pod('demo/p', { node: 'a', owner: null }),
      pod('demo/q', { node: 'a', labels: { app: 'q' } }),
    ])
    const report = drain(two, ['a'], { podSelector: parseSelector('app=q'), podSelectorText: 'app=q' })
    expect([report.pods.map(({ name }) => name), report.drainCommand]).toEqual([
      ['q'],
      'kubectl drain a --pod-selector app=q',
    ])
    const none = drain(two, ['a'], { podSelector: parseSelector('app=x'), podSelectorText: 'app=x' })
    expect([none.pods, none.warnings.at(-1)]).toEqual([
      [],
      'none of the 2 pods there has the labels app=x (--pod-selector)',
    ])
  })
})

describe('the drain command', () => {
  it('has the nodes as given, the flags for where the cluster is, and every flag that drain demands', () => {
    const objects = [
      ...nodes,
      pod('demo/p', { node: 'a', owner: null, spec: { volumes: [{ name: 't', emptyDir: {} }] } }),
    ]
    const rest = {
      connection: ['--context', 'prod', '--kubeconfig', '/home/o p/config'],
      podSelectorText: 'a in (b,c)',
    }
    expect(drain(snapshot(objects), ['b', 'a'], rest).drainCommand).toBe(
      "kubectl drain b a --context prod --kubeconfig '/home/o p/config' --pod-selector 'a in (b,c)' --delete-emptydir-data --force",
    )
  })

  it('selects by label when that was asked', () => {
    expect(
      drain(snapshot([...nodes, pod('demo/p', { node: 'b' })]), ['a'], { nodeSelectorText: 'rack=1' }).drainCommand,
    ).toBe('kubectl drain -l rack=1')
  })
})

describe('several nodes', () => {
  it('cordons all of them before it asks where a pod could go', () => {
    const report = drain(snapshot([...nodes, pod('demo/p', { node: 'a' })]), ['a', 'b'])
    expect(only(report)).toMatchObject({
      verdict: 'stuck',
      scheduling: { message: expect.stringContaining('2 node(s) were unschedulable') },
    })
  })

  it('says that a pod is stuck whose volume is on the drained nodes only', () => {
    const objects = [
      node('a'),
      node('b'),
      node('c'),
      pod('demo/p', { node: 'a', spec: mounts('data') }),
      claim('demo/data', { volumeName: 'pv' }),
      volume('pv', { on: ['a', 'b'], claim: 'demo/data' }),
    ]
    expect(only(drain(snapshot(objects), ['a'])).verdict).toBe('moves')
    expect(only(drain(snapshot(objects), ['b', 'a'])).why).toBe('volume pv (claim data) is on a, b only')
  })
})

describe('cordon only', () => {
  it('evicts nothing: a pod without controller, one held by a budget and one with an emptyDir are judged as if re-created', () => {
    const objects = [
      ...nodes,
      budget(
        'demo/b',
        { app: 'held' },
        { disruptionsAllowed: 0, currentHealthy: 1, desiredHealthy: 1, expectedPods: 1 },
      ),
      pod('demo/held', { node: 'a', labels: { app: 'held' } }),
      pod('demo/lonely', { node: 'a', owner: null }),
      pod('demo/tmp', {
        node: 'a',
        spec: { volumes: [{ name: 't', emptyDir: {} }], nodeSelector: { 'kubernetes.io/hostname': 'a' } },
      }),
    ]
    const report = drain(snapshot(objects), ['a'], { cordonOnly: true })
    expect(report.pods.map(({ name, verdict, effects }) => [name, verdict, effects])).toEqual([
      ['held', 'moves', []],
      ['lonely', 'moves', []],
      ['tmp', 'stuck', []],
    ])
    expect([report.drainCommand, report.notSafe]).toEqual([null, ['stuck']])
  })

  it('is unsafe for unbound claims that lose their node', () => {
    const waiting = claim('demo/c', {}, { annotations: { 'volume.kubernetes.io/selected-node': 'a' } })
    const objects = [...nodes, pod('demo/p', { node: 'a' }), waiting]
    const report = drain(snapshot(objects), ['a'], { cordonOnly: true })
    expect([report.claims, report.notSafe]).toEqual([
      [{ namespace: 'demo', name: 'c', selectedNode: 'a' }],
      ['unbound-claims'],
    ])
    expect(drain(snapshot(objects), ['a']).notSafe).toEqual([])
  })
})

describe('also listed', () => {
  it('volumes of the node that no running pod uses: left over, of a finished job, of a workload at zero; not those in use or elsewhere', () => {
    const objects = [
      ...nodes,
      pod('demo/user', { node: 'a', spec: mounts('used') }),
      pod('demo/job', { node: 'a', phase: 'Succeeded', spec: mounts('job') }),
      ...pinned('a', 'used'),
      ...pinned('a', 'job'),
      ...pinned('a', 'zero'),
      ...pinned('b', 'elsewhere'),
      volume('free', { claim: 'demo/free' }),
      volume('old', { on: ['a'], claim: 'demo/old', phase: 'Released', spec: { local: { path: '/mnt/old' } } }),
      volume('fresh', { on: ['a'], phase: 'Available' }),
    ]
    expect(drain(snapshot(objects), ['a']).volumes).toEqual([
      { name: 'fresh', phase: 'Available', source: 'hostPath', pinnedTo: ['a'], claim: null, reason: 'unused' },
      { name: 'old', phase: 'Released', source: 'local', pinnedTo: ['a'], claim: 'demo/old', reason: 'released' },
      { name: 'pv-job', phase: 'Bound', source: 'hostPath', pinnedTo: ['a'], claim: 'demo/job', reason: 'unused' },
      { name: 'pv-zero', phase: 'Bound', source: 'hostPath', pinnedTo: ['a'], claim: 'demo/zero', reason: 'unused' },
    ])
  })
})

describe('what can not be judged', () => {
  const user = pod('demo/p', { node: 'a', spec: mounts('data') })

  it('a pod of another scheduler and one with resource claims', () => {
    const objects = [
      ...nodes,
      pod('demo/p', { node: 'a', spec: { schedulerName: 'volcano' } }),
      pod('demo/q', { node: 'a', spec: { resourceClaims: [{ name: 'gpu' }] } }),
    ]
    const report = drain(snapshot(objects), ['a'])
    expect(report.pods.map(({ uncertain }) => uncertain)).toEqual([true, true])
    expect(report.pods[0]?.uncertainReasons?.[0]).toContain('volcano')
    expect(report.complete).toBe(false)
  })

  it.each([
    {
      lacks: 'claims',
      objects: [...nodes, user],
      warning: 'no PersistentVolumeClaim in the dump, but pod demo/p names the claim data',
    },
    {
      lacks: 'volumes',
      objects: [...nodes, user, claim('demo/data', { volumeName: 'pv' })],
      warning: 'no PersistentVolume in the dump, but claim demo/data names the volume pv',
    },
    {
      lacks: 'classes',
      objects: [...nodes, user, claim('demo/data', { storageClassName: 'local' })],
      warning: 'no StorageClass in the dump, but claim demo/data waits for a volume of class local',
    },
  ])('a dump without $lacks is incomplete, and what it lacks is no finding', ({ objects, warning }) => {
    const report = drain(snapshot(objects), ['a'])
    expect(only(report)).toMatchObject({ uncertain: true, unjudged: true })
    expect([report.complete, report.notSafe]).toEqual([false, []])
    expect(report.warnings.join('\n')).toContain(warning)
  })

  it('a pod that would be stuck whatever the dump lacks is a finding', () => {
    const tied = pod('demo/p', {
      node: 'a',
      spec: { ...mounts('data'), nodeSelector: { 'kubernetes.io/hostname': 'a' } },
    })
    const report = drain(snapshot([...nodes, tied]), ['a'])
    expect([report.complete, report.notSafe]).toEqual([false, ['stuck']])
  })

  it.each([
    {
      missing: 'a claim',
      objects: [claim('demo/other', { volumeName: 'pv' }), volume('pv')],
      message: 'persistentvolumeclaim "data" not found',
    },
    {
      missing: 'a volume',
      objects: [claim('demo/data', { volumeName: 'gone' }), volume('pv')],
      message: 'persistentvolume "gone" not found',
    },
  ])(
    '$missing that is missing while others of its kind are there is missing in the cluster',
    ({ objects, message }) => {
      const report = drain(snapshot([...nodes, user, ...objects]), ['a'])
      expect(only(report)).toMatchObject({
        verdict: 'stuck',
        scheduling: { message: expect.stringContaining(message) },
      })
      expect([report.complete, report.notSafe]).toEqual([true, ['stuck']])
    },
  )

  it('namespaces are needed when an affinity selects them', () => {
    const spec: PodSpec = {
      affinity: {
        podAntiAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: [
            { topologyKey: 'kubernetes.io/hostname', namespaceSelector: { matchLabels: { team: 'x' } } },
          ],
        },
      },
    }
    const report = drain(snapshot([...nodes, pod('demo/p', { node: 'a', spec })]), ['a'])
    expect([
      report.complete,
      report.warnings.some((warning) => warning.startsWith('no Namespace in the dump')),
    ]).toEqual([false, true])
  })

  it('a dump without nodes or without pods', () => {
    const noNodes = drain(snapshot([pod('demo/p', { node: 'a' }), pod('demo/q', { node: 'a', owner: null })]), ['a'])
    expect(noNodes.pods.map(({ verdict, uncertain }) => [verdict, uncertain])).toEqual([
      ['moves', true],
      ['gone', undefined],
    ])
    expect([noNodes.complete, noNodes.notSafe]).toEqual([false, ['gone']])
    const noPods = drain(snapshot([...nodes, ...pinned('a')]), ['a'])
    expect([noPods.complete, noPods.drainCommand, noPods.volumes]).toEqual([false, null, []])
  })

  it('a kind that the server refused, with the verb and the kind in the warning', () => {
    const refused = { state: 'failed', forbidden: true, reason: 'user u may not list poddisruptionbudgets' } as const
    const report = drain(
      snapshot([...nodes, pod('demo/p', { node: 'a' })], { kinds: { PodDisruptionBudget: refused } }),
      ['a'],
    )
    expect([report.complete, report.warnings.join()]).toEqual([
      false,
      expect.stringContaining('may not list poddisruptionbudgets'),
    ])
  })

  it('says once that a dump has no budgets, and only when something is evicted', () => {
    const none = (from: ClusterSnapshot) =>
      drain(from, ['a']).warnings.filter((warning) => warning.includes('PodDisruptionBudget'))
    expect(none(snapshot([...nodes, pod('demo/p', { node: 'a' }), pod('demo/q', { node: 'a' })]))).toHaveLength(1)
    expect(none(snapshot([...nodes, pod('demo/p', { node: 'b' })]))).toEqual([])
  })

  it('warns when the cluster is newer than the newest version known', () => {
    const future = { ...snapshot([...nodes, pod('demo/p', { node: 'a' })]), serverVersion: 'v1.99.0' }
    expect(drain(future, ['a']).warnings.join()).toContain('v1.99.0 is newer')
  })

  it('takes the version of a dump from its newest kubelet', () => {
    const mixed = [
      node('a', { status: { nodeInfo: { kubeletVersion: 'v1.33.9' } } }),
      node('b', {
        status: { nodeInfo: { kubeletVersion: 'v1.9.0' } },
        spec: { taints: [{ key: 'k', value: 'v', effect: 'NoSchedule' }] },
      }),
    ]
    const message = only(drain(snapshot([...mixed, pod('demo/p', { node: 'a' })]), ['a'])).scheduling?.message
    expect(message).toBe(
      '0/2 nodes are available: 1 node(s) had untolerated taint {k: v}, 1 node(s) were unschedulable. preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling.',
    )
  })
})

describe('what to do next', () => {
  const tied = (rest: Parameters<typeof pod>[1] = {}) =>
    pod('demo/web-0', { node: 'a', spec: mounts('data-web-0'), ...rest })
  const claimed = [
    claim('demo/data-web-0', { volumeName: 'pv' }),
    volume('pv', { on: ['a'], claim: 'demo/data-web-0' }),
  ]
  const next = (one: ReturnType<typeof pod>, extra: Parameters<typeof snapshot>[0] = []) =>
    only(drain(snapshot([...nodes, one, ...claimed, ...extra]), ['a'])).next

  const instead = (one: ReturnType<typeof pod>) => only(drain(snapshot([...nodes, one, ...claimed]), ['a'])).instead

  it('relocates a pinned claim to a node that would take the pod', () => {
    expect(next(tied())).toEqual(['kubectl storage relocate pvc data-web-0 -n demo --to b'])
  })

  it('leaves the node open when none would', () => {
    const large = tied({
      spec: { ...mounts('data-web-0'), containers: [{ name: 'app', resources: { requests: { cpu: '3' } } }] },
    })
    const hog = pod('demo/hog', {
      node: 'b',
      spec: { containers: [{ name: 'app', resources: { requests: { cpu: '3' } } }] },
    })
    expect(next(large, [hog])).toEqual(['kubectl storage relocate pvc data-web-0 -n demo'])
  })

  it('offers a StatefulSet to start empty elsewhere, and says what becomes of the data', () => {
    const set: OwnerReference = {
      apiVersion: 'apps/v1',
      kind: 'StatefulSet',
      name: 'web',
      uid: 's-1',
      controller: true,
    }
    expect(instead(tied({ owner: set }))).toEqual([
      'kubectl cordon a && kubectl delete pvc data-web-0 -n demo --wait=false && kubectl delete pod web-0 -n demo   # starts empty elsewhere: the data stays behind on volume pv',
    ])
  })

  it.each([
    { kind: 'Cluster', apiVersion: 'postgresql.cnpg.io/v1', words: 'nodeMaintenanceWindow' },
    { kind: 'RabbitmqCluster', apiVersion: 'rabbitmq.com/v1beta1', words: 'quorum' },
    { kind: 'Redpanda', apiVersion: 'cluster.redpanda.com/v1', words: 'is run by an operator' },
  ])(
    'points to the procedure of the operator of a $kind, and neither scales nor deletes',
    ({ kind, apiVersion, words }) => {
      const steps = next(tied({ owner: { apiVersion, kind, name: 'db', uid: 'x', controller: true } }))
      expect(steps.join()).toContain(words)
      expect(steps.join()).not.toMatch(/kubectl (scale|delete)|storage relocate/)
    },
  )

  it('keeps the manifest of a pod that nothing re-creates', () => {
    expect(next(tied({ owner: null }))[0]).toContain('kubectl get pod web-0 -n demo -o yaml > demo-web-0.yaml')
  })
})

describe('Jobs', () => {
  const job: OwnerReference = { apiVersion: 'batch/v1', kind: 'Job', name: 'restore', uid: 'j-1', controller: true }
  const verdicts = (spec: object, failed = 0, pods = 1) => {
    const owners = [{ ...owner('batch/v1', 'Job', 'demo/restore', 'j-1'), spec, status: { failed } }]
    const all = Array.from({ length: pods }, (_, index) => pod(`demo/restore-${index}`, { node: 'a', owner: job }))
    return drain(snapshot([...nodes, ...all], { owners }), ['a']).pods.map(({ verdict }) => verdict)
  }

  it.each([
    {
      holds: 'that bear no failure do not start an evicted pod again',
      spec: { backoffLimit: 0 },
      failed: 0,
      pods: 1,
      verdict: 'gone',
    },
    { holds: 'bear six when they say nothing', spec: {}, failed: 5, pods: 1, verdict: 'moves' },
    { holds: 'count the failures there were', spec: {}, failed: 6, pods: 1, verdict: 'gone' },
    { holds: 'count all pods that are evicted', spec: { backoffLimit: 1 }, failed: 0, pods: 2, verdict: 'gone' },
    {
      holds: 'may ignore evictions',
      spec: { backoffLimit: 0, ignoresDisruption: true },
      failed: 0,
      pods: 1,
      verdict: 'moves',
    },
  ])('$holds', ({ spec, failed, pods, verdict }) => {
    expect(new Set(verdicts(spec, failed, pods))).toEqual(new Set([verdict]))
  })
})

describe('a pod whose controller is a pod', () => {
  const driver = pod('demo/driver', { node: 'b' })
  const owned = (uid: string) =>
    pod('demo/mount', { node: 'a', owner: { apiVersion: 'v1', kind: 'Pod', name: 'driver', uid, controller: true } })

  it('is gone when that pod is, and believed otherwise; nothing is said of kinds that were read', () => {
    const report = drain(snapshot([...nodes, driver, owned('uid-demo/driver')]), ['a'])
    expect([only(report).verdict, report.warnings.join()]).toEqual([
      'moves',
      expect.not.stringContaining('Pod was read'),
    ])
    expect(only(drain(snapshot([...nodes, driver, owned('another')]), ['a'])).verdict).toBe('gone')
  })
})

describe('a budget that is accepted', () => {
  it('leaves what becomes of the pod then', () => {
    const held = budget(
      'demo/b',
      { app: 'x' },
      { disruptionsAllowed: 0, currentHealthy: 1, desiredHealthy: 1, expectedPods: 1 },
    )
    const tied = pod('demo/p', {
      node: 'a',
      labels: { app: 'x' },
      spec: { nodeSelector: { 'kubernetes.io/hostname': 'a' } },
    })
    expect(drain(snapshot([...nodes, held, tied]), ['a'], { accept: ['blocked'] }).notSafe).toEqual(['stuck'])
  })
})

describe('advice on claims that are not there', () => {
  const set: OwnerReference = { apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'web', uid: 's-1', controller: true }
  const user = (rest: Parameters<typeof pod>[1] = {}) =>
    pod('demo/web-0', { node: 'a', spec: mounts('data-web-0'), ...rest })
  const next = (objects: Parameters<typeof snapshot>[0]) =>
    only(drain(snapshot([...nodes, ...objects]), ['a'])).next.join()

  it('a StatefulSet makes its claim anew for a new pod; another claim must be made by hand', () => {
    expect(next([user({ owner: set }), claim('demo/other'), storageClass('x')])).toContain('delete the pod once more')
    expect(next([user(), claim('demo/other'), storageClass('x')])).toContain(
      'does not exist: make it again before the drain',
    )
  })

  it('a claim that is being deleted is not relocated', () => {
    const dying = claim('demo/data-web-0', { volumeName: 'pv' }, { deletionTimestamp: '2026-01-01T00:00:00Z' })
    const steps = next([user({ owner: set }), dying, volume('pv', { on: ['a'], claim: 'demo/data-web-0' })])
    expect(steps).toContain('is being deleted')
    expect(steps).not.toContain('relocate')
  })

  it('a volume of a node that is gone can not be relocated', () => {
    const steps = next([
      user(),
      ...[claim('demo/data-web-0', { volumeName: 'pv' }), volume('pv', { on: ['c'], claim: 'demo/data-web-0' })],
    ])
    expect(steps).toContain("can't be reached")
  })
})
