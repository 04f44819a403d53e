import { labelOf } from '../../cluster/labels.js'
import type { Node, PersistentVolumeClaim, Pod, PodVolume, StorageClass } from '../../cluster/objects.js'
import { ephemeralClaimName } from '../../scheduling/ephemeral.js'
import type { Rules } from '../../scheduling/wording.js'

const topologyLabels = ['topology.kubernetes.io/zone', 'topology.kubernetes.io/region'] as const

/**
 * The pod as its controller makes it again: the same, on no node yet, and without what being bound and run has added to it.
 * `omit` names volumes that can't be judged and are left out.
 */
export function replacementOf(pod: Pod, node: Node | undefined, rules: Rules, omit: ReadonlySet<string>): Pod {
  const { nodeName: _, volumes = [], ...spec } = pod.spec ?? {}
  const labels = { ...pod.metadata.labels }
  if (rules.topologyLabelsOnPods) {
    for (const label of topologyLabels) {
      const value = labelOf(labels, label)
      if (value !== undefined && value === labelOf(node?.metadata.labels, label)) delete labels[label]
    }
  }
  return {
    kind: 'Pod',
    metadata: {
      name: pod.metadata.name,
      namespace: pod.metadata.namespace,
      labels,
      ownerReferences: pod.metadata.ownerReferences,
    },
    spec: { ...spec, volumes: volumes.filter((volume) => !omit.has(volume.name)) },
  }
}

/**
 * Claims of generic ephemeral volumes go with their pod, and new ones are made for the new pod: unbound, of the template's
 * class or the default class (the ephemeral volume controller and the DefaultStorageClass admission).
 */
export function freshEphemeralClaim(
  pod: Pod,
  volume: PodVolume,
  classes: readonly StorageClass[],
): PersistentVolumeClaim {
  const spec = volume.ephemeral?.volumeClaimTemplate?.spec ?? {}
  return {
    kind: 'PersistentVolumeClaim',
    metadata: { name: ephemeralClaimName(pod, volume), namespace: pod.metadata.namespace },
    spec: { ...spec, storageClassName: spec.storageClassName ?? defaultClass(classes)?.metadata.name },
    status: { phase: 'Pending' },
  }
}

function defaultClass(classes: readonly StorageClass[]): StorageClass | undefined {
  return classes
    .filter(
      (storageClass) => storageClass.metadata.annotations?.['storageclass.kubernetes.io/is-default-class'] === 'true',
    )
    .sort((a, b) => {
      // The newest of several default classes is taken, then the first by name.
      const [newA, newB] = [a.metadata.creationTimestamp ?? '', b.metadata.creationTimestamp ?? '']
      return newA === newB ? (a.metadata.name < b.metadata.name ? -1 : 1) : newA > newB ? -1 : 1
    })[0]
}
