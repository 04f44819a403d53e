import type { Readable } from 'node:stream'
import { neutralise } from '../present/text.js'
import { type ErrorDocument, OutputError } from './errors.js'
import type { OutputFormat } from './flags.js'
import type { CommandResult, Style } from './result.js'

/** The process as the command-line layer sees it; tests give their own. */
export interface Streams {
  stdout: NodeJS.WritableStream & { isTTY?: boolean; columns?: number }
  stderr: NodeJS.WritableStream
  stdin: Readable & { isTTY?: boolean }
  env: NodeJS.ProcessEnv
}

/** Where no terminal says how wide it is: a log or a file, read on a screen later. */
const DEFAULT_WIDTH = 100

export function styleFor(streams: Streams, format: OutputFormat, noColor: boolean): Style {
  const { stdout, env } = streams
  return {
    width: stdout.isTTY && stdout.columns ? stdout.columns : DEFAULT_WIDTH,
    // https://no-color.org: set and not empty, whatever the value.
    color: Boolean(stdout.isTTY) && !noColor && !env.NO_COLOR && env.TERM !== 'dumb',
    wide: format === 'wide',
  }
}

export async function printResult(
  result: CommandResult,
  format: OutputFormat,
  style: Style,
  to: Streams,
): Promise<void> {
  if (format === 'json' || format === 'yaml') {
    await write(to.stdout, await serialize(result.document, format))
    return
  }
  for (const warning of result.warnings) await tell(to.stderr, `Warning: ${printable(warning)}\n`)
  const text = format === 'name' ? result.names().join('\n') : await result.table(style)
  if (text !== '') await write(to.stdout, text.endsWith('\n') ? text : `${text}\n`)
}

export async function printError(
  error: ErrorDocument,
  format: OutputFormat,
  trace: string,
  to: Streams,
): Promise<void> {
  if (format === 'json' || format === 'yaml') await write(to.stdout, await serialize(error, format))
  else {
    const lines = [`Error: ${error.message}`, ...error.suggestions.map((suggestion) => `  ${suggestion}`)]
    await tell(to.stderr, `${lines.map(printable).join('\n')}\n`)
  }
  if (trace !== '') await tell(to.stderr, `${printable(trace)}\n`)
}

/** As `neutralise` has it, but the line breaks and the indentation of the document are its own. */
const UNSAFE = /[^\P{Cc}\n]|[\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu

async function serialize(document: object, format: 'json' | 'yaml'): Promise<string> {
  const json = JSON.stringify(document, null, 2)
  // JSON and YAML are read on terminals too. Both have escapes that a reader of the document turns back.
  if (format === 'json') return `${json.replace(UNSAFE, (char) => utf16Escapes(char))}\n`
  const { dump } = await import('js-yaml')
  // Through JSON, so that both forms hold the same: what JSON drops (undefined) is dropped here too.
  const value: unknown = JSON.parse(json)
  const yaml = dump(value, { lineWidth: -1, noRefs: true })
  if (yaml.search(UNSAFE) === -1) return yaml
  // Only double quotes have escapes.
  return dump(value, { lineWidth: -1, noRefs: true, quotingType: '"', forceQuotes: true }).replace(UNSAFE, (char) => {
    return `\\U${(char.codePointAt(0) ?? 0).toString(16).padStart(8, '0')}`
  })
}

function utf16Escapes(char: string): string {
  return Array.from({ length: char.length }, (_, i) => `\\u${char.charCodeAt(i).toString(16).padStart(4, '0')}`).join(
    '',
  )
}

function printable(text: string): string {
  return text.split('\n').map(neutralise).join('\n')
}

/**
 * Ends when the stream has taken the text, or when its reader is gone (`| head`), which is no error of ours.
 * @throws {OutputError} the result can't be written: a full disk, say
 */
function write(stream: NodeJS.WritableStream, text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const done = (error?: unknown) => {
      if (!(error instanceof Error) || (error as NodeJS.ErrnoException).code === 'EPIPE') resolve()
      else reject(new OutputError(error))
    }
    // oclif's command class listens too, and throws the error again, where nobody catches it.
    stream.removeAllListeners('error').on('error', () => {})
    stream.write(text, done)
  })
}

/** What stderr does not take can't be told anywhere; the exit code still says how it went. */
async function tell(stream: NodeJS.WritableStream, text: string): Promise<void> {
  await write(stream, text).catch(() => {})
}
