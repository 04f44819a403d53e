import { describe, expect, it } from 'vitest'
import type { PersistentVolumeClaim } from '../../../src/cluster/objects.js'
import { volumeZone } from '../../../src/scheduling/filters/volume-zone.js'
import { claim, node, pod, storageClass, volume } from '../../support/objects.js'
import { filterSays } from '../../support/scheduling.js'

const refused = 'never: node(s) had no available volume zone'
const zone = 'topology.kubernetes.io/zone'
const region = 'topology.kubernetes.io/region'
const oldZone = 'failure-domain.beta.kubernetes.io/zone'
const p = pod('demo/p', { spec: { volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'c' } }] } })

describe('a volume that is labelled', () => {
  it.each<[string, Record<string, string>, Record<string, string>, string]>([
    ['with no zone', { app: 'db' }, { [zone]: 'za' }, 'skip'],
    ['with the node’s zone', { [zone]: 'za' }, { [zone]: 'za' }, 'passes'],
    ['with another zone', { [zone]: 'za' }, { [zone]: 'zb' }, refused],
    ['with several zones', { [zone]: 'za__zb' }, { [zone]: 'zb' }, 'passes'],
    ['with an empty zone, which makes the label void', { [zone]: '' }, { [zone]: 'zb' }, 'skip'],
    ['with a zone, where the node has no topology at all', { [zone]: 'za' }, {}, 'passes'],
    ['with a zone, where the node only has a region', { [zone]: 'za' }, { [region]: 'r' }, refused],
    [
      'with zone and region, of which one differs',
      { [zone]: 'za', [region]: 'r' },
      { [zone]: 'za', [region]: 's' },
      refused,
    ],
    ['by the old label, on a node with the old one', { [oldZone]: 'za' }, { [oldZone]: 'za' }, 'passes'],
    ['by the old label, on a node with the new one', { [oldZone]: 'za' }, { [zone]: 'za' }, 'passes'],
    ['by the new label, on a node with the old one', { [zone]: 'za' }, { [oldZone]: 'za' }, refused],
  ])('%s', (_, volumeLabels, nodeLabels, says) => {
    const objects = [
      node('n1', { labels: nodeLabels }),
      claim('demo/c', { volumeName: 'v' }),
      volume('v', { labels: volumeLabels, claim: 'demo/c' }),
    ]
    expect(filterSays(volumeZone, p, objects)).toBe(says)
  })
})

describe('a claim', () => {
  it.each<[string, PersistentVolumeClaim[], string]>([
    ['that is not there', [], 'no node: persistentvolumeclaim "c" not found'],
    ['whose volume is not there', [claim('demo/c', { volumeName: 'v' })], 'no node: persistentvolume "v" not found'],
    ['that waits for the pod', [claim('demo/c', { storageClassName: 'waits' })], 'skip'],
    [
      'that should be bound by now',
      [claim('demo/c', { storageClassName: 'now' })],
      'no node: PersistentVolume had no name',
    ],
    ['of no class', [claim('demo/c')], 'no node: PersistentVolumeClaim had no pv name and storageClass name'],
    [
      'of a class that is not there',
      [claim('demo/c', { storageClassName: 'x' })],
      'no node: storageclass.storage.k8s.io "x" not found',
    ],
  ])('%s', (_, claims, says) => {
    const classes = [storageClass('waits'), storageClass('now', { volumeBindingMode: 'Immediate' })]
    expect(filterSays(volumeZone, p, [node('n1'), ...classes, ...claims])).toBe(says)
  })
})
