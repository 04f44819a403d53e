/**
 * ssh_config(5) files read by OpenSSH's own rules (readconf.c), for machines without OpenSSH. What comes out has the shape of `ssh -G`:
 * keyword in lower case → values. Commands of `Match exec` are not run: that would start programs where the user does not expect it.
 */
import { lstat, readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { InputError } from '../cluster/errors.js'
import { neutralise } from '../present/text.js'
import { ALIASES, DEFAULT_ALGORITHMS, DEFAULT_KEY_ALGORITHMS, KEY_ALGORITHMS, OTHER_KEYWORDS } from './openssh-names.js'
import { matchesList, matchesPattern } from './patterns.js'

/** Keyword (lower case) → its values; a keyword that was not configured is not there. */
export type RawSettings = Map<string, string[]>

export interface ConfigFiles {
  /** Of the user (or of -F): its relative Includes are below `~/.ssh`. */
  userFile: string | undefined
  /** -F: it must be there, and its owner and mode don't matter. */
  userFileIsGiven: boolean
  /** Its relative Includes are below its own folder. */
  systemFile: string | undefined
  home: string
  localUser: string
  /** Flags, which count before every file. */
  user?: string
  port?: number
}

/** readconf.c, READCONF_MAX_DEPTH */
const MAX_DEPTH = 16

type Kind =
  | 'word'
  | 'words'
  | 'rest'
  | 'yes-no'
  | 'port'
  | 'seconds'
  | 'algorithms'
  | 'list'
  | 'jump'
  | 'command'
  | 'strict'
  | 'family'

/** What of a configuration makes a host's settings, and how its value is written. */
const KEYWORDS: Readonly<Record<string, Kind>> = {
  hostname: 'word',
  port: 'port',
  user: 'word',
  hostkeyalias: 'word',
  identityfile: 'list',
  certificatefile: 'list',
  identitiesonly: 'yes-no',
  identityagent: 'word',
  proxyjump: 'jump',
  proxycommand: 'command',
  userknownhostsfile: 'words',
  globalknownhostsfile: 'words',
  stricthostkeychecking: 'strict',
  checkhostip: 'yes-no',
  hashknownhosts: 'yes-no',
  ciphers: 'algorithms',
  kexalgorithms: 'algorithms',
  macs: 'algorithms',
  hostkeyalgorithms: 'algorithms',
  pubkeyacceptedalgorithms: 'algorithms',
  connecttimeout: 'seconds',
  gssapiauthentication: 'yes-no',
  preferredauthentications: 'word',
  pkcs11provider: 'word',
  knownhostscommand: 'rest',
  revokedhostkeys: 'word',
  addressfamily: 'family',
  bindaddress: 'word',
  canonicalizehostname: 'word',
  tag: 'word',
}

/** One reading of the files: the first value of a keyword wins, over both passes. */
class Reading {
  readonly raw: RawSettings = new Map()
  readonly warnings: string[] = []
  wantsFinalPass = false
  ignoreUnknown: string | undefined

  constructor(
    readonly host: string,
    readonly files: ConfigFiles,
  ) {
    if (files.user !== undefined) this.raw.set('user', [files.user])
    if (files.port !== undefined) this.raw.set('port', [String(files.port)])
  }

  first(keyword: string): string | undefined {
    return this.raw.get(keyword)?.[0]
  }

  warn(text: string): void {
    if (!this.warnings.includes(text)) this.warnings.push(text)
  }

  async pass(host: string, final: boolean): Promise<void> {
    const { userFile, userFileIsGiven, systemFile } = this.files
    const context = { host, final, depth: 0 }
    if (userFile !== undefined) {
      const text = await readConfig(userFile, { mustExist: userFileIsGiven, checkOwner: !userFileIsGiven })
      if (text !== null)
        await this.file(userFile, text, { ...context, includeBase: join(this.files.home, '.ssh') }, true)
    }
    if (systemFile !== undefined) {
      const text = await readConfig(systemFile, { mustExist: false, checkOwner: false })
      const includeBase = join(systemFile, '..')
      if (text !== null) await this.file(systemFile, text, { ...context, includeBase }, true)
    }
  }

  async file(path: string, text: string, context: Context, active: boolean): Promise<void> {
    const state: State = { ...context, path, line: 0, active, never: !active }
    for (const line of text.split('\n')) {
      state.line++
      await this.line(line.replace(/[ \t\r\f]+$/, ''), state)
    }
  }

  private async line(text: string, state: State): Promise<void> {
    const cursor: Cursor = { rest: text }
    let keyword = nextWord(cursor)
    if (keyword === '') keyword = nextWord(cursor)
    if (keyword === undefined || keyword === '' || keyword.startsWith('#')) return
    const rest = cursor.rest ?? ''
    const written = keyword
    keyword = ALIASES[keyword.toLowerCase()] ?? keyword.toLowerCase()
    const kind = KEYWORDS[keyword]
    const known = kind !== undefined || OTHER_KEYWORDS.has(keyword) || ['host', 'match', 'include'].includes(keyword)
    if (!known) {
      if (this.ignoreUnknown !== undefined && matchesList(keyword, this.ignoreUnknown.toLowerCase())) return
      throw mistake(state, `unknown option ${written}`)
    }
    if (keyword === 'match') {
      if (rest.trim() === '') throw mistake(state, `${written} has no value`)
      const matched = this.match(cursor, state)
      state.active = matched && !state.never
      return
    }
    const words = kind === 'rest' || kind === 'command' || kind === 'jump' ? [] : splitArguments(rest)
    if (words === undefined) throw mistake(state, 'a quotation mark without its partner')
    const raw = rest.replace(/^[ \t\r\n=]+/, '')
    if (words.length === 0 && (kind === 'rest' || kind === 'command' || kind === 'jump' ? raw === '' : true)) {
      throw mistake(state, `${written} has no value`)
    }
    if (keyword === 'host') {
      state.active = !state.never && matchesHost(state.host, words)
    } else if (keyword === 'include') {
      await this.include(words, state)
    } else if (keyword === 'ignoreunknown') {
      if (state.active) this.ignoreUnknown ??= words[0]
    } else if (kind !== undefined) {
      const values = this.values(keyword, written, kind, words, raw, state)
      if (values !== undefined && state.active && !this.raw.has(keyword)) this.raw.set(keyword, values)
    }
  }

  /** The values to keep, if the keyword has none yet; undefined: nothing to keep. Mistakes count in blocks that don't hold, too. */
  private values(
    keyword: string,
    written: string,
    kind: Kind,
    words: string[],
    raw: string,
    state: State,
  ): string[] | undefined {
    const value = words[0] ?? ''
    if (!['words', 'rest', 'command', 'jump'].includes(kind) && words.length > 1) {
      throw mistake(state, `${written} takes one value`)
    }
    switch (kind) {
      case 'list': {
        const before = this.raw.get(keyword) ?? []
        // Also in the second pass: what is there already is not added again (readconf.c, add_identity_file).
        if (state.active && !before.includes(value)) this.raw.set(keyword, [...before, value])
        return undefined
      }
      case 'words':
        return words
      case 'rest':
        return [raw]
      case 'command':
        // ProxyCommand after ProxyJump (other than none) does not count, nor ProxyJump after ProxyCommand, whatever that says.
        return (this.first('proxyjump') ?? 'none') === 'none' ? [raw] : undefined
      case 'jump': {
        const jump = raw.replace(/[ \t]+#.*$/, '')
        if (jump.toLowerCase() === 'none') {
          // Another ProxyJump after it does not count.
          return this.raw.has('proxycommand') ? undefined : ['none']
        }
        if (parseProxyJump(jump) === undefined)
          throw mistake(state, `${written} ${jump} is no list of [user@]host[:port]`)
        return this.raw.has('proxycommand') ? undefined : [jump]
      }
      case 'port': {
        if (!/^\d+$/.test(value) || Number(value) < 1 || Number(value) > 65535) {
          if (!(keyword === 'port' && value.toLowerCase() === 'ssh')) throw mistake(state, `${value} is no port`)
          return ['22']
        }
        return [String(Number(value))]
      }
      case 'yes-no': {
        const flag = { yes: 'yes', true: 'yes', no: 'no', false: 'no' }[value.toLowerCase()]
        if (flag === undefined) throw mistake(state, `${written} ${value} is neither yes nor no`)
        return [flag]
      }
      case 'strict': {
        const mode = {
          yes: 'true',
          true: 'true',
          ask: 'ask',
          no: 'false',
          false: 'false',
          off: 'false',
          'accept-new': 'accept-new',
        }[value.toLowerCase()]
        if (mode === undefined) throw mistake(state, `${written} ${value} is not one of yes, no, ask, accept-new, off`)
        return [mode]
      }
      case 'family':
        if (!['any', 'inet', 'inet6'].includes(value.toLowerCase())) {
          throw mistake(state, `${written} ${value} is not one of any, inet, inet6`)
        }
        return [value.toLowerCase()]
      case 'seconds': {
        const seconds = value.toLowerCase() === 'none' ? 'none' : parseSeconds(value)
        if (seconds === undefined) throw mistake(state, `${written} ${value} is no time`)
        return [String(seconds)]
      }
      case 'algorithms': {
        // Patterns are for the names of keys (kex.c, kex_assemble_names), elsewhere only for taking away.
        const patterns = value.startsWith('-') || DEFAULT_KEY_ALGORITHMS[keyword] !== undefined
        if (/^[+^]?$/.test(value) || (!patterns && /[*?]/.test(value))) {
          throw mistake(state, `${written} ${value} is no list of algorithms`)
        }
        return [completeAlgorithms(keyword, value)]
      }
      default:
        return [value]
    }
  }

  /** readconf.c, match_cfg_line: every criterion is read even when an earlier one failed, for it may be a mistake. */
  private match(cursor: Cursor, state: State): boolean {
    const name = this.first('hostname')
    const host =
      name === undefined
        ? state.host
        : state.final
          ? name
          : name.replace(/%([h%])/g, (_, token) => (token === 'h' ? state.host : '%'))
    const user = this.first('user') ?? this.files.localUser
    let result = true
    let attributes = 0
    for (;;) {
      const word = nextWord(cursor)
      if (word === undefined || word === '' || word.startsWith('#')) break
      const negated = word.startsWith('!')
      const attribute = (negated ? word.slice(1) : word).toLowerCase()
      if (attribute === 'all') {
        const next = nextWord(cursor)
        if (attributes > 1 || (next !== undefined && next !== '' && !next.startsWith('#'))) {
          throw mistake(state, "Match all can't be combined with other criteria")
        }
        return result && !negated
      }
      attributes++
      if (attribute === 'final' || attribute === 'canonical') {
        if (attribute === 'final') this.wantsFinalPass = true
        if (state.final === negated) result = false
        continue
      }
      const value = nextWord(cursor)
      if (value === undefined || value === '' || value.startsWith('#')) {
        throw mistake(state, `Match ${attribute} has no value`)
      }
      let holds: boolean
      if (attribute === 'host') holds = matchesList(host.toLowerCase(), value.toLowerCase())
      else if (attribute === 'originalhost') holds = matchesList(this.host.toLowerCase(), value.toLowerCase())
      else if (attribute === 'user') holds = matchesList(user, value)
      else if (attribute === 'localuser') holds = matchesList(this.files.localUser, value)
      else if (attribute === 'tagged') holds = matchesList(this.first('tag') ?? '', value)
      else if (['exec', 'localnetwork', 'sessiontype', 'command', 'version'].includes(attribute)) {
        // Neither it nor its negation holds: nothing is set by what was not looked at.
        if (result && !state.never) {
          this.warn(
            `${place(state)}: Match ${attribute} is only understood where OpenSSH is installed; the block was passed over`,
          )
        }
        result = false
        continue
      } else throw mistake(state, `unknown criterion ${attribute} of Match`)
      if (holds === negated) result = false
    }
    if (attributes === 0) throw mistake(state, 'Match has no criterion')
    return result
  }

  private async include(patterns: string[], state: State): Promise<void> {
    if (state.depth >= MAX_DEPTH)
      throw new InputError(
        neutralise(`the SSH configuration can't be used: too many levels of Include (${state.path})`),
      )
    for (const pattern of patterns) {
      if (pattern === '') throw mistake(state, 'Include has an empty value')
      const absolute = pattern.startsWith('~/')
        ? join(this.files.home, pattern.slice(2))
        : pattern.startsWith('/') || /^[A-Za-z]:[\\/]/.test(pattern)
          ? pattern
          : join(state.includeBase, pattern)
      for (const path of await expandGlob(absolute)) {
        const text = await readConfig(path, { mustExist: false, checkOwner: true, includedAt: state })
        if (text !== null) await this.file(path, text, { ...state, depth: state.depth + 1 }, state.active)
      }
    }
  }
}

interface Context {
  /** What Host is compared with. */
  host: string
  final: boolean
  depth: number
  includeBase: string
}

interface State extends Context {
  path: string
  line: number
  active: boolean
  /** Included from a block that does not hold: nothing in the file does. */
  never: boolean
}

function place(state: State): string {
  return `${state.path} line ${state.line}`
}

function mistake(state: State, what: string): InputError {
  return new InputError(neutralise(`the SSH configuration can't be used: ${place(state)}: ${what}`))
}

/**
 * The settings that files and flags make for a host.
 *
 * @throws {InputError}
 */
export async function readSettings(
  host: string,
  files: ConfigFiles,
): Promise<{ raw: RawSettings; warnings: string[] }> {
  const reading = new Reading(host, files)
  await reading.pass(host, false)
  const name = reading.first('hostname')
  const resolved = name === undefined ? host : name.replace(/%([h%])/g, (_, token) => (token === 'h' ? host : '%'))
  // Addresses are left as they are, and this is how OpenSSH knows one (addrmatch.c, is_addr_fast).
  const hostName = /[:%]/.test(resolved) ? resolved : resolved.toLowerCase()
  reading.raw.set('hostname', [hostName])
  if (reading.wantsFinalPass) await reading.pass(hostName, true)
  const canonicalize = reading.first('canonicalizehostname')?.toLowerCase() ?? 'no'
  if (!['no', 'false', 'none'].includes(canonicalize)) {
    reading.warn('CanonicalizeHostname is only obeyed where OpenSSH is installed')
  }
  return { raw: reading.raw, warnings: reading.warnings }
}

async function readConfig(
  path: string,
  how: { mustExist: boolean; checkOwner: boolean; includedAt?: State },
): Promise<string | null> {
  const at = how.includedAt === undefined ? '' : ` (included in ${place(how.includedAt)})`
  try {
    if (how.checkOwner && process.getuid !== undefined) {
      const { uid, mode } = await stat(path)
      if ((uid !== 0 && uid !== process.getuid()) || (mode & 0o022) !== 0) {
        throw new InputError(
          neutralise(`the SSH configuration can't be used: ${path}${at}: others can write to it, or own it`),
          [`chmod go-w ${neutralise(path)}`],
        )
      }
    }
    return await readFile(path, 'utf8')
  } catch (error) {
    if (error instanceof InputError) throw error
    const code = (error as NodeJS.ErrnoException).code
    if ((code === 'ENOENT' || code === 'ENOTDIR') && !how.mustExist) return null
    // OpenSSH opens a folder and finds no line in it.
    if (code === 'EISDIR') return null
    const why =
      code === 'ENOENT' ? 'it does not exist' : code === 'EACCES' ? 'permission denied' : (code ?? 'unknown error')
    throw new InputError(neutralise(`the SSH configuration ${path}${at} can't be read: ${why}`), [], { cause: error })
  }
}

// ── words of a line ────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** `rest` is undefined when the line is used up. */
interface Cursor {
  rest: string | undefined
}

/** misc.c, strdelim: words end at white space, at one `=`, and at quotation marks, which may begin in the middle of a word. */
function nextWord(cursor: Cursor): string | undefined {
  const text = cursor.rest
  if (text === undefined) return undefined
  const at = text.search(/[ \t\r\n"=]/)
  if (at < 0) {
    cursor.rest = undefined
    return text
  }
  const head = text.slice(0, at)
  if (text[at] === '"') {
    const end = text.indexOf('"', at + 1)
    if (end < 0) {
      cursor.rest = undefined
      return undefined
    }
    cursor.rest = text.slice(end + 1).replace(/^[ \t\r\n]+/, '')
    return head + text.slice(at + 1, end)
  }
  let rest = text.slice(at + 1).replace(/^[ \t\r\n]+/, '')
  if (text[at] !== '=' && rest.startsWith('=')) rest = rest.slice(1).replace(/^[ \t\r\n]+/, '')
  cursor.rest = rest
  return head
}

/** misc.c, argv_split with comments: undefined when a quotation mark has no partner. */
export function splitArguments(text: string): string[] | undefined {
  const words: string[] = []
  let i = 0
  while (i < text.length) {
    const start = text[i] as string
    if (start === ' ' || start === '\t') {
      i++
      continue
    }
    if (start === '#') break
    let word = ''
    let quote = ''
    for (; i < text.length; i++) {
      const char = text[i] as string
      const next = text[i + 1] ?? ''
      if (char === '\\') {
        if (next === "'" || next === '"' || next === '\\' || (quote === '' && next === ' ')) {
          word += next
          i++
        } else word += char
      } else if (quote === '' && (char === ' ' || char === '\t')) break
      else if (quote === '' && (char === '"' || char === "'")) quote = char
      else if (quote !== '' && char === quote) quote = ''
      else word += char
    }
    if (quote !== '') return undefined
    words.push(word)
  }
  return words
}

/** A Host line: one pattern must match, and no negated one. */
function matchesHost(host: string, patterns: string[]): boolean {
  let matched = false
  for (const pattern of patterns) {
    if (pattern.startsWith('!')) {
      if (matchesPattern(host, pattern.slice(1))) return false
    } else if (matchesPattern(host, pattern)) matched = true
  }
  return matched
}

/** `a@h1:22,[::1]:33,ssh://u@x`: nearest first; undefined when it is no such list. */
export function parseProxyJump(text: string): { user?: string; host: string; port?: number }[] | undefined {
  const hops: { user?: string; host: string; port?: number }[] = []
  for (const part of text.split(',')) {
    const plain = part.startsWith('ssh://') ? part.slice(6) : part
    const at = plain.lastIndexOf('@')
    const user = at < 0 ? undefined : plain.slice(0, at)
    const found = plain.slice(at + 1).match(/^(?:\[([^\]]+)\]|([^:/[\]]+))(?::(\d+))?$/)
    const host = found?.[1] ?? found?.[2]
    if (host === undefined || user === '') return undefined
    const port = found?.[3] === undefined ? undefined : Number(found[3])
    if (port !== undefined && (port < 1 || port > 65535)) return undefined
    hops.push({ ...(user !== undefined && { user }), host, ...(port !== undefined && { port }) })
  }
  return hops
}

/** misc.c, convtime: `90`, `1m`, `1h30m`. */
function parseSeconds(text: string): number | undefined {
  const units: Record<string, number> = { '': 1, s: 1, m: 60, h: 3600, d: 86_400, w: 604_800 }
  if (!/^(\d+[smhdw]?)+$/i.test(text)) return undefined
  let seconds = 0
  for (const [, count, unit] of text.matchAll(/(\d+)([smhdw]?)/gi)) {
    seconds += Number(count) * (units[(unit ?? '').toLowerCase()] ?? 1)
  }
  return seconds
}

/** kex.c, kex_assemble_names: the list with what `+`, `-` or `^` in front of it means. */
function completeAlgorithms(keyword: string, value: string): string {
  const base = DEFAULT_ALGORITHMS[keyword] ?? DEFAULT_KEY_ALGORITHMS[keyword]
  if (base === undefined || !/^[+^-]/.test(value)) return value
  const defaults = base.split(',')
  const patterns = value.slice(1).split(',')
  if (value.startsWith('-')) {
    return defaults.filter((name) => !patterns.some((pattern) => matchesPattern(name, pattern))).join(',')
  }
  const named = patterns.flatMap((pattern) =>
    /[*?]/.test(pattern) ? KEY_ALGORITHMS.filter((name) => matchesPattern(name, pattern)) : [pattern],
  )
  const both = value.startsWith('^') ? [...named, ...defaults] : [...defaults, ...named]
  return [...new Set(both)].join(',')
}

// ── glob ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Files that match, sorted; nothing is no error. A `*` or `?` does not match a leading dot. */
async function expandGlob(pattern: string): Promise<string[]> {
  if (!/[*?[]/.test(pattern)) return [pattern]
  const [root, ...parts] = pattern.split('/')
  let found = [`${root}/`]
  for (const [index, part] of parts.entries()) {
    const next: string[] = []
    const last = index === parts.length - 1
    for (const folder of found) {
      if (!/[*?[]/.test(part)) {
        const path = join(folder, part)
        if (!last || (await exists(path))) next.push(path)
        continue
      }
      const matcher = globPart(part)
      const entries = await readdir(folder).catch(() => [] as string[])
      for (const name of entries.sort()) {
        if (matcher.test(name) && (part.startsWith('.') || !name.startsWith('.'))) next.push(join(folder, name))
      }
    }
    found = next
  }
  return found
}

async function exists(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  )
}

function globPart(pattern: string): RegExp {
  const source = pattern.replace(/\[!?[^\]]+\]|[\s\S]/g, (token) => {
    if (token === '*') return '.*'
    if (token === '?') return '.'
    if (token.length > 1) {
      const negated = token[1] === '!'
      const inner = token.slice(negated ? 2 : 1, -1).replace(/[\\\]^]/g, '\\$&')
      return `[${negated ? '^' : ''}${inner}]`
    }
    return token.replace(/[.+^${}()|[\]\\]/g, '\\$&')
  })
  return new RegExp(`^${source}$`, 's')
}
