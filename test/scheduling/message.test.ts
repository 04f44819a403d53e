import { describe, expect, it } from 'vitest'
import { resolvable, unresolvable } from '../../src/scheduling/filter.js'
import { type Diagnosis, fitError } from '../../src/scheduling/message.js'
import { claim, node, pod, storageClass } from '../support/objects.js'
import { schedulerSays } from '../support/scheduling.js'

describe('the words', () => {
  const diagnosis = (rest: Partial<Diagnosis>): Diagnosis => ({
    nodes: 3,
    preFilter: null,
    rejections: [],
    others: null,
    ...rest,
  })
  it.each<[string, Partial<Diagnosis>, string, string]>([
    ['nothing to say', {}, '', '0/3 nodes are available:'],
    ['nothing but what comes after', {}, 'preemption: x', '0/3 nodes are available: preemption: x'],
    ['before any node', { preFilter: 'no claim' }, '', '0/3 nodes are available: no claim.'],
    [
      'before any node, and after',
      { preFilter: 'no claim' },
      'not found',
      '0/3 nodes are available: no claim. not found',
    ],
    [
      'equal reasons are counted',
      { rejections: [resolvable('a'), unresolvable('a'), resolvable('b')] },
      '',
      '0/3 nodes are available: 1 b, 2 a.',
    ],
    [
      'a node counts once for each of its reasons',
      { rejections: [resolvable('a', 'b')] },
      '',
      '0/3 nodes are available: 1 a, 1 b.',
    ],
    [
      'nodes that were not looked at',
      { rejections: [resolvable('a')], others: 'left out' },
      '',
      '0/3 nodes are available: 1 a, 2 left out.',
    ],
    [
      'they add to the same reason',
      { rejections: [resolvable('a')], others: 'a' },
      '',
      '0/3 nodes are available: 3 a.',
    ],
  ])('%s', (_, rest, after, text) => {
    expect(fitError(diagnosis(rest), after)).toBe(text)
  })

  it('sorts as text, so that 10 comes before 2', () => {
    const rejections = [...Array.from({ length: 10 }, () => resolvable('b')), resolvable('a'), resolvable('a')]
    expect(fitError(diagnosis({ nodes: 12, rejections }), '')).toBe('0/12 nodes are available: 10 b, 2 a.')
  })
})

describe('the whole attempt', () => {
  it('without nodes', () => {
    expect(schedulerSays(pod('demo/p'), []).message).toBe('no nodes available to schedule pods')
  })

  it('of a pod that is held back', () => {
    expect(schedulerSays(pod('demo/p', { spec: { schedulingGates: [{ name: 'x' }] } }), [node('n1')]).message).toBe(
      'Scheduling is blocked due to non-empty scheduling gates',
    )
  })

  const missing = pod('demo/p', { spec: { volumes: [{ name: 'd', persistentVolumeClaim: { claimName: 'c' } }] } })
  it.each([
    // Preemption is not tried: DynamicResources stands before it and finds nothing of what it would have left.
    ['v1.34.4', '0/1 nodes are available: persistentvolumeclaim "c" not found. not found'],
    [
      'v1.33.0',
      '0/1 nodes are available: persistentvolumeclaim "c" not found. preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.',
    ],
  ])('of a pod that no node is asked about, in %s', (version, message) => {
    expect(schedulerSays(missing, [node('n1')], version).message).toBe(message)
  })

  it('until 1.33 a pod that may not preempt says so after any refusal', () => {
    const polite = { ...missing, spec: { ...missing.spec, preemptionPolicy: 'Never' } }
    expect(schedulerSays(polite, [node('n1')], 'v1.33.0').message).toBe(
      '0/1 nodes are available: persistentvolumeclaim "c" not found. preemption: not eligible due to preemptionPolicy=Never.',
    )
  })

  it.each([
    ['v1.36.0', 'no new claims to deallocate, preemption: '],
    ['v1.37.2', 'preemption: '],
    ['v1.33.0', 'preemption: '],
  ])('what %s says of a pod that nothing helps', (version, after) => {
    const objects = [node('n1', { spec: { unschedulable: true } }), storageClass('s'), claim('demo/c')]
    expect(schedulerSays(pod('demo/p'), objects, version).message).toBe(
      `0/1 nodes are available: 1 node(s) were unschedulable. ${after}0/1 nodes are available: 1 Preemption is not helpful for scheduling.`,
    )
  })
})
