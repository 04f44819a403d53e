/**
 * Builds dist/, all that is run: one bundle with code splitting, so that a start loads what its command needs and nothing else.
 * `--manifest` also writes oclif.manifest.json, from which help is printed without loading a command; it is committed.
 * Plain JavaScript, for it runs before anything is built, on every Node that package.json allows.
 */
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises'
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

/**
 * What oclif loads at every start for things this program never does: looking for commands and plugins on disk, spinners, asking
 * Windows for its shell, compiling TypeScript. A third of oclif's weight; one that is used after all says so.
 */
const leftOut = {
  name: 'left-out',
  setup(builder) {
    const names = /^(tinyglobby|minimatch|cli-spinners|wsl-utils|typescript)$/
    builder.onResolve({ filter: names }, ({ path }) => ({ path, namespace: 'left-out' }))
    // On a terminal oclif makes a spinner at once, whether one is ever shown or not; it only has to have frames.
    builder.onLoad({ filter: /^cli-spinners$/, namespace: 'left-out' }, () => ({
      contents: `const none = { interval: 1000, frames: [''] }; module.exports = { dots2: none, line: none }`,
    }))
    builder.onLoad({ filter: /.*/, namespace: 'left-out' }, ({ path }) => ({
      contents: `module.exports = new Proxy({}, { get(_, key) {
        if (key === '__esModule' || key === 'then') return undefined
        throw new Error('${path} is not in the bundle (scripts/build.js leaves it out)')
      } })`,
    }))
  },
}

const shared = {
  absWorkingDir: root,
  bundle: true,
  platform: 'node',
  target: 'node20',
  format: 'esm',
  logLevel: 'warning',
  logOverride: { 'import-is-undefined': 'error' },
  legalComments: 'none',
}

const { metafile } = await build({
  ...shared,
  entryPoints: { main: 'src/main.ts' },
  outdir: 'dist',
  splitting: true,
  chunkNames: 'chunks/[name]-[hash]',
  // Names are kept: they cost nothing that could be measured, and a trace says something.
  minifyWhitespace: true,
  minifySyntax: true,
  metafile: true,
  plugins: [leftOut],
  banner: { js: banner },
})
// Old chunks go last: a program that runs meanwhile, or a second build, finds its own.
const current = new Set(Object.keys(metafile.outputs))
for (const name of await readdir(`${root}/dist`, { recursive: true })) {
  if (name.endsWith('.js') && !current.has(`dist/${name.replaceAll('\\', '/')}`))
    await rm(`${root}/dist/${name}`, { force: true })
}
await mkdir(`${root}/build`, { recursive: true })
await writeFile(`${root}/build/meta.json`, JSON.stringify(metafile))

if (process.argv.includes('--manifest')) {
  await build({
    ...shared,
    entryPoints: { commands: 'src/commands/index.ts' },
    outdir: 'build',
    packages: 'external',
  })
  const { Plugin } = await import('@oclif/core')
  const plugin = new Plugin({ root, ignoreManifest: true, errorOnManifestCreate: true })
  await plugin.load()
  await writeFile(`${root}/oclif.manifest.json`, `${JSON.stringify(plugin.manifest, null, 2)}\n`)
}
