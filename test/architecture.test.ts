import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { importsOf, violations } from './support/architecture.js'

const root = fileURLToPath(new URL('..', import.meta.url))

function sources(): string[] {
  return readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
    .map((path) => `src/${path.replaceAll('\\', '/')}`)
    .filter((path) => /\.tsx?$/.test(path))
    .sort()
}

describe('layers', () => {
  it('of the sources are kept apart', () => {
    const files = sources()
    expect(files.length).toBeGreaterThan(10)
    expect(files.flatMap((path) => violations(path, readFileSync(join(root, path), 'utf8')))).toEqual([])
  })
})

describe('the check itself', () => {
  it.each<[string, string, string]>([
    ['a feature in a feature', 'src/drain/view.ts', `import { plan } from '../relocate/plan.js'`],
    ['even its types', 'src/drain/view.ts', `import type { Plan } from '../relocate/types.js'`],
    ['a command in a feature', 'src/drain/view.ts', `import X from '../commands/drain-check.js'`],
    ['a command in the command line layer', 'src/cli/run.ts', `const x = await import('../commands/drain-check.js')`],
    ['a feature in scheduling', 'src/scheduling/taints.ts', `import type { X } from '../drain/types.js'`],
    ['the command line in scheduling', 'src/scheduling/taints.ts', `import { X } from '../cli/errors.js'`],
    ['a built-in in scheduling', 'src/scheduling/taints.ts', `import { join } from 'node:path'`],
    ['a built-in without its prefix', 'src/volumes/kind.ts', `import fs from 'fs'`],
    ['a package in a plan', 'src/drain/plan.ts', `import { KubeConfig } from '@kubernetes/client-node'`],
    ['a re-export', 'src/drain/plan.ts', `export { readFile } from 'node:fs/promises'`],
    ['a bare import', 'src/drain/plan.ts', `import 'node:fs'`],
    ['a reader in a plan', 'src/drain/plan.ts', `import { readCluster } from '../cluster/read.js'`],
    ['a reader among types', 'src/drain/plan.ts', `import { type A, readCluster } from '../cluster/read.js'`],
    ['the node layer in a plan', 'src/drain/plan.ts', `import { connect } from '../node/ssh.js'`],
    ['a view in a rule', 'src/drain/rules/gone.ts', `import { x } from '../view.js'`],
    ['a clock beside a plan', 'src/mounts/match.ts', 'const now = Date.now()'],
    ['a clock', 'src/drain/plan.ts', 'const now = Date.now()'],
    ['a clock by constructor', 'src/drain/plan.ts', 'const now = new Date()'],
    ['chance', 'src/scheduling/pick.ts', 'const x = Math.random()'],
    ['the environment', 'src/scheduling/pick.ts', 'if (process.env.X) {}'],
    ['waiting', 'src/drain/plan.ts', 'export async function plan() {}'],
  ])('finds %s', (_, path, text) => {
    expect(violations(path, text)).not.toEqual([])
  })

  it.each<[string, string, string]>([
    ['types of the cluster', 'src/drain/plan.ts', `import type { X } from '../cluster/read.js'`],
    ['pure modules of the cluster', 'src/drain/plan.ts', `import { matches } from '../cluster/labels.js'`],
    ['the scheduler in a plan', 'src/drain/plan.ts', `import { filter } from '../scheduling/filter.js'`],
    ['shell quoting in a plan', 'src/drain/plan.ts', `import { shellQuote } from '../node/shell-quote.js'`],
    ['words in comments and strings', 'src/drain/plan.ts', `// Date.now() in a comment\nconst x = 'Math.random()'`],
    ['a time that was given', 'src/drain/plan.ts', 'const x = Date.parse(pod.startTime) < new Date(now).getTime()'],
    ['a clock where one may be', 'src/cluster/live.ts', 'const now = Date.now()'],
    ['a clock where facts are read', 'src/mounts/facts.ts', 'const now = Date.now()'],
    ['commands in main', 'src/main.ts', `await import('./commands/drain-check.js')`],
    ['a feature in a command', 'src/commands/drain-check.ts', `import { planDrain } from '../drain/plan.js'`],
  ])('allows %s', (_, path, text) => {
    expect(violations(path, text)).toEqual([])
  })

  it('sees every way to import', () => {
    const text = `
      import a from './a.js'
      import { b, type B } from '../b/b.js'
      import type { C } from './c.js'
      export * from './d.js'
      import { type E } from './e.js'
      const f = import('./f.js')
      import {
        g,
      } from 'g'`
    expect(importsOf('src/x/y.ts', text)).toEqual([
      { target: 'src/x/a.ts', typeOnly: false },
      { target: 'src/b/b.ts', typeOnly: false },
      { target: 'src/x/c.ts', typeOnly: true },
      { target: 'src/x/d.ts', typeOnly: false },
      { target: 'src/x/e.ts', typeOnly: true },
      { target: 'g', typeOnly: false },
      { target: 'src/x/f.ts', typeOnly: false },
    ])
  })
})
