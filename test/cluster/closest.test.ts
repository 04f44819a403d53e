import { describe, expect, it } from 'vitest'
import { didYouMean, editDistance } from '../../src/cluster/closest.js'

describe('editDistance', () => {
  it.each<[string, string, number]>([
    ['', 'abc', 3],
    ['abc', 'abc', 0],
    ['abc', 'axc', 1],
    ['ab', 'ba', 1],
    ['kitten', 'sitting', 3],
  ])('%s to %s is %d', (a, b, expected) => {
    expect(editDistance(a, b)).toBe(expected)
    expect(editDistance(b, a)).toBe(expected)
  })
})

describe('didYouMean', () => {
  it('puts the nearest first, and equals by name', () => {
    expect(didYouMean('k8s-node-3', ['k8s-node-2', 'k8s-node-1', 'master'])).toEqual(['k8s-node-1', 'k8s-node-2'])
  })
  it('says nothing when all are far off', () => {
    expect(didYouMean('zzz', ['master', 'node'])).toEqual([])
  })
})
