/** What a running lab writes down about itself. */
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import type { Folders } from './config.js'

export type State = {
  /** False until all nodes are Ready: a lab that is half up can only be taken down. */
  ready: boolean
  /** What net.ipv4.ip_forward was before. */
  ipForward: string
  /** Host ids of the machines' first processes, by node. */
  inits: Record<string, number>
}

export function readState(at: Folders): State | undefined {
  try {
    return JSON.parse(readFileSync(at.state, 'utf8')) as State
  } catch {
    return undefined
  }
}

export function writeState(at: Folders, state: State): void {
  writeFileSync(`${at.state}.new`, JSON.stringify(state, null, 2))
  renameSync(`${at.state}.new`, at.state)
}
