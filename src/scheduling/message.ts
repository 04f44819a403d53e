import type { Rejection } from './filter.js'

/** What an attempt to schedule a pod found (pkg/scheduler/framework Diagnosis). */
export interface Diagnosis {
  nodes: number
  /** Set when the pod was refused before any node was looked at. */
  preFilter: string | null
  /** Reasons of the nodes that were looked at. */
  rejections: readonly Rejection[]
  /** Reason of the nodes that were not; null when those have none. */
  others: string | null
}

/** `0/N nodes are available: …` as FitError.Error() words it; `after` is what the PostFilter plugins had to say. */
export function fitError({ nodes, preFilter, rejections, others }: Diagnosis, after: string): string {
  let text = `0/${nodes} nodes are available:`
  if (preFilter !== null) text += ` ${preFilter}.`
  else {
    const counts = new Map<string, number>()
    const count = (reason: string, by: number) => counts.set(reason, (counts.get(reason) ?? 0) + by)
    for (const { reasons } of rejections) for (const reason of reasons) count(reason, 1)
    if (others !== null && rejections.length < nodes) count(others, nodes - rejections.length)
    const parts = [...counts].map(([reason, number]) => `${number} ${reason}`).sort(byBytes)
    if (parts.length > 0) text += ` ${parts.join(', ')}.`
  }
  return after === '' ? text : `${text} ${after}`
}

// Go sorts strings by their bytes; what stands here is ASCII but for names, where UTF-16 order is as good.
function byBytes(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
