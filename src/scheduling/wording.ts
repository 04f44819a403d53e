/**
 * What differs between the schedulers of Kubernetes' minor versions: words, and rules that came behind feature gates that are on
 * by default. Read off pkg/scheduler and pkg/features of v1.29 to v1.37; where patch releases of a minor version differ, the last one
 * counts.
 */
export interface SchedulerVersion {
  /** Minor version whose rules apply, 29 to 37. */
  minor: number
  /** True when the cluster is newer than the newest version known here: the newest rules are used. */
  newerThanKnown: boolean
  /** The version as the cluster said it; null when it did not. */
  said: string | null
}

export const OLDEST_KNOWN_MINOR = 29
export const NEWEST_KNOWN_MINOR = 37

/** From a gitVersion or kubeletVersion ("v1.34.4", "v1.31.2+k3s1"); the newest known when there is none. */
export function schedulerVersion(gitVersion: string | null): SchedulerVersion {
  const match = gitVersion === null ? null : /^v?(\d+)\.(\d+)/.exec(gitVersion)
  if (match === null) return { minor: NEWEST_KNOWN_MINOR, newerThanKnown: false, said: null }
  const minor = Number(match[1]) > 1 ? Number.POSITIVE_INFINITY : Number(match[2])
  return {
    minor: Math.min(Math.max(minor, OLDEST_KNOWN_MINOR), NEWEST_KNOWN_MINOR),
    newerThanKnown: minor > NEWEST_KNOWN_MINOR,
    said: gitVersion,
  }
}

export interface Rules {
  /** TaintToleration names the taint (until 1.33). */
  namesTaint: boolean
  /** VolumeBinding's reason for a bound volume of another node. */
  nodeConflict: string
  /** The nodes that a PreFilter left out are said to be so (from 1.32). */
  saysLeftOut: boolean
  /** VolumeRestrictions' reason for a ReadWriteOncePod claim in use. */
  readWriteOncePodInUse: string
  /** NodeResourcesFit: a request above the node's whole allocatable is not helped by preemption (from 1.34). */
  unresolvableResources: boolean
  /** The DynamicResources plugin runs (from 1.34), so its PostFilter speaks before preemption does. */
  dynamicResources: boolean
  /** … and says `no new claims to deallocate` (until 1.36). */
  saysNoNewClaims: boolean
  /** A placement found by preemption is named (from 1.37). */
  namesPlacement: boolean
  /** Pod-level resources count (PodLevelResources, from 1.34). */
  podLevelResources: boolean
  /** Host ports of sidecars count (from 1.33). */
  sidecarPorts: boolean
  /** What a running pod holds comes from its status, too (InPlacePodVerticalScaling, from 1.33). */
  statusResources: boolean
  /** … as the most of three sums over all its containers, what is wanted, allocated and given, and not container by container (from 1.37). */
  statusSums: boolean
  /** … and so does what it holds as a whole (InPlacePodLevelResourcesVerticalScaling, from 1.36). */
  statusPodLevelResources: boolean
  /**
   * InterPodAffinity asks the namespaceSelector of the pod's own terms once more, without labels (1.34 to 1.36: upstream's
   * mergeAffinityTermNamespacesIfNotEmpty changes a copy), so that one of NotIn or DoesNotExist takes every namespace.
   */
  asksSelectorWithoutLabels: boolean
  /** NodeDeclaredFeatures filters (from 1.36). */
  declaredFeatures: boolean
  /** NodeVolumeLimits counts what is attached to the node, though no pod there uses it (from 1.32). */
  countsAttachments: boolean
  /** NodeVolumeLimits asks whether the driver is there (VolumeLimitScaling, from 1.37). */
  requiresDriver: boolean
  /** Pods get their node's zone and region as labels when bound (PodTopologyLabelsAdmission, from 1.35). */
  topologyLabelsOnPods: boolean
}

export function rulesOf({ minor }: SchedulerVersion): Rules {
  return {
    namesTaint: minor <= 33,
    nodeConflict:
      minor <= 32
        ? 'node(s) had volume node affinity conflict'
        : "node(s) didn't match PersistentVolume's node affinity",
    saysLeftOut: minor >= 32,
    readWriteOncePodInUse:
      minor <= 33
        ? 'node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode'
        : 'node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod',
    unresolvableResources: minor >= 34,
    dynamicResources: minor >= 34,
    saysNoNewClaims: minor >= 34 && minor <= 36,
    namesPlacement: minor >= 37,
    podLevelResources: minor >= 34,
    sidecarPorts: minor >= 33,
    statusResources: minor >= 33,
    statusSums: minor >= 37,
    statusPodLevelResources: minor >= 36,
    asksSelectorWithoutLabels: minor >= 34 && minor <= 36,
    declaredFeatures: minor >= 36,
    countsAttachments: minor >= 32,
    requiresDriver: minor >= 37,
    topologyLabelsOnPods: minor >= 35,
  }
}
