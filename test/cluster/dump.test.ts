import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { InputError } from '../../src/cluster/errors.js'
import { KIND_NAMES } from '../../src/cluster/kinds.js'
import { readCluster } from '../../src/cluster/read.js'
import type { ClusterSnapshot } from '../../src/cluster/snapshot.js'

let root: string
let folder: string
let number = 0

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'dump-'))
})
afterAll(async () => {
  await rm(root, { recursive: true, force: true })
})
beforeEach(async () => {
  folder = join(root, String(number++))
  await mkdir(folder)
})

async function file(name: string, content: unknown): Promise<string> {
  const path = join(folder, name)
  await mkdir(dirname(path), { recursive: true })
  await writeFile(
    path,
    Buffer.isBuffer(content) ? content : typeof content === 'string' ? content : JSON.stringify(content),
  )
  return path
}

async function read(...from: string[]): Promise<ClusterSnapshot> {
  return readCluster({ from, kinds: [] })
}

async function problem(...from: string[]): Promise<InputError> {
  const error: unknown = await read(...from).catch((e: unknown) => e)
  expect(error).toBeInstanceOf(InputError)
  return error as InputError
}

const names = (objects: { metadata: { namespace?: string; name: string } }[]): string[] =>
  objects.map(({ metadata: { namespace, name } }) => (namespace === undefined ? name : `${namespace}/${name}`))

const node = (name: string, more: object = {}): object => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name, ...more },
})
const pod = (name: string, more: object = {}): object => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace: 'n', ...more },
})
const list = (...items: unknown[]): object => ({
  apiVersion: 'v1',
  kind: 'List',
  metadata: { resourceVersion: '' },
  items,
})

describe('forms of dumps', () => {
  it('a List as kubectl get -o yaml writes it', async () => {
    const snapshot = await read(fileURLToPath(new URL('../fixtures/seed-lab/before-drain.yaml', import.meta.url)))
    expect(snapshot.source).toBe('dump')
    expect(snapshot.serverVersion).toBeNull()
    expect(names(snapshot.objects.Node)).toEqual(['k8s-node-1', 'k8s-node-2', 'master'])
    expect(snapshot.objects.Pod).toHaveLength(8)
    expect(names(snapshot.objects.PersistentVolumeClaim)).toEqual(['demo/cache', 'demo/db', 'demo/reports'])
    expect(snapshot.kinds.PodDisruptionBudget).toEqual({ state: 'read' })
    expect(snapshot.kinds.CSIDriver).toEqual({ state: 'absent' })
    expect(snapshot.owners.map(({ kind, metadata }) => `${kind}/${metadata.name}`)).toEqual([
      'DaemonSet/node-agent',
      'Deployment/cache',
      'Deployment/web',
      'ReplicaSet/cache-7c7564cb5b',
      'ReplicaSet/web-7d6b86d545',
      'StatefulSet/reports',
    ])
    expect(snapshot.ownerKinds).toEqual({
      'DaemonSet.apps': { state: 'read' },
      'Deployment.apps': { state: 'read' },
      'ReplicaSet.apps': { state: 'read' },
      'StatefulSet.apps': { state: 'read' },
    })
    expect(snapshot.warnings).toEqual([])
    expect(JSON.stringify(snapshot)).not.toMatch(/managedFields|BEGIN CERTIFICATE/)
  })

  it.each([
    ['a List in JSON', list(node('a'), node('b'))],
    [
      'a typed list whose items name no kind',
      { apiVersion: 'v1', kind: 'NodeList', items: [{ metadata: { name: 'a' } }, { metadata: { name: 'b' } }] },
    ],
    ['an array, as jq -s makes it', [node('a'), list(node('b'))]],
    ['JSON documents one after the other', `${JSON.stringify(node('a'), null, 2)}\n${JSON.stringify(node('b'))}\n`],
    [
      'JSON documents without anything between them',
      JSON.stringify(node('a')) + JSON.stringify(node('b', { labels: { x: '}"{\\"' } })),
    ],
    [
      'YAML documents',
      'apiVersion: v1\nkind: Node\nmetadata: {name: a}\n---\n---\napiVersion: v1\nkind: Node\nmetadata:\n  name: b\n...\n',
    ],
    [
      'Windows line ends',
      'apiVersion: v1\r\nkind: List\r\nitems:\r\n- apiVersion: v1\r\n  kind: Node\r\n  metadata: {name: a}\r\n- {apiVersion: v1, kind: Node, metadata: {name: b}}\r\n',
    ],
    ['a byte order mark', `\uFEFF${JSON.stringify(list(node('a'), node('b')))}`],
    ['UTF-16 as PowerShell writes it', Buffer.from(`\uFEFF${JSON.stringify(list(node('a'), node('b')))}`, 'utf16le')],
    ['UTF-16, big end first', Buffer.from(`\uFEFF${JSON.stringify(list(node('a'), node('b')))}`, 'utf16le').swap16()],
    ['UTF-16 without a mark', Buffer.from(JSON.stringify(list(node('a'), node('b'))), 'utf16le')],
    ['gzip', gzipSync(JSON.stringify(list(node('a'), node('b'))))],
    [
      'JSON that only YAML forgives',
      '{apiVersion: v1, kind: List, items: [\n# comment\n{apiVersion: v1, kind: Node, metadata: {name: a}}, {apiVersion: v1, kind: Node, metadata: {name: b}},]}',
    ],
  ])('%s', async (_, content) => {
    expect(names((await read(await file('x', content))).objects.Node)).toEqual(['a', 'b'])
  })

  it('a cluster-info dump folder, logs passed over', async () => {
    await file('d/nodes.json', { apiVersion: 'v1', kind: 'NodeList', items: [{ metadata: { name: 'a' } }] })
    await file('d/kube-system/pods.json', {
      apiVersion: 'v1',
      kind: 'PodList',
      items: [{ metadata: { name: 'p', namespace: 'kube-system' } }],
    })
    await file('d/kube-system/p/logs.txt', '==== START logs ====')
    await file('d/kube-system/daemonsets.json', { apiVersion: 'apps/v1', kind: 'DaemonSetList', items: [] })
    await file('d/demo/pods.yaml', 'apiVersion: v1\nkind: PodList\nitems: []\n')
    await file('d/demo/events.json', { apiVersion: 'v1', kind: 'EventList', items: [{ metadata: { name: 'e' } }] })
    await file('d/.git/config.json', 'not JSON')
    const snapshot = await read(join(folder, 'd'))
    expect(names(snapshot.objects.Node)).toEqual(['a'])
    expect(names(snapshot.objects.Pod)).toEqual(['kube-system/p'])
    expect(snapshot.ownerKinds).toEqual({ 'DaemonSet.apps': { state: 'read' } })
    expect(snapshot.owners).toEqual([])
    expect(snapshot.warnings).toEqual([])
  })

  it('a folder with other files in it, and links that lead back to it', async () => {
    await file('d/nodes.yml', list(node('a')))
    await file('d/sub/more.json.gz', gzipSync(JSON.stringify(pod('p'))))
    await file('d/package.json', { name: 'x' })
    await file('d/readme.md', '# x')
    await symlink(join(folder, 'd'), join(folder, 'd', 'sub', 'loop'))
    const snapshot = await read(join(folder, 'd'))
    expect([names(snapshot.objects.Node), names(snapshot.objects.Pod)]).toEqual([['a'], ['n/p']])
    expect(snapshot.warnings).toEqual([`${join(folder, 'd', 'package.json')}: passed over, no Kubernetes object in it`])
  })

  it('standard input, files and folders together', async () => {
    const stdin = Readable.from([Buffer.from(JSON.stringify(list(node('a'), pod('p'))))])
    const snapshot = await readCluster({ from: ['-', await file('b.json', node('b'))], stdin, kinds: [] })
    expect([names(snapshot.objects.Node), names(snapshot.objects.Pod)]).toEqual([['a', 'b'], ['n/p']])
  })

  it('what cluster-info dump prints, logs between the lists', async () => {
    const log = (name: string, text: string) =>
      `==== START logs for container ${name} of pod n/p ====\n${text}==== END logs for container ${name} of pod n/p ====\n`
    const path = await file(
      'printed',
      `${JSON.stringify(list(node('a')), null, 4)}\n${log('one', '{"kind": "Node"\n')}${log('two', 'no newline')}${JSON.stringify(list(pod('p')))}\n`,
    )
    const snapshot = await read(path)
    expect([names(snapshot.objects.Node), names(snapshot.objects.Pod)]).toEqual([['a'], ['n/p']])
  })

  it('demo, a cluster of the lab with everything that is read of one', async () => {
    const demo = await read('demo')
    expect(names(demo.objects.Node)).toEqual(['k8s-node-1', 'k8s-node-2', 'master'])
    expect(names(demo.objects.PersistentVolumeClaim)).toEqual(['demo/cache', 'demo/db', 'demo/media', 'demo/reports'])
    expect(demo.warnings).toEqual([])
    expect(KIND_NAMES.filter((kind) => demo.kinds[kind].state !== 'read')).toEqual([])
  })
})

describe('merging', () => {
  it('of two objects of one name the later counts; different uids are told', async () => {
    const first = await file(
      '1',
      list(node('a', { labels: { v: '1' } }), pod('p', { uid: '1' }), pod('q', { uid: '1' })),
    )
    const second = await file(
      '2',
      list(node('a', { labels: { v: '2' } }), pod('p', { uid: '2' }), pod('q', { uid: '1' })),
    )
    const snapshot = await read(first, second)
    expect(snapshot.objects.Node[0]?.metadata.labels).toEqual({ v: '2' })
    expect(snapshot.objects.Pod.map(({ metadata }) => metadata.uid)).toEqual(['2', '1'])
    expect(snapshot.warnings).toEqual(['Pod n/p: given more than once with different uids; the later one counts'])
    expect((await read(second, first)).objects.Node[0]?.metadata.labels).toEqual({ v: '1' })
  })

  it('the same file twice is read once, and order does not show', async () => {
    const path = await file('1', list(node('b'), node('a'), pod('z'), pod('b')))
    const snapshot = await read(path, path)
    expect([names(snapshot.objects.Node), names(snapshot.objects.Pod)]).toEqual([
      ['a', 'b'],
      ['n/b', 'n/z'],
    ])
  })
})

describe('what a dump says of a kind', () => {
  it('an explicit empty list means none, an empty List says nothing', async () => {
    const { kinds } = await read(
      await file('1', { apiVersion: 'v1', kind: 'PodList', items: null }),
      await file('2', list()),
    )
    expect(kinds.Pod).toEqual({ state: 'read' })
    expect(kinds.Node).toEqual({ state: 'absent' })
  })

  it('the group counts: a Node of Longhorn is none of Kubernetes', async () => {
    const snapshot = await read(
      await file('1', list({ apiVersion: 'longhorn.io/v1beta2', kind: 'Node', metadata: { name: 'a' } })),
    )
    expect(snapshot.kinds.Node).toEqual({ state: 'absent' })
    expect(snapshot.ownerKinds).toEqual({ 'Node.longhorn.io': { state: 'read' } })
  })

  it('keeps no Secret, ConfigMap, Event, Lease or metrics', async () => {
    const kinds = [
      ['v1', 'Secret'],
      ['v1', 'ConfigMap'],
      ['v1', 'Event'],
      ['events.k8s.io/v1', 'Event'],
      ['coordination.k8s.io/v1', 'Lease'],
      ['apps/v1', 'ControllerRevision'],
      ['metrics.k8s.io/v1beta1', 'PodMetrics'],
    ].map(([apiVersion, kind]) => ({ apiVersion, kind, metadata: { name: 'hush' }, data: { key: 'hush' } }))
    const snapshot = await read(await file('1', list(node('a'), ...kinds)))
    expect(snapshot.owners).toEqual([])
    expect(JSON.stringify(snapshot)).not.toMatch('hush')
  })

  it('part of a list is not the whole', async () => {
    const path = await file('pods.json', {
      apiVersion: 'v1',
      kind: 'PodList',
      metadata: { continue: 'abc', remainingItemCount: 5 },
      items: [{ metadata: { name: 'p', namespace: 'n' } }],
    })
    const snapshot = await read(path)
    expect(snapshot.kinds.Pod).toMatchObject({ state: 'failed', forbidden: false })
    expect(snapshot.warnings).toEqual([`${path} holds only the first part of a list: it was read with a limit`])
  })

  it('bears nonsense among the objects', async () => {
    const snapshot = await read(
      await file(
        '1',
        list(node('a'), null, 'text', 7, [], {}, { kind: 'Pod' }, pod(''), { ...node('b'), spec: [] }, [node('c')]),
      ),
    )
    expect(names(snapshot.objects.Node)).toEqual(['a', 'b'])
    expect(snapshot.warnings).toEqual([
      'Node b: values of a wrong type in it were converted or passed over',
      '1 object without a name passed over',
    ])
  })

  it('takes an object that YAML names again by an alias once', async () => {
    const snapshot = await read(
      await file(
        '1',
        'apiVersion: v1\nkind: List\nitems:\n- &a {apiVersion: v1, kind: Node, metadata: {name: a, uid: u}}\n- *a\n',
      ),
    )
    expect(names(snapshot.objects.Node)).toEqual(['a'])
  })
})

describe('what is refused, and how', () => {
  it.each<[string, unknown, RegExp]>([
    ['an empty file', '', /^FILE is empty$/],
    ['blank lines', '\n \n', /^FILE is empty$/],
    ['an HTML page', '<!DOCTYPE html><html>', /^FILE is an HTML page/],
    ['XML', '<?xml version="1.0"?>', /^FILE is HTML or XML/],
    ['a table of kubectl', 'NAME       STATUS   ROLES\nmaster     Ready\n', /^FILE is the table that kubectl prints/],
    ['a table with namespaces', 'NAMESPACE   NAME   READY\n', /^FILE is the table that kubectl prints/],
    ['a Table in JSON', { apiVersion: 'meta.k8s.io/v1', kind: 'Table', rows: [] }, /^FILE holds a table/],
    [
      'an answer of the server',
      { apiVersion: 'v1', kind: 'Status', message: 'pods is forbidden' },
      /^FILE holds an error of the API server, no objects: pods is forbidden$/,
    ],
    ['a binary file', Buffer.from([0x7f, 0x45, 0x4c, 0x46, 0xff, 0xfe, 0]), /^FILE is not text: not UTF-8$/],
    ['zeros in text', Buffer.from('kind: x\0'), /^FILE is a binary file/],
    ['a cut gzip file', gzipSync('x'.repeat(10_000)).subarray(0, 30), /^FILE is a gzip file that can't be unpacked/],
    ['plain text', 'hello world\n', /^FILE holds no Kubernetes object$/],
    ['an object of something else', { name: 'x' }, /^FILE holds no Kubernetes object$/],
    ['a kubeconfig-like mapping', 'a: 1\nb: [1, 2]\n', /^FILE holds no Kubernetes object$/],
    [
      'cut JSON',
      '{\n "apiVersion": "v1",\n "items": [\n  {"kind": "Node"},\n  {"kind',
      /^FILE, line 5: the file ends in the middle of what begins on line 1: it is cut off$/,
    ],
    ['cut JSON after a whole document', '{}\n{"a": [1,\n2', /^FILE, line 3: .* begins on line 2: it is cut off$/],
    ['broken JSON', '{\n "a": 1,\n "b" 2\n}', /^FILE, line [34]: not valid JSON: /],
    ['broken JSON after a whole document', '{"a": 1}\n{"b": }}\n', /^FILE, line 2: not valid JSON: /],
    ['YAML with a tab', 'apiVersion: v1\nmetadata:\n\tname: a\n', /^FILE, line 3: not valid YAML: .*tab/],
    ['broken YAML', 'apiVersion: v1\nkind: "Node\nmetadata:\n  name: a\n', /^FILE, line \d+: not valid YAML: /],
    [
      'cut YAML',
      'apiVersion: v1\nitems:\n- apiVersion: v1\n  kind: Node\n  metadata:\n    name: a\n',
      /^FILE holds a list without a kind: its end is missing$/,
    ],
    [
      'aliases that blow up',
      `a: &a [${'x, '.repeat(50)}x]\nb: &b [${'*a, '.repeat(50)}*a]\nc: [${'*b, '.repeat(50)}*b]`,
      /^FILE: not valid YAML: .*aliases/,
    ],
    ['lists without end', '{"kind":"List","items":['.repeat(5000) + ']}'.repeat(5000), /^FILE holds lists in lists/],
  ])('%s', async (_, content, message) => {
    const path = await file('f', content)
    const { message: said } = await problem(path)
    expect(said.replaceAll(path, 'FILE')).toMatch(message)
  })

  it('each says what to do', async () => {
    for (const content of ['', '<html>', 'hello', 'NAME   AGE\n', '{"a": [']) {
      expect((await problem(await file('f', content))).suggestions.length).toBeGreaterThan(0)
    }
  })

  it('a file that does not exist', async () => {
    expect((await problem(join(folder, 'gone'))).message).toBe(`${join(folder, 'gone')} does not exist`)
    expect((await problem(join(await file('f', node('a')), 'below'))).message).toMatch(/does not exist$/)
  })

  it('a folder without any object', async () => {
    await mkdir(join(folder, 'empty'))
    expect((await problem(join(folder, 'empty'))).message).toMatch(/has no .json, .yaml or .yml file in it$/)
    await file('other/package.json', { name: 'x' })
    expect((await problem(join(folder, 'other'))).message).toMatch(
      /has no Kubernetes object in its 1 JSON and YAML file$/,
    )
  })

  it('a link in a folder that leads nowhere', async () => {
    await file('d/nodes.json', list(node('a')))
    await symlink(join(folder, 'gone'), join(folder, 'd', 'pods.json'))
    expect((await problem(join(folder, 'd'))).message).toBe(`${join(folder, 'd', 'pods.json')} does not exist`)
  })

  it('a broken file in a folder, which may be the one that matters', async () => {
    await file('d/nodes.json', list(node('a')))
    await file('d/pods.json', '{"items": [')
    expect((await problem(join(folder, 'd'))).message).toMatch(/pods\.json, line 1: .*cut off/)
  })

  it('a terminal for standard input', async () => {
    const stdin: Readable & { isTTY?: boolean } = Readable.from([])
    stdin.isTTY = true
    const error: unknown = await readCluster({ from: ['-'], stdin, kinds: [] }).catch((e: unknown) => e)
    expect((error as Error).message).toMatch(/standard input, which is the terminal/)
    const empty: unknown = await readCluster({ from: ['-'], stdin: Readable.from([]), kinds: [] }).catch(
      (e: unknown) => e,
    )
    expect((empty as Error).message).toBe('standard input is empty')
  })
})

it('a label that JavaScript has plans for does no harm', async () => {
  const path = await file(
    '1',
    '{"apiVersion":"v1","kind":"Node","__proto__":{"polluted":1},"metadata":{"name":"a","labels":{"__proto__":"x"},"__proto__":{"namespace":"evil"}}}',
  )
  const snapshot = await read(path)
  expect(snapshot.objects.Node[0]?.metadata.namespace).toBeUndefined()
  expect(Object.keys(snapshot.objects.Node[0]?.metadata.labels ?? {})).toEqual(['__proto__'])
  expect(({} as Record<string, unknown>).polluted).toBeUndefined()
})
