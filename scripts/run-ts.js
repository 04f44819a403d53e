/** `node scripts/run-ts.js FILE.ts [ARGUMENT...]`: runs a TypeScript program on Node 20, which can't by itself. */
import { mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build } from 'esbuild'

const [file, ...rest] = process.argv.slice(2)
if (file === undefined) throw new Error('usage: node scripts/run-ts.js FILE.ts [ARGUMENT...]')
const root = join(import.meta.dirname, '..')
// Inside the repository, so that packages are found.
const folder = await mkdtemp(join(root, 'node_modules', '.run-ts-')).catch((error) => {
  if (!['EACCES', 'EROFS', 'EPERM'].includes(error.code)) throw error
  process.stderr.write(`${root}/node_modules can't be written to by this user. Run it as the owner of the clone.\n`)
  process.exit(2)
})
try {
  const outfile = join(folder, 'program.mjs')
  await build({
    absWorkingDir: root,
    entryPoints: [file],
    outfile,
    bundle: true,
    packages: 'external',
    platform: 'node',
    format: 'esm',
    target: 'node20',
  })
  process.argv.splice(1, process.argv.length, outfile, ...rest)
  await import(pathToFileURL(outfile).href)
} finally {
  await rm(folder, { recursive: true, force: true })
}
