/**
 * With what to authenticate, in OpenSSH's order (sshconnect2.c, pubkey_prepare): keys of the agent that the configuration names, the
 * agent's other keys (not with IdentitiesOnly), then key files. One ring for a run: files are read once, a passphrase is asked once.
 */
import type { BaseAgent } from 'ssh2'
import type { HostSettings } from './ssh-config.js'

/** Why a key could not be used, for the answer of a node whose login failed. Plain sentences. */
export interface IdentityProblem {
  message: string
  suggestions: string[]
  /** Only `ssh` itself can use the key (certificate, security key). */
  needsBinary?: true
}

/** What one connection tries. */
export interface Identities {
  /**
   * For ssh2's authHandler, to be offered in this order, each as `{ type: 'agent', username, agent }`. A passphrase is asked only when
   * the server has said that it would take the key, wherever the public part is known beforehand.
   */
  agents: BaseAgent[]
  /** Grows while authentication goes on. */
  problems: IdentityProblem[]
}

export interface KeyRing {
  /** Never throws: what can't be used is a problem. */
  forHost(settings: HostSettings): Promise<Identities>
  /**
   * While a person is asked for a passphrase, no deadline should run: told true when asking begins, false when it ends.
   * @returns how to stop listening
   */
  onAsking(listener: (asking: boolean) => void): () => void
  /** Forgets keys and passphrases. */
  close(): void
}

/** The person pressed Ctrl-C at the prompt: the run is cancelled. */
export class PassphraseCancelled extends Error {}

/**
 * Asks for the passphrase of a key: undefined when nobody can be asked (no terminal).
 * @throws {PassphraseCancelled}
 */
export type AskPassphrase = (question: {
  keyFile: string
  /** From 1; above 1 the last one was wrong. */
  attempt: number
  signal?: AbortSignal
}) => Promise<string | undefined>

export function keyRing(_options: {
  env: NodeJS.ProcessEnv
  askPassphrase: AskPassphrase
  signal?: AbortSignal
}): KeyRing {
  throw new Error('not yet')
}
