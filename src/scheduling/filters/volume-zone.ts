import { labelOf } from '../../cluster/labels.js'
import type { PersistentVolume } from '../../cluster/objects.js'
import { classOfClaim } from '../cluster-state.js'
import { type Filter, skip, unresolvable } from '../filter.js'

const zoneLabels = [
  'failure-domain.beta.kubernetes.io/zone',
  'failure-domain.beta.kubernetes.io/region',
  'topology.kubernetes.io/zone',
  'topology.kubernetes.io/region',
] as const
const newLabel: Readonly<Record<string, string>> = {
  'failure-domain.beta.kubernetes.io/zone': 'topology.kubernetes.io/zone',
  'failure-domain.beta.kubernetes.io/region': 'topology.kubernetes.io/region',
}

/** Zones and regions that the volume's labels name; several are parted by `__`. An empty one makes the label void. */
function topologies(volume: PersistentVolume): { key: string; values: ReadonlySet<string> }[] {
  return zoneLabels.flatMap((key) => {
    const label = labelOf(volume.metadata.labels, key)
    if (label === undefined) return []
    const values = label.split('__').map((value) => value.trim())
    return values.includes('') ? [] : [{ key, values: new Set(values) }]
  })
}

/** A volume that is labelled with a zone or region is used only there. */
export const volumeZone: Filter = {
  name: 'VolumeZone',
  prepare(pod, cluster) {
    const wanted: { key: string; values: ReadonlySet<string> }[] = []
    for (const name of pod.claims) {
      const reject = (reason: string) => ({ kind: 'reject', rejection: unresolvable(reason) }) as const
      const claim = cluster.claims.get(`${pod.namespace}/${name}`)
      if (claim === undefined) return reject(`persistentvolumeclaim "${name}" not found`)
      const volumeName = claim.spec?.volumeName ?? ''
      if (volumeName === '') {
        const className = classOfClaim(claim)
        if (className === '') return reject('PersistentVolumeClaim had no pv name and storageClass name')
        const storageClass = cluster.classes.get(className)
        if (storageClass === undefined) return reject(`storageclass.storage.k8s.io "${className}" not found`)
        if (storageClass.volumeBindingMode === 'WaitForFirstConsumer') continue
        return reject('PersistentVolume had no name')
      }
      const volume = cluster.volumes.get(volumeName)
      if (volume === undefined) return reject(`persistentvolume "${volumeName}" not found`)
      wanted.push(...topologies(volume))
    }
    if (wanted.length === 0) return skip
    const rejection = unresolvable('node(s) had no available volume zone')
    return {
      kind: 'check',
      filter: {
        check({ labels }) {
          if (!zoneLabels.some((key) => Object.hasOwn(labels, key))) return null
          const passes = wanted.every(({ key, values }) => {
            const value = labelOf(labels, key) ?? labelOf(labels, newLabel[key] ?? key)
            return value !== undefined && values.has(value)
          })
          return passes ? null : rejection
        },
      },
    }
  },
}
