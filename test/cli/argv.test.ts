import { describe, expect, it } from 'vitest'
import { commandWord, type FlagShapes, normalizeArgv, peekFlag } from '../../src/cli/argv.js'
import { UsageError } from '../../src/cli/errors.js'

const FLAGS: FlagShapes = {
  'all-namespaces': { type: 'boolean', char: 'A' },
  accept: { type: 'option', multiple: true },
  namespace: { type: 'option', char: 'n' },
  output: { type: 'option', char: 'o', options: ['table', 'json'] },
  v: { type: 'option', char: 'v' },
}

describe('normalizeArgv', () => {
  it.each<[string, string[], string[]]>([
    ['separate value', ['-n', 'demo', 'a'], ['--namespace=demo', '--', 'a']],
    ['value in the word', ['-ndemo'], ['--namespace=demo', '--']],
    ['short with =', ['-n=demo'], ['--namespace=demo', '--']],
    ['long with =', ['--namespace=a=b'], ['--namespace=a=b', '--']],
    ['an empty value', ['--namespace='], ['--namespace=', '--']],
    ['the last of two wins', ['-n', 'a', '--namespace', 'b'], ['--namespace=b', '--']],
    ['repeatable', ['--accept', 'a', '--accept=b'], ['--accept=a', '--accept=b', '--']],
    ['a switch', ['-A'], ['--all-namespaces', '--']],
    ['a switch turned on', ['-A=true'], ['--all-namespaces', '--']],
    ['a switch turned off', ['--all-namespaces=false'], ['--']],
    ['turned off after on', ['-A', '-A=0'], ['--']],
    ['combined', ['-Aojson'], ['--all-namespaces', '--output=json', '--']],
    ['combined, value apart', ['-An', 'demo'], ['--all-namespaces', '--namespace=demo', '--']],
    ['a level', ['-v9'], ['--v=9', '--']],
    ['a value that looks like a flag', ['-n', '-A'], ['--namespace=-A', '--']],
    ['a dash is a word', ['-'], ['--', '-']],
    ['what follows -- is no flag', ['a', '--', '-A', '--x'], ['--', 'a', '-A', '--x']],
    ['arguments between flags keep their order', ['b', '-A', 'a'], ['--all-namespaces', '--', 'b', 'a']],
  ])('%s', (_, argv, expected) => {
    expect(normalizeArgv(argv, FLAGS)).toEqual(expected)
  })

  it.each<[string, string[], string, string[]]>([
    ['unknown', ['--nope'], 'unknown flag: --nope', []],
    ['misspelled', ['--namepsace', 'x'], 'unknown flag: --namepsace', ['did you mean --namespace?']],
    ['one dash too few', ['-utput', 'x'], 'unknown flag: -utput', ['did you mean --output?']],
    ['unknown short', ['-x'], 'unknown flag: -x', []],
    ['unknown short among others', ['-Ax'], 'unknown flag: -x in -Ax', []],
    ['no value', ['--namespace'], 'flag needs a value: --namespace', []],
    ['no value, short', ['-An'], 'flag needs a value: -n', []],
    ['not one of the values', ['-oxml'], 'invalid value "xml" for -o: it takes table, json', []],
    ['a switch takes no word', ['-A=maybe'], 'invalid value "maybe" for -A: it takes true or false', []],
    ['names of every object are no flags', ['--constructor'], 'unknown flag: --constructor', []],
  ])('refuses: %s', (_, argv, message, suggestions) => {
    const act = () => normalizeArgv(argv, FLAGS)
    expect(act).toThrow(UsageError)
    expect(act).toThrow(message)
    try {
      act()
    } catch (error) {
      expect((error as UsageError).suggestions).toEqual(suggestions)
    }
  })
})

it('says more of a flag that is missing on purpose', () => {
  const act = () => normalizeArgv(['--force'], FLAGS, { force: 'it is not needed' })
  expect(act).toThrow(new UsageError('unknown flag: --force', ['it is not needed']))
})

describe('peekFlag', () => {
  it.each<[string[], string | undefined]>([
    [['--output', 'json'], 'json'],
    [['--output=json'], 'json'],
    [['-o', 'json'], 'json'],
    [['-ojson'], 'json'],
    [['-o=json'], 'json'],
    [['-o', 'json', '-o', 'name'], 'name'],
    [['--', '-o', 'json'], undefined],
    [['-o'], undefined],
    [['a'], undefined],
  ])('%j', (argv, expected) => {
    expect(peekFlag(argv, 'output', 'o')).toBe(expected)
  })
})

describe('commandWord', () => {
  it.each<[string[], { word: string; at: number } | undefined]>([
    [['x'], { word: 'x', at: 0 }],
    [['-A', 'x'], { word: 'x', at: 1 }],
    [['-n', 'demo', 'x'], { word: 'x', at: 2 }],
    [['--namespace', 'demo', 'x'], { word: 'x', at: 2 }],
    [['--namespace=demo', 'x'], { word: 'x', at: 1 }],
    [['-ndemo', 'x'], { word: 'x', at: 1 }],
    [['--', 'x'], undefined],
    [['-A'], undefined],
  ])('%j', (argv, expected) => {
    expect(commandWord(argv, FLAGS)).toEqual(expected)
  })
})
