/** PATTERNS of ssh_config(5), as match.c compares them: `*` and `?` only, no classes, no escapes. */

/** Linear in both lengths even for many stars: the pattern may come from a file that others write. */
export function matchesPattern(text: string, pattern: string): boolean {
  let at = 0
  let index = 0
  let star = -1
  let resume = 0
  while (at < text.length) {
    const char = pattern[index]
    if (char === '*') {
      star = index++
      resume = at
    } else if (char !== undefined && (char === '?' || char === text[at])) {
      at++
      index++
    } else if (star >= 0) {
      index = star + 1
      at = ++resume
    } else return false
  }
  while (pattern[index] === '*') index++
  return index === pattern.length
}

/** A comma-separated list: true when a pattern matches and no negated one (`!`) does. */
export function matchesList(text: string, list: string): boolean {
  let matched = false
  for (const pattern of list.split(',')) {
    if (pattern.startsWith('!')) {
      if (matchesPattern(text, pattern.slice(1))) return false
    } else if (matchesPattern(text, pattern)) matched = true
  }
  return matched
}
