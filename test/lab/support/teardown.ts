/**
 * Takes a lab down, whole or half-built, and leaves nothing of it but the cache. It looks at the machine, not at a list of what was
 * started, and may be run any number of times.
 */
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { BRIDGE, type Folders, NODES } from './config.js'
import { labGroups, removeGroup } from './groups.js'
import { childrenOf, end, labProcesses, sleep } from './processes.js'
import { check, run } from './run.js'
import { readState } from './state.js'

export async function takeDown(at: Folders): Promise<void> {
  const state = readState(at)
  await endProcesses(at)
  for (const path of mountsBelow(at.run)) await check('umount', ['-l', path])
  await freeLoops(at)
  if (existsSync(`/sys/class/net/${BRIDGE}`) && existsSync(at.run)) await check('ip', ['link', 'del', BRIDGE])
  if (state) writeFileSync('/proc/sys/net/ipv4/ip_forward', state.ipForward)
  if (existsSync(at.run)) await removeTraces()
  keepLogs(at)
  rmSync(at.run, { recursive: true, force: true })
}

function keepLogs(at: Folders): void {
  if (!existsSync(at.run)) return
  rmSync(at.logs, { recursive: true, force: true })
  mkdirSync(at.logs)
  for (const name of readdirSync(at.run).filter((name) => name.endsWith('.log')))
    cpSync(join(at.run, name), join(at.logs, name))
}

async function endProcesses(at: Folders): Promise<void> {
  // A machine whose first process ends takes everything in it along, and its systemd-nspawn then cleans up after itself.
  for (const pid of labProcesses(at).inits) end(pid)
  for (let round = 0; round < 100; round++) {
    const { inits, marked, inside } = labProcesses(at)
    if (inits.length + marked.length + inside.length === 0) return
    const machines = new Set(marked.filter((pid) => isNspawn(pid)))
    // systemd-nspawn gets two seconds for that.
    for (const pid of [...inits, ...inside, ...marked]) if (round > 20 || !machines.has(pid)) end(pid)
    await sleep(100)
  }
  const left = labProcesses(at)
  const ids = [...left.inits, ...left.marked, ...left.inside]
  throw new Error(`processes of the lab that do not end: ${ids.map((pid) => `${pid} (${command(pid)})`).join(', ')}`)
}

function isNspawn(pid: number): boolean {
  return (
    command(pid).startsWith('systemd-nspawn') || childrenOf(pid).some((child) => command(child).includes('systemd'))
  )
}

function command(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim()
  } catch {
    return ''
  }
}

/** Innermost first. */
function mountsBelow(folder: string): string[] {
  return readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .map((line) =>
      (line.split(' ')[4] ?? '').replace(/\\([0-7]{3})/g, (_, octal) => String.fromCharCode(Number.parseInt(octal, 8))),
    )
    .filter((path) => path.startsWith(`${folder}/`))
    .reverse()
}

async function freeLoops(at: Folders): Promise<void> {
  const { stdout } = await run('losetup', ['--list', '--noheadings', '--raw', '--output', 'NAME,BACK-FILE'])
  for (const line of stdout.split('\n')) {
    const [device, file] = line.split(' ')
    if (device && file?.startsWith(`${at.run}/`)) await run('losetup', ['--detach', device])
  }
}

/** What a systemd-nspawn that was killed leaves, and the control groups of the machines. */
async function removeTraces(): Promise<void> {
  for (const { name } of NODES) rmSync(join('/run/systemd/nspawn/propagate', name), { recursive: true, force: true })
  // A process that was just ended may still count as one of its group.
  for (let round = 0; labGroups().length > 0; round++) {
    try {
      for (const path of labGroups()) removeGroup(path)
    } catch (error) {
      if (round > 20) throw error
      await sleep(100)
    }
  }
}
