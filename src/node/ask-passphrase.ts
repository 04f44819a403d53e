/** The hidden prompt on the terminal. */
import type { AskPassphrase } from './identities.js'

/** Asks on /dev/tty without echo, one question at a time; without a terminal nobody is asked. */
export function terminalPassphrase(): AskPassphrase {
  throw new Error('not yet')
}
