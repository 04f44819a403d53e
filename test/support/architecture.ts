/**
 * The rules that hold the layers apart, as functions of a file's path and text, so that they can be tried on files that do not
 * exist: a rule that can't fail holds nothing.
 */
import { dirname, join } from 'node:path/posix'

export const FEATURES = ['drain', 'relocate', 'reclaim', 'mounts', 'secrets'] as const

/** Modules of layers that read and write which themselves do neither. */
const PURE = [
  ...['objects', 'snapshot', 'labels', 'errors'].map((name) => `src/cluster/${name}.ts`),
  'src/node/shell-quote.ts',
]

export interface Import {
  /** A file of the repository (`src/…`), or a package or built-in as it is written. */
  target: string
  typeOnly: boolean
}

/** Comments and the inside of strings and templates taken out where `strings` is false; only comments where it is true. */
function strip(text: string, strings: boolean): string {
  return text.replace(
    /\/\/[^\n]*|\/\*[\s\S]*?\*\/|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`/g,
    (found) => (found.startsWith('/') ? ' ' : strings ? found : "''"),
  )
}

export function importsOf(path: string, text: string): Import[] {
  const code = strip(text, true)
  const found: Import[] = []
  const add = (specifier: string, typeOnly: boolean): void => {
    const target = specifier.startsWith('.') ? join(dirname(path), specifier).replace(/\.jsx?$/, '.ts') : specifier
    found.push({ target, typeOnly })
  }
  for (const match of code.matchAll(/\b(?:import|export)\s+(type\s+)?(?:[^'"`;()]*?\sfrom\s*)?['"]([^'"]+)['"]/g)) {
    const names = match[0].match(/\{([^}]*)\}/)?.[1]
    const allTypes = names?.split(',').every((name) => name.trim() === '' || /^type\s/.test(name.trim())) ?? false
    const onlyBraces = /^(?:import|export)\s*\{/.test(match[0])
    add(match[2] as string, match[1] !== undefined || (allTypes && onlyBraces && names?.trim() !== ''))
  }
  for (const match of code.matchAll(/\b(?:import|require)\s*\(\s*['"`]([^'"`]+)['"`]/g)) add(match[1] as string, false)
  return found
}

/** The parts of a feature that read, write or show; all else in it decides. */
const DOES = /^src\/[^/]+\/(facts|apply|view)(\/|\.tsx?$)/

/** What decides: it gets facts and gives a plan, and reads nothing else. */
export function isPure(path: string): boolean {
  return /^src\/(scheduling|volumes)\//.test(path) || (featureOf(path) !== undefined && !DOES.test(path))
}

const IMPURE_GLOBALS =
  /\b(?:new\s+Date\b|Date\s*[.(]|Math\.random\b|process\s*[.[]|console\s*\.|performance\s*\.|crypto\s*\.|set(?:Timeout|Interval|Immediate)\s*\(|fetch\s*\(|globalThis\b|await\b|async\b)/

/** A new Date of an argument, and Date.parse, read no clock. */
const CLOCKLESS = /\bnew\s+Date\(\s*[^)\s][^)]*\)|\bDate\.(?:parse|UTC)\s*\(/g

function featureOf(path: string): string | undefined {
  const folder = path.match(/^src\/([^/]+)\//)?.[1]
  return FEATURES.find((feature) => feature === folder)
}

/** Everything that is wrong with one file, a sentence each. */
export function violations(path: string, text: string): string[] {
  const wrong: string[] = []
  const feature = featureOf(path)
  for (const { target, typeOnly } of importsOf(path, text)) {
    const other = featureOf(target)
    if (feature !== undefined && other !== undefined && other !== feature) {
      wrong.push(`${path}: feature ${feature} imports feature ${other} (${target})`)
    }
    if (target.startsWith('src/commands/') && !path.startsWith('src/commands/') && path !== 'src/main.ts') {
      wrong.push(`${path}: only main.ts, which starts them, imports commands (${target})`)
    }
    if (target === 'src/main.ts') wrong.push(`${path}: nothing imports main.ts`)
    if (/^src\/(scheduling|volumes|cluster|node|present)\//.test(path) && other !== undefined) {
      wrong.push(`${path}: a shared layer imports feature ${other} (${target})`)
    }
    if (/^src\/(scheduling|volumes|cluster|node|present)\//.test(path) && target.startsWith('src/cli/')) {
      wrong.push(`${path}: a shared layer imports the command line (${target})`)
    }
    if (isPure(path) && !typeOnly) {
      const reads =
        !target.startsWith('src/') || /^src\/(cli|cluster|commands|node|present)\//.test(target) || DOES.test(target)
      if (reads && !PURE.includes(target)) {
        wrong.push(`${path}: what decides imports only what decides (${target})`)
      }
    }
  }
  if (isPure(path)) {
    const found = strip(text, false).replace(CLOCKLESS, '').match(IMPURE_GLOBALS)
    if (found) wrong.push(`${path}: what decides has no clock, randomness, terminal or waiting (${found[0].trim()})`)
  }
  return wrong
}
