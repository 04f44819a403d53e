import type { OwnerObject, OwnerReference, Pod } from '../../cluster/objects.js'
import type { ClusterSnapshot, KindStatus } from '../../cluster/snapshot.js'
import { controllerOf } from './drain-filters.js'

const builtIn = new Set([
  'Pod',
  'Node',
  'ReplicaSet.apps',
  'Deployment.apps',
  'StatefulSet.apps',
  'DaemonSet.apps',
  'Job.batch',
  'CronJob.batch',
  'ReplicationController',
])

/** `Kind.group`, or `Kind` for the core group: the key of {@link ClusterSnapshot.ownerKinds}. */
export function ownerKind({ apiVersion, kind }: { apiVersion: string; kind: string }): string {
  const group = apiVersion.includes('/') ? apiVersion.slice(0, apiVersion.indexOf('/')) : ''
  return group === '' ? kind : `${kind}.${group}`
}

/** A controller that Kubernetes itself has no rule for: an operator's own resource. */
export function isCustom(owner: { apiVersion: string; kind: string }): boolean {
  return !builtIn.has(ownerKind(owner))
}

export interface Link {
  reference: OwnerReference
  /** The object; null when it is not there, undefined when its kind was not read. */
  object: OwnerObject | null | undefined
}

export interface Chain {
  /** From the pod's controller upwards. */
  links: Link[]
  /** Why nothing re-creates the pod; null when something does. */
  gone: string | null
  /** Owner kinds that were not read although a reference names them. */
  unread: string[]
}

/** Finds controllers by kind and uid. */
export class OwnerIndex {
  readonly #byUid = new Map<string, OwnerObject>()
  readonly #names = new Set<string>()
  readonly #kinds: Readonly<Record<string, KindStatus>>

  constructor(snapshot: Pick<ClusterSnapshot, 'owners' | 'ownerKinds' | 'kinds' | 'objects'>) {
    const { kinds, objects } = snapshot
    // A pod can be the controller of a pod (a CSI driver's, of its mount pods), a node that of its mirror pods.
    this.#kinds = { ...snapshot.ownerKinds, Pod: kinds.Pod, Node: kinds.Node }
    const itself = [...objects.Pod, ...objects.Node].map(
      ({ kind, metadata }): OwnerObject => ({ apiVersion: 'v1', kind, metadata }),
    )
    for (const owner of [...snapshot.owners, ...itself]) {
      if (owner.metadata.uid) this.#byUid.set(`${ownerKind(owner)} ${owner.metadata.uid}`, owner)
      this.#names.add(`${ownerKind(owner)} ${owner.metadata.namespace ?? ''}/${owner.metadata.name}`)
    }
  }

  wasRead(kind: string): boolean {
    return Object.hasOwn(this.#kinds, kind) && this.#kinds[kind]?.state === 'read'
  }

  /** Whether an object of that kind and name is there; a kind that was not read is believed to be. */
  exists(kind: string, namespace: string, name: string): boolean {
    return !this.wasRead(kind) || this.#names.has(`${kind} ${namespace}/${name}`)
  }

  /** What was read of a kind; undefined when nobody asked. */
  statusOf(kind: string): KindStatus | undefined {
    return Object.hasOwn(this.#kinds, kind) ? this.#kinds[kind] : undefined
  }

  find(reference: OwnerReference): OwnerObject | null | undefined {
    const kind = ownerKind(reference)
    const found = this.#byUid.get(`${kind} ${reference.uid}`)
    if (found !== undefined) return found
    return this.wasRead(kind) ? null : undefined
  }

  /** The pod's controllers, and whether they are all there to re-create it. */
  chain(pod: Pod): Chain {
    const links: Link[] = []
    const unread: string[] = []
    let gone: string | null = null
    let reference = controllerOf(pod)
    if (reference === undefined) return { links, gone: 'no controller re-creates it', unread }
    const seen = new Set<string>()
    while (reference !== undefined && !seen.has(reference.uid)) {
      seen.add(reference.uid)
      const object = this.find(reference)
      links.push({ reference, object })
      const name = `${reference.kind} ${reference.name}`
      if (object === null) gone ??= `its ${links.length === 1 ? 'controller' : 'owner'} ${name} does not exist any more`
      else if (object === undefined) unread.push(ownerKind(reference))
      else if (object.metadata.deletionTimestamp)
        gone ??= `its ${links.length === 1 ? 'controller' : 'owner'} ${name} is being deleted`
      reference = object?.metadata.ownerReferences?.find((owner) => owner.controller === true)
    }
    return { links, gone, unread }
  }
}

/** A Job without backoffLimit (batch/v1 defaults). */
const DEFAULT_BACKOFF_LIMIT = 6

/**
 * Why a Job does not start the pod again: a running pod that is deleted counts as failed (job controller, isPodFailed), and one
 * failure more than backoffLimit ends the Job. `evicted`: how many of its pods the drain evicts.
 */
export function jobGivesUp({ links }: Chain, evicted: number): string | null {
  const job = links[0]?.object
  if (!job || ownerKind(job) !== 'Job.batch' || job.spec?.ignoresDisruption === true) return null
  const bears = job.spec?.backoffLimit ?? DEFAULT_BACKOFF_LIMIT
  const failed = (job.status?.failed ?? 0) + evicted
  return failed > bears
    ? `its Job ${job.metadata.name} gives up: with this ${failed} pods have failed, it bears ${bears}`
    : null
}

export function ownerWarnings(chains: readonly Chain[], owners: OwnerIndex): string[] {
  const absent = new Set<string>()
  const failed = new Map<string, string>()
  for (const { reference, object } of chains.flatMap(({ links }) => links)) {
    if (object !== undefined) continue
    const kind = ownerKind(reference)
    const status = owners.statusOf(kind)
    if (status?.state === 'failed') failed.set(kind, status.reason)
    else absent.add(kind)
  }
  const warnings = [...failed].sort().map(([kind, reason]) => `${reason}; the pods' references to ${kind} are believed`)
  if (absent.size > 0)
    warnings.push(
      `no ${[...absent].sort().join(', ')} was read: pods that name one as their controller are taken to be re-created by it`,
    )
  return warnings
}

export function ownersReadable(chains: readonly Chain[], owners: OwnerIndex): boolean {
  return chains.every(({ links }) =>
    links.every(({ reference }) => owners.statusOf(ownerKind(reference))?.state !== 'failed'),
  )
}
