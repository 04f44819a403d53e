/**
 * Builds dist/, all that is run: one bundle with code splitting, so that a start loads what its command needs and nothing else.
 * `--manifest` also writes oclif.manifest.json, from which help is printed without loading a command; it is committed.
 * Plain JavaScript, for it runs before anything is built, on every Node that package.json allows.
 */
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const root = fileURLToPath(new URL('..', import.meta.url))

/** What CommonJS packages expect to find when their code runs inside an ES module. */
const banner = [
  `import{createRequire as __createRequire}from'node:module'`,
  `import{fileURLToPath as __fileURLToPath}from'node:url'`,
  `import{dirname as __pathDirname}from'node:path'`,
  `const require=__createRequire(import.meta.url),__filename=__fileURLToPath(import.meta.url),__dirname=__pathDirname(__filename)`,
].join(';')

const shared = {
  absWorkingDir: root,
  bundle: true,
  platform: 'node',
  target: 'node20',
  format: 'esm',
  logLevel: 'warning',
  legalComments: 'none',
}

await rm(`${root}/dist`, { recursive: true, force: true })
const { metafile } = await build({
  ...shared,
  entryPoints: { main: 'src/main.ts' },
  outdir: 'dist',
  splitting: true,
  chunkNames: 'chunks/[name]-[hash]',
  minify: true,
  keepNames: true,
  metafile: true,
  banner: { js: banner },
})
await mkdir(`${root}/build`, { recursive: true })
await writeFile(`${root}/build/meta.json`, JSON.stringify(metafile))

if (process.argv.includes('--manifest')) {
  await build({
    ...shared,
    entryPoints: { commands: 'src/commands/index.ts' },
    outdir: 'build',
    packages: 'external',
  })
  const { Config } = await import('@oclif/core')
  const config = await Config.load({ root, ignoreManifest: true, errorOnManifestCreate: true })
  const { manifest } = config.plugins.get(config.name)
  await writeFile(`${root}/oclif.manifest.json`, `${JSON.stringify(manifest, null, 2)}\n`)
}
