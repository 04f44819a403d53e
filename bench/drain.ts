/**
 * How long drain-check takes on large clusters, whole process, and the memory it needs at most, as ratios to a bare Node that only
 * parses the same dump: `npm run bench:drain -- [RUNS]`. The clusters are made up, the same each time.
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

interface Shape {
  name: string
  nodes: number
  podsPerNode: number
  /** Pods keep away from their own kind on a node, and spread over zones. */
  rules: boolean
  drained: number
}

const shapes: Shape[] = [
  { name: '100 nodes, 3,000 pods', nodes: 100, podsPerNode: 30, rules: false, drained: 1 },
  { name: '100 nodes, 3,000 pods with rules', nodes: 100, podsPerNode: 30, rules: true, drained: 1 },
  { name: '1,000 nodes, 10,000 pods with rules', nodes: 1000, podsPerNode: 10, rules: true, drained: 1 },
  { name: '1,000 nodes, 10,000 pods with rules, 20 drained', nodes: 1000, podsPerNode: 10, rules: true, drained: 20 },
  { name: '1,000 nodes, 30,000 pods', nodes: 1000, podsPerNode: 30, rules: false, drained: 20 },
]

const zones = 10
const replicas = 30

const nodeName = (index: number) => `node-${String(index).padStart(4, '0')}`

function node(index: number) {
  const name = nodeName(index)
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name,
      labels: { 'kubernetes.io/hostname': name, 'topology.kubernetes.io/zone': `zone-${index % zones}` },
    },
    spec: {},
    status: {
      allocatable: { cpu: '8', memory: '32Gi', pods: '110' },
      nodeInfo: { kubeletVersion: 'v1.34.4' },
      conditions: [{ type: 'Ready', status: 'True' }],
    },
  }
}

function pod(index: number, { nodes, rules }: Shape) {
  const app = `app-${Math.floor(index / replicas)}`
  const labels = { app, 'pod-template-hash': '5d4f8c' }
  const labelSelector = { matchLabels: { app } }
  const owner = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: app, uid: app, controller: true }
  const affinity = {
    podAntiAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: [{ labelSelector, topologyKey: 'kubernetes.io/hostname' }],
    },
  }
  const topologySpreadConstraints = [
    { maxSkew: 2, topologyKey: 'topology.kubernetes.io/zone', whenUnsatisfiable: 'DoNotSchedule', labelSelector },
  ]
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: `${app}-${index}`, namespace: 'web', labels, ownerReferences: [owner] },
    spec: {
      nodeName: nodeName(index % nodes),
      priority: 0,
      containers: [{ name: 'app', resources: { requests: { cpu: '100m', memory: '256Mi' } } }],
      ...(rules ? { affinity, topologySpreadConstraints } : {}),
    },
    status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] },
  }
}

function dump(shape: Shape): string {
  const count = shape.nodes * shape.podsPerNode
  const apps = Array.from({ length: Math.ceil(count / replicas) }, (_, index) => `app-${index}`)
  const items = [
    ...Array.from({ length: shape.nodes }, (_, index) => node(index)),
    ...Array.from({ length: count }, (_, index) => pod(index, shape)),
    ...apps.map((name) => ({
      apiVersion: 'apps/v1',
      kind: 'ReplicaSet',
      metadata: { name, namespace: 'web', uid: name },
      spec: { replicas },
    })),
  ]
  return JSON.stringify({ apiVersion: 'v1', kind: 'List', items })
}

const root = process.env.KUBECTL_STORAGE_ROOT ?? process.cwd()
const bin = fileURLToPath(new URL('bin/run.js', `file://${root}/`))
const runs = Number(process.argv[2] ?? 3)
const folder = mkdtempSync(join(tmpdir(), 'kubectl-storage-bench-'))

const tell = join(folder, 'tell.cjs')
writeFileSync(
  tell,
  `process.on('exit', () => require('node:fs').writeSync(2, '\\npeak ' + process.resourceUsage().maxRSS + '\\n'))`,
)

interface Cost {
  seconds: number
  mebibytes: number
}

function once(args: string[], expected: number[]): Cost {
  const start = process.hrtime.bigint()
  const { status, stderr } = spawnSync(process.execPath, ['--require', tell, ...args], {
    stdio: ['ignore', 'ignore', 'pipe'],
    encoding: 'utf8',
  })
  const seconds = Number(process.hrtime.bigint() - start) / 1e9
  if (status === null || !expected.includes(status)) throw new Error(`${args[0]} ended with ${status}: ${stderr}`)
  return { seconds, mebibytes: Number(/peak (\d+)/.exec(stderr)?.[1]) / 1024 }
}

function best(args: string[], expected: number[]): Cost {
  const costs = Array.from({ length: runs }, () => once(args, expected))
  return {
    seconds: Math.min(...costs.map(({ seconds }) => seconds)),
    mebibytes: Math.min(...costs.map(({ mebibytes }) => mebibytes)),
  }
}

const said = ({ seconds, mebibytes }: Cost) => `${seconds.toFixed(2)} s, ${mebibytes.toFixed(0)} MiB`

try {
  for (const shape of shapes) {
    const file = join(folder, 'dump.json')
    writeFileSync(file, dump(shape))
    const size = statSync(file).size / 1024 / 1024
    const parse = best(['-e', 'JSON.parse(require("node:fs").readFileSync(process.argv[1], "utf8"))', file], [0])
    const drained = Array.from({ length: shape.drained }, (_, index) => nodeName(index))
    const ours = best([bin, 'drain-check', ...drained, '--from', file, '-o', 'json'], [0, 3, 7])
    console.log(`${shape.name} (${size.toFixed(1)} MiB)`)
    console.log(`  node, JSON.parse only  ${said(parse)}`)
    console.log(
      `  drain-check            ${said(ours)}  ${(ours.seconds / parse.seconds).toFixed(1)}x, ${(ours.mebibytes / parse.mebibytes).toFixed(1)}x`,
    )
  }
} finally {
  rmSync(folder, { recursive: true, force: true })
}
