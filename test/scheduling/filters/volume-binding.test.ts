import { describe, expect, it } from 'vitest'
import type {
  CSIDriver,
  CSIStorageCapacity,
  ObjectMeta,
  PersistentVolumeClaim,
  PersistentVolumeClaimSpec,
} from '../../../src/cluster/objects.js'
import type { KindName, KindObjects } from '../../../src/cluster/snapshot.js'
import { volumeBinding } from '../../../src/scheduling/filters/volume-binding.js'
import { claim, node, pod, storageClass, volume } from '../../support/objects.js'
import { filterSays } from '../../support/scheduling.js'

type AnyObject = KindObjects[KindName]

const elsewhere = "never: node(s) didn't match PersistentVolume's node affinity"
const nothingToBind = "never: node(s) didn't find available persistent volumes to bind"
const noSpace = 'never: node(s) did not have enough free storage'
const zone = 'topology.kubernetes.io/zone'
const using = (...claims: string[]) =>
  pod('demo/p', {
    spec: { volumes: claims.map((claimName) => ({ name: claimName, persistentVolumeClaim: { claimName } })) },
  })
const nodes = [node('n1', { labels: { [zone]: 'za' } }), node('n2', { labels: { [zone]: 'zb' } })]

describe('a bound claim', () => {
  const bound = claim('demo/c', { volumeName: 'v' })
  const on = (...hosts: string[]) => volume('v', { on: hosts, claim: 'demo/c' })
  it.each<[string, AnyObject[], string]>([
    ['whose volume is free', [bound, volume('v', { claim: 'demo/c' })], 'passes'],
    ['whose volume is on the node', [bound, on('n1')], 'passes'],
    ['whose volume is on this or another', [bound, on('n2', 'n1')], 'passes'],
    ['whose volume is on another', [bound, on('n2')], elsewhere],
    ['whose volume is on none', [bound, on('gone')], elsewhere],
    [
      'whose volume is missing',
      [bound],
      'never: node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)',
    ],
    [
      'that is lost',
      [{ ...bound, status: { phase: 'Lost' } }],
      'no node: persistentvolumeclaim "c" bound to non-existent persistentvolume "v"',
    ],
    [
      'that is being deleted',
      [claim('demo/c', { volumeName: 'v' }, { deletionTimestamp: '2026-01-01T00:00:00Z' })],
      'no node: persistentvolumeclaim "c" is being deleted',
    ],
    ['that is missing', [], 'no node: persistentvolumeclaim "c" not found'],
  ])('%s', (_, objects, says) => {
    expect(filterSays(volumeBinding, using('c'), [...nodes, ...objects])).toBe(says)
  })

  it('is worded otherwise until 1.32', () => {
    expect(filterSays(volumeBinding, using('c'), [...nodes, bound, on('n2')], 'v1.32.0')).toBe(
      'never: node(s) had volume node affinity conflict',
    )
  })

  it('a volume’s affinity is matched with labels only: the names of its terms are passed over', () => {
    const named = (operator: string, ...values: string[]) =>
      volume('v', {
        spec: {
          nodeAffinity: {
            required: { nodeSelectorTerms: [{ matchFields: [{ key: 'metadata.name', operator, values }] }] },
          },
        },
      })
    expect(filterSays(volumeBinding, using('c'), [...nodes, bound, named('In', 'n2')])).toBe('passes')
    expect(filterSays(volumeBinding, using('c'), [...nodes, bound, named('In', 'n1', 'n2')])).toBe(elsewhere)
  })
})

describe('a claim that is not bound', () => {
  const classes = [
    storageClass('now', { volumeBindingMode: 'Immediate' }),
    storageClass('static', { provisioner: 'kubernetes.io/no-provisioner' }),
  ]
  const immediate = 'no node: pod has unbound immediate PersistentVolumeClaims'
  it.each<[string, PersistentVolumeClaimSpec, string]>([
    ['of a class that binds at once', { storageClassName: 'now' }, immediate],
    ['of no class', {}, immediate],
    ['of a class that is missing', { storageClassName: 'gone' }, immediate],
    ['of a class that waits', { storageClassName: 'static' }, nothingToBind],
  ])('%s', (_, spec, says) => {
    expect(filterSays(volumeBinding, using('c'), [...nodes, ...classes, claim('demo/c', spec)])).toBe(says)
  })

  it('of a class that waits, but which names its volume already', () => {
    const named = claim('demo/c', { storageClassName: 'static', volumeName: 'v' }, { annotations: {} })
    expect(filterSays(volumeBinding, using('c'), [...nodes, ...classes, named, volume('v')])).toBe(immediate)
  })

  it('by the old annotation of its class', () => {
    const old: Partial<ObjectMeta> = { annotations: { 'volume.beta.kubernetes.io/storage-class': 'static' } }
    expect(
      filterSays(volumeBinding, using('c'), [...nodes, ...classes, claim('demo/c', { storageClassName: 'now' }, old)]),
    ).toBe(nothingToBind)
  })
})

describe('a volume to bind', () => {
  const waits = storageClass('static', { provisioner: 'kubernetes.io/no-provisioner' })
  const free = (
    name: string,
    spec = {},
    rest: { on?: string[]; phase?: string; labels?: Record<string, string> } = {},
  ) =>
    volume(name, {
      phase: 'Available',
      on: ['n1'],
      ...rest,
      spec: { storageClassName: 'static', hostPath: { path: `/srv/${name}` }, ...spec },
    })
  const wants = (spec: PersistentVolumeClaimSpec = {}) => claim('demo/c', { storageClassName: 'static', ...spec })
  const five = { resources: { requests: { storage: '5Gi' } } }
  it.each<[string, AnyObject[], string]>([
    ['that fits', [wants(), free('v')], 'passes'],
    ['on another node', [wants(), free('v', {}, { on: ['n2'] })], nothingToBind],
    ['that is too small', [wants(five), free('v')], nothingToBind],
    ['that is larger', [wants(), free('v', { capacity: { storage: '10Gi' } })], 'passes'],
    ['of another class', [wants(), free('v', { storageClassName: 'other' })], nothingToBind],
    ['of another volume mode', [wants({ volumeMode: 'Block' }), free('v')], nothingToBind],
    ['no mode is Filesystem', [wants({ volumeMode: 'Filesystem' }), free('v')], 'passes'],
    [
      'without one of the access modes',
      [wants({ accessModes: ['ReadWriteOnce', 'ReadOnlyMany'] }), free('v')],
      nothingToBind,
    ],
    [
      'that the selector takes',
      [wants({ selector: { matchLabels: { tier: 'gold' } } }), free('v', {}, { labels: { tier: 'gold' } })],
      'passes',
    ],
    [
      'that the selector does not take',
      [wants({ selector: { matchLabels: { tier: 'gold' } } }), free('v')],
      nothingToBind,
    ],
    ['that is Released', [wants(), free('v', {}, { phase: 'Released' })], nothingToBind],
    ['of another claim', [wants(), free('v', { claimRef: { namespace: 'demo', name: 'd' } })], nothingToBind],
    [
      'kept for the claim by name, though not Available',
      [wants(), free('v', { claimRef: { namespace: 'demo', name: 'c' } }, { phase: 'Pending' })],
      'passes',
    ],
    [
      'kept for the claim by uid',
      [wants(), free('v', { claimRef: { namespace: 'demo', name: 'c', uid: 'uid-demo/c' } })],
      'passes',
    ],
    [
      'kept for an earlier claim of that name',
      [wants(), free('v', { claimRef: { namespace: 'demo', name: 'c', uid: 'old' } })],
      nothingToBind,
    ],
    [
      'kept for the claim, on another node',
      [wants(), free('v', { claimRef: { namespace: 'demo', name: 'c' } }, { on: ['n2'] }), free('w')],
      nothingToBind,
    ],
    [
      'that is being deleted',
      [wants(), { ...free('v'), metadata: { name: 'v', deletionTimestamp: '2026-01-01T00:00:00Z' } }],
      nothingToBind,
    ],
    [
      'with another volumeAttributesClassName',
      [wants({ volumeAttributesClassName: 'fast' }), free('v')],
      nothingToBind,
    ],
    [
      'where a provisioner has been told of this node',
      [
        claim(
          'demo/c',
          { storageClassName: 'static' },
          { annotations: { 'volume.kubernetes.io/selected-node': 'n1' } },
        ),
        free('v'),
      ],
      nothingToBind,
    ],
  ])('%s', (_, objects, says) => {
    expect(filterSays(volumeBinding, using('c'), [...nodes, waits, ...objects])).toBe(says)
  })

  it.each<[string, PersistentVolumeClaim[], string]>([
    [
      'the small claim takes the small volume, whatever the order',
      [claim('demo/c', { storageClassName: 'static', ...five }), claim('demo/d', { storageClassName: 'static' })],
      'passes',
    ],
    [
      'two large claims need two large volumes',
      [
        claim('demo/c', { storageClassName: 'static', ...five }),
        claim('demo/d', { storageClassName: 'static', ...five }),
      ],
      nothingToBind,
    ],
  ])('%s', (_, claims, says) => {
    const volumes = [free('large', { capacity: { storage: '5Gi' } }), free('small')]
    expect(filterSays(volumeBinding, using('c', 'd'), [...nodes, waits, ...volumes, ...claims])).toBe(says)
    expect(filterSays(volumeBinding, using('d', 'c'), [...nodes, waits, ...volumes, ...claims])).toBe(says)
  })
})

it('a claim that the pod names twice needs two volumes', () => {
  const volumes = [{ name: 'a' }, { name: 'b' }].map(({ name }) => ({
    name,
    persistentVolumeClaim: { claimName: 'c' },
  }))
  const objects = [
    ...nodes,
    storageClass('static', { provisioner: 'kubernetes.io/no-provisioner' }),
    claim('demo/c', { storageClassName: 'static' }),
    volume('v', { phase: 'Available', spec: { storageClassName: 'static', hostPath: { path: '/v' } } }),
  ]
  expect(filterSays(volumeBinding, pod('demo/p', { spec: { volumes } }), objects)).toBe(nothingToBind)
})

describe('a volume to be provisioned', () => {
  const selected = (name: string) => ({ annotations: { 'volume.kubernetes.io/selected-node': name } })
  const inZones = (...values: string[]) => ({ matchLabelExpressions: [{ key: zone, values }] })
  const wants = (meta = {}) =>
    claim('demo/c', { storageClassName: 'csi', resources: { requests: { storage: '5Gi' } } }, meta)
  const csi = (rest = {}) => storageClass('csi', { provisioner: 'csi.example.com', ...rest })
  const driver: CSIDriver = {
    kind: 'CSIDriver',
    metadata: { name: 'csi.example.com' },
    spec: { storageCapacity: true },
  }
  const space = (rest: Partial<CSIStorageCapacity>): CSIStorageCapacity => ({
    kind: 'CSIStorageCapacity',
    metadata: { name: 'space', namespace: 'csi' },
    storageClassName: 'csi',
    nodeTopology: { matchLabels: { [zone]: 'za' } },
    ...rest,
  })
  it.each<[string, AnyObject[], string]>([
    ['anywhere', [wants(), csi()], 'passes'],
    ['in the node’s zone', [wants(), csi({ allowedTopologies: [inZones('zb'), inZones('za')] })], 'passes'],
    ['in another zone', [wants(), csi({ allowedTopologies: [inZones('zb')] })], nothingToBind],
    ['in a topology without expressions', [wants(), csi({ allowedTopologies: [{}] })], nothingToBind],
    ['on the node that was chosen before', [wants(selected('n1')), csi()], 'passes'],
    ['on another node that was chosen before', [wants(selected('n2')), csi()], nothingToBind],
    ['by a driver that does not publish its space', [wants(), csi(), { ...driver, spec: {} }], 'passes'],
    ['by a driver that publishes none', [wants(), csi(), driver], noSpace],
    ['with space enough', [wants(), csi(), driver, space({ capacity: '5Gi' })], 'passes'],
    ['with too little space', [wants(), csi(), driver, space({ capacity: '4Gi' })], noSpace],
    [
      'with space in another zone',
      [wants(), csi(), driver, space({ capacity: '9Gi', nodeTopology: { matchLabels: { [zone]: 'zb' } } })],
      noSpace,
    ],
    ['with space nowhere', [wants(), csi(), driver, space({ capacity: '9Gi', nodeTopology: undefined })], noSpace],
    ['with space everywhere', [wants(), csi(), driver, space({ capacity: '9Gi', nodeTopology: {} })], 'passes'],
    [
      'with space of another class',
      [wants(), csi(), driver, space({ capacity: '9Gi', storageClassName: 'x' })],
      noSpace,
    ],
    [
      'larger than the largest volume',
      [wants(), csi(), driver, space({ capacity: '9Gi', maximumVolumeSize: '1Gi' })],
      noSpace,
    ],
    [
      'as large as the largest volume',
      [wants(), csi(), driver, space({ capacity: '1Gi', maximumVolumeSize: '5Gi' })],
      'passes',
    ],
    ['with an unknown capacity', [wants(), csi(), driver, space({})], noSpace],
  ])('%s', (_, objects, says) => {
    expect(filterSays(volumeBinding, using('c'), [...nodes, ...objects])).toBe(says)
  })

  it('the first claim that can’t be had gives the reason, those with a chosen node first', () => {
    const zonal = storageClass('zonal', { provisioner: 'x', allowedTopologies: [inZones('zb')] })
    const told = claim(
      'demo/d',
      { storageClassName: 'zonal', resources: { requests: { storage: '9Gi' } } },
      selected('n1'),
    )
    const objects = [...nodes, csi(), zonal, driver, wants(), told]
    expect(filterSays(volumeBinding, using('c', 'd'), objects)).toBe(nothingToBind)
    const untold = claim('demo/d', { storageClassName: 'zonal', resources: { requests: { storage: '9Gi' } } })
    expect(filterSays(volumeBinding, using('c', 'd'), [...objects.slice(0, -1), untold])).toBe(noSpace)
  })
})

describe('a generic ephemeral volume', () => {
  const p = pod('demo/p', { spec: { volumes: [{ name: 'scratch', ephemeral: {} }] } })
  it('waits for its claim', () => {
    expect(filterSays(volumeBinding, p, nodes)).toBe(
      'no node: waiting for ephemeral volume controller to create the persistentvolumeclaim "p-scratch"',
    )
  })

  it('is a claim like any other then', () => {
    const objects = [claim('demo/p-scratch', { storageClassName: 'csi' }), storageClass('csi')]
    expect(filterSays(volumeBinding, p, [...nodes, ...objects])).toBe('passes')
  })
})

it('a pod without claims is passed over', () => {
  expect(filterSays(volumeBinding, pod('demo/p', { spec: { volumes: [{ name: 'x', emptyDir: {} }] } }), nodes)).toBe(
    'skip',
  )
})
