import type { Pod } from '../../cluster/objects.js'

/** What `kubectl drain` does with a pod, and the flags it demands first (k8s.io/kubectl/pkg/drain filters.go). */
export interface DrainDecision {
  /** `leave`: the pod stays where it is (mirror pods, pods of a DaemonSet). */
  action: 'leave' | 'remove'
  /** In kubectl's order of judging. */
  flags: DrainFlag[]
}

export const DRAIN_FLAGS = ['--ignore-daemonsets', '--delete-emptydir-data', '--force'] as const
export type DrainFlag = (typeof DRAIN_FLAGS)[number]

export function controllerOf(pod: Pod) {
  return pod.metadata.ownerReferences?.find((reference) => reference.controller === true)
}

/** Succeeded or Failed: nothing runs any more. */
export function isFinished(pod: Pod): boolean {
  return pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed'
}

/**
 * kubectl's filters, one after the other, each one ending the judging when it leaves the pod alone:
 * DaemonSet, mirror pod, local storage, no controller.
 * `daemonSetExists` answers whether the DaemonSet of that name is there; kubectl asks by name, not by uid.
 */
export function drainDecision(pod: Pod, daemonSetExists: (namespace: string, name: string) => boolean): DrainDecision {
  const controller = controllerOf(pod)
  const flags: DrainFlag[] = []
  const finished = isFinished(pod)
  if (controller?.kind === 'DaemonSet' && controller.apiVersion === 'apps/v1' && !finished) {
    if (daemonSetExists(pod.metadata.namespace ?? '', controller.name))
      return { action: 'leave', flags: ['--ignore-daemonsets'] }
    flags.push('--force')
  }
  if (pod.metadata.annotations?.['kubernetes.io/config.mirror'] !== undefined) return { action: 'leave', flags }
  if (!finished) {
    if ((pod.spec?.volumes ?? []).some((volume) => volume.emptyDir)) flags.push('--delete-emptydir-data')
    if (controller === undefined) flags.push('--force')
  }
  return { action: 'remove', flags: DRAIN_FLAGS.filter((flag) => flags.includes(flag)) }
}
