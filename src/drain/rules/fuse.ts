import { labelOf } from '../../cluster/labels.js'
import type { PersistentVolume, Pod } from '../../cluster/objects.js'
import { podKey } from '../../scheduling/cluster-state.js'
import { ephemeralClaimName } from '../../scheduling/ephemeral.js'
import type { Judged } from '../judge.js'
import type { Scene } from '../scene.js'
import type { Effect } from '../types.js'

/** A pod that a CSI driver starts on a node to serve one volume (or several) through FUSE, told from a workload's by its labels. */
interface MounterKind {
  driver: string
  isMounter(pod: Pod): boolean
  /** The volume that the mounter says it serves; undefined: every volume of the driver on its node. */
  serves(pod: Pod, volume: PersistentVolume): boolean | undefined
}

const mounters: readonly MounterKind[] = [
  {
    driver: 's3.csi.aws.com',
    isMounter: ({ metadata }) =>
      metadata.namespace === 'mount-s3' || labelOf(metadata.labels, 's3.csi.aws.com/mountpoint-version') !== undefined,
    serves: ({ metadata }, volume) => {
      const name = labelOf(metadata.labels, 's3.csi.aws.com/volume-name')
      return name === undefined ? undefined : name === volume.metadata.name
    },
  },
  {
    driver: 'csi.juicefs.com',
    isMounter: ({ metadata }) => labelOf(metadata.labels, 'app.kubernetes.io/name') === 'juicefs-mount',
    serves: ({ metadata }, volume) => {
      const id = labelOf(metadata.labels, 'volume-id')
      // With shared mounts the label names the class, and then nothing tells which volumes are meant.
      return id === undefined || id !== volume.spec?.csi?.volumeHandle ? undefined : true
    },
  },
]

/** CSI drivers whose node plugin can run the FUSE process of a volume in its own container. */
const fuseDrivers: ReadonlySet<string> = new Set([
  'ru.yandex.s3.csi',
  'ch.ctrox.csi.s3-driver',
  's3.csi.aws.com',
  'csi.juicefs.com',
  'gcsfuse.csi.storage.gke.io',
  'seaweedfs-csi-driver',
  'csi.cubefs.com',
  'csi-rclone',
  'blob.csi.azure.com',
  'org.gluster.glusterfs',
  'kadalu',
  'fuse.csi.fluid.io',
])

/** The FUSE driver whose socket folder the pod mounts (…/kubelet/plugins/DRIVER): a node plugin; undefined: none. */
function nodePluginOf(pod: Pod): string | undefined {
  for (const volume of pod.spec?.volumes ?? []) {
    const match = /\/kubelet\/plugins\/([^/]+)\/*$/.exec(volume.hostPath?.path ?? '')
    if (match?.[1] !== undefined && fuseDrivers.has(match[1])) return match[1]
  }
  return undefined
}

/**
 * Evicted pods whose FUSE volumes are served by another pod that the drain ends, too, by NS/NAME, with their claims: kubectl evicts
 * all pods of a node at once, the server without waiting for its users.
 */
export function fuseEffects(judged: readonly Judged[], scene: Scene): Map<string, Effect> {
  const evicted = judged.filter(({ kind }) => kind === 'evicted')
  const losing = new Map<string, Set<string>>()
  for (const { pod } of evicted) {
    const mounter = mounters.find((candidate) => candidate.isMounter(pod))
    const driver = mounter?.driver ?? nodePluginOf(pod)
    if (driver === undefined) continue
    const users = evicted
      .filter((other) => other.pod !== pod && other.pod.spec?.nodeName === pod.spec?.nodeName)
      .flatMap((other) => usesOf(other.pod, driver, scene))
    const named = users.filter(({ volume }) => mounter?.serves(pod, volume) === true)
    const served = named.length > 0 ? named : users.filter(({ volume }) => mounter?.serves(pod, volume) !== false)
    for (const { pod: user, claim } of served) losing.set(user, (losing.get(user) ?? new Set()).add(claim))
  }
  return new Map(
    [...losing].map(([user, claims]) => [user, { effect: 'loses-fuse-server', claims: [...claims].sort() }]),
  )
}

/** The pod's claims whose volumes are the driver's. */
function usesOf(pod: Pod, driver: string, scene: Scene): { pod: string; claim: string; volume: PersistentVolume }[] {
  return (pod.spec?.volumes ?? []).flatMap((volume) => {
    const claim =
      volume.persistentVolumeClaim?.claimName ?? (volume.ephemeral ? ephemeralClaimName(pod, volume) : undefined)
    if (claim === undefined) return []
    const bound = scene.state.volumes.get(
      scene.claims.get(`${pod.metadata.namespace ?? ''}/${claim}`)?.spec?.volumeName ?? '',
    )
    return bound?.spec?.csi?.driver === driver ? [{ pod: podKey(pod), claim, volume: bound }] : []
  })
}
