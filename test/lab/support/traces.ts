/** What a lab could leave on this machine, to be compared before and after. */
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { type Folders, REPOSITORY } from './config.js'
import { link, text } from './files.js'
import { labGroups } from './groups.js'
import { labProcesses } from './processes.js'
import { run } from './run.js'

export type Traces = Record<string, string[]>

export async function traces(at: Folders): Promise<Traces> {
  const { stdout: loops } = await run('losetup', ['--list', '--noheadings', '--raw', '--output', 'NAME,BACK-FILE'])
  const { inits, inside, marked } = labProcesses(at)
  return {
    mounts: text('/proc/mounts').split('\n').filter(Boolean),
    links: list('/sys/class/net'),
    loops: loops.split('\n').filter(Boolean),
    'network namespaces': list('/run/netns'),
    processes: [...new Set([...inits, ...inside, ...marked, ...processesOf(at)])].map(describe),
    'control groups': labGroups(),
    files: [
      ...list('/run/systemd/nspawn/propagate'),
      ...list('/run/systemd/nspawn/unix-export'),
      ...list('/var/log/journal'),
      ...list('/tmp').filter((path) => path.startsWith('/tmp/mmdebstrap.')),
      ...list(join(REPOSITORY, 'node_modules')).filter((path) => path.includes('/.run-ts-')),
      ...[at.run].filter((path) => existsSync(path)),
      ...list(at.cache).filter((path) => path.startsWith(join(at.cache, 'build.'))),
    ],
    settings: [`net.ipv4.ip_forward ${text('/proc/sys/net/ipv4/ip_forward').trim()}`],
  }
}

/** What is there now and was not before, in words. */
export function added(before: Traces, after: Traces): string[] {
  return Object.entries(after).flatMap(([kind, now]) => {
    const was = new Set(before[kind])
    return now.filter((one) => !was.has(one)).map((one) => `${kind}: ${one}`)
  })
}

/** Programs of the cache, and whatever lives in another process namespace than we do. */
function processesOf(at: Folders): number[] {
  const own = link('/proc/self/ns/pid')
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => Number.isInteger(pid) && pid !== process.pid && pid !== 1)
    .filter((pid) => {
      const space = link(`/proc/${pid}/ns/pid`)
      return (space !== undefined && space !== own) || text(`/proc/${pid}/cmdline`).startsWith(`${at.cache}/`)
    })
}

function describe(pid: number): string {
  return `${pid} ${text(`/proc/${pid}/cmdline`).replaceAll('\0', ' ').trim()}`
}

function list(folder: string): string[] {
  return existsSync(folder) ? readdirSync(folder).map((name) => join(folder, name)) : []
}
