/** The result of `drain-check`: plain data, and with `-o json` the very document that is printed (schemas/drain-report.json). */

export const VERDICTS = ['stays', 'finished', 'blocked', 'gone', 'stuck', 'returns', 'moves'] as const
export type Verdict = (typeof VERDICTS)[number]

/** Volume as a pod names it: `name` is the pod's volume, `claim` its claim, `volume` the PersistentVolume. */
export interface PodVolumeReport {
  name: string
  claim: string | null
  volume: string | null
  /** PersistentVolume source or pod volume source: `hostPath`, `local`, `csi`, `nfs`, `emptyDir`, `ephemeral` …; null when it can't be told. */
  source: string | null
  driver?: string
  affinity: 'free' | 'restricted' | 'pinned' | 'orphaned' | null
  /** Names of the nodes that the volume's node affinity matches, sorted; null when the volume is free or unknown. */
  pinnedTo: string[] | null
  path?: string
}

export type Effect =
  | { effect: 'needs-flag'; flag: '--ignore-daemonsets' | '--delete-emptydir-data' | '--force' }
  | { effect: 'data-lost'; volume: string }
  | { effect: 'starts-empty'; volume: string; path: string }
  | { effect: 'waits-for-budget'; budget: string; after: string[] }
  | { effect: 'preempts'; node: string; victims: string[] }
  | { effect: 'contended'; node: string; with: string[] }
  | { effect: 'quorum'; of: string; down: number; bears: number }
  | { effect: 'loses-fuse-server'; claims: string[] }

export interface SchedulingReport {
  /** Every node that passes all filters for this pod alone, sorted. */
  feasibleNodes: string[]
  /** The scheduler's own message, word for word, when no node passes; null otherwise. */
  message: string | null
  nominatedNode: string | null
}

export interface PodReport {
  namespace: string
  name: string
  node: string
  /** Owner through the chain, the topmost that could be read; null when there is none. */
  owner: { apiVersion: string; kind: string; name: string } | null
  verdict: Verdict
  /** Only for `finished`: the pod is being deleted already. */
  terminating?: true
  effects: Effect[]
  /** For pods that the drain evicts, also `blocked` and `gone` ones: as if they were created again. null for the others. */
  scheduling: SchedulingReport | null
  volumes: PodVolumeReport[]
  /** Only for `blocked`: the budgets of its namespace that refuse, and how it would end once they allow. */
  budgets?: string[]
  then?: { verdict: Verdict }
  /** The budget that would hold it, if pods that do not come back happened to be evicted before it: in which order is chance. */
  mayBeHeldBy?: string
  /** One sentence for a human: why this verdict. */
  why: string
  uncertain?: true
  uncertainReasons?: string[]
  /** With `uncertain`: the verdict `stuck` comes only from what the dump lacks, and is not counted as a finding. */
  unjudged?: true
  /** Commands or steps that resolve it, ready to paste where they are commands. */
  next: string[]
  /** Ways to do without what the pod has there, ready to paste; each says what it gives up. */
  instead: string[]
}

export interface ListedVolume {
  name: string
  phase: string
  source: string | null
  pinnedTo: string[]
  /** `NS/NAME` of the claim that has or had it; null when it never had one. */
  claim: string | null
  reason: 'unused' | 'released'
}

/** Pods that compete for room (NS/NAME), and how many of them stay Pending, in the orders and choices that were played. */
export interface ContendedGroup {
  pods: string[]
  /** Those of them that are Pending already, before the drain; absent when none is. */
  waiting?: string[]
  pending: { min: number; max: number }
}

export interface DrainReport {
  apiVersion: 'kubectl-storage/v1'
  kind: 'DrainReport'
  complete: boolean
  warnings: string[]
  /** In the order in which they are drained. */
  nodes: string[]
  cordonOnly: boolean
  /** NS/NAME of the pods that alone are taken to be evicted (`--pod`); absent: all of the nodes. */
  only?: string[]
  pods: PodReport[]
  volumes: ListedVolume[]
  claims: { namespace: string; name: string; selectedNode: string }[]
  /** Absent when no pod competes. */
  contention?: ContendedGroup[]
  /** Verdict → number of pods; zeros left out. */
  summary: Partial<Record<Verdict, number>>
  /** The `kubectl drain` command line with exactly the flags it demands; null with `--cordon-only`, with `--pod`, and when pods can't be read. */
  drainCommand: string | null
  /** What the words are that make the answer "not safe" (verdicts and effects, `--accept`ed ones left out), sorted. */
  notSafe: string[]
}

/** Words that make the answer "not safe" (exit 3) unless `--accept`ed. */
export const ACCEPTABLE = [
  'stuck',
  'blocked',
  'gone',
  'returns',
  'contended',
  'preempts',
  'starts-empty',
  'quorum',
  'loses-fuse-server',
  'data-lost',
] as const
export type Acceptable = (typeof ACCEPTABLE)[number]
