/** Requests to an API server over node:https: credentials, proxy, gzip, patience where the server asks for it. Decides nothing about Kubernetes. */
import http from 'node:http'
import https from 'node:https'
import { pipeline } from 'node:stream/promises'
import { setTimeout as sleepFor } from 'node:timers/promises'
import { createGunzip } from 'node:zlib'
import type { Connection, Credentials } from './connection.js'
import { NoAnswerError, ServerError } from './errors.js'

export interface ApiResponse {
  status: number
  /** The parsed body; undefined when it is no JSON. */
  body: unknown
  /** What the server says beside the answer (`Warning` headers with code 299), if it does: PodSecurity, deprecations. */
  warnings?: string[]
}

export interface RawResponse {
  status: number
  bytes: Buffer
}

export interface ApiRequest {
  query?: Readonly<Record<string, string>>
  /** Sent as JSON. */
  body?: unknown
  /** Of the body; a PATCH needs one of its own (`application/merge-patch+json`, …). */
  contentType?: string
  /** Ends this request; besides the one of the client. */
  signal?: AbortSignal
  /**
   * The request does the same when the server gets it twice: it carries a uid as a precondition, or is a dry run. Only then it is
   * sent again when no answer came, for the first may have been carried out.
   */
  repeatable?: boolean
}

export type WriteMethod = 'POST' | 'PUT' | 'PATCH' | 'DELETE'
type Method = 'GET' | WriteMethod

/** A request as it goes out. */
interface Outgoing {
  method: Method
  target: string
  accept: string
  content?: { type: string; bytes: Buffer }
  signal?: AbortSignal
  repeatable: boolean
  /** More bytes than this are not read. */
  maxBytes?: number
}

export interface ApiClientOptions {
  signal?: AbortSignal
  /** Told one line for each request; no header is in it. */
  debug?: (line: string) => void
  /** Waits, in milliseconds; another one in tests. */
  sleep?: (ms: number, signal?: AbortSignal) => Promise<void>
}

const JSON_ONLY = 'application/json'
/** client-go's: how long a connection may take to come about. */
const CONNECT_TIMEOUT_MS = 30_000
/** How often one request is repeated because the server asks for it, and how long each wait may be. */
const MAX_RETRIES = 5
const MAX_WAIT_MS = 30_000

/** An answer has more bytes than were asked for at most. */
class TooLong extends Error {}

/** A request took longer than `--request-timeout` allows, or the connection did not come about in time. */
class TimedOut extends Error {
  constructor(readonly during: 'connecting' | 'request') {
    super(during)
  }
}

interface Answer {
  status: number
  headers: http.IncomingHttpHeaders
  bytes: Buffer
}

export class ApiClient {
  readonly #connection: Connection
  readonly #options: ApiClientOptions
  #transport: Promise<Transport> | null = null

  constructor(connection: Connection, options: ApiClientOptions = {}) {
    this.#connection = connection
    this.#options = options
  }

  /** The server, for messages: `https://10.0.0.1:6443 (context prod)`. */
  get name(): string {
    const { origin, pathname } = new URL(this.#connection.server)
    const { context } = this.#connection
    return `${origin}${pathname === '/' ? '' : pathname}${context === null ? '' : ` (context ${context})`}`
  }

  /**
   * GET of a path below the server's address. Any status comes back but 401; 429, and 5xx where the server says when to come
   * back, only after that was tried {@link MAX_RETRIES} times.
   * @throws {ServerError} server not reached, credentials refused, or an answer that can't come from an API server
   * @throws the signal's reason, when it was aborted
   */
  async get(
    path: string,
    query: Readonly<Record<string, string>> = {},
    options: { signal?: AbortSignal } = {},
  ): Promise<ApiResponse> {
    const answer = await this.#ask({
      method: 'GET',
      target: targetOf(path, query),
      accept: JSON_ONLY,
      signal: options.signal,
      repeatable: true,
    })
    return this.#response(answer)
  }

  /**
   * What is there as bytes, whatever it is (a pod's log); for the rest as {@link get}.
   * @throws {ServerError} also when there are more than `maxBytes`: a node that sends it is not believed to keep to a limit
   */
  async getRaw(
    path: string,
    options: { query?: Readonly<Record<string, string>>; signal?: AbortSignal; maxBytes?: number } = {},
  ): Promise<RawResponse> {
    const { query = {}, signal, maxBytes } = options
    const target = targetOf(path, query)
    // As client-go asks: errors come as JSON, and a log is text, whatever was asked for.
    const accept = `${JSON_ONLY}, */*`
    const { status, bytes } = await this.#ask({ method: 'GET', target, accept, signal, maxBytes, repeatable: true })
    return { status, bytes }
  }

  /**
   * A write. 429 is waited for as with {@link get}, for the server has not begun then. 5xx and a lost connection are tried again only
   * when it is `repeatable`; else NoAnswerError leaves open whether the server did it.
   * @throws as {@link get}
   */
  async request(method: WriteMethod, path: string, options: ApiRequest = {}): Promise<ApiResponse> {
    const { query = {}, body, contentType = JSON_ONLY, signal, repeatable = false } = options
    const answer = await this.#ask({
      method,
      target: targetOf(path, query),
      accept: JSON_ONLY,
      signal,
      repeatable,
      ...(body === undefined ? {} : { content: { type: contentType, bytes: Buffer.from(JSON.stringify(body)) } }),
    })
    return this.#response(answer)
  }

  async #ask(asked: Outgoing): Promise<Answer> {
    const { signal } = this.#options
    const both = signal === undefined || asked.signal === undefined ? null : AbortSignal.any([signal, asked.signal])
    const outgoing: Outgoing = { ...asked, signal: both ?? signal ?? asked.signal }
    let refreshed = false
    for (let attempt = 0; ; ) {
      const transport = await this.#connect()
      const answer = await this.#attempt(transport, outgoing)
      if (answer.status === 401) {
        if (refreshed || !(await this.#refresh(transport))) throw this.#refused()
        refreshed = true
        continue
      }
      const wait = answer.status === 429 || (answer.status >= 500 && outgoing.repeatable) ? retryAfterMs(answer) : null
      if (wait === null || attempt >= MAX_RETRIES) return answer
      attempt++
      this.#options.debug?.(`${outgoing.method} ${outgoing.target} will be repeated in ${wait} ms`)
      await (this.#options.sleep ?? sleep)(wait, outgoing.signal)
    }
  }

  #response(answer: Answer): ApiResponse {
    const warnings = warningsOf(answer)
    return { status: answer.status, body: this.#bodyOf(answer), ...(warnings.length === 0 ? {} : { warnings }) }
  }

  /** Lets go of the connections that are kept open. */
  async close(): Promise<void> {
    const transport = await this.#transport?.catch(() => null)
    transport?.agent.destroy()
  }

  #connect(): Promise<Transport> {
    this.#transport ??= (async () => openTransport(this.#connection, await this.#connection.credentials(false)))()
    return this.#transport
  }

  /** Whether there are new credentials now; of requests refused at the same time only the first gets them. */
  async #refresh(refused: Transport): Promise<boolean> {
    if ((await this.#connect()) !== refused) return true
    const next = (async () => {
      const credentials = await this.#connection.credentials(true)
      return credentials === null ? refused : openTransport(this.#connection, credentials)
    })()
    this.#transport = next
    return (await next) !== refused
  }

  async #attempt(transport: Transport, outgoing: Outgoing): Promise<Answer> {
    const started = performance.now()
    const { method, target, signal } = outgoing
    const done = (how: string): void =>
      this.#options.debug?.(`${method} ${target} ${how} in ${Math.round(performance.now() - started)} ms`)
    for (let again = false; ; again = true) {
      try {
        const answer = await send(transport, outgoing, this.#connection)
        done(String(answer.status))
        return answer
      } catch (error) {
        signal?.throwIfAborted()
        // A server may close a kept connection at the very moment it is used again; what can be repeated is, once.
        if (!again && outgoing.repeatable && codeOf(error) === 'ECONNRESET') continue
        done(codeOf(error) || 'failed')
        throw this.#unreachable(error)
      }
    }
  }

  #bodyOf(answer: Answer): unknown {
    try {
      return JSON.parse(answer.bytes.toString('utf8'))
    } catch (cause) {
      if (answer.status >= 300) return undefined
      throw new ServerError(
        `${this.name} answered, but not with JSON: that is no Kubernetes API server`,
        ['see the server’s address in the kubeconfig; a proxy’s login page may be in the way'],
        { cause },
      )
    }
  }

  #refused(): ServerError {
    return new ServerError(`${this.name} refuses the credentials (401)`, [
      'log in again, or choose another context (--context) or user (--user)',
      'see whether kubectl works with the same flags: kubectl auth whoami',
    ])
  }

  #unreachable(error: unknown): ServerError {
    if (error instanceof ServerError) return error
    if (error instanceof TooLong) return new ServerError(`${this.name}: ${error.message}`)
    const { problem, suggestions } = explain(error, this.#connection)
    return new NoAnswerError(`${this.name} can't be reached: ${problem}`, suggestions, { cause: error })
  }
}

interface Transport {
  agent: http.Agent
  options: https.RequestOptions
  headers: Record<string, string | string[]>
}

async function openTransport(connection: Connection, credentials: Credentials | null): Promise<Transport> {
  const { ca, rejectUnauthorized, servername } = connection.tls
  return {
    agent: await agentFor(connection),
    options: {
      ...(ca === undefined ? {} : { ca }),
      ...(servername === undefined ? {} : { servername }),
      ...(credentials?.cert === undefined ? {} : { cert: credentials.cert, key: credentials.key }),
      rejectUnauthorized,
    },
    headers: {
      'accept-encoding': connection.compress ? 'gzip' : 'identity',
      'user-agent': 'kubectl-storage',
      ...connection.headers,
      ...credentials?.headers,
    },
  }
}

async function agentFor(connection: Connection): Promise<http.Agent> {
  const secure = connection.server.startsWith('https:')
  const keepAlive = { keepAlive: true }
  const { proxy } = connection
  if (proxy === null) return secure ? new https.Agent(keepAlive) : new http.Agent(keepAlive)
  if (proxy.startsWith('socks5')) {
    const { SocksProxyAgent } = await import('socks-proxy-agent')
    // As in Go, names are looked up by the proxy.
    return new SocksProxyAgent(proxy.replace(/^socks5h?:/, 'socks5h:'), keepAlive)
  }
  const { HttpProxyAgent, HttpsProxyAgent } = await import('hpagent')
  return secure ? new HttpsProxyAgent({ ...keepAlive, proxy }) : new HttpProxyAgent({ ...keepAlive, proxy })
}

function send(transport: Transport, asked: Outgoing, connection: Connection): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const { method, content, signal, maxBytes = Number.POSITIVE_INFINITY } = asked
    const url = new URL(`${connection.server}${asked.target}`)
    const request = url.protocol === 'https:' ? https.request : http.request
    const { agent, options } = transport
    const headers = {
      ...transport.headers,
      accept: asked.accept,
      // Node gives a DELETE no length by itself, and its body would be read as the next request.
      ...(content === undefined ? {} : { 'content-type': content.type, 'content-length': content.bytes.length }),
    }
    const outgoing = request(url, { ...options, method, agent, headers, ...(signal === undefined ? {} : { signal }) })
    // What ended the request, if we did: the response's own error then says no more than that the connection is gone.
    let ended: TimedOut | null = null
    const end = (during: TimedOut['during']): void => {
      ended = new TimedOut(during)
      outgoing.destroy(ended)
    }
    const connecting = setTimeout(end, CONNECT_TIMEOUT_MS, 'connecting')
    const limit = connection.timeoutMs === null ? undefined : setTimeout(end, connection.timeoutMs, 'request')
    const settle = <T>(how: (value: T) => void, value: T): void => {
      clearTimeout(connecting)
      clearTimeout(limit)
      how(value)
    }
    outgoing.on('error', (error) => settle(reject, ended ?? error))
    // "finish" is emitted when the request has gone out, which it only does over a connection that stands.
    outgoing.on('finish', () => clearTimeout(connecting))
    outgoing.on('response', (response) => {
      clearTimeout(connecting)
      const chunks: Buffer[] = []
      const collect = async (source: AsyncIterable<Buffer>): Promise<void> => {
        // The limit is for what was asked for; the reason why it is not to be had is to be heard.
        const most = (response.statusCode ?? 0) < 300 ? maxBytes : Math.max(maxBytes, 2 ** 20)
        let length = 0
        for await (const chunk of source) {
          length += chunk.length
          if (length > most) throw new TooLong(`an answer of more than ${most} bytes`)
          chunks.push(chunk)
        }
      }
      const reading =
        response.headers['content-encoding'] === 'gzip'
          ? pipeline(response, createGunzip(), collect)
          : pipeline(response, collect)
      reading.then(
        () =>
          settle(resolve, {
            status: response.statusCode ?? 0,
            headers: response.headers,
            bytes: Buffer.concat(chunks),
          }),
        (error) => settle(reject, ended ?? error),
      )
    })
    outgoing.end(content?.bytes)
  })
}

function targetOf(path: string, query: Readonly<Record<string, string>>): string {
  const search = new URLSearchParams(query).toString()
  return search === '' ? path : `${path}?${search}`
}

/** The texts of `Warning: 299 - "text"` (RFC 7234, 5.5), in which quotes and backslashes are escaped; Node joins several by commas. */
function warningsOf(answer: Answer): string[] {
  const header = answer.headers.warning
  if (header === undefined) return []
  const found = header.matchAll(/299 \S+ "((?:[^"\\]|\\.)*)"/g)
  return [...found].map(([, text = '']) => text.replace(/\\(.)/g, '$1'))
}

/** How long the server wants to be left alone; null when it does not say, which is "do not come back". */
function retryAfterMs(answer: Answer): number | null {
  const seconds = answer.headers['retry-after']
  if (seconds === undefined || !/^\d+$/.test(seconds)) return null
  return Math.min(Number(seconds) * 1000, MAX_WAIT_MS)
}

async function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  await sleepFor(ms, undefined, signal === undefined ? {} : { signal })
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : ''
}

const NETWORK: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there (connection refused)',
  ECONNRESET: 'the connection was closed by the other side',
  EPIPE: 'the connection was closed by the other side',
  EHOSTUNREACH: 'there is no way to that host',
  ENETUNREACH: 'there is no way to that network',
  ENOTFOUND: 'its name is not known (DNS)',
  EAI_AGAIN: 'its name could not be looked up (DNS)',
  ETIMEDOUT: 'no answer in time',
}

const UNKNOWN_AUTHORITY = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
])

/** A failed connection in words, and what to do; by the error's class and code only. */
function explain(error: unknown, connection: Connection): { problem: string; suggestions: string[] } {
  const code = codeOf(error)
  const through = connection.proxy === null ? '' : ` (through the proxy ${new URL(connection.proxy).host})`
  const network = ['see whether kubectl reaches it: kubectl version', 'a VPN or a proxy may be needed (HTTPS_PROXY)']
  if (error instanceof TimedOut) {
    return error.during === 'connecting'
      ? { problem: `no connection within ${CONNECT_TIMEOUT_MS / 1000} s${through}`, suggestions: network }
      : {
          problem: `no answer within the ${(connection.timeoutMs ?? 0) / 1000} s of --request-timeout${through}`,
          suggestions: ['raise --request-timeout, or leave it out'],
        }
  }
  if (Object.hasOwn(NETWORK, code)) return { problem: `${NETWORK[code]}${through}`, suggestions: network }
  if (UNKNOWN_AUTHORITY.has(code)) {
    return {
      problem: `its certificate is signed by an authority that is not known here (${code})`,
      suggestions: [
        'name the authority’s certificate: --certificate-authority FILE, or certificate-authority in the kubeconfig',
        'authorities of this machine are used with NODE_EXTRA_CA_CERTS=FILE',
      ],
    }
  }
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') {
    return {
      problem: 'its certificate is for another name',
      suggestions: ['use a name that is in the certificate, or say which one to look for: --tls-server-name NAME'],
    }
  }
  if (code === 'CERT_HAS_EXPIRED' || code === 'CERT_NOT_YET_VALID') {
    const when = code === 'CERT_HAS_EXPIRED' ? 'has run out' : 'is not valid yet'
    return { problem: `its certificate ${when}`, suggestions: ['see whether this machine’s clock is right'] }
  }
  if (code.startsWith('ERR_OSSL') || code.startsWith('ERR_CRYPTO')) {
    return { problem: `a certificate or key of the kubeconfig can't be used (${code})`, suggestions: [] }
  }
  if (code === 'EPROTO' || code.startsWith('ERR_SSL') || code.startsWith('HPE_')) {
    return {
      problem: `what answers there does not speak ${connection.server.split(':')[0]} (${code})`,
      suggestions: network,
    }
  }
  const words = error instanceof Error ? error.message : String(error)
  return { problem: `${words}${through}`, suggestions: network }
}
