/**
 * Run by npm after `npm ci` in a clone, and before the package is packed or installed from git: builds dist/.
 *
 * `npm install --global git+…` hands its own `--global` on to the install that should only bring the tools for building into npm's
 * temporary clone. Two things come of that: the tools are not there, and the clone, which npm deletes a moment later, is linked as
 * the global package. Both are put right here; npm then unpacks the built package over what it finds.
 */
import { execFileSync } from 'node:child_process'
import { cpSync, lstatSync, readFileSync, realpathSync, unlinkSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const { name, files } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))

try {
  createRequire(import.meta.url).resolve('esbuild')
} catch {
  const { npm_config_global, npm_config_prefix, npm_config_global_prefix, npm_execpath, ...env } = process.env
  if (npm_execpath === undefined) throw new Error('esbuild is not installed: run npm ci')
  const install = [npm_execpath, 'ci', '--ignore-scripts', '--include=dev']
  execFileSync(process.execPath, install, { cwd: root, env, stdio: 'inherit' })
  const prefix = npm_config_global_prefix ?? npm_config_prefix
  await import('./build.js')
  if (npm_config_global === 'true' && prefix !== undefined) replaceLink(join(prefix, 'lib', 'node_modules', name))
}
await import('./build.js')

/** A link, and only one to this very folder, becomes a folder with what the package has. */
function replaceLink(path) {
  const found = lstatSync(path, { throwIfNoEntry: false })
  if (!found?.isSymbolicLink() || realpathSync(path) !== realpathSync(root)) return
  unlinkSync(path)
  for (const file of ['package.json', ...files]) cpSync(join(root, file), join(path, file), { recursive: true })
}
