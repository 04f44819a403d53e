/** Reaches nodes without sshd: one short-lived Job per node, and one list for the pods of all of them. */
import { randomBytes } from 'node:crypto'
import { setTimeout as sleepFor } from 'node:timers/promises'
import { NoAnswerError, RefusedError, ServerError } from '../cluster/errors.js'
import type { ApiClient } from '../cluster/http.js'
import type { ClusterWriter, CreatedJob } from '../cluster/writer.js'
import { neutralise } from '../present/text.js'
import {
  CONTAINER,
  DEFAULT_MAX_BYTES,
  jobName,
  packScript,
  podJob,
  podOfJob,
  readFrame,
  selectorOf,
} from './pod-job.js'
import { IMAGE_HELP, notReady, type PodState, podStateOf, record } from './pod-state.js'
import type { NodeAnswer, NodeOutcome, NodeReach, NodeRunOptions, NodeScript, NodeTarget } from './types.js'

export interface PodReachOptions {
  client: ApiClient
  writer: ClusterWriter
  /** Where the Jobs are made. */
  namespace: string
  /** Has sh, nsenter, base64, gzip and the like: busybox will do. */
  image: string
  /** Letters and digits for names and marks; another one in tests. */
  random?: () => string
  time?: Time
  debug?: (line: string) => void
}

/** The clock; another one in tests. */
export interface Time {
  /** Milliseconds, from any beginning. */
  now(): number
  /** Ends early, and well, when the signal is aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
}

/** What to say when `--via pod` comes without an image. There is no default: one would be a stranger's, or not be had by the nodes. */
export const NO_IMAGE_HELP: readonly string[] = [
  '--pod-image IMAGE, one with sh and nsenter that the nodes have or can pull, for example --pod-image busybox:1.37',
]

const POLL_MS = 1000
/** Requests of this reach that are under way at once, whatever the number of nodes. */
const REQUESTS = 16
/** The scheduler tries again, but whoever waits wants to know why. */
const UNSCHEDULABLE_MS = 10_000
/** A pod that no kubelet has taken by then makes us look at the node, a Job without a pod at its events. */
const LOOK_MS = 5000
const LOG_TRIES = 3
const CLOSE_MS = 10_000

/** Whatever comes of it, each node asked leaves no Job behind; and if we are killed, Kubernetes ends and removes it. */
export function podReach(options: PodReachOptions): NodeReach {
  return new PodReach(options)
}

/** How the asking of a node ended, if not with an answer. */
class Ended extends Error {
  constructor(
    readonly outcome: NodeOutcome,
    message: string,
    readonly suggestions: readonly string[] = [],
  ) {
    super(message)
  }
}

interface Sight {
  pod: PodState | null
  /** Node of the pod or events of the Job told more. */
  evidence: string | null
}

class PodReach implements NodeReach {
  readonly #options: PodReachOptions
  readonly #time: Time
  readonly #sweep: string
  readonly #nonce: string
  readonly #stop = new AbortController()
  readonly #cleanups = new Set<Promise<void>>()
  readonly #gate = new Gate(REQUESTS)
  readonly #pods: PodList
  #preflight: Promise<string[]> | null = null

  constructor(options: PodReachOptions) {
    this.#options = options
    this.#time = options.time ?? clock
    const random = options.random ?? (() => randomBytes(5).toString('hex'))
    this.#sweep = random()
    this.#nonce = `ks${random()}${random()}`
    this.#pods = new PodList(options, this.#sweep, this.#time, this.#stop.signal)
  }

  async run(target: NodeTarget, script: NodeScript, options: NodeRunOptions): Promise<NodeAnswer> {
    const { node } = target
    const over = new AbortController()
    const { signal, timeoutMs } = options
    const cancelled = (): Ended => new Ended('failed', 'cancelled')
    const sight: Sight = { pod: null, evidence: null }
    const cancel = () => over.abort(cancelled())
    try {
      if (signal?.aborted || this.#stop.signal.aborted) throw cancelled()
      signal?.addEventListener('abort', cancel, { once: true })
      this.#stop.signal.addEventListener('abort', cancel, { once: true })
      const ended = new Promise<never>((_, reject) => {
        over.signal.addEventListener('abort', () => reject(over.signal.reason), { once: true })
      })
      // Nobody may be listening when the work was faster.
      ended.catch(() => {})
      this.#time.sleep(timeoutMs, over.signal).then(() => over.abort(timedOut(sight, timeoutMs)))
      return await Promise.race([this.#ask(node, script, options, sight, over.signal), ended])
    } catch (error) {
      return failed(node, error)
    } finally {
      signal?.removeEventListener('abort', cancel)
      this.#stop.signal.removeEventListener('abort', cancel)
      over.abort(cancelled())
    }
  }

  async close(): Promise<void> {
    this.#stop.abort()
    const enough = new AbortController()
    const all = async () => {
      while (this.#cleanups.size > 0) await Promise.all(this.#cleanups)
    }
    await Promise.race([all(), this.#time.sleep(CLOSE_MS, enough.signal)])
    enough.abort()
  }

  async #ask(
    node: string,
    script: NodeScript,
    options: NodeRunOptions,
    sight: Sight,
    over: AbortSignal,
  ): Promise<NodeAnswer> {
    const { namespace, image, writer } = this.#options
    if (packScript(script.text) === null) throw new Ended('failed', 'the script is too long for a pod')
    const name = jobName(this.#sweep, node)
    const wanted = {
      ...{ name, namespace, node, image, script },
      sweep: this.#sweep,
      nonce: this.#nonce,
      // Ours comes first, and is the one that is told; this one is for when we are gone.
      deadlineSeconds: Math.ceil(options.timeoutMs / 1000) + 5,
    }
    options.progress?.('checking what the namespace allows')
    this.#preflight ??= this.#check(wanted)
    const first = await this.#preflight
    const warnings = first.splice(0)
    over.throwIfAborted()

    options.progress?.('creating the pod')
    // Not given the signal: a request that is cut off may have been carried out, and then the Job is to be removed.
    const creating = this.#gate.through(async () => {
      over.throwIfAborted()
      return writer.createJob(namespace, podJob(wanted))
    })
    this.#removeAfter(creating, name, over)
    await creating
    const last = await this.#watch(node, name, options, sight, over)
    options.progress?.('reading the answer')
    const answer = await this.#answer(last, script, over)
    return { node, outcome: 'ok', output: answer, ...(warnings.length === 0 ? {} : { warnings }) }
  }

  /** Rights first, for a lack of them should not be found out node by node; then admission. Gives what the server warns of. */
  async #check(wanted: Parameters<typeof podOfJob>[0]): Promise<string[]> {
    const { client, namespace, writer } = this.#options
    const rights = [
      ['create', 'batch', 'jobs', ''],
      ['delete', 'batch', 'jobs', ''],
      ['list', '', 'pods', ''],
      ['get', '', 'pods', 'log'],
      ['create', '', 'pods', ''],
    ] as const
    const denied = await Promise.all(
      rights.map(async ([verb, group, resource, subresource]) => {
        const { status, body } = await client.request(
          'POST',
          '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
          {
            body: {
              apiVersion: 'authorization.k8s.io/v1',
              kind: 'SelfSubjectAccessReview',
              spec: { resourceAttributes: { namespace, verb, group, resource, subresource } },
            },
            repeatable: true,
            signal: this.#stop.signal,
          },
        )
        // Who is not even told goes on: the request itself will say.
        return status < 300 && record(record(body).status).allowed === false
      }),
    )
    const missing = rights.flatMap(([verb, group, resource, subresource], index) =>
      denied[index] ? [`${verb} ${resource}${subresource && `/${subresource}`}${group && `.${group}`}`] : [],
    )
    // Only the dry run creates a pod; without that right the Jobs work all the same.
    const needed = missing.filter((right) => right !== 'create pods')
    if (needed.length > 0) {
      throw new Ended('failed', `missing rights in namespace ${namespace}: ${needed.join(', ')}`, [
        `ask an administrator for them (docs/rbac.yaml has the role), or choose another namespace: --pod-namespace`,
      ])
    }
    if (missing.length > 0) {
      return [`whether namespace ${namespace} lets a privileged pod in was not checked first: no right to create pods`]
    }
    try {
      const { warnings } = await writer.createServerDryRun(namespace, 'pods', podOfJob(wanted), {
        signal: this.#stop.signal,
      })
      return warnings.map((warning) => `namespace ${namespace}: ${warning}`)
    } catch (error) {
      if (!(error instanceof RefusedError)) throw error
      // The status is that of any refusal; only the words tell this admission plugin from others, and only for the advice.
      const podSecurity = error.words.includes('violates PodSecurity')
      throw new Ended(
        'failed',
        `namespace ${namespace} does not let the pod in: ${error.words || `status ${error.status}`}`,
        podSecurity
          ? [
              'choose a namespace that lets privileged pods in: --pod-namespace NAMESPACE',
              `or let this one: kubectl label namespace ${namespace} pod-security.kubernetes.io/enforce=privileged --overwrite`,
            ]
          : error.suggestions,
      )
    }
  }

  /** When the asking is over, however it ended, the Job goes. */
  #removeAfter(creating: Promise<CreatedJob>, name: string, over: AbortSignal): void {
    const { writer, namespace, debug } = this.#options
    const remove = async (): Promise<void> => {
      const created = await creating.catch((error: unknown) => {
        // Refused: there is none. Not answered: there may be one.
        return error instanceof NoAnswerError ? null : undefined
      })
      if (created === undefined) return
      await new Promise<void>((resolve) => {
        if (over.aborted) resolve()
        else over.addEventListener('abort', () => resolve(), { once: true })
      })
      await this.#gate.through(() => writer.deleteJob(namespace, name, created?.uid || undefined))
    }
    const cleanup: Promise<void> = remove()
      .catch((error: unknown) => debug?.(`Job ${namespace}/${name} is left to its TTL: ${wordsOf(error)}`))
      .finally(() => this.#cleanups.delete(cleanup))
    this.#cleanups.add(cleanup)
  }

  /** Until the container has ended. @throws {Ended} */
  async #watch(
    node: string,
    job: string,
    options: NodeRunOptions,
    sight: Sight,
    over: AbortSignal,
  ): Promise<{ pod: string; state: Extract<PodState, { state: 'answered' }> }> {
    const begun = this.#time.now()
    // Also where the time is short, or what is seen would come too late to be told.
    const lookMs = Math.min(LOOK_MS, options.timeoutMs / 2)
    let seen = false
    let unschedulableSince: number | null = null
    let doing = ''
    let looked = false
    for (;;) {
      const pods = await this.#pods.next()
      over.throwIfAborted()
      if (pods instanceof Error) {
        sight.evidence = pods.message
        continue
      }
      const found = pods.get(job)
      if (found === undefined) {
        if (seen) throw new Ended('failed', 'the pod was deleted before it had answered')
        if (this.#time.now() - begun >= lookMs) sight.evidence = await this.#pods.whyNoPod(job)
        continue
      }
      seen = true
      const state = podStateOf(found)
      sight.pod = state
      if (state.state === 'answered') return { pod: String(record(record(found).metadata).name), state }
      if (state.state === 'lost') throw new Ended(state.outcome, state.words, state.suggestions)
      if (state.state === 'unschedulable') {
        unschedulableSince ??= this.#time.now()
        if (this.#time.now() - unschedulableSince >= UNSCHEDULABLE_MS) {
          throw new Ended('unreachable', `no pod can be placed there: ${state.words}`)
        }
        continue
      }
      unschedulableSince = null
      if (state.doing !== doing) options.progress?.(state.doing)
      doing = state.doing
      if (!state.taken && state.bound && !looked && this.#time.now() - begun >= lookMs) {
        looked = true
        sight.evidence = await this.#node(node, over)
      }
      if (state.taken) sight.evidence = null
    }
  }

  /** What the node's condition says against it; null: nothing, or it can't be read. */
  async #node(node: string, signal: AbortSignal): Promise<string | null> {
    const path = `/api/v1/nodes/${encodeURIComponent(node)}`
    const answer = await this.#gate.through(() => this.#options.client.get(path, {}, { signal })).catch(() => null)
    if (answer?.status === 404) return 'the Node object is gone'
    const words = answer?.status === 200 ? notReady(answer.body) : null
    return words === null ? null : `the node is not ready: ${words}`
  }

  async #answer(
    { pod, state }: { pod: string; state: { words: string; exitCode: number } },
    script: NodeScript,
    over: AbortSignal,
  ): Promise<Buffer> {
    const { writer, namespace } = this.#options
    const limit = script.maxBytes ?? DEFAULT_MAX_BYTES
    // Base64 of what gzip could not make smaller, and the rest of the frame.
    const maxBytes = Math.ceil((limit * 4) / 3 + limit / 100) + 65_536
    let why = ''
    for (let attempt = 0; attempt < LOG_TRIES; attempt++) {
      // The end of a container is known before the last of its log is.
      if (attempt > 0) await this.#time.sleep(POLL_MS, over)
      over.throwIfAborted()
      try {
        const log = await this.#gate.through(() =>
          writer.podLogs(namespace, pod, { container: CONTAINER, maxBytes, signal: over }),
        )
        const frame = readFrame(log, this.#nonce, limit)
        if (frame.kind === 'too-long') throw new Ended('failed', `the answer is longer than ${limit} bytes`)
        if (frame.kind === 'missing') {
          throw new Ended('failed', `the image ${this.#options.image} has no working ${frame.tool}`, [IMAGE_HELP])
        }
        if (frame.kind === 'answer') {
          if (frame.code === 0) return frame.output
          const last = frame.errors.trim().split('\n').at(-1) ?? ''
          throw new Ended('failed', `the script ended with exit code ${frame.code}${last === '' ? '' : `: ${last}`}`)
        }
        why = frame.why
        // Not our script's end: what the runtime says is the reason, and no log will tell more.
        if (state.exitCode !== 0) break
      } catch (error) {
        if (error instanceof Ended || (error instanceof RefusedError && error.status < 500)) throw error
        why = wordsOf(error)
      }
    }
    throw new Ended(
      'failed',
      state.exitCode === 0 ? `no whole answer came back: ${why}` : `the pod's container ended: ${state.words}; ${why}`,
      state.exitCode === 0 ? ['a kubelet with a small containerLogMaxSize may have cut the log'] : [IMAGE_HELP],
    )
  }
}

/** The pods of the sweep by Job, asked for once for all who wait, and only while somebody does. */
class PodList {
  readonly #options: PodReachOptions
  readonly #sweep: string
  readonly #time: Time
  readonly #signal: AbortSignal
  #next: Promise<ReadonlyMap<string, unknown> | ServerError> | null = null
  #events: { at: number; byJob: Promise<ReadonlyMap<string, string>> } | null = null

  constructor(options: PodReachOptions, sweep: string, time: Time, signal: AbortSignal) {
    this.#options = options
    this.#sweep = sweep
    this.#time = time
    this.#signal = signal
  }

  /** The next list that is begun after a pause; an error only where another try may help. */
  next(): Promise<ReadonlyMap<string, unknown> | ServerError> {
    this.#next ??= (async () => {
      await this.#time.sleep(POLL_MS, this.#signal)
      this.#signal.throwIfAborted()
      this.#next = null
      return this.#list()
    })()
    return this.#next
  }

  async #list(): Promise<ReadonlyMap<string, unknown> | ServerError> {
    const { client, namespace } = this.#options
    const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods`
    const byJob = new Map<string, unknown>()
    for (let token = ''; ; ) {
      const query = { labelSelector: selectorOf(this.#sweep), limit: '500', ...(token && { continue: token }) }
      try {
        const answer = await client.get(path, query, { signal: this.#signal })
        if (answer.status !== 200) {
          return new ServerError(`the list of the pods failed: ${text(record(answer.body).message) || answer.status}`)
        }
        const { items, metadata } = record(answer.body)
        for (const item of Array.isArray(items) ? items : []) {
          const labels = record(record(record(item).metadata).labels)
          byJob.set(text(labels['batch.kubernetes.io/job-name']) || text(labels['job-name']), item)
        }
        token = text(record(metadata).continue)
        if (token === '') return byJob
      } catch (error) {
        if (error instanceof NoAnswerError) return error
        throw error
      }
    }
  }

  /** Why the Job controller has made no pod of it (a quota, a webhook), in its event's words. One list of events for all who ask. */
  async whyNoPod(job: string): Promise<string | null> {
    const now = this.#time.now()
    if (this.#events === null || now - this.#events.at >= LOOK_MS) this.#events = { at: now, byJob: this.#failures() }
    return (await this.#events.byJob).get(job) ?? null
  }

  async #failures(): Promise<ReadonlyMap<string, string>> {
    const { client, namespace } = this.#options
    const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/events`
    const query = { fieldSelector: 'involvedObject.kind=Job,reason=FailedCreate', limit: '500' }
    const answer = await client.get(path, query, { signal: this.#signal }).catch(() => null)
    const { items } = record(answer?.status === 200 ? answer.body : null)
    const events = (Array.isArray(items) ? items : []).map(record)
    return new Map(events.map((event) => [text(record(event.involvedObject).name), text(event.message)]))
  }
}

/** Lets so many through at once. */
class Gate {
  #free: number
  readonly #waiting: (() => void)[] = []

  constructor(limit: number) {
    this.#free = limit
  }

  async through<T>(work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free--
    else await new Promise<void>((resolve) => this.#waiting.push(resolve))
    try {
      return await work()
    } finally {
      const next = this.#waiting.shift()
      if (next === undefined) this.#free++
      else next()
    }
  }
}

/** Time is over: what was last seen says whether the node was there. */
function timedOut({ pod, evidence }: Sight, timeoutMs: number): Ended {
  const within = `within ${timeoutMs / 1000} s`
  const more = evidence === null ? '' : `: ${evidence}`
  if (pod === null) return new Ended('timed-out', `no pod came about ${within}${more}`)
  if (pod.state === 'unschedulable') return new Ended('unreachable', `no pod can be placed there: ${pod.words}`)
  if (pod.state === 'coming' && !pod.taken) {
    return new Ended('unreachable', `its kubelet did not start the pod ${within}${more}`)
  }
  const doing = pod.state === 'coming' ? pod.doing : 'reading the answer'
  return new Ended('timed-out', `no answer ${within} (${doing})${more}`)
}

function failed(node: string, error: unknown): NodeAnswer {
  if (error instanceof Ended) {
    const { outcome, message, suggestions } = error
    return answerOf(node, outcome, message, suggestions)
  }
  return answerOf(node, 'failed', wordsOf(error), error instanceof ServerError ? error.suggestions : [])
}

function answerOf(node: string, outcome: NodeOutcome, error: string, suggestions: readonly string[]): NodeAnswer {
  const oneLine = (words: string): string => neutralise(words.replace(/\s+/g, ' ').trim()).slice(0, 1000)
  return {
    node,
    outcome,
    error: oneLine(error),
    ...(suggestions.length === 0 ? {} : { suggestions: suggestions.map(oneLine) }),
  }
}

function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

const clock: Time = {
  now: () => performance.now(),
  sleep: (ms, signal) => sleepFor(ms, undefined, signal === undefined ? {} : { signal }).catch(() => {}),
}
