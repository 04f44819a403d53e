import { describe, expect, it } from 'vitest'
import { ServerError } from '../../src/cluster/errors.js'
import { type ExecConfig, execCredentials } from '../../src/cluster/exec-credentials.js'

const API = 'client.authentication.k8s.io/v1'

/** A plugin that is this piece of JavaScript. */
function plugin(script: string, more: Partial<ExecConfig> = {}): ExecConfig {
  return {
    command: process.execPath,
    args: ['-e', script],
    env: [],
    apiVersion: API,
    interactiveMode: 'IfAvailable',
    provideClusterInfo: false,
    installHint: '',
    ...more,
  }
}

const printing = (value: unknown): string => `process.stdout.write(${JSON.stringify(JSON.stringify(value))})`
const giving = (status: unknown, apiVersion = API): string => printing({ kind: 'ExecCredential', apiVersion, status })
const cluster = { server: 'https://a.example', config: { audience: 'x' } }

function run(exec: ExecConfig, terminal = false): Promise<unknown> {
  return execCredentials(exec, cluster, { PATH: process.env.PATH ?? '' }, terminal)
}

describe('execCredentials', () => {
  it('takes a token, or a certificate, or both', async () => {
    expect(await run(plugin(giving({ token: 't' })))).toEqual({ headers: { authorization: 'Bearer t' } })
    const pair = { clientCertificateData: 'C', clientKeyData: 'K' }
    expect(await run(plugin(giving(pair)))).toEqual({ headers: {}, cert: 'C', key: 'K' })
    expect(await run(plugin(giving({ ...pair, token: 't' })))).toEqual({
      headers: { authorization: 'Bearer t' },
      cert: 'C',
      key: 'K',
    })
  })

  it('tells the plugin what it is for, and gives it its own variables', async () => {
    const script = `
      const info = JSON.parse(process.env.KUBERNETES_EXEC_INFO)
      const token = JSON.stringify([info, process.env.MINE, require('fs').readFileSync(0, 'utf8')])
      process.stdout.write(JSON.stringify({ kind: 'ExecCredential', apiVersion: info.apiVersion, status: { token } }))`
    const told = async (more: Partial<ExecConfig>): Promise<unknown> => {
      const { headers } = (await run(plugin(script, more))) as { headers: { authorization: string } }
      return JSON.parse(headers.authorization.replace('Bearer ', ''))
    }
    const env = [{ name: 'MINE', value: 'yes' }]
    expect(await told({ env })).toEqual([
      { kind: 'ExecCredential', apiVersion: API, spec: { interactive: false } },
      'yes',
      '',
    ])
    expect(await told({ env, provideClusterInfo: true })).toMatchObject([
      { spec: { cluster, interactive: false } },
      'yes',
      '',
    ])
  })

  it.each([
    ['no JSON', `process.stdout.write('hush')`, /not JSON/],
    ['no ExecCredential', printing({ kind: 'Status' }), /no ExecCredential/],
    ['another version', giving({ token: 'hush' }, 'client.authentication.k8s.io/v1beta1'), /another version/],
    ['no status', giving(undefined), /neither a token nor a certificate/],
    ['an empty token', giving({ token: '' }), /neither a token nor a certificate/],
    ['half a pair', giving({ clientKeyData: 'hush' }), /only one of certificate and key/],
    ['a failure', `process.stdout.write('hush'); process.exitCode = 3`, /ended with exit code 3/],
  ])('refuses %s without repeating what was printed', async (_, script, message) => {
    const error: unknown = await run(plugin(script)).catch((e: unknown) => e)
    expect(error).toBeInstanceOf(ServerError)
    expect((error as Error).message).toMatch(message)
    expect((error as Error).message).not.toMatch('hush')
  })

  it('says how to get a plugin that is not there', async () => {
    const missing = plugin('', { command: 'no-such-plugin-anywhere', installHint: 'brew install it' })
    const error: unknown = await run(missing).catch((e: unknown) => e)
    expect(error).toBeInstanceOf(ServerError)
    expect((error as ServerError).message).toMatch(/no-such-plugin-anywhere, .*is not there/)
    expect((error as ServerError).suggestions[0]).toBe('brew install it')
  })

  it('does not run one that must ask when nobody is there to answer', async () => {
    const error: unknown = await run(plugin(giving({ token: 't' }), { interactiveMode: 'Always' })).catch(
      (e: unknown) => e,
    )
    expect((error as Error).message).toMatch(/needs a terminal/)
  })
})
