/** The recorded cluster that ships with the package, `--from demo`. */
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'

// This module is src/cluster/demo.ts, or part of a chunk in dist/chunks/ or dist/; demo/ is at the package's root.
const PLACES = ['../demo/cluster.json', '../../demo/cluster.json']

/** Lists in JSON, one after the other, recorded by `npm run lab:demo`. */
export async function readDemo(): Promise<Buffer> {
  const paths = PLACES.map((place) => fileURLToPath(new URL(place, import.meta.url)))
  const found = paths.find((path) => existsSync(path))
  if (found === undefined) throw new Error(`the demo cluster is not in the package (looked for ${paths.join(', ')})`)
  return readFile(found)
}
