/**
 * known_hosts files as sshd(8) (SSH_KNOWN_HOSTS FILE FORMAT) describes them: parsing and looking up. Nothing is decided here but what
 * the files say; see host-keys.ts.
 */

/** One usable line. */
export interface KnownHostLine {
  file: string
  /** From 1. */
  line: number
  marker?: 'cert-authority' | 'revoked'
  /** As in the key's own blob: `ssh-ed25519`, `ssh-rsa`, … */
  keyType: string
  key: Buffer
}

/** What the files say of a presented key; first that holds: revoked, trusted, changed, only-by-authority, unknown. */
export type KnownHostsVerdict =
  | { verdict: 'trusted'; file: string; line: number }
  | { verdict: 'unknown' }
  /** Another key is known for the host: the first such line, and the fingerprints of all its known keys. */
  | { verdict: 'changed'; file: string; line: number; expected: string[] }
  | { verdict: 'revoked'; file: string; line: number }
  /** No plain key of the host is known, only certificates of an authority would be accepted. */
  | { verdict: 'only-by-authority'; file: string; line: number }

/** The files of one configuration, parsed. */
export interface KnownHosts {
  /** Lines that were passed over, as OpenSSH does: `FILE line N: …`. */
  notes: string[]
  /** All lines that hold for any of the names. */
  linesFor(name: string): KnownHostLine[]
}

/** A known_hosts file can't be read; a missing one is an empty one and no error. */
export class KnownHostsError extends Error {
  readonly file: string

  constructor(file: string, message: string, options?: { cause?: unknown }) {
    super(message, options)
    this.name = new.target.name
    this.file = file
  }
}

/** The name a host is known under: `host` for port 22, `[host]:port` for others, lower case. */
export function knownHostName(_host: string, _port: number): string {
  throw new Error('not yet')
}

/** `SHA256:…` of a key blob, as `ssh-keygen -l` prints it. */
export function fingerprint(_key: Buffer): string {
  throw new Error('not yet')
}
