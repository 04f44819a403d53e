import { afterEach, describe, expect, it } from 'vitest'
import { InputError, ServerError } from '../../src/cluster/errors.js'
import { KIND_NAMES, KINDS } from '../../src/cluster/kinds.js'
import { type OwnerWanted, type ReadOptions, readCluster } from '../../src/cluster/read.js'
import type { ClusterSnapshot, KindName } from '../../src/cluster/snapshot.js'
import {
  type Answer,
  emptyList,
  type Handler,
  type Recorded,
  recorded,
  startServer,
  type TestServer,
} from '../support/api-server.js'

const open: TestServer[] = []
afterEach(async () => {
  for (const server of open.splice(0)) await server.close()
})

function rootOf(kind: KindName): string {
  const { group, versions, plural } = KINDS[kind]
  return group === '' ? `/api/v1/${plural}` : `/apis/${group}/${versions[0]}/${plural}`
}

/** Empty lists of all kinds and a version, less what `special` answers itself. */
function cluster(special: Handler = () => undefined): Handler {
  const usual = new Map<string, Answer | Recorded>([
    ['/version', recorded('version')],
    ...KIND_NAMES.map((kind) => [rootOf(kind), emptyList(`${kind}List`)] as const),
  ])
  return (request, count) => special(request, count) ?? usual.get(request.url.split('?')[0] ?? '')
}

async function read(
  handler: Handler,
  options: Partial<ReadOptions> = {},
): Promise<{ snapshot: ClusterSnapshot; server: TestServer; lines: string[] }> {
  const server = await startServer(handler)
  open.push(server)
  const lines: string[] = []
  const snapshot = await readCluster({
    kinds: ['Node', 'Pod'],
    connection: { server: server.url },
    env: { HOME: '/nowhere' },
    debug: (line) => lines.push(line),
    ...options,
  })
  return { snapshot, server, lines }
}

const controllers = (snapshot: ClusterSnapshot): OwnerWanted[] =>
  snapshot.objects.Pod.flatMap((pod) =>
    (pod.metadata.ownerReferences ?? []).map((reference) => ({ namespace: pod.metadata.namespace, reference })),
  )

function pod(name: string, owner?: { apiVersion: string; kind: string; name: string }): object {
  return {
    metadata: {
      name,
      namespace: 'default',
      ...(owner === undefined ? {} : { ownerReferences: [{ ...owner, uid: 'u', controller: true }] }),
    },
  }
}

const podsOwnedBy = (...owners: { apiVersion: string; kind: string; name: string }[]): Answer => ({
  body: {
    kind: 'PodList',
    apiVersion: 'v1',
    metadata: {},
    items: owners.map((owner, index) => pod(`p${index}`, owner)),
  },
})

describe('readCluster from a server', () => {
  it('reads every kind asked for, and no other', async () => {
    const { snapshot, server } = await read(
      cluster(({ url }) =>
        url.startsWith('/api/v1/nodes') ? recorded('nodes') : url.includes('budgets') ? recorded('budgets') : undefined,
      ),
      { kinds: ['Node', 'Pod', 'PodDisruptionBudget'] },
    )
    expect(snapshot.source).toBe('server')
    expect(snapshot.serverVersion).toBe('v1.34.4')
    expect(snapshot.objects.Node.map((node) => node.metadata.name)).toEqual(['n1', 'n2'])
    expect(snapshot.objects.PodDisruptionBudget[0]?.spec?.selector).toEqual({})
    expect(snapshot.kinds.Node).toEqual({ state: 'read' })
    expect(snapshot.kinds.Pod).toEqual({ state: 'read' })
    expect(snapshot.kinds.PersistentVolume).toEqual({ state: 'not-asked' })
    expect(snapshot.warnings).toEqual([])
    expect(server.seen.map(({ url }) => url).sort()).toEqual([
      '/api/v1/nodes?limit=500',
      '/api/v1/pods?limit=500',
      '/apis/policy/v1/poddisruptionbudgets?limit=500',
      '/version',
    ])
  })

  it('follows the pages of a list', async () => {
    const { snapshot, server } = await read(
      cluster(({ url }) => {
        if (!url.startsWith('/api/v1/pods')) return undefined
        if (!url.includes('continue')) return recorded('pods-page-1')
        const page = recorded('pods-page-2').body as { metadata: object }
        return { body: { ...page, metadata: {} } }
      }),
    )
    expect(snapshot.objects.Pod.map(({ metadata }) => metadata.name)).toEqual(['lost', 'p0000', 'p0001', 'p0002'])
    const token = (recorded('pods-page-1').body as { metadata: { continue: string } }).metadata.continue
    const second = server.seen.filter(({ url }) => url.includes('continue'))
    expect(new URL(`http://x${second[0]?.url}`).searchParams.get('continue')).toBe(token)
  })

  it('begins a list anew whose token has run out, and keeps nothing of the first try', async () => {
    const { snapshot, server } = await read(
      cluster(({ url }, count) => {
        if (!url.startsWith('/api/v1/pods')) return undefined
        if (url.includes('continue')) return recorded('list-expired')
        return count === 0
          ? recorded('pods-page-1')
          : { body: { kind: 'PodList', apiVersion: 'v1', metadata: {}, items: [pod('only')] } }
      }),
    )
    expect(snapshot.objects.Pod.map(({ metadata }) => metadata.name)).toEqual(['only'])
    expect(snapshot.warnings).toEqual(['the list of pods took so long that it had to be begun anew'])
    expect(server.seen.filter(({ url }) => url.startsWith('/api/v1/pods'))).toHaveLength(3)
  })

  it('asks for the whole list at once when the token runs out again', async () => {
    const { snapshot } = await read(
      cluster(({ url }) => {
        if (!url.startsWith('/api/v1/pods')) return undefined
        if (url.includes('continue')) return recorded('list-expired')
        if (!url.includes('limit=0')) return recorded('pods-page-1')
        return { body: { kind: 'PodList', apiVersion: 'v1', metadata: {}, items: [pod('a'), pod('b')] } }
      }),
    )
    expect(snapshot.objects.Pod).toHaveLength(2)
    expect(snapshot.kinds.Pod).toEqual({ state: 'read' })
  })

  it('says which verb on what is missing, and reads on', async () => {
    const { snapshot } = await read(
      cluster(({ url }) =>
        url.includes('/persistentvolumes?')
          ? recorded('list-forbidden')
          : url.includes('budgets')
            ? recorded('list-forbidden-group')
            : undefined,
      ),
      { kinds: ['Node', 'Pod', 'PersistentVolume', 'PodDisruptionBudget'] },
    )
    expect(snapshot.kinds.PersistentVolume).toEqual({
      state: 'failed',
      forbidden: true,
      reason:
        'list persistentvolumes is forbidden for user "alice" (cluster scope): needs verb list on resource persistentvolumes',
    })
    expect(snapshot.kinds.PodDisruptionBudget).toMatchObject({
      reason: expect.stringContaining('needs verb list on resource poddisruptionbudgets.policy'),
    })
  })

  it.each([
    ['pods', '/api/v1/pods'],
    ['nodes', '/api/v1/nodes'],
  ])('ends when %s can not be listed', async (resource, path) => {
    const refused = recorded('list-forbidden')
    const error = await read(cluster(({ url }) => (url.startsWith(path) ? refused : undefined))).catch(
      (e: unknown) => e,
    )
    expect(error).toBeInstanceOf(ServerError)
    expect((error as ServerError).message).toMatch(`list ${resource} is forbidden for user "alice" (cluster scope)`)
    expect((error as ServerError).suggestions[0]).toMatch(`kubectl auth can-i list ${resource} -A`)
  })

  it('names nodes first when both are refused, whichever answer comes first', async () => {
    const error = await read(
      cluster(({ url }) => (url.startsWith('/api') ? recorded('list-forbidden') : undefined)),
    ).catch((e: unknown) => e)
    expect((error as Error).message).toMatch(/list nodes is forbidden/)
  })

  it('takes a group the server does not have for one without objects, an older version for the newer', async () => {
    const { snapshot } = await read(
      cluster(({ url }) => {
        if (url.startsWith('/apis/storage.k8s.io/v1/csistoragecapacities')) return recorded('list-not-found')
        if (url.startsWith('/apis/storage.k8s.io/v1beta1/csistoragecapacities')) {
          return {
            body: {
              kind: 'CSIStorageCapacityList',
              apiVersion: 'storage.k8s.io/v1beta1',
              items: [{ metadata: { name: 'c', namespace: 'x' }, storageClassName: 's', capacity: '1Gi' }],
            },
          }
        }
        return url.includes('csidrivers') ? recorded('list-not-found') : undefined
      }),
      { kinds: ['Node', 'Pod', 'CSIDriver', 'CSIStorageCapacity'] },
    )
    expect(snapshot.kinds.CSIDriver).toEqual({ state: 'read' })
    expect(snapshot.objects.CSIStorageCapacity[0]?.capacity).toBe('1Gi')
  })

  it('takes what is no list for a failure, never for an empty cluster', async () => {
    for (const body of [{}, 'text', { kind: 'PodList', items: 'none' }, [], 7]) {
      const error = await read(cluster(({ url }) => (url.startsWith('/api/v1/pods') ? { body } : undefined))).catch(
        (e: unknown) => e,
      )
      expect(error).toBeInstanceOf(ServerError)
    }
  })

  it('tells a wrong address from a cluster', async () => {
    const error = await read(() => undefined).catch((e: unknown) => e)
    expect((error as Error).message).toMatch(/answers like no Kubernetes API server \(status 404 for its nodes\)/)
  })

  it('does without a version that is kept secret', async () => {
    const { snapshot } = await read(cluster(({ url }) => (url === '/version' ? recorded('list-forbidden') : undefined)))
    expect(snapshot.serverVersion).toBeNull()
    expect(snapshot.warnings).toEqual(['the server does not tell its version (GET /version: 403)'])
  })

  it('leaves the other kinds when the list of one hangs', async () => {
    const server = await startServer(
      cluster(({ url }) => (url.startsWith(rootOf('CSINode')) ? { silent: true } : undefined)),
    )
    open.push(server)
    const snapshot = await readCluster({
      kinds: ['Node', 'Pod', 'CSINode'],
      connection: { server: server.url, requestTimeout: '1s' },
      env: { HOME: '/nowhere' },
    })
    expect(snapshot.kinds.Node).toEqual({ state: 'read' })
    expect(snapshot.kinds.CSINode).toEqual({
      state: 'failed',
      forbidden: false,
      reason: `list csinodes.storage.k8s.io failed: ${server.url} can't be reached: no answer within the 1 s of --request-timeout`,
    })
  })

  it('ends all requests when one fails for good', async () => {
    const started = Date.now()
    const error = await read(
      cluster(({ url }) => (url === '/version' ? recorded('unauthorized') : { silent: true })),
    ).catch((e: unknown) => e)
    expect((error as Error).message).toMatch(/refuses the credentials/)
    expect(Date.now() - started).toBeLessThan(10_000)
  })

  it('ends with the reason of the caller', async () => {
    const stop = new AbortController()
    setTimeout(() => stop.abort(new Error('Ctrl-C')), 30)
    await expect(read(() => ({ silent: true }), { signal: stop.signal })).rejects.toThrow('Ctrl-C')
  })

  it('counts values of a wrong type instead of falling over them', async () => {
    const { snapshot } = await read(
      cluster(({ url }) =>
        url.startsWith('/api/v1/pods')
          ? {
              body: {
                kind: 'PodList',
                apiVersion: 'v1',
                items: [{ metadata: { name: 'a', namespace: 'n', labels: [] } }, null, {}],
              },
            }
          : undefined,
      ),
    )
    expect(snapshot.objects.Pod).toEqual([{ kind: 'Pod', metadata: { name: 'a', namespace: 'n' } }])
    expect(snapshot.warnings).toEqual([
      '2 objects without a name passed over',
      'Pod n/a: values of a wrong type in it were converted or passed over',
    ])
  })
})

describe('owners from a server', () => {
  const custom: Handler = ({ url }) => {
    switch (url) {
      case '/apis/apps/v1/namespaces/default/statefulsets/pg':
        return recorded('statefulset')
      case '/apis/db.example.com/v1':
        return recorded('discovery-custom')
      case '/apis/db.example.com/v1/namespaces/default/clusters/pg':
        return recorded('custom-owner')
      default:
        return undefined
    }
  }
  const statefulSet = { apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'pg' }

  it('follows the chain up to a custom resource, asking for each once', async () => {
    const { snapshot, server } = await read(
      cluster((request, count) =>
        request.url.startsWith('/api/v1/pods') ? podsOwnedBy(statefulSet, statefulSet) : custom(request, count),
      ),
      { ownersOf: controllers },
    )
    expect(
      snapshot.owners.map(({ apiVersion, kind, metadata, spec }) => [apiVersion, kind, metadata.name, spec]),
    ).toEqual([
      ['db.example.com/v1', 'Cluster', 'pg', { suspend: false }],
      ['apps/v1', 'StatefulSet', 'pg', { replicas: 2 }],
    ])
    expect(snapshot.ownerKinds).toEqual({
      'Cluster.db.example.com': { state: 'read' },
      'StatefulSet.apps': { state: 'read' },
    })
    expect(server.seen.filter(({ url }) => url.includes('/pg')).map(({ url }) => url)).toHaveLength(2)
  })

  it('tells an owner that is gone from one that may not be read and one whose kind the server does not have', async () => {
    const { snapshot } = await read(
      cluster(({ url }) => {
        if (url.startsWith('/api/v1/pods')) {
          return podsOwnedBy(
            { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'gone' },
            { apiVersion: 'batch/v1', kind: 'Job', name: 'secret' },
            { apiVersion: 'nowhere.example.com/v1', kind: 'Thing', name: 't' },
            { apiVersion: 'db.example.com/v1', kind: 'NoSuchKind', name: 't' },
            { apiVersion: 'v1', kind: 'Node', name: 'n1' },
          )
        }
        if (url.includes('/replicasets/gone')) return recorded('get-not-found')
        if (url.includes('/jobs/')) return recorded('get-forbidden')
        if (url === '/apis/nowhere.example.com/v1') return recorded('group-not-found')
        return url === '/apis/db.example.com/v1' ? recorded('discovery-custom') : undefined
      }),
      { ownersOf: controllers },
    )
    expect(snapshot.owners).toEqual([])
    expect(snapshot.ownerKinds).toEqual({
      'Job.batch': {
        state: 'failed',
        forbidden: true,
        reason:
          'get jobs.batch is forbidden for user "alice" (namespace default): needs verb get on resource jobs.batch',
      },
      'NoSuchKind.db.example.com': { state: 'absent' },
      'ReplicaSet.apps': { state: 'read' },
      'Thing.nowhere.example.com': { state: 'absent' },
    })
  })

  it('keeps an owner that has another uid than the reference', async () => {
    const { snapshot } = await read(
      cluster((request, count) =>
        request.url.startsWith('/api/v1/pods') ? podsOwnedBy(statefulSet) : custom(request, count),
      ),
      {
        ownersOf: (read) =>
          controllers(read).map((owner) => ({ ...owner, reference: { ...owner.reference, uid: 'other' } })),
      },
    )
    expect(snapshot.owners.some(({ kind }) => kind === 'StatefulSet')).toBe(true)
  })

  it('ends with owners that own each other, and never lets a reference choose a path', async () => {
    const ring = (name: string, next: string): Answer => ({
      body: {
        apiVersion: 'apps/v1',
        kind: 'Deployment',
        ...pod(name, { apiVersion: 'apps/v1', kind: 'Deployment', name: next }),
      },
    })
    const { snapshot, server } = await read(
      cluster(({ url }) => {
        if (url.startsWith('/api/v1/pods')) {
          return podsOwnedBy(
            { apiVersion: 'apps/v1', kind: 'Deployment', name: 'a' },
            { apiVersion: '../../api/v1/secrets', kind: 'Secret', name: 's' },
            { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: '../../x?y' },
            { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: '..' },
          )
        }
        if (url.endsWith('/deployments/a')) return ring('a', 'b')
        return url.endsWith('/deployments/b') ? ring('b', 'a') : undefined
      }),
      { ownersOf: controllers },
    )
    expect(snapshot.owners.map(({ metadata }) => metadata.name)).toEqual(['a', 'b'])
    expect(server.seen.map(({ url }) => url).filter((url) => url.includes('secret'))).toEqual([])
    expect(
      server.seen
        .map(({ url }) => url)
        .filter((url) => url.startsWith('/apis'))
        .sort(),
    ).toEqual([
      '/apis/apps/v1/namespaces/default/deployments/a',
      '/apis/apps/v1/namespaces/default/deployments/b',
      '/apis/apps/v1/namespaces/default/replicasets/..%2F..%2Fx%3Fy',
    ])
  })
})

describe('readCluster', () => {
  it('refuses a kubeconfig that is not there before it asks anything', async () => {
    await expect(
      readCluster({ kinds: ['Node'], connection: { kubeconfig: '/nowhere/config' }, env: {} }),
    ).rejects.toBeInstanceOf(InputError)
  })
})
