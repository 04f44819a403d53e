/** Runs a program to its end. */
import { spawn } from 'node:child_process'

export type Ran = { code: number; stdout: string; stderr: string }

export type RunOptions = {
  input?: string
  env?: NodeJS.ProcessEnv
  cwd?: string
  timeoutMs?: number
  signal?: AbortSignal
}

/** Resolves whatever the exit code is; a program that was killed, as by the time limit, has code -1 and says so on stderr. */
export function run(command: string, args: string[], options: RunOptions = {}): Promise<Ran> {
  const { input = '', env = process.env, cwd, timeoutMs = 120_000, signal } = options
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { env, cwd, signal, timeout: timeoutMs, killSignal: 'SIGKILL' })
    const out: Buffer[] = []
    const err: Buffer[] = []
    child.stdout.on('data', (chunk: Buffer) => out.push(chunk))
    child.stderr.on('data', (chunk: Buffer) => err.push(chunk))
    // A program that does not read its input is no error here.
    child.stdin.on('error', () => {})
    child.stdin.end(input)
    child.on('error', reject)
    child.on('close', (code, by) => {
      const stderr = Buffer.concat(err).toString('utf8')
      resolve({
        code: code ?? -1,
        stdout: Buffer.concat(out).toString('utf8'),
        stderr: by === null ? stderr : `${stderr}\nended by ${by} (time limit: ${timeoutMs / 1000} s)`,
      })
    })
  })
}

/** Like `run`, but only exit code 0 is right; resolves with stdout. */
export async function check(command: string, args: string[], options: RunOptions = {}): Promise<string> {
  const { code, stdout, stderr } = await run(command, args, options)
  if (code !== 0) throw new Error(`${[command, ...args].join(' ')}: exit ${code}\n${stderr.trim() || stdout.trim()}`)
  return stdout
}
