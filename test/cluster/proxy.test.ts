import net from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { ApiClient } from '../../src/cluster/http.js'
import { proxyFromEnvironment } from '../../src/cluster/proxy.js'
import { startServer } from '../support/api-server.js'
import { makeCertificate } from '../support/certificates.js'

describe('proxyFromEnvironment', () => {
  const proxy = { HTTPS_PROXY: 'http://p:1', HTTP_PROXY: 'http://q:2' }
  it.each([
    ['https://a.example:6443', '', 'http://p:1'],
    ['http://a.example', '', 'http://q:2'],
    ['https://localhost:6443', '', null],
    ['https://127.0.0.1:6443', '', null],
    ['https://[::1]:6443', '', null],
    ['https://a.example', '*', null],
    ['https://a.example', 'a.example', null],
    ['https://b.a.example', 'a.example', null],
    ['https://ba.example', 'a.example', 'http://p:1'],
    ['https://a.example', '.a.example', 'http://p:1'],
    ['https://b.a.example', '.a.example', null],
    ['https://b.a.example', '*.a.example', null],
    ['https://A.EXAMPLE', 'x, a.example ,y', null],
    ['https://a.example:6443', 'a.example:6443', null],
    ['https://a.example:6443', 'a.example:443', 'http://p:1'],
    ['https://a.example', 'a.example:443', null],
    ['https://10.1.2.3:6443', '10.1.2.3', null],
    ['https://10.1.2.3:6443', '10.1.0.0/16', null],
    ['https://10.2.2.3:6443', '10.1.0.0/16', 'http://p:1'],
    ['https://10.1.2.3:6443', '10.1.2.3:6443', null],
    ['https://[fd00::1]:6443', 'fd00::/8', null],
    ['https://[fd00::1]:6443', 'fd00::1', null],
    ['https://a.example', '10.0.0.0/8', 'http://p:1'],
    ['https://10.1.2.3', '10.0.0.0/99', 'http://p:1'],
  ])('%s with NO_PROXY=%j: %s', (url, noProxy, expected) => {
    expect(proxyFromEnvironment(new URL(url), { ...proxy, NO_PROXY: noProxy })).toBe(expected)
  })

  it('takes small letters, and an address without a scheme for http', () => {
    expect(proxyFromEnvironment(new URL('https://a.example'), { https_proxy: 'p:1' })).toBe('http://p:1')
    expect(proxyFromEnvironment(new URL('https://a.example'), { https_proxy: 'p:1', no_proxy: 'a.example' })).toBeNull()
    expect(proxyFromEnvironment(new URL('https://a.example'), {})).toBeNull()
  })
})

const open: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const thing of open.splice(0)) await thing.close()
})

/** A proxy that hands every tunnel to `port`, whatever it was asked for, and notes what that was. */
async function startProxy(port: number, refuse = false): Promise<{ port: number; asked: string[] }> {
  const asked: string[] = []
  const sockets = new Set<net.Socket>()
  const listener = net.createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.once('data', (first) => {
      const forward = (answer: Buffer | string): void => {
        socket.write(answer)
        const on = net.connect(port, '127.0.0.1')
        sockets.add(on)
        on.on('error', () => socket.destroy())
        socket.pipe(on).pipe(socket)
      }
      if (first[0] !== 5) {
        asked.push(first.toString())
        if (refuse) socket.end('HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n')
        else forward('HTTP/1.1 200 OK\r\n\r\n')
        return
      }
      // SOCKS5: no authentication; then version, connect, 0, type 3 (a name), its length, the name, the port.
      socket.write(Buffer.from([5, 0]))
      socket.once('data', (request) => {
        asked.push(`${request[3]} ${request.subarray(5, 5 + (request[4] ?? 0)).toString()}`)
        forward(Buffer.from([5, 0, 0, 1, 0, 0, 0, 0, 0, 0]))
      })
    })
  })
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve))
  open.push({
    close: () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy()
        listener.close(() => resolve())
      }),
  })
  return { port: (listener.address() as net.AddressInfo).port, asked }
}

describe('ApiClient through a proxy', () => {
  const authority = makeCertificate('authority', { authority: true })
  const certificate = makeCertificate('server', { issuer: authority, dnsNames: ['kube.invalid'], ipAddresses: [] })

  function client(proxy: string): ApiClient {
    const api = new ApiClient({
      server: 'https://kube.invalid:6443',
      context: null,
      namespace: 'default',
      tls: { ca: authority.cert, rejectUnauthorized: true },
      proxy,
      timeoutMs: 10_000,
      compress: true,
      headers: {},
      credentials: async () => null,
    })
    open.push(api)
    return api
  }

  it('asks an HTTP proxy for a tunnel, with its password, and checks the server inside it', async () => {
    const server = await startServer(() => ({ body: { a: 1 } }), { server: certificate })
    open.push(server)
    const { port, asked } = await startProxy(server.port)
    expect(await client(`http://me:p%40ss@127.0.0.1:${port}`).get('/a')).toEqual({ status: 200, body: { a: 1 } })
    expect(asked[0]).toMatch(/^CONNECT kube.invalid:6443 HTTP\/1.1\r\n/)
    expect(asked[0]).toContain(`Basic ${Buffer.from('me:p@ss').toString('base64')}`)
  })

  it('lets a SOCKS proxy look up the name', async () => {
    const server = await startServer(() => ({ body: { a: 1 } }), { server: certificate })
    open.push(server)
    const { port, asked } = await startProxy(server.port)
    expect((await client(`socks5://127.0.0.1:${port}`).get('/a')).status).toBe(200)
    expect(asked).toEqual(['3 kube.invalid'])
  })

  it('names the proxy, but not its password, when it refuses', async () => {
    const { port } = await startProxy(1, true)
    const error: unknown = await client(`http://me:secret@127.0.0.1:${port}`)
      .get('/a')
      .catch((e: unknown) => e)
    expect(String(error)).toMatch(`through the proxy 127.0.0.1:${port}`)
    expect(String(error)).not.toMatch('secret')
  })
})
