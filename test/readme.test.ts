import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { loadAll } from 'js-yaml'
import { describe, expect, it } from 'vitest'
import { EXIT } from '../src/cli/exit-codes.js'
import { ACCEPTABLE, VERDICTS } from '../src/drain/types.js'

const root = fileURLToPath(new URL('..', import.meta.url))
const read = (file: string) => readFileSync(join(root, file), 'utf8')
const readme = read('README.md')
const pages = [
  'README.md',
  ...readdirSync(join(root, 'docs'))
    .filter((file) => file.endsWith('.md'))
    .map((file) => `docs/${file}`),
]

describe('README.md', () => {
  it('shows what the demo prints now', () => {
    const { status, stderr } = spawnSync(process.execPath, [join(root, 'scripts/readme.js'), '--check'], {
      encoding: 'utf8',
    })
    expect(stderr).toBe('')
    expect(status).toBe(0)
  })

  it('shows a demo of 100 columns at most, but for commands', () => {
    const demo = /<!-- demo -->\n([\s\S]*?)<!-- \/demo -->/.exec(readme)?.[1] ?? ''
    expect(demo).toMatch(/^```text\n.*k8s-node-2/)
    for (const line of demo.split('\n')) if (!line.includes('kubectl ')) expect(line.length).toBeLessThanOrEqual(100)
  })

  it('names every verdict, every word of --accept and every exit code that drain-check has', () => {
    for (const word of [...VERDICTS, ...ACCEPTABLE]) expect(readme).toMatch(new RegExp(`^\\| \`${word}\` +\\|`, 'm'))
    const codes = [...readme.matchAll(/^\| (\d+) +\|/gm)].map(([, code]) => Number(code))
    // The others belong to commands that write.
    expect(codes).toEqual([
      EXIT.ok,
      EXIT.bug,
      EXIT.usage,
      EXIT.notSafe,
      EXIT.unreachable,
      EXIT.incomplete,
      EXIT.cancelled,
    ])
  })
})

describe.each(pages)('%s', (page) => {
  const text = read(page)

  it('names only commands that are there, or that it says are for later', () => {
    const commands = readdirSync(join(root, 'src/commands')).map((file) => file.replace(/\.ts$/, ''))
    // `relocate` is named by the steps of a report.
    const named = [...text.matchAll(/kubectl storage ([a-z][a-z-]+)/g)].map(([, command]) => command)
    expect(named.filter((command) => command !== 'relocate' && !commands.includes(command ?? ''))).toEqual([])
  })

  it('links to files that are there', () => {
    const links = [...text.matchAll(/\]\(([^)#:]+)\)/g)].map(([, link]) => link ?? '')
    expect(links.length).toBeGreaterThan(0)
    for (const link of links) expect(existsSync(join(root, dirname(page), link)), link).toBe(true)
  })
})

describe('docs/rbac.yaml', () => {
  it('is a role that only reads', () => {
    const [role] = loadAll(read('docs/rbac.yaml')) as { kind: string; rules: { verbs: string[] }[] }[]
    expect(role?.kind).toBe('ClusterRole')
    for (const { verbs } of role?.rules ?? []) expect(verbs).toEqual(['get', 'list'])
  })
})
