/** Reads a cluster from dumps: `--from FILE|DIR|-|demo`. */
import { readdir, readFile, realpath, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { emptySnapshot, SnapshotBuilder } from './build.js'
import { decodeDocuments } from './decode.js'
import { InputError } from './errors.js'
import { kindNameOf, mayOwnPods, ownerKindOf } from './kinds.js'
import { Projector } from './project.js'
import type { ClusterSnapshot, KindName, KindStatus } from './snapshot.js'

export interface DumpOptions {
  /** At least one: a file, a folder, `-` for standard input, or `demo`. Later ones add to and override earlier ones. */
  from: readonly string[]
  /** Where `-` reads from. */
  stdin?: Readable & { isTTY?: boolean }
  signal?: AbortSignal
  debug?: (line: string) => void
}

const DUMP_FILE = /\.(json|ya?ml)(\.gz)?$/i

/**
 * The cluster as the dumps give it.
 * @throws {InputError} when one of them can't be read, or holds nothing of a cluster.
 */
export async function readDump(options: DumpOptions): Promise<ClusterSnapshot> {
  const reader = new DumpReader()
  const sources = [...new Set(options.from)]
  for (const source of sources) {
    options.signal?.throwIfAborted()
    if (source === '-') await reader.take('standard input', await readStdin(options.stdin))
    else if (source === 'demo') {
      const { readDemo } = await import('./demo.js')
      await reader.take('demo', await readDemo())
    } else await readPath(reader, source, options)
  }
  return reader.finish()
}

async function readStdin(stdin: DumpOptions['stdin']): Promise<Buffer> {
  if (stdin === undefined || stdin.isTTY === true) {
    throw new InputError('--from - reads standard input, which is the terminal', [
      'pipe into it: kubectl get nodes,pods,pvc,pv,sc,pdb -A -o json | kubectl storage … --from -',
    ])
  }
  const chunks: Buffer[] = []
  for await (const chunk of stdin) chunks.push(Buffer.from(chunk))
  return Buffer.concat(chunks)
}

async function readPath(reader: DumpReader, path: string, options: DumpOptions): Promise<void> {
  const isFolder = (await attempt(path, (path) => stat(path))).isDirectory()
  if (!isFolder) {
    // A pipe, as in --from <(kubectl get …), is read like a file.
    await reader.take(path, await attempt(path, (path) => readFile(path)))
    return
  }
  const files = await dumpFilesIn(path, new Set())
  options.debug?.(`${path}: ${files.length} files`)
  const before = reader.objects
  for (const file of files) {
    options.signal?.throwIfAborted()
    await reader.take(file, await attempt(file, (path) => readFile(path)), { oneOfMany: true })
  }
  if (reader.objects === before) {
    throw new InputError(
      files.length === 0
        ? `${path} has no .json, .yaml or .yml file in it`
        : `${path} has no Kubernetes object in its ${files.length} JSON and YAML file${files.length === 1 ? '' : 's'}`,
      ['name the folder that kubectl cluster-info dump --output-directory wrote to, or files of kubectl get -o yaml'],
    )
  }
}

/** All files of a folder that may be dumps, in the order of their paths. Hidden ones are passed over, links to folders followed once. */
async function dumpFilesIn(folder: string, seen: Set<string>): Promise<string[]> {
  const real = await attempt(folder, (path) => realpath(path))
  if (seen.has(real)) return []
  seen.add(real)
  const files: string[] = []
  for (const name of (await attempt(folder, (path) => readdir(path))).sort()) {
    if (name.startsWith('.') || name === 'node_modules') continue
    const path = join(folder, name)
    const found = await attempt(path, (path) => stat(path))
    if (found.isDirectory()) files.push(...(await dumpFilesIn(path, seen)))
    else if (found.isFile() && DUMP_FILE.test(name)) files.push(path)
  }
  return files
}

async function attempt<T>(path: string, act: (path: string) => Promise<T>): Promise<T> {
  try {
    return await act(path)
  } catch (error) {
    throw unreadable(path, error)
  }
}

function unreadable(path: string, error: unknown): InputError {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  switch (code) {
    case 'ENOENT':
    case 'ENOTDIR':
      return new InputError(`${path} does not exist`, ['--from takes a file, a folder, - for standard input, or demo'])
    case 'EACCES':
    case 'EPERM':
      return new InputError(`${path} can't be read: permission denied`)
    case 'ERR_FS_FILE_TOO_LARGE':
      return new InputError(`${path} is too big to be read at once`, [
        'write several smaller files, by kind or namespace, and give each with --from',
      ])
    default:
      return new InputError(`${path} can't be read${code === '' ? '' : `: ${code}`}`, [], { cause: error })
  }
}

/** kubectl writes no list in a list; some tools do. */
const MAX_DEPTH = 8

type Item = Record<string, unknown>
interface GroupKind {
  apiVersion: string
  kind: string
}

function isItem(value: unknown): value is Item {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function word(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

class DumpReader {
  readonly #builder = new SnapshotBuilder()
  readonly #projector = new Projector()
  /** Kinds of which an object or an explicit empty list was there. */
  readonly #seen = new Set<KindName>()
  readonly #seenOwners = new Set<string>()
  /** Kinds of which only a part of a list is there → the file. */
  readonly #partial = new Map<KindName, string>()
  readonly #partialOwners = new Map<string, string>()
  readonly #passedOver: string[] = []
  /** How many Kubernetes objects and lists were met, those included that are not kept. */
  objects = 0

  /**
   * Takes all objects out of a file.
   * @throws {InputError} when it can't be understood, or, unless it is `oneOfMany`, when it holds no Kubernetes object.
   */
  async take(name: string, bytes: Buffer, { oneOfMany = false } = {}): Promise<void> {
    const documents = await decodeDocuments(name, bytes)
    const before = this.objects
    // An alias in YAML is the same object again; once is enough.
    const met = new Set<unknown>()
    for (const document of documents) {
      // What `jq -s` makes of several documents.
      if (Array.isArray(document)) for (const item of document) this.#object(name, item, met)
      else this.#object(name, document, met)
    }
    if (this.objects > before) return
    if (!oneOfMany) {
      throw new InputError(`${name} holds no Kubernetes object`, [
        'it needs objects or lists with apiVersion and kind, as kubectl get -o yaml writes them',
      ])
    }
    this.#passedOver.push(name)
  }

  #object(name: string, value: unknown, met: Set<unknown>, inherited?: GroupKind, depth = 0): void {
    if (!isItem(value) || met.has(value)) return
    met.add(value)
    if (depth > MAX_DEPTH) throw new InputError(`${name} holds lists in lists, more than ${MAX_DEPTH} deep`)
    const kind = word(value.kind) || (inherited?.kind ?? '')
    const apiVersion = word(value.apiVersion) || (inherited?.apiVersion ?? '')
    if (kind === '') {
      if (Array.isArray(value.items)) {
        throw new InputError(`${name} holds a list without a kind: its end is missing`, [
          'the file is cut off: copy or write it again',
        ])
      }
      return
    }
    if (kind === 'Status' && apiVersion === 'v1') {
      throw new InputError(
        `${name} holds an error of the API server, no objects: ${word(value.message) || 'no message'}`,
        ['repeat the command that wrote it'],
      )
    }
    if (kind === 'Table' && apiVersion.startsWith('meta.k8s.io/')) {
      throw new InputError(`${name} holds a table, which leaves out most of what is needed`, [
        'repeat the command that wrote it with -o yaml or -o json',
      ])
    }
    if (kind.endsWith('List') && (Array.isArray(value.items) || value.items === null || value.items === undefined)) {
      this.#list(name, value, { apiVersion, kind: kind.slice(0, -'List'.length) }, met, depth)
      return
    }
    if (apiVersion === '') return
    this.objects++
    this.#keep(apiVersion, kind, value)
  }

  #list(name: string, list: Item, of: GroupKind, met: Set<unknown>, depth: number): void {
    this.objects++
    const items = Array.isArray(list.items) ? list.items : []
    // `kind: List` says nothing of its items' kind, `kind: PodList` does, and its items may leave it out.
    const typed = of.kind === '' ? undefined : of
    if (typed !== undefined) this.#markSeen(typed.apiVersion, typed.kind)
    for (const item of items) this.#object(name, item, met, typed, depth + 1)
    const rest = isItem(list.metadata) ? word(list.metadata.continue) : ''
    if (rest !== '') this.#markPartial(name, items, typed)
  }

  #keep(apiVersion: string, kind: string, value: Item): void {
    const name = kindNameOf(apiVersion, kind)
    if (name !== null) {
      const object = this.#projector.project(name, value, apiVersion)
      if (object === null) return
      this.#seen.add(name)
      this.#builder.add(object)
    } else if (mayOwnPods(apiVersion, kind)) {
      const owner = this.#projector.projectOwner(apiVersion, kind, value)
      if (owner === null) return
      this.#seenOwners.add(ownerKindOf(apiVersion, kind))
      this.#builder.addOwner(ownerKindOf(apiVersion, kind), owner)
    }
  }

  #markSeen(apiVersion: string, kind: string): void {
    const name = kindNameOf(apiVersion, kind)
    if (name !== null) this.#seen.add(name)
    else if (mayOwnPods(apiVersion, kind)) this.#seenOwners.add(ownerKindOf(apiVersion, kind))
  }

  #markPartial(file: string, items: unknown[], typed: GroupKind | undefined): void {
    const kinds = typed === undefined ? items.filter(isItem) : [typed]
    for (const item of kinds) {
      const [apiVersion, kind] = [word(item.apiVersion), word(item.kind)]
      const name = kindNameOf(apiVersion, kind)
      if (name !== null) this.#partial.set(name, file)
      else if (mayOwnPods(apiVersion, kind)) this.#partialOwners.set(ownerKindOf(apiVersion, kind), file)
    }
  }

  finish(): ClusterSnapshot {
    const snapshot = emptySnapshot('dump', 'absent')
    for (const kind of this.#seen) snapshot.kinds[kind] = { state: 'read' }
    for (const [kind, file] of this.#partial) snapshot.kinds[kind] = onlyPart(file)
    const owners = [...this.#seenOwners].map((kind): [string, KindStatus] => [kind, { state: 'read' }])
    const partialOwners = [...this.#partialOwners].map(([kind, file]): [string, KindStatus] => [kind, onlyPart(file)])
    snapshot.ownerKinds = Object.fromEntries(
      [...new Map([...owners, ...partialOwners])].sort(([a], [b]) => (a < b ? -1 : 1)),
    )
    this.#builder.finish(snapshot)
    for (const file of new Set([...this.#partial.values(), ...this.#partialOwners.values()])) {
      snapshot.warnings.push(`${file} holds only the first part of a list: it was read with a limit`)
    }
    if (this.#passedOver.length > 0) {
      const [first, ...others] = this.#passedOver
      const more = others.length === 0 ? '' : ` and ${others.length} more`
      snapshot.warnings.push(`${first}${more}: passed over, no Kubernetes object in it`)
    }
    snapshot.warnings.push(...this.#projector.warnings())
    return snapshot
  }
}

function onlyPart(file: string): KindStatus {
  return { state: 'failed', forbidden: false, reason: `${file} holds only the first part of the list` }
}
