import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { DrainReport } from '../../src/drain/types.js'
import { Lab } from './support/lab.js'
import { previewAndDrain } from './support/reality.js'
import { RANDOM_NAMESPACE, randomWorkloads, workerCpu } from './support/workloads.js'

/** Preview = reality: what drain-check says of a node, and what the drain that it prints then does. */
const lab = Lab.connect()
const NODE = 'k8s-node-2'

beforeEach(() => lab.reset())

describe('of each scene', () => {
  it.each([
    {
      scenes: ['cache', 'web', 'reports', 'debug-shell', 'node-agent'],
      verdicts: { stuck: 1, blocked: 1, gone: 1, moves: 1, stays: 1 },
    },
    { scenes: ['queue'], verdicts: {} },
    { scenes: ['unbound'], verdicts: {} },
    { scenes: ['taints'], verdicts: {} },
    { scenes: ['media'], verdicts: { moves: 1, stays: 1 } },
  ])('$scenes', async ({ scenes, verdicts }) => {
    for (const scene of scenes) await lab.start(scene)
    const { differences, report } = await previewAndDrain(lab, [NODE])
    expect(differences).toEqual([])
    expect(report.summary).toMatchObject(verdicts)
  })

  it('a disk of its own, from the side of its node', async () => {
    await lab.start('db')
    const { differences, report } = await previewAndDrain(lab, ['k8s-node-1'])
    expect(differences).toEqual([])
    expect(report.pods).toMatchObject([{ name: 'db', verdict: 'gone' }])
  })

  it('a Released disk is listed on its node', async () => {
    await lab.start('released')
    const report = (await lab.plugin(['drain-check', 'k8s-node-1', '-o', 'json'])).json as DrainReport
    expect(report.volumes).toMatchObject([
      { phase: 'Released', source: 'local', pinnedTo: ['k8s-node-1'], claim: 'demo/db', reason: 'released' },
    ])
  })

  it('unbound claims that lose their node make a cordon unsafe, and nothing is evicted', async () => {
    await lab.start('unbound')
    const { code, json } = await lab.plugin(['drain-check', NODE, '--cordon-only', '-o', 'json'])
    expect((json as DrainReport).claims).toMatchObject([{ namespace: 'demo', name: 'lost', selectedNode: NODE }])
    expect(code).toBe(3)
  })
})

describe('of several nodes, drained one after the other', () => {
  it('with nothing left to go to', async () => {
    for (const scene of ['cache', 'queue', 'node-agent']) await lab.start(scene)
    const { differences, report } = await previewAndDrain(lab, ['k8s-node-1', NODE])
    expect(differences).toEqual([])
    expect(report.summary).toMatchObject({ stuck: 4, stays: 2 })
  })
})

describe('of random clusters', () => {
  const share = lab.full ? 30 : 3
  let cpu = 0

  beforeAll(async () => {
    cpu = await workerCpu(lab)
  })

  afterEach(() => lab.kubectl(['uncordon', 'k8s-node-1', NODE]))

  it.each(Array.from({ length: share }, (_, index) => index))(`seed ${lab.seed}, cluster %i`, async (index) => {
    const random = lab.random(`drain ${index}`)
    await lab.namespace(RANDOM_NAMESPACE)
    await lab.apply(randomWorkloads(random, cpu))
    const nodes = random() < 0.2 ? ['k8s-node-1', NODE] : [random() < 0.5 ? NODE : 'k8s-node-1']
    const { differences } = await previewAndDrain(lab, nodes)
    expect(differences).toEqual([])
  })
})
