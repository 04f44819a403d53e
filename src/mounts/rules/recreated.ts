/** Whether a pod that is deleted comes back, and whether it can be kept off the node until the kubelet has let go of the volume. */
import type { OwnerObject, OwnerReference, Pod } from '../../cluster/objects.js'
import type { ClusterSnapshot } from '../../cluster/snapshot.js'
import { toleratesTaint, unschedulableTaint } from '../../scheduling/tolerations.js'

/** A Job without backoffLimit (batch/v1 defaults). */
const DEFAULT_BACKOFF_LIMIT = 6

/** Controllers of which Kubernetes itself says that they make up for a pod that was deleted. */
const RECREATES = new Set([
  'ReplicaSet.apps',
  'StatefulSet.apps',
  'DaemonSet.apps',
  'Job.batch',
  'ReplicationController',
])

type Cluster = Pick<ClusterSnapshot, 'owners' | 'ownerKinds'> & { objects: Pick<ClusterSnapshot['objects'], 'Pod'> }

export function controllerOf(pod: Pod): OwnerReference | undefined {
  return pod.metadata.ownerReferences?.find(({ controller }) => controller === true)
}

export function ownerKind({ apiVersion, kind }: { apiVersion: string; kind: string }): string {
  const group = apiVersion.includes('/') ? apiVersion.slice(0, apiVersion.indexOf('/')) : ''
  return group === '' ? kind : `${kind}.${group}`
}

export function isFinished(pod: Pod): boolean {
  return pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed'
}

/** Null: not there although its kind was read; undefined: its kind was not read. */
function find(reference: OwnerReference, cluster: Cluster): OwnerObject | null | undefined {
  const kind = ownerKind(reference)
  const found = cluster.owners.find((owner) => owner.metadata.uid === reference.uid && ownerKind(owner) === kind)
  if (found !== undefined) return found
  const status = Object.hasOwn(cluster.ownerKinds, kind) ? cluster.ownerKinds[kind] : undefined
  return status?.state === 'read' ? null : undefined
}

/**
 * Why nobody makes the pod again once it is deleted, in one sentence; null when its controller does. `deleted`: the pods that are to be
 * deleted together. What can't be told counts as "does not come back".
 */
export function whyNotRecreated(pod: Pod, deleted: readonly Pod[], cluster: Cluster): string | null {
  const reference = controllerOf(pod)
  if (pod.metadata.annotations?.['kubernetes.io/config.mirror'] !== undefined || reference?.kind === 'Node')
    return 'it comes from a file on the node: deleting it in the API does not restart it'
  if (reference === undefined) return 'no controller makes it again'

  const seen = new Set<string>()
  let owner: OwnerReference | undefined = reference
  while (owner !== undefined && !seen.has(owner.uid)) {
    seen.add(owner.uid)
    const name = `${owner.kind} ${owner.name}`
    const object: OwnerObject | null | undefined = find(owner, cluster)
    if (object === null) return `its ${owner === reference ? 'controller' : 'owner'} ${name} does not exist any more`
    if (object === undefined) {
      if (owner === reference) return `its controller ${name} could not be read`
    } else if (object.metadata.deletionTimestamp !== undefined) return `its owner ${name} is being deleted`
    if (owner === reference && object !== undefined) {
      if (!RECREATES.has(ownerKind(owner))) return `what its controller ${name} does with a deleted pod is not known`
      const scale = whyNotReplaced(object, deleted, cluster)
      if (scale !== null) return scale
    }
    owner = object?.metadata.ownerReferences?.find(({ controller }) => controller === true)
  }
  return null
}

function whyNotReplaced(controller: OwnerObject, deleted: readonly Pod[], cluster: Cluster): string | null {
  const { uid, name } = controller.metadata
  const own = (pod: Pod): boolean => controllerOf(pod)?.uid === uid
  switch (ownerKind(controller)) {
    case 'Job.batch': {
      if (controller.spec?.suspend === true) return `its Job ${name} is suspended`
      // A running pod that is deleted counts as failed (job controller, getStatus); one more than backoffLimit ends the Job.
      const bears = controller.spec?.backoffLimit ?? DEFAULT_BACKOFF_LIMIT
      const failed = (controller.status?.failed ?? 0) + deleted.filter(own).length
      return failed > bears
        ? `its Job ${name} gives up: it bears ${bears} failed pods, with this there are ${failed}`
        : null
    }
    case 'DaemonSet.apps':
      return null
    default: {
      const wanted = controller.spec?.replicas ?? 1
      const there = cluster.objects.Pod.filter(
        (pod) => own(pod) && !isFinished(pod) && pod.metadata.deletionTimestamp === undefined,
      ).length
      return there > wanted ? `its ${controller.kind} ${name} wants ${wanted} pods and has ${there}` : null
    }
  }
}

/**
 * Why the pod's replacement could be on the node before the kubelet has unstaged the volume, although the node is cordoned; null when
 * it can't. A StatefulSet and a DaemonSet make the next pod when the old one's object is gone, which is after its volumes are.
 */
export function whyNotHeld(pod: Pod, cluster: Cluster): string | null {
  const reference = controllerOf(pod)
  const kind = reference === undefined ? '' : ownerKind(reference)
  if (kind === 'StatefulSet.apps' || kind === 'DaemonSet.apps') return null
  const controller = reference === undefined ? undefined : find(reference, cluster)
  const named = controller?.spec?.template?.spec?.nodeName
  if (named !== undefined && named !== '')
    return `its ${reference?.kind} names the node in its template, so its replacement is there at once and gets the mount that is dead`
  if ((pod.spec?.tolerations ?? []).some((toleration) => toleratesTaint(toleration, unschedulableTaint)))
    return 'it tolerates a cordoned node, so its replacement may be there before the kubelet has let go of the dead mount, and gets that'
  return null
}

/** Whether a cordon is what keeps its replacement away. DaemonSet pods pass it, and come late anyway. */
export function wantsCordon(pod: Pod): boolean {
  const reference = controllerOf(pod)
  return reference === undefined || ownerKind(reference) !== 'DaemonSet.apps'
}
