import { describe, expect, it } from 'vitest'
import { numbers, shareOf } from './support/share.js'

const items = ['a', 'b', 'c', 'd', 'e', 'f']

function labWith(seed: number, full = false) {
  return { full, seed, random: (purpose: string) => numbers(seed, purpose) }
}

describe('the share of a long suite', () => {
  it('is as large as asked for, in order, without doubles', () => {
    for (let seed = 1; seed < 50; seed++) {
      const share = shareOf(labWith(seed), 'x', items, 3)
      expect(new Set(share).size).toBe(3)
      expect(share).toEqual([...share].sort())
    }
  })

  it('follows from the seed, and another seed gives another one', () => {
    expect(shareOf(labWith(7), 'x', items, 2)).toEqual(shareOf(labWith(7), 'x', items, 2))
    const shares = Array.from({ length: 40 }, (_, seed) => shareOf(labWith(seed + 1), 'x', items, 2).join())
    expect(new Set(shares).size).toBeGreaterThan(5)
    expect(new Set(shares.join().split(','))).toEqual(new Set(items))
  })

  it('is never none', () => {
    expect(shareOf(labWith(3), 'x', items, 0)).toHaveLength(1)
  })

  it('is everything in a full run, or where there is no more', () => {
    expect(shareOf(labWith(3, true), 'x', items, 1)).toEqual(items)
    expect(shareOf(labWith(3), 'x', items, 9)).toEqual(items)
  })
})
