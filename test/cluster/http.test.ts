import { afterEach, describe, expect, it } from 'vitest'
import type { Connection, Credentials } from '../../src/cluster/connection.js'
import { ServerError } from '../../src/cluster/errors.js'
import { ApiClient, type ApiClientOptions } from '../../src/cluster/http.js'
import { type Handler, recorded, startServer, type TestServer } from '../support/api-server.js'
import { makeCertificate } from '../support/certificates.js'

const authority = makeCertificate('test authority', { authority: true })
const serverCertificate = makeCertificate('server', { issuer: authority })

const open: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const thing of open.splice(0)) await thing.close()
})

async function server(handler: Handler, tls?: Parameters<typeof startServer>[1]): Promise<TestServer> {
  const started = await startServer(handler, tls)
  open.push(started)
  return started
}

function client(connection: Partial<Connection>, options: ApiClientOptions = {}): ApiClient {
  const made = new ApiClient(
    {
      server: '',
      context: 'test',
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

const ok = { body: { kind: 'Thing', padding: 'x'.repeat(1000) } }

async function failure(promise: Promise<unknown>): Promise<ServerError> {
  const error = await promise.then(
    () => null,
    (reason: unknown) => reason,
  )
  expect(error).toBeInstanceOf(ServerError)
  return error as ServerError
}

describe('ApiClient', () => {
  it('asks for JSON, compressed, over one kept connection, with the headers it is given', async () => {
    const { url, seen } = await server(() => ok)
    const api = client({
      server: url,
      headers: { 'Impersonate-User': 'alice', 'Impersonate-Group': ['a', 'b'] },
      credentials: async () => ({ headers: { authorization: 'Bearer t' } }),
    })
    expect(await api.get('/a', { limit: '5' })).toEqual({ status: 200, body: ok.body })
    await api.get('/b')
    expect(seen.map((request) => request.url)).toEqual(['/a?limit=5', '/b'])
    expect(seen[0]?.headers).toMatchObject({
      accept: 'application/json',
      'accept-encoding': 'gzip',
      authorization: 'Bearer t',
      connection: 'keep-alive',
      'impersonate-user': 'alice',
      'impersonate-group': 'a, b',
    })
  })

  it('keeps the path below which the API lies', async () => {
    const { url, seen } = await server(() => ok)
    await client({ server: `${url}/k8s/clusters/c-1` }).get('/api/v1/nodes')
    expect(seen[0]?.url).toBe('/k8s/clusters/c-1/api/v1/nodes')
  })

  it('says nothing secret to debug', async () => {
    const { url } = await server(() => ok)
    const lines: string[] = []
    const credentials = async (): Promise<Credentials> => ({ headers: { authorization: 'Bearer hush' } })
    await client({ server: url, credentials }, { debug: (line) => lines.push(line) }).get('/a')
    expect(lines.join('\n')).toMatch(/^GET \/a 200 in \d+ ms$/)
  })

  it('comes back when a busy server says when, and gives up after five times', async () => {
    const waits: number[] = []
    const sleep = async (ms: number): Promise<void> => {
      waits.push(ms)
    }
    const busy = { status: 429, headers: { 'retry-after': '2' }, body: { kind: 'Status', code: 429 } }
    const { url } = await server(({ url }, count) => (url === '/ever' || count < 2 ? busy : ok))
    const api = client({ server: url }, { sleep })
    expect((await api.get('/once')).status).toBe(200)
    expect(waits).toEqual([2000, 2000])
    expect((await api.get('/ever')).status).toBe(429)
    expect(waits).toHaveLength(7)
  })

  it('waits no longer than half a minute, and not at all for an error that names no time', async () => {
    const waits: number[] = []
    const sleep = async (ms: number): Promise<void> => {
      waits.push(ms)
    }
    const { url } = await server(({ url }, count) =>
      count > 0 ? ok : url === '/long' ? { status: 503, headers: { 'retry-after': '9999' } } : { status: 500 },
    )
    const api = client({ server: url }, { sleep })
    expect((await api.get('/long')).status).toBe(200)
    expect((await api.get('/broken')).status).toBe(500)
    expect(waits).toEqual([30_000])
  })

  it('repeats a request once whose kept connection was closed under it', async () => {
    const { url, seen } = await server((_, count) => (count === 0 ? { hangUp: true } : ok))
    expect((await client({ server: url }).get('/a')).status).toBe(200)
    expect(seen).toHaveLength(2)
    const always = await server(() => ({ hangUp: true }))
    expect((await failure(client({ server: always.url }).get('/a'))).message).toMatch(/closed by the other side/)
    expect(always.seen).toHaveLength(2)
  })

  it('gets credentials anew once when they are refused', async () => {
    const { url, seen } = await server(({ headers }) =>
      headers.authorization === 'Bearer new' ? ok : recorded('unauthorized'),
    )
    const asked: boolean[] = []
    const api = client({
      server: url,
      credentials: async (refresh) => {
        asked.push(refresh)
        return { headers: { authorization: refresh ? 'Bearer new' : 'Bearer old' } }
      },
    })
    const answers = await Promise.all([api.get('/a'), api.get('/b'), api.get('/c')])
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200])
    expect(asked).toEqual([false, true])
    expect(seen).toHaveLength(6)
  })

  it('is a ServerError when they stay refused', async () => {
    const { url } = await server(() => recorded('unauthorized'))
    const fixed = client({ server: url, credentials: async (refresh) => (refresh ? null : { headers: {} }) })
    expect((await failure(fixed.get('/a'))).message).toBe(`${url} (context test) refuses the credentials (401)`)
    const renewed = client({ server: url, context: null, credentials: async () => ({ headers: {} }) })
    expect((await failure(renewed.get('/a'))).message).toBe(`${url} refuses the credentials (401)`)
  })

  it('names server and context when nothing listens', async () => {
    const { url, close } = await startServer(() => ok)
    await close()
    const error = await failure(client({ server: url }).get('/a'))
    expect(error.message).toBe(`${url} (context test) can't be reached: nothing listens there (connection refused)`)
    expect(error.suggestions.length).toBeGreaterThan(0)
  })

  it('gives up after the request timeout, whether the head or the rest does not come', async () => {
    const { url } = await server(() => ({ silent: true }))
    const error = await failure(client({ server: url, timeoutMs: 50 }).get('/a'))
    expect(error.message).toMatch(/no answer within the 0.05 s of --request-timeout/)
  })

  it('ends with the reason of the signal', async () => {
    const { url } = await server(() => ({ silent: true }))
    const stop = new AbortController()
    const asked = client({ server: url }, { signal: stop.signal }).get('/a')
    setTimeout(() => stop.abort(new Error('enough')), 20)
    await expect(asked).rejects.toThrow('enough')
  })

  it('refuses an answer that is not JSON', async () => {
    const { url } = await server(() => ({ body: '<html>log in</html>' }))
    expect((await failure(client({ server: url }).get('/a'))).message).toMatch(/not with JSON/)
    const gone = await server(() => recorded('group-not-found'))
    expect(await client({ server: gone.url }).get('/a')).toEqual({ status: 404, body: undefined })
  })
})

describe('ApiClient over TLS', () => {
  const tls = { server: serverCertificate }

  it('trusts the authority of the kubeconfig and no other', async () => {
    const { url } = await server(() => ok, tls)
    expect(
      (await client({ server: url, tls: { ca: authority.cert, rejectUnauthorized: true } }).get('/a')).status,
    ).toBe(200)
    expect((await client({ server: url, tls: { rejectUnauthorized: false } }).get('/a')).status).toBe(200)
    const error = await failure(client({ server: url }).get('/a'))
    expect(error.message).toMatch(/signed by an authority that is not known here/)
    expect(error.suggestions[0]).toMatch(/--certificate-authority/)
  })

  it('looks for the name it is told', async () => {
    const named = makeCertificate('server', { issuer: authority, dnsNames: ['kube.example'], ipAddresses: [] })
    const { url } = await server(() => ok, { server: named })
    const trust = { ca: authority.cert, rejectUnauthorized: true }
    expect((await failure(client({ server: url, tls: trust }).get('/a'))).message).toMatch(/for another name/)
    const api = client({ server: url, tls: { ...trust, servername: 'kube.example' } })
    expect((await api.get('/a')).status).toBe(200)
  })

  it('says that a certificate has run out', async () => {
    const old = makeCertificate('server', { issuer: authority, notAfter: '20010101000000Z' })
    const { url } = await server(() => ok, { server: old })
    const api = client({ server: url, tls: { ca: authority.cert, rejectUnauthorized: true } })
    expect((await failure(api.get('/a'))).message).toMatch(/certificate has run out/)
  })

  it('shows a client certificate', async () => {
    const alice = makeCertificate('alice', { issuer: authority })
    const { url, seen } = await server(() => ok, { ...tls, clientAuthority: authority })
    const api = client({
      server: url,
      tls: { ca: authority.cert, rejectUnauthorized: true },
      credentials: async () => ({ headers: {}, cert: alice.cert, key: alice.key }),
    })
    await api.get('/a')
    expect(seen[0]?.client).toBe('alice')
  })

  it('says so when a certificate can not be used', async () => {
    const { url } = await server(() => ok, tls)
    const api = client({
      server: url,
      tls: { ca: authority.cert, rejectUnauthorized: true },
      credentials: async () => ({ headers: {}, cert: 'no certificate', key: 'no key' }),
    })
    expect((await failure(api.get('/a'))).message).toMatch(/certificate or key of the kubeconfig can't be used/)
  })

  it('says that a server does not speak TLS', async () => {
    const { port } = await server(() => ok)
    expect((await failure(client({ server: `https://127.0.0.1:${port}` }).get('/a'))).message).toMatch(
      /does not speak https/,
    )
  })
})
