import { afterEach, describe, expect, it } from 'vitest'
import type { Connection } from '../../src/cluster/connection.js'
import { NoAnswerError, ServerError } from '../../src/cluster/errors.js'
import { ApiClient, type ApiClientOptions } from '../../src/cluster/http.js'
import { type Handler, recorded, startServer, type TestServer } from '../support/api-server.js'

const open: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const thing of open.splice(0)) await thing.close()
})

async function server(handler: Handler): Promise<TestServer> {
  const started = await startServer(handler)
  open.push(started)
  return started
}

function client(url: string, options: ApiClientOptions = {}, connection: Partial<Connection> = {}): ApiClient {
  const made = new ApiClient(
    {
      server: url,
      context: null,
      namespace: 'default',
      tls: { rejectUnauthorized: true },
      proxy: null,
      timeoutMs: null,
      compress: true,
      headers: {},
      credentials: async () => null,
      ...connection,
    },
    options,
  )
  open.push(made)
  return made
}

const ok = { body: { kind: 'Thing' } }
const busy = { status: 429, headers: { 'retry-after': '1' }, body: { kind: 'Status', code: 429 } }
const broken = { status: 503, headers: { 'retry-after': '1' }, body: { kind: 'Status', code: 503 } }

describe('a write', () => {
  it('has its method, its body and the type of that', async () => {
    const { url, seen } = await server(() => ok)
    const api = client(url)
    await api.request('POST', '/a', { body: { text: 'zwölf' }, query: { dryRun: 'All' } })
    await api.request('PATCH', '/b', { body: [], contentType: 'application/json-patch+json' })
    await api.request('DELETE', '/c', { body: { preconditions: { uid: 'u' } } })
    await api.request('DELETE', '/d')
    expect(seen.map(({ method, url, body, headers }) => [method, url, body, headers['content-type']])).toEqual([
      ['POST', '/a?dryRun=All', { text: 'zwölf' }, 'application/json'],
      ['PATCH', '/b', [], 'application/json-patch+json'],
      ['DELETE', '/c', { preconditions: { uid: 'u' } }, 'application/json'],
      ['DELETE', '/d', undefined, undefined],
    ])
    expect(seen.map(({ headers }) => headers['transfer-encoding'])).toEqual([
      undefined,
      undefined,
      undefined,
      undefined,
    ])
  })

  it('is never sent again when its connection is lost, for the server may have done it', async () => {
    const { url, seen } = await server(() => ({ hangUp: true }))
    await expect(client(url).request('POST', '/a', { body: {} })).rejects.toBeInstanceOf(NoAnswerError)
    expect(seen).toHaveLength(1)
  })

  it('is sent again once when that does the same', async () => {
    const { url, seen } = await server((_, count) => (count === 0 ? { hangUp: true } : ok))
    expect((await client(url).request('DELETE', '/a', { repeatable: true })).status).toBe(200)
    expect(seen).toHaveLength(2)
  })

  it('waits for a busy server, but does not try again after one that broke down over it', async () => {
    const { url, seen } = await server(({ url }, count) => (count > 0 ? ok : url === '/busy' ? busy : broken))
    const api = client(url, { sleep: async () => {} })
    expect((await api.request('POST', '/busy', { body: {} })).status).toBe(200)
    expect((await api.request('POST', '/broken', { body: {} })).status).toBe(503)
    expect((await api.request('DELETE', '/safe', { repeatable: true })).status).toBe(200)
    expect(seen.map(({ url }) => url)).toEqual(['/busy', '/busy', '/broken', '/safe', '/safe'])
  })

  it('is sent with new credentials when the old ones are refused', async () => {
    const { url, seen } = await server(({ headers }) =>
      headers.authorization === 'Bearer new' ? ok : recorded('unauthorized'),
    )
    const credentials = async (refresh: boolean) => ({
      headers: { authorization: refresh ? 'Bearer new' : 'Bearer old' },
    })
    const answer = await client(url, {}, { credentials }).request('POST', '/a', { body: { n: 1 } })
    expect(answer.status).toBe(200)
    expect(seen.map(({ body }) => body)).toEqual([{ n: 1 }, { n: 1 }])
  })

  it('is named to debug without its body', async () => {
    const { url } = await server(() => ok)
    const lines: string[] = []
    await client(url, { debug: (line) => lines.push(line) }).request('PATCH', '/a', { body: { hush: 'hush' } })
    expect(lines.join('\n')).toMatch(/^PATCH \/a 200 in \d+ ms$/)
  })

  it('hears what the server warns of', async () => {
    const warning = ['299 - "would violate PodSecurity \\"restricted:latest\\": x, y"', '299 - "old \\\\ API"']
    const { url } = await server(() => ({ ...ok, headers: { warning } }))
    expect((await client(url).request('POST', '/a', { body: {} })).warnings).toEqual([
      'would violate PodSecurity "restricted:latest": x, y',
      'old \\ API',
    ])
  })

  it('ends with the reason of its own signal, and others go on', async () => {
    const { url } = await server(({ url }) => (url === '/silent' ? { silent: true } : ok))
    const all = new AbortController()
    const one = new AbortController()
    const api = client(url, { signal: all.signal })
    const asked = api.request('POST', '/silent', { body: {}, signal: one.signal })
    const got = api.get('/silent', {}, { signal: one.signal })
    one.abort(new Error('enough'))
    await expect(asked).rejects.toThrow('enough')
    await expect(got).rejects.toThrow('enough')
    expect((await api.get('/a')).status).toBe(200)
  })
})

describe('raw bytes', () => {
  it('come as they are, with the status', async () => {
    const { url, seen } = await server(({ url }) =>
      url === '/log?limitBytes=9' ? { body: 'no JSON\n' } : recorded('get-not-found'),
    )
    const api = client(url)
    expect(await api.getRaw('/log', { query: { limitBytes: '9' } })).toEqual({
      status: 200,
      bytes: Buffer.from('no JSON\n'),
    })
    expect((await api.getRaw('/other')).status).toBe(404)
    expect(seen[0]?.headers.accept).toBe('application/json, */*')
  })

  it('are an error when there are more than may be', async () => {
    const { url } = await server(() => ({ body: 'x'.repeat(101) }))
    const api = client(url)
    expect((await api.getRaw('/log', { maxBytes: 101 })).bytes).toHaveLength(101)
    const asked = api.getRaw('/log', { maxBytes: 100 })
    await expect(asked).rejects.toBeInstanceOf(ServerError)
    await expect(asked).rejects.toThrow(/more than 100 bytes/)
    await expect(asked).rejects.not.toBeInstanceOf(NoAnswerError)
  })
})
