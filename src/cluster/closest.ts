/** The known word that someone who typed `word` may have meant; null when none is near. Ties go to the first in code units. */
export function closest(word: string, known: Iterable<string>): string | null {
  const typed = word.toLowerCase()
  let best: { name: string; distance: number } | null = null
  for (const name of [...known].sort()) {
    const distance = editDistance(typed, name.toLowerCase())
    const limit = Math.max(1, Math.floor(Math.max(typed.length, name.length) / 3))
    if (distance <= limit && (best === null || distance < best.distance)) best = { name, distance }
  }
  return best?.name ?? null
}

/** How many characters must be changed, added or dropped to make one word of the other. */
function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const change = (previous[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1)
      row.push(Math.min(change, (previous[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1))
    }
    previous = row
  }
  return previous[b.length] ?? 0
}
