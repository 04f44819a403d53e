import { InputError, ServerError } from '../cluster/errors.js'
import { EXIT, type ExitCode } from './exit-codes.js'

/** An end that was foreseen: it is told in one sentence, never with a stack trace. */
export abstract class ExpectedError extends Error {
  abstract readonly exitCode: ExitCode
  readonly suggestions: readonly string[]

  constructor(message: string, suggestions: readonly string[] = [], options?: { cause?: unknown }) {
    super(message, options)
    this.name = new.target.name
    this.suggestions = suggestions
  }
}

/** The command line can't be carried out as it was typed. */
export class UsageError extends ExpectedError {
  readonly exitCode = EXIT.usage
}

/** The result is there but can't be written: no bug of ours, and there is no better code for it. */
export class OutputError extends ExpectedError {
  readonly exitCode = EXIT.bug

  constructor(cause: Error) {
    super(`the result could not be written: ${cause.message}`, [], { cause })
  }
}

export class CancelledError extends ExpectedError {
  readonly exitCode = EXIT.cancelled
}

/** The `-o json` form of an error. Nothing else of the error is printed: it may carry headers, paths or tokens. */
export interface ErrorDocument {
  apiVersion: 'kubectl-storage/v1'
  kind: 'Error'
  code: ExitCode
  message: string
  suggestions: string[]
}

export const BUG_MESSAGE = 'this is a bug in kubectl-storage, not in your cluster'

/** Every error that can reach the top, by class and never by the words of its message. */
export function errorDocument(error: unknown): ErrorDocument {
  const document = (code: ExitCode, message: string, suggestions: readonly string[]): ErrorDocument => ({
    apiVersion: 'kubectl-storage/v1',
    kind: 'Error',
    code,
    message,
    suggestions: [...suggestions],
  })
  if (error instanceof ExpectedError) return document(error.exitCode, error.message, error.suggestions)
  if (error instanceof InputError) return document(EXIT.usage, error.message, error.suggestions)
  if (error instanceof ServerError) return document(EXIT.unreachable, error.message, error.suggestions)
  const words = error instanceof Error ? `${error.name}: ${error.message}` : String(error)
  return document(EXIT.bug, `${BUG_MESSAGE} (${words})`, [
    'run the same command again with -v 9 to see where it happened, and report that',
  ])
}
