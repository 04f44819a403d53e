/** What it is to ask a node something: shared by everything that reaches nodes, whatever the way (SSH, the user's ssh, a pod). */

/** How a node ended in a sweep; each ends with exactly one. The words are part of the JSON documents. */
export const NODE_OUTCOMES = ['ok', 'timed-out', 'unreachable', 'auth-failed', 'host-key', 'no-sudo', 'failed'] as const
export type NodeOutcome = (typeof NODE_OUTCOMES)[number]

/** A node to be reached. */
export interface NodeTarget {
  /** The Node object's name, or what the user called the host when no cluster is asked. */
  node: string
  /** Where SSH connects: an IP address or host name. A way that needs none (a pod) does not look at it. */
  address: string
}

/** What a node has to do. */
export interface NodeScript {
  /**
   * POSIX sh, run as root (uid 0, through `sudo -n` where needed) on standard input of a shell: no part of it is ever an argument.
   * It must not read standard input. Its standard output is the answer, any bytes, at most {@link maxBytes}.
   */
  text: string
  /** An answer longer than this is a failure, never a cut one. */
  maxBytes?: number
}

/** What a node said. `error` and `suggestions` are there unless the outcome is `ok`; neutralised and fit for a terminal. */
export interface NodeAnswer {
  node: string
  outcome: NodeOutcome
  /** What went wrong, in one line: a fact, no guess. */
  error?: string
  /** Sentences or commands that a user can act on, best first. */
  suggestions?: string[]
  /** What the script wrote, whole (outcome `ok` only; the script's exit code was 0). */
  output?: Buffer
  /** Things worth a warning though the node answered (a config's `StrictHostKeyChecking no` that was not obeyed, a key added). */
  warnings?: string[]
}

export interface NodeRunOptions {
  timeoutMs: number
  /** Aborted by Ctrl-C: the answer is then a `failed` one, at once. */
  signal?: AbortSignal
  /** Told what is being done now, in a few words; see NodeEvent. */
  progress?: (doing: string) => void
}

/** One way of reaching nodes, made once for a sweep: shares connections to bastions, keys and passphrases between nodes. */
export interface NodeReach {
  /**
   * Runs the script on one node and never throws: whatever happens ends as an answer, at the latest when `timeoutMs` is over.
   * The one deadline covers everything: connecting, every hop, authentication, the channel, the run.
   */
  run(target: NodeTarget, script: NodeScript, options: NodeRunOptions): Promise<NodeAnswer>
  /** Lets go of everything that is still open, and removes what was made; waits for it some seconds at most. Also after a Ctrl-C. */
  close(): Promise<void>
}

/** What a sweep tells while it goes on. A table or plain lines subscribe. */
export type NodeEvent =
  | { event: 'started'; node: string }
  /** What is being done now, in a few words: `connecting via bastion`, `asking`, `waiting for the pod`. */
  | { event: 'progress'; node: string; doing: string }
  | { event: 'ended'; node: string; outcome: NodeOutcome; detail?: string }
