import { readFileSync } from 'node:fs'
import { load } from 'js-yaml'
import { describe, expect, it } from 'vitest'
import { readCluster } from '../../src/cluster/read.js'
import { planDrain } from '../../src/drain/plan.js'
import { drainOptions } from '../support/drain-options.js'

/** Dumps of a real cluster: before `kubectl drain k8s-node-2`, after it, and after pod and claim of a Retain disk were deleted. */
const file = (name: string) => new URL(`../fixtures/seed-lab/${name}.yaml`, import.meta.url).pathname

async function drain(from: string, node: string) {
  const snapshot = await readCluster({ from: [from], kinds: [] })
  return planDrain(snapshot, drainOptions([node]))
}

/** What the real scheduler said of the pod that replaced `cache` after the real drain. */
function recordedMessage(): string {
  const { items } = load(readFileSync(file('after-drain'), 'utf8')) as {
    items: { kind: string; reason?: string; message?: string; involvedObject?: { name: string } }[]
  }
  const event = items.find(
    ({ reason, involvedObject }) => reason === 'FailedScheduling' && involvedObject?.name === 'cache-7c7564cb5b-6jknr',
  )
  return event?.message ?? ''
}

const agent = ['stays', { effect: 'needs-flag', flag: '--ignore-daemonsets' }]

/** The demo is the same cluster, recorded another time, with S3 through FUSE in it. */
describe.each([
  { name: 'the recorded cluster before its drain', from: file('before-drain'), more: [], summary: {} },
  {
    name: 'the demo that ships',
    from: 'demo',
    more: [
      ['demo/Deployment/media', 'moves'],
      ['kube-system/DaemonSet/csi-s3', ...agent],
    ],
    summary: { stays: 2, moves: 2 },
  },
])('$name', ({ from, more, summary }) => {
  it('tells of each pod what the real drain then did with it', async () => {
    const report = await drain(from, 'k8s-node-2')
    const said = report.pods.map(({ namespace, name, owner, verdict, effects }) => [
      owner === null ? `${namespace}/${name}` : `${namespace}/${owner.kind}/${owner.name}`,
      verdict,
      ...effects,
    ])
    const expected = [
      ['demo/Deployment/cache', 'stuck'],
      [
        'demo/Deployment/web',
        'blocked',
        { effect: 'needs-flag', flag: '--delete-emptydir-data' },
        { effect: 'data-lost', volume: 'tmp' },
      ],
      ['demo/StatefulSet/reports', 'moves', { effect: 'starts-empty', volume: 'data', path: '/srv/reports' }],
      ['demo/debug-shell', 'gone', { effect: 'needs-flag', flag: '--force' }],
      ['kube-system/DaemonSet/node-agent', ...agent],
      ...more,
    ]
    const byName = ([a]: unknown[], [b]: unknown[]) => (String(a) < String(b) ? -1 : 1)
    expect(said.sort(byName)).toEqual(expected.sort(byName))
    expect(report.pods.find(({ verdict }) => verdict === 'blocked')).toMatchObject({
      budgets: ['web'],
      then: { verdict: 'moves' },
    })
    expect(report.drainCommand).toBe('kubectl drain k8s-node-2 --ignore-daemonsets --delete-emptydir-data --force')
    const all = { stays: 1, blocked: 1, gone: 1, stuck: 1, moves: 1, ...summary }
    expect([report.complete, report.summary]).toEqual([true, all])
  })

  it('predicts the scheduler’s message word for word', async () => {
    const message = recordedMessage()
    expect(message).toContain('0/3 nodes are available')
    const [cache] = (await drain(from, 'k8s-node-2')).pods
    expect(cache).toMatchObject({
      owner: { kind: 'Deployment', name: 'cache' },
      scheduling: { feasibleNodes: [], message, nominatedNode: null },
      volumes: [{ name: 'data', claim: 'cache', source: 'hostPath', affinity: 'pinned', pinnedTo: ['k8s-node-2'] }],
      next: ['kubectl storage relocate pvc cache -n demo --to k8s-node-1'],
    })
  })
})

it('lists a Released disk on its node', async () => {
  const { volumes } = await drain(file('released'), 'k8s-node-1')
  expect(volumes).toEqual([
    {
      name: 'k8s-node-1-disk1',
      phase: 'Released',
      source: 'local',
      pinnedTo: ['k8s-node-1'],
      claim: 'demo/db',
      reason: 'released',
    },
  ])
})

it('lists a volume whose only pod is Pending', async () => {
  const { volumes } = await drain(file('after-drain'), 'k8s-node-2')
  expect(volumes).toEqual([
    {
      name: 'pvc-d99d4407-b5a0-41b1-b432-4f930825fb6c',
      phase: 'Bound',
      source: 'hostPath',
      pinnedTo: ['k8s-node-2'],
      claim: 'demo/cache',
      reason: 'unused',
    },
  ])
})
