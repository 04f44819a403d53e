/**
 * `npm run lab:up | lab:down | lab:shell [NODE] | lab:scene [NAME…] | lab:demo` and `npm run test:lab [-- --full] [vitest's arguments]`.
 * Exit codes: 2 for bad ground and wrong usage, 130 and 143 when interrupted, else the tests' own.
 */
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { boot } from './support/boot.js'
import { build } from './support/build.js'
import { otherSuite } from './support/claim.js'
import { folders, NODES, operatorEnv, REPOSITORY } from './support/config.js'
import { recordDemo } from './support/demo.js'
import { problems, readGround } from './support/ground.js'
import { enterArguments, FULL, Lab } from './support/lab.js'
import { SCENES } from './support/scenes.js'
import { readState } from './support/state.js'
import { takeDown } from './support/teardown.js'
import { added, traces } from './support/traces.js'

class Refused extends Error {}

const at = folders()
const stopped = new AbortController()
let interrupted: 'SIGINT' | 'SIGTERM' | 'SIGHUP' | undefined
function stop(name: 'SIGINT' | 'SIGTERM' | 'SIGHUP'): void {
  // A second one changes nothing: what takes the lab down is not to be stopped half-way.
  if (interrupted !== undefined) return
  interrupted = name
  say(`${name}: stopping`)
  stopped.abort(new Refused(`stopped by ${name}`))
}
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => stop(name))
// npm that was killed can pass nothing on.
const parent = process.ppid
setInterval(() => process.ppid !== parent && stop('SIGHUP'), 500).unref()

function say(line: string): void {
  process.stderr.write(`lab: ${line}\n`)
}

function checkGround(): void {
  const found = problems(readGround(at))
  if (found.length > 0) throw new Refused(found.join('\n'))
}

async function up(): Promise<void> {
  checkGround()
  await build(at, stopped.signal)
  try {
    await boot(at, { signal: stopped.signal, say })
  } catch (error) {
    await takeDown(at)
    say(`logs of what was started: ${at.logs}`)
    throw error
  }
}

async function down(): Promise<void> {
  if (process.getuid?.() !== 0) throw new Refused('Taking the lab down needs root.')
  const suite = otherSuite(at)
  if (suite !== undefined)
    throw new Refused(`A run of the suite, process ${suite}, uses the lab. It ends with: kill ${suite}`)
  const before = existsSync(at.run)
  await takeDown(at)
  say(before ? 'down' : 'no lab was up')
}

/** Runs with the terminal; resolves with its exit code. */
function foreground(command: string, args: string[], env: NodeJS.ProcessEnv = process.env): Promise<number> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { stdio: 'inherit', env, cwd: REPOSITORY })
    child.on('error', reject)
    child.on('close', (code) => resolve(code ?? 1))
  })
}

/** Runs vitest in a process group of its own, so that its workers, and what they started, end with it when this is stopped. */
function vitest(args: string[], env: NodeJS.ProcessEnv): Promise<number> {
  return new Promise((resolve, reject) => {
    const program = join(REPOSITORY, 'node_modules/vitest/vitest.mjs')
    const child = spawn(process.execPath, [program, ...args], {
      stdio: ['ignore', 'inherit', 'inherit'],
      env,
      cwd: REPOSITORY,
      detached: true,
    })
    const signal = (name: NodeJS.Signals) => {
      try {
        process.kill(-Number(child.pid), name)
      } catch {
        // All of them have ended.
      }
    }
    const interrupt = () => {
      signal('SIGINT')
      // It would wait for the end of the test.
      setTimeout(() => signal('SIGKILL'), 3000).unref()
    }
    stopped.signal.addEventListener('abort', interrupt)
    child.on('error', reject)
    child.on('close', (code) => {
      stopped.signal.removeEventListener('abort', interrupt)
      signal('SIGKILL')
      resolve(code ?? 1)
    })
  })
}

async function shell(name: string | undefined): Promise<number> {
  const state = readState(at)
  if (!state?.ready) throw new Refused('No lab is up. Start one with: npm run lab:up')
  if (name === undefined) {
    const { NO_COLOR: _, ...env } = operatorEnv(at)
    return foreground(process.env.SHELL ?? 'bash', [], env)
  }
  const init = state.inits[name]
  if (init === undefined) throw new Refused(`No node ${name}; there are ${NODES.map((node) => node.name).join(', ')}.`)
  return foreground('nsenter', enterArguments(init, ['bash', '--login']))
}

async function scenes(names: string[]): Promise<number> {
  if (names.length === 0) {
    for (const { name, title } of SCENES) process.stdout.write(`${name.padEnd(14)} ${title}\n`)
    return 0
  }
  const unknown = names.filter((name) => !SCENES.some((scene) => scene.name === name))
  if (unknown.length > 0) throw new Refused(`No scene ${unknown.join(', ')}. All scenes: npm run lab:scene`)
  const lab = Lab.connect(at)
  for (const name of names) {
    await lab.start(name)
    say(`scene ${name} stands`)
  }
  return 0
}

/** Writes the cluster that ships with the package anew. */
async function demo(): Promise<number> {
  const recording = await recordDemo(Lab.connect(at))
  await writeFile(join(REPOSITORY, 'demo/cluster.json'), recording)
  say('demo/cluster.json is written; `npm run readme` shows it in the README')
  return 0
}

async function test(args: string[]): Promise<number> {
  const started = Date.now()
  checkGround()
  const before = await traces(at)
  let code = 1
  try {
    await up()
    const rest = args.filter((arg) => arg !== '--full')
    const full = args.includes('--full') ? { [FULL]: '1' } : {}
    const run = ['run', '--config', join(REPOSITORY, 'vitest.lab.config.ts'), '--project', 'lab', ...rest]
    code = await vitest(run, { ...process.env, ...full })
  } finally {
    const ended = Date.now()
    await takeDown(at)
    say(`down after ${seconds(ended)} s; in all ${seconds(started)} s`)
    // run-ts removes its own folder only when this has ended; that one was there before.
    const left = added(before, await traces(at))
    if (left.length > 0) {
      say(`left behind:\n${left.map((line) => `  ${line}`).join('\n')}`)
      code ||= 1
    }
  }
  return code
}

function seconds(since: number): string {
  return ((Date.now() - since) / 1000).toFixed(1)
}

const [command, ...rest] = process.argv.slice(2)
const commands: Record<string, () => Promise<number>> = {
  up: () => up().then(() => 0),
  down: () => down().then(() => 0),
  build: () => {
    checkGround()
    return build(at, stopped.signal).then(() => 0)
  },
  test: () => test(rest),
  shell: () => shell(rest[0]),
  scene: () => scenes(rest),
  demo,
}

try {
  const chosen = commands[command ?? '']
  if (chosen === undefined) throw new Refused(`usage: test/lab/cli.ts ${Object.keys(commands).join('|')}`)
  process.exitCode = await chosen()
} catch (error) {
  const refused = error instanceof Refused || (error instanceof Error && error.name === 'AbortError')
  process.exitCode = refused ? 2 : 1
  say(refused ? error.message : error instanceof Error ? (error.stack ?? error.message) : String(error))
}
const codes = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 }
if (interrupted !== undefined) process.exitCode = codes[interrupted]
