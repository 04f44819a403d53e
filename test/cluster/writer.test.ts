import { readFileSync } from 'node:fs'
import { afterEach, describe, expect, it } from 'vitest'
import { NoAnswerError, RefusedError, ServerError } from '../../src/cluster/errors.js'
import { type Manifest, type OpenCluster, openCluster } from '../../src/cluster/writer.js'
import { type Handler, type Recorded, startServer, type TestServer } from '../support/api-server.js'

const open: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const thing of open.splice(0)) await thing.close()
})

function answer(name: string): Recorded {
  return JSON.parse(readFileSync(new URL(`../fixtures/pod-jobs/${name}.json`, import.meta.url), 'utf8'))
}

async function cluster(handler: Handler): Promise<OpenCluster & { server: TestServer }> {
  const server = await startServer(handler)
  const made = await openCluster({ connection: { server: server.url, namespace: 'nodes' }, env: { HOME: '/nowhere' } })
  open.push(made, server)
  return { ...made, server }
}

async function refusal(promise: Promise<unknown>): Promise<RefusedError> {
  const error = await promise.then(
    () => null,
    (reason: unknown) => reason,
  )
  expect(error).toBeInstanceOf(RefusedError)
  return error as RefusedError
}

const found = { ...answer('job-created'), status: 200 }

const job: Manifest = {
  apiVersion: 'batch/v1',
  kind: 'Job',
  metadata: { name: 'kubectl-storage-a1b2c3d4e5-n1-676b8bb8', labels: { 'kubectl-storage/sweep': 'a1b2c3d4e5' } },
}

describe('openCluster', () => {
  it('gives reads, writes and the namespace', async () => {
    const { client, namespace } = await cluster(() => answer('node-not-ready'))
    expect(namespace).toBe('nodes')
    expect((await client.get('/api/v1/nodes/n1')).status).toBe(200)
  })
})

describe('deletePod', () => {
  it('names the uid, so that only this very pod goes', async () => {
    const { writer, server } = await cluster(() => answer('pod-deleted'))
    expect(await writer.deletePod('nodes', 'a', 'uid-1')).toBe('deleting')
    expect(server.seen.map(({ method, url, body }) => [method, url, body])).toEqual([
      [
        'DELETE',
        '/api/v1/namespaces/nodes/pods/a',
        { kind: 'DeleteOptions', apiVersion: 'v1', preconditions: { uid: 'uid-1' } },
      ],
    ])
  })

  it.each(['pod-delete-not-found', 'pod-delete-other-uid'])('takes %s for gone', async (name) => {
    const { writer } = await cluster(() => answer(name))
    expect(await writer.deletePod('nodes', 'a', 'uid-1')).toBe('already-gone')
  })

  it('may be sent again when the connection was lost', async () => {
    const { writer, server } = await cluster((_, count) =>
      count === 0 ? { hangUp: true } : answer('pod-delete-not-found'),
    )
    expect(await writer.deletePod('nodes', 'a', 'uid-1')).toBe('already-gone')
    expect(server.seen).toHaveLength(2)
  })

  it('lets no name become a step of the path', async () => {
    const { writer, server } = await cluster(() => answer('pod-deleted'))
    await refusal(Promise.resolve().then(() => writer.deletePod('nodes', '..', 'u')))
    await writer.deletePod('a/b', 'c?d', 'u')
    expect(server.seen.map(({ url }) => url)).toEqual(['/api/v1/namespaces/a%2Fb/pods/c%3Fd'])
  })
})

describe('createJob', () => {
  it('gives the uid', async () => {
    const { writer, server } = await cluster(() => answer('job-created'))
    const { uid } = (answer('job-created').body as { metadata: { uid: string } }).metadata
    expect(await writer.createJob('nodes', job)).toEqual({ name: job.metadata.name, uid })
    expect(server.seen[0]).toMatchObject({ method: 'POST', url: '/apis/batch/v1/namespaces/nodes/jobs', body: job })
  })

  it.each<[string, Handler]>([
    ['no answer came', ({ method }) => (method === 'POST' ? { hangUp: true } : found)],
    ['it is there already', ({ method }) => (method === 'POST' ? answer('job-exists') : found)],
  ])('looks its Job up when %s, and never creates twice', async (_, handler) => {
    const { writer, server } = await cluster(handler)
    expect((await writer.createJob('nodes', job)).uid).not.toBe('')
    expect(server.seen.map(({ method }) => method)).toEqual(['POST', 'GET'])
  })

  it('does not take a Job of somebody else for its own', async () => {
    const { writer } = await cluster(({ method }) => (method === 'POST' ? answer('job-exists') : found))
    const other = { ...job, metadata: { ...job.metadata, labels: { 'kubectl-storage/sweep': 'other' } } }
    expect((await refusal(writer.createJob('nodes', other))).status).toBe(409)
  })

  it('leaves it open when no answer came and the Job can not be seen', async () => {
    const { writer } = await cluster(({ method }) => (method === 'POST' ? { hangUp: true } : undefined))
    await expect(writer.createJob('nodes', job)).rejects.toBeInstanceOf(NoAnswerError)
  })

  it('names the right that is missing', async () => {
    const { writer } = await cluster(() => answer('job-forbidden'))
    const error = await refusal(writer.createJob('nodes', job))
    expect(error.message).toMatch(
      /^create jobs\.batch kubectl-storage-\S+ in namespace nodes: jobs\.batch is forbidden: User "alice"/,
    )
    expect(error.suggestions).toEqual([
      'ask an administrator for verb create on resource jobs.batch; to check: kubectl auth can-i create jobs.batch -n nodes',
    ])
  })
})

describe('deleteJob', () => {
  it('takes the pods along', async () => {
    const { writer, server } = await cluster(() => answer('job-deleted'))
    expect(await writer.deleteJob('nodes', 'j', 'u')).toBe('deleting')
    expect(server.seen[0]?.body).toEqual({
      kind: 'DeleteOptions',
      apiVersion: 'v1',
      propagationPolicy: 'Background',
      preconditions: { uid: 'u' },
    })
  })

  it('takes another uid for gone, but only when it asked for one', async () => {
    const { writer } = await cluster(() => answer('job-delete-other-uid'))
    expect(await writer.deleteJob('nodes', 'j', 'u')).toBe('already-gone')
    expect((await refusal(writer.deleteJob('nodes', 'j'))).status).toBe(409)
  })
})

describe('createServerDryRun', () => {
  it('keeps nothing, and hears warnings', async () => {
    const { writer, server } = await cluster(() => answer('dry-run-pod-security-warns'))
    const { warnings } = await writer.createServerDryRun('warned', 'pods', job)
    expect(server.seen[0]?.url).toBe('/api/v1/namespaces/warned/pods?dryRun=All')
    expect(warnings).toEqual([
      'would violate PodSecurity "baseline:latest": host namespaces (hostNetwork=true, hostPID=true), ' +
        'privileged (container "ask" must not set securityContext.privileged=true)',
    ])
  })

  it('tells a refusal of admission from a missing right', async () => {
    const { writer } = await cluster(({ url }) =>
      answer(url.includes('/strict/') ? 'dry-run-pod-security' : 'dry-run-no-right'),
    )
    const admission = await refusal(writer.createServerDryRun('strict', 'pods', job))
    expect(admission.words).toMatch(/violates PodSecurity "restricted:latest"/)
    expect(admission.suggestions).toEqual([])
    const right = await refusal(writer.createServerDryRun('nodes', 'pods', job))
    expect(right.suggestions).toEqual([expect.stringContaining('can-i create pods -n nodes')])
  })
})

describe('podLogs', () => {
  it('asks for one byte more than may be, so that a cut log is not taken for a whole one', async () => {
    const { writer, server } = await cluster(({ url }) => ({ body: url.includes('/long/') ? 'x'.repeat(11) : 'xyz' }))
    expect(await writer.podLogs('nodes', 'p', { container: 'ask', maxBytes: 10 })).toEqual(Buffer.from('xyz'))
    expect(server.seen[0]?.url).toBe('/api/v1/namespaces/nodes/pods/p/log?container=ask&limitBytes=11')
    await expect(writer.podLogs('nodes', 'long', { maxBytes: 10 })).rejects.toBeInstanceOf(ServerError)
  })

  it('gives the server’s words when there is none', async () => {
    const { writer } = await cluster(() => answer('pod-log-not-started'))
    const error = await refusal(writer.podLogs('nodes', 'p', { maxBytes: 10 }))
    expect([error.status, error.words]).toEqual([500, 'no preferred addresses found; known addresses: []'])
  })
})
