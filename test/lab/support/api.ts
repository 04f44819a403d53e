/**
 * Requests to the lab's API server over one kept connection. kubectl costs a tenth of a second of processor time a call; what asks
 * again and again asks here.
 */
import { readFileSync } from 'node:fs'
import { Agent, request } from 'node:https'
import { join } from 'node:path'
import { type Folders, GATEWAY, PORTS } from './config.js'

export class Api {
  private readonly agent: Agent

  constructor(at: Folders) {
    const file = (name: string) => readFileSync(join(at.pki, name))
    this.agent = new Agent({
      keepAlive: true,
      maxSockets: 16,
      ca: file('ca.crt'),
      cert: file('admin.crt'),
      key: file('admin.key'),
    })
  }

  async get<T>(path: string): Promise<T> {
    return (await this.send('GET', path)) as T
  }

  /** Resolves also when the object is not there any more. */
  async delete(path: string, gracePeriodSeconds?: number): Promise<void> {
    const body = { kind: 'DeleteOptions', apiVersion: 'v1', gracePeriodSeconds, propagationPolicy: 'Background' }
    await this.send('DELETE', path, body, 'application/json', [404, 409])
  }

  async patch(path: string, body: object): Promise<void> {
    await this.send('PATCH', path, body, 'application/merge-patch+json', [404])
  }

  async put(path: string, body: object): Promise<void> {
    await this.send('PUT', path, body, 'application/json', [404, 409])
  }

  private send(
    method: string,
    path: string,
    body?: object,
    type = 'application/json',
    alsoRight: number[] = [],
  ): Promise<unknown> {
    const content = body === undefined ? '' : JSON.stringify(body)
    return new Promise((resolve, reject) => {
      const options = {
        host: GATEWAY,
        port: PORTS['API server'],
        method,
        path,
        agent: this.agent,
        // Node gives a DELETE no length by itself, and its body would be read as the next request.
        headers: { 'content-type': type, 'content-length': Buffer.byteLength(content) },
        timeout: 20_000,
      }
      const sent = request(options, (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('error', reject)
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString('utf8')
          const status = response.statusCode ?? 0
          if (status >= 300 && !alsoRight.includes(status)) reject(new Error(`${method} ${path}: ${status} ${text}`))
          else resolve(JSON.parse(text))
        })
      })
      sent.on('timeout', () => sent.destroy(new Error(`${method} ${path}: no answer in 20 s`)))
      sent.on('error', reject)
      sent.end(content)
    })
  }
}
