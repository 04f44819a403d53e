/**
 * How a host is reached by the user's own SSH configuration. Nothing is connected here: from a name and the configuration to
 * {@link HostSettings}. `ssh -G` is asked where OpenSSH is installed, since only OpenSSH knows all of its own rules; else the files
 * are read here by the rules of ssh_config(5).
 */

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
  /** Why only `ssh` itself can reach the host, a clause that follows "the host": `uses ProxyCommand, which …`. */
  needsBinary?: string
  /** What was not obeyed or not understood, a sentence each. */
  warnings: string[]
}

/** Whether there is an `ssh` in PATH whose -G works. */
export async function hasOpenSsh(_env: NodeJS.ProcessEnv): Promise<boolean> {
  throw new Error('not yet')
}

/**
 * The settings of one host.
 *
 * @throws {InputError} a name that is no host name, a configuration that can't be read or does not parse (file and line are told)
 */
export async function effectiveSettings(_host: string, _source: SettingsSource): Promise<HostSettings> {
  throw new Error('not yet')
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

export function settingsReader(_source: SettingsSource): SettingsReader {
  throw new Error('not yet')
}
