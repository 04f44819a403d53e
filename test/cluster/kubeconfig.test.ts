import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Connection, ConnectionFlags } from '../../src/cluster/connection.js'
import { InputError, ServerError } from '../../src/cluster/errors.js'
import { type KubeconfigSources, resolveConnection } from '../../src/cluster/kubeconfig.js'

let root: string
let folder: string
let number = 0

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'kubeconfig-'))
})
afterAll(async () => {
  await rm(root, { recursive: true, force: true })
})
beforeEach(async () => {
  folder = join(root, String(number++))
  await mkdir(folder)
})

async function file(name: string, content: unknown): Promise<string> {
  const path = join(folder, name)
  await writeFile(path, typeof content === 'string' ? content : JSON.stringify(content))
  return path
}

interface Parts {
  cluster?: object
  user?: object
  context?: object
  name?: string
  current?: string
}

function config({ cluster, user, context, name = 'a', current = name }: Parts): object {
  return {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': current,
    clusters: [{ name, cluster: { server: `https://${name}.example:6443`, ...cluster } }],
    users: [{ name, user: user ?? {} }],
    contexts: [{ name, context: { cluster: name, user: name, ...context } }],
  }
}

async function resolved(
  content: unknown,
  flags: ConnectionFlags = {},
  sources: Partial<KubeconfigSources> = {},
): Promise<Connection> {
  const kubeconfig = await file('config', content)
  return resolveConnection({ kubeconfig, ...flags }, { env: {}, ...sources })
}

async function problem(promise: Promise<unknown>, kind: typeof InputError | typeof ServerError): Promise<InputError> {
  const error: unknown = await promise.then(
    () => null,
    (reason: unknown) => reason,
  )
  expect(error).toBeInstanceOf(kind)
  return error as InputError
}

describe('which kubeconfig', () => {
  it('is the one of --kubeconfig, which must be there', async () => {
    expect((await resolved(config({}))).server).toBe('https://a.example:6443')
    const gone = join(folder, 'gone')
    const error = await problem(resolveConnection({ kubeconfig: gone }, { env: {} }), InputError)
    expect(error.message).toBe(`kubeconfig ${gone} does not exist`)
  })

  it('is YAML or JSON', async () => {
    const yaml = [
      'current-context: a',
      'clusters:',
      '- {name: a, cluster: {server: "https://a.example"}}',
      'contexts:',
      '- {name: a, context: {cluster: a, user: a, namespace: ns}}',
      'users: null',
    ].join('\n')
    const error = await problem(resolved(yaml), InputError)
    expect(error.message).toBe('context a names user a, which the kubeconfig does not have')
    const connection = await resolved(yaml.replace('user: a, ', ''))
    expect(connection).toMatchObject({ server: 'https://a.example', context: 'a', namespace: 'ns' })
  })

  it('are those of KUBECONFIG, of each entry the first, without those that are not there', async () => {
    const first = await file('1', {
      ...config({ name: 'a', current: '' }),
      users: [{ name: 'a', user: { token: 'first' } }],
    })
    const second = await file('2', {
      'current-context': 'b',
      clusters: [
        { name: 'a', cluster: { server: 'https://other.example' } },
        { name: 'b', cluster: { server: 'https://b.example' } },
      ],
      users: [{ name: 'a', user: { token: 'second' } }],
      contexts: [{ name: 'b', context: { cluster: 'b', user: 'a' } }],
    })
    const third = await file('3', { 'current-context': 'c' })
    const env = { KUBECONFIG: [join(folder, 'gone'), first, '', second, second, third].join(delimiter) }
    const b = await resolveConnection({}, { env })
    expect([b.context, b.server]).toEqual(['b', 'https://b.example'])
    expect((await b.credentials(false))?.headers.authorization).toBe('Bearer first')
    expect((await resolveConnection({ context: 'a' }, { env })).server).toBe('https://a.example:6443')
  })

  it('is ~/.kube/config otherwise', async () => {
    await mkdir(join(folder, '.kube'))
    await file('.kube/config', config({}))
    expect((await resolveConnection({}, { env: { HOME: folder } })).server).toBe('https://a.example:6443')
  })

  it('says the line that does not parse, and nothing of what stands there', async () => {
    const error = await problem(resolved('clusters:\n- name: a\n  cluster: {token: s3cret\nusers:\n'), InputError)
    expect(error.message).toMatch(/kubeconfig .*, line \d+: /)
    expect(error.message).not.toMatch('s3cret')
  })

  it('is none of text or lists', async () => {
    expect((await problem(resolved('hello'), InputError)).message).toMatch(/is no kubeconfig/)
    expect((await problem(resolved({ clusters: {} }), InputError)).message).toMatch(/clusters is not a list/)
  })

  it('is missed with advice when there is none', async () => {
    const error = await problem(resolveConnection({}, { env: { HOME: folder } }), ServerError)
    expect(error.message).toMatch(/no cluster is configured/)
    expect(error.suggestions).toContain('try it on a recorded cluster: --from demo')
    const empty = join(folder, 'empty')
    await writeFile(empty, '')
    const named = await problem(resolveConnection({ kubeconfig: empty }, { env: { HOME: folder } }), ServerError)
    expect(named.message).toBe(`no cluster is configured: ${empty} (--kubeconfig) has none`)
  })
})

describe('contexts, clusters and users', () => {
  it('an unknown context: what was meant, and what there is', async () => {
    const error = await problem(resolved(config({ name: 'production' }), { context: 'prodution' }), InputError)
    expect(error.message).toBe('context prodution does not exist in the kubeconfig')
    expect(error.suggestions).toEqual(['did you mean production?', 'contexts: production'])
    const current = await problem(resolved(config({ current: 'gone' })), InputError)
    expect(current.message).toBe('context gone, the current one, does not exist in the kubeconfig')
  })

  it('no current context: which there are', async () => {
    const error = await problem(resolved(config({ current: '' })), InputError)
    expect(error.suggestions).toEqual(['choose one with --context: a'])
  })

  it('--cluster, --user, --server and --namespace go before the context', async () => {
    const content = config({ context: { namespace: 'ns' }, cluster: { 'tls-server-name': 'x' } })
    expect((await resolved(content)).namespace).toBe('ns')
    const other = await resolved(content, { server: 'https://b.example/path/', namespace: 'm' })
    expect(other).toMatchObject({ server: 'https://b.example/path', namespace: 'm', context: 'a' })
    expect(other.tls.servername).toBeUndefined()
    expect((await resolved(content)).tls.servername).toBe('x')
    expect((await problem(resolved(content, { cluster: 'b' }), InputError)).message).toMatch(/--cluster: cluster b/)
    expect((await problem(resolved(content, { user: 'aa' }), InputError)).suggestions).toEqual(['did you mean a?'])
  })

  it('refuses an address that is none', async () => {
    expect((await problem(resolved(config({}), { server: 'ftp://x' }), InputError)).message).toMatch(
      /https:\/\/ or http/,
    )
    expect((await problem(resolved(config({}), { server: 'https://' }), InputError)).message).toMatch(/no URL/)
    expect((await resolved(config({}), { server: 'localhost:8080' })).server).toBe('http://localhost:8080')
  })

  it.each([
    ['0', null],
    ['5s', 5000],
    ['30', 30_000],
  ])('--request-timeout %s is %s ms', async (requestTimeout, ms) => {
    expect((await resolved(config({}), { requestTimeout })).timeoutMs).toBe(ms)
  })

  it('refuses another --request-timeout', async () => {
    expect((await problem(resolved(config({}), { requestTimeout: 'soon' }), InputError)).message).toMatch(/soon/)
  })
})

describe('TLS', () => {
  it('takes the authority from data before a file, and a file beside the kubeconfig', async () => {
    await file('ca.pem', 'from file')
    const byFile = { 'certificate-authority': 'ca.pem' }
    const byData = { ...byFile, 'certificate-authority-data': Buffer.from('from data').toString('base64') }
    expect(String((await resolved(config({ cluster: byFile }))).tls.ca)).toBe('from file')
    expect(String((await resolved(config({ cluster: byData }))).tls.ca)).toBe('from data')
  })

  it('--certificate-authority and --insecure-skip-tls-verify replace what the kubeconfig says', async () => {
    const other = await file('other.pem', 'other')
    const insecure = config({ cluster: { 'insecure-skip-tls-verify': true } })
    expect((await resolved(insecure)).tls.rejectUnauthorized).toBe(false)
    const checked = await resolved(insecure, { certificateAuthority: other })
    expect([String(checked.tls.ca), checked.tls.rejectUnauthorized]).toEqual(['other', true])
    const secure = config({ cluster: { 'certificate-authority-data': 'eA==' } })
    const unchecked = await resolved(secure, { insecureSkipTlsVerify: true })
    expect([unchecked.tls.ca, unchecked.tls.rejectUnauthorized]).toEqual([undefined, false])
  })

  it('refuses both at once, and a file that is not there', async () => {
    const both = config({ cluster: { 'certificate-authority-data': 'eA==', 'insecure-skip-tls-verify': true } })
    expect((await problem(resolved(both), InputError)).message).toMatch(/only one is possible/)
    const gone = config({ cluster: { 'certificate-authority': 'gone.pem' } })
    expect((await problem(resolved(gone), InputError)).message).toMatch(
      /certificate authority .*gone\.pem can't be read/,
    )
  })
})

describe('who asks', () => {
  const headers = async (user: object, flags: ConnectionFlags = {}): Promise<unknown> =>
    (await (await resolved(config({ user }), flags)).credentials(false))?.headers

  it('a token, a token file, a password', async () => {
    await file('token', 'from-file\n')
    expect(await headers({ token: 't' })).toEqual({ authorization: 'Bearer t' })
    expect(await headers({ token: 't', tokenFile: 'token' })).toEqual({ authorization: 'Bearer from-file' })
    expect(await headers({ tokenFile: 'token' }, { token: 'flag' })).toEqual({ authorization: 'Bearer flag' })
    expect(await headers({ username: 'u', password: 'p' })).toEqual({ authorization: 'Basic dTpw' })
    expect(await headers({})).toBeUndefined()
    expect((await problem(headers({ token: 't', username: 'u' }), InputError)).message).toMatch(/only one is possible/)
  })

  it('a token file is read anew when the token was refused', async () => {
    const token = await file('token', 'old')
    const connection = await resolved(config({ user: { tokenFile: 'token' } }))
    expect((await connection.credentials(false))?.headers.authorization).toBe('Bearer old')
    await writeFile(token, 'new')
    expect((await connection.credentials(true))?.headers.authorization).toBe('Bearer new')
    await rm(token)
    await problem(connection.credentials(true), ServerError)
  })

  it('nothing else is got anew', async () => {
    expect(await (await resolved(config({ user: { token: 't' } }))).credentials(true)).toBeNull()
  })

  it('nobody over plain http, which anyone may listen to', async () => {
    const connection = await resolved(config({ user: { token: 't' }, cluster: { server: 'http://a.example' } }))
    expect(await connection.credentials(false)).toBeNull()
  })

  it('a client certificate, from data or files, from the kubeconfig or flags', async () => {
    await file('c.pem', 'cert')
    await file('k.pem', 'key')
    const base64 = (text: string): string => Buffer.from(text).toString('base64')
    const data = { 'client-certificate-data': base64('C'), 'client-key-data': base64('K') }
    const who = async (user: object, flags: ConnectionFlags = {}): Promise<string[]> => {
      const credentials = await (await resolved(config({ user }), flags)).credentials(false)
      return [String(credentials?.cert), String(credentials?.key)]
    }
    expect(await who(data)).toEqual(['C', 'K'])
    expect(await who({ 'client-certificate': 'c.pem', 'client-key': 'k.pem' })).toEqual(['cert', 'key'])
    const flags = { clientCertificate: join(folder, 'c.pem'), clientKey: join(folder, 'k.pem') }
    expect(await who(data, flags)).toEqual(['cert', 'key'])
    const half = await problem(who({ 'client-certificate-data': base64('C') }), InputError)
    expect(half.message).toMatch(/no key/)
  })

  it('impersonates', async () => {
    const of = async (user: object, flags: ConnectionFlags = {}): Promise<unknown> =>
      (await resolved(config({ user }), flags)).headers
    expect(await of({})).toEqual({})
    expect(await of({}, { as: 'alice', asGroup: ['x', 'y'], asUid: '7' })).toEqual({
      'Impersonate-User': 'alice',
      'Impersonate-Group': ['x', 'y'],
      'Impersonate-Uid': '7',
    })
    expect(await of({ as: 'bob', 'as-groups': ['g'], 'as-user-extra': { 'a/b': ['1'] } })).toEqual({
      'Impersonate-User': 'bob',
      'Impersonate-Group': ['g'],
      'Impersonate-Extra-a%2Fb': ['1'],
    })
    expect((await problem(of({}, { asGroup: ['x'] }), InputError)).message).toMatch(/need --as/)
  })

  it.each([
    ['gcp', /auth provider gcp, which kubectl no longer has/, /gke-gcloud-auth-plugin/],
    ['azure', /auth provider azure/, /kubelogin/],
    ['x', /auth provider x/, /exec plugin/],
  ])('says what to do about the old auth provider %s', async (name, message, advice) => {
    const error = await problem(resolved(config({ user: { 'auth-provider': { name } } })), ServerError)
    expect(error.message).toMatch(message)
    expect(error.suggestions[0]).toMatch(advice)
  })

  it('uses an OIDC token as long as it holds', async () => {
    const jwt = (exp: number): string => `h.${Buffer.from(JSON.stringify({ exp })).toString('base64url')}.s`
    const user = (token: string): object => ({ 'auth-provider': { name: 'oidc', config: { 'id-token': token } } })
    const farFuture = jwt(32_503_680_000)
    expect(await headers(user(farFuture))).toEqual({ authorization: `Bearer ${farFuture}` })
    expect((await problem(headers(user(jwt(1))), ServerError)).message).toMatch(/has run out/)
    expect((await problem(headers(user('')), ServerError)).message).toMatch(/is not there/)
  })
})

describe('an exec plugin', () => {
  const credential = { kind: 'ExecCredential', apiVersion: 'client.authentication.k8s.io/v1', status: { token: 'x' } }
  const exec = { command: './plugin', apiVersion: 'client.authentication.k8s.io/v1' }

  it('lies beside the kubeconfig when its path is relative, and runs anew when its credentials are refused', async () => {
    const script = await file('plugin', `#!/bin/sh\necho run >> "$0.log"; echo '${JSON.stringify(credential)}'\n`)
    await chmod(script, 0o755)
    const connection = await resolved(config({ user: { exec } }), {}, { env: { PATH: process.env.PATH } })
    expect((await connection.credentials(false))?.headers.authorization).toBe('Bearer x')
    expect(await connection.credentials(true)).not.toBeNull()
    expect(await readFile(`${script}.log`, 'utf8')).toBe('run\nrun\n')
  })

  it('is not run where there are other credentials', async () => {
    const connection = await resolved(config({ user: { exec } }), { token: 't' })
    expect((await connection.credentials(false))?.headers.authorization).toBe('Bearer t')
  })

  it.each([
    ['no command', { ...exec, command: '' }, /no command/],
    [
      'an old version',
      { ...exec, apiVersion: 'client.authentication.k8s.io/v1alpha1' },
      /v1alpha1, which no longer works/,
    ],
    ['an unknown mode', { ...exec, interactiveMode: 'Maybe' }, /Never, IfAvailable or Always/],
  ])('is refused with %s', async (_, given, message) => {
    expect((await problem(resolved(config({ user: { exec: given } })), InputError)).message).toMatch(message)
  })
})

describe('proxies', () => {
  it('proxy-url goes before the environment', async () => {
    const env = { HTTPS_PROXY: 'http://env:1' }
    expect((await resolved(config({}), {}, { env })).proxy).toBe('http://env:1')
    const own = config({ cluster: { 'proxy-url': 'socks5://own:2' } })
    expect((await resolved(own, {}, { env })).proxy).toBe('socks5://own:2')
    expect((await resolved(config({}))).proxy).toBeNull()
  })

  it('refuses one of another kind without repeating its password', async () => {
    const error = await problem(resolved(config({ cluster: { 'proxy-url': 'ftp://u:hush@x' } })), InputError)
    expect(error.message).toMatch(/proxy of cluster a/)
    expect(error.message).not.toMatch('hush')
  })
})

describe('in a pod', () => {
  const env = { KUBERNETES_SERVICE_HOST: '10.0.0.1', KUBERNETES_SERVICE_PORT: '443', HOME: '/nowhere' }

  async function account(): Promise<string> {
    const serviceAccountFolder = join(folder, 'account')
    await mkdir(serviceAccountFolder)
    await file('account/token', 'pod-token\n')
    await file('account/namespace', 'mine\n')
    await file('account/ca.crt', 'ca')
    return serviceAccountFolder
  }

  it('the service account is used when there is no kubeconfig', async () => {
    const serviceAccountFolder = await account()
    const connection = await resolveConnection({}, { env, serviceAccountFolder })
    expect(connection).toMatchObject({ server: 'https://10.0.0.1', context: null, namespace: 'mine' })
    expect(String(connection.tls.ca)).toBe('ca')
    expect((await connection.credentials(false))?.headers.authorization).toBe('Bearer pod-token')
    const byFlag = await resolveConnection({ token: 't', namespace: 'n' }, { env, serviceAccountFolder })
    expect(byFlag.namespace).toBe('n')
    expect((await byFlag.credentials(false))?.headers.authorization).toBe('Bearer t')
  })

  it('writes an IPv6 address as a URL wants it', async () => {
    const six = { ...env, KUBERNETES_SERVICE_HOST: 'fd00::1', KUBERNETES_SERVICE_PORT: '6443' }
    const connection = await resolveConnection({}, { env: six, serviceAccountFolder: await account() })
    expect(connection.server).toBe('https://[fd00::1]:6443')
  })

  it('a kubeconfig goes before it, and without a token there is none', async () => {
    const serviceAccountFolder = await account()
    expect((await resolved(config({}), {}, { env, serviceAccountFolder })).server).toBe('https://a.example:6443')
    await problem(resolveConnection({}, { env, serviceAccountFolder: join(folder, 'gone') }), ServerError)
  })
})
