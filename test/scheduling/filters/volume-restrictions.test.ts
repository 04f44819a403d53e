import { describe, expect, it } from 'vitest'
import type { PodVolume } from '../../../src/cluster/objects.js'
import { volumeRestrictions } from '../../../src/scheduling/filters/volume-restrictions.js'
import { claim, node, pod } from '../../support/objects.js'
import { filterSays } from '../../support/scheduling.js'

const noDisk = 'no: node(s) had no available disk'
const inUse =
  'no: node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod'
const using = (id: string, volumes: Omit<PodVolume, 'name'>[], onNode?: string) =>
  pod(id, { node: onNode, spec: { volumes: volumes.map((volume, i) => ({ name: `v${i}`, ...volume })) } })
const ofClaim = (claimName: string) => ({ persistentVolumeClaim: { claimName } })

describe('inline disks that one pod of a node may have', () => {
  const rbd = (monitors: string[], rest = {}) => ({ rbd: { monitors, image: 'i', ...rest } })
  it.each<[string, Omit<PodVolume, 'name'>, Omit<PodVolume, 'name'>, string]>([
    ['a GCE disk', { gcePersistentDisk: { pdName: 'd' } }, { gcePersistentDisk: { pdName: 'd' } }, noDisk],
    ['another GCE disk', { gcePersistentDisk: { pdName: 'd' } }, { gcePersistentDisk: { pdName: 'e' } }, 'passes'],
    [
      'a GCE disk that both only read',
      { gcePersistentDisk: { pdName: 'd', readOnly: true } },
      { gcePersistentDisk: { pdName: 'd', readOnly: true } },
      'passes',
    ],
    [
      'a GCE disk that one of them writes',
      { gcePersistentDisk: { pdName: 'd', readOnly: true } },
      { gcePersistentDisk: { pdName: 'd' } },
      noDisk,
    ],
    [
      'an EBS volume, even when both only read',
      { awsElasticBlockStore: { volumeID: 'e', readOnly: true } },
      { awsElasticBlockStore: { volumeID: 'e', readOnly: true } },
      noDisk,
    ],
    ['an iSCSI target, whatever its LUN', { iscsi: { iqn: 'q', lun: 0 } }, { iscsi: { iqn: 'q', lun: 1 } }, noDisk],
    [
      'an iSCSI target that both only read',
      { iscsi: { iqn: 'q', readOnly: true } },
      { iscsi: { iqn: 'q', readOnly: true } },
      'passes',
    ],
    ['an RBD image with a monitor in common', rbd(['a', 'b']), rbd(['b', 'c']), noDisk],
    ['an RBD image of another cluster', rbd(['a']), rbd(['b']), 'passes'],
    ['an RBD image of another pool', rbd(['a'], { pool: 'kube' }), rbd(['a']), 'passes'],
    ['the pool is rbd when none is named', rbd(['a'], { pool: 'rbd' }), rbd(['a']), noDisk],
    [
      'a disk of another kind',
      { gcePersistentDisk: { pdName: 'd' } },
      { awsElasticBlockStore: { volumeID: 'd' } },
      'passes',
    ],
    ['no disk of these kinds', { hostPath: { path: '/d' } }, { hostPath: { path: '/d' } }, 'skip'],
  ])('%s', (_, wanted, held, says) => {
    expect(
      filterSays(volumeRestrictions, using('demo/p', [wanted]), [node('n1'), using('other/q', [held], 'n1')]),
    ).toBe(says)
  })
})

describe('a claim with ReadWriteOncePod', () => {
  const once = claim('demo/c', { accessModes: ['ReadWriteOncePod'], volumeName: 'v' })
  const nodes = [node('n1'), node('n2')]
  it.each([
    ['that nobody uses', [once], 'skip'],
    ['that a pod of another node uses', [once, using('demo/q', [ofClaim('c')], 'n2')], inUse],
    [
      'that a finished pod used',
      [once, { ...using('demo/q', [ofClaim('c')], 'n2'), status: { phase: 'Failed' } }],
      'skip',
    ],
    ['of that name in another namespace', [once, using('other/q', [ofClaim('c')], 'n2')], 'skip'],
    ['that is not there', [], 'no node: persistentvolumeclaim "c" not found'],
    [
      'but with another access mode',
      [claim('demo/c', { volumeName: 'v' }), using('demo/q', [ofClaim('c')], 'n2')],
      'skip',
    ],
  ])('%s', (_, objects, says) => {
    expect(filterSays(volumeRestrictions, using('demo/p', [ofClaim('c')]), [...nodes, ...objects])).toBe(says)
  })

  it('is worded otherwise until 1.33', () => {
    const objects = [...nodes, once, using('demo/q', [ofClaim('c')], 'n2')]
    expect(filterSays(volumeRestrictions, using('demo/p', [ofClaim('c')]), objects, 'v1.33.0')).toBe(
      'no: node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode',
    )
  })
})
