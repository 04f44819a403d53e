/**
 * Quantities as k8s.io/apimachinery/pkg/api/resource writes them ("100m", "1.5Gi", "2e3", 4), read exactly.
 * Units of the results: `quantityValue` whole units (bytes, pods, devices), `quantityMilliValue` thousandths (milli-CPU);
 * both round up, as Quantity.Value() and MilliValue() do.
 */

const suffixes: Readonly<Record<string, readonly [base: bigint, exponent: number]>> = {
  n: [10n, -9],
  u: [10n, -6],
  m: [10n, -3],
  '': [10n, 0],
  k: [10n, 3],
  M: [10n, 6],
  G: [10n, 9],
  T: [10n, 12],
  P: [10n, 15],
  E: [10n, 18],
  Ki: [2n, 10],
  Mi: [2n, 20],
  Gi: [2n, 30],
  Ti: [2n, 40],
  Pi: [2n, 50],
  Ei: [2n, 60],
}

const shape = /^([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d{1,3})|([a-zA-Z]{0,2}))$/

interface Ratio {
  numerator: bigint
  denominator: bigint
}

function parse(quantity: string | number | undefined): Ratio | null {
  if (quantity === undefined) return null
  const match = shape.exec(String(quantity))
  if (match === null) return null
  const [, sign = '', whole = '', fraction = '', exponent, suffix = ''] = match
  if (whole === '' && fraction === '') return null
  const scale =
    exponent === undefined
      ? Object.hasOwn(suffixes, suffix)
        ? suffixes[suffix]
        : undefined
      : ([10n, Number(exponent)] as const)
  if (scale === undefined) return null
  const [base, power] = scale
  let numerator = BigInt(whole + fraction)
  let denominator = 10n ** BigInt(fraction.length)
  if (power >= 0) numerator *= base ** BigInt(power)
  else denominator *= base ** BigInt(-power)
  return { numerator: sign === '-' ? -numerator : numerator, denominator }
}

function roundUp({ numerator, denominator }: Ratio): number {
  const whole = numerator / denominator
  return Number(numerator > 0n && numerator % denominator !== 0n ? whole + 1n : whole)
}

// A cluster has few distinct quantities and asks for each of them once per pod and node.
const values = new Map<string | number, number>()
const milliValues = new Map<string | number, number>()

function remembered(
  cache: Map<string | number, number>,
  quantity: string | number | undefined,
  factor: bigint,
): number {
  if (quantity === undefined) return 0
  const known = cache.get(quantity)
  if (known !== undefined) return known
  const ratio = parse(quantity)
  const value = ratio === null ? 0 : roundUp({ numerator: ratio.numerator * factor, denominator: ratio.denominator })
  if (cache.size < 10_000) cache.set(quantity, value)
  return value
}

/** Whole units, rounded up; 0 when absent or not a quantity (the API server lets no such one in). */
export function quantityValue(quantity: string | number | undefined): number {
  return remembered(values, quantity, 1n)
}

/** Thousandths of a unit, rounded up; 0 when absent or not a quantity. */
export function quantityMilliValue(quantity: string | number | undefined): number {
  return remembered(milliValues, quantity, 1000n)
}
