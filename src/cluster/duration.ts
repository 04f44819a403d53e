const UNITS_MS: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  μs: 1e-3,
  ms: 1,
  s: 1e3,
  m: 6e4,
  h: 3.6e6,
}

/** A Go duration (`1m30s`, `1.5h`, `500ms`) in milliseconds; null when it is none. */
export function parseDuration(text: string): number | null {
  const sign = /^[+-]/.test(text) ? text.charAt(0) : ''
  const rest = text.slice(sign.length)
  if (rest === '0') return 0
  if (!/^(\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h)((\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h))*$/.test(rest)) return null
  let total = 0
  for (const [, number, unit] of rest.matchAll(/(\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h)/g)) {
    total += Number(number) * (UNITS_MS[unit ?? ''] ?? Number.NaN)
  }
  return sign === '-' ? -total : total
}

/** `--request-timeout` as kubectl takes it: seconds, or a duration; milliseconds come out, null for "no limit", undefined when it is neither. */
export function parseRequestTimeout(text: string): number | null | undefined {
  const ms = /^\d+$/.test(text) ? Number(text) * 1000 : parseDuration(text)
  if (ms === null || ms < 0 || !Number.isFinite(ms)) return undefined
  return ms === 0 ? null : ms
}
