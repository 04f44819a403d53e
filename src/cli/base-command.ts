import type { Readable } from 'node:stream'
import { Command } from '@oclif/core/command'
import type { Config } from '@oclif/core/config'
import { CLIError } from '@oclif/core/errors'
import type { Input, OutputArgs, OutputFlags, ParserOutput } from '@oclif/core/interfaces'
import { UsageError } from './errors.js'
import { sharedFlags } from './flags.js'
import type { CommandResult } from './result.js'

/** What a command has of the process it runs in. */
export interface CommandContext {
  env: NodeJS.ProcessEnv
  stdin: Readable & { isTTY?: boolean }
  /** Aborted when the user cancels. */
  signal: AbortSignal
  /** For work that only computes, maybe for long: while it runs nobody could hear the signal, so Ctrl-C ends the process. */
  compute<T>(work: () => T): T
  /** For `-v`: told on stderr when the level asked for is high enough. */
  debug(level: number, line: string): void
}

/**
 * What every command is to the runner (run.ts): flags in, result out. A command neither prints nor exits; so there is one place
 * that knows output forms and exit codes, and oclif's own ways of ending (which give other codes under JSON) are never reached.
 */
export abstract class BaseCommand extends Command {
  static override readonly baseFlags = sharedFlags

  constructor(
    argv: string[],
    config: Config,
    protected readonly context: CommandContext,
  ) {
    super(argv, config)
  }

  abstract override run(): Promise<CommandResult>

  /** From the flags to the result; oclif's way in, which its own start would call. */
  async start(): Promise<CommandResult> {
    return (await this._run()) as CommandResult
  }

  /** What oclif's parser refuses is a mistake in the command line, told in one line and without its "See more help". */
  protected override async parse<F extends OutputFlags<F>, B extends OutputFlags<B>, A extends OutputArgs<A>>(
    options?: Input<F, B, A>,
    argv?: string[],
  ): Promise<ParserOutput<F, B, A>> {
    try {
      return await super.parse(options, argv)
    } catch (error) {
      if (!(error instanceof CLIError)) throw error
      throw new UsageError(error.message.replace(/\s*See more help with --help$/, '').replace(/\s+/g, ' '))
    }
  }

  /** oclif would print here, and set the exit code by another rule. */
  protected override async catch(error: Error): Promise<never> {
    throw error
  }
}
