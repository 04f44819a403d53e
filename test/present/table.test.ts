import { describe, expect, it } from 'vitest'
import { painter } from '../../src/present/color.js'
import { type Cell, type Column, grid, records, table } from '../../src/present/table.js'
import { displayWidth } from '../../src/present/text.js'

const columns: Column[] = [
  { header: 'POD', min: 10, content: 'name', stacked: 'title', hang: 2 },
  { header: 'OWNER', min: 8, content: 'name', stacked: 'body', label: 'of' },
  { header: 'ENDS', min: 5, content: 'name', stacked: 'title' },
  { header: 'WHY', min: 16, content: 'prose', stacked: 'body', hang: 2 },
]
const row = (...cells: (string | string[])[]): Cell[] =>
  cells.map((lines) => ({ lines: typeof lines === 'string' ? [lines] : lines }))
const rows = [
  row('demo/a-0', 'Deployment/a', 'stuck', ['its volume is on k8s-node-2 only', 'loses emptyDir tmp']),
  row('demo/b', '–', 'gone', 'no controller re-creates it'),
]

describe('table', () => {
  it('takes the width of its content when there is room', () => {
    expect(table(columns, rows, { width: 100, color: false })).toEqual([
      'POD       OWNER         ENDS   WHY',
      'demo/a-0  Deployment/a  stuck  its volume is on k8s-node-2 only',
      '                               loses emptyDir tmp',
      'demo/b    –             gone   no controller re-creates it',
    ])
  })

  it('wraps what does not fit below its own column', () => {
    expect(table(columns, rows, { width: 53, color: false })).toEqual([
      'POD       OWNER         ENDS   WHY',
      'demo/a-0  Deployment/a  stuck  its volume is on',
      '                                 k8s-node-2 only',
      '                               loses emptyDir tmp',
      'demo/b    –             gone   no controller',
      '                                 re-creates it',
    ])
  })

  it('gives every row a record when a column would be too narrow to read', () => {
    expect(grid(columns, rows, { width: 30, color: false })).toBeNull()
    expect(table(columns, rows, { width: 30, color: false })).toEqual([
      'demo/a-0  stuck',
      '  of Deployment/a',
      '  its volume is on k8s-node-2',
      '    only',
      '  loses emptyDir tmp',
      '',
      'demo/b  gone',
      '  no controller re-creates it',
    ])
  })

  it('breaks a name only after its slash', () => {
    const long = [row('monitoring/grafana-5c7d8b9f6-abcde', 'Deployment/grafana', 'moves', 'another node takes it')]
    const lines = table(columns, long, { width: 74, color: false })
    expect(lines[1]).toMatch(/^monitoring\/ {2,}Deployment\/grafana/)
    expect(lines[2]).toMatch(/^ {2}grafana-5c7d8b9f6-abcde/)
  })

  it('puts what has no column below the cell', () => {
    const [pod, ...rest] = row('demo/a-0', '–', 'stuck', 'its volume')
    const lines = table(columns, [[{ lines: pod?.lines ?? [], sub: ['on k8s-node-2'] }, ...rest]], {
      width: 80,
      color: false,
    })
    expect(lines[2]).toBe('  on k8s-node-2')
  })

  it('lines columns up by terminal cells', () => {
    const wide = [row('名前', 'x', 'y', 'z'), row('ab', 'x', 'y', 'z')]
    const [, first = '', second = ''] = table(columns, wide, { width: 80, color: false })
    expect(displayWidth(first)).toBe(displayWidth(second))
  })

  it('has no hostile character, no line too long and no space at the end, at any width', () => {
    const hostile = [
      row('demo/\u001b[31mred\u001b[0m', 'a\nb', '\u202eevil', ['x\u0000y\u0085z '.repeat(9), '\u200b']),
      row('d/'.padEnd(90, 'x'), 'Kind/'.padEnd(70, 'y'), 'moves', 'w'.repeat(200)),
    ]
    for (let width = 20; width <= 200; width++) {
      for (const lines of [
        table(columns, hostile, { width, color: false, indent: 2 }),
        records(columns, hostile, { width, color: false }),
      ]) {
        for (const line of lines) {
          expect(line).not.toMatch(/[\p{Cc}\p{Cf}]/u)
          expect(displayWidth(line)).toBeLessThanOrEqual(width)
          expect(line).toBe(line.trimEnd())
        }
      }
    }
  })

  it('is the same with colours but for the colours', () => {
    const styled = rows.map((cells) => cells.map((cell): Cell => ({ ...cell, style: 'red' })))
    for (const width of [30, 53, 100]) {
      const plain = table(columns, styled, { width, color: false }).join('\n')
      const coloured = table(columns, styled, { width, color: true }).join('\n')
      expect(coloured).toContain('\u001b[31m')
      expect(coloured.replace(/\u001b\[\d+m/g, '')).toBe(plain)
    }
  })
})

describe('painter', () => {
  it('paints only when asked to', () => {
    expect(painter(false)('x', 'bold', 'red')).toBe('x')
    expect(painter(true)('x', 'bold', 'red')).toBe('\u001b[31m\u001b[1mx\u001b[22m\u001b[39m')
    expect(painter(true)('', 'red')).toBe('')
  })
})
