import { describe, expect, it } from 'vitest'
import type { Pod, PodDisruptionBudget } from '../../../src/cluster/objects.js'
import { BudgetPlay } from '../../../src/drain/rules/budgets.js'
import { budget, pod } from '../../support/objects.js'

const labels = { app: 'web' }
const web = (name: string, rest: Parameters<typeof pod>[1] = {}): Pod =>
  pod(`demo/${name}`, { node: 'a', labels, ...rest })
const allows = (disruptionsAllowed: number, healthy = 2): PodDisruptionBudget =>
  budget('demo/web', labels, {
    disruptionsAllowed,
    currentHealthy: healthy,
    desiredHealthy: healthy - disruptionsAllowed,
    expectedPods: healthy,
  })

type Asked = [one: Pod, comesBack: boolean]

/** What becomes of each pod, in the words `goes`, `waits after …` and `held by …`. */
function play(budgets: PodDisruptionBudget[], nodes: Asked[][], others: Pod[] = []): Record<string, string> {
  const game = new BudgetPlay(budgets, [...nodes.flat().map(([one]) => one), ...others])
  const said: Record<string, string> = {}
  for (const asked of nodes) {
    for (const [key, result] of game.drain(asked.map(([one, comesBack]) => ({ pod: one, comesBack })))) {
      const short = (id: string) => id.replace('demo/', '')
      if (result.result === 'blocked') said[short(key)] = `held by ${result.budgets.join(' and ')}`
      else
        said[short(key)] =
          result.waits === null
            ? 'goes'
            : `waits for ${result.waits.budget} after ${result.waits.after.map(short).join(' and ')}`
    }
  }
  return said
}

describe('a budget', () => {
  it.each([
    {
      holds: 'that allows none holds a ready pod',
      budgets: [allows(0)],
      asked: [[web('a'), true]],
      said: { a: 'held by web' },
    },
    { holds: 'that allows one lets one go', budgets: [allows(1)], asked: [[web('a'), true]], said: { a: 'goes' } },
    {
      holds: 'lets the next go when the first is back',
      budgets: [allows(1)],
      asked: [
        [web('a'), true],
        [web('b'), true],
        [web('c'), true],
      ],
      said: { a: 'goes', b: 'waits for web after a', c: 'waits for web after b' },
    },
    {
      holds: 'takes a pod that does not come back for good',
      budgets: [allows(1)],
      asked: [
        [web('a'), false],
        [web('b'), false],
      ],
      said: { a: 'goes', b: 'held by web' },
    },
    {
      holds: 'lets the pod that comes back go first',
      budgets: [allows(1)],
      asked: [
        [web('a'), false],
        [web('b'), true],
      ],
      said: { b: 'goes', a: 'waits for web after b' },
    },
    {
      holds: 'never holds a pod that is Pending, finished or being deleted',
      budgets: [allows(0)],
      asked: [
        [web('a', { phase: 'Pending', ready: false }), false],
        [web('b', { phase: 'Failed', ready: false }), false],
        [web('c', { deleting: true }), false],
      ],
      said: { a: 'goes', b: 'goes', c: 'goes' },
    },
    {
      holds: 'of another namespace does not matter',
      budgets: [{ ...allows(0), metadata: { name: 'web', namespace: 'other' } }],
      asked: [[web('a'), true]],
      said: { a: 'goes' },
    },
    {
      holds: 'whose selector is empty covers every pod of its namespace',
      budgets: [{ ...allows(0), spec: { selector: {} } }],
      asked: [[web('a'), true]],
      said: { a: 'held by web' },
    },
    {
      holds: 'without selector covers none',
      budgets: [{ ...allows(0), spec: {} }],
      asked: [[web('a'), true]],
      said: { a: 'goes' },
    },
    {
      holds: 'beside another is an error for the eviction API, whatever they allow',
      budgets: [allows(2), { ...allows(2), metadata: { name: 'also', namespace: 'demo' } }],
      asked: [[web('a'), true]],
      said: { a: 'held by also and web' },
    },
  ] as { holds: string; budgets: PodDisruptionBudget[]; asked: Asked[]; said: Record<string, string> }[])(
    '$holds',
    ({ budgets, asked, said }) => {
      expect(play(budgets, [asked])).toEqual(said)
    },
  )

  it('may hold a pod that comes back, if one that does not happens to go first', () => {
    const [free, pinned] = [web('free'), web('pinned')]
    const results = new BudgetPlay([allows(1)], [free, pinned]).drain([
      { pod: free, comesBack: true },
      { pod: pinned, comesBack: false },
    ])
    expect(results.get('demo/free')).toEqual({ result: 'evicted', waits: null, mayBeHeldBy: 'web' })
    const enough = new BudgetPlay([allows(2)], [free, pinned]).drain([
      { pod: free, comesBack: true },
      { pod: pinned, comesBack: false },
    ])
    expect(enough.get('demo/free')).toMatchObject({ mayBeHeldBy: null })
  })

  it('counts anew when the disruption controller has not looked at it as it is now', () => {
    const stale: PodDisruptionBudget = {
      ...budget(
        'demo/web',
        labels,
        { disruptionsAllowed: 1, currentHealthy: 2, desiredHealthy: 1, expectedPods: 2, observedGeneration: 1 },
        { minAvailable: 2 },
      ),
    }
    const changed = { ...stale, metadata: { ...stale.metadata, generation: 2 } }
    const asked: Asked[] = [[web('a'), true]]
    expect(play([changed], [asked], [web('b', { node: 'b' })])).toEqual({ a: 'held by web' })
    expect(play([stale], [asked], [web('b', { node: 'b' })])).toEqual({ a: 'goes' })
  })

  it('is given back between nodes', () => {
    expect(play([allows(1)], [[[web('a'), true]], [[web('b'), true]]])).toEqual({
      a: 'goes',
      b: 'waits for web after a',
    })
  })
})

describe('pods that are not ready', () => {
  const sick = web('sick', { ready: false })
  const status = (currentHealthy: number, desiredHealthy: number) => ({
    disruptionsAllowed: Math.max(0, currentHealthy - desiredHealthy),
    currentHealthy,
    desiredHealthy,
    expectedPods: 3,
  })

  it.each([
    { holds: 'go while enough others are healthy', policy: undefined, healthy: 2, desired: 2, said: 'goes' },
    { holds: 'are held while too few are healthy', policy: undefined, healthy: 1, desired: 2, said: 'held by web' },
    {
      holds: 'are held by IfHealthyBudget, too',
      policy: 'IfHealthyBudget',
      healthy: 1,
      desired: 2,
      said: 'held by web',
    },
    { holds: 'always go with AlwaysAllow', policy: 'AlwaysAllow', healthy: 0, desired: 2, said: 'goes' },
    {
      holds: 'are held when the budget wants none and allows none',
      policy: undefined,
      healthy: 0,
      desired: 0,
      said: 'held by web',
    },
  ])('$holds', ({ policy, healthy, desired, said }) => {
    const one = budget(
      'demo/web',
      labels,
      status(healthy, desired),
      policy === undefined ? {} : { unhealthyPodEvictionPolicy: policy },
    )
    expect(play([one], [[[sick, true]]])).toEqual({ sick: said })
  })

  it('come back ready and let another go', () => {
    const one = budget('demo/web', labels, status(2, 2))
    const said = play(
      [one],
      [
        [
          [sick, true],
          [web('well'), true],
        ],
      ],
    )
    expect(said).toEqual({ sick: 'goes', well: 'waits for web after sick' })
  })
})

describe('a budget without status', () => {
  const others = [web('x', { node: 'b' }), web('y', { node: 'b' }), web('z', { node: 'b', ready: false })]
  it.each([
    { spec: { minAvailable: 3 }, said: 'held by web' },
    { spec: { minAvailable: 2 }, said: 'goes' },
    { spec: { minAvailable: '75%' }, said: 'held by web' },
    { spec: { minAvailable: '50%' }, said: 'goes' },
    { spec: { maxUnavailable: 1 }, said: 'held by web' },
    { spec: { maxUnavailable: 2 }, said: 'goes' },
    { spec: { maxUnavailable: '30%' }, said: 'goes' },
    { spec: { maxUnavailable: '25%' }, said: 'held by web' },
  ])('counts: $spec with 3 of 4 healthy, $said', ({ spec, said }) => {
    expect(play([budget('demo/web', labels, undefined, spec)], [[[web('a'), true]]], others)).toEqual({ a: said })
  })
})
