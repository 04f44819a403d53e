/**
 * Asks a real scheduler about invented clusters and holds its answers against ours.
 *
 *   node test/lab/record-scheduler.mjs --bin DIR [--etcd FILE] [--scheduler FILE [--gates GATES]] [--port N] [--kinds a,b] [--seeds FROM-TO]
 *        [--out FILE.ndjson.gz] [--twice] [--probe] [--verbose]
 *
 * --bin: where kube-apiserver, kube-controller-manager and kube-scheduler are. --scheduler: another version's scheduler; one that is
 * newer than the API server may need --gates to do without what that server does not have.
 * Each case: the cluster is made, node `drain` is cordoned, and its pods are taken one after the other: deleted, created again
 * without a node, the scheduler's first answer noted, the copy deleted. See test/fixtures/scheduler-cases/README.md for what --out
 * writes. --probe asks about each node by itself where a pod was placed, so that every node that we think passes is known to pass,
 * and every other one to refuse for the reason that we say. --twice keeps only cases that get the same answers a second time, so that nothing left to chance is kept. Differences are
 * printed; exit 1 when there are any.
 */
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'
import { startControlPlane } from './control-plane.mjs'
import { inventCluster, kinds } from './invented-clusters.mjs'
import { Recorder, slim } from './scheduler-recorder.mjs'

/** Our side: the plan of the drain, from the sources. */
async function predictor() {
  const root = fileURLToPath(new URL('../..', import.meta.url))
  const { outputFiles } = await build({
    absWorkingDir: root,
    stdin: {
      contents: `export { podInfo } from './src/scheduling/cluster-state.ts'
        export { schedule } from './src/scheduling/schedule.ts'
        export { clusterState } from './test/support/scheduler-cases.ts'
        export { differences } from './test/support/scheduler-differences.ts'`,
      resolveDir: root,
    },
    bundle: true,
    platform: 'node',
    format: 'esm',
    write: false,
    logLevel: 'error',
  })
  const code = Buffer.from(outputFiles[0].contents).toString('base64')
  const { clusterState, differences, podInfo, schedule } = await import(`data:text/javascript;base64,${code}`)
  /** As `differences`, of pods that may go to one node only. */
  const differingProbes = ({ drain, objects, outcomes, kubernetes }, probes) => {
    const gone = new Set()
    return Object.keys(outcomes).flatMap((key) => {
      gone.add(key)
      const left = objects.filter(
        (object) => !(object.kind === 'Pod' && gone.has(`${object.metadata.namespace}/${object.metadata.name}`)),
      )
      const original = objects.find(
        ({ kind, metadata }) => kind === 'Pod' && `${metadata.namespace}/${metadata.name}` === key,
      )
      return probes
        .filter((probe) => probe.key === key)
        .flatMap(({ node, outcome, pod }) => {
          const state = clusterState(left, kubernetes)
          state.cordon(state.nodeByName.get(drain))
          const { nodeName: _, ...spec } = original.spec
          // Requests with their defaults, priority and merged selectors are as the API server has made them.
          const nodeAffinity = pod.spec.affinity.nodeAffinity
          const asked = { ...original, spec: { ...spec, affinity: { ...spec.affinity, nodeAffinity } }, status: {} }
          const { feasible, message, preemption } = schedule(podInfo(asked, state.rules, 'spec'), state)
          const same =
            outcome.result === 'scheduled'
              ? feasible.some(({ name }) => name === outcome.node)
              : message === outcome.message && (preemption?.node.name ?? '') === (outcome.nominated ?? '')
          const predicted = { feasible: feasible.map(({ name }) => name), message }
          return same ? [] : [{ key, node, outcome, predicted }]
        })
    })
  }
  return { differences, differingProbes }
}

const { values } = parseArgs({
  options: {
    bin: { type: 'string' },
    etcd: { type: 'string', default: 'etcd' },
    scheduler: { type: 'string' },
    gates: { type: 'string', default: '' },
    port: { type: 'string', default: '26443' },
    kinds: { type: 'string', default: kinds.join() },
    seeds: { type: 'string', default: '1-25' },
    out: { type: 'string' },
    twice: { type: 'boolean', default: false },
    probe: { type: 'boolean', default: false },
    verbose: { type: 'boolean', default: false },
  },
})
if (values.bin === undefined) {
  process.stderr.write('--bin DIR: where kube-apiserver, kube-controller-manager and kube-scheduler are\n')
  process.exit(2)
}
const scheduler = values.scheduler ?? join(values.bin, 'kube-scheduler')
const version = /v\d+\.\d+\.\d+/.exec(execFileSync(scheduler, ['--version']).toString())?.[0] ?? 'unknown'
const { differences, differingProbes } = await predictor()
const plane = await startControlPlane({
  bin: values.bin,
  etcd: values.etcd,
  scheduler,
  gates: values.gates,
  port: Number(values.port),
})
const lab = new Recorder(plane, version)
lab.verbose = values.verbose
lab.probe = values.probe
const [from = 1, to = from] = values.seeds.split('-').map(Number)
const kept = []
const count = {
  cases: 0,
  answers: 0,
  scheduled: 0,
  pending: 0,
  nominated: 0,
  differ: 0,
  unusable: 0,
  unstable: 0,
  probes: 0,
}
let stopping = false
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => (stopping = true))
try {
  await lab.watchPods()
  for (let seed = from; seed <= to && !stopping; seed++) {
    for (const kind of values.kinds.split(',')) {
      if (stopping) break
      const invented = inventCluster(kind, seed)
      const recorded = await lab.record(invented)
      if (recorded === null || Object.keys(recorded.outcomes).length === 0) {
        count.unusable += 1
        continue
      }
      const number = seed * 100 + kinds.indexOf(kind)
      const one = {
        seed: number,
        kind,
        kubernetes: version,
        drain: invented.drain,
        objects: recorded.objects.map(slim),
        outcomes: recorded.outcomes,
      }
      if (values.twice) {
        const again = await lab.record(invented)
        // Which of the passing nodes is scoring, and chance.
        const answers = (outcomes) =>
          JSON.stringify(outcomes, (key, value) =>
            key === 'node' || key === 'provisioning' || key === 'preempted' ? undefined : value,
          )
        if (again === null || answers(again.outcomes) !== answers(recorded.outcomes)) {
          count.unstable += 1
          process.stdout.write(
            `UNSTABLE ${number} ${kind}\n${answers(recorded.outcomes)}\n${again && answers(again.outcomes)}\n`,
          )
          continue
        }
      }
      count.cases += 1
      for (const outcome of Object.values(one.outcomes)) {
        count.answers += 1
        count[outcome.result] += 1
        if (outcome.nominated) count.nominated += 1
      }
      const found = [...differences(one), ...differingProbes(one, recorded.probes)]
      count.probes += recorded.probes.length
      count.differ += found.length
      for (const difference of found) {
        process.stdout.write(`DIFFERS ${number} ${kind}\n${JSON.stringify(difference, null, 1)}\n`)
      }
      kept.push(one)
      if (values.out !== undefined) {
        writeFileSync(values.out, gzipSync(`${kept.map((each) => JSON.stringify(each)).join('\n')}\n`, { level: 9 }))
      }
    }
  }
} finally {
  await plane.stop()
}
process.stdout.write(`${JSON.stringify({ version, ...count, refused: lab.refused })}\n`)
process.exitCode = count.differ > 0 ? 1 : 0
