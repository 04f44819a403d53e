/**
 * A lab that is started, fails, or is interrupted leaves nothing of it behind. These start labs of their own, so none may be up.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { folders, REPOSITORY } from './support/config.js'
import { sleep } from './support/processes.js'
import { run } from './support/run.js'
import { readState } from './support/state.js'
import { added, type Traces, traces } from './support/traces.js'
import { missing, waitFor } from './support/wait.js'

const at = folders()
const folder = mkdtempSync(join(tmpdir(), 'lab-start-'))
let before: Traces

beforeAll(async () => {
  // What is missing is built here, so that the times below are those of the lab.
  const { code, stderr } = await run('npm', ['run', '--silent', 'lab:build'], { cwd: REPOSITORY, timeoutMs: 3_600_000 })
  expect(stderr.split('\n').filter((line) => !line.startsWith('lab: '))).toEqual([''])
  expect(code).toBe(0)
}, 3_600_000)

beforeEach(async () => {
  before = await traces(at)
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

type Started = { child: ChildProcess; output: () => string; ended: Promise<number> }

/** `npm run` in a session of its own, as a terminal would have it. */
function start(script: string, args: string[] = [], env: NodeJS.ProcessEnv = {}): Started {
  const child = spawn('npm', ['run', '--silent', script, '--', ...args], {
    cwd: REPOSITORY,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
  })
  let text = ''
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => (text += chunk))
  const ended = new Promise<number>((resolve) => child.on('close', (code) => resolve(code ?? -1)))
  return { child, output: () => text, ended }
}

async function expectNothingLeft(): Promise<void> {
  // Nothing but a process that has just been ended may need a moment.
  await waitFor(
    'the machine to be as before',
    async () => {
      const left = added(before, await traces(at))
      return left.length === 0 ? true : missing(left.join('\n'))
    },
    { timeoutMs: 5000 },
  )
}

/** A test file that fails, or hangs, in a folder that vitest looks in. */
const probe = join(REPOSITORY, 'test/lab/zz-probe.lab.test.ts')
const writeProbe = (body: string) =>
  writeFileSync(
    probe,
    `import { expect, it } from 'vitest'
import { Lab } from './support/lab.js'
const lab = Lab.connect()
it('probes', async () => {
  await lab.start('db')
  ${body}
})
`,
  )
afterAll(() => rmSync(probe, { force: true }))

describe('a run of the suite', () => {
  it('leaves nothing when a test fails', async () => {
    writeProbe(`expect('this').toBe('that')`)
    const { ended, output } = start('test:lab', ['zz-probe'])
    expect(await ended, output()).toBe(1)
    expect(output()).toContain("expected 'this' to be 'that'")
    expect(output()).not.toContain('left behind')
    await expectNothingLeft()
  })

  it.each(['SIGINT', 'SIGTERM'] as const)('leaves nothing when it gets %s in a test', async (signal) => {
    writeProbe(`process.stderr.write('standing\\n')
  await lab.enter('k8s-node-1', 'sleep 100')`)
    const { child, ended, output } = start('test:lab', ['zz-probe'])
    await waitFor('the test', () => (output().includes('standing') ? true : missing(output())), { timeoutMs: 180_000 })
    process.kill(Number(child.pid), signal)
    expect(await ended, output()).not.toBe(0)
    expect(output()).not.toContain('left behind')
    await expectNothingLeft()
  })
})

describe('lab:up', () => {
  // Different moments: before anything is there, with half a control plane, with nodes that boot.
  it.each([300, 1500, 4000])('leaves nothing when it is interrupted %d ms after it began to boot', async (ms) => {
    const { child, ended, output } = start('lab:up')
    await waitFor('the boot', () => (readState(at) ? true : missing(output())), { timeoutMs: 60_000, everyMs: 20 })
    await sleep(ms)
    // As Ctrl-C in a terminal: to all of its processes.
    process.kill(-Number(child.pid), 'SIGINT')
    expect(await ended, output()).not.toBe(0)
    await expectNothingLeft()
  })

  it('is taken down by lab:down even when it was killed half-way', async () => {
    const { child, ended, output } = start('lab:up')
    await waitFor('the boot', () => (readState(at) ? true : missing(output())), { timeoutMs: 60_000, everyMs: 20 })
    await sleep(2500)
    process.kill(-Number(child.pid), 'SIGKILL')
    await ended
    expect(await start('lab:down').ended).toBe(0)
    // What a killed program has no time for is the folder it was run from.
    for (const line of added(before, await traces(at))) {
      const path = /^files: (.*\/node_modules\/\.run-ts-.*)$/.exec(line)?.[1]
      if (path !== undefined) rmSync(path, { recursive: true })
    }
    await expectNothingLeft()
  })

  it('refuses a second lab, and lab:down says whether there was one', async () => {
    const up = start('lab:up')
    expect(await up.ended, up.output()).toBe(0)
    const second = start('lab:up')
    expect(await second.ended).toBe(2)
    expect(second.output()).toMatch(/^lab: A lab is already up.*npm run lab:down\n$/)
    const scenes = start('lab:scene', ['no-such-scene'])
    expect(await scenes.ended).toBe(2)
    expect(scenes.output()).toContain('No scene no-such-scene')

    const down = start('lab:down')
    expect(await down.ended).toBe(0)
    expect(down.output()).toBe('lab: down\n')
    await expectNothingLeft()
    const again = start('lab:down')
    expect(await again.ended).toBe(0)
    expect(again.output()).toBe('lab: no lab was up\n')
  })
})

describe('a build', () => {
  it.each(['SIGINT', 'SIGTERM'] as const)(
    'that gets %s while it compiles ends, and leaves nothing half-made',
    async (signal) => {
      const cache = join(folder, `cache-${signal}`)
      const { child, ended, output } = start('lab:build', [], { KUBECTL_STORAGE_LAB: cache })
      await waitFor('the compiler', () => (output().includes('compiling') ? true : missing(output())), {
        timeoutMs: 300_000,
      })
      await sleep(1000)
      process.kill(Number(child.pid), signal)
      const told = Date.now()
      expect(await ended, output()).not.toBe(0)
      expect(Date.now() - told).toBeLessThan(10_000)
      expect(readdirSync(cache).filter((name) => name.startsWith('build.'))).toEqual([])
      expect(readdirSync(join(cache, 'bin')).sort()).toEqual(['busybox', 'etcd'])
      await expectNothingLeft()
      const compilers = await run('pgrep', ['-f', `${cache}/`])
      expect(compilers.stdout).toBe('')
    },
  )
})

describe('bad ground', () => {
  it.each(['lab:up', 'test:lab'])('stops %s at once with exit code 2: no Go', async (script) => {
    const tools = join(folder, script)
    rmSync(tools, { recursive: true, force: true })
    const { stdout } = await run('sh', ['-c', 'command -v node npm sh'])
    mkdirSync(tools)
    for (const path of stdout.trim().split('\n')) symlinkSync(path, join(tools, path.split('/').at(-1) ?? ''))
    const { ended, output } = start(script, [], { PATH: `${tools}:/usr/bin:/bin` })
    expect(await ended).toBe(2)
    expect(output()).toMatch(/^lab: Go is (missing|too old)/)
    await expectNothingLeft()
  })

  it('stops at once when a port is in use', async () => {
    const server = createServer().listen(6443, '127.0.0.1')
    try {
      const { ended, output } = start('lab:up')
      expect(await ended).toBe(2)
      expect(output()).toBe('lab: Port 6443 (API server) is in use.\n')
    } finally {
      server.close()
    }
  })
})

it('keeps what its processes wrote, inside the cache', () => {
  expect(readFileSync(join(at.logs, 'apiserver.log'), 'utf8')).not.toBe('')
})
