/** What takes several workloads, each started where it has to be: effects, budgets and --cordon-only, foretold and then played. */
import { beforeEach, expect } from 'vitest'
import type { DrainReport } from '../../src/drain/types.js'
import { isReady, Lab, type Pod } from './support/lab.js'
import { PartSuite } from './support/part-suite.js'
import { previewAndCordon, previewAndDrain } from './support/reality.js'
import { NAMESPACE, SEEN_AT_THE_END } from './support/scenes.js'
import { workerCpu } from './support/workloads.js'

const lab = Lab.connect()
const NODE = 'k8s-node-2'
const OTHER = 'k8s-node-1'
const suite = new PartSuite(lab, 'drain-effects', 4)

beforeEach(async () => {
  await lab.reset()
  await lab.namespace(NAMESPACE)
})

type Workload = {
  name: string
  kind?: 'Deployment' | 'StatefulSet'
  replicas?: number
  /** Of what a worker has for pods. */
  share?: number
  /** Fields of the pods' specs. */
  pod?: object
  budget?: object
}

/** Starts them while no other worker takes any. */
async function startOn(node: string, ...workloads: Workload[]): Promise<void> {
  const away = ['master', NODE, OTHER].filter((name) => name !== node)
  await lab.kubectl(['cordon', ...away])
  const cpu = await workerCpu(lab)
  await lab.apply(workloads.flatMap((workload) => manifests(workload, cpu)))
  for (const { name, replicas = 1 } of workloads) await lab.podsReady(NAMESPACE, replicas, `app=${name}`)
  await lab.kubectl(['uncordon', ...away])
}

function manifests({ name, kind = 'Deployment', replicas = 1, share = 0.02, pod = {}, budget }: Workload, cpu: number) {
  const metadata = { name, namespace: NAMESPACE }
  const labels = { app: name }
  const selector = { matchLabels: labels }
  const container = {
    name: 'app',
    image: 'busybox',
    imagePullPolicy: 'IfNotPresent',
    command: ['sleep', 'infinity'],
    resources: { requests: { cpu: `${Math.round(cpu * share)}m` } },
  }
  const spec = { terminationGracePeriodSeconds: 1, containers: [container], ...pod }
  const set = kind === 'StatefulSet' ? { serviceName: name, podManagementPolicy: 'Parallel' } : {}
  return [
    {
      apiVersion: 'apps/v1',
      kind,
      metadata,
      spec: { replicas, selector, template: { metadata: { labels }, spec }, ...set },
    },
    ...(budget === undefined
      ? []
      : [{ apiVersion: 'policy/v1', kind: 'PodDisruptionBudget', metadata, spec: { selector, ...budget } }]),
  ]
}

const on = (node: string) => ({ nodeSelector: { 'kubernetes.io/hostname': node } })
const podsOf = (app: string) => lab.list<Pod>('pods', '--namespace', NAMESPACE, '--selector', `app=${app}`)
const reportOf = (report: DrainReport, app: string) => report.pods.filter(({ name }) => name.startsWith(`${app}-`))

/** The fewest pods that were ready at one time while the work was done. */
async function fewestReady<T>(app: string, work: () => Promise<T>): Promise<{ result: T; fewest: number }> {
  const path = `/api/v1/namespaces/${NAMESPACE}/pods?labelSelector=app%3D${app}`
  let done = false
  let fewest = Number.POSITIVE_INFINITY
  const watching = (async () => {
    while (!done) {
      const { items } = await lab.api.get<{ items: Pod[] }>(path)
      const ready = items.filter((pod) => isReady(pod) && pod.metadata.deletionTimestamp === undefined)
      fewest = Math.min(fewest, ready.length)
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  })()
  try {
    return { result: await work(), fewest }
  } finally {
    done = true
    await watching
  }
}

suite.add('preempts: names the node and who has to go there, and they do', async () => {
  await lab.apply(
    Object.entries({ high: 1000, low: 10 }).map(([name, value]) => ({
      apiVersion: 'scheduling.k8s.io/v1',
      kind: 'PriorityClass',
      metadata: { name },
      value,
    })),
  )
  await startOn(OTHER, { name: 'low', share: 0.6, pod: { ...on(OTHER), priorityClassName: 'low' } })
  await startOn(NODE, { name: 'high', share: 0.6, pod: { priorityClassName: 'high' } })
  const [victim] = await podsOf('low')

  const { differences, report } = await previewAndDrain(lab, [NODE])
  expect(differences).toEqual([])
  expect(report.pods).toMatchObject([
    {
      verdict: 'moves',
      effects: [{ effect: 'preempts', node: OTHER, victims: [`${NAMESPACE}/${victim?.metadata.name}`] }],
      scheduling: { feasibleNodes: [], nominatedNode: OTHER },
    },
  ])
  expect((await podsOf('high')).map(({ spec }) => spec.nodeName)).toEqual([OTHER])
  const after = await podsOf('low')
  expect(after.map(({ metadata }) => metadata.uid)).not.toContain(victim?.metadata.uid)
  expect(after.map(({ spec }) => spec.nodeName)).toEqual([undefined])
})

suite.add('contended: says with whom and how many stay Pending, and so many do', async () => {
  await startOn(OTHER, { name: 'filler', share: 0.5, pod: on(OTHER) })
  await startOn(NODE, { name: 'red', share: 0.35 }, { name: 'blue', share: 0.35 })
  const { differences, report } = await previewAndDrain(lab, [NODE])
  expect(differences).toEqual([])
  expect(report.pods).toMatchObject([
    { verdict: 'moves', effects: [{ effect: 'contended', node: OTHER }] },
    { verdict: 'moves', effects: [{ effect: 'contended', node: OTHER }] },
  ])
  expect(report.contention).toMatchObject([{ pending: { min: 1, max: 1 } }])
  const placed = [...(await podsOf('red')), ...(await podsOf('blue'))].filter(({ spec }) => spec.nodeName)
  expect(placed).toHaveLength(1)
})

suite.add('quorum: is lost when no budget makes the replicas go one by one', async () => {
  await startOn(NODE, { name: 'raft', kind: 'StatefulSet', replicas: 3 })
  const { result, fewest } = await fewestReady('raft', () => previewAndDrain(lab, [NODE]))
  expect(result.differences).toEqual([])
  const quorum = { effect: 'quorum', of: `StatefulSet ${NAMESPACE}/raft`, down: 3, bears: 1 }
  expect(result.report.pods.map(({ effects }) => effects)).toEqual([[quorum], [quorum], [quorum]])
  expect(3 - fewest).toBe(quorum.down)
})

suite.add('quorum: bears one, and no more once the pods of another node are gone, too', async () => {
  await lab.start('queue')
  const pods = await podsOf('queue')
  const count = (node: string) => pods.filter(({ spec }) => spec.nodeName === node).length
  const [few, many] = count(NODE) === 1 ? [NODE, OTHER] : [OTHER, NODE]
  expect(count(few)).toBe(1)

  const alone = (await lab.plugin(['drain-check', few, '-o', 'json'])).json as DrainReport
  expect(alone.pods).toMatchObject([{ verdict: 'stuck', effects: [] }])
  const { result, fewest } = await fewestReady('queue', () => previewAndDrain(lab, [few, many]))
  expect(result.differences).toEqual([])
  const quorum = { effect: 'quorum', of: `StatefulSet ${NAMESPACE}/queue`, down: 3, bears: 1 }
  expect(result.report.pods.map(({ effects }) => effects)).toEqual([[quorum], [quorum], [quorum]])
  expect(fewest).toBe(0)
})

for (const kind of ['StatefulSet', 'Deployment'] as const)
  suite.add(`budgets: let the pods of a ${kind} go one after the other`, async () => {
    await startOn(NODE, { name: 'slow', kind, replicas: 3, budget: { maxUnavailable: 1 } })
    const { result, fewest } = await fewestReady('slow', () => previewAndDrain(lab, [NODE]))
    expect(result.differences).toEqual([])
    expect(result.report.summary).toEqual({ moves: 3 })
    const effects = result.report.pods.flatMap((pod) => pod.effects)
    expect(effects).toMatchObject([
      { effect: 'waits-for-budget', budget: 'slow' },
      { effect: 'waits-for-budget', budget: 'slow' },
    ])
    expect(fewest).toBe(2)
  })

suite.add('budgets: hold the rest when the first that went stays Pending', async () => {
  await startOn(NODE, { name: 'tied', replicas: 3, pod: on(NODE), budget: { maxUnavailable: 1 } })
  const { differences, report } = await previewAndDrain(lab, [NODE])
  expect(differences).toEqual([])
  expect(report.summary).toEqual({ blocked: 2, stuck: 1 })
})

suite.add('budgets: do not hold pods of another', async () => {
  await startOn(NODE, { name: 'held', budget: { minAvailable: 1 } }, { name: 'loose' })
  const { differences, report } = await previewAndDrain(lab, [NODE])
  expect(differences).toEqual([])
  expect(reportOf(report, 'held')).toMatchObject([
    { verdict: 'blocked', budgets: ['held'], then: { verdict: 'moves' } },
  ])
  expect(reportOf(report, 'loose')).toMatchObject([{ verdict: 'moves' }])
})

suite.add('loses-fuse-server: is so: the pod sees its mount die while it ends', async () => {
  await lab.start('media-mounter')
  const { differences, report } = await previewAndDrain(lab, [NODE])
  expect(differences).toEqual([])
  expect(reportOf(report, 'media-mounter')).toMatchObject([
    { effects: expect.arrayContaining([{ effect: 'loses-fuse-server', claims: ['media-mounter'] }]) },
  ])
  expect(await lab.enter(NODE, `cat ${SEEN_AT_THE_END}/ls`)).toContain('not connected')
})

suite.add(
  'several nodes: are drained in the order given: what the first sends to the second leaves again',
  async () => {
    const anywhere = { tolerations: [{ key: 'node-role.kubernetes.io/control-plane', operator: 'Exists' }] }
    await startOn(NODE, { name: 'wanders', replicas: 2, pod: anywhere }, { name: 'tied', pod: on(NODE) })
    const { differences, report } = await previewAndDrain(lab, [NODE, OTHER])
    expect(differences).toEqual([])
    expect(reportOf(report, 'wanders')).toMatchObject([
      { verdict: 'moves', scheduling: { feasibleNodes: ['master'] } },
      { verdict: 'moves', scheduling: { feasibleNodes: ['master'] } },
    ])
    expect(reportOf(report, 'tied')).toMatchObject([{ verdict: 'stuck' }])
  },
)

suite.add('--cordon-only: says where each pod would be if it alone were made again', async () => {
  for (const scene of ['cache', 'node-agent']) await lab.start(scene)
  await startOn(
    NODE,
    { name: 'free' },
    {
      name: 'back',
      pod: { ...on(NODE), tolerations: [{ key: 'node.kubernetes.io/unschedulable', operator: 'Exists' }] },
    },
  )
  const { differences, report } = await previewAndCordon(lab, [NODE])
  expect(differences).toEqual([])
  expect(report.summary).toEqual({ stays: 1, stuck: 1, returns: 1, moves: 1 })
  expect(report.drainCommand).toBeNull()
})

suite.register()
