import { painter, type Style } from './color.js'
import { displayWidth, neutralise, wrap } from './text.js'

export interface Column {
  header: string
  /** The least width at which the column can still be read; below it there is no table. */
  min: number
  /** A name is broken after its `/` only, so that it can be copied; prose is broken between words, and gives first. */
  content: 'name' | 'prose'
  /** In {@link records}: `title` stands in the first line, `body` below, after its `label` if it has one. */
  stacked: 'title' | 'body'
  label?: string
  /** Indent of a line that goes on from the one above, so that it isn't taken for a new entry. */
  hang?: number
}

export interface Cell {
  /** Each begins on a line of its own. */
  lines: string[]
  /** Lines below, indented and dim: what would be a column if there were room. */
  sub?: string[]
  style?: Style
}

export interface TableOptions {
  width: number
  color: boolean
  /** Columns left of the table. */
  indent?: number
  /** Names may be broken after a `/`; else they stay on one line. */
  breakNames?: boolean
}

/** Stands where a cell has nothing to say. */
export const NONE = '–'
const GAP = 2
const SUB_INDENT = 2

/** A table of at most `width` cells, or {@link records} when there is no room for one. */
export function table(columns: readonly Column[], rows: readonly (readonly Cell[])[], options: TableOptions): string[] {
  return (
    grid(columns, rows, options) ??
    grid(columns, rows, { ...options, breakNames: true }) ??
    records(columns, rows, options)
  )
}

/**
 * Columns take the width of their content; when that is too much, their text wraps in its own column. Null when a column would
 * have to be narrower than its `min`. A cell has text only; it is neutralised here.
 */
export function grid(
  columns: readonly Column[],
  rows: readonly (readonly Cell[])[],
  options: TableOptions,
): string[] | null {
  const indent = options.indent ?? 0
  const widest = (first: number, index: number, widthOf: (cell: Cell | undefined) => number) =>
    rows.reduce((width, row) => Math.max(width, widthOf(row[index])), first)
  const natural = columns.map((column, index) => widest(displayWidth(column.header), index, cellWidth))
  const least = columns.map((column, index) => {
    const whole = natural[index] ?? 0
    if (column.content === 'prose') return Math.min(whole, column.min)
    if (options.breakNames !== true) return whole
    return Math.min(
      whole,
      widest(column.min, index, (cell) => longestPiece(cell, column.hang ?? 0)),
    )
  })
  const widths = share(columns, natural, least, options.width - indent - GAP * (columns.length - 1))
  if (widths === null) return null

  const paint = painter(options.color)
  const header: Cell[] = columns.map((column) => ({ lines: [column.header], style: 'dim' }))
  const out: string[] = []
  for (const row of [header, ...rows]) {
    const cells = columns.map((column, index) => cellLines(row[index], widths[index] ?? 1, column.hang))
    const height = Math.max(1, ...cells.map((lines) => lines.length))
    for (let at = 0; at < height; at++) {
      const texts = cells.map((lines) => lines[at] ?? { text: '', styles: [] })
      // No spaces at the end of a line: they would wrap, and be copied.
      const last = texts.findLastIndex(({ text }) => text !== '')
      const parts = texts.slice(0, last + 1).map(({ text, styles }, index) => {
        const fill = index === last ? '' : ' '.repeat(Math.max(0, (widths[index] ?? 0) - displayWidth(text)))
        return paint(text, ...styles) + fill
      })
      out.push(' '.repeat(indent) + parts.join(' '.repeat(GAP)))
    }
  }
  return out
}

interface Line {
  text: string
  styles: Style[]
}

function cellWidth(cell: Cell | undefined): number {
  const main = cell?.lines.map(displayWidth) ?? []
  const sub = cell?.sub?.map((text) => SUB_INDENT + displayWidth(text)) ?? []
  return Math.max(0, ...main, ...sub)
}

function cellLines(cell: Cell | undefined, width: number, hang?: number): Line[] {
  if (cell === undefined) return []
  const styles = stylesOf(cell)
  const main = cell.lines.flatMap((text) => wrap(text, width, hang)).map((text) => ({ text, styles }))
  const sub = (cell.sub ?? [])
    .flatMap((text) => wrap(text, width - SUB_INDENT, hang))
    .map((text): Line => ({ text: ' '.repeat(SUB_INDENT) + text, styles: ['dim'] }))
  return [...main, ...sub]
}

function stylesOf(cell: Cell): Style[] {
  return cell.style === undefined ? [] : [cell.style]
}

/** The widest part of a name that stays on one line. */
function longestPiece(cell: Cell | undefined, hang: number): number {
  const pieces = (text: string) =>
    text.split(/(?<=\/)/).map((piece, index) => displayWidth(piece) + (index > 0 ? hang : 0))
  return Math.max(
    0,
    ...(cell?.lines ?? []).flatMap(pieces),
    ...(cell?.sub ?? []).flatMap(pieces).map((w) => w + SUB_INDENT),
  )
}

/**
 * Every column has its least; then names get all they want, the modest first, or stay at the least; prose shares what is left.
 * Null when there is not even the least.
 */
function share(
  columns: readonly Column[],
  natural: readonly number[],
  least: readonly number[],
  room: number,
): number[] | null {
  const given = [...least]
  let left = room - least.reduce((sum, width) => sum + width, 0)
  if (left < 0) return null
  const wish = (index: number) => (natural[index] ?? 0) - (given[index] ?? 0)
  const give = (index: number, width: number) => {
    given[index] = (given[index] ?? 0) + width
    left -= width
  }
  const modestFirst = columns.map((_, index) => index).sort((a, b) => wish(a) - wish(b))
  for (const index of modestFirst) {
    if (columns[index]?.content === 'name' && wish(index) <= left) give(index, wish(index))
  }
  const prose = modestFirst.filter((index) => columns[index]?.content === 'prose')
  prose.forEach((index, at) => {
    give(index, Math.min(wish(index), Math.floor(left / (prose.length - at))))
  })
  return given
}

/** For narrow terminals: each row is a small record, its titles in the first line and the rest below, indented. */
export function records(
  columns: readonly Column[],
  rows: readonly (readonly Cell[])[],
  options: TableOptions,
): string[] {
  const paint = painter(options.color)
  const indent = options.indent ?? 0
  const width = Math.max(1, options.width - indent)
  const out: string[] = []
  for (const row of rows) {
    const titles: Line[] = []
    const body: string[] = []
    columns.forEach((column, index) => {
      const cell = row[index]
      if (cell === undefined) return
      if (column.stacked === 'title') {
        titles.push({ text: neutralise(cell.lines.join(' ')), styles: stylesOf(cell) })
        return
      }
      for (const line of cell.lines) {
        if (line === '' || line === NONE) continue
        const text = column.label === undefined ? line : `${column.label} ${line}`
        body.push(...wrap(text, width - 2, 2).map((part) => `  ${paint(part, ...stylesOf(cell))}`))
      }
    })
    const together = titles.reduce((sum, { text }) => sum + displayWidth(text), GAP * (titles.length - 1)) <= width
    const head = together
      ? [titles.map(({ text, styles }) => paint(text, ...styles)).join(' '.repeat(GAP))]
      : titles.flatMap(({ text, styles }, index) => {
          const lead = index === 0 ? '' : '  '
          return wrap(text, width - lead.length, 2).map((part) => lead + paint(part, ...styles))
        })
    if (out.length > 0) out.push('')
    out.push(...[...head, ...body].map((line) => ' '.repeat(indent) + line))
  }
  return out
}
