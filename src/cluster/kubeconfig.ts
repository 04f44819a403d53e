/**
 * From kubectl's flags, the kubeconfig files and the environment to a {@link Connection}, by the rules of client-go's clientcmd.
 * Not client-node's KubeConfig: that refuses files that share a name and a missing file in KUBECONFIG, lets the last current-context
 * win, and knows neither tokenFile, as-groups nor the proxies of the environment, all of which kubectl does otherwise.
 */
import { readFile, stat } from 'node:fs/promises'
import { homedir } from 'node:os'
import { delimiter, dirname, isAbsolute, join, resolve } from 'node:path'
import { closest } from './closest.js'
import type { Connection, ConnectionFlags, Credentials } from './connection.js'
import { parseRequestTimeout } from './duration.js'
import { InputError, ServerError } from './errors.js'
import type { ExecClusterInfo, ExecConfig } from './exec-credentials.js'
import { proxyFromEnvironment } from './proxy.js'

type Entry = Record<string, unknown>

/** The parts of a kubeconfig; each entry with its paths made absolute. */
interface Kubeconfig {
  currentContext: string
  clusters: Map<string, Entry>
  users: Map<string, Entry>
  contexts: Map<string, Entry>
}

export interface KubeconfigSources {
  env: NodeJS.ProcessEnv
  /** Where a pod finds its service account; another only in tests. */
  serviceAccountFolder?: string
  /** Whether an exec plugin may ask the user on standard input. */
  stdinIsTerminal?: boolean
}

const SERVICE_ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount'
const NO_CLUSTER_HELP = 'try it on a recorded cluster: --from demo'

/**
 * @throws {InputError} a file or flag that can't be used, a context that does not exist
 * @throws {ServerError} no cluster is configured at all, or its credentials can't be read
 */
export async function resolveConnection(flags: ConnectionFlags, sources: KubeconfigSources): Promise<Connection> {
  const { env } = sources
  const config = await loadKubeconfig(flags, env)
  const contextName = flags.context || config.currentContext
  const context = contextName === '' ? undefined : config.contexts.get(contextName)
  if (contextName !== '' && context === undefined) throw unknownContext(contextName, config, flags)

  const clusterName = flags.cluster || string(context, 'cluster')
  const userName = flags.user || string(context, 'user')
  const fromContext = context === undefined ? '' : `context ${contextName} names `
  const cluster = named(config.clusters, clusterName, 'cluster', flags.cluster ? '--cluster: ' : fromContext)
  const user = named(config.users, userName, 'user', flags.user ? '--user: ' : fromContext)
  const server = flags.server || string(cluster, 'server')

  const timeoutMs = requestTimeout(flags)
  const inCluster = sources.serviceAccountFolder ?? SERVICE_ACCOUNT
  if (server === '') {
    if (await isInCluster(env, inCluster)) return inClusterConnection(flags, env, inCluster, timeoutMs)
    if (cluster !== undefined) throw new InputError(`cluster ${clusterName} of the kubeconfig has no server`)
    throw noCluster(config, flags, env)
  }

  const tls = await tlsOf(flags, cluster, clusterName)
  const url = serverUrl(server, tls.ca !== undefined || !tls.rejectUnauthorized || usesCertificate(flags, user))
  const proxyUrl = string(cluster, 'proxy-url')
  if (proxyUrl !== '') checkProxy(proxyUrl, `cluster ${clusterName}`)
  const proxy = proxyUrl !== '' ? proxyUrl : proxyFromEnvironment(url, env)
  if (proxy !== null && proxyUrl === '') checkProxy(proxy, 'the environment (HTTPS_PROXY, HTTP_PROXY)')

  return {
    server: url.href.replace(/\/$/, ''),
    context: contextName === '' ? null : contextName,
    namespace: flags.namespace || string(context, 'namespace') || 'default',
    tls,
    proxy,
    timeoutMs,
    compress: cluster?.['disable-compression'] !== true,
    headers: impersonation(flags, user),
    // Over plain http nothing secret is sent: anyone on the way could read it.
    credentials:
      url.protocol === 'https:'
        ? await credentialsOf(flags, user, userName, execCluster(url, cluster, tls, proxyUrl), sources)
        : async () => null,
  }
}

// ── files ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** The files that kubectl would read, merged as it does: of an entry, and of the current context, the first file that has it counts. */
async function loadKubeconfig(flags: ConnectionFlags, env: NodeJS.ProcessEnv): Promise<Kubeconfig> {
  const merged: Kubeconfig = { currentContext: '', clusters: new Map(), users: new Map(), contexts: new Map() }
  for (const path of kubeconfigPaths(flags, env)) {
    const text = await readKubeconfig(path, flags.kubeconfig !== undefined && flags.kubeconfig !== '')
    if (text === null) continue
    const file = await parseKubeconfig(path, text)
    merged.currentContext ||= string(file, 'current-context')
    for (const [key, inner, into] of [
      ['clusters', 'cluster', merged.clusters],
      ['users', 'user', merged.users],
      ['contexts', 'context', merged.contexts],
    ] as const) {
      const list = file[key] ?? []
      if (!Array.isArray(list)) throw new InputError(`kubeconfig ${path}: ${key} is not a list`)
      for (const item of list) {
        if (!isEntry(item) || typeof item.name !== 'string' || into.has(item.name)) continue
        into.set(item.name, withAbsolutePaths(isEntry(item[inner]) ? item[inner] : {}, dirname(resolve(path))))
      }
    }
  }
  return merged
}

function kubeconfigPaths(flags: ConnectionFlags, env: NodeJS.ProcessEnv): string[] {
  if (flags.kubeconfig) return [flags.kubeconfig]
  const listed = (env.KUBECONFIG ?? '').split(delimiter).filter((path) => path !== '')
  if (env.KUBECONFIG) return [...new Set(listed)]
  return [join(env.HOME || homedir(), '.kube', 'config')]
}

/** null: not there, which only a file named by --kubeconfig must be. */
async function readKubeconfig(path: string, mustExist: boolean): Promise<string | null> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    if (code === 'ENOENT' && !mustExist) return null
    const why =
      code === 'ENOENT'
        ? 'does not exist'
        : code === 'EACCES'
          ? "can't be read: permission denied"
          : `can't be read: ${code}`
    throw new InputError(`kubeconfig ${path} ${why}`, [], { cause: error })
  }
}

async function parseKubeconfig(path: string, text: string): Promise<Entry> {
  let documents: unknown[]
  try {
    documents = [JSON.parse(text)]
  } catch {
    const { parseYaml, YamlError } = await import('./yaml.js')
    try {
      documents = parseYaml(text)
    } catch (error) {
      if (!(error instanceof YamlError)) throw error
      // The parser's words and a line only: the text around may hold a key.
      throw new InputError(`kubeconfig ${path}${error.line === null ? '' : `, line ${error.line}`}: ${error.problem}`)
    }
  }
  const [config = {}] = documents
  if (config === null) return {}
  if (!isEntry(config)) throw new InputError(`kubeconfig ${path} is no kubeconfig: it holds no clusters and contexts`)
  return config
}

const PATHS = ['certificate-authority', 'client-certificate', 'client-key', 'tokenFile'] as const

/** Paths in a kubeconfig are relative to it; a plugin's command is, unless it is a bare name to be looked up on the PATH. */
function withAbsolutePaths(entry: Entry, folder: string): Entry {
  const result = { ...entry }
  for (const key of PATHS) {
    const path = string(entry, key)
    if (path !== '' && !isAbsolute(path)) result[key] = join(folder, path)
  }
  if (isEntry(entry.exec)) {
    const command = string(entry.exec, 'command')
    if (/[/\\]/.test(command) && !isAbsolute(command)) result.exec = { ...entry.exec, command: join(folder, command) }
  }
  return result
}

// ── choosing ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────

function named(entries: Map<string, Entry>, name: string, what: string, by: string): Entry | undefined {
  if (name === '') return undefined
  const entry = entries.get(name)
  if (entry !== undefined) return entry
  const near = closest(name, entries.keys())
  throw new InputError(
    `${by}${what} ${name}, which the kubeconfig does not have`,
    near === null ? [] : [`did you mean ${near}?`],
  )
}

function unknownContext(name: string, config: Kubeconfig, flags: ConnectionFlags): InputError {
  const names = [...config.contexts.keys()].sort()
  const near = closest(name, names)
  const known =
    names.length === 0
      ? 'the kubeconfig has no context'
      : `contexts: ${names.slice(0, 10).join(', ')}${names.length > 10 ? ', …' : ''}`
  const origin = flags.context ? '' : ', the current one,'
  return new InputError(`context ${name}${origin} does not exist in the kubeconfig`, [
    ...(near === null ? [] : [`did you mean ${near}?`]),
    known,
  ])
}

function noCluster(config: Kubeconfig, flags: ConnectionFlags, env: NodeJS.ProcessEnv): InputError | ServerError {
  const names = [...config.contexts.keys()].sort()
  if (names.length > 0) {
    return new InputError('no context is chosen, and the kubeconfig has no current one', [
      `choose one with --context: ${names.slice(0, 10).join(', ')}`,
    ])
  }
  const place = flags.kubeconfig
    ? `${flags.kubeconfig} (--kubeconfig) has none`
    : env.KUBECONFIG
      ? `KUBECONFIG names ${env.KUBECONFIG}, which has none`
      : '~/.kube/config is not there or empty'
  return new ServerError(`no cluster is configured: ${place}`, [
    'name a kubeconfig with --kubeconfig or KUBECONFIG',
    NO_CLUSTER_HELP,
  ])
}

function requestTimeout(flags: ConnectionFlags): number | null {
  if (flags.requestTimeout === undefined || flags.requestTimeout === '') return null
  const ms = parseRequestTimeout(flags.requestTimeout)
  if (ms !== undefined) return ms
  throw new InputError(`--request-timeout: ${flags.requestTimeout} is no duration`, [
    'give seconds, or a number with a unit: 30, 5s, 2m, 1h; 0 for no limit',
  ])
}

/** The server's address; one without a scheme is https where certificates are in play, as with kubectl. */
function serverUrl(server: string, secure: boolean): URL {
  const text = server.includes('://') ? server : `${secure ? 'https' : 'http'}://${server}`
  let url: URL
  try {
    url = new URL(text)
  } catch {
    throw new InputError(`the server's address is no URL: ${server}`)
  }
  if (url.protocol !== 'https:' && url.protocol !== 'http:') {
    throw new InputError(`the server's address must begin with https:// or http://: ${server}`)
  }
  url.search = ''
  url.hash = ''
  return url
}

function checkProxy(proxy: string, where: string): void {
  const protocol = URL.canParse(proxy) ? new URL(proxy).protocol : ''
  if (['http:', 'https:', 'socks5:', 'socks5h:'].includes(protocol)) return
  // Not repeated: it may hold a password.
  throw new InputError(`the proxy of ${where} must be an http://, https:// or socks5:// address`)
}

async function tlsOf(flags: ConnectionFlags, cluster: Entry | undefined, name: string): Promise<Connection['tls']> {
  // A flag about the authority replaces all that the kubeconfig says about it.
  const byFlag = flags.insecureSkipTlsVerify === true || !!flags.certificateAuthority
  const insecure = byFlag ? flags.insecureSkipTlsVerify === true : cluster?.['insecure-skip-tls-verify'] === true
  const data = byFlag ? '' : string(cluster, 'certificate-authority-data')
  const file = byFlag ? (flags.certificateAuthority ?? '') : string(cluster, 'certificate-authority')
  if (insecure && (data !== '' || file !== '')) {
    throw new InputError(
      `${byFlag ? 'the flags give' : `cluster ${name} of the kubeconfig has`} both a certificate authority and insecure-skip-tls-verify; only one is possible`,
    )
  }
  // With another server than the kubeconfig's, the kubeconfig's name for its certificate no longer holds.
  const servername = flags.tlsServerName || (flags.server ? '' : string(cluster, 'tls-server-name'))
  return {
    ca: await dataOrFile(data, file, 'certificate authority'),
    rejectUnauthorized: !insecure,
    ...(servername === '' ? {} : { servername }),
  }
}

async function dataOrFile(base64: string, file: string, what: string): Promise<Buffer | undefined> {
  if (base64 !== '') return Buffer.from(base64, 'base64')
  if (file === '') return undefined
  try {
    return await readFile(file)
  } catch (cause) {
    throw new InputError(`the ${what} ${file} can't be read`, [], { cause })
  }
}

// ── who asks ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────

function usesCertificate(flags: ConnectionFlags, user: Entry | undefined): boolean {
  return (
    !!flags.clientCertificate ||
    string(user, 'client-certificate') !== '' ||
    string(user, 'client-certificate-data') !== ''
  )
}

function impersonation(flags: ConnectionFlags, user: Entry | undefined): Connection['headers'] {
  const as = flags.as || string(user, 'as')
  const groups =
    flags.asGroup !== undefined && flags.asGroup.length > 0 ? [...flags.asGroup] : strings(user?.['as-groups'])
  const uid = flags.asUid || string(user, 'as-uid')
  const extra = isEntry(user?.['as-user-extra']) ? user['as-user-extra'] : {}
  if (as === '') {
    if (groups.length > 0 || uid !== '' || Object.keys(extra).length > 0) {
      throw new InputError('--as-group and --as-uid need --as: a group or uid is impersonated with a user')
    }
    return {}
  }
  const headers: Record<string, string | string[]> = { 'Impersonate-User': as }
  if (groups.length > 0) headers['Impersonate-Group'] = groups
  if (uid !== '') headers['Impersonate-Uid'] = uid
  for (const key of Object.keys(extra)) headers[`Impersonate-Extra-${encodeURIComponent(key)}`] = strings(extra[key])
  return headers
}

async function credentialsOf(
  flags: ConnectionFlags,
  user: Entry | undefined,
  userName: string,
  cluster: ExecClusterInfo,
  sources: KubeconfigSources,
): Promise<Connection['credentials']> {
  const who = userName === '' ? 'the user' : `user ${userName}`
  const certificate = await clientCertificate(flags, user, who)
  const tokenFile = flags.token ? '' : string(user, 'tokenFile')
  const token = flags.token || string(user, 'token')
  const [username, password] = [flags.username ?? string(user, 'username'), flags.password ?? string(user, 'password')]
  const basic = username !== '' || password !== ''
  if ((token !== '' || tokenFile !== '') && basic && !flags.token) {
    throw new InputError(`${who} of the kubeconfig has both a token and a password; only one is possible`)
  }
  if (tokenFile !== '') return fromTokenFile(tokenFile, certificate)
  if (token !== '') return fixed({ headers: { authorization: `Bearer ${token}` }, ...certificate })
  if (basic) {
    const encoded = Buffer.from(`${username}:${password}`).toString('base64')
    return fixed({ headers: { authorization: `Basic ${encoded}` }, ...certificate })
  }
  // As in client-go, a plugin is not run where there are other credentials.
  if (certificate !== null) return fixed({ headers: {}, ...certificate })
  if (isEntry(user?.exec)) return fromPlugin(execConfig(user.exec, who), cluster, sources)
  if (isEntry(user?.['auth-provider'])) return fixed(legacyProvider(user['auth-provider'], who))
  return async () => null
}

async function clientCertificate(
  flags: ConnectionFlags,
  user: Entry | undefined,
  who: string,
): Promise<{ cert: Buffer; key: Buffer } | null> {
  const [certData, certFile] = flags.clientCertificate
    ? ['', flags.clientCertificate]
    : [string(user, 'client-certificate-data'), string(user, 'client-certificate')]
  const [keyData, keyFile] = flags.clientKey
    ? ['', flags.clientKey]
    : [string(user, 'client-key-data'), string(user, 'client-key')]
  const cert = await dataOrFile(certData, certFile, 'client certificate')
  if (cert === undefined) return null
  const key = await dataOrFile(keyData, keyFile, 'client key')
  if (key === undefined)
    throw new InputError(`${who} has a client certificate but no key for it (client-key, --client-key)`)
  return { cert, key }
}

function fixed(credentials: Credentials): Connection['credentials'] {
  return async (refresh) => (refresh ? null : credentials)
}

function fromTokenFile(path: string, certificate: { cert: Buffer; key: Buffer } | null): Connection['credentials'] {
  return async () => {
    let token: string
    try {
      token = (await readFile(path, 'utf8')).trim()
    } catch (cause) {
      throw new ServerError(`the token file ${path} can't be read`, [], { cause })
    }
    return { headers: { authorization: `Bearer ${token}` }, ...certificate }
  }
}

function fromPlugin(exec: ExecConfig, cluster: ExecClusterInfo, sources: KubeconfigSources): Connection['credentials'] {
  return async () => {
    const { execCredentials } = await import('./exec-credentials.js')
    return execCredentials(exec, cluster, sources.env, sources.stdinIsTerminal === true)
  }
}

const EXEC_API = /^client\.authentication\.k8s\.io\/(v1|v1beta1)$/

function execConfig(exec: Entry, who: string): ExecConfig {
  const command = string(exec, 'command')
  const apiVersion = string(exec, 'apiVersion')
  const mode = string(exec, 'interactiveMode')
  if (command === '') throw new InputError(`the exec plugin of ${who} has no command`)
  if (!EXEC_API.test(apiVersion)) {
    throw new InputError(`the exec plugin of ${who} has apiVersion ${apiVersion || 'none'}, which no longer works`, [
      'write its entry in the kubeconfig anew with the tool that made it; v1beta1 and v1 work',
    ])
  }
  if (!['', 'Never', 'IfAvailable', 'Always'].includes(mode)) {
    throw new InputError(
      `the exec plugin of ${who} has interactiveMode ${mode}; it can be Never, IfAvailable or Always`,
    )
  }
  const env = Array.isArray(exec.env) ? exec.env.filter(isEntry) : []
  return {
    command,
    apiVersion,
    args: strings(exec.args),
    env: env
      .map((variable) => ({ name: string(variable, 'name'), value: string(variable, 'value') }))
      .filter(({ name }) => name !== ''),
    interactiveMode: mode === 'Never' || mode === 'Always' ? mode : 'IfAvailable',
    provideClusterInfo: exec.provideClusterInfo === true,
    installHint: string(exec, 'installHint'),
  }
}

function execCluster(url: URL, cluster: Entry | undefined, tls: Connection['tls'], proxyUrl: string): ExecClusterInfo {
  const extensions = Array.isArray(cluster?.extensions) ? cluster.extensions.filter(isEntry) : []
  const own = extensions.find((extension) => extension.name === 'client.authentication.k8s.io/exec')
  return {
    server: url.href.replace(/\/$/, ''),
    ...(tls.servername === undefined ? {} : { 'tls-server-name': tls.servername }),
    ...(tls.rejectUnauthorized ? {} : { 'insecure-skip-tls-verify': true }),
    ...(tls.ca === undefined ? {} : { 'certificate-authority-data': Buffer.from(tls.ca).toString('base64') }),
    ...(proxyUrl === '' ? {} : { 'proxy-url': proxyUrl }),
    config: own?.extension ?? null,
  }
}

/**
 * What kubectl once had built in. Only an OIDC token that has not run out is used: a new one would have to be written back into the
 * kubeconfig, or the next kubectl would hold a refresh token that no longer works.
 */
function legacyProvider(provider: Entry, who: string): Credentials {
  const name = string(provider, 'name')
  if (name !== 'oidc') {
    throw new ServerError(
      `${who} of the kubeconfig logs in through the auth provider ${name || 'without a name'}, which kubectl no longer has`,
      [
        name === 'gcp'
          ? 'install gke-gcloud-auth-plugin and run: gcloud container clusters get-credentials CLUSTER'
          : name === 'azure'
            ? 'install kubelogin and run: kubelogin convert-kubeconfig'
            : 'write the entry in the kubeconfig anew with an exec plugin',
      ],
    )
  }
  const token = string(isEntry(provider.config) ? provider.config : undefined, 'id-token')
  const expires = expiryOf(token)
  if (token === '' || (expires !== null && expires <= Date.now())) {
    throw new ServerError(
      `the OIDC token of ${who} in the kubeconfig ${token === '' ? 'is not there' : 'has run out'}`,
      [
        'run any kubectl command, which gets a new one, then this one again',
        'or log in through the exec plugin kubelogin (kubectl oidc-login)',
      ],
    )
  }
  return { headers: { authorization: `Bearer ${token}` } }
}

/** When a JWT runs out, in milliseconds since 1970; null when it does not say. */
function expiryOf(jwt: string): number | null {
  try {
    const payload: unknown = JSON.parse(Buffer.from(jwt.split('.')[1] ?? '', 'base64url').toString('utf8'))
    return isEntry(payload) && typeof payload.exp === 'number' ? payload.exp * 1000 : null
  } catch {
    return null
  }
}

// ── in a pod ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────

async function isInCluster(env: NodeJS.ProcessEnv, folder: string): Promise<boolean> {
  if (!env.KUBERNETES_SERVICE_HOST || !env.KUBERNETES_SERVICE_PORT) return false
  try {
    return !(await stat(join(folder, 'token'))).isDirectory()
  } catch {
    return false
  }
}

async function inClusterConnection(
  flags: ConnectionFlags,
  env: NodeJS.ProcessEnv,
  folder: string,
  timeoutMs: number | null,
): Promise<Connection> {
  const host = env.KUBERNETES_SERVICE_HOST ?? ''
  const url = new URL(`https://${host.includes(':') ? `[${host}]` : host}:${env.KUBERNETES_SERVICE_PORT}`)
  const text = async (path: string): Promise<Buffer | undefined> => readFile(path).catch(() => undefined)
  const namespace =
    flags.namespace || env.POD_NAMESPACE || (await text(join(folder, 'namespace')))?.toString('utf8').trim()
  return {
    server: url.href.replace(/\/$/, ''),
    context: null,
    namespace: namespace || 'default',
    tls: {
      ca: flags.certificateAuthority
        ? await dataOrFile('', flags.certificateAuthority, 'certificate authority')
        : await text(join(folder, 'ca.crt')),
      rejectUnauthorized: flags.insecureSkipTlsVerify !== true,
      ...(flags.tlsServerName ? { servername: flags.tlsServerName } : {}),
    },
    proxy: proxyFromEnvironment(url, env),
    timeoutMs,
    compress: true,
    headers: impersonation(flags, undefined),
    credentials: flags.token
      ? fixed({ headers: { authorization: `Bearer ${flags.token}` } })
      : fromTokenFile(join(folder, 'token'), null),
  }
}

// ── values ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

function isEntry(value: unknown): value is Entry {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The text at a key; empty when there is none. */
function string(entry: Entry | undefined, key: string): string {
  const value = entry !== undefined && Object.hasOwn(entry, key) ? entry[key] : undefined
  return typeof value === 'string' ? value : typeof value === 'number' ? String(value) : ''
}

function strings(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : []
}
