/** Gathers projected objects into a {@link ClusterSnapshot}. */
import { KIND_NAMES } from './kinds.js'
import type { ObjectMeta, OwnerObject } from './objects.js'
import type { ClusterSnapshot, KindName, KindObjects, KindStatus, OwnerKind } from './snapshot.js'

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

/** By namespace, then name, in code units: the order in which a server keeps them, and the same for the same objects from anywhere. */
function byName(a: { metadata: ObjectMeta }, b: { metadata: ObjectMeta }): number {
  return compare(a.metadata.namespace ?? '', b.metadata.namespace ?? '') || compare(a.metadata.name, b.metadata.name)
}

/** A snapshot of nothing: every kind in the state given. */
export function emptySnapshot(source: ClusterSnapshot['source'], state: 'absent' | 'not-asked'): ClusterSnapshot {
  const objects = Object.fromEntries(KIND_NAMES.map((kind) => [kind, []])) as unknown as ClusterSnapshot['objects']
  const kinds = Object.fromEntries(KIND_NAMES.map((kind) => [kind, { state }])) as Record<KindName, KindStatus>
  return { source, serverVersion: null, objects, kinds, owners: [], ownerKinds: {}, warnings: [] }
}

/**
 * Takes objects in any order, from any number of sources; of two with the same kind, namespace and name the later one counts.
 */
export class SnapshotBuilder {
  readonly #byKind = new Map<KindName, Map<string, KindObjects[KindName]>>()
  readonly #owners = new Map<string, OwnerObject>()
  readonly #replaced: { what: string; count: number } = { what: '', count: 0 }

  add<K extends KindName>(object: KindObjects[K] & { kind: K }): void {
    const kind = object.kind
    let objects = this.#byKind.get(kind)
    if (objects === undefined) {
      objects = new Map()
      this.#byKind.set(kind, objects)
    }
    this.#put(objects, kind, object)
  }

  addOwner(kind: OwnerKind, owner: OwnerObject): void {
    this.#put(this.#owners, kind, owner, `${kind}\n`)
  }

  #put<T extends { metadata: ObjectMeta }>(objects: Map<string, T>, kind: string, object: T, prefix = ''): void {
    const { namespace, name, uid } = object.metadata
    const key = `${prefix}${namespace ?? ''}/${name}`
    const before = objects.get(key)?.metadata.uid
    if (before !== undefined && uid !== undefined && before !== uid) {
      this.#replaced.count++
      if (this.#replaced.what === '')
        this.#replaced.what = `${kind} ${namespace === undefined ? name : key.slice(prefix.length)}`
    }
    objects.set(key, object)
  }

  /** Moves all objects, sorted, into the snapshot, and its warnings about them. */
  finish(snapshot: ClusterSnapshot): void {
    for (const kind of KIND_NAMES) {
      const objects = [...(this.#byKind.get(kind)?.values() ?? [])].sort(byName)
      // Each map holds objects of its own kind only, which the type of the whole can't say.
      ;(snapshot.objects as Record<KindName, unknown[]>)[kind] = objects
    }
    this.finishOwners(snapshot)
  }

  /** As {@link finish}, the owners only. */
  finishOwners(snapshot: ClusterSnapshot): void {
    snapshot.owners = [...this.#owners.entries()].sort((a, b) => compare(a[0], b[0])).map(([, owner]) => owner)
    const { count, what } = this.#replaced
    if (count > 0) {
      const others = count === 1 ? '' : ` and ${count - 1} more`
      snapshot.warnings.push(`${what}${others}: given more than once with different uids; the later one counts`)
    }
  }
}
