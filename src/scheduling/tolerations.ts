import type { Taint, Toleration } from '../cluster/objects.js'

/** Toleration.ToleratesTaint of k8s.io/api/core/v1 (the comparison operators `Lt` and `Gt` are behind a gate that is off). */
export function toleratesTaint(toleration: Toleration, taint: Taint): boolean {
  if (toleration.effect && toleration.effect !== taint.effect) return false
  if (toleration.key && toleration.key !== taint.key) return false
  switch (toleration.operator ?? '') {
    case '':
    case 'Equal':
      return (toleration.value ?? '') === (taint.value ?? '')
    case 'Exists':
      return true
    default:
      return false
  }
}

/** The first taint that keeps a pod from being scheduled (NoSchedule, NoExecute) and that nothing tolerates. */
export function untoleratedTaint(taints: readonly Taint[], tolerations: readonly Toleration[]): Taint | null {
  for (const taint of taints) {
    if (taint.effect !== 'NoSchedule' && taint.effect !== 'NoExecute') continue
    if (!tolerations.some((toleration) => toleratesTaint(toleration, taint))) return taint
  }
  return null
}

/** What the node lifecycle controller puts on a cordoned node. */
export const unschedulableTaint: Taint = { key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' }
