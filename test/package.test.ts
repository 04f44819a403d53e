import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Plugin } from '@oclif/core'
import { build } from 'esbuild'
import { expect, it } from 'vitest'

const root = fileURLToPath(new URL('..', import.meta.url))

it('the manifest is that of the sources (npm run manifest writes it)', async () => {
  await build({
    absWorkingDir: root,
    entryPoints: { commands: 'src/commands/index.ts' },
    outdir: 'build',
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    packages: 'external',
  })
  const plugin = new Plugin({ root, ignoreManifest: true, errorOnManifestCreate: true })
  await plugin.load()
  const fresh = JSON.parse(JSON.stringify(plugin.manifest))
  const committed = JSON.parse(readFileSync(join(root, 'oclif.manifest.json'), 'utf8'))
  expect(committed).toEqual(fresh)
})

it('every command of the manifest can be run, and no other', () => {
  const committed = JSON.parse(readFileSync(join(root, 'oclif.manifest.json'), 'utf8')) as { commands: object }
  const main = readFileSync(join(root, 'src/main.ts'), 'utf8')
  const loaders = [...main.matchAll(/import\('\.\/commands\/(.*)\.js'\)/g)].map((match) => match[1])
  expect(loaders.sort()).toEqual(Object.keys(committed.commands).sort())
})

it('the package holds what a user needs and nothing else', () => {
  const cache = mkdtempSync(join(tmpdir(), 'npm-cache-'))
  try {
    const output = execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts', `--cache=${cache}`], {
      cwd: root,
      encoding: 'utf8',
    })
    const packed = JSON.parse(output) as { files: { path: string; size: number }[] }[] | Record<string, never>
    const [entry] = Object.values(packed)
    const paths = (entry as { files: { path: string }[] }).files.map(({ path }) => path)
    const allowed = [
      /^(package\.json|README\.md|LICENSE|CHANGELOG\.md|oclif\.manifest\.json)$/,
      /^bin\/run\.js$/,
      /^dist\/(main\.js|chunks\/[\w-]+\.js)$/,
      /^demo\/cluster\.json$/,
      /^schemas\/[\w.-]+\.schema\.json$/,
      /^docs\/[\w-]+\.(md|yaml)$/,
    ]
    expect(paths.filter((path) => !allowed.some((pattern) => pattern.test(path)))).toEqual([])
    for (const path of ['package.json', 'LICENSE', 'bin/run.js', 'dist/main.js', 'oclif.manifest.json']) {
      expect(paths).toContain(path)
    }
  } finally {
    rmSync(cache, { recursive: true, force: true })
  }
})

it('nothing but Node is needed to run what is packed', () => {
  const { dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { dependencies?: object }
  expect(dependencies).toBeUndefined()
})

it('the lock file names no host that packages came from', () => {
  expect(readFileSync(join(root, 'package-lock.json'), 'utf8')).not.toContain('"resolved"')
})
