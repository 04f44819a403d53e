/** Disks of their own for nodes: loop devices over files in the lab's `run` folder. */
import { mkdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Lab } from './lab.js'
import { check, run } from './run.js'

const folder = (lab: Lab) => join(lab.at.run, 'disks')

/** Gives a node an ext4 disk, mounted at /mnt/disks/NAME there; resolves with that path. */
export async function attachDisk(lab: Lab, node: string, name: string, mebibytes: number): Promise<string> {
  mkdirSync(folder(lab), { recursive: true })
  const file = join(folder(lab), `${node}-${name}.img`)
  await check('truncate', ['--size', `${mebibytes}M`, file])
  await check('mkfs.ext4', ['-q', '-m', '0', file])
  const device = (await check('losetup', ['--find', '--show', file])).trim()
  const { rdev } = statSync(device)
  const [major, minor] = [(rdev >> 8) & 0xfff, (rdev & 0xff) | ((rdev >> 12) & 0xfff00)]
  const path = `/mnt/disks/${name}`
  try {
    await lab.enter(
      node,
      `mknod /dev/lab-${name} b ${major} ${minor} && mkdir -p ${path} && mount /dev/lab-${name} ${path}`,
    )
  } finally {
    // While it is mounted this only says that it goes with its last mount, so that a dead node frees it too.
    await check('losetup', ['--detach', device])
  }
  return path
}

/** After the nodes have unmounted them. */
export async function detachDisks(lab: Lab): Promise<void> {
  const { stdout } = await run('losetup', ['--list', '--noheadings', '--raw', '--output', 'NAME,BACK-FILE'])
  for (const line of stdout.split('\n')) {
    const [device, file] = line.split(' ')
    if (device && file?.startsWith(`${folder(lab)}/`)) await run('losetup', ['--detach', device])
  }
  rmSync(folder(lab), { recursive: true, force: true })
}
