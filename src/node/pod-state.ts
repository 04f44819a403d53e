/**
 * What a pod of a sweep says about itself, as the scheduler and the kubelet write it (k8s.io/api core/v1 PodStatus; the reasons are those of
 * kubelet's pkg/kubelet/images/types.go, pkg/kubelet/container/sync_result.go and pkg/kubelet/kuberuntime). Pure.
 */
import { CONTAINER } from './pod-job.js'
import type { NodeOutcome } from './types.js'

export type PodState =
  /** On its way; what it is doing, in a few words. `bound`: a node was chosen; `taken`: the node's kubelet has it. */
  | { state: 'coming'; doing: string; bound: boolean; taken: boolean }
  /** The scheduler found no way, in its own words. It tries again, so this may pass. */
  | { state: 'unschedulable'; words: string }
  /** The container has ended: the log tells the rest. */
  | { state: 'answered'; words: string; exitCode: number }
  | { state: 'lost'; outcome: NodeOutcome; words: string; suggestions?: string[] }

/** Reasons of a waiting container that no waiting cures, or only somebody else's doing. */
const HOPELESS: ReadonlySet<string> = new Set([
  'ErrImagePull',
  'ImagePullBackOff',
  'ErrImageNeverPull',
  'InvalidImageName',
  'ImageInspectError',
  'RegistryUnavailable',
  'SignatureValidationFailed',
  'CreateContainerConfigError',
  'CreateContainerError',
  'PreCreateHookError',
  'RunContainerError',
])

const IMAGE_REASONS: ReadonlySet<string> = new Set([
  'ErrImagePull',
  'ImagePullBackOff',
  'ErrImageNeverPull',
  'InvalidImageName',
  'ImageInspectError',
  'RegistryUnavailable',
  'SignatureValidationFailed',
])

export const IMAGE_HELP = 'name an image that the nodes can pull or have, with sh and nsenter in it: --pod-image IMAGE'

export function podStateOf(pod: unknown): PodState {
  const { metadata, spec, status } = record(pod)
  const { phase, reason, message, startTime, conditions, containerStatuses } = record(status)
  const container = list(containerStatuses)
    .map(record)
    .find(({ name }) => name === CONTAINER)
  const { waiting, running, terminated } = record(container?.state)

  if (terminated !== undefined) {
    const ended = record(terminated)
    const exitCode = typeof ended.exitCode === 'number' ? ended.exitCode : -1
    // Of a pod that was ended from outside the container's own status says no more than "Error".
    const why = phase === 'Failed' ? lostBy(reason, message) : null
    return why ?? { state: 'answered', exitCode, words: `${said(ended)} (exit code ${exitCode})` }
  }
  if (phase === 'Failed') {
    return lostBy(reason, message) ?? { state: 'lost', outcome: 'failed', words: 'the pod failed and does not say why' }
  }
  if (record(metadata).deletionTimestamp !== undefined) {
    return { state: 'lost', outcome: 'failed', words: 'the pod was deleted before it had answered' }
  }
  if (waiting !== undefined) {
    const why = String(record(waiting).reason)
    if (HOPELESS.has(why)) {
      const suggestions = IMAGE_REASONS.has(why) ? { suggestions: [IMAGE_HELP] } : {}
      return { state: 'lost', outcome: 'failed', words: said(record(waiting)), ...suggestions }
    }
  }
  const scheduled = list(conditions)
    .map(record)
    .find(({ type }) => type === 'PodScheduled')
  if (scheduled?.status === 'False' && scheduled.reason === 'Unschedulable') {
    return { state: 'unschedulable', words: text(scheduled.message) || 'Unschedulable' }
  }
  const bound = text(record(spec).nodeName) !== ''
  const taken = text(startTime) !== ''
  const doing = running !== undefined ? 'asking' : taken ? 'starting the pod' : 'waiting for the pod'
  return { state: 'coming', doing, bound, taken }
}

/** A pod whose end came from the kubelet or a controller. Null when its container ended by itself. */
function lostBy(reason: unknown, message: unknown): PodState | null {
  if (text(reason) === '') return null
  const words = said({ reason, message })
  return { state: 'lost', outcome: reason === 'DeadlineExceeded' ? 'timed-out' : 'failed', words }
}

/** The node's `Ready` condition in its own words; null when it is ready, or does not say. */
export function notReady(node: unknown): string | null {
  const { conditions } = record(record(node).status)
  const ready = list(conditions)
    .map(record)
    .find(({ type }) => type === 'Ready')
  if (ready === undefined || ready.status === 'True') return null
  return said(ready)
}

function said({ reason, message }: { reason?: unknown; message?: unknown }): string {
  return [text(reason), text(message)].filter((part) => part !== '').join(': ') || 'no reason given'
}

function text(value: unknown): string {
  return typeof value === 'string' ? value.trim() : ''
}

function list(value: unknown): unknown[] {
  return Array.isArray(value) ? value : []
}

export function record(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {}
}
