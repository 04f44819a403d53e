import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import { afterEach, describe, expect, it } from 'vitest'
import { eachLimited } from '../../src/cluster/limit.js'
import { openCluster } from '../../src/cluster/writer.js'
import { podReach, type Time } from '../../src/node/pod-reach.js'
import type { NodeAnswer, NodeReach } from '../../src/node/types.js'
import {
  type Answer,
  type Handler,
  type Recorded,
  type Seen,
  startServer,
  type TestServer,
} from '../support/api-server.js'

function answer(name: string): Recorded {
  return JSON.parse(readFileSync(new URL(`../fixtures/pod-jobs/${name}.json`, import.meta.url), 'utf8'))
}

type Status = Record<string, unknown>
const kubelet: Record<string, Status> = JSON.parse(
  readFileSync(new URL('../fixtures/pod-jobs/kubelet-states.json', import.meta.url), 'utf8'),
)

interface Pod {
  metadata: { name: string; labels: Record<string, string>; deletionTimestamp?: string }
  spec: { nodeName?: string }
  status: Status
}
const recordedPods = (answer('pods-pending').body as { items: Pod[] }).items
const bound = recordedPods.find(({ spec }) => spec.nodeName !== undefined) as Pod
const unplaced = recordedPods.find(({ spec }) => spec.nodeName === undefined) as Pod

/** Goes on by itself when somebody waits for the next look at the pods, and only then. */
class FakeTime implements Time {
  #now = 0
  #sleepers: { at: number; wake: () => void }[] = []

  now(): number {
    return this.#now
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const sleeper = { at: this.#now + ms, wake: resolve }
      if (signal?.aborted) return resolve()
      signal?.addEventListener('abort', () => {
        this.#sleepers = this.#sleepers.filter((other) => other !== sleeper)
        resolve()
      })
      this.#sleepers.push(sleeper)
      if (ms <= 1000) setImmediate(() => this.advance(sleeper.at))
    })
  }

  advance(to: number): void {
    this.#now = Math.max(this.#now, to)
    const due = this.#sleepers.filter(({ at }) => at <= this.#now)
    this.#sleepers = this.#sleepers.filter(({ at }) => at > this.#now)
    for (const { wake } of due.sort((a, b) => a.at - b.at)) wake()
  }
}

/** What the log of a pod that answers holds. */
function log(output: string, { code = 0, nonce = 'ksrrrr' } = {}): string {
  const bytes = Buffer.from(output)
  const lines = [
    'begin',
    `code ${code}`,
    `length ${bytes.length}`,
    `sha256 ${createHash('sha256').update(bytes).digest('hex')}  -`,
    `out ${gzipSync(bytes).toString('base64')}`,
    `err ${Buffer.from(code === 0 ? '' : 'oops\n').toString('base64')}`,
    'end',
  ]
  return lines.map((line) => `${nonce} ${line}\n`).join('')
}

/** A cluster whose Jobs get pods that go through the states named, one for each look; the last one stays. `gone`: no pod any more. */
class FakeCluster {
  readonly jobs = new Map<string, { node: string; looks: number; body: unknown }>()
  most = 0
  constructor(
    readonly course: (node: string) => readonly (Pod | 'none' | string)[],
    readonly special: Handler = () => undefined,
    readonly logs: (node: string) => Answer = (node) => ({ body: log(`hello from ${node}\n`) }),
  ) {}

  readonly handler: Handler = (request, count) => this.special(request, count) ?? this.#usual(request)

  #usual({ method, url, body }: Seen): Answer | Recorded | undefined {
    const path = url.split('?')[0] ?? ''
    if (path.endsWith('/selfsubjectaccessreviews')) return answer('review-allowed')
    if (url.endsWith('/pods?dryRun=All')) return answer('dry-run-admitted')
    if (path === '/api/v1/nodes/n1') return answer('node-not-ready')
    if (path.endsWith('/events')) return answer('events-quota')
    if (method === 'POST' && path.endsWith('/jobs')) {
      const { name } = (body as { metadata: { name: string } }).metadata
      const [, node = ''] =
        JSON.stringify(body).match(/"key":"metadata.name","operator":"In","values":\["([^"]+)"/) ?? []
      this.jobs.set(name, { node, looks: 0, body })
      this.most = Math.max(this.most, this.jobs.size)
      return { ...answer('job-created') }
    }
    if (method === 'DELETE') {
      this.jobs.delete(path.split('/').at(-1) ?? '')
      return answer('job-deleted')
    }
    if (path.endsWith('/log')) return this.logs(this.jobs.get(jobOf(path.split('/').at(-2) ?? ''))?.node ?? '')
    if (path.endsWith('/pods')) {
      const items = [...this.jobs].flatMap(([name, job]) => this.#pod(name, job))
      return { body: { kind: 'PodList', apiVersion: 'v1', metadata: {}, items } }
    }
    return undefined
  }

  #pod(name: string, job: { node: string; looks: number }): Pod[] {
    const course = this.course(job.node)
    const step = course[Math.min(job.looks++, course.length - 1)] as Pod | string
    if (step === 'none') return []
    const pod = structuredClone(typeof step === 'string' ? { ...bound, status: kubelet[step] as Status } : step)
    pod.metadata.name = `${name}-abcde`
    pod.metadata.labels['batch.kubernetes.io/job-name'] = name
    return [pod]
  }
}

function jobOf(pod: string): string {
  return pod.replace(/-abcde$/, '')
}

const open: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const thing of open.splice(0).reverse()) await thing.close()
})

async function reachOf(cluster: FakeCluster): Promise<{ reach: NodeReach; server: TestServer; time: FakeTime }> {
  const server = await startServer(cluster.handler)
  const { client, writer, close } = await openCluster({ connection: { server: server.url }, env: { HOME: '/nowhere' } })
  const time = new FakeTime()
  const reach = podReach({ client, writer, namespace: 'nodes', image: 'busybox:1.37', time, random: () => 'rr' })
  open.push(server, { close }, reach)
  return { reach, server, time }
}

const HELLO = { text: 'echo hello\n' }
async function ask(cluster: FakeCluster, node = 'n1', timeoutMs = 60_000): Promise<NodeAnswer> {
  const { reach } = await reachOf(cluster)
  const said = await reach.run({ node, address: '' }, HELLO, { timeoutMs })
  await reach.close()
  expect([...cluster.jobs.keys()]).toEqual([])
  return said
}

describe('podReach', () => {
  it('gives what the node said, tells what it does meanwhile, and leaves nothing behind', async () => {
    const cluster = new FakeCluster(() => ['none', bound, 'creating', 'running', 'completed'])
    const { reach, server } = await reachOf(cluster)
    const doing: string[] = []
    const options = { timeoutMs: 60_000, progress: (what: string) => doing.push(what) }
    const said = await reach.run({ node: 'n1', address: '' }, HELLO, options)
    await reach.close()
    expect(said).toEqual({ node: 'n1', outcome: 'ok', output: Buffer.from('hello from n1\n') })
    expect(doing).toEqual([
      'checking what the namespace allows',
      'creating the pod',
      'waiting for the pod',
      'starting the pod',
      'asking',
      'reading the answer',
    ])
    expect(cluster.jobs.size).toBe(0)
    const writes = server.seen.filter(({ method, url }) => method !== 'GET' && !url.includes('reviews'))
    expect(writes.map(({ method, url }) => `${method} ${url}`)).toEqual([
      'POST /api/v1/namespaces/nodes/pods?dryRun=All',
      'POST /apis/batch/v1/namespaces/nodes/jobs',
      'DELETE /apis/batch/v1/namespaces/nodes/jobs/kubectl-storage-rr-n1-676b8bb8',
    ])
    expect(writes[1]?.body).toMatchObject({ spec: { activeDeadlineSeconds: 65, backoffLimit: 0 } })
  })

  it.each<[string, string, readonly (Pod | string)[], Partial<NodeAnswer>]>([
    ['answers beside a sidecar', 'n1', ['completed-beside-a-sidecar'], { outcome: 'ok' }],
    [
      'can not pull the image',
      'n1',
      [bound, 'creating', 'err-image-pull'],
      { outcome: 'failed', error: expect.stringMatching(/^ErrImagePull: rpc error: .*nope:1: not found$/) },
    ],
    ['has given up pulling', 'n1', ['image-pull-back-off'], { outcome: 'failed' }],
    ['never pulls', 'n1', ['err-image-never-pull'], { outcome: 'failed' }],
    ['does not know the image’s name', 'n1', ['invalid-image-name'], { outcome: 'failed' }],
    [
      'evicts it',
      'n1',
      ['running', 'evicted'],
      { outcome: 'failed', error: expect.stringMatching(/^Evicted: The node was low/) },
    ],
    [
      'ends it at its deadline',
      'n1',
      ['running', 'deadline-exceeded'],
      {
        outcome: 'timed-out',
        error: 'DeadlineExceeded: Pod was active on the node longer than the specified deadline',
      },
    ],
    [
      'has no room for a pod',
      'n1',
      ['out-of-pods'],
      { outcome: 'failed', error: expect.stringMatching(/^OutOfpods: /) },
    ],
    [
      'has its pod deleted by somebody',
      'n1',
      ['running', 'none'],
      { outcome: 'failed', error: 'the pod was deleted before it had answered' },
    ],
    [
      'has its pod told to end',
      'n1',
      [{ ...bound, metadata: { ...bound.metadata, deletionTimestamp: '2026-12-07T09:33:41Z' } }],
      { outcome: 'failed', error: 'the pod was deleted before it had answered' },
    ],
    [
      'is not there',
      'no-such-node',
      [unplaced],
      {
        outcome: 'unreachable',
        error: expect.stringMatching(/^no pod can be placed there: 0\/1 nodes are available: /),
      },
    ],
    [
      'has a silent kubelet',
      'n1',
      ['none', bound],
      {
        outcome: 'unreachable',
        error:
          'its kubelet did not start the pod within 60 s: the node is not ready: NodeStatusUnknown: Kubelet stopped posting node status.',
      },
    ],
    ['hangs', 'n1', ['running'], { outcome: 'timed-out', error: 'no answer within 60 s (asking)' }],
    ['pulls for ever', 'n1', ['creating'], { outcome: 'timed-out', error: 'no answer within 60 s (starting the pod)' }],
  ])('a node that %s', async (_, node, course, expected) => {
    expect(await ask(new FakeCluster(() => course), node)).toMatchObject(expected)
  })

  it('says an image that can not be pulled at once, and what to do', async () => {
    const cluster = new FakeCluster(() => ['err-image-pull'])
    const { reach, time } = await reachOf(cluster)
    const said = await reach.run({ node: 'n1', address: '' }, HELLO, { timeoutMs: 600_000 })
    expect(said.suggestions?.[0]).toMatch(/--pod-image/)
    expect(time.now()).toBeLessThanOrEqual(2000)
  })

  it('tells why there is no pod, in the event’s words', async () => {
    const cluster = new FakeCluster(
      () => ['none'],
      ({ url }) => {
        if (!url.includes('/events')) return undefined
        const events = answer('events-quota')
        const text = JSON.stringify(events.body).replaceAll(
          /kubectl-storage-a1b2c3d4e5-n1-676b8bb8(?=")/g,
          'kubectl-storage-rr-n1-676b8bb8',
        )
        return { ...events, body: JSON.parse(text) }
      },
    )
    expect(await ask(cluster)).toMatchObject({
      outcome: 'timed-out',
      error: expect.stringMatching(
        /^no pod came about within 60 s: Error creating: pods .* is forbidden: exceeded quota: q/,
      ),
    })
  })
})

describe('before the first pod', () => {
  const never = () => {
    throw new Error('no pod was to be made')
  }

  it('asks whether PodSecurity lets it in, once for all nodes', async () => {
    const cluster = new FakeCluster(never, ({ url }) =>
      url.includes('dryRun') ? answer('dry-run-pod-security') : undefined,
    )
    const { reach, server } = await reachOf(cluster)
    const targets = ['n1', 'n2', 'n3'].map((node) => ({ node, address: '' }))
    const said = await Promise.all(targets.map((target) => reach.run(target, HELLO, { timeoutMs: 1000 })))
    expect(said.map(({ node, outcome }) => [node, outcome])).toEqual([
      ['n1', 'failed'],
      ['n2', 'failed'],
      ['n3', 'failed'],
    ])
    expect(said[2]?.error).toMatch(
      /^namespace nodes does not let the pod in: .*violates PodSecurity "restricted:latest"/,
    )
    expect(said[2]?.suggestions).toEqual([
      'choose a namespace that lets privileged pods in: --pod-namespace NAMESPACE',
      'or let this one: kubectl label namespace nodes pod-security.kubernetes.io/enforce=privileged --overwrite',
    ])
    expect(server.seen.filter(({ url }) => url.includes('dryRun'))).toHaveLength(1)
    expect(server.seen.filter(({ method, url }) => method === 'POST' && url.endsWith('/jobs'))).toEqual([])
  })

  it('hears what admission only warns of, and says it once', async () => {
    const cluster = new FakeCluster(
      () => ['completed'],
      ({ url }) => (url.includes('dryRun') ? answer('dry-run-pod-security-warns') : undefined),
    )
    const { reach } = await reachOf(cluster)
    const first = await reach.run({ node: 'n1', address: '' }, HELLO, { timeoutMs: 60_000 })
    const second = await reach.run({ node: 'n2', address: '' }, HELLO, { timeoutMs: 60_000 })
    expect(first.warnings).toEqual([expect.stringMatching(/^namespace nodes: would violate PodSecurity/)])
    expect(second).toMatchObject({ outcome: 'ok' })
    expect(second.warnings).toBeUndefined()
  })

  it('names every right that is missing', async () => {
    const cluster = new FakeCluster(never, ({ url }) => (url.includes('reviews') ? answer('review-denied') : undefined))
    expect(await ask(cluster)).toMatchObject({
      outcome: 'failed',
      error: 'missing rights in namespace nodes: create jobs.batch, delete jobs.batch, list pods, get pods/log',
      suggestions: [expect.stringContaining('docs/rbac.yaml')],
    })
  })

  it('goes on without a dry run when only the right to create pods is missing', async () => {
    const cluster = new FakeCluster(
      () => ['completed'],
      ({ url, body }) =>
        url.includes('reviews') && JSON.stringify(body).includes('"create","group":"","resource":"pods"')
          ? answer('review-denied')
          : undefined,
    )
    expect(await ask(cluster)).toMatchObject({ outcome: 'ok', warnings: [expect.stringContaining('was not checked')] })
  })

  it('says a namespace that is not there', async () => {
    const cluster = new FakeCluster(never, ({ url }) =>
      url.includes('dryRun') ? answer('dry-run-no-namespace') : undefined,
    )
    expect((await ask(cluster)).error).toBe('namespace nodes does not let the pod in: namespaces "nowhere" not found')
  })
})

describe('the answer', () => {
  const completed = () => ['completed'] as const

  it('is none when the log was cut, however often it is read', async () => {
    let reads = 0
    const cluster = new FakeCluster(completed, undefined, () => {
      reads++
      return { body: log('hello\n').slice(100) }
    })
    expect(await ask(cluster)).toMatchObject({
      outcome: 'failed',
      error: 'no whole answer came back: the beginning of the log is gone',
      suggestions: [expect.stringContaining('containerLogMaxSize')],
    })
    expect(reads).toBe(3)
  })

  it('is read again when the end of the log is late', async () => {
    let reads = 0
    const cluster = new FakeCluster(completed, undefined, () => ({
      body: reads++ === 0 ? log('hello\n').slice(0, 60) : log('hello\n'),
    }))
    expect(await ask(cluster)).toMatchObject({ outcome: 'ok', output: Buffer.from('hello\n') })
  })

  it('is a failure when the script failed, with its last words, made fit for a terminal', async () => {
    const cluster = new FakeCluster(completed, undefined, () => ({ body: log('half', { code: 2 }) }))
    const said = await ask(cluster)
    expect(said).toEqual({ node: 'n1', outcome: 'failed', error: 'the script ended with exit code 2: oops' })
    const hostile = structuredClone(kubelet.evicted) as Status
    hostile.message = 'low \u001b[2Jon\nmemory'
    expect((await ask(new FakeCluster(() => [{ ...bound, status: hostile }]))).error).toBe(
      'Evicted: low \\u001b[2Jon memory',
    )
  })

  it('tells the runtime’s words when the container could not be started', async () => {
    const cluster = new FakeCluster(
      () => ['start-error'],
      undefined,
      () => ({ body: '' }),
    )
    expect(await ask(cluster)).toMatchObject({
      outcome: 'failed',
      error: expect.stringMatching(/stat \/bin\/sh: no such file or directory \(exit code 128\)/),
      suggestions: [expect.stringContaining('--pod-image')],
    })
  })

  it('is not to be had where the API server can not reach the kubelet', async () => {
    const cluster = new FakeCluster(completed, ({ url }) =>
      url.includes('/log') ? answer('pod-log-not-started') : undefined,
    )
    expect(await ask(cluster)).toMatchObject({
      outcome: 'failed',
      error: expect.stringContaining('no preferred addresses found'),
    })
  })
})

describe('whatever happens', () => {
  it('Ctrl-C ends it at once and removes what was made', async () => {
    const cluster = new FakeCluster(() => ['running'])
    const { reach } = await reachOf(cluster)
    const cancel = new AbortController()
    const running = reach.run({ node: 'n1', address: '' }, HELLO, {
      timeoutMs: 1e9,
      signal: cancel.signal,
      progress: (doing) => doing === 'asking' && cancel.abort(),
    })
    expect(await running).toMatchObject({ outcome: 'failed', error: 'cancelled' })
    await reach.close()
    expect(cluster.jobs.size).toBe(0)
    expect(await reach.run({ node: 'n2', address: '' }, HELLO, { timeoutMs: 1000 })).toMatchObject({
      error: 'cancelled',
    })
  })

  it('a Job whose creation was never answered is removed by its name', async () => {
    const deleted: string[] = []
    const cluster = new FakeCluster(
      () => ['running'],
      ({ method, url, body }) => {
        if (method === 'DELETE') deleted.push(`${url} ${JSON.stringify(body)}`)
        return method === 'POST' && url.endsWith('/jobs') ? { hangUp: true } : undefined
      },
    )
    expect((await ask(cluster)).outcome).toBe('failed')
    expect(deleted).toEqual([expect.stringContaining('kubectl-storage-rr-n1-676b8bb8')])
    expect(deleted[0]).not.toContain('preconditions')
  })

  it('a server that does not answer holds nobody beyond the time', async () => {
    const cluster = new FakeCluster(
      () => ['running'],
      ({ url }) => (url.includes('reviews') ? { silent: true } : undefined),
    )
    const { reach, server, time } = await reachOf(cluster)
    const running = reach.run({ node: 'n1', address: '' }, HELLO, { timeoutMs: 5000 })
    while (server.seen.length === 0) await new Promise((resolve) => setImmediate(resolve))
    time.advance(5000)
    expect(await running).toMatchObject({ outcome: 'timed-out', error: 'no pod came about within 5 s' })
  })

  it('lists that fail now and then are tried again', async () => {
    let lists = 0
    const cluster = new FakeCluster(
      () => ['completed'],
      ({ method, url }) =>
        method === 'GET' && /\/pods\?labelSelector/.test(url) && lists++ < 2
          ? { status: 500, body: { kind: 'Status' } }
          : undefined,
    )
    expect(await ask(cluster)).toMatchObject({ outcome: 'ok' })
  })
})

it('2,000 nodes need three requests each, and one list of pods a second for all of them', async () => {
  const bad = ['running', 'err-image-pull', 'evicted'] as const
  const cluster = new FakeCluster((node) => {
    const number = Number(node.slice(1))
    return number % 100 < 3 ? [bound, bad[(number % 100) as 0 | 1 | 2]] : [bound, 'creating', 'running', 'completed']
  })
  const { reach, server, time } = await reachOf(cluster)
  const nodes = Array.from({ length: 2000 }, (_, index) => `n${index}`)
  const outcomes: Record<string, number> = {}
  const outputs = new Set<string>()
  await eachLimited(nodes, 32, async (node) => {
    const said = await reach.run({ node, address: '' }, HELLO, { timeoutMs: 30_000 })
    outcomes[said.outcome] = (outcomes[said.outcome] ?? 0) + 1
    if (said.output !== undefined) outputs.add(said.output.toString())
  })
  await reach.close()
  expect(outcomes).toEqual({ ok: 1940, 'timed-out': 20, failed: 40 })
  expect(outputs.size).toBe(1940)
  expect(cluster.jobs.size).toBe(0)
  const count = (test: (seen: Seen) => boolean): number => server.seen.filter(test).length
  expect(count(({ method, url }) => method === 'POST' && url.endsWith('/jobs'))).toBe(2000)
  expect(count(({ method }) => method === 'DELETE')).toBe(2000)
  expect(count(({ url }) => url.includes('/log?'))).toBe(1940)
  expect(count(({ url }) => url.includes('labelSelector'))).toBeLessThanOrEqual(time.now() / 1000)
  // What goes wrong in few nodes must not be paid for by all.
  expect(server.seen.length).toBeLessThan(3 * 2000 + time.now() / 1000 + 100)
}, 60_000)
