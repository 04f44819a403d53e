/**
 * The real scheduler is asked about invented clusters, in a control plane without nodes, and has to say what we say, word for word.
 * test/scheduling/recorded.test.ts holds ours against answers that were given once; these clusters are new in each run. The kind and
 * seed of a difference are what record-scheduler.mjs takes (--kinds, --seeds), which writes down the objects, too (--out).
 */
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { differences } from '../support/scheduler-differences.js'
import { type ControlPlane, startControlPlane } from './control-plane.mjs'
import { type InventedCluster, inventCluster, kinds } from './invented-clusters.mjs'
import { Recorder, slim } from './scheduler-recorder.mjs'
import { MARK, PORTS } from './support/config.js'
import { Lab, SEED } from './support/lab.js'

const lab = Lab.connect()

/** Of each kind of cluster. */
const CLUSTERS = lab.full ? 10 : 1
/**
 * A cluster that gets another answer is asked about again. Among nodes where preemption costs the same the scheduler chooses by chance,
 * and on a busy machine its view may be a moment old; but what it says each time is what it means.
 */
const TRIES = 6

describe.each([
  { version: 'v1.34.4', suffix: '' },
  { version: 'v1.37.2', suffix: '-v1.37.2' },
])('the scheduler of $version', ({ version, suffix }) => {
  const count = { clusters: 0, answers: 0, scheduled: 0, pending: 0, nominated: 0, unusable: 0, askedAgain: 0 }
  let plane: ControlPlane | undefined
  let recorder: Recorder | undefined
  let started = 0

  beforeAll(async () => {
    const program = (name: string) => join(lab.at.bin, `${name}${suffix}`)
    plane = await startControlPlane({
      bin: lab.at.bin,
      etcd: join(lab.at.bin, 'etcd'),
      apiServer: program('kube-apiserver'),
      scheduler: program('kube-scheduler'),
      port: PORTS['second API server'],
      // Should this be killed, taking the lab down ends the processes and removes the directory.
      folder: lab.at.run,
      env: { [MARK]: lab.at.run },
    })
    started = Date.now()
    recorder = new Recorder(plane, version)
    await recorder.watchPods()
  })

  afterAll(async () => {
    await plane?.stop()
    const seconds = ((Date.now() - started) / 1000).toFixed(1)
    const figures = JSON.stringify({ ...count, refused: recorder?.refused, unanswered: recorder?.unanswered })
    process.stderr.write(`lab: scheduler ${version}: ${figures} in ${seconds} s\n`)
  })

  /** Has the cluster made and its pods asked about; null when nothing came of it. */
  async function record(invented: InventedCluster) {
    const recorded = await recorder?.record(invented)
    if (!recorded || Object.keys(recorded.outcomes).length === 0) return null
    const { outcomes } = recorded
    const objects = recorded.objects.map(slim)
    return { outcomes, found: differences({ kubernetes: version, drain: invented.drain, objects, outcomes }) }
  }

  /** The differences that stay; null when the cluster could not be used. */
  async function ask(kind: string, seed: number) {
    const invented = inventCluster(kind, seed)
    const first = await record(invented)
    if (first === null) return null
    count.clusters += 1
    for (const outcome of Object.values(first.outcomes)) {
      count.answers += 1
      count[outcome.result] += 1
      if (outcome.result === 'pending' && outcome.nominated) count.nominated += 1
    }
    let left = first.found
    for (let tries = 2; left.length > 0 && tries <= TRIES; tries++) {
      count.askedAgain += 1
      const pods = left.map(({ key }) => key).join(', ')
      process.stderr.write(`lab: scheduler ${version}: ${kind} ${seed}: asking again about ${pods}\n`)
      const again = await record(invented)
      // Without a new answer the old one stays.
      left = left.flatMap((one) =>
        again?.outcomes[one.key] === undefined ? [one] : again.found.filter(({ key }) => key === one.key),
      )
    }
    return left.map((difference) => ({ kind, seed, drain: invented.drain, ...difference }))
  }

  it.each(kinds)('says what we say of clusters of kind %s', async (kind) => {
    const random = lab.random(`${version} ${kind}`)
    const found = []
    for (let done = 0, drawn = 0; done < CLUSTERS; drawn++) {
      // Not every cluster comes out as it was meant, but most do.
      expect(drawn, `clusters of kind ${kind} that could not be used`).toBeLessThan(CLUSTERS * 10 + 10)
      const differing = await ask(kind, Math.floor(random() * 2 ** 31))
      if (differing === null) {
        count.unusable += 1
        continue
      }
      done += 1
      found.push(...differing)
    }
    expect(found, `${SEED}=${lab.seed} asks about the same clusters again`).toEqual([])
  })
})
