/**
 * known_hosts files as sshd(8) (SSH_KNOWN_HOSTS FILE FORMAT) describes them and hostfile.c reads them: parsing and looking up. What
 * follows from a verdict is decided in host-keys.ts.
 */
import { createHash, createHmac } from 'node:crypto'
import { readFile, stat } from 'node:fs/promises'
import { neutralise } from '../present/text.js'
import { matchesList } from './patterns.js'

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
  /** Another key is known for the host: the first such line, and the fingerprints of all its known keys, sorted. */
  | { verdict: 'changed'; file: string; line: number; expected: string[] }
  | { verdict: 'revoked'; file: string; line: number }
  /** No plain key of the host is known, only certificates of an authority would be accepted. */
  | { verdict: 'only-by-authority'; file: string; line: number }

/** A known_hosts file can't be read; a missing one is an empty one and no error. */
export class KnownHostsError extends Error {
  readonly file: string

  constructor(file: string, message: string, options?: { cause?: unknown }) {
    super(message, options)
    this.name = new.target.name
    this.file = file
  }
}

/** The name a host is known under: `host` for port 22, `[host]:port` for others, lower case (misc.c, put_host_port). */
export function knownHostName(host: string, port: number): string {
  const name = host.toLowerCase()
  return port === 22 ? name : `[${name}]:${port}`
}

/** `SHA256:…` of a key blob, as `ssh-keygen -l` prints it. */
export function fingerprint(key: Buffer): string {
  return `SHA256:${createHash('sha256').update(key).digest('base64').replace(/=+$/, '')}`
}

/** The type that a key blob says it is of; empty when it is no key blob. */
export function keyTypeOf(key: Buffer): string {
  return fieldsOf(key)?.[0]?.toString('latin1') ?? ''
}

/** The fields of a blob (RFC 4251, string); undefined when they don't end where it ends. */
function fieldsOf(blob: Buffer): Buffer[] | undefined {
  const fields: Buffer[] = []
  let at = 0
  while (at < blob.length) {
    if (at + 4 > blob.length) return undefined
    const end = at + 4 + blob.readUInt32BE(at)
    if (end > blob.length) return undefined
    fields.push(blob.subarray(at + 4, end))
    at = end
  }
  return fields
}

const KEY_TYPE =
  /^(?:ssh-(?:ed25519|rsa|dss)|ecdsa-sha2-nistp(?:256|384|521)|sk-(?:ssh-ed25519|ecdsa-sha2-nistp256)@openssh\.com|[a-z0-9-]+-cert-v01@openssh\.com)$/

/**
 * `TYPE BASE64 [comment]` as in known_hosts and public key files; the reason when it is no key. A blob of another type than the line
 * says is none (sshkey.c, sshkey_read).
 */
export function parsePublicKey(text: string): { keyType: string; key: Buffer } | string {
  const [type = '', base64 = ''] = text.trim().split(/[ \t\r]+/)
  // The names of signatures are also taken for the key's.
  const keyType = /^rsa-sha2-(?:256|512)$/.test(type) ? 'ssh-rsa' : type
  if (!KEY_TYPE.test(keyType)) return 'no key type that is known'
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(base64)) return 'no base64 after the key type'
  const key = Buffer.from(base64, 'base64')
  const fields = fieldsOf(key)
  if (fields === undefined || fields.length < 2) return 'the key is cut short'
  if (fields[0]?.toString('latin1') !== keyType) return `the key is not of type ${keyType}`
  return { keyType, key }
}

/** One file, parsed. */
export class KnownHostsFile {
  /** Lines that were passed over, as OpenSSH does. */
  readonly notes: string[] = []
  /** Lines whose names have neither pattern nor negation. */
  private readonly exact = new Map<string, KnownHostLine[]>()
  private readonly patterns: { list: string; line: KnownHostLine }[] = []
  private readonly hashed: { salt: Buffer; hash: Buffer; line: KnownHostLine }[] = []
  private readonly found = new Map<string, KnownHostLine[]>()
  private lines = 0

  constructor(
    readonly path: string,
    text: string,
  ) {
    const lines = text.split('\n')
    if (lines.at(-1) === '') lines.pop()
    for (const line of lines) this.add(line)
  }

  /** One more line at the end. */
  add(text: string): void {
    this.lines++
    const why = this.parse(text.replace(/^[ \t]+/, '').replace(/\r$/, ''))
    if (why !== undefined) this.notes.push(neutralise(`${this.path} line ${this.lines} is passed over: ${why}`))
    this.found.clear()
  }

  /** Why the line can't be used; undefined when it can, or says nothing. */
  private parse(text: string): string | undefined {
    if (text === '' || text.startsWith('#')) return undefined
    const words = text.split(/[ \t]+/)
    const marker = words[0]?.startsWith('@') ? words.shift() : undefined
    if (marker !== undefined && marker !== '@cert-authority' && marker !== '@revoked')
      return `no marker is called ${marker}`
    const names = words.shift() ?? ''
    if (names.startsWith('@')) return 'it has two markers'
    if (words.length === 0 || words[0] === '' || words[0]?.startsWith('#')) return 'it has no key'
    const key = parsePublicKey(words.join(' '))
    if (typeof key === 'string') return key
    const line: KnownHostLine = {
      file: this.path,
      line: this.lines,
      ...(marker !== undefined && { marker: marker === '@revoked' ? 'revoked' : 'cert-authority' }),
      ...key,
    }
    if (names.startsWith('|')) {
      const [, salt, hash] = names.match(/^\|1\|([A-Za-z0-9+/]+=*)\|([A-Za-z0-9+/]+=*)$/) ?? []
      const entry = { salt: Buffer.from(salt ?? '', 'base64'), hash: Buffer.from(hash ?? '', 'base64'), line }
      if (entry.salt.length !== 20 || entry.hash.length !== 20) return 'the hashed name is malformed'
      this.hashed.push(entry)
    } else if (/[*?!]/.test(names)) {
      this.patterns.push({ list: names.toLowerCase(), line })
    } else {
      for (const name of new Set(names.toLowerCase().split(','))) {
        const lines = this.exact.get(name)
        if (lines === undefined) this.exact.set(name, [line])
        else lines.push(line)
      }
    }
    return undefined
  }

  /**
   * The lines that hold for a name, in the file's order. A salt of its own per hashed line makes an index impossible: one HMAC for
   * each (1.7 µs), once per name.
   */
  linesFor(name: string): KnownHostLine[] {
    let lines = this.found.get(name)
    if (lines === undefined) {
      lines = [
        ...(this.exact.get(name) ?? []),
        ...this.patterns.filter(({ list }) => matchesList(name, list)).map(({ line }) => line),
        ...this.hashed
          .filter(({ salt, hash }) => createHmac('sha1', salt).update(name).digest().equals(hash))
          .map(({ line }) => line),
      ].sort((a, b) => a.line - b.line)
      this.found.set(name, lines)
    }
    return lines
  }
}

/**
 * @returns null: there is no such file
 * @throws {KnownHostsError} it is there and can't be read, or is no file
 */
export async function readKnownHosts(path: string): Promise<KnownHostsFile | null> {
  try {
    const is = await stat(path)
    // Anything else could keep us waiting, or never end.
    if (!is.isFile() && path !== '/dev/null') {
      throw new KnownHostsError(
        path,
        neutralise(`known_hosts ${path} is ${is.isDirectory() ? 'a directory' : 'no file'}`),
      )
    }
    return new KnownHostsFile(path, await readFile(path, 'utf8'))
  } catch (error) {
    if (error instanceof KnownHostsError) throw error
    const code = (error as NodeJS.ErrnoException).code
    if (code === 'ENOENT') return null
    const why = code === 'EACCES' ? 'permission denied' : (code ?? 'unknown error')
    throw new KnownHostsError(path, neutralise(`known_hosts ${path} can't be read: ${why}`), { cause: error })
  }
}

/** The verdict of the lines that hold for a name (hostfile.c, check_hostkeys_by_key_or_type and check_key_not_revoked). */
export function judge(lines: readonly KnownHostLine[], key: Buffer): KnownHostsVerdict {
  const at = ({ file, line }: KnownHostLine) => ({ file, line })
  const revoked = lines.find((line) => line.marker === 'revoked' && line.key.equals(key))
  if (revoked !== undefined) return { verdict: 'revoked', ...at(revoked) }
  const plain = lines.filter((line) => line.marker === undefined)
  const same = plain.find((line) => line.key.equals(key))
  if (same !== undefined) return { verdict: 'trusted', ...at(same) }
  // Also when the other key is of another type.
  const [other] = plain
  if (other !== undefined) {
    const expected = [...new Set(plain.map((line) => fingerprint(line.key)))].sort()
    return { verdict: 'changed', ...at(other), expected }
  }
  const authority = lines.find((line) => line.marker === 'cert-authority')
  if (authority !== undefined) return { verdict: 'only-by-authority', ...at(authority) }
  return { verdict: 'unknown' }
}

/**
 * The verdict for a host. A host on another port that is not known by it may be known by its plain name: that key is trusted, too,
 * and another one there says nothing (sshconnect.c, check_host_key: "checking without port identifier").
 *
 * @param alias HostKeyAlias: looked up as it is, without port
 */
export function lookUp(
  files: readonly KnownHostsFile[],
  host: { name: string; port: number; alias?: string },
  key: Buffer,
): KnownHostsVerdict {
  const linesFor = (name: string) => files.flatMap((file) => file.linesFor(name))
  if (host.alias !== undefined) return judge(linesFor(host.alias.toLowerCase()), key)
  const found = judge(linesFor(knownHostName(host.name, host.port)), key)
  if (host.port === 22 || (found.verdict !== 'unknown' && found.verdict !== 'only-by-authority')) return found
  const plain = judge(linesFor(knownHostName(host.name, 22)), key)
  return plain.verdict === 'trusted' || plain.verdict === 'revoked' ? plain : found
}

/** The types of the plain keys that are known for a host, in the order of the files. */
export function knownKeyTypes(
  files: readonly KnownHostsFile[],
  host: { name: string; port: number; alias?: string },
): string[] {
  const typesFor = (name: string) =>
    files.flatMap((file) =>
      file
        .linesFor(name)
        .filter((line) => line.marker === undefined)
        .map((line) => line.keyType),
    )
  const types = typesFor(host.alias?.toLowerCase() ?? knownHostName(host.name, host.port))
  const found = types.length > 0 || host.alias !== undefined ? types : typesFor(knownHostName(host.name, 22))
  return [...new Set(found)]
}

/** A hashed name for a new line. */
export function hashName(name: string, salt: Buffer): string {
  return `|1|${salt.toString('base64')}|${createHmac('sha1', salt).update(name).digest('base64')}`
}
