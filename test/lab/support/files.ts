/** Files that may be gone before they are read, as those of /proc are when a process ends. */
import { readFileSync, readlinkSync } from 'node:fs'

/** Empty when there is none. */
export function text(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

export function link(path: string): string | undefined {
  try {
    return readlinkSync(path)
  } catch {
    return undefined
  }
}
