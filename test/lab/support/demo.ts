/** The cluster that ships with the package (`--from demo`), recorded in this lab: `npm run lab:demo` in a lab that is up. */
import { KIND_NAMES, KINDS } from '../../../src/cluster/kinds.js'
import { readCluster } from '../../../src/cluster/read.js'
import type { KindName } from '../../../src/cluster/snapshot.js'
import { controllerOf } from '../../../src/drain/rules/drain-filters.js'
import type { Lab } from './lab.js'

/** One pod of each fate, a disk of its own, and S3 through FUSE. */
const DEMO_SCENES = ['cache', 'db', 'reports', 'debug-shell', 'node-agent', 'media', 'web']

/**
 * Sets the scenes up in a lab as it came up, and records what the plugin reads of a cluster, and nothing else: no Secrets, Events,
 * ConfigMaps or managed fields. Lists in JSON, one after the other; a kind of which there is none is an empty list, so that this is
 * a fact of the cluster and no gap of the recording.
 */
export async function recordDemo(lab: Lab): Promise<string> {
  await lab.reset()
  for (const name of DEMO_SCENES) await lab.start(name)
  const snapshot = await readCluster({
    kinds: KIND_NAMES,
    ownersOf: ({ objects }) =>
      objects.Pod.flatMap((pod) => {
        const reference = controllerOf(pod)
        return reference === undefined ? [] : [{ namespace: pod.metadata.namespace, reference }]
      }),
    connection: { kubeconfig: lab.kubeconfig },
    env: {},
  })
  if (snapshot.warnings.length > 0) throw new Error(snapshot.warnings.join('\n'))

  const apiVersionOf = (kind: KindName) =>
    [KINDS[kind].group, KINDS[kind].versions[0]].filter((part) => part !== '').join('/')
  const listed = KIND_NAMES.flatMap((kind) =>
    snapshot.objects[kind].map((item) => ({ apiVersion: apiVersionOf(kind), ...item })),
  )
  const lines = [...listed, ...snapshot.owners].map((item) => JSON.stringify(item))
  const empty = KIND_NAMES.filter((kind) => snapshot.objects[kind].length === 0).map((kind) =>
    JSON.stringify({ apiVersion: apiVersionOf(kind), kind: `${kind}List`, items: [] }),
  )
  const list = `{"apiVersion":"v1","kind":"List","items":[\n${lines.join(',\n')}\n]}`
  // One JSON value, so that reading it is one JSON.parse.
  return `[${[list, ...empty].join(',\n')}]\n`
}

interface Item {
  kind: string
  metadata: { name: string; namespace?: string; ownerReferences?: { kind: string; name: string }[] }
  status?: object
}

/** What a node has is what the machine has that the lab runs on. */
function withoutSize(item: Item): object {
  if (item.kind !== 'Node') return item
  return { ...item, status: { ...item.status, capacity: 'capacity', allocatable: 'allocatable' } }
}

/**
 * A recording without what is another in each: names that are made up by controllers, times, ids, and how large the machine is.
 * Items in the order of what is left.
 */
export function comparable(recording: string): string[] {
  const [list, ...empty] = JSON.parse(recording) as [{ items: Item[] }, ...Item[]]
  const { items } = list
  const madeUp = items.flatMap(({ kind, metadata: { name, ownerReferences = [] } }) => {
    const by = ownerReferences.find((owner) => owner.kind === 'ReplicaSet' || owner.kind === 'DaemonSet')
    return kind === 'Pod' && by !== undefined ? [[name, `${by.name}-xxxxx`] as const] : []
  })
  const text = (item: Item) => {
    let line = JSON.stringify(withoutSize(item), (key, value: unknown) => (key === 'resourceVersion' ? key : value))
    for (const [name, general] of madeUp) line = line.replaceAll(`"${name}"`, `"${general}"`)
    return line
      .replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, 'UUID')
      .replace(/kube-api-access-[a-z0-9]{5}/g, 'kube-api-access-xxxxx')
      .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/g, 'TIME')
  }
  return [...items, ...empty].map(text).sort()
}
