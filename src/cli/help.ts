import type { Config } from '@oclif/core/config'
import { Help } from '@oclif/core/help'

/** Collects what oclif's help would print by itself. */
class TextHelp extends Help {
  text = ''

  override log(...lines: string[]): void {
    this.text += `${lines.join('\n')}\n`
  }
}

/** Help of one command, or of the whole plugin, from the manifest: no command is loaded for it. */
export async function helpFor(config: Config, command: string | undefined): Promise<string> {
  const help = new TextHelp(config, { ...config.pjson.oclif.helpOptions, stripAnsi: true })
  await help.showHelp(command === undefined ? [] : [command])
  return `${help.text.trimEnd()}\n`
}
