/** The lab's processes: each carries a mark in its environment, and is ended by its id. */
import { spawn } from 'node:child_process'
import { closeSync, openSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Folders, MARK } from './config.js'
import { link, text } from './files.js'

export const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** Starts one of the lab's own processes in a session of its own: a Ctrl-C in the terminal is for who takes the lab down, not for it. */
export function startProcess(
  at: Folders,
  name: string,
  command: string,
  args: string[],
  env: Record<string, string> = {},
): number {
  const log = openSync(join(at.run, `${name}.log`), 'a')
  try {
    const child = spawn(command, args, {
      detached: true,
      stdio: ['ignore', log, log],
      env: { ...process.env, ...env, [MARK]: at.run },
    })
    child.on('error', () => {})
    child.unref()
    if (child.pid === undefined) throw new Error(`${command} could not be started`)
    return child.pid
  } finally {
    closeSync(log)
  }
}

/** Host ids of the children of a process. */
export function childrenOf(pid: number): number[] {
  try {
    return readdirSync(`/proc/${pid}/task`).flatMap((task) =>
      readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').split(' ').filter(Boolean).map(Number),
    )
  } catch {
    return []
  }
}

/** A machine's first process, found below its systemd-nspawn. */
export function initOf(nspawn: number): number | undefined {
  return childrenOf(nspawn).find((pid) => text(`/proc/${pid}/cmdline`).startsWith('/usr/lib/systemd/systemd\0'))
}

export type LabProcesses = {
  /** First processes of the machines: all in a machine ends with them. */
  inits: number[]
  /** Started here, marked in their environment. */
  marked: number[]
  /** Anything else that lives in a machine's file system. */
  inside: number[]
}

/**
 * All processes of the lab whose `run` folder this is, whoever started them and whatever became of the list of their ids: marked ones, and
 * those whose root is a machine's overlay.
 */
export function labProcesses(at: Folders): LabProcesses {
  const found: LabProcesses = { inits: [], marked: [], inside: [] }
  const own = link('/proc/self/ns/mnt')
  for (const name of readdirSync('/proc')) {
    const pid = Number(name)
    if (!Number.isInteger(pid) || pid === process.pid) continue
    if (text(`/proc/${pid}/environ`).split('\0').includes(`${MARK}=${at.run}`)) {
      found.marked.push(pid)
      continue
    }
    const space = link(`/proc/${pid}/ns/mnt`)
    if (space === undefined || space === own) continue
    const root = text(`/proc/${pid}/mountinfo`)
      .split('\n')
      .find((line) => line.split(' ')[4] === '/')
    if (!root?.includes(`upperdir=${at.run}/`)) continue
    // The last of the ids is the one in the innermost namespace.
    const ids = /^NSpid:\s*(.*)$/m.exec(text(`/proc/${pid}/status`))?.[1]?.split(/\s+/) ?? []
    if (ids.at(-1) === '1' && ids.length === 2) found.inits.push(pid)
    else found.inside.push(pid)
  }
  return found
}

export function end(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has ended by itself.
  }
}
