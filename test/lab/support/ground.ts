/**
 * Whether a lab can stand on this machine. All that is wrong is said at once, before anything is built or started. The facts are read
 * in one function and judged in another, so that the judging is tested without root.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { BRIDGE, type Folders, NODES, PORTS, REPOSITORY } from './config.js'

export type Ground = {
  platform: string
  uid: number | undefined
  /** The values of /etc/os-release. */
  system: Record<string, string>
  /** Character devices, by path. */
  devices: Record<string, boolean>
  /** What `go env GOVERSION` says; undefined without Go. */
  go: string | undefined
  /** The newest version that a go.mod of the lab asks for. */
  goWanted: string
  listening: number[]
  links: string[]
  /** The folder that a running lab has, when it is there. */
  run: string | undefined
  fileSystems: string[]
}

export function readGround(at: Folders): Ground {
  const go = spawnSync('go', ['env', 'GOVERSION'], { encoding: 'utf8', env: { ...process.env, GOTOOLCHAIN: 'local' } })
  return {
    platform: process.platform,
    uid: process.getuid?.(),
    system: osRelease(text('/etc/os-release')),
    devices: Object.fromEntries(['/dev/fuse', '/dev/loop-control'].map((path) => [path, isDevice(path)])),
    go: go.status === 0 ? go.stdout.trim() : undefined,
    goWanted: goWanted(),
    listening: [...new Set(['/proc/net/tcp', '/proc/net/tcp6'].flatMap((path) => listeningPorts(text(path))))].sort(),
    links: existsSync('/sys/class/net') ? readdirSync('/sys/class/net').sort() : [],
    run: existsSync(at.run) ? at.run : undefined,
    fileSystems: text('/proc/filesystems').split(/\s+/),
  }
}

/** What is wrong, as sentences; empty when a lab can start. */
export function problems(ground: Ground): string[] {
  if (ground.platform !== 'linux') return [`The lab needs Linux; this is ${ground.platform}.`]
  if (ground.run !== undefined)
    return [`A lab is already up, or was not taken down: ${ground.run} is there. Take it down with: npm run lab:down`]

  const found: string[] = []
  if (ground.uid !== 0) found.push('The lab needs root: it makes mounts, a bridge and containers.')
  const { ID, VERSION_ID, PRETTY_NAME } = ground.system
  if (ID !== 'debian' || VERSION_ID !== '12')
    found.push(`The lab needs Debian 12; this is ${PRETTY_NAME ?? 'not known'}.`)
  for (const [path, there] of Object.entries(ground.devices))
    if (!there) found.push(`${path} is missing: the lab's nodes need it.`)
  if (!ground.fileSystems.includes('overlay')) found.push('The kernel has no overlay file system (modprobe overlay).')
  if (!ground.fileSystems.includes('fuse')) found.push('The kernel has no FUSE (modprobe fuse).')

  if (ground.go === undefined) found.push(`Go is missing: the lab needs Go ${ground.goWanted} or newer in PATH.`)
  else if (compareVersions(ground.go.replace(/^go/, ''), ground.goWanted) < 0)
    found.push(
      `Go is too old: the lab needs ${ground.goWanted} or newer, and PATH has ${ground.go.replace(/^go/, '')}.`,
    )

  for (const [name, port] of Object.entries(PORTS))
    if (ground.listening.includes(port)) found.push(`Port ${port} (${name}) is in use.`)
  const ours = [BRIDGE, ...NODES.map(({ name }) => `vb-${name}`)]
  for (const link of ours) if (ground.links.includes(link)) found.push(`The network link ${link} is in use.`)
  return found
}

export function compareVersions(a: string, b: string): number {
  const numbers = (version: string) => (/^[\d.]+/.exec(version)?.[0] ?? '0').split('.').map(Number)
  const [left, right] = [numbers(a), numbers(b)]
  for (let at = 0; at < Math.max(left.length, right.length); at++) {
    const difference = (left[at] ?? 0) - (right[at] ?? 0)
    if (difference !== 0) return difference
  }
  return 0
}

export function osRelease(text: string): Record<string, string> {
  const pairs = [...text.matchAll(/^([A-Z_]+)="?(.*?)"?$/gm)]
  return Object.fromEntries(pairs.map(([, key, value]) => [key, value]))
}

/** Ports in state LISTEN of a /proc/net/tcp table. */
export function listeningPorts(table: string): number[] {
  return table
    .split('\n')
    .slice(1)
    .map((line) => line.trim().split(/\s+/))
    .filter((columns) => columns[3] === '0A')
    .map((columns) => Number.parseInt(columns[1]?.split(':')[1] ?? '', 16))
}

function goWanted(): string {
  const folder = join(REPOSITORY, 'test/lab/kube')
  const versions = readdirSync(folder)
    .filter((name) => name.endsWith('.go.mod'))
    .map((name) => /^go (\S+)/m.exec(text(join(folder, name)))?.[1] ?? '0')
  return versions.sort(compareVersions).at(-1) ?? '0'
}

function isDevice(path: string): boolean {
  try {
    return statSync(path).isCharacterDevice()
  } catch {
    return false
  }
}

function text(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
