import { describe, expect, it } from 'vitest'
import type { CSIDriver, CSINode, VolumeAttachment } from '../../../src/cluster/objects.js'
import type { KindName, KindObjects } from '../../../src/cluster/snapshot.js'
import { volumeLimits } from '../../../src/scheduling/filters/volume-limits.js'
import { claim, node, pod, storageClass, volume } from '../../support/objects.js'
import { filterSays } from '../../support/scheduling.js'

type AnyObject = KindObjects[KindName]

const refused = 'no: node(s) exceed max volume count'
const driver = 'csi.example.com'
const limit = (count?: number, name = driver): CSINode => ({
  kind: 'CSINode',
  metadata: { name: 'n1' },
  spec: { drivers: [{ name, ...(count === undefined ? {} : { allocatable: { count } }) }] },
})
const attachment = (name: string, persistentVolumeName: string): VolumeAttachment => ({
  kind: 'VolumeAttachment',
  metadata: { name },
  spec: { attacher: driver, nodeName: 'n1', source: { persistentVolumeName } },
})
/** A claim and its CSI volume. */
const stored = (name: string, volumeHandle = name, csiDriver = driver): AnyObject[] => [
  claim(`demo/${name}`, { volumeName: `pv-${name}` }),
  volume(`pv-${name}`, { claim: `demo/${name}`, spec: { csi: { driver: csiDriver, volumeHandle } } }),
]
const using = (id: string, claims: string[], onNode?: string) =>
  pod(id, {
    node: onNode,
    spec: { volumes: claims.map((claimName) => ({ name: claimName, persistentVolumeClaim: { claimName } })) },
  })
const basics = [node('n1'), ...stored('a'), ...stored('b'), ...stored('c')]

describe('a pod with one CSI volume, on a node whose pod has one', () => {
  const holder = using('demo/q', ['a'], 'n1')
  it.each<[string, AnyObject[], string]>([
    ['room for two', [limit(2), holder], 'passes'],
    ['room for one', [limit(1), holder], refused],
    ['room for none', [limit(0)], refused],
    ['no CSINode', [holder], 'passes'],
    ['a driver without a limit', [limit(), holder], 'passes'],
    ['the limit of another driver', [limit(0, 'two.example.com'), holder], 'passes'],
    ['a finished pod holds nothing', [limit(1), { ...holder, status: { phase: 'Succeeded' } }], 'passes'],
    ['what is attached counts, though no pod uses it', [limit(1), attachment('x', 'pv-c')], refused],
    ['an attachment of a volume in use counts once', [limit(2), holder, attachment('x', 'pv-a')], 'passes'],
    ['an attachment of a volume that is gone does not count', [limit(1), attachment('x', 'pv-gone')], 'passes'],
    [
      'two attachments of one volume count once',
      [limit(2), attachment('x', 'pv-c'), attachment('y', 'pv-c')],
      'passes',
    ],
    // An attachment that was left from before counts beside the volume that the pod would bring.
    ['its own attachment', [limit(1), attachment('x', 'pv-b')], refused],
  ])('%s', (_, objects, says) => {
    expect(filterSays(volumeLimits, using('demo/p', ['b']), [...basics, ...objects])).toBe(says)
  })
})

it('until 1.31 only what pods use counts', () => {
  const objects = [...basics, limit(1), attachment('x', 'pv-c')]
  expect(filterSays(volumeLimits, using('demo/p', ['b']), objects, 'v1.31.13')).toBe('passes')
})

describe('what is counted', () => {
  it.each<[string, string[], AnyObject[], string]>([
    ['a pod without claims', [], [limit(0)], 'skip'],
    ['a volume that the node’s pod shares', ['a'], [limit(1), using('demo/q', ['a'], 'n1')], 'passes'],
    [
      'two claims with one handle are one volume',
      ['d', 'e'],
      [limit(1), ...stored('d', 'h'), ...stored('e', 'h')],
      'passes',
    ],
    ['two volumes at once', ['a', 'b'], [limit(1)], refused],
    [
      'a volume that is no CSI volume',
      ['l'],
      [limit(0), claim('demo/l', { volumeName: 'pv-l' }), volume('pv-l')],
      'passes',
    ],
    [
      'an unbound claim, by its class’s provisioner',
      ['w'],
      [limit(0), claim('demo/w', { storageClassName: 's' }), storageClass('s', { provisioner: driver })],
      refused,
    ],
    [
      'a claim whose volume is gone, by its class',
      ['g'],
      [
        limit(0),
        claim('demo/g', { volumeName: 'gone', storageClassName: 's' }),
        storageClass('s', { provisioner: driver }),
      ],
      refused,
    ],
    [
      'an unbound claim of a class that is not there',
      ['w'],
      [limit(0), claim('demo/w', { storageClassName: 's' })],
      'passes',
    ],
  ])('%s', (_, claims, objects, says) => {
    expect(filterSays(volumeLimits, using('demo/p', claims), [...basics, ...objects])).toBe(says)
  })
})

describe('a driver that must be there (preventPodSchedulingIfMissing)', () => {
  const required: CSIDriver = {
    kind: 'CSIDriver',
    metadata: { name: driver },
    spec: { preventPodSchedulingIfMissing: true },
  }
  it.each<[string, AnyObject[], string, string]>([
    ['is there', [required, limit()], 'v1.37.2', 'passes'],
    ['is not', [required], 'v1.37.2', `no: ${driver} CSI driver is not installed on the node`],
    ['is not, before 1.37', [required], 'v1.36.0', 'passes'],
    ['need not be there', [{ ...required, spec: {} }], 'v1.37.2', 'passes'],
  ])('%s', (_, objects, version, says) => {
    expect(filterSays(volumeLimits, using('demo/p', ['a']), [...basics, ...objects], version)).toBe(says)
  })
})
