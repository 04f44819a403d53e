import type { ExitCode } from './exit-codes.js'

/** How a table may look; given to views, so that they ask no terminal. */
export interface Style {
  width: number
  color: boolean
  wide: boolean
}

/** What a command found, in every form it can be asked for. The one who prints it chooses. */
export interface CommandResult {
  exitCode: ExitCode
  /** `-o json` and `-o yaml`: one whole document, warnings included. */
  document: object
  /** `-o table` and `-o wide`. */
  table(style: Style): string | Promise<string>
  /** `-o name`: one `kind/…` a line. */
  names(): string[]
  /** Told on stderr unless the document, which has them, is printed. */
  warnings: readonly string[]
}
