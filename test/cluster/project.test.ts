import { describe, expect, it } from 'vitest'
import { KIND_NAMES } from '../../src/cluster/kinds.js'
import { matchesLabelSelector } from '../../src/cluster/labels.js'
import { Projector } from '../../src/cluster/project.js'

const meta = { name: 'x', namespace: 'n' }

describe('Projector', () => {
  it('keeps what the tool reads and drops the rest', () => {
    const projector = new Projector()
    const pod = projector.project(
      'Pod',
      {
        metadata: {
          ...meta,
          managedFields: [{}],
          labels: { a: 'b' },
          annotations: { 'kubernetes.io/config.mirror': 'm', other: 'o' },
        },
        spec: {
          nodeName: 'n1',
          containers: [
            { name: 'c', image: 'i', env: [{ name: 'SECRET', value: 's' }], resources: { requests: { cpu: '1' } } },
          ],
          volumes: [
            { name: 'v', secret: { secretName: 's' } },
            { name: 'e', emptyDir: {} },
          ],
          affinity: { podAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [{}] } },
        },
        status: { phase: 'Running', podIP: '10.0.0.1', conditions: [{ type: 'Ready', status: 'True', message: 'm' }] },
      },
      'v1',
    )
    expect(pod).toEqual({
      kind: 'Pod',
      metadata: { ...meta, labels: { a: 'b' }, annotations: { 'kubernetes.io/config.mirror': 'm' } },
      spec: {
        nodeName: 'n1',
        containers: [{ name: 'c', image: 'i', resources: { requests: { cpu: '1' } } }],
        volumes: [{ name: 'v' }, { name: 'e', emptyDir: {} }],
        affinity: { podAffinity: {} },
      },
      status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] },
    })
    expect(projector.warnings()).toEqual([])
  })

  it('tells an empty selector from none: they mean the opposite', () => {
    const projector = new Projector()
    const selectorOf = (spec: object, apiVersion = 'policy/v1'): unknown =>
      projector.project('PodDisruptionBudget', { metadata: meta, spec }, apiVersion)?.spec?.selector
    expect(selectorOf({ selector: {} })).toEqual({})
    expect(selectorOf({ selector: null })).toBeUndefined()
    expect(selectorOf({})).toBeUndefined()
    // Which in policy/v1beta1 was the other way round.
    expect(selectorOf({ selector: {} }, 'policy/v1beta1')).toBeUndefined()
    expect(selectorOf({ selector: { matchLabels: { a: 'b' } } }, 'policy/v1beta1')).toEqual({ matchLabels: { a: 'b' } })
  })

  it('puts right what can not be mistaken', () => {
    const projector = new Projector()
    expect(
      projector.project(
        'Node',
        { metadata: { name: 123, labels: { a: 1, b: true, c: null } }, spec: { unschedulable: 'yes' } },
        'v1',
      ),
    ).toEqual({
      kind: 'Node',
      metadata: { name: '123', labels: { a: '1', b: 'true', c: '' } },
      spec: { unschedulable: true },
    })
    expect(
      projector.project('PriorityClass', { metadata: { name: 'p' }, value: '1000' }, 'scheduling.k8s.io/v1')?.value,
    ).toBe(1000)
    expect(projector.warnings()).toEqual([
      'Node 123 and 1 more: values of a wrong type in it were converted or passed over',
    ])
  })

  it('a requirement that lost its operator or key matches nothing rather than everything', () => {
    const budget = new Projector().project(
      'PodDisruptionBudget',
      { metadata: meta, spec: { selector: { matchExpressions: [{ key: 'a', operator: ['Exists'] }] } } },
      'policy/v1',
    )
    expect(matchesLabelSelector(budget?.spec?.selector, { a: 'b' })).toBe(false)
  })

  it('leaves out what has no name', () => {
    const projector = new Projector()
    for (const raw of [
      null,
      undefined,
      'text',
      7,
      [],
      {},
      { metadata: null },
      { metadata: [] },
      { metadata: {} },
      { metadata: { name: '' } },
    ]) {
      expect(projector.project('Pod', raw, 'v1')).toBeNull()
      expect(projector.projectOwner('apps/v1', 'Deployment', raw)).toBeNull()
    }
    expect(projector.warnings()).toEqual(['20 objects without a name passed over'])
  })

  it('keeps labels with any key, as nothing but labels', () => {
    const raw: unknown = JSON.parse('{"metadata":{"name":"x","labels":{"__proto__":"p","constructor":"c"}}}')
    const labels = new Projector().project('Namespace', raw, 'v1')?.metadata.labels ?? {}
    expect(Object.entries(labels)).toEqual([
      ['__proto__', 'p'],
      ['constructor', 'c'],
    ])
    expect(Object.getPrototypeOf(labels)).toBe(Object.prototype)
  })

  it('keeps of an owner that it exists, who owns it, and a little of its spec', () => {
    const owner = new Projector().projectOwner('db.example.com/v1', 'Cluster', {
      metadata: {
        ...meta,
        uid: 'u',
        ownerReferences: [{ apiVersion: 'a/v1', kind: 'K', name: 'k', uid: 'v', controller: true }],
      },
      spec: { replicas: { weird: true }, suspend: true, secret: 's' },
      status: {},
    })
    expect(owner).toEqual({
      apiVersion: 'db.example.com/v1',
      kind: 'Cluster',
      metadata: {
        ...meta,
        uid: 'u',
        ownerReferences: [{ apiVersion: 'a/v1', kind: 'K', name: 'k', uid: 'v', controller: true }],
      },
      spec: { suspend: true },
    })
  })

  // Every place of every kind, filled with every wrong thing: nothing may be thrown, and every value must have the type it claims.
  it.each(KIND_NAMES)('bears any nonsense in a %s', (kind) => {
    const nonsense = [
      null,
      0,
      1e99,
      '',
      'x',
      true,
      [],
      [null],
      [[]],
      ['x'],
      {},
      { a: null },
      { a: [] },
      [{}],
      [{ name: 1 }],
    ]
    const keys = [
      ...['spec', 'status', 'containers', 'volumes', 'affinity', 'nodeAffinity', 'podAffinity', 'required'],
      ...[
        'requiredDuringSchedulingIgnoredDuringExecution',
        'nodeSelectorTerms',
        'matchExpressions',
        'values',
        'labelSelector',
      ],
      ...[
        'resources',
        'requests',
        'taints',
        'conditions',
        'drivers',
        'allocatable',
        'selector',
        'claimRef',
        'csi',
        'parameters',
      ],
      ...[
        'allowedTopologies',
        'matchLabelExpressions',
        'ownerReferences',
        'labels',
        'annotations',
        'ephemeral',
        'volumeClaimTemplate',
      ],
    ]
    for (const value of nonsense) {
      const level = Object.fromEntries(keys.map((key) => [key, value]))
      const second = Object.fromEntries(keys.map((key) => [key, level]))
      const third = Object.fromEntries(keys.map((key) => [key, [second]]))
      for (const content of [level, second, third]) {
        const projected = new Projector().project(kind, { ...content, metadata: { ...content, name: 'x' } }, 'v1')
        expect(projected?.metadata.name).toBe('x')
        for (const label of Object.values(projected?.metadata.labels ?? {})) expect(typeof label).toBe('string')
      }
    }
  })
})
