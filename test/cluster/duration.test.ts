import { describe, expect, it } from 'vitest'
import { parseDuration, parseRequestTimeout } from '../../src/cluster/duration.js'

describe('parseDuration', () => {
  it.each([
    ['0', 0],
    ['5s', 5000],
    ['1m30s', 90_000],
    ['1.5h', 5_400_000],
    ['.5s', 500],
    ['500ms', 500],
    ['2us', 0.002],
    ['2µs', 0.002],
    ['-1s', -1000],
    ['+1s', 1000],
    ['', null],
    ['5', null],
    ['s', null],
    ['5 s', null],
    ['5d', null],
    ['1s2', null],
  ])('%j is %s ms', (text, ms) => {
    const read = parseDuration(text)
    if (ms === null) expect(read).toBeNull()
    else expect(read).toBeCloseTo(ms, 9)
  })
})

describe('parseRequestTimeout', () => {
  it.each([
    ['0', null],
    ['0s', null],
    ['30', 30_000],
    ['1m', 60_000],
    ['-5', undefined],
    ['-5s', undefined],
    ['soon', undefined],
    ['', undefined],
  ])('%j is %s', (text, ms) => {
    expect(parseRequestTimeout(text)).toBe(ms)
  })
})
