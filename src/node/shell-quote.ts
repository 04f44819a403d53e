/** The word as a POSIX shell reads it back unchanged; plain words stay as they are. The only place that quotes for a shell. */
export function shellQuote(word: string): string {
  return /^[A-Za-z0-9_@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
}

/** A command line to paste. */
export function shellCommand(words: readonly string[]): string {
  return words.map(shellQuote).join(' ')
}
