/** A lab is used by one run of the suite at a time: a second one, or a scene set up by hand, would reset what the first looks at. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Folders } from './config.js'

/** Tells the workers of a run that the claim is theirs. */
const SUITE = 'KUBECTL_STORAGE_LAB_SUITE'

const file = (at: Folders) => join(at.run, 'suite')

export function claim(at: Folders): void {
  const id = `${process.pid}`
  process.env[SUITE] = id
  writeFileSync(file(at), id)
}

/** The process id of a run that uses the lab, if there is one and it is not this. */
export function otherSuite(at: Folders): number | undefined {
  try {
    const id = readFileSync(file(at), 'utf8')
    if (id === process.env[SUITE]) return undefined
    const pid = Number(id)
    process.kill(pid, 0)
    return pid
  } catch {
    // Nobody claimed it, or who did has ended.
    return undefined
  }
}
