/** How many letters must be changed, added, dropped or swapped with their neighbour to make one word of the other. */
export function editDistance(a: string, b: string): number {
  const rows: number[][] = [Array.from({ length: b.length + 1 }, (_, j) => j)]
  const cell = (i: number, j: number): number => rows[i]?.[j] ?? 0
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    rows.push(row)
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1]
      let best = Math.min(cell(i - 1, j) + 1, (row[j - 1] ?? 0) + 1, cell(i - 1, j - 1) + (same ? 0 : 1))
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        best = Math.min(best, cell(i - 2, j - 2) + 1)
      row.push(best)
    }
  }
  return cell(a.length, b.length)
}

/** The known words that someone who typed `word` may have meant, nearest first; none when all are far off. */
export function didYouMean(word: string, known: Iterable<string>): string[] {
  const typed = word.toLowerCase()
  return [...known]
    .map((name) => ({ name, distance: editDistance(typed, name.toLowerCase()) }))
    .filter(({ name, distance }) => distance <= Math.max(1, Math.floor(Math.max(typed.length, name.length) / 3)))
    .sort((a, b) => a.distance - b.distance || (a.name < b.name ? -1 : 1))
    .slice(0, 3)
    .map(({ name }) => name)
}

/** The known word that someone who typed `word` may have meant; null when none is near. */
export function closest(word: string, known: Iterable<string>): string | null {
  return didYouMean(word, known)[0] ?? null
}
