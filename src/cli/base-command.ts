import { Command } from '@oclif/core/command'
import { sharedFlags } from './flags.js'
import type { CommandResult } from './result.js'

/**
 * What every command is to the runner (run.ts): flags in, result out. A command neither prints nor exits; so there is one place
 * that knows output forms and exit codes, and oclif's own ways of ending (which give other codes under JSON) are never reached.
 */
export abstract class BaseCommand extends Command {
  static override readonly baseFlags = sharedFlags

  abstract override run(): Promise<CommandResult>

  /** oclif would print here, and set the exit code by another rule. */
  protected override async catch(error: Error): Promise<never> {
    throw error
  }
}
