import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import {
  type LabelRequirement,
  labelOf,
  matchesLabelSelector,
  matchesSelector,
  type ParsedSelector,
  parseLabelSelector,
  parseSelector,
  SelectorError,
} from '../../src/cluster/labels.js'
import type { LabelSelector } from '../../src/cluster/objects.js'

interface Recorded {
  labels: Record<string, string>[]
  texts: { selector: string; error?: string; string: string; matches: number[] }[]
  selectors: { selector: LabelSelector | null; error?: boolean; matches: number[] }[]
}
const recorded: Recorded = JSON.parse(
  readFileSync(new URL('../fixtures/labels/selectors.json', import.meta.url), 'utf8'),
)

/** The selector as labels.Selector.String() writes it. */
function written(selector: ParsedSelector): string {
  const one = ({ key, operator, values }: LabelRequirement): string => {
    switch (operator) {
      case 'exists':
        return key
      case '!':
        return `!${key}`
      case 'in':
      case 'notin':
        return `${key} ${operator} (${values.join(',')})`
      case 'gt':
        return `${key}>${values[0]}`
      case 'lt':
        return `${key}<${values[0]}`
      default:
        return `${key}${operator}${values[0]}`
    }
  }
  return selector.map(one).join(',')
}

describe('parseSelector and matchesSelector, against what Kubernetes answered', () => {
  for (const { selector, error, string, matches } of recorded.texts) {
    it(JSON.stringify(selector), () => {
      if (error !== undefined) {
        expect(() => parseSelector(selector)).toThrow(SelectorError)
        // The grammar's errors are worded as kubectl words them; those about a key or value leave out its regular expressions.
        if (error.includes('found ')) expect(() => parseSelector(selector)).toThrow(new SelectorError(error))
        return
      }
      const parsed = parseSelector(selector)
      // Kubernetes sorts by key only, so requirements on one key may come in any order.
      expect(written(parsed).split(',').sort()).toEqual(string.split(',').sort())
      const matched = recorded.labels.flatMap((labels, index) => (matchesSelector(parsed, labels) ? [index] : []))
      expect(matched).toEqual(matches)
    })
  }
})

describe('matchesLabelSelector, against what Kubernetes answered', () => {
  for (const [number, { selector, matches }] of recorded.selectors.entries()) {
    it(`${number}: ${JSON.stringify(selector)}`, () => {
      const matched = recorded.labels.flatMap((labels, index) =>
        matchesLabelSelector(selector, labels) ? [index] : [],
      )
      expect(matched).toEqual(matches)
    })
  }
})

describe('label maps', () => {
  it('an absent selector matches nothing, an empty one everything', () => {
    expect(matchesLabelSelector(undefined, { a: 'b' })).toBe(false)
    expect(matchesLabelSelector({}, undefined)).toBe(true)
    expect(parseLabelSelector(undefined)).toBeNull()
    expect(parseLabelSelector({ matchLabels: {}, matchExpressions: [] })).toEqual([])
  })

  it('a key that every object inherits is no label', () => {
    expect(labelOf({}, 'constructor')).toBeUndefined()
    expect(matchesSelector(parseSelector('constructor'), {})).toBe(false)
    expect(matchesSelector(parseSelector('!toString'), { a: 'b' })).toBe(true)
    const hostile: Record<string, string> = JSON.parse('{"__proto__": "x", "constructor": "y"}')
    expect(labelOf(hostile, '__proto__')).toBe('x')
    expect(matchesLabelSelector({ matchLabels: { constructor: 'y' } }, hostile)).toBe(true)
    expect(matchesLabelSelector({ matchExpressions: [{ key: 'a', operator: 'constructor' }] }, { a: 'b' })).toBe(false)
  })
})
