/** Long suites: a usual run takes a share of their tests that its seed chooses, `npm run test:lab -- --full` takes them all. */
import type { Lab } from './lab.js'

export type Chooser = Pick<Lab, 'full' | 'seed' | 'random'>

/** Numbers in [0, 1) that follow from a seed and from what they are for. */
export function numbers(seed: number, purpose: string): () => number {
  let state = [...`${seed}/${purpose}`].reduce((sum, char) => (Math.imul(sum, 31) + char.charCodeAt(0)) | 0, 17)
  return () => {
    // mulberry32
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }
}

/** `count` of the items, at least one, in the order they have; all of them in a full run. Which ones follows from the seed. */
export function shareOf<T>(lab: Chooser, purpose: string, items: readonly T[], count: number): T[] {
  if (lab.full || count >= items.length) return [...items]
  const random = lab.random(`share of ${purpose}`)
  const drawn = items.map((item, index) => ({ item, index, lot: random() })).sort((a, b) => a.lot - b.lot)
  return drawn
    .slice(0, Math.max(1, count))
    .sort((a, b) => a.index - b.index)
    .map(({ item }) => item)
}
