import { didYouMean } from '../cluster/closest.js'
import { UsageError } from './errors.js'

/** What must be known of a flag to find its value. oclif's flag definitions fit. */
export interface FlagShape {
  type: 'boolean' | 'option'
  char?: string | undefined
  multiple?: boolean | undefined
  options?: readonly string[] | undefined
}
export type FlagShapes = Record<string, FlagShape>

const TRUE = new Set(['1', 't', 'T', 'true', 'TRUE', 'True'])
const FALSE = new Set(['0', 'f', 'F', 'false', 'FALSE', 'False'])

/**
 * kubectl's way of writing flags, turned into the one way that oclif's parser takes without surprises: `--name=value` for a
 * value, `--name` for a switch. kubectl's parser (pflag) takes `-A=false`, `-ojson`, `-o=json`, `-Aojson` and lets the last of two
 * values win; it also takes any word after a flag as its value, even one that begins with a dash.
 * What no flag is called (`hints` say more of some of those), and a value that is missing, is refused here, so that the words are ours and the exit code too.
 */
export function normalizeArgv(
  argv: readonly string[],
  flags: FlagShapes,
  hints: Readonly<Record<string, string>> = {},
): string[] {
  const byChar = new Map<string, string>()
  for (const [name, flag] of Object.entries(flags)) if (flag.char) byChar.set(flag.char, name)

  const args: string[] = []
  const given = new Map<string, string[]>()
  const rest = [...argv]

  const give = (name: string, spelled: string, inline: string | undefined): void => {
    const flag = flags[name] as FlagShape
    if (flag.type === 'boolean') {
      if (inline !== undefined && !TRUE.has(inline) && !FALSE.has(inline)) {
        throw new UsageError(`invalid value "${inline}" for ${spelled}: it takes true or false`)
      }
      if (inline !== undefined && FALSE.has(inline)) given.delete(name)
      else given.set(name, [`--${name}`])
      return
    }
    const value = inline ?? rest.shift()
    if (value === undefined) throw new UsageError(`flag needs a value: ${spelled}`)
    if (flag.options && !flag.options.includes(value)) {
      throw new UsageError(`invalid value "${value}" for ${spelled}: it takes ${flag.options.join(', ')}`)
    }
    const token = `--${name}=${value}`
    if (flag.multiple) given.set(name, [...(given.get(name) ?? []), token])
    else given.set(name, [token])
  }

  const unknown = (spelled: string, near: string[]): UsageError =>
    new UsageError(`unknown flag: ${spelled}`, near.length > 0 ? near.map((name) => `did you mean --${name}?`) : [])

  for (let word = rest.shift(); word !== undefined; word = rest.shift()) {
    if (word === '--') {
      args.push(...rest)
      break
    }
    if (word.startsWith('--')) {
      const at = word.indexOf('=')
      const name = at === -1 ? word.slice(2) : word.slice(2, at)
      if (!Object.hasOwn(flags, name)) {
        if (Object.hasOwn(hints, name)) throw new UsageError(`unknown flag: --${name}`, [hints[name] ?? ''])
        throw unknown(`--${name}`, didYouMean(name, Object.keys(flags)))
      }
      give(name, `--${name}`, at === -1 ? undefined : word.slice(at + 1))
    } else if (word.startsWith('-') && word !== '-') {
      shorthands(word)
    } else {
      args.push(word)
    }
  }
  return [...[...given.values()].flat(), '--', ...args]

  function shorthands(word: string): void {
    for (let i = 1; i < word.length; i++) {
      const char = word[i] as string
      const name = byChar.get(char)
      if (name === undefined) {
        // `-from demo` is a long flag with one dash too few.
        const long = word.slice(1).split('=')[0] as string
        throw unknown(
          i === 1 ? word : `-${char} in ${word}`,
          long.length > 1 ? didYouMean(long, Object.keys(flags)) : [],
        )
      }
      const tail = word.slice(i + 1)
      const boolean = flags[name]?.type === 'boolean'
      if (tail !== '' && (!boolean || tail.startsWith('='))) {
        give(name, `-${char}`, tail.startsWith('=') ? tail.slice(1) : tail)
        return
      }
      give(name, `-${char}`, undefined)
    }
  }
}

/**
 * The value of a flag in a command line that may be wrong elsewhere: an error must be told in the form that was asked for, and
 * the error may be that the command line can't be parsed.
 */
export function peekFlag(argv: readonly string[], name: string, char: string): string | undefined {
  let value: string | undefined
  for (const [i, word] of argv.entries()) {
    if (word === '--') break
    if (word === `--${name}` || word === `-${char}`) value = argv[i + 1]
    else if (word.startsWith(`--${name}=`)) value = word.slice(name.length + 3)
    else if (word.startsWith(`-${char}`)) value = word.slice(word[2] === '=' ? 3 : 2)
  }
  return value
}

/** The first word that is no flag and no flag's value, and where it stands: the name of the command. */
export function commandWord(argv: readonly string[], flags: FlagShapes): { word: string; at: number } | undefined {
  for (let at = 0; at < argv.length; at++) {
    const word = argv[at] as string
    if (word === '--') return
    if (!word.startsWith('-') || word === '-') return { word, at }
    if (word.includes('=')) continue
    const name = word.startsWith('--')
      ? word.slice(2)
      : Object.keys(flags).find((key) => flags[key]?.char === word[1] && word.length === 2)
    if (name !== undefined && flags[name]?.type === 'option') at++
  }
  return
}
