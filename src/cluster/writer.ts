/**
 * The writes that features make, each with its precondition: an object is named with its uid, so that one that took its name in the
 * meantime is left alone, and a write that is sent again after a lost connection can do no harm.
 */
import type { Readable } from 'node:stream'
import type { ConnectionFlags } from './connection.js'
import { NoAnswerError, RefusedError } from './errors.js'
import { ApiClient, type ApiResponse } from './http.js'
import { resolveConnection } from './kubeconfig.js'
import type { ObjectMeta } from './objects.js'

/** One client for reads (`readWith(cluster.client, …)`) and writes. */
export interface OpenCluster {
  client: ApiClient
  writer: ClusterWriter
  /** Of the context or `--namespace`. */
  namespace: string
  close(): Promise<void>
}

export interface OpenOptions {
  connection?: ConnectionFlags
  env?: NodeJS.ProcessEnv
  stdin?: Readable & { isTTY?: boolean }
  /** Told what is asked and how it went; never a body or a credential. */
  debug?: (line: string) => void
}

/**
 * No signal is bound to the client: what was begun must be cleaned up through it after a Ctrl-C. Reads and writes that shall end then
 * are given one.
 * @throws {InputError} {ServerError} see resolveConnection(); the server itself is not asked yet
 */
export async function openCluster(options: OpenOptions): Promise<OpenCluster> {
  const { connection = {}, env = process.env, stdin, debug } = options
  const resolved = await resolveConnection(connection, { env, stdinIsTerminal: stdin?.isTTY === true })
  const client = new ApiClient(resolved, { debug })
  return { client, writer: writerOf(client), namespace: resolved.namespace, close: () => client.close() }
}

/** What is sent to be created: any object with a kind and a name. */
export interface Manifest {
  apiVersion: string
  kind: string
  metadata: ObjectMeta
  [field: string]: unknown
}

/** `already-gone`: not found, or another object has the name now. */
export type Deletion = 'deleting' | 'already-gone'

export interface ClusterWriter {
  /** The pod with this uid is told to end; its grace period and finalizers are its own. `deleting` also when it was already told so. */
  deletePod(namespace: string, name: string, uid: string, options?: WriteOptions): Promise<Deletion>
  /**
   * Creates a Job. Its name is to be one that nobody else takes: when no answer comes, or an older request got there first, the Job of
   * that name is looked up, and is the one asked for when it carries the same labels.
   */
  createJob(namespace: string, job: Manifest, options?: WriteOptions): Promise<CreatedJob>
  /** The Job and, by the garbage collector, its pods. `uid` absent: by name alone, for a Job whose creation was never answered. */
  deleteJob(namespace: string, name: string, uid?: string, options?: WriteOptions): Promise<Deletion>
  /** What would come of creating it: nothing is kept. `warnings`: what admission says without refusing (PodSecurity `warn`). */
  createServerDryRun(
    namespace: string,
    resource: string,
    object: Manifest,
    options?: WriteOptions,
  ): Promise<{ warnings: string[] }>
  /** Standard output and error of a container, mixed, at most `maxBytes` and never cut: more is an error. */
  podLogs(namespace: string, name: string, options: LogOptions): Promise<Buffer>
}

export interface WriteOptions {
  signal?: AbortSignal
}

export interface LogOptions extends WriteOptions {
  container?: string
  maxBytes: number
}

export interface CreatedJob {
  name: string
  uid: string
}

/** @throws {RefusedError} by all of its functions, when the server answers and does not do it; {ServerError} see ApiClient */
export function writerOf(client: ApiClient): ClusterWriter {
  async function remove(path: string, what: Target, uid: string | undefined, extra: object, options: WriteOptions) {
    const answer = await client.request('DELETE', `${path}/${segment(what.name)}`, {
      body: {
        kind: 'DeleteOptions',
        apiVersion: 'v1',
        ...extra,
        ...(uid === undefined ? {} : { preconditions: { uid } }),
      },
      // Sent twice, the second is answered by 404 or 409, which is the same to us.
      repeatable: true,
      ...options,
    })
    // 409 to a DELETE with a uid: the object of that name has another (apimachinery, storage.Preconditions).
    if (answer.status === 404 || (answer.status === 409 && uid !== undefined)) return 'already-gone'
    if (answer.status >= 300) throw refused('delete', what, answer)
    return 'deleting'
  }

  return {
    deletePod(namespace, name, uid, options = {}) {
      return remove(`${core(namespace)}/pods`, { resource: 'pods', namespace, name }, uid, {}, options)
    },

    async createJob(namespace, job, options = {}) {
      const { name } = job.metadata
      const what = { resource: 'jobs.batch', namespace, name }
      const answer = await client
        .request('POST', jobs(namespace), { body: job, ...options })
        .catch((error: unknown) => {
          if (!(error instanceof NoAnswerError)) throw error
          return error
        })
      if (!(answer instanceof Error) && answer.status < 300) return { name, uid: uidOf(answer) }
      if (answer instanceof Error || answer.status === 409) {
        const there = await client.get(`${jobs(namespace)}/${segment(name)}`, {}, options)
        if (there.status === 200 && carries(there.body, job.metadata.labels)) return { name, uid: uidOf(there) }
      }
      throw answer instanceof Error ? answer : refused('create', what, answer)
    },

    deleteJob(namespace, name, uid, options = {}) {
      // Background: the Job goes at once, its pods are the garbage collector's.
      const extra = { propagationPolicy: 'Background' }
      return remove(jobs(namespace), { resource: 'jobs.batch', namespace, name }, uid, extra, options)
    },

    async createServerDryRun(namespace, resource, object, options = {}) {
      const answer = await client.request('POST', `${core(namespace)}/${segment(resource)}`, {
        query: { dryRun: 'All' },
        body: object,
        repeatable: true,
        ...options,
      })
      if (answer.status >= 300) throw refused('create', { resource, namespace, name: object.metadata.name }, answer)
      return { warnings: answer.warnings ?? [] }
    },

    async podLogs(namespace, name, { container, maxBytes, signal }) {
      const { status, bytes } = await client.getRaw(`${core(namespace)}/pods/${segment(name)}/log`, {
        // One byte more is asked for than may be there: else a log that was cut would look like a whole one.
        query: { ...(container === undefined ? {} : { container }), limitBytes: String(maxBytes + 1) },
        maxBytes,
        signal,
      })
      if (status === 200) return bytes
      throw refused('get', { resource: 'pods/log', namespace, name }, { status, body: parsed(bytes) })
    },
  }
}

interface Target {
  /** As RBAC names it, with its group: `jobs.batch`, `pods/log`. */
  resource: string
  namespace: string
  name: string
}

function core(namespace: string): string {
  return `/api/v1/namespaces/${segment(namespace)}`
}

function jobs(namespace: string): string {
  return `/apis/batch/v1/namespaces/${segment(namespace)}/jobs`
}

/** One step of a path. As `.` or `..` it would lead elsewhere; no object can have such a name. */
function segment(name: string): string {
  if (name === '' || name === '.' || name === '..') throw new RefusedError(`${name} is no name`, 404, '')
  return encodeURIComponent(name)
}

function record(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {}
}

function parsed(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'))
  } catch {
    return undefined
  }
}

function uidOf(answer: ApiResponse): string {
  const { uid } = record(record(answer.body).metadata)
  return typeof uid === 'string' ? uid : ''
}

function carries(body: unknown, labels: Readonly<Record<string, string>> = {}): boolean {
  const there = record(record(record(body).metadata).labels)
  return Object.entries(labels).every(([key, value]) => there[key] === value)
}

/** The answer as an error: verb, resource, where, and the server's words. */
export function refused(verb: string, { resource, namespace, name }: Target, answer: ApiResponse): RefusedError {
  const { message, reason } = record(answer.body)
  const words = typeof message === 'string' ? message : ''
  const said = words === '' ? `status ${answer.status}` : words
  // Admission refuses with 403 too; then the right is not what is missing. Only to word it; the status is what decides.
  const lacksRight = answer.status === 403 && reason === 'Forbidden' && /\bcannot \w+ resource\b/.test(words)
  return new RefusedError(
    `${verb} ${resource} ${name} in namespace ${namespace}: ${said}`,
    answer.status,
    words,
    lacksRight
      ? [
          `ask an administrator for verb ${verb} on resource ${resource}; to check: kubectl auth can-i ${verb} ${resource} -n ${namespace}`,
        ]
      : [],
  )
}
