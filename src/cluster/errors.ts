/**
 * Errors of this layer. The CLI maps them to exit codes by class; they know nothing of exit codes themselves.
 * `suggestions` are sentences or commands that a user can act on, best first; they may be empty.
 */
export abstract class ClusterError extends Error {
  readonly suggestions: string[]

  constructor(message: string, suggestions: string[] = [], options?: { cause?: unknown }) {
    super(message, options)
    this.name = new.target.name
    this.suggestions = suggestions
  }
}

/** What the user gave can't be used: a file that is no dump, an unknown context, a selector that does not parse. */
export class InputError extends ClusterError {}

/** The server can't be reached, refuses the credentials, or does not let us read what nothing can be judged without. */
export class ServerError extends ClusterError {}

/** No answer came, to this request at least. */
export class NoAnswerError extends ServerError {}

/** The server answered and does not do it. */
export class RefusedError extends ServerError {
  constructor(
    message: string,
    /** HTTP status: 403 a missing right or an admission rule, 404, 409, 422 an object that is not valid, … */
    readonly status: number,
    /** The server's own words, with nothing around them. */
    readonly words: string,
    suggestions: string[] = [],
  ) {
    super(message, suggestions)
  }
}
