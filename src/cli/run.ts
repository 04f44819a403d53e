import { Config } from '@oclif/core/config'
import pkg from '../../package.json' with { type: 'json' }
import { didYouMean } from '../cluster/closest.js'
import { neutralise } from '../present/text.js'
import { commandWord, type FlagShapes, normalizeArgv, peekFlag } from './argv.js'
import type { CommandContext } from './base-command.js'
import { CancelledError, errorDocument, UsageError } from './errors.js'
import { EXIT, type ExitCode } from './exit-codes.js'
import { OUTPUTS, type OutputFormat, sharedFlags } from './flags.js'
import { printError, printResult, type Streams, styleFor } from './output.js'
import type { CommandResult } from './result.js'

/** What is used of a command class. */
export interface CommandClass {
  id: string
  flags: FlagShapes
  baseFlags?: FlagShapes
  /** Flags of kubectl's that are no flags here, and what to say to whoever gives them. */
  flagHints?: Readonly<Record<string, string>>
  new (argv: string[], config: Config, context: CommandContext): { start(): Promise<CommandResult> }
}

/** Command name to a loader of its class, so that only the command that runs is loaded. */
export type CommandLoaders = Record<string, () => Promise<CommandClass>>

export interface RunOptions {
  argv: readonly string[]
  /** Folder of package.json and oclif.manifest.json. */
  root: string
  commands: CommandLoaders
  streams: Streams
  /** Aborted by Ctrl-C. */
  signal: AbortSignal
  /** Runs work that only computes, so that Ctrl-C can end it: see CommandContext. */
  compute?: <T>(work: () => T) => T
}

/** From this `-v` on, an unforeseen error comes with its trace. */
const TRACE_LEVEL = 9

/** Runs one command line to its end and says how the process should exit. Never throws. */
export async function run(options: RunOptions): Promise<ExitCode> {
  const { argv, streams, signal } = options
  try {
    const result = await Promise.race([dispatch(options), cancelled(signal)])
    if (result === undefined) return EXIT.ok
    const format = outputFormat(argv)
    await printResult(result, format, styleFor(streams, format, noColor(argv)), streams)
    return result.exitCode
  } catch (error) {
    return tellError(error, argv, streams)
  }
}

/** Tells why there is no result, in the form that the command line asks for. */
export async function tellError(error: unknown, argv: readonly string[], streams: Streams): Promise<ExitCode> {
  const document = errorDocument(error)
  const trace = verbosityOf(argv) >= TRACE_LEVEL && error instanceof Error ? (error.stack ?? '') : ''
  await printError(document, outputFormat(argv), trace, streams)
  return document.code
}

/** The result of the command; undefined when it was help that was asked for, which is printed already. */
async function dispatch(options: RunOptions): Promise<CommandResult | undefined> {
  const { argv, root, commands, streams } = options
  const command = commandWord(argv, sharedFlags)
  if (command === undefined || command.word === 'help' || asksHelp(argv)) {
    const topic = command?.word === 'help' ? commandWord(argv.slice(command.at + 1), sharedFlags) : command
    if (topic !== undefined && !Object.hasOwn(commands, topic.word)) throw unknownCommand(topic.word, commands)
    if (topic === undefined && command === undefined) normalizeArgv(argv, sharedFlags)
    await printHelp(root, topic?.word, streams)
    return
  }
  const load = Object.hasOwn(commands, command.word) ? commands[command.word] : undefined
  if (load === undefined) throw unknownCommand(command.word, commands)

  const Class = await load()
  Class.id = command.word
  const words = [...argv.slice(0, command.at), ...argv.slice(command.at + 1)]
  const normal = normalizeArgv(words, { ...Class.baseFlags, ...Class.flags }, Class.flagHints)
  return new Class(normal, await loadConfig(root), context(options)).start()
}

function context({ argv, streams, signal, compute }: RunOptions): CommandContext {
  const verbosity = verbosityOf(argv)
  return {
    env: streams.env,
    stdin: streams.stdin,
    signal,
    compute: compute ?? ((work) => work()),
    debug: (level, line) => {
      if (level <= verbosity) streams.stderr.write(`${neutralise(line)}\n`)
    },
  }
}

async function printHelp(root: string, topic: string | undefined, streams: Streams): Promise<void> {
  const { helpFor } = await import('./help.js')
  const text = await helpFor(await loadConfig(root), topic)
  await new Promise<void>((resolve) => streams.stdout.write(text, () => resolve()))
}

function loadConfig(root: string): Promise<Config> {
  // package.json is in the bundle: one file less to find and read. oclif's own type of it wants what it fills in by itself.
  return Config.load({ root, pjson: pkg as never })
}

/** Commands that this tool's own advice names before they are there, and what to do until then. */
const comingCommands: Readonly<Record<string, string>> = {
  relocate: 'docs/move-a-claim.md in the package tells how to move a claim by hand',
}

function unknownCommand(word: string, commands: CommandLoaders): UsageError {
  const until = Object.hasOwn(comingCommands, word) ? comingCommands[word] : undefined
  if (until !== undefined) return new UsageError(`${word} is not in version ${pkg.version} yet`, [until])
  const near = didYouMean(word, Object.keys(commands))
  const list = near.length > 0 ? near : Object.keys(commands).sort()
  return new UsageError(
    `unknown command: ${word}`,
    near.length > 0
      ? near.map((name) => `did you mean kubectl storage ${name}?`)
      : [`commands: ${list.join(', ')}; kubectl storage --help tells more`],
  )
}

function asksHelp(argv: readonly string[]): boolean {
  const end = argv.indexOf('--')
  return (end === -1 ? argv : argv.slice(0, end)).some((word) => word === '--help' || word === '-h')
}

function outputFormat(argv: readonly string[]): OutputFormat {
  const asked = peekFlag(argv, 'output', 'o')
  return OUTPUTS.find((format) => format === asked) ?? 'table'
}

function noColor(argv: readonly string[]): boolean {
  return argv.includes('--no-color')
}

function verbosityOf(argv: readonly string[]): number {
  return Number(peekFlag(argv, 'v', 'v') ?? 0)
}

function cancelled(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const cancel = () => reject(new CancelledError('cancelled'))
    if (signal.aborted) cancel()
    else signal.addEventListener('abort', cancel, { once: true })
  })
}
