/**
 * How long a start takes, whole process, as a ratio to a bare Node and to kubectl: `npm run bench:start -- [RUNS]`.
 * The candidates take turns, so that a machine that gets busy slows all of them; the median of each is compared.
 */
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

interface Candidate {
  name: string
  command: string
  args: string[]
  /** Exit codes that are an answer; 3 is drain-check's "not safe". */
  expected: number[]
  /** At most so many times a bare Node; what the project aims at, not a limit. */
  aim?: number
}

const root = process.env.KUBECTL_STORAGE_ROOT ?? process.cwd()
const bin = fileURLToPath(new URL('bin/run.js', `file://${root}/`))
const node = process.execPath
const runs = Number(process.argv[2] ?? 15)

const bare: Candidate = { name: 'node -e 0', command: node, args: ['-e', '0'], expected: [0] }
const ours: Candidate[] = [
  { name: '--version', command: node, args: [bin, '--version'], expected: [0], aim: 1.5 },
  { name: '--help', command: node, args: [bin, '--help'], expected: [0] },
  {
    name: 'drain-check --from demo',
    command: node,
    args: [bin, 'drain-check', 'k8s-node-2', '--from', 'demo'],
    expected: [3],
    aim: 3,
  },
]
const kubectl: Candidate = {
  name: 'kubectl version --client',
  command: 'kubectl',
  args: ['version', '--client'],
  expected: [0],
}

/** Milliseconds; null when the program is not there. */
function once({ name, command, args, expected }: Candidate): number | null {
  const start = process.hrtime.bigint()
  const { error, status, stderr } = spawnSync(command, args, { stdio: ['ignore', 'ignore', 'pipe'], encoding: 'utf8' })
  const took = Number(process.hrtime.bigint() - start) / 1e6
  if (error) return null
  if (status === null || !expected.includes(status)) throw new Error(`${name} ended with ${status}: ${stderr}`)
  return took
}

function median(values: number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? Number(sorted[middle]) : (Number(sorted[middle - 1]) + Number(sorted[middle])) / 2
}

const candidates = [bare, ...ours, ...(once(kubectl) === null ? [] : [kubectl])]
const times = new Map<Candidate, number[]>(candidates.map((candidate) => [candidate, []]))
for (const candidate of candidates) once(candidate) // the first run finds the files not yet in memory
for (let i = 0; i < runs; i++) {
  for (const candidate of candidates) times.get(candidate)?.push(once(candidate) ?? Number.NaN)
}
const medians = new Map([...times].map(([candidate, values]) => [candidate, median(values)]))
const bareTime = medians.get(bare) ?? Number.NaN
const kubectlTime = medians.get(kubectl)

console.log(`Node ${process.version}, median of ${runs} runs`)
console.log(
  `${''.padEnd(26)}${'time'.padStart(9)}${'to node'.padStart(10)}${'aim'.padStart(7)}${'to kubectl'.padStart(12)}`,
)
for (const [candidate, time] of medians) {
  const toKubectl = kubectlTime === undefined ? '' : `${(time / kubectlTime).toFixed(2)}×`
  console.log(
    candidate.name.padEnd(26) +
      `${time.toFixed(0)} ms`.padStart(9) +
      `${(time / bareTime).toFixed(2)}×`.padStart(10) +
      (candidate.aim === undefined ? '' : `${candidate.aim}×`).padStart(7) +
      toKubectl.padStart(12),
  )
}
