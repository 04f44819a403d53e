/**
 * Credentials from a program of the user's (client-go's exec plugins, API group client.authentication.k8s.io).
 * Nothing that it prints on standard output reaches a message: that is where the credentials are.
 */
import { spawn } from 'node:child_process'
import type { Credentials } from './connection.js'
import { ServerError } from './errors.js'

export interface ExecConfig {
  command: string
  args: readonly string[]
  env: readonly { name: string; value: string }[]
  apiVersion: string
  interactiveMode: 'Never' | 'IfAvailable' | 'Always'
  provideClusterInfo: boolean
  installHint: string
}

/** What a plugin is told of the cluster, when it asks for that. */
export interface ExecClusterInfo {
  server: string
  'tls-server-name'?: string
  'insecure-skip-tls-verify'?: boolean
  /** Base64. */
  'certificate-authority-data'?: string
  'proxy-url'?: string
  config?: unknown
}

/**
 * Runs the plugin. It may talk to the user on the terminal, on standard error and, where its mode allows it, on standard input.
 * @param stdinIsTerminal whether standard input may be given to it.
 * @throws {ServerError} when it is not there, fails, or gives no credentials.
 */
export async function execCredentials(
  exec: ExecConfig,
  cluster: ExecClusterInfo,
  env: NodeJS.ProcessEnv,
  stdinIsTerminal: boolean,
): Promise<Credentials> {
  if (exec.interactiveMode === 'Always' && !stdinIsTerminal) {
    throw new ServerError(`${exec.command}, which gets the credentials, needs a terminal to ask you, and there is none`)
  }
  const interactive = exec.interactiveMode !== 'Never' && stdinIsTerminal
  const info = {
    kind: 'ExecCredential',
    apiVersion: exec.apiVersion,
    spec: { ...(exec.provideClusterInfo ? { cluster } : {}), interactive },
  }
  const given = Object.fromEntries(exec.env.map(({ name, value }) => [name, value]))
  const output = await run(exec, { ...env, ...given, KUBERNETES_EXEC_INFO: JSON.stringify(info) }, interactive)
  return credentialsIn(exec, output)
}

function run(exec: ExecConfig, env: NodeJS.ProcessEnv, interactive: boolean): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(exec.command, [...exec.args], {
      env,
      stdio: [interactive ? 'inherit' : 'ignore', 'pipe', 'inherit'],
      windowsHide: true,
    })
    const chunks: Buffer[] = []
    child.stdout?.on('data', (chunk: Buffer) => chunks.push(chunk))
    child.on('error', (cause: NodeJS.ErrnoException) => {
      const missing = cause.code === 'ENOENT'
      const why = missing ? 'is not there' : `can't be run (${cause.code ?? 'unknown error'})`
      const hint = missing && exec.installHint !== '' ? [exec.installHint] : []
      reject(
        new ServerError(`${exec.command}, which gets the credentials for this cluster, ${why}`, [
          ...hint,
          `install it, or put it on the PATH; kubectl needs it too`,
        ]),
      )
    })
    child.on('close', (code, signal) => {
      if (code === 0) resolve(Buffer.concat(chunks).toString('utf8'))
      else {
        const end = code === null ? `was ended by ${signal}` : `ended with exit code ${code}`
        reject(
          new ServerError(`${exec.command}, which gets the credentials for this cluster, ${end}`, [
            'see what it says above; you may have to log in again',
          ]),
        )
      }
    })
  })
}

function credentialsIn(exec: ExecConfig, output: string): Credentials {
  const refuse = (problem: string): ServerError =>
    new ServerError(`${exec.command}, which gets the credentials for this cluster, ${problem}`)
  let parsed: unknown
  try {
    parsed = JSON.parse(output)
  } catch {
    throw refuse('printed something that is not JSON')
  }
  const { apiVersion, kind, status } = record(parsed)
  if (kind !== 'ExecCredential') throw refuse('printed no ExecCredential')
  if (apiVersion !== exec.apiVersion)
    throw refuse(`printed another version than the ${exec.apiVersion} it is set up for`)
  const { token, clientCertificateData, clientKeyData } = record(status)
  const hasCert = typeof clientCertificateData === 'string' && clientCertificateData !== ''
  const hasKey = typeof clientKeyData === 'string' && clientKeyData !== ''
  if (hasCert !== hasKey) throw refuse('gave only one of certificate and key')
  const hasToken = typeof token === 'string' && token !== ''
  if (!hasToken && !hasCert) throw refuse('gave neither a token nor a certificate')
  return {
    headers: hasToken ? { authorization: `Bearer ${token}` } : {},
    ...(hasCert && hasKey ? { cert: clientCertificateData, key: clientKeyData } : {}),
  }
}

function record(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {}
}
