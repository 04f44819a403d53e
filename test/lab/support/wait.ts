/** Waiting that ends, and says what it waited for. */
import { sleep } from './processes.js'

/** What a probe returns while it has to be asked again: what is still missing, for the message when time runs out. */
export class Missing {
  constructor(readonly what: string) {}
}

export const missing = (what: string): Missing => new Missing(what)

export type WaitOptions = { timeoutMs?: number; everyMs?: number; signal?: AbortSignal }

/**
 * Asks until the probe returns anything but `missing(…)`, and returns that. A probe that throws is asked again too: servers that
 * start refuse connections.
 */
export async function waitFor<T>(
  what: string,
  probe: () => T | Missing | Promise<T | Missing>,
  { timeoutMs = 60_000, everyMs = 250, signal }: WaitOptions = {},
): Promise<T> {
  const deadline = Date.now() + timeoutMs
  for (;;) {
    signal?.throwIfAborted()
    let still: string
    try {
      const answer = await probe()
      if (!(answer instanceof Missing)) return answer
      still = answer.what
    } catch (error) {
      still = error instanceof Error ? error.message : String(error)
    }
    if (Date.now() > deadline)
      throw new Error(`${what}: not after ${Math.round(timeoutMs / 1000)} s; missing: ${still}`)
    await sleep(everyMs)
  }
}
