/**
 * Each machine gets a control group of its own in every hierarchy. Without that the systemds of all nodes would share one tree, and
 * units of the same name, as one volume has on each node, would share their processes.
 */
import { existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const ROOT = '/sys/fs/cgroup'
const PREFIX = 'kubectl-storage-lab.'

/** The one hierarchy of version 2, or all of version 1. */
function hierarchies(): string[] {
  if (existsSync(join(ROOT, 'cgroup.controllers'))) return [ROOT]
  return readdirSync(ROOT)
    .map((name) => join(ROOT, name))
    .filter((path) => !lstatSync(path).isSymbolicLink() && existsSync(join(path, 'cgroup.procs')))
}

/** Makes a machine's groups; returns the files that a process writes its id to in order to join. */
export function makeGroups(machine: string): string[] {
  return hierarchies().map((hierarchy) => {
    const group = join(hierarchy, `${PREFIX}${machine}`)
    mkdirSync(group, { recursive: true })
    // A new group of the first version has no processor and no memory to run on.
    for (const file of ['cpuset.cpus', 'cpuset.mems'])
      if (existsSync(join(hierarchy, 'cpuset.mems')) && existsSync(join(group, file)))
        writeFileSync(join(group, file), readFileSync(join(hierarchy, file)))
    return join(group, 'cgroup.procs')
  })
}

/** Those that are left, of any machine. */
export function labGroups(): string[] {
  if (!existsSync(ROOT)) return []
  return hierarchies().flatMap((hierarchy) =>
    readdirSync(hierarchy)
      .filter((name) => name.startsWith(PREFIX))
      .map((name) => join(hierarchy, name)),
  )
}

export function removeGroup(path: string): void {
  for (const entry of readdirSync(path, { withFileTypes: true }))
    if (entry.isDirectory()) removeGroup(join(path, entry.name))
  rmdirSync(path)
}
