/** What a start loads, from the bundler's own account: time depends on the machine, the files and bytes do not. */
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'

interface Meta {
  outputs: Record<
    string,
    {
      bytes: number
      inputs: Record<string, unknown>
      imports: { path: string; kind: string; external?: boolean }[]
      entryPoint?: string
    }
  >
}

const meta = JSON.parse(readFileSync(new URL('../build/meta.json', import.meta.url), 'utf8')) as Meta

/** The outputs that are loaded when these sources' chunks are: what they import at once, not what they import when asked. */
function closure(...sources: string[]): { bytes: number; packages: string[]; sources: string[] } {
  const start = sources.map((source) => {
    const found = Object.keys(meta.outputs).find((path) => meta.outputs[path]?.entryPoint === source)
    if (found === undefined) throw new Error(`no output begins with ${source}`)
    return found
  })
  const seen = new Set<string>()
  const queue = [...start]
  for (let path = queue.pop(); path !== undefined; path = queue.pop()) {
    if (seen.has(path)) continue
    seen.add(path)
    for (const { path: next, kind, external } of meta.outputs[path]?.imports ?? []) {
      if (!external && kind === 'import-statement') queue.push(next)
    }
  }
  const inputs = [...seen].flatMap((path) => Object.keys(meta.outputs[path]?.inputs ?? {}))
  const packageOf = (path: string): string | undefined => path.match(/.*node_modules\/((?:@[^/]+\/)?[^/]+)\//)?.[1]
  return {
    bytes: [...seen].reduce((sum, path) => sum + (meta.outputs[path]?.bytes ?? 0), 0),
    packages: [...new Set(inputs.map(packageOf).filter((name) => name !== undefined))].sort(),
    sources: inputs.filter((path) => path.startsWith('src/')),
  }
}

const MAIN = 'src/main.ts'
const RUN = 'src/cli/run.ts'

describe('a start loads', () => {
  it('next to nothing for --version', () => {
    const { bytes, packages } = closure(MAIN)
    expect(packages).toEqual([])
    expect(bytes).toBeLessThan(8_000)
  })

  it('no command for --help', () => {
    const { bytes, sources } = closure(MAIN, RUN, 'src/cli/help.ts')
    expect(sources.filter((path) => path.startsWith('src/commands/'))).toEqual([])
    expect(bytes).toBeLessThan(250_000)
  })

  const DUMP = [MAIN, RUN, 'src/commands/drain-check.ts', 'src/cluster/dump.ts', 'src/cluster/demo.ts']
  const HEAVY = ['@kubernetes/client-node', 'ink', 'js-yaml', 'react', 'ssh2', 'typescript']

  it('no client, no YAML and no terminal library for drain-check of a dump in JSON', () => {
    const { bytes, packages } = closure(...DUMP)
    expect(packages.filter((name) => HEAVY.includes(name))).toEqual([])
    expect(bytes).toBeLessThan(600_000)
  })

  it('no client library and no proxy code before a server is known to need it', () => {
    const { bytes, packages } = closure(MAIN, RUN, 'src/commands/drain-check.ts', 'src/cluster/live.ts')
    expect(packages.filter((name) => [...HEAVY, 'hpagent', 'socks', 'socks-proxy-agent'].includes(name))).toEqual([])
    expect(bytes).toBeLessThan(600_000)
  })

  it('a YAML parser only for a dump in YAML', () => {
    expect(closure(...DUMP, 'src/cluster/yaml.ts').packages.filter((name) => HEAVY.includes(name))).toEqual(['js-yaml'])
  })
})
