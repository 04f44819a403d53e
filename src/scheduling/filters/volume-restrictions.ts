import type { PodVolume } from '../../cluster/objects.js'
import type { PodInfo } from '../cluster-state.js'
import { type Filter, resolvable, skip, unresolvable } from '../filter.js'

type Disk = Pick<PodVolume, 'gcePersistentDisk' | 'awsElasticBlockStore' | 'iscsi' | 'rbd'>

function isExclusiveDisk(volume: Disk): boolean {
  return Boolean(volume.gcePersistentDisk ?? volume.awsElasticBlockStore ?? volume.iscsi ?? volume.rbd)
}

function bothReadOnly(a: { readOnly?: boolean }, b: { readOnly?: boolean }): boolean {
  return a.readOnly === true && b.readOnly === true
}

function diskConflict(a: Disk, b: Disk): boolean {
  if (a.gcePersistentDisk && b.gcePersistentDisk && a.gcePersistentDisk.pdName === b.gcePersistentDisk.pdName) {
    if (!bothReadOnly(a.gcePersistentDisk, b.gcePersistentDisk)) return true
  }
  if (
    a.awsElasticBlockStore &&
    b.awsElasticBlockStore &&
    a.awsElasticBlockStore.volumeID === b.awsElasticBlockStore.volumeID
  )
    return true
  if (a.iscsi && b.iscsi && a.iscsi.iqn === b.iscsi.iqn && !bothReadOnly(a.iscsi, b.iscsi)) return true
  if (a.rbd && b.rbd && a.rbd.image === b.rbd.image && (a.rbd.pool ?? 'rbd') === (b.rbd.pool ?? 'rbd')) {
    const monitors = new Set(a.rbd.monitors ?? [])
    if ((b.rbd.monitors ?? []).some((monitor) => monitors.has(monitor)) && !bothReadOnly(a.rbd, b.rbd)) return true
  }
  return false
}

/** A ReadWriteOncePod claim serves one pod in the cluster; some inline disks serve one pod per node. */
export const volumeRestrictions: Filter = {
  name: 'VolumeRestrictions',
  prepare(pod, cluster) {
    const exclusive = new Set<string>()
    for (const name of pod.claims) {
      const claim = cluster.claims.get(`${pod.namespace}/${name}`)
      if (claim === undefined)
        return { kind: 'reject', rejection: unresolvable(`persistentvolumeclaim "${name}" not found`) }
      if (claim.spec?.accessModes?.includes('ReadWriteOncePod')) exclusive.add(name)
    }
    const disks = (pod.pod.spec?.volumes ?? []).filter(isExclusiveDisk)
    let inUse = [...exclusive].filter((name) => (cluster.claimUse.get(`${pod.namespace}/${name}`) ?? 0) > 0).length
    if (disks.length === 0 && inUse === 0) return skip

    // As the plugin counts: it does not look at the namespace of a pod that preemption adds or removes.
    const uses = (other: PodInfo) => other.claims.filter((name) => exclusive.has(name)).length
    const diskTaken = resolvable('node(s) had no available disk')
    const claimTaken = resolvable(cluster.rules.readWriteOncePodInUse)
    return {
      kind: 'check',
      filter: {
        check(node) {
          for (const disk of disks) {
            for (const other of node.pods) {
              if ((other.pod.spec?.volumes ?? []).some((volume) => diskConflict(disk, volume))) return diskTaken
            }
          }
          return inUse > 0 ? claimTaken : null
        },
        added: (other) => {
          inUse += uses(other)
        },
        removed: (other) => {
          inUse -= uses(other)
        },
      },
    }
  },
}
