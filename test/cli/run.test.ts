import { Readable, Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import * as Flags from '@oclif/core/flags'
import { load as parseYaml } from 'js-yaml'
import { describe, expect, it } from 'vitest'
import { BaseCommand } from '../../src/cli/base-command.js'
import { BUG_MESSAGE, CancelledError, UsageError } from '../../src/cli/errors.js'
import { EXIT, type ExitCode } from '../../src/cli/exit-codes.js'
import type { CommandResult } from '../../src/cli/result.js'
import { type CommandLoaders, run } from '../../src/cli/run.js'
import { InputError, ServerError } from '../../src/cluster/errors.js'

const root = fileURLToPath(new URL('../..', import.meta.url))

class Sink extends Writable {
  text = ''
  override _write(chunk: Buffer, _: BufferEncoding, done: () => void): void {
    this.text += chunk.toString()
    done()
  }
}

/** A command whose body the test writes. */
function loaders(body: () => CommandResult | Promise<CommandResult>): CommandLoaders {
  class Probe extends BaseCommand {
    static override readonly flags = { level: Flags.integer({ min: 1 }) }
    override async run(): Promise<CommandResult> {
      await this.parse(Probe)
      return body()
    }
  }
  return { probe: async () => Probe }
}

async function runWith(
  argv: string[],
  body: () => CommandResult | Promise<CommandResult> = () => result(EXIT.ok),
  signal = new AbortController().signal,
): Promise<{ code: ExitCode; stdout: string; stderr: string }> {
  const stdout = new Sink()
  const stderr = new Sink()
  const code = await run({
    argv,
    root,
    commands: loaders(body),
    streams: { stdout, stderr, stdin: Readable.from([]), env: {} },
    signal,
  })
  return { code, stdout: stdout.text, stderr: stderr.text }
}

function result(exitCode: ExitCode, more: Partial<CommandResult> = {}): CommandResult {
  return {
    exitCode,
    document: { kind: 'Probe', warnings: more.warnings ?? [] },
    table: () => 'a table',
    names: () => ['pod/a/b'],
    warnings: [],
    ...more,
  }
}

const FORMS = [[], ['-o', 'json'], ['-o', 'yaml'], ['-o', 'name'], ['-o', 'wide']]

describe('exit codes', () => {
  describe.each(FORMS.map((form) => [form.join(' ') || 'plain', form] as const))('%s', (_, form) => {
    it.each(Object.entries(EXIT))('a result of %s ends with %d', async (_, code) => {
      expect((await runWith(['probe', ...form], () => result(code))).code).toBe(code)
    })

    it.each<[string, Error, ExitCode]>([
      ['a wrong command line', new UsageError('no'), EXIT.usage],
      ['unusable input', new InputError('no'), EXIT.usage],
      ['an unreachable server', new ServerError('no'), EXIT.unreachable],
      ['Ctrl-C', new CancelledError('no'), EXIT.cancelled],
      ['a bug', new TypeError('no'), EXIT.bug],
    ])('%s', async (_, error, code) => {
      const ended = await runWith(['probe', ...form], () => {
        throw error
      })
      expect(ended.code).toBe(code)
      const document = form[1] === 'json' || form[1] === 'yaml'
      expect(document ? ended.stderr : ended.stdout).toBe('')
    })

    it.each<[string, string[]]>([
      ['unknown flag', ['probe', '--nope']],
      ['missing value', ['probe', ...form, '-n']],
      ['value of the wrong kind', ['probe', '--level', 'x']],
      ['value out of range', ['probe', '--level', '0']],
      ['an argument too many', ['probe', 'x']],
      ['unknown command', ['prove']],
      ['unknown command in help', ['help', 'prove']],
      ['unknown flag and no command', ['--nope']],
    ])('%s is a usage error', async (_, argv) => {
      const missing = argv.at(-1) === '-n'
      expect((await runWith(missing ? argv : [...form, ...argv])).code).toBe(EXIT.usage)
    })
  })

  it('ends with 130 when it is cancelled, whatever the command still does', async () => {
    const cancel = new AbortController()
    setTimeout(() => cancel.abort(), 10)
    const ended = await runWith(['probe', '-o', 'json'], () => new Promise(() => {}), cancel.signal)
    expect(ended.code).toBe(EXIT.cancelled)
    expect(JSON.parse(ended.stdout)).toMatchObject({ kind: 'Error', code: 130 })
  })

  it('tells an unknown output format in plain words', async () => {
    const ended = await runWith(['probe', '-o', 'xml'])
    expect(ended).toMatchObject({ code: EXIT.usage, stdout: '' })
    expect(ended.stderr).toBe('Error: invalid value "xml" for -o: it takes table, wide, json, yaml, name\n')
  })
})

describe('errors', () => {
  it('are one document with -o json, and nothing else of the error is in it', async () => {
    const error = Object.assign(new UsageError('not that', ['but this']), {
      headers: { Authorization: 'Bearer secret' },
    })
    const ended = await runWith(['probe', '-o', 'json'], () => {
      throw error
    })
    expect(JSON.parse(ended.stdout)).toEqual({
      apiVersion: 'kubectl-storage/v1',
      kind: 'Error',
      code: 2,
      message: 'not that',
      suggestions: ['but this'],
    })
  })

  it('are the same document with -o yaml', async () => {
    const ended = await runWith(['-oyaml', 'prove'])
    expect(parseYaml(ended.stdout)).toMatchObject({ kind: 'Error', code: 2, message: 'unknown command: prove' })
  })

  it('name what may have been meant', async () => {
    const { stderr } = await runWith(['prove'])
    expect(stderr).toBe('Error: unknown command: prove\n  did you mean kubectl storage probe?\n')
  })

  it('of a command that the advice names but that is not there yet say what to do until then', async () => {
    const { code, stderr } = await runWith(['relocate', 'pvc', 'cache'])
    expect([code, stderr]).toEqual([
      2,
      expect.stringMatching(/^Error: relocate is not in version [\d.]+ yet\n {2}docs\/move-a-claim.md/),
    ])
  })

  const bug = () => {
    throw new TypeError('x is not y')
  }
  it('of ours are short, and say how to get the trace', async () => {
    const { stderr } = await runWith(['probe'], bug)
    expect(stderr).toContain(BUG_MESSAGE)
    expect(stderr).toContain('-v 9')
    expect(stderr).not.toContain('    at ')
  })
  it('of ours show the trace with -v 9, on stderr also with -o json', async () => {
    const ended = await runWith(['probe', '-v9', '-o', 'json'], bug)
    expect(ended.stderr).toContain('    at ')
    expect(JSON.parse(ended.stdout)).toMatchObject({ code: 1 })
  })

  it('can not send escape sequences to the terminal', async () => {
    const { stderr } = await runWith(['probe'], () => {
      throw new InputError('node \u001b[2J\u009b31m\rx')
    })
    expect(stderr).not.toMatch(/[\u001b\u009b\r]/)
  })
})

describe('results', () => {
  it.each<[string[], string]>([
    [[], 'a table\n'],
    [['-o', 'wide'], 'a table\n'],
    [['-o', 'name'], 'pod/a/b\n'],
    [['-o', 'json'], '{\n  "kind": "Probe",\n  "warnings": []\n}\n'],
    [['-o', 'yaml'], 'kind: Probe\nwarnings: []\n'],
  ])('%j', async (form, expected) => {
    expect(await runWith(['probe', ...form])).toEqual({ code: 0, stdout: expected, stderr: '' })
  })

  it('tell warnings on stderr, or in the document', async () => {
    const body = () => result(EXIT.ok, { warnings: ['no budgets'] })
    expect(await runWith(['probe'], body)).toMatchObject({ stdout: 'a table\n', stderr: 'Warning: no budgets\n' })
    const json = await runWith(['probe', '-o', 'json'], body)
    expect(json.stderr).toBe('')
    expect(JSON.parse(json.stdout)).toMatchObject({ warnings: ['no budgets'] })
  })

  it('print nothing for no names', async () => {
    expect((await runWith(['probe', '-o', 'name'], () => result(EXIT.ok, { names: () => [] }))).stdout).toBe('')
  })

  it('keep control characters of the cluster escaped in JSON and YAML', async () => {
    const body = () => result(EXIT.ok, { document: { name: 'a\u001b[2J\u009bb\u202ec' } })
    const readers: [string, (text: string) => unknown][] = [
      ['json', JSON.parse],
      ['yaml', parseYaml],
    ]
    for (const [form, parse] of readers) {
      const { stdout } = await runWith(['probe', '-o', form], body)
      expect(stdout).not.toMatch(/[\u001b\u009b\u202e]/)
      expect(parse(stdout)).toEqual({ name: 'a\u001b[2J\u009bb\u202ec' })
    }
  })
})

describe('help', () => {
  it.each<{ argv: string[] }>([
    { argv: [] },
    { argv: ['--help'] },
    { argv: ['-h'] },
    { argv: ['help'] },
    { argv: ['help', '-A'] },
  ])('$argv prints the commands, as kubectl storage', async ({ argv }) => {
    const ended = await runWith(argv)
    expect(ended.code).toBe(0)
    expect(ended.stdout).toContain('$ kubectl storage [COMMAND]')
    expect(ended.stdout).toContain('drain-check')
    expect(ended.stdout).not.toContain('kubectl-storage drain-check')
  })

  it('is not asked for by what follows --', async () => {
    expect((await runWith(['probe', '--', '--help'])).code).toBe(EXIT.usage)
  })
})
