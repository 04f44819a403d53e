import { readFileSync } from 'node:fs'
import { Readable, Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { gunzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { run } from '../../src/cli/run.js'
import type { DrainReport, Effect, PodReport } from '../../src/drain/types.js'

/** Whole runs on invented clusters, each of a kind that was reported from the field: what is right stands beside the cluster. */
interface ExpectedPod {
  verdict?: string
  effects?: string[]
  feasible?: string[]
  message?: string | null
  nominated?: string | null
  then?: string
  budgets?: string[]
  owner?: string | null
  uncertain?: boolean
  terminating?: boolean
  volumes?: Record<string, Record<string, unknown>>
  nextHas?: string[]
  nextNot?: string[]
  whyHas?: string[]
}

interface Case {
  name: string
  args: string[]
  dump: object
  expected: {
    exit?: number
    pods?: Record<string, ExpectedPod>
    podsAll?: boolean
    summary?: object
    volumes?: object[]
    claims?: object[]
    drainCommand?: string | null
    complete?: boolean
    notSafe?: string[]
    nodes?: string[]
    warningsHas?: string[]
    warningsNot?: string[]
    errHas?: string[]
  }
}

const file = new URL('../fixtures/drain-cases/cases.ndjson.gz', import.meta.url)
const cases = gunzipSync(readFileSync(file))
  .toString()
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as Case)

class Sink extends Writable {
  text = ''
  override _write(chunk: Buffer, _: BufferEncoding, done: () => void): void {
    this.text += chunk.toString()
    done()
  }
}

async function drainCheck(args: string[], dump: object) {
  const stdout = new Sink()
  const stderr = new Sink()
  const code = await run({
    argv: ['drain-check', ...args, '--from', '-', '-o', 'json'],
    root: fileURLToPath(new URL('../..', import.meta.url)),
    commands: { 'drain-check': async () => (await import('../../src/commands/drain-check.js')).default },
    streams: { stdout, stderr, stdin: Readable.from([JSON.stringify(dump)]), env: {} },
    signal: new AbortController().signal,
  })
  return { code, document: JSON.parse(stdout.text) as DrainReport & { message?: string } }
}

function effectText({ effect, ...values }: Effect): string {
  return [
    effect,
    ...Object.values(values).map((value) => (Array.isArray(value) ? value.join('+') : String(value))),
  ].join(' ')
}

/** Of what was said of a pod, the part that is expected. */
function said(pod: PodReport | undefined, expected: ExpectedPod): ExpectedPod {
  if (pod === undefined) return {}
  const all: ExpectedPod = {
    verdict: pod.verdict,
    effects: pod.effects.map(effectText),
    feasible: pod.scheduling?.feasibleNodes,
    message: pod.scheduling?.message,
    nominated: pod.scheduling?.nominatedNode,
    then: pod.then?.verdict,
    budgets: pod.budgets,
    owner: pod.owner && `${pod.owner.kind}/${pod.owner.name}`,
    uncertain: pod.uncertain ?? false,
    terminating: pod.terminating ?? false,
    volumes: Object.fromEntries(
      Object.entries(expected.volumes ?? {}).map(([name, fields]) => {
        const volume: Record<string, unknown> = { ...pod.volumes.find((one) => one.name === name) }
        return [name, Object.fromEntries(Object.keys(fields).map((key) => [key, volume[key]]))]
      }),
    ),
    nextHas: expected.nextHas?.filter((text) => [...pod.next, ...pod.instead].join('\n').includes(text)),
    nextNot: expected.nextNot?.filter((text) => ![...pod.next, ...pod.instead].join('\n').includes(text)),
    whyHas: expected.whyHas?.filter((text) => pod.why.includes(text)),
  }
  return Object.fromEntries(Object.keys(expected).map((key) => [key, all[key as keyof ExpectedPod]]))
}

it('the cases are there', () => {
  expect(cases).toHaveLength(276)
})

describe.each(cases)('$name', ({ args, dump, expected }) => {
  it(`drain-check ${args.join(' ')}`, async () => {
    const { code, document } = await drainCheck(args, dump)
    expect(code).toBe(expected.exit)
    for (const text of expected.errHas ?? []) expect(JSON.stringify(document)).toContain(text)
    if (document.kind !== 'DrainReport') return
    const pods = new Map(document.pods.map((pod) => [`${pod.namespace}/${pod.name}`, pod]))
    if (expected.podsAll) expect([...pods.keys()].sort()).toEqual(Object.keys(expected.pods ?? {}).sort())
    for (const [key, pod] of Object.entries(expected.pods ?? {})) {
      expect({ key, ...said(pods.get(key), pod) }).toEqual({ key, ...pod })
    }
    const { summary, claims, drainCommand, complete, notSafe, nodes, volumes } = expected
    const whole = Object.entries({ summary, claims, drainCommand, complete, notSafe, nodes }).filter(
      ([, value]) => value !== undefined,
    )
    for (const [key, value] of whole) expect({ [key]: document[key as keyof DrainReport] }).toEqual({ [key]: value })
    if (volumes !== undefined) {
      expect(document.volumes).toHaveLength(volumes.length)
      expect(document.volumes).toMatchObject(volumes)
    }
    const warnings = document.warnings.join('\n')
    for (const text of expected.warningsHas ?? []) expect(warnings).toContain(text)
    for (const text of expected.warningsNot ?? []) expect(warnings).not.toContain(text)
  })
})
