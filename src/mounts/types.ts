/** Words and shapes of the mounts feature: what the probe of a node says, the report, the plan of unmount and its result. */
import type { NodeOutcome } from '../node/types.js'

/**
 * - `healthy`: the file system answered
 * - `dead`: ENOTCONN, the FUSE server is gone
 * - `hung`: no answer in time
 * - `unknown`: it could not be told (vanished while asked, permission, another error)
 * - `missing`: a pod's volume should be a FUSE mount and is none: the pod writes to the node's own disk
 * - `stale-in-pod`: healthy on the node, but a container still holds a dead mount of the same volume
 * - `leftover`: no mount: a drop-in folder, plugin folder or staging directory that no volume owns
 */
export const MOUNT_STATES = ['healthy', 'dead', 'hung', 'unknown', 'missing', 'stale-in-pod', 'leftover'] as const
export type MountState = (typeof MOUNT_STATES)[number]

/** One line of /proc/PID/mountinfo (proc_pid_mountinfo(5)), octal escapes decoded; paths are bytes decoded as UTF-8. */
export interface MountEntry {
  id: number
  parent: number
  /** `major:minor` of the superblock; equal for all bind copies. */
  device: string
  root: string
  target: string
  fsType: string
  source: string
  options: string
  superOptions: string
}

/** What the probe of one mount found out. */
export interface ProbedMount extends MountEntry {
  state: 'healthy' | 'dead' | 'hung' | 'unknown'
  /** The errno word or what else there is to know: `EACCES as uid 1000`, `process 4711 is stuck in D`. */
  detail?: string
  /** Something is mounted on this very path after it (it is covered), or below it: the ids, sorted. */
  stackedBy: number[]
}

/** A FUSE server process or unit, as the node knows it. */
export interface FuseServer {
  unit?: string
  /** Pod UID read from the process's cgroup, when it runs in a pod. */
  podUid?: string
  pid?: number
}

/** All that the probe script says of one node; plain data. */
export interface NodeMounts {
  /** Every FUSE mount in the node's own mount namespace, in mountinfo's order. */
  mounts: ProbedMount[]
  /** The kubelet's root directories that were found (normally one, /var/lib/kubelet). */
  kubeletRoots: string[]
  /** Units whose name or last ExecStart argument tells which mount they serve. */
  units: { name: string; active: boolean; target?: string; pid?: number }[]
  /** Volumes of pods on the node (`<root>/pods/UID/volumes/PLUGIN/NAME[/mount]`), mounted or not, with `vol_data.json` where it is. */
  podVolumes: {
    path: string
    podUid: string
    plugin: string
    name: string
    mounted: boolean
    driver?: string
    handle?: string
  }[]
  /** Staging directories of CSI drivers (`<root>/plugins/kubernetes.io/csi/DRIVER/HASH/globalmount`). */
  staging: { path: string; driver: string; hash: string; handle?: string; mounted: boolean; empty: boolean }[]
  /** FUSE mounts that processes in other mount namespaces hold (containers), by superblock. */
  inContainers: {
    podUid: string
    device: string
    target: string
    fsType: string
    state: 'healthy' | 'dead' | 'hung' | 'unknown'
  }[]
  /** Drop-in folders of units that are gone, plugin folders without socket, and the like. */
  leftovers: { path: string; what: 'drop-in' | 'plugin-folder' | 'staging-directory' }[]
  /** What could not be looked at, a sentence each. */
  notes: string[]
}

/** One line of the report (design: MountReport). */
export interface ReportedMount {
  target: string
  source: string
  fsType: string
  /** Null for what is no mount (`missing`, `leftover`). */
  mountId: number | null
  state: MountState
  driver?: string
  volume?: string
  /** NS/NAME */
  claim?: string
  /** NS/NAME of the pods that use it, sorted. */
  pods: string[]
  servedBy?: { unit?: string; pod?: string }
  detail?: string
}

export interface ReportedNode {
  node: string
  outcome: NodeOutcome
  error?: string
  suggestions?: string[]
  mounts: ReportedMount[]
}

export interface MountReport {
  apiVersion: 'kubectl-storage/v1'
  kind: 'MountReport'
  complete: boolean
  warnings: string[]
  nodes: ReportedNode[]
  /** How many of each state, zeros left out. */
  summary: Partial<Record<MountState, number>>
}
