/** Whether a presented host key is accepted, and the words when it is not. Closed when in doubt. */
import type { HostSettings } from './ssh-config.js'

export type HostKeyDecision =
  | {
      accept: true
      /** A key that was added to known_hosts is said. */
      warnings: string[]
    }
  | { accept: false; outcome: 'host-key'; error: string; suggestions: string[] }

/** The checker of one host: made before connecting, since it also says which algorithms to offer. */
export interface HostKeyCheck {
  /**
   * The host key algorithms to offer: of those supported (or configured), the ones of key types that are known for the host first,
   * so that a host that is known by one key does not present another.
   */
  algorithms(supported: readonly string[]): string[]
  /**
   * Decides on the key that the host presented (the blob, as ssh2's hostVerifier gets it when no hostHash is set). With
   * acceptNew an unknown one is added first: a key that could not be added is refused. Never throws.
   */
  check(key: Buffer): Promise<HostKeyDecision>
  /** Things worth a warning: malformed lines, a StrictHostKeyChecking that is not obeyed. */
  warnings: string[]
}

export interface HostKeys {
  /**
   * Never throws: files that can't be read come out as a check that refuses every key.
   *
   * @param address what is really connected to, if it is not `settings.hostName` (a check under the name that the user wrote)
   */
  forHost(settings: HostSettings): Promise<HostKeyCheck>
}

/** One for a run: every file is read once, and two nodes that add keys wait for each other. */
export function hostKeys(_options: { acceptNew: boolean }): HostKeys {
  throw new Error('not yet')
}
