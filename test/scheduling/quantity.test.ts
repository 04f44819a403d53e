import { describe, expect, it } from 'vitest'
import { quantityMilliValue, quantityValue } from '../../src/scheduling/quantity.js'

// The right answers are those of k8s.io/apimachinery/pkg/api/resource: Value() and MilliValue() round up.
describe('whole units', () => {
  it.each<[string | number | undefined, number]>([
    ['0', 0],
    ['1', 1],
    [4, 4],
    [0.5, 1],
    ['0.5', 1],
    ['.5', 1],
    ['1.', 1],
    ['+2', 2],
    ['1500m', 2],
    ['1m', 1],
    ['1u', 1],
    ['1n', 1],
    ['100k', 100_000],
    ['1Ki', 1024],
    ['1.5Gi', 1_610_612_736],
    ['0.1Ki', 103],
    ['1M', 1_000_000],
    ['2Mi', 2_097_152],
    ['3G', 3_000_000_000],
    ['1T', 1e12],
    ['1Ti', 2 ** 40],
    ['1P', 1e15],
    ['1e3', 1000],
    ['1E3', 1000],
    ['1e-1', 1],
    ['2.5e2', 250],
    ['1E', 1e18],
    ['-1', -1],
    ['-1500m', -1],
    ['1048576Ki', 2 ** 30],
    ['1000000001', 1_000_000_001],
  ])('%s is %d', (quantity, value) => {
    expect(quantityValue(quantity)).toBe(value)
  })

  it.each([undefined, '', '.', 'Gi', '1 Gi', '1gi', '1KI', '0x10', '1e', '--1', 'constructor', '1__proto__'])(
    '%s is none: 0',
    (text) => {
      expect(quantityValue(text)).toBe(0)
    },
  )
})

describe('thousandths', () => {
  it.each<[string | number, number]>([
    ['100m', 100],
    ['0.5', 500],
    [0.1, 100],
    ['1', 1000],
    ['1e1', 10_000],
    ['3500m', 3500],
    ['1500u', 2],
    ['1n', 1],
    ['2k', 2_000_000],
    ['0.0001', 1],
  ])('%s is %d', (quantity, value) => {
    expect(quantityMilliValue(quantity)).toBe(value)
  })
})
