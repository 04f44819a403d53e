/**
 * Label selectors as Kubernetes has them: the text that `-l` takes (k8s.io/apimachinery/pkg/labels) and the structure that
 * objects carry (metav1.LabelSelector). Pure.
 *
 * Labels come from a cluster and may have any key, `__proto__` and `constructor` too, so a label is only ever looked up with
 * {@link labelOf}. Whoever indexes a label map otherwise must ask `Object.hasOwn` first.
 */
import { InputError } from './errors.js'
import type { LabelSelector } from './objects.js'

export type Labels = Readonly<Record<string, string>>

export type RequirementOperator = 'in' | 'notin' | '=' | '==' | '!=' | 'exists' | '!' | 'gt' | 'lt'

/** One condition on one label. `values`: none for `exists` and `!`, one for `=`, `==`, `!=`, `gt`, `lt`, sorted and distinct otherwise. */
export interface LabelRequirement {
  readonly key: string
  readonly operator: RequirementOperator
  readonly values: readonly string[]
}

/** All requirements must hold; an empty list matches everything. Sorted by key. */
export type ParsedSelector = readonly LabelRequirement[]

/** A selector's text that does not parse; the message is worded as kubectl words it. */
export class SelectorError extends InputError {}

type TokenKind = 'identifier' | 'in' | 'notin' | '=' | '==' | '!=' | '!' | '<' | '>' | '(' | ')' | ',' | 'end'
interface Token {
  kind: TokenKind
  text: string
}

const SPECIAL = '=!(),><'
const SPACE = ' \t\r\n'

const qualifiedNameFormat = '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]'
const subdomainFormat = '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*'
const qualifiedName = new RegExp(`^${qualifiedNameFormat}$`)
const labelValue = new RegExp(`^(${qualifiedNameFormat})?$`)
const subdomain = new RegExp(`^${subdomainFormat}$`)
const nameRule =
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"

/** Why this is no label key ([prefix/]name), in Kubernetes' words; null when it is one. */
export function labelKeyProblem(key: string): string | null {
  const parts = key.split('/')
  if (parts.length > 2) return `a qualified name ${nameRule} with an optional DNS subdomain prefix and '/'`
  const problems: string[] = []
  const [prefix, name] = parts.length === 2 ? [parts[0] ?? '', parts[1] ?? ''] : [null, key]
  if (prefix === '') problems.push('prefix part must be non-empty')
  else if (prefix !== null) {
    if (prefix.length > 253) problems.push('prefix part must be no more than 253 characters')
    if (!subdomain.test(prefix)) {
      problems.push(
        "prefix part a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character",
      )
    }
  }
  if (name === '') problems.push('name part must be non-empty')
  else if (name.length > 63) problems.push('name part must be no more than 63 characters')
  if (!qualifiedName.test(name)) problems.push(`name part ${nameRule}`)
  return problems.length > 0 ? problems.join('; ') : null
}

/** Why this is no label value, in Kubernetes' words; null when it is one. */
export function labelValueProblem(value: string): string | null {
  const problems: string[] = []
  if (value.length > 63) problems.push('must be no more than 63 characters')
  if (!labelValue.test(value))
    problems.push(`a valid label must be an empty string or ${nameRule.replace('must ', '')}`)
  return problems.length > 0 ? problems.join('; ') : null
}

/** strconv.ParseInt(text, 10, 64); null where that is an error. */
function parseInt64(text: string): bigint | null {
  if (!/^[+-]?[0-9]+$/.test(text)) return null
  // BigInt takes no "+5", and "-" only before digits, which the pattern has made sure of.
  const value = BigInt(text.replace(/^\+/, ''))
  return value >= -(2n ** 63n) && value < 2n ** 63n ? value : null
}

function tokenize(text: string): Token[] {
  const tokens: Token[] = []
  let at = 0
  for (;;) {
    while (at < text.length && SPACE.includes(text.charAt(at))) at++
    // Kubernetes' lexer takes a NUL for the end, but after a word it only ends the word.
    if (at >= text.length || text[at] === '\0') {
      tokens.push({ kind: 'end', text: '' })
      return tokens
    }
    const two = text.slice(at, at + 2)
    if (two === '==' || two === '!=') {
      tokens.push({ kind: two, text: two })
      at += 2
    } else if (SPECIAL.includes(text.charAt(at))) {
      const one = text.charAt(at)
      tokens.push({ kind: one as TokenKind, text: one })
      at++
    } else {
      const start = at
      while (
        at < text.length &&
        !SPECIAL.includes(text.charAt(at)) &&
        !SPACE.includes(text.charAt(at)) &&
        text[at] !== '\0'
      )
        at++
      const word = text.slice(start, at)
      if (text[at] === '\0') at++
      tokens.push({ kind: word === 'in' || word === 'notin' ? word : 'identifier', text: word })
    }
  }
}

class SelectorParser {
  readonly #tokens: Token[]
  #at = 0

  constructor(text: string) {
    this.#tokens = tokenize(text)
  }

  #peek(): Token {
    return this.#tokens[this.#at] ?? { kind: 'end', text: '' }
  }

  #next(): Token {
    const token = this.#peek()
    this.#at++
    return token
  }

  parse(): LabelRequirement[] {
    const requirements: LabelRequirement[] = []
    for (;;) {
      const first = this.#peek()
      if (first.kind === 'end') return requirements
      if (!isWord(first) && first.kind !== '!') {
        throw new SelectorError(`found '${first.text}', expected: !, identifier, or 'end of string'`)
      }
      requirements.push(this.#requirement())
      const after = this.#next()
      if (after.kind === 'end') return requirements
      if (after.kind !== ',') throw new SelectorError(`found '${after.text}', expected: ',' or 'end of string'`)
      const following = this.#peek()
      if (!isWord(following) && following.kind !== '!') {
        throw new SelectorError(`found '${following.text}', expected: identifier after ','`)
      }
    }
  }

  #requirement(): LabelRequirement {
    let token = this.#next()
    const negated = token.kind === '!'
    if (negated) token = this.#next()
    if (!isWord(token)) throw requirementError(`found '${token.text}', expected: identifier`)
    const key = token.text
    const keyProblem = labelKeyProblem(key)
    if (keyProblem !== null) throw requirementError(`invalid label key "${key}": ${keyProblem}`)
    if (negated) return { key, operator: '!', values: [] }
    const kind = this.#peek().kind
    if (kind === 'end' || kind === ',') return { key, operator: 'exists', values: [] }
    const operator = this.#operator()
    const values = operator === 'in' || operator === 'notin' ? this.#values() : [this.#value()]
    if ((operator === 'gt' || operator === 'lt') && parseInt64(values[0] ?? '') === null) {
      throw requirementError(
        `invalid value "${values[0]}" of "${key}": for 'Gt', 'Lt' operators, the value must be an integer`,
      )
    }
    for (const value of values) {
      const problem = labelValueProblem(value)
      if (problem !== null) throw requirementError(`invalid value "${value}" of "${key}": ${problem}`)
    }
    return { key, operator, values: [...new Set(values)].sort() }
  }

  #operator(): RequirementOperator {
    const token = this.#next()
    switch (token.kind) {
      case 'in':
      case 'notin':
      case '=':
      case '==':
      case '!=':
        return token.kind
      case '>':
        return 'gt'
      case '<':
        return 'lt'
      default:
        throw requirementError(`found '${token.text}', expected: in, notin, =, ==, !=, gt, lt`)
    }
  }

  /** The one value of `=` and its like; nothing there is the empty value. */
  #value(): string {
    const kind = this.#peek().kind
    if (kind === 'end' || kind === ',') return ''
    const token = this.#next()
    if (!isWord(token)) throw requirementError(`found '${token.text}', expected: identifier`)
    return token.text
  }

  /** `(a,b)`. Empty places are the empty value, as in `(,a)`, `(a,)` and `()`; but after a word one comma only parts. */
  #values(): string[] {
    const open = this.#next()
    if (open.kind !== '(') throw requirementError(`found '${open.text}' expected: '('`)
    const first = this.#peek()
    if (first.kind === ')') {
      this.#next()
      return ['']
    }
    if (!isWord(first) && first.kind !== ',') {
      throw requirementError(`found '${first.text}', expected: ',', ')' or identifier`)
    }
    const values: string[] = []
    for (;;) {
      const token = this.#next()
      if (isWord(token)) {
        values.push(token.text)
        const after = this.#peek()
        if (after.kind === ')') break
        if (after.kind !== ',') throw requirementError(`found '${after.text}', expected: ',' or ')'`)
      } else if (token.kind === ',') {
        if (values.length === 0) values.push('')
        const after = this.#peek()
        if (after.kind === ')') {
          values.push('')
          break
        }
        if (after.kind === ',') {
          this.#next()
          values.push('')
        }
      } else {
        throw requirementError(`found '${token.text}', expected: ',', or identifier`)
      }
    }
    this.#next()
    return values
  }
}

/** `in` and `notin` are operators only where one is due; elsewhere they are words like any other. */
function isWord(token: Token): boolean {
  return token.kind === 'identifier' || token.kind === 'in' || token.kind === 'notin'
}

function requirementError(problem: string): SelectorError {
  return new SelectorError(`unable to parse requirement: ${problem}`)
}

/**
 * Parses the text of a label selector as kubectl does: `a=b`, `a==b`, `a!=b`, `a in (b,c)`, `a notin (b)`, `a`, `!a`, `a>1`, `a<1`,
 * parted by commas. An empty text matches everything.
 * @throws {SelectorError} when the text is no selector.
 */
export function parseSelector(text: string): ParsedSelector {
  return new SelectorParser(text).parse().sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0))
}

/** The label's value; undefined when there is no such label, also for keys that every JavaScript object inherits. */
export function labelOf(labels: Labels | undefined, key: string): string | undefined {
  return labels !== undefined && Object.hasOwn(labels, key) ? labels[key] : undefined
}

function requirementHolds(requirement: LabelRequirement, labels: Labels | undefined): boolean {
  const value = labelOf(labels, requirement.key)
  switch (requirement.operator) {
    case 'in':
    case '=':
    case '==':
      return value !== undefined && requirement.values.includes(value)
    case 'notin':
    case '!=':
      return value === undefined || !requirement.values.includes(value)
    case 'exists':
      return value !== undefined
    case '!':
      return value === undefined
    case 'gt':
    case 'lt': {
      const have = value === undefined ? null : parseInt64(value)
      const bound = parseInt64(requirement.values[0] ?? '')
      if (have === null || bound === null) return false
      return requirement.operator === 'gt' ? have > bound : have < bound
    }
  }
}

/** Whether all requirements hold for these labels; no labels at all is an empty map. */
export function matchesSelector(selector: ParsedSelector, labels: Labels | undefined): boolean {
  for (const requirement of selector) {
    if (!requirementHolds(requirement, labels)) return false
  }
  return true
}

const selectorOperators: Readonly<Record<string, RequirementOperator>> = {
  In: 'in',
  NotIn: 'notin',
  Exists: 'exists',
  DoesNotExist: '!',
}

/**
 * metav1.LabelSelectorAsSelector: an absent selector matches nothing (null), an empty one everything ([]). A selector that the
 * API would not take (unknown operator, `In` without values, a key or value that can't be one) matches nothing either.
 */
export function parseLabelSelector(selector: LabelSelector | null | undefined): ParsedSelector | null {
  if (selector === null || selector === undefined) return null
  const requirements: LabelRequirement[] = []
  for (const [key, value] of Object.entries(selector.matchLabels ?? {})) {
    requirements.push({ key, operator: '=', values: [value] })
  }
  for (const { key, operator, values = [] } of selector.matchExpressions ?? []) {
    const parsed = Object.hasOwn(selectorOperators, operator) ? selectorOperators[operator] : undefined
    if (parsed === undefined) return null
    const wantsValues = parsed === 'in' || parsed === 'notin'
    if (wantsValues !== values.length > 0) return null
    requirements.push({ key, operator: parsed, values })
  }
  for (const { key, values } of requirements) {
    if (labelKeyProblem(key) !== null || values.some((value) => labelValueProblem(value) !== null)) return null
  }
  return requirements
}

// A selector meets every pod of a cluster; it is checked and turned into requirements once. Selectors are never changed after
// they were read, so the object itself can be the key.
const parsedSelectors = new WeakMap<LabelSelector, { parsed: ParsedSelector | null }>()

/** Whether a selector of an object (metav1.LabelSelector) takes these labels: see {@link parseLabelSelector}. */
export function matchesLabelSelector(selector: LabelSelector | null | undefined, labels: Labels | undefined): boolean {
  if (selector === null || selector === undefined) return false
  let entry = parsedSelectors.get(selector)
  if (entry === undefined) {
    entry = { parsed: parseLabelSelector(selector) }
    parsedSelectors.set(selector, entry)
  }
  return entry.parsed !== null && matchesSelector(entry.parsed, labels)
}
