import type { NodeState, PodInfo } from './cluster-state.js'

/**
 * A number that filters want of all pods of the cluster, kept up to date while pods are placed and removed: a large cluster's pods
 * are gone through once for each kind of question, not for each pod that is asked about.
 */
export interface LiveCount {
  /** The pod comes to the node (1) or leaves it (-1), for the cluster: `ClusterState.place` and `remove`. */
  count(pod: PodInfo, node: NodeState, by: 1 | -1): void
}

/** How many pods match, by topology key and value. */
export class TopologyCounts {
  readonly #counts = new Map<string, Map<string, number>>()
  #size = 0

  add(node: NodeState, topologyKey: string, by: 1 | -1): void {
    if (!Object.hasOwn(node.labels, topologyKey)) return
    const value = node.labels[topologyKey] ?? ''
    let values = this.#counts.get(topologyKey)
    if (values === undefined) {
      values = new Map()
      this.#counts.set(topologyKey, values)
    }
    const before = values.get(value) ?? 0
    if (before + by === 0) values.delete(value)
    else values.set(value, before + by)
    this.#size += Number(before + by !== 0) - Number(before !== 0)
  }

  at(node: NodeState, topologyKey: string): number {
    if (!Object.hasOwn(node.labels, topologyKey)) return 0
    return this.#counts.get(topologyKey)?.get(node.labels[topologyKey] ?? '') ?? 0
  }

  get empty(): boolean {
    return this.#size === 0
  }
}
