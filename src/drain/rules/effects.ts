import type { Pod, PodVolume } from '../../cluster/objects.js'
import type { NodeState } from '../../scheduling/cluster-state.js'
import { isSystemPath, isWritable } from '../../volumes/volume.js'
import type { Judged } from '../judge.js'
import type { Effect } from '../types.js'

/** Where the pod can come up other than on the node it is on now. */
function comesUpElsewhere({ pod, attempt }: Judged): boolean {
  if (attempt === null) return false
  const elsewhere = (node: NodeState) => node.name !== pod.spec?.nodeName
  return attempt.preemption === null ? attempt.feasible.some(elsewhere) : elsewhere(attempt.preemption.node)
}

/** hostPath volumes that the pod finds on whatever node it comes up on, as another directory. */
export function startsEmpty(judged: Judged): Effect[] {
  const { pod, volumes } = judged
  if (!comesUpElsewhere(judged)) return []
  return volumes.flatMap((report): Effect[] => {
    const effect: Effect = { effect: 'starts-empty', volume: report.name, path: report.path ?? '' }
    if (report.claim !== null) return report.source === 'hostPath' && report.affinity === 'free' ? [effect] : []
    const hostPath = pod.spec?.volumes?.find((volume) => volume.name === report.name)?.hostPath
    if (!hostPath || isSystemPath(hostPath.path) || !isWritable(pod, report.name)) return []
    return ['', 'Directory', 'DirectoryOrCreate'].includes(hostPath.type ?? '') ? [effect] : []
  })
}

export function preempts({ attempt }: Judged): Effect[] {
  if (!attempt?.preemption) return []
  const { node, victims } = attempt.preemption
  return [{ effect: 'preempts', node: node.name, victims: victims.map((victim) => victim.key) }]
}

/** Content that goes with the pod: of an emptyDir on disk, and of a generic ephemeral volume, whose claim the pod owns. */
export function dataLost(pod: Pod): Effect[] {
  const isLost = ({ emptyDir, ephemeral }: PodVolume): boolean => {
    if (ephemeral) return true
    // Memory and huge pages hold nothing that outlives the pod anyway.
    return emptyDir !== undefined && emptyDir.medium !== 'Memory' && !emptyDir.medium?.startsWith('HugePages')
  }
  return (pod.spec?.volumes ?? []).filter(isLost).map((volume) => ({ effect: 'data-lost', volume: volume.name }))
}
