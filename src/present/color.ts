/** Colours by meaning. Whether to colour at all (a terminal, NO_COLOR, --no-color) is decided by the caller. */

export type Style = 'bold' | 'red' | 'yellow' | 'green' | 'dim'

const CODES: Record<Style, readonly [number, number]> = {
  bold: [1, 22],
  red: [31, 39],
  yellow: [33, 39],
  green: [32, 39],
  dim: [2, 22],
}

export type Paint = (text: string, ...styles: Style[]) => string

/** Text goes in after it was laid out and neutralised: the codes have no width. */
export function painter(color: boolean): Paint {
  if (!color) return (text) => text
  return (text, ...styles) =>
    text === ''
      ? text
      : styles.reduce((painted, style) => `\u001b[${CODES[style][0]}m${painted}\u001b[${CODES[style][1]}m`, text)
}
