/** Whether a presented host key is accepted, and the words when it is not. Closed when in doubt. */
import { randomBytes } from 'node:crypto'
import { mkdir, open, readFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { neutralise } from '../present/text.js'
import {
  fingerprint,
  hashName,
  KnownHostsError,
  KnownHostsFile,
  type KnownHostsVerdict,
  keyTypeOf,
  knownHostName,
  knownKeyTypes,
  lookUp,
  parsePublicKey,
  readKnownHosts,
} from './known-hosts.js'
import { shellCommand, shellQuote } from './shell-quote.js'
import type { HostSettings } from './ssh-config.js'

export interface HostKeyRefusal {
  accept: false
  outcome: 'host-key'
  error: string
  suggestions: string[]
}

export type HostKeyDecision =
  | {
      accept: true
      /** A key that was added to known_hosts is said. */
      warnings: string[]
    }
  | HostKeyRefusal

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
   *
   * @param address the IP address that is really connected to, for CheckHostIP; not given behind a hop
   */
  check(key: Buffer, address?: string): Promise<HostKeyDecision>
  /** Things worth a warning: malformed lines of known_hosts. The same for many hosts: say each once. */
  warnings: string[]
}

export interface HostKeys {
  /** Never throws: files that can't be read come out as a check that refuses every key. */
  forHost(settings: HostSettings): Promise<HostKeyCheck>
}

type HostKeySettings = Pick<
  HostSettings,
  | 'host'
  | 'hostName'
  | 'port'
  | 'hostKeyAlias'
  | 'userKnownHostsFiles'
  | 'globalKnownHostsFiles'
  | 'hashKnownHosts'
  | 'checkHostIp'
  | 'hostKeyAlgorithms'
  | 'revokedHostKeys'
  | 'proxyJump'
>

/** What of a key type ssh2 and servers call the signatures (RFC 8332), best first. */
const SIGNATURES: Readonly<Record<string, readonly string[]>> = {
  'ssh-rsa': ['rsa-sha2-512', 'rsa-sha2-256', 'ssh-rsa'],
}

/** Stable: what is supported, the algorithms of known key types first. */
export function orderAlgorithms(supported: readonly string[], knownTypes: readonly string[]): string[] {
  const known = new Set(knownTypes.flatMap((type) => SIGNATURES[type] ?? [type]))
  return [...supported.filter((name) => known.has(name)), ...supported.filter((name) => !known.has(name))]
}

/** One for a run: every file is read once, and two nodes that add keys wait for each other. */
export function hostKeys(options: { acceptNew: boolean }): HostKeys {
  const files = new Map<string, Promise<KnownHostsFile | null>>()
  const revoked = new Map<string, Promise<RevokedKeys>>()
  let adding: Promise<unknown> = Promise.resolve()

  const read = (path: string): Promise<KnownHostsFile | null> => {
    let file = files.get(path)
    if (file === undefined) {
      file = readKnownHosts(path)
      files.set(path, file)
    }
    return file
  }
  const readRevokedOnce = (path: string): Promise<RevokedKeys> => {
    let keys = revoked.get(path)
    if (keys === undefined) {
      keys = readRevoked(path)
      revoked.set(path, keys)
    }
    return keys
  }
  const readAll = async (settings: HostKeySettings): Promise<KnownHostsFile[]> => {
    const paths = [...new Set([...settings.userKnownHostsFiles, ...settings.globalKnownHostsFiles])]
    return (await Promise.all(paths.map(read))).filter((file) => file !== null)
  }
  /** One after the other, and each looks again: another node may have added the same name meanwhile. */
  const add = (settings: HostKeySettings, key: Buffer): Promise<HostKeyDecision> => {
    const done = adding.then(async (): Promise<HostKeyDecision> => {
      const verdict = lookUp(await readAll(settings), hostOf(settings), key)
      if (verdict.verdict !== 'unknown') return decide(verdict, settings, key)
      const [path] = settings.userKnownHostsFiles
      if (path === undefined) {
        return refusal(`${unknownWords(settings, key)}, and the SSH configuration has no file to add it to`, [])
      }
      const name = nameOf(settings)
      if (!/^[A-Za-z0-9._:%[\]-]+$/.test(name)) {
        return refusal(`${unknownWords(settings, key)}, and its name can't be written to ${path}`, [])
      }
      const written = settings.hashKnownHosts ? hashName(name, randomBytes(20)) : name
      const line = `${written} ${keyTypeOf(key)} ${key.toString('base64')}`
      try {
        await append(path, line)
      } catch (error) {
        const code = (error as NodeJS.ErrnoException).code ?? 'unknown error'
        return refusal(`${unknownWords(settings, key)}, and it can't be added to ${path}: ${code}`, [])
      }
      const file = await read(path)
      if (file === null) files.set(path, Promise.resolve(new KnownHostsFile(path, line)))
      else file.add(line)
      return {
        accept: true,
        warnings: [neutralise(`the host key of ${name} was added to ${path}: ${keyWords(key)}`)],
      }
    })
    adding = done.catch(() => undefined)
    return done
  }

  return {
    async forHost(settings) {
      let known: KnownHostsFile[]
      let revokedKeys: RevokedKeys | undefined
      try {
        known = await readAll(settings)
        revokedKeys =
          settings.revokedHostKeys === undefined ? undefined : await readRevokedOnce(settings.revokedHostKeys)
      } catch (error) {
        if (!(error instanceof KnownHostsError)) throw error
        const closed = refusal(`the host key of ${nameOf(settings)} can't be checked: ${error.message}`, [
          `make ${shellQuote(error.file)} readable, or name another file with UserKnownHostsFile in the SSH configuration`,
        ])
        return { algorithms: (supported) => [...supported], check: async () => closed, warnings: [] }
      }
      const types = knownKeyTypes(known, hostOf(settings))
      return {
        algorithms(supported) {
          const wanted = settings.hostKeyAlgorithms
          const usable = wanted === undefined ? [...supported] : wanted.filter((name) => supported.includes(name))
          return orderAlgorithms(usable, types)
        },
        async check(key, address) {
          const why = revokedKeys?.(key)
          if (why !== undefined) return refusal(`the host key of ${nameOf(settings)} ${why}`, [])
          const verdict = lookUp(known, hostOf(settings), key)
          if (verdict.verdict === 'unknown' && options.acceptNew) {
            return add(settings, key).catch((error: unknown) =>
              refusal(`the host key of ${nameOf(settings)} can't be checked: ${String(error)}`, []),
            )
          }
          if (verdict.verdict === 'trusted' && settings.checkHostIp && address !== undefined) {
            const byAddress = lookUp(known, { name: address, port: settings.port }, key)
            // One that is not known is no contradiction; OpenSSH adds it silently.
            if (byAddress.verdict === 'changed' || byAddress.verdict === 'revoked') {
              return decide(byAddress, { ...settings, hostName: address, hostKeyAlias: undefined }, key)
            }
          }
          return decide(verdict, settings, key)
        },
        warnings: known.flatMap((file) => shortened(file.notes)),
      }
    },
  }
}

/** A whole file of another kind must not fill the screen. */
function shortened(notes: readonly string[]): string[] {
  const most = 3
  if (notes.length <= most) return [...notes]
  return [...notes.slice(0, most), `… and ${notes.length - most} more lines of that file`]
}

function hostOf(settings: HostKeySettings): { name: string; port: number; alias?: string } {
  const { hostName: name, port, hostKeyAlias: alias } = settings
  return { name, port, ...(alias !== undefined && { alias }) }
}

/** As it stands, or would stand, in known_hosts. */
function nameOf(settings: HostKeySettings): string {
  return settings.hostKeyAlias?.toLowerCase() ?? knownHostName(settings.hostName, settings.port)
}

/** `ED25519 SHA256:…` */
function keyWords(key: Buffer): string {
  const kind = keyTypeOf(key)
    .replace(/^ssh-|@openssh\.com$/g, '')
    .replace(/^ecdsa-.*/, 'ecdsa')
  return `${kind.toUpperCase()} ${fingerprint(key)}`
}

function unknownWords(settings: HostKeySettings, key: Buffer): string {
  return `the host key of ${nameOf(settings)} is not known: ${keyWords(key)}`
}

function refusal(error: string, suggestions: string[]): HostKeyRefusal {
  return { accept: false, outcome: 'host-key', error: neutralise(error), suggestions: suggestions.map(neutralise) }
}

/** From a verdict to a decision in words. */
export function decide(verdict: KnownHostsVerdict, settings: HostKeySettings, key: Buffer): HostKeyDecision {
  const name = nameOf(settings)
  switch (verdict.verdict) {
    case 'trusted':
      return { accept: true, warnings: [] }
    case 'unknown': {
      const file = settings.userKnownHostsFiles[0]
      const port = settings.port === 22 ? [] : ['-p', String(settings.port)]
      const scan = shellCommand(['ssh-keyscan', ...port, settings.hostName])
      const canScan = file !== undefined && settings.proxyJump.length === 0 && settings.hostKeyAlias === undefined
      return refusal(unknownWords(settings, key), [
        'compare the fingerprint with what the node itself says: ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub (or _rsa_, _ecdsa_)',
        ...(canScan ? [`if it is the same: ${scan} >> ${shellQuote(file)}`] : []),
        '--accept-new-host-keys adds the keys of hosts that are not known yet, unseen',
      ])
    }
    case 'changed':
      return refusal(
        `the host key of ${name} has changed: ${verdict.file} line ${verdict.line} expects ${verdict.expected.join(' or ')}, ` +
          `the host shows ${keyWords(key)}`,
        [
          'someone may stand between you and the node, or the node was installed anew: find out which before you go on',
          `if the new key is right: ${shellCommand(['ssh-keygen', '-f', verdict.file, '-R', name])}, then add the new one`,
        ],
      )
    case 'revoked':
      return refusal(`the host key of ${name} is revoked: ${verdict.file} line ${verdict.line} (${keyWords(key)})`, [
        'the key is not to be trusted again: the node needs a new one',
      ])
    case 'only-by-authority':
      return refusal(
        `${name} is known only by a certificate authority (${verdict.file} line ${verdict.line}), and host certificates can't be checked here`,
        [
          '--ssh-binary: your own ssh checks host certificates',
          `or add the key itself to known_hosts once it is compared: ${keyWords(key)}`,
        ],
      )
  }
}

/** Why the key is refused; undefined when it is not in the file. */
type RevokedKeys = (key: Buffer) => string | undefined

/** RevokedHostKeys (ssh_config(5)): a file that can't be read or understood refuses every key. */
async function readRevoked(path: string): Promise<RevokedKeys> {
  let content: Buffer
  try {
    content = await readFile(path)
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'unknown error'
    return () => `can't be checked: RevokedHostKeys ${path} can't be read (${code})`
  }
  if (content.subarray(0, 8).toString('latin1') === 'SSHKRL\n\0') {
    return () => `can't be checked: RevokedHostKeys ${path} is a KRL, which needs --ssh-binary`
  }
  const keys = new Set<string>()
  for (const line of content.toString('utf8').split('\n')) {
    const key = parsePublicKey(line)
    if (typeof key !== 'string') keys.add(key.key.toString('base64'))
  }
  return (key) =>
    keys.has(key.toString('base64')) ? `is revoked: it is in RevokedHostKeys ${path} (${keyWords(key)})` : undefined
}

/**
 * Adds one line. One write with O_APPEND, so that two programs that add at once don't cut each other's lines apart; a last line without
 * its end is ended first. Modes as OpenSSH makes them (hostfile.c, add_host_to_hostfile and ssh.c).
 */
async function append(path: string, line: string): Promise<void> {
  await mkdir(dirname(path), { mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error
  })
  const file = await open(path, 'a+', 0o600)
  try {
    const { size } = await file.stat()
    const last = Buffer.alloc(1)
    if (size > 0) await file.read(last, 0, 1, size - 1)
    const text = Buffer.from(`${size > 0 && last[0] !== 0x0a ? '\n' : ''}${line}\n`)
    const { bytesWritten } = await file.write(text)
    if (bytesWritten !== text.length) throw Object.assign(new Error('short write'), { code: 'ENOSPC' })
  } finally {
    await file.close()
  }
}
