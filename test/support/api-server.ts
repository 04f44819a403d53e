/** A server on this machine that answers as a test tells it; what a real API server answered is in test/fixtures/api. */
import { readFileSync } from 'node:fs'
import http from 'node:http'
import https from 'node:https'
import type { AddressInfo } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { gzipSync } from 'node:zlib'
import type { Certificate } from './certificates.js'

export interface Recorded {
  path: string
  status: number
  contentType: string
  body: unknown
}

export function recorded(name: string): Recorded {
  return JSON.parse(readFileSync(new URL(`../fixtures/api/${name}.json`, import.meta.url), 'utf8'))
}

export interface Seen {
  method: string
  /** Path and query as asked for. */
  url: string
  headers: http.IncomingHttpHeaders
  /** Common name of the client's certificate. */
  client?: string
  /** What was sent, parsed; absent when nothing was. */
  body?: unknown
}

export interface Answer {
  status?: number
  headers?: Record<string, string | string[]>
  /** Text goes out as it is, anything else as JSON. */
  body?: unknown
  /** Ends the connection without an answer. */
  hangUp?: boolean
  /** Never answers. */
  silent?: boolean
}

export type Handler = (request: Seen, count: number) => Answer | Recorded | undefined

export interface TestServer {
  url: string
  port: number
  seen: Seen[]
  close(): Promise<void>
}

/**
 * Answers each request with what `handler` returns; what it leaves out is 404. The body of a write is read first. `count`: how often that path was asked for before.
 */
export async function startServer(
  handler: Handler,
  tls?: { server: Certificate; clientAuthority?: Certificate },
): Promise<TestServer> {
  const seen: Seen[] = []
  const counts = new Map<string, number>()
  const listener: http.RequestListener = async (request, response) => {
    const url = request.url ?? ''
    const peer = tls === undefined ? undefined : (request.socket as TLSSocket).getPeerCertificate()
    const noted: Seen = {
      method: request.method ?? '',
      url,
      headers: request.headers,
      ...(peer?.subject ? { client: String(peer.subject.CN) } : {}),
    }
    seen.push(noted)
    const count = counts.get(url) ?? 0
    counts.set(url, count + 1)
    if (noted.method !== 'GET') {
      const chunks: Buffer[] = []
      for await (const chunk of request) chunks.push(chunk)
      if (chunks.length > 0) noted.body = JSON.parse(Buffer.concat(chunks).toString('utf8'))
    }
    const answer: Answer = handler(noted, count) ?? { status: 404, body: '404 page not found\n' }
    if (answer.silent) return
    if (answer.hangUp) {
      request.socket.destroy()
      return
    }
    const { body = '' } = answer
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    const zip = request.headers['accept-encoding'] === 'gzip' && text.length > 200
    const type = typeof body === 'string' ? 'text/plain' : 'application/json'
    response.writeHead(answer.status ?? 200, {
      'content-type': type,
      ...(zip ? { 'content-encoding': 'gzip' } : {}),
      ...answer.headers,
    })
    response.end(zip ? gzipSync(text) : text)
  }
  const server =
    tls === undefined
      ? http.createServer(listener)
      : https.createServer(
          {
            cert: tls.server.cert,
            key: tls.server.key,
            ...(tls.clientAuthority === undefined
              ? {}
              : { ca: tls.clientAuthority.cert, requestCert: true, rejectUnauthorized: false }),
          },
          listener,
        )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}`,
    port,
    seen,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections()
        server.close(() => resolve())
      }),
  }
}

export function emptyList(kind: string, apiVersion = 'v1'): Answer {
  return { body: { kind, apiVersion, metadata: { resourceVersion: '1' }, items: [] } }
}
