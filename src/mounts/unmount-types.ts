/** Shapes of `unmount`: its plan, which is what `--dry-run` prints, and its result. Plain data: both survive JSON. */
import type { NodeOutcome } from '../node/types.js'

export const UNMOUNT_OUTCOMES = ['done', 'already-so', 'skipped', 'refused', 'failed', 'still-running'] as const
export type UnmountOutcome = (typeof UNMOUNT_OUTCOMES)[number]

/** Why something is left alone. Findings: a mount may have several, none overwrites another. */
export interface Refusal {
  rule: RefusalRule
  /** The path of the mount, or `pod/NS/NAME`. */
  object: string
  reason: string
  /** The flag, or the command, that gets past the rule; absent: nothing does. */
  override?: string
}

export const REFUSAL_RULES = [
  'not-fuse',
  'not-dead',
  'covered',
  'mounted-on',
  'unreadable-path',
  'used-by-pods',
  'pods-unknown',
  'binds-first',
  'pod-not-recreated',
  'pod-not-held',
  'others-refused',
] as const
export type RefusalRule = (typeof REFUSAL_RULES)[number]

/** One mount that is to go. The fields say which: all must still hold when it is unmounted. */
export interface UnmountStep {
  target: string
  mountId: number
  /** `major:minor` */
  device: string
  root: string
  fsType: string
  source: string
  /** As whom the mount is asked whether it lives: root has no access to a FUSE mount without allow_other. */
  probeAs: { uid: number; gid: number }
  /** `pod`: where a pod has it; `staging`: where the kubelet staged it; `other`: neither. */
  role: 'pod' | 'staging' | 'other'
  podUid?: string
  /** The empty directory goes too. Never of a path that the kubelet did not make, nor of one that it still reckons with. */
  removeDirectory: boolean
}

export interface RestartedPod {
  namespace: string
  name: string
  uid: string
  controller: { kind: string; name: string; uid: string } | null
  /** It is being deleted already: nothing is left to do but to wait for its end. */
  terminating: boolean
}

/** What hangs together: all copies of one FUSE file system on a node. */
export interface UnmountGroup {
  device: string
  driver?: string
  volume?: string
  /** NS/NAME */
  claim?: string
  /** NS/NAME of the pods on the node that use it, sorted. */
  pods: string[]
  /**
   * Pods are deleted first, and the mounts go when the kubelet has let go of them; null when no pod uses the volume.
   * `cordon`: the node takes no new pods meanwhile.
   */
  restart: { pods: RestartedPod[]; cordon: boolean } | null
  /** In this order; empty when all is refused. */
  steps: UnmountStep[]
  /** The mounts that would have been steps. */
  refused: { target: string; mountId: number; fsType: string; source: string; refusals: Refusal[] }[]
}

export interface NodeUnmountPlan {
  node: string
  outcome: NodeOutcome
  error?: string
  suggestions?: string[]
  /** The roots of the kubelet's directories. */
  kubeletRoots: string[]
  groups: UnmountGroup[]
  /** FUSE mounts that are left alone because nobody can say that they are dead: `hung`, `unknown`. */
  leftAlone: { target: string; mountId: number; fsType: string; source: string; state: string; detail?: string }[]
  /** Of paths that were named and are no mount that could go. */
  refusals: Refusal[]
}

export interface UnmountPlan {
  apiVersion: 'kubectl-storage/v1'
  kind: 'UnmountPlan'
  complete: boolean
  warnings: string[]
  /** `umount -l` instead of a plain one. */
  lazy: boolean
  /** The FUSE connection of each mount is aborted before. */
  abort: boolean
  nodes: NodeUnmountPlan[]
}

/** Who keeps a mount busy. */
export interface Holder {
  pid: number
  command: string
  /** NS/NAME, or the uid when it is not known. */
  pod?: string
  /** `cwd`, `root`, `file`, `mapping` */
  by: string[]
}

export interface UnmountedMount {
  target: string
  mountId: number | null
  fsType: string
  source: string
  driver?: string
  volume?: string
  claim?: string
  /** NS/NAME of the pods that used it. */
  pods: string[]
  outcome: UnmountOutcome
  /** One sentence: what there was to see. Absent for a plain `done`. */
  reason?: string
  refusals: Refusal[]
  heldBy: Holder[]
  /** What became of the directory. */
  directory?: 'removed' | 'kept' | 'not-empty' | 'failed'
  /** With `--abort`: whether there was a connection to abort. */
  connection?: 'aborted' | 'none' | 'failed'
}

export interface RestartResult {
  /** NS/NAME */
  pod: string
  outcome: UnmountOutcome
  reason?: string
  /** The pod that took its place and works, NS/NAME. */
  replacement?: { pod: string; node: string }
}

export interface UnmountedNode {
  node: string
  outcome: NodeOutcome
  error?: string
  suggestions?: string[]
  mounts: UnmountedMount[]
  pods: RestartResult[]
  /** Whether it was cordoned for the restart, and is as it was before: `failed` needs a hand. */
  cordon?: 'undone' | 'failed'
}

export interface UnmountResult {
  apiVersion: 'kubectl-storage/v1'
  kind: 'UnmountResult'
  complete: boolean
  warnings: string[]
  nodes: UnmountedNode[]
  /** How many mounts and pods ended so, zeros left out. */
  summary: Partial<Record<UnmountOutcome, number>>
}
