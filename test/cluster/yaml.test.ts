import { describe, expect, it } from 'vitest'
import { parseYaml, YamlError } from '../../src/cluster/yaml.js'

function problem(text: string): YamlError {
  try {
    parseYaml(text)
  } catch (error) {
    expect(error).toBeInstanceOf(YamlError)
    return error as YamlError
  }
  throw new Error('it parsed')
}

describe('parseYaml', () => {
  it('gives all documents, with types as kubectl writes them', () => {
    const text = 'a: "yes"\nb: yes\nc: "1"\nd: 1\ne: true\nf: null\ng: 2026-12-01T12:46:40Z\nh: 1e3\n---\n[x]\n---\n'
    expect(parseYaml(text)).toEqual([
      { a: 'yes', b: 'yes', c: '1', d: 1, e: true, f: null, g: '2026-12-01T12:46:40Z', h: 1000 },
      ['x'],
      null,
    ])
  })

  it('of a key given twice takes the last', () => {
    expect(parseYaml('a: 1\na: 2\n')).toEqual([{ a: 2 }])
  })

  it('knows anchors and merge keys', () => {
    expect(parseYaml('x: &x {a: 1}\ny: {<<: *x, b: 2}\n')).toEqual([{ x: { a: 1 }, y: { a: 1, b: 2 } }])
  })

  it('makes plain keys of those that mean something to JavaScript', () => {
    const [value] = parseYaml('__proto__: {polluted: 1}\nconstructor: 2\n') as Record<string, unknown>[]
    expect(Object.keys(value ?? {})).toEqual(['__proto__', 'constructor'])
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype)
    expect(({} as Record<string, unknown>).polluted).toBeUndefined()
  })

  it.each([
    ['a: [1, 2\nb: 3\n', 2],
    ['a: 1\n\tb: 2\n', 2],
    ['a: "x\n', 2],
    ['a: *nobody\n', 1],
  ])('says the line of what is wrong: %j', (text, line) => {
    expect(problem(text).line).toBe(line)
  })

  it('says that a tab is the matter', () => {
    expect(problem('a:\n\tb: 2\n').problem).toMatch(/tab/)
  })

  it('refuses what its aliases blow up, and what contains itself', () => {
    const laughs = ['a0: &a0 [x, x, x, x, x, x, x, x, x]']
    for (let n = 1; n < 10; n++)
      laughs.push(
        `a${n}: &a${n} [${Array(9)
          .fill(`*a${n - 1}`)
          .join(', ')}]`,
      )
    expect(problem(laughs.join('\n')).problem).toMatch(/aliases/)
    expect(problem('a: &a {b: *a}\n').problem).toMatch(/aliases/)
  })

  it('refuses what is nested without end', () => {
    expect(problem('['.repeat(100_000)).problem).toMatch(/nest/)
  })
})
