/** What the process says to a script. The numbers are a contract: README and tests hold them. */
export const EXIT = {
  /** Done, safe, or nothing to do. */
  ok: 0,
  /** A mistake of this program. */
  bug: 1,
  usage: 2,
  /** The answer is "not safe". */
  notSafe: 3,
  /** A rule refused. */
  refused: 4,
  partlyDone: 5,
  /** Server unreachable, credentials refused, or so little readable that nothing can be judged. */
  unreachable: 6,
  /** Something could not be read, so the answer is incomplete. */
  incomplete: 7,
  /** Out of time, still running, resumable. */
  stillRunning: 8,
  cancelled: 130,
} as const

export type ExitCode = (typeof EXIT)[keyof typeof EXIT]
