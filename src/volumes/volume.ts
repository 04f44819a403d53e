import type { Node, PersistentVolume, PersistentVolumeClaim, Pod, PodVolume } from '../cluster/objects.js'
import { nodeSelectorMatches } from '../scheduling/node-selector.js'

/** The kinds of PersistentVolume source, as the API names them (core/v1 PersistentVolumeSource). */
const persistentSources = [
  'hostPath',
  'local',
  'csi',
  'nfs',
  'awsElasticBlockStore',
  'azureDisk',
  'azureFile',
  'cephfs',
  'cinder',
  'fc',
  'flexVolume',
  'flocker',
  'gcePersistentDisk',
  'glusterfs',
  'iscsi',
  'photonPersistentDisk',
  'portworxVolume',
  'quobyte',
  'rbd',
  'scaleIO',
  'storageos',
  'vsphereVolume',
] as const
export type PersistentSource = (typeof persistentSources)[number]

/** What kind of storage is behind the volume; null when the object does not say. */
export function sourceOf(volume: PersistentVolume): PersistentSource | null {
  return persistentSources.find((source) => volume.spec?.[source] !== undefined && volume.spec[source] !== null) ?? null
}

/** The directory on the node, of a hostPath or local volume; null for others. */
export function pathOf(volume: PersistentVolume): string | null {
  return volume.spec?.local?.path ?? volume.spec?.hostPath?.path ?? null
}

/**
 * Where a volume can be used, by its node affinity and the nodes' labels:
 * `free` anywhere (no affinity, or all nodes match), `orphaned` nowhere, `pinned` on exactly one node (also when the cluster has
 * only that one), `restricted` on some.
 */
export interface Placement {
  affinity: 'free' | 'restricted' | 'pinned' | 'orphaned'
  /** Names of the nodes that match, sorted; null when free. */
  nodes: string[] | null
}

export function placementOf(volume: PersistentVolume, nodes: readonly Node[]): Placement {
  const required = volume.spec?.nodeAffinity?.required
  if (!required) return { affinity: 'free', nodes: null }
  // Labels, not names, say where a volume is: kubernetes.io/hostname need not equal the node's name.
  const matching = nodes
    .filter((node) => nodeSelectorMatches(required, node.metadata.labels, null))
    .map((node) => node.metadata.name)
    .sort()
  if (matching.length === 0) return { affinity: 'orphaned', nodes: [] }
  if (matching.length === 1) return { affinity: 'pinned', nodes: matching }
  return matching.length === nodes.length
    ? { affinity: 'free', nodes: null }
    : { affinity: 'restricted', nodes: matching }
}

/** A pod's volume kinds that the API names and this tool tells apart. */
export function podVolumeSource(volume: PodVolume): string | null {
  const keys = Object.keys(volume).filter((key) => key !== 'name' && volume[key as keyof PodVolume] !== undefined)
  return keys[0] ?? null
}

/** Whether some container of the pod can write to the volume. Raw block devices count as writable. */
export function isWritable(pod: Pod, volumeName: string): boolean {
  const containers = [...(pod.spec?.containers ?? []), ...(pod.spec?.initContainers ?? [])]
  return containers.some(
    (container) =>
      (container.volumeMounts ?? []).some((mount) => mount.name === volumeName && mount.readOnly !== true) ||
      (container.volumeDevices ?? []).some((device) => device.name === volumeName),
  )
}

/**
 * Directories of the operating system, the kubelet and the container runtimes: a pod that mounts them looks at the machine it is
 * on, so that coming up over another node's copy loses nothing. One list for the whole tool.
 */
const systemPaths = [
  '/dev',
  '/proc',
  '/sys',
  '/run',
  '/var/run',
  '/etc',
  '/boot',
  '/bin',
  '/sbin',
  '/lib',
  '/lib32',
  '/lib64',
  '/usr',
  '/lib/modules',
  '/var/log',
  '/var/lib/kubelet',
  '/var/lib/docker',
  '/var/lib/containerd',
  '/var/lib/containers',
  '/var/lib/crio',
  '/var/lib/cni',
  '/opt/cni',
  '/var/lib/calico',
  '/var/lib/cilium',
  '/var/lib/etcd',
  '/var/lib/rancher/k3s/agent',
  '/var/lib/rancher/rke2/agent',
  '/var/lib/k0s/kubelet',
  '/var/snap/microk8s/common/run',
  '/var/snap/microk8s/common/var/lib/kubelet',
  '/usr/libexec/kubernetes',
] as const

/** Whether the path is the root directory, one of the {@link systemPaths}, or below one. */
export function isSystemPath(path: string): boolean {
  const clean = `/${path
    .split('/')
    .filter((part) => part !== '' && part !== '.')
    .join('/')}`
  return clean === '/' || systemPaths.some((system) => clean === system || clean.startsWith(`${system}/`))
}

/** Whether the claim has its volume (both sides of the binding are written on the claim: pv.kubernetes.io/bind-completed). */
export function isBound(claim: PersistentVolumeClaim): boolean {
  return (
    Boolean(claim.spec?.volumeName) && claim.metadata.annotations?.['pv.kubernetes.io/bind-completed'] !== undefined
  )
}
