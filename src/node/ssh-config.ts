/**
 * How a host is reached by the user's own SSH configuration. Nothing is connected here: from a name and the configuration to
 * {@link HostSettings}. `ssh -G` is asked where OpenSSH is installed, since only OpenSSH knows all of its own rules; else the files
 * are read here by the rules of ssh_config(5).
 */
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { homedir, hostname, userInfo } from 'node:os'
import { join, resolve } from 'node:path'
import { InputError } from '../cluster/errors.js'
import { neutralise } from '../present/text.js'
import { DEFAULT_ALGORITHMS, DEFAULT_IDENTITY_FILES, DEFAULT_KEY_ALGORITHMS } from './openssh-names.js'
import { parseProxyJump, type RawSettings, readSettings } from './ssh-config-file.js'

/** One hop of ProxyJump as it is written; it has settings of its own, found by its name. */
export interface JumpHost {
  user?: string
  host: string
  port?: number
}

/** What of a host's settings does not come from the configuration files: flags, and where to look. */
export interface SettingsSource {
  /** `-F`: read instead of the user's and the system's files. `none` reads no file. */
  configFile?: string
  /** Flags of the user; they win over the configuration. They do not hold for hops. */
  user?: string
  port?: number
  identity?: string
  env: NodeJS.ProcessEnv
  /** Whether to ask `ssh -G`; see {@link hasOpenSsh}. */
  openssh: boolean
  /** The home directory and name of the user who runs this; as the password database has them unless a test says otherwise. */
  home?: string
  localUser?: string
  /** The system's configuration, `/etc/ssh/ssh_config`; another only in tests. Not used when `openssh`. */
  systemConfigFile?: string
  /** Ends a running `ssh -G`. */
  signal?: AbortSignal
}

export interface HostSettings {
  /** The name as it was asked for. */
  host: string
  hostName: string
  port: number
  user: string
  hostKeyAlias?: string
  /** Absolute paths in the order of trying, `~`, `${VAR}` and %-tokens expanded. Whether they exist was not looked at. */
  identityFiles: string[]
  /** False: the files are OpenSSH's defaults, whose absence is no news. */
  identityFilesConfigured: boolean
  certificateFiles: string[]
  identitiesOnly: boolean
  /** The path of the agent's socket, or `none`; undefined: that of SSH_AUTH_SOCK. */
  identityAgent?: string
  /** Nearest to us first; empty: connect directly. */
  proxyJump: JumpHost[]
  /** As written, tokens not expanded: it is for `ssh` itself. */
  proxyCommand?: string
  userKnownHostsFiles: string[]
  globalKnownHostsFiles: string[]
  /** As OpenSSH spells the value: `ask`, `true`, `false`, `accept-new`. Not obeyed, for host keys are always checked. */
  strictHostKeyChecking: string
  /** CheckHostIP: the host key must also be known for the address, when a name is connected to. */
  checkHostIp: boolean
  hashKnownHosts: boolean
  /** Algorithm lists, best first and complete (`+`, `-` and `^` applied), when the configuration has them. */
  ciphers?: string[]
  kexAlgorithms?: string[]
  macs?: string[]
  hostKeyAlgorithms?: string[]
  pubkeyAcceptedAlgorithms?: string[]
  /** Seconds. */
  connectTimeout?: number
  gssapi: boolean
  /** Of ssh_config(5), lower case, when configured. */
  preferredAuthentications?: string[]
  /** `any`, `inet` or `inet6`. */
  addressFamily: string
  bindAddress?: string
  /** A file of keys that are refused whatever known_hosts says: public keys, or a KRL. */
  revokedHostKeys?: string
  /** Why only `ssh` itself can connect, a sentence. */
  needsBinary?: string
  /** What ssh2 can't do that the host may want all the same; worth saying when the login or the host key fails. A sentence each. */
  mayNeedBinary: string[]
  /** What was not obeyed or not understood, a sentence each. */
  warnings: string[]
}

/** Whether there is an `ssh` in PATH whose -G works. */
export async function hasOpenSsh(env: NodeJS.ProcessEnv): Promise<boolean> {
  return (await defaults(env)) !== undefined
}

/**
 * The settings of one host.
 *
 * @throws {InputError} a name that is no host name, a configuration that can't be read or does not parse (file and line are told)
 */
export async function effectiveSettings(host: string, source: SettingsSource): Promise<HostSettings> {
  checkHostName(host)
  const home = source.home ?? ownHome()
  const localUser = source.localUser ?? ownName(source.env)
  const { raw, warnings, base } = source.openssh
    ? await askOpenSsh(host, source)
    : { ...(await readFiles(host, source, home, localUser)), base: BUILT_IN }
  return settingsOf(host, raw, { base, warnings, home, localUser, env: source.env, identity: source.identity })
}

/**
 * The whole way to one host, nearest first, the host itself last; made once for a run, each distinct host is asked about once.
 * Hops get settings by their own names: user and port of the hop as ProxyJump writes them, never the user's flags. As in OpenSSH, the
 * first hop's own ProxyJump is followed (a chain), that of later hops of one list is not.
 */
export interface SettingsReader {
  /** @throws {InputError} also for a circle of hops */
  route(host: string): Promise<HostSettings[]>
}

/** How many `ssh -G` run at once: each is short, and they compete with the connections that are open already. */
const ASK_AT_ONCE = 4
const MAX_HOPS = 16

export function settingsReader(source: SettingsSource): SettingsReader {
  const cache = new Map<string, Promise<HostSettings>>()
  const waiting: (() => void)[] = []
  let running = 0
  const limited = async (host: string, of: SettingsSource): Promise<HostSettings> => {
    if (running >= ASK_AT_ONCE) await new Promise<void>((free) => waiting.push(free))
    else running++
    try {
      return await effectiveSettings(host, of)
    } finally {
      const next = waiting.shift()
      if (next === undefined) running--
      else next()
    }
  }
  const settings = (host: string, of: SettingsSource): Promise<HostSettings> => {
    const key = JSON.stringify([host, of.user, of.port, of.identity])
    let found = cache.get(key)
    if (found === undefined) {
      found = limited(host, of)
      cache.set(key, found)
    }
    return found
  }
  const hop = ({ user, host, port }: JumpHost): Promise<HostSettings> =>
    settings(host, { ...source, user, port, identity: undefined })

  return {
    async route(host) {
      const way = [await settings(host, source)]
      const seen = new Set<string>()
      let next = way[0]?.proxyJump ?? []
      while (next.length > 0) {
        const hops = await Promise.all(next.map(hop))
        const first = next[0] as JumpHost
        const name = JSON.stringify([first.user, first.host, first.port])
        if (seen.has(name) || way.length > MAX_HOPS) {
          throw new InputError(
            neutralise(`the way to ${host} goes in a circle: ProxyJump leads through ${first.host} again`),
          )
        }
        seen.add(name)
        way.unshift(...hops)
        next = hops[0]?.proxyJump ?? []
      }
      return way
    },
  }
}

/**
 * Names go to `ssh` as an argument and into commands that its configuration may build from %h: what OpenSSH itself refuses since 9.6
 * (ssh.c, valid_hostname) is refused, and what it would take apart (`user@host`, `ssh://`).
 */
function checkHostName(host: string): void {
  if (host !== '' && !/^-|[\s\p{Cc}\p{Cf}'"`$\\;&<>|(){},@/]/u.test(host)) return
  throw new InputError(neutralise(`"${host}" is no host name that SSH takes`), [
    'give the name or the address alone; user and port come from flags or the SSH configuration',
  ])
}

/** OpenSSH finds the home directory in the password database, whatever HOME says (ssh.c, main). */
function ownHome(): string {
  try {
    return userInfo().homedir
  } catch {
    return homedir()
  }
}

function ownName(env: NodeJS.ProcessEnv): string {
  try {
    return userInfo().username
  } catch {
    return env.USER ?? env.LOGNAME ?? ''
  }
}

// ── ssh -G ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Long enough for a `Match exec` that asks a network; one that hangs must not hang us. */
const ASK_TIMEOUT_MS = 20_000

async function askOpenSsh(
  host: string,
  source: SettingsSource,
): Promise<{ raw: RawSettings; warnings: string[]; base: RawSettings }> {
  const flags = [
    ...(source.configFile === undefined ? [] : ['-F', source.configFile]),
    ...(source.user === undefined ? [] : ['-l', source.user]),
    ...(source.port === undefined ? [] : ['-p', String(source.port)]),
  ]
  const [base, answer] = await Promise.all([
    defaults(source.env),
    run(['-G', ...flags, '--', host], source.env, source.signal),
  ])
  if (answer.code !== 0 || base === undefined) {
    const said = answer.stderr
      .split('\n')
      .map((line) => line.trim())
      .filter((line) => line !== '' && !line.startsWith('Pseudo-terminal'))
    const mistakes = said.filter((line) => !line.includes(': terminating, ')).slice(0, 4)
    const words =
      mistakes.join('; ') || (answer.code === null ? 'ssh -G gave no answer' : `ssh -G ended with code ${answer.code}`)
    throw new InputError(neutralise(`the SSH configuration can't be used: ${words}`), [
      neutralise(`ssh -G ${flags.join(' ')}${flags.length > 0 ? ' ' : ''}${host}`),
    ])
  }
  return { raw: parseDump(answer.stdout), warnings: [], base }
}

const defaultsOf = new Map<string, Promise<RawSettings | undefined>>()

/** What this OpenSSH does for a host that nothing is configured for; undefined: there is none that has -G (OpenSSH 6.8). */
function defaults(env: NodeJS.ProcessEnv): Promise<RawSettings | undefined> {
  const path = env.PATH ?? ''
  let found = defaultsOf.get(path)
  if (found === undefined) {
    found = run(['-G', '-F', 'none', '--', 'localhost'], env).then(({ code, stdout }) =>
      code === 0 ? parseDump(stdout) : undefined,
    )
    defaultsOf.set(path, found)
  }
  return found
}

function run(
  args: string[],
  env: NodeJS.ProcessEnv,
  signal?: AbortSignal,
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  return new Promise((done) => {
    const options = {
      env: { ...env, LC_ALL: 'C' },
      timeout: ASK_TIMEOUT_MS,
      killSignal: 'SIGKILL' as const,
      maxBuffer: 4 << 20,
      ...(signal && { signal }),
    }
    const child = execFile('ssh', args, options, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === 'number' ? error.code : null
      done({ code, stdout, stderr: stderr === '' && error !== null && code === null ? '' : stderr })
    })
    child.stdin?.end()
  })
}

/** `keyword value` lines; a keyword that may come more than once has its values in order. */
function parseDump(text: string): RawSettings {
  const raw: RawSettings = new Map()
  for (const line of text.split(/\r?\n/)) {
    const space = line.indexOf(' ')
    if (space < 0) continue
    const keyword = line.slice(0, space).toLowerCase()
    const value = line.slice(space + 1)
    if (keyword === 'userknownhostsfile' || keyword === 'globalknownhostsfile') raw.set(keyword, splitPaths(value))
    else raw.set(keyword, [...(raw.get(keyword) ?? []), value])
  }
  return raw
}

/**
 * `ssh -G` prints several paths with spaces between and does not quote a path that has one: a piece that begins like no path belongs
 * to the one before. Where that is wrong, a file is not found, and a host is refused that would have been known.
 */
function splitPaths(value: string): string[] {
  const paths: string[] = []
  for (const piece of value.split(' ')) {
    const begins = paths.length === 0 || /^(?:[/~\\]|[A-Za-z]:|none$)/.test(piece)
    if (begins) paths.push(piece)
    else paths[paths.length - 1] += ` ${piece}`
  }
  return paths
}

// ── without OpenSSH ────────────────────────────────────────────────────────────────────────────────────────────────────────────

const BUILT_IN: RawSettings = new Map(
  [...Object.entries(DEFAULT_ALGORITHMS), ...Object.entries(DEFAULT_KEY_ALGORITHMS)].map(([keyword, list]) => [
    keyword,
    [list],
  ]),
)

function systemConfig(env: NodeJS.ProcessEnv): string {
  return process.platform === 'win32'
    ? join(env.ProgramData ?? 'C:/ProgramData', 'ssh', 'ssh_config')
    : '/etc/ssh/ssh_config'
}

function readFiles(
  host: string,
  source: SettingsSource,
  home: string,
  localUser: string,
): Promise<{ raw: RawSettings; warnings: string[] }> {
  const given = source.configFile !== undefined
  const none = source.configFile === 'none'
  return readSettings(host, {
    userFile: none ? undefined : (source.configFile ?? join(home, '.ssh', 'config')),
    userFileIsGiven: given,
    systemFile: given ? undefined : (source.systemConfigFile ?? systemConfig(source.env)),
    home,
    localUser,
    ...(source.user !== undefined && { user: source.user }),
    ...(source.port !== undefined && { port: source.port }),
  })
}

// ── settings ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────

interface Surroundings {
  base: RawSettings
  warnings: string[]
  home: string
  localUser: string
  env: NodeJS.ProcessEnv
  identity: string | undefined
}

function settingsOf(host: string, raw: RawSettings, around: Surroundings): HostSettings {
  const { base, home, localUser, env } = around
  const first = (keyword: string): string | undefined => {
    const value = raw.get(keyword)?.[0]
    return value === '' ? undefined : value
  }
  const given = (keyword: string): string | undefined => {
    const value = first(keyword)
    return value?.toLowerCase() === 'none' ? undefined : value
  }
  const yes = (keyword: string): boolean => ['yes', 'true'].includes(first(keyword)?.toLowerCase() ?? '')
  const list = (keyword: string): string[] | undefined => {
    const value = first(keyword)
    return value === undefined || value === base.get(keyword)?.[0] ? undefined : value.split(',')
  }

  const hostName = first('hostname') ?? host
  const port = Number(first('port') ?? 22)
  const user = first('user') ?? localUser
  const hostKeyAlias = given('hostkeyalias')?.toLowerCase()
  const jump = given('proxyjump')
  const proxyJump = jump === undefined ? [] : parseProxyJump(jump)
  if (proxyJump === undefined)
    throw new InputError(neutralise(`ProxyJump ${jump} of host ${host} is no list of [user@]host[:port]`))

  const localName = hostname()
  const tokens: Record<string, string> = {
    '%': '%',
    // Of all that goes into the connection: ssh_config(5), TOKENS.
    C: createHash('sha1').update(`${localName}${hostName}${port}${user}`).digest('hex'),
    d: home,
    h: hostName,
    i: String(process.getuid?.() ?? 0),
    j: jump ?? '',
    k: hostKeyAlias ?? host,
    L: localName.split('.', 1)[0] ?? '',
    l: localName,
    n: host,
    p: String(port),
    r: user,
    u: localUser,
  }
  const expand = (path: string): string => {
    const tilde = path === '~' ? home : path.startsWith('~/') ? join(home, path.slice(2)) : path
    const full = tilde.replace(/%(.)|\$\{([^}]*)\}/g, (whole, token?: string, name?: string) => {
      if (token !== undefined) {
        const value = tokens[token]
        if (value !== undefined) return value
        throw new InputError(neutralise(`the SSH configuration of host ${host}: unknown token %${token} in ${path}`))
      }
      const value = env[name ?? '']
      if (value === undefined) {
        throw new InputError(neutralise(`the SSH configuration of host ${host}: ${whole} in ${path} is not set`))
      }
      return value
    })
    return resolve(full)
  }
  const paths = (values: readonly string[]): string[] =>
    values.filter((value) => value.toLowerCase() !== 'none' && value !== '').map(expand)

  const files = raw.get('identityfile') ?? []
  const defaultFiles = base.get('identityfile') ?? DEFAULT_IDENTITY_FILES
  const filesConfigured = files.length > 0 && files.join('\n') !== defaultFiles.join('\n')
  const flag = around.identity === undefined ? [] : [around.identity]
  const wanted = filesConfigured ? [...flag, ...files] : flag.length > 0 ? flag : [...defaultFiles]
  const knownHosts = (keyword: string, otherwise: string[]): string[] =>
    paths(raw.get(keyword) ?? base.get(keyword) ?? otherwise)

  const certificateFiles = [...new Set(paths(raw.get('certificatefile') ?? []))]
  const proxyCommand = proxyJump.length > 0 ? undefined : given('proxycommand')
  const agent = first('identityagent')
  const gssapi = yes('gssapiauthentication')
  const strict = first('stricthostkeychecking') ?? 'ask'
  const revoked = given('revokedhostkeys')
  const connectTimeout = Number(given('connecttimeout') ?? Number.NaN)
  const bindAddress = given('bindaddress')
  const warnings = around.warnings.map(neutralise)
  if (strict === 'false' || strict === 'accept-new') {
    warnings.push(
      `StrictHostKeyChecking ${strict === 'false' ? 'no' : strict} is not obeyed: host keys are always checked (--accept-new-host-keys adds unknown ones)`,
    )
  }
  const settings: HostSettings = {
    host,
    hostName,
    port,
    user,
    ...(hostKeyAlias !== undefined && { hostKeyAlias }),
    identityFiles: [...new Set(paths(wanted))],
    identityFilesConfigured: filesConfigured || flag.length > 0,
    certificateFiles,
    identitiesOnly: yes('identitiesonly'),
    ...agentOf(agent, expand, env),
    proxyJump,
    ...(proxyCommand !== undefined && { proxyCommand }),
    userKnownHostsFiles: knownHosts('userknownhostsfile', ['~/.ssh/known_hosts', '~/.ssh/known_hosts2']),
    globalKnownHostsFiles: knownHosts('globalknownhostsfile', [
      '/etc/ssh/ssh_known_hosts',
      '/etc/ssh/ssh_known_hosts2',
    ]),
    strictHostKeyChecking: strict,
    checkHostIp: yes('checkhostip'),
    hashKnownHosts: yes('hashknownhosts'),
    gssapi,
    addressFamily: first('addressfamily') ?? 'any',
    ...(bindAddress !== undefined && { bindAddress }),
    ...(revoked !== undefined && { revokedHostKeys: expand(revoked) }),
    ...(Number.isFinite(connectTimeout) && connectTimeout > 0 && { connectTimeout }),
    mayNeedBinary: [],
    warnings,
  }
  const lists = [
    ['ciphers', 'ciphers'],
    ['kexAlgorithms', 'kexalgorithms'],
    ['macs', 'macs'],
    ['hostKeyAlgorithms', 'hostkeyalgorithms'],
    ['pubkeyAcceptedAlgorithms', 'pubkeyacceptedalgorithms'],
    ['preferredAuthentications', 'preferredauthentications'],
  ] as const
  for (const [name, keyword] of lists) {
    const names = list(keyword)
    if (names !== undefined) settings[name] = names
  }
  if (proxyCommand !== undefined) {
    settings.needsBinary = `the SSH configuration of ${neutralise(host)} has a ProxyCommand, which only ssh itself runs: use --ssh-binary`
  }
  const may = (word: string): void => {
    settings.mayNeedBinary.push(`the SSH configuration of ${neutralise(host)} has ${word}, which needs --ssh-binary`)
  }
  if (certificateFiles.length > 0) may('CertificateFile')
  if (given('pkcs11provider') !== undefined) may('PKCS11Provider')
  if (given('knownhostscommand') !== undefined) may('KnownHostsCommand')
  if (gssapi) may('GSSAPIAuthentication')
  return settings
}

/** IdentityAgent: a path, `none`, `SSH_AUTH_SOCK`, or `$NAME` of another variable (ssh_config(5)). */
function agentOf(
  value: string | undefined,
  expand: (path: string) => string,
  env: NodeJS.ProcessEnv,
): { identityAgent?: string } {
  if (value === undefined || value === 'SSH_AUTH_SOCK') return {}
  if (value.toLowerCase() === 'none') return { identityAgent: 'none' }
  if (/^\$[A-Za-z_][A-Za-z0-9_]*$/.test(value)) return { identityAgent: env[value.slice(1)] || 'none' }
  return { identityAgent: expand(value) }
}
