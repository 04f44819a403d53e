/** Reads a cluster from its API server. */
import { emptySnapshot, SnapshotBuilder } from './build.js'
import { NoAnswerError, ServerError } from './errors.js'
import { ApiClient, type ApiResponse } from './http.js'
import { groupOf, KINDS, kindNameOf, ownerKindOf } from './kinds.js'
import { resolveConnection } from './kubeconfig.js'
import { eachLimited } from './limit.js'
import type { OwnerObject, OwnerReference } from './objects.js'
import { Projector } from './project.js'
import type { OwnerWanted, ReadOptions } from './read.js'
import type { ClusterSnapshot, KindName, KindObjects, KindStatus } from './snapshot.js'

/** kubectl's chunk. */
const PAGE = '500'
const PARALLEL = 6
/** A pod's controller, that one's controller, and so on; a chain in a real cluster has three or four. */
const MAX_OWNER_DEPTH = 8

/** Without these nothing can be judged. */
const NEEDED: ReadonlySet<KindName> = new Set(['Node', 'Pod'])

/**
 * The kinds asked for as the server has them now, each as one list.
 * @throws {InputError} see resolveConnection()
 * @throws {ServerError} server not reached, credentials refused, nodes or pods not to be listed
 */
export async function readServer(options: ReadOptions): Promise<ClusterSnapshot> {
  const { connection = {}, env = process.env, stdin, debug } = options
  const resolved = await resolveConnection(connection, { env, stdinIsTerminal: stdin?.isTTY === true })
  // Ends what is still running when one request has failed for good.
  const stop = new AbortController()
  const signal = options.signal === undefined ? stop.signal : AbortSignal.any([options.signal, stop.signal])
  const client = new ApiClient(resolved, { signal, debug })
  try {
    return await readWith(client, options)
  } catch (error) {
    options.signal?.throwIfAborted()
    throw error
  } finally {
    stop.abort()
    await client.close()
  }
}

/** The same with a client that is there already; left open. */
export async function readWith(
  client: ApiClient,
  options: Pick<ReadOptions, 'kinds' | 'ownersOf'>,
): Promise<ClusterSnapshot> {
  const snapshot = emptySnapshot('server', 'not-asked')
  const reader = new ServerReader(client, snapshot)
  const kinds = [...new Set(options.kinds)]
  await eachLimited([null, ...kinds], PARALLEL, (kind) => (kind === null ? reader.version() : reader.list(kind)))
  reader.finish()
  if (options.ownersOf !== undefined) {
    await new OwnerReader(client, snapshot).read(options.ownersOf(snapshot))
  }
  snapshot.warnings.sort()
  return snapshot
}

class ServerReader {
  readonly #builder = new SnapshotBuilder()
  readonly #projector = new Projector()
  /** What is needed and could not be listed. */
  readonly #missing = new Map<KindName, ServerError>()
  readonly #client: ApiClient
  readonly #snapshot: ClusterSnapshot

  constructor(client: ApiClient, snapshot: ClusterSnapshot) {
    this.#client = client
    this.#snapshot = snapshot
  }

  async version(): Promise<void> {
    // A server that is not there says so when nodes and pods are asked for.
    const { status, body } = await this.#client.get('/version').catch(unanswered)
    const version = record(body).gitVersion
    if (status === 200 && typeof version === 'string') this.#snapshot.serverVersion = version
    else this.#snapshot.warnings.push(`the server does not tell its version (GET /version: ${status || 'no answer'})`)
  }

  async list(kind: KindName): Promise<void> {
    try {
      await this.#read(kind)
    } catch (error) {
      // One kind whose list hangs leaves the others.
      if (NEEDED.has(kind) || !(error instanceof NoAnswerError)) throw error
      this.#snapshot.kinds[kind] = {
        state: 'failed',
        forbidden: false,
        reason: `list ${resourceOf(kind)} failed: ${error.message}`,
      }
    }
  }

  async #read(kind: KindName): Promise<void> {
    const { group } = KINDS[kind]
    let answer: ApiResponse | null = null
    for (const version of KINDS[kind].versions) {
      const apiVersion = group === '' ? version : `${group}/${version}`
      const { objects, failure } = await this.#listAll(kind, apiVersion)
      if (failure === null) {
        for (const object of objects) this.#builder.add(object)
        this.#snapshot.kinds[kind] = { state: 'read' }
        return
      }
      answer = failure
      if (failure.status !== 404) break
    }
    const resource = resourceOf(kind)
    if (answer?.status === 404 && group !== '') {
      // A server that does not have the kind has no object of it.
      this.#snapshot.kinds[kind] = { state: 'read' }
      return
    }
    const reason = failureReason('list', resource, null, answer)
    if (NEEDED.has(kind)) this.#missing.set(kind, neededButRefused(this.#client.name, resource, reason, answer))
    this.#snapshot.kinds[kind] = { state: 'failed', forbidden: answer?.status === 403, reason }
  }

  /** All objects of a list, page by page; or the answer that ended it. */
  async #listAll<K extends KindName>(
    kind: K,
    apiVersion: string,
  ): Promise<{ objects: KindObjects[K][]; failure: ApiResponse | null }> {
    const path = `${apiRoot(apiVersion)}/${KINDS[kind].plural}`
    // What a page's token stands for is forgotten by the server after some minutes (410). Then the list is begun anew, once in
    // pages and after that as one answer, which can't run out.
    let failure: ApiResponse | null = null
    for (const limit of [PAGE, PAGE, '0']) {
      const objects: KindObjects[K][] = []
      let next = ''
      for (;;) {
        const answer = await this.#client.get(path, next === '' ? { limit } : { limit, continue: next })
        if (answer.status === 410 && next !== '') {
          failure = answer
          break
        }
        failure = answer
        const { kind: listKind, items, metadata } = record(answer.body)
        const isList = typeof listKind === 'string' && listKind.endsWith('List')
        if (answer.status !== 200 || !isList) return { objects: [], failure }
        if (items !== null && items !== undefined && !Array.isArray(items)) return { objects: [], failure }
        for (const item of items ?? []) {
          const object = this.#projector.project(kind, item, apiVersion)
          if (object !== null) objects.push(object)
        }
        const token = record(metadata).continue
        next = typeof token === 'string' ? token : ''
        if (next === '') return { objects, failure: null }
      }
      this.#snapshot.warnings.push(`the list of ${KINDS[kind].plural} took so long that it had to be begun anew`)
    }
    return { objects: [], failure }
  }

  /** @throws {ServerError} when what is needed is missing: always for the same kind, whichever answer came first. */
  finish(): void {
    for (const kind of NEEDED) {
      const error = this.#missing.get(kind)
      if (error !== undefined) throw error
    }
    this.#builder.finish(this.#snapshot)
    this.#snapshot.warnings.push(...this.#projector.warnings())
  }
}

interface Resource {
  plural: string
  namespaced: boolean
}

// Saves asking for what every cluster has.
const WORKLOADS: Readonly<Record<string, Resource>> = {
  'apps/v1 DaemonSet': { plural: 'daemonsets', namespaced: true },
  'apps/v1 Deployment': { plural: 'deployments', namespaced: true },
  'apps/v1 ReplicaSet': { plural: 'replicasets', namespaced: true },
  'apps/v1 StatefulSet': { plural: 'statefulsets', namespaced: true },
  'batch/v1 CronJob': { plural: 'cronjobs', namespaced: true },
  'batch/v1 Job': { plural: 'jobs', namespaced: true },
  'v1 ReplicationController': { plural: 'replicationcontrollers', namespaced: true },
}

/** Follows owner references upwards, one GET for each controller. */
class OwnerReader {
  readonly #client: ApiClient
  readonly #snapshot: ClusterSnapshot
  readonly #projector = new Projector()
  readonly #asked = new Set<string>()
  readonly #discovered = new Map<string, Promise<Map<string, Resource> | ApiResponse>>()
  readonly #kinds = new Map<string, KindStatus>()

  constructor(client: ApiClient, snapshot: ClusterSnapshot) {
    this.#client = client
    this.#snapshot = snapshot
  }

  async read(wanted: readonly OwnerWanted[]): Promise<void> {
    const builder = new SnapshotBuilder()
    let level = wanted
    for (let depth = 0; depth < MAX_OWNER_DEPTH && level.length > 0; depth++) {
      const found: OwnerWanted[] = []
      await eachLimited(this.#fresh(level), PARALLEL, async (owner) => {
        const object = await this.#get(owner)
        if (object === null) return
        builder.addOwner(ownerKindOf(object.apiVersion, object.kind), object)
        const controller = object.metadata.ownerReferences?.find((reference) => reference.controller === true)
        if (controller !== undefined) found.push({ namespace: object.metadata.namespace, reference: controller })
      })
      level = found
    }
    builder.finishOwners(this.#snapshot)
    this.#snapshot.ownerKinds = Object.fromEntries([...this.#kinds].sort(([a], [b]) => (a < b ? -1 : 1)))
    this.#snapshot.warnings.push(...this.#projector.warnings())
  }

  /** Those not asked for yet. Kinds that were read as lists (the Node that owns a mirror pod) need no asking. */
  #fresh(wanted: readonly OwnerWanted[]): OwnerWanted[] {
    return wanted.filter(({ namespace = '', reference: { apiVersion, kind, name } }) => {
      const key = [apiVersion, kind, namespace, name].join('\n')
      if (this.#asked.has(key) || kindNameOf(apiVersion, kind) !== null) return false
      this.#asked.add(key)
      return true
    })
  }

  /** The object of that name, whatever its uid; null when there is none or it can't be had. */
  async #get({ namespace, reference }: OwnerWanted): Promise<OwnerObject | null> {
    const { apiVersion, kind, name } = reference
    const ownerKind = ownerKindOf(apiVersion, kind)
    const resource = await this.#resourceOf(reference)
    if (resource === null) {
      this.#mark(ownerKind, { state: 'absent' })
      return null
    }
    if ('status' in resource) {
      this.#mark(ownerKind, {
        state: 'failed',
        forbidden: resource.status === 403,
        reason: `the server does not tell what ${apiVersion} holds (${resource.status})`,
      })
      return null
    }
    const full = groupOf(apiVersion) === '' ? resource.plural : `${resource.plural}.${groupOf(apiVersion)}`
    // As part of a path these would be steps in it; nothing can have such a name.
    if (name === '.' || name === '..') {
      this.#mark(ownerKind, { state: 'read' })
      return null
    }
    const inNamespace =
      resource.namespaced && namespace !== undefined ? `/namespaces/${encodeURIComponent(namespace)}` : ''
    const path = `${apiRoot(apiVersion)}${inNamespace}/${resource.plural}/${encodeURIComponent(name)}`
    const answer = await this.#client.get(path).catch(unanswered)
    if (answer.status === 404) this.#mark(ownerKind, { state: 'read' })
    if (answer.status === 200) {
      const object = this.#projector.projectOwner(apiVersion, kind, answer.body)
      if (object !== null) this.#mark(ownerKind, { state: 'read' })
      return object
    }
    if (answer.status !== 404) {
      const reason = failureReason('get', full, resource.namespaced ? (namespace ?? null) : null, answer)
      this.#mark(ownerKind, { state: 'failed', forbidden: answer.status === 403, reason })
    }
    return null
  }

  /** A kind counts as read only if every GET of it was answered; of several reasons the first in code units stays. */
  #mark(kind: string, status: KindStatus): void {
    const before = this.#kinds.get(kind)
    if (before?.state !== 'failed') this.#kinds.set(kind, status.state === 'read' ? (before ?? status) : status)
    else if (status.state === 'failed' && status.reason < before.reason) this.#kinds.set(kind, status)
  }

  /** Where the API keeps that kind; null when it has no such kind; the answer when it does not say. */
  async #resourceOf({ apiVersion, kind }: OwnerReference): Promise<Resource | ApiResponse | null> {
    const known = `${apiVersion} ${kind}`
    if (Object.hasOwn(WORKLOADS, known)) return WORKLOADS[known] ?? null
    // It becomes part of a path, and anyone who may create pods may write what he likes there.
    if (!/^([a-z0-9.-]+\/)?v[a-z0-9]+$/.test(apiVersion)) return null
    let discovery = this.#discovered.get(apiVersion)
    if (discovery === undefined) {
      discovery = this.#discover(apiVersion)
      this.#discovered.set(apiVersion, discovery)
    }
    const resources = await discovery
    return resources instanceof Map ? (resources.get(kind) ?? null) : resources
  }

  async #discover(apiVersion: string): Promise<Map<string, Resource> | ApiResponse> {
    const answer = await this.#client.get(apiRoot(apiVersion))
    if (answer.status === 404) return new Map()
    const { resources } = record(answer.body)
    if (answer.status !== 200 || !Array.isArray(resources)) return answer
    const byKind = new Map<string, Resource>()
    for (const item of resources) {
      const { name, kind, namespaced } = record(item)
      // A name with a slash is a subresource.
      if (typeof name !== 'string' || !/^[a-z0-9.-]+$/.test(name) || typeof kind !== 'string' || byKind.has(kind))
        continue
      byKind.set(kind, { plural: name, namespaced: namespaced === true })
    }
    return byKind
  }
}

function apiRoot(apiVersion: string): string {
  return apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`
}

function record(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {}
}

/** What could not be had, as an answer without status; anything else is thrown on. */
function unanswered(error: unknown): ApiResponse {
  if (!(error instanceof NoAnswerError)) throw error
  return { status: 0, body: { message: error.message } }
}

function resourceOf(kind: KindName): string {
  const { group, plural } = KINDS[kind]
  return group === '' ? plural : `${plural}.${group}`
}

/** Why a request did not give what was asked for: verb, resource, where, and what the right would be. `namespace` null: the whole cluster. */
function failureReason(verb: string, resource: string, namespace: string | null, answer: ApiResponse | null): string {
  const scope = namespace === null ? 'cluster scope' : `namespace ${namespace}`
  const message = record(answer?.body).message
  if (answer?.status === 403) {
    // Only to name the user; nothing is decided by it.
    const user = typeof message === 'string' ? /\bUser ("(?:[^"\\]|\\.)*") cannot /.exec(message)?.[1] : undefined
    const who = user === undefined ? '' : ` for user ${user}`
    return `${verb} ${resource} is forbidden${who} (${scope}): needs verb ${verb} on resource ${resource}`
  }
  const words = typeof message === 'string' && message !== '' ? `: ${message}` : ''
  return `${verb} ${resource} failed (${scope}, ${answer?.status ? `status ${answer.status}` : 'no answer'})${words}`
}

function neededButRefused(server: string, resource: string, reason: string, answer: ApiResponse | null): ServerError {
  // An API server explains itself with a Status object.
  if (answer?.status === 404 || record(answer?.body).kind === undefined) {
    return new ServerError(
      `${server} answers like no Kubernetes API server (status ${answer?.status ?? 'unknown'} for its ${resource})`,
      ['see the server’s address in the kubeconfig: https or http, host, port and path'],
    )
  }
  return new ServerError(
    `${server}: ${reason}; without ${resource} nothing can be judged`,
    answer?.status === 403
      ? [`ask an administrator for that right; to check: kubectl auth can-i list ${resource} -A`]
      : [],
  )
}
