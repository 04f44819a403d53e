import { describe, expect, it } from 'vitest'
import { displayWidth, neutralise, wrap } from '../../src/present/text.js'

describe('neutralise', () => {
  it.each([
    ['an escape sequence', 'a\u001b[2Jb', 'a\\u001b[2Jb'],
    ['newline, tab, carriage return, bell, backspace', '\n\t\r\u0007\b', '\\u000a\\u0009\\u000d\\u0007\\u0008'],
    ['DEL and C1', '\u007f\u0085\u009b31m', '\\u007f\\u0085\\u009b31m'],
    ['bidi overrides and isolates', '\u202aa\u202e\u2066\u2069', '\\u202aa\\u202e\\u2066\\u2069'],
    ['zero-width characters and the byte order mark', 'a\u200bb\u200d\u2060\ufeff', 'a\\u200bb\\u200d\\u2060\\ufeff'],
    ['line and paragraph separators', '\u2028\u2029', '\\u2028\\u2029'],
    ['soft hyphen and variation selector', '\u00ad\ufe0f', '\\u00ad\\ufe0f'],
    ['tags above the basic plane', '\u{e0041}', '\\u{e0041}'],
    ['a lone surrogate', '\ud800x', '\\ud800x'],
  ])('makes %s visible', (_, text, visible) => {
    expect(neutralise(text)).toBe(visible)
  })

  it('leaves other text alone, and its own output too', () => {
    for (const text of ['demo/web-0', 'größe – …', '名前', '😀', 'e\u0301', '\\u001b'])
      expect(neutralise(text)).toBe(text)
  })

  it('leaves no control character of any kind', () => {
    const all = Array.from({ length: 0x3000 }, (_, code) => String.fromCodePoint(code)).join('')
    expect(neutralise(all)).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u)
  })
})

describe('displayWidth', () => {
  it.each([
    ['', 0],
    ['demo/web-0', 10],
    ['größe …', 7],
    ['名前', 4],
    ['한국', 4],
    ['ｆｕｌｌ', 8],
    ['e\u0301', 1],
    ['😀', 2],
    ['\u001b', 6],
  ])('%j takes %i cells', (text, width) => {
    expect(displayWidth(text)).toBe(width)
  })
})

describe('wrap', () => {
  it('breaks between words', () => {
    expect(wrap('volume a (claim b) is on c only', 12)).toEqual(['volume a', '(claim b) is', 'on c only'])
  })

  it('indents what goes on', () => {
    expect(wrap('one two three', 7, 2)).toEqual(['one two', '  three'])
  })

  it('keeps a name whole on the next line when it fits there', () => {
    expect(wrap('monitoring/grafana-5c7d8b9f6-abcde', 26, 2)).toEqual(['monitoring/', '  grafana-5c7d8b9f6-abcde'])
  })

  it('breaks a longer word after a dash, and one without dashes anywhere', () => {
    expect(wrap('cache-7c7564cb5b-s7tpb', 12)).toEqual(['cache-', '7c7564cb5b-', 's7tpb'])
    expect(wrap('abcdefghij', 4)).toEqual(['abcd', 'efgh', 'ij'])
  })

  it('begins a long word on its own line', () => {
    expect(wrap('path /opt/local-path-provisioner/x', 20)).toEqual(['path', '/opt/local-path-', 'provisioner/x'])
  })

  it('counts cells, not code units', () => {
    expect(wrap('名前名前', 4)).toEqual(['名前', '名前'])
    expect(wrap('e\u0301e\u0301e\u0301 x', 5)).toEqual(['e\u0301e\u0301e\u0301 x'])
  })

  it('takes a newline as what it is: something to be shown, not obeyed', () => {
    expect(wrap('a\nFORGED', 40)).toEqual(['a\\u000aFORGED'])
  })

  it('ends, and keeps every character, at any width', () => {
    const text = 'demo/cache-7c7564cb5b-s7tpb 名前 abcdefghijklmnopqrstuvwxyz \u001b[0m'
    for (let width = 1; width < 60; width++) {
      for (const hang of [0, 2]) {
        const lines = wrap(text, width, hang)
        expect(lines.join('').replaceAll(' ', '')).toBe(neutralise(text).replaceAll(' ', ''))
        // A wide character can't be cut in two.
        for (const line of lines) expect(displayWidth(line)).toBeLessThanOrEqual(Math.max(2, width))
      }
    }
  })

  it('gives one empty line for nothing', () => {
    expect(wrap('', 10)).toEqual([''])
  })
})
