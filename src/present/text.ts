/**
 * Text that came from a cluster, made fit for a terminal: nothing in it can move the cursor, colour, hide or reorder what is
 * printed, and its width in terminal cells is known. Every function here that lays text out also neutralises it, so that a view
 * can't forget to.
 */

/**
 * Control characters (C0, DEL, C1), format characters (bidi overrides and isolates, zero-width), everything that Unicode lets a
 * renderer ignore (variation selectors, fillers, tags), line and paragraph separators, lone surrogates.
 */
const UNSAFE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu
const PLAIN = /^[\x20-\x7e]*$/

/** The text with each unsafe character as a visible escape: `\u001b`, or `\u{e0041}` above the basic plane. */
export function neutralise(text: string): string {
  if (PLAIN.test(text)) return text
  return text.replace(UNSAFE, (char) => {
    const hex = (char.codePointAt(0) ?? 0).toString(16)
    return hex.length > 4 ? `\\u{${hex}}` : `\\u${hex.padStart(4, '0')}`
  })
}

/** First and last code point of the ranges that take two cells (East Asian Wide and Fullwidth, without the emoji: see below). */
const WIDE: readonly (readonly [number, number])[] = [
  [0x1100, 0x115f],
  [0x2329, 0x232a],
  [0x2e80, 0x303e],
  [0x3041, 0xa4cf],
  [0xa960, 0xa97f],
  [0xac00, 0xd7a3],
  [0xf900, 0xfaff],
  [0xfe10, 0xfe19],
  [0xfe30, 0xfe6f],
  [0xff01, 0xff60],
  [0xffe0, 0xffe6],
  [0x16fe0, 0x18dff],
  [0x1b000, 0x1b2ff],
  [0x1f200, 0x1f2ff],
  [0x20000, 0x3fffd],
]
const EMOJI = /^\p{Emoji_Presentation}$/u
const ZERO = /^[\p{Mn}\p{Me}\u1160-\u11ff]$/u

function charWidth(char: string): number {
  const code = char.codePointAt(0) ?? 0
  if (code < 0x300) return 1
  if (ZERO.test(char)) return 0
  if (WIDE.some(([first, last]) => code >= first && code <= last)) return 2
  return EMOJI.test(char) ? 2 : 1
}

/** How many terminal cells the neutralised text takes. */
export function displayWidth(text: string): number {
  if (PLAIN.test(text)) return text.length
  let width = 0
  for (const char of neutralise(text)) width += charWidth(char)
  return width
}

/** The longest beginning that fits into so many cells. */
function takeWidth(text: string, width: number): string {
  let used = 0
  let end = 0
  for (const char of text) {
    used += charWidth(char)
    if (used > width) break
    end += char.length
  }
  return text.slice(0, end)
}

/**
 * Where a word that is longer than a line is broken. A name that can be kept whole on the next line is (`NS/` above `NAME`), so
 * that it can be copied; else the break is after the last `-`, `/`, `.`, `,`, `:`, `=` or `_` that fits, else where the line ends.
 */
function breakWord(word: string, width: number, nextWidth: number): [string, string] {
  const head = takeWidth(word, width)
  const slash = head.lastIndexOf('/') + 1
  if (slash > 0 && slash < word.length && displayWidth(word.slice(slash)) <= nextWidth)
    return [word.slice(0, slash), word.slice(slash)]
  for (let end = head.length; end > 1; end--) {
    if ('-/.,:=_'.includes(head.charAt(end - 1))) return [word.slice(0, end), word.slice(end)]
  }
  // One character at least, or a two-cell character in a one-cell column would never end.
  const end = head.length > 0 ? head.length : (word.match(/^./su)?.[0].length ?? 1)
  return [word.slice(0, end), word.slice(end)]
}

/**
 * Lines of at most `width` cells, broken between words, and inside a word only when it is longer than a line.
 * `hang` is the indent of the second and later lines.
 */
export function wrap(text: string, width: number, hang = 0): string[] {
  const max = Math.max(1, width)
  const indent = ' '.repeat(hang < max - 1 ? hang : 0)
  const lines: string[] = []
  let line = ''
  let used = 0
  const newLine = () => {
    lines.push(line)
    line = indent
    used = indent.length
  }
  for (const whole of neutralise(text).split(' ')) {
    if (whole === '') continue
    let word = whole
    const start = lines.length > 0 ? indent.length : 0
    if (used > start) {
      if (used + 1 + displayWidth(word) <= max) {
        line += ` ${word}`
        used += 1 + displayWidth(word)
        continue
      }
      newLine()
    }
    while (used + displayWidth(word) > max) {
      const [head, rest] = breakWord(word, max - used, max - indent.length)
      line += head
      newLine()
      word = rest
    }
    line += word
    used += displayWidth(word)
  }
  lines.push(line)
  return lines
}
