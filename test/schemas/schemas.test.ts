import { readFileSync } from 'node:fs'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { describe, expect, it } from 'vitest'
import { errorDocument, UsageError } from '../../src/cli/errors.js'
import { EXIT } from '../../src/cli/exit-codes.js'
import { type Effect, VERDICTS } from '../../src/drain/types.js'
import { busyCluster, pod, recordedCluster, report } from '../drain/sample-report.js'

function validator(name: string): (document: unknown) => string[] {
  const schema: object = JSON.parse(readFileSync(new URL(`../../schemas/${name}`, import.meta.url), 'utf8'))
  const validate = new Ajv2020({
    allErrors: true,
    strict: true,
    allowUnionTypes: true,
    strictRequired: false,
    strictTypes: false,
  }).compile(schema)
  return (document) => {
    // Through JSON: what is checked is the document that is printed.
    validate(JSON.parse(JSON.stringify(document)))
    return (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`)
  }
}

describe('drain-report.schema.json', () => {
  const errors = validator('drain-report.schema.json')

  it('holds for real reports', () => {
    expect(errors(recordedCluster())).toEqual([])
    expect(errors(busyCluster())).toEqual([])
    expect(errors(report([], { cordonOnly: true, drainCommand: null, complete: false, warnings: ['w'] }))).toEqual([])
  })

  it('knows every verdict and every effect', () => {
    const effects: Record<Effect['effect'], Effect> = {
      'needs-flag': { effect: 'needs-flag', flag: '--force' },
      'data-lost': { effect: 'data-lost', volume: 'tmp' },
      'starts-empty': { effect: 'starts-empty', volume: 'data', path: '/srv' },
      'waits-for-budget': { effect: 'waits-for-budget', budget: 'a/b', after: ['a/c'] },
      preempts: { effect: 'preempts', node: 'n', victims: [] },
      contended: { effect: 'contended', node: 'n', with: ['a/c'] },
      quorum: { effect: 'quorum', of: 'StatefulSet a/b', down: 2, bears: 1 },
      'loses-fuse-server': { effect: 'loses-fuse-server', claims: ['a/c'] },
    }
    for (const effect of Object.values(effects))
      expect(errors(report([pod('a/b', 'moves', { effects: [effect] })]))).toEqual([])
    for (const verdict of VERDICTS) {
      const blocked = verdict === 'blocked' ? { budgets: ['a/b'], then: { verdict: 'moves' as const } } : {}
      expect(errors(report([pod('a/b', verdict, blocked)]))).toEqual([])
    }
  })

  it('lets later versions add fields', () => {
    expect(errors({ ...recordedCluster(), more: 1 })).toEqual([])
  })

  const one = (fields: object) => ({ ...report([]), pods: [{ ...pod('a/b', 'moves'), ...fields }] })
  it.each([
    ['a missing field', { ...recordedCluster(), notSafe: undefined }, / must have required property 'notSafe'/],
    ['another kind', { ...recordedCluster(), kind: 'Error' }, /\/kind /],
    ['an unknown verdict', one({ verdict: 'safe' }), /\/pods\/0\/verdict /],
    ['an unknown verdict in the summary', { ...report([]), summary: { safe: 1 } }, /\/summary /],
    ['a zero in the summary', { ...report([]), summary: { stuck: 0 } }, /\/summary\/stuck /],
    ['an unknown effect', one({ effects: [{ effect: 'explodes' }] }), /\/pods\/0\/effects\/0/],
    ['an effect without its fields', one({ effects: [{ effect: 'preempts' }] }), /\/pods\/0\/effects\/0 .*'node'/],
    ['an unknown flag', one({ effects: [{ effect: 'needs-flag', flag: '--now' }] }), /\/effects\/0\/flag/],
    ['a blocked pod without its budgets', one({ verdict: 'blocked' }), /'budgets'/],
    ['budgets of a pod that is not blocked', one({ budgets: ['a/b'] }), /\/pods\/0\/budgets/],
    ['uncertainty without a reason', one({ uncertain: true }), /uncertainReasons/],
    [
      'an affinity of its own',
      one({ volumes: [{ ...recordedCluster().pods[1]?.volumes[0], affinity: 'local' }] }),
      /affinity/,
    ],
  ])('refuses %s', (_, document, message) => {
    expect(errors(document).join('\n')).toMatch(message)
  })
})

describe('error.schema.json', () => {
  const errors = validator('error.schema.json')

  it('holds for real errors', () => {
    expect(errors(errorDocument(new UsageError('which nodes?', ['name them'])))).toEqual([])
    expect(errors(errorDocument(new TypeError('x is undefined')))).toEqual([])
  })

  const good = errorDocument(new UsageError('which nodes?'))
  it.each([
    ['success as a code', { ...good, code: EXIT.ok }, /\/code /],
    ['a code that is no number', { ...good, code: '2' }, /\/code /],
    ['no message', { ...good, message: undefined }, /'message'/],
    ['suggestions that are no list', { ...good, suggestions: 'none' }, /\/suggestions /],
  ])('refuses %s', (_, document, message) => {
    expect(errors(document).join('\n')).toMatch(message)
  })
})
