import { matchesSelector } from '../../cluster/labels.js'
import { type AffinityTerm, type ClusterState, type NodeState, type PodInfo, termMatches } from '../cluster-state.js'
import { type Filter, resolvable, skip, unresolvable } from '../filter.js'

/** How many pods match, by topology key and value. */
class Counts {
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

  anyAt(node: NodeState): boolean {
    for (const topologyKey of this.#counts.keys()) if (this.at(node, topologyKey) > 0) return true
    return false
  }

  get empty(): boolean {
    return this.#size === 0
  }
}

/** Namespaces that a selector names are looked up once, since the pods they are asked about are many. */
function withNamespaces(term: AffinityTerm, cluster: ClusterState): AffinityTerm {
  if (term.namespaceSelector === null || term.namespaceSelector.length === 0) return term
  const namespaces = new Set(term.namespaces)
  for (const [name, namespace] of cluster.namespaces) {
    if (matchesSelector(term.namespaceSelector, namespace.metadata.labels)) namespaces.add(name)
  }
  return {
    ...term,
    namespaces,
    namespaceSelector: cluster.rules.asksSelectorWithoutLabels ? term.namespaceSelector : null,
  }
}

function matchesAll(terms: readonly AffinityTerm[], pod: PodInfo): boolean {
  return terms.length > 0 && terms.every((term) => termMatches(term, pod, undefined))
}

/** Required pod affinity, required pod anti-affinity, and the required anti-affinity of the pods that are there already. */
export const interPodAffinity: Filter = {
  name: 'InterPodAffinity',
  prepare(pod, cluster) {
    const affinity = pod.affinity.map((term) => withNamespaces(term, cluster))
    const antiAffinity = pod.antiAffinity.map((term) => withNamespaces(term, cluster))
    const namespaceLabels = cluster.namespaces.get(pod.namespace)?.metadata.labels
    const affinityCounts = new Counts()
    const antiAffinityCounts = new Counts()
    const existingCounts = new Counts()

    const countExisting = (other: PodInfo, node: NodeState, by: 1 | -1) => {
      for (const term of other.antiAffinity) {
        if (termMatches(term, pod, namespaceLabels)) existingCounts.add(node, term.topologyKey, by)
      }
    }
    const countIncoming = (other: PodInfo, node: NodeState, by: 1 | -1) => {
      if (matchesAll(affinity, other)) for (const term of affinity) affinityCounts.add(node, term.topologyKey, by)
      for (const term of antiAffinity) {
        if (termMatches(term, other, undefined)) antiAffinityCounts.add(node, term.topologyKey, by)
      }
    }
    const hasTerms = affinity.length > 0 || antiAffinity.length > 0
    for (const node of cluster.nodes) {
      for (const other of node.withAntiAffinity) countExisting(other, node, 1)
      if (hasTerms) for (const other of node.pods) countIncoming(other, node, 1)
    }
    if (existingCounts.empty && !hasTerms) return skip

    const satisfiesAffinity = (node: NodeState): boolean => {
      let allThere = true
      for (const { topologyKey } of affinity) {
        if (!Object.hasOwn(node.labels, topologyKey)) return false
        if (affinityCounts.at(node, topologyKey) <= 0) allThere = false
      }
      // The first pod of a group that wants to be with its own kind has to start somewhere.
      return allThere || (affinityCounts.empty && matchesAll(affinity, pod))
    }
    const noAffinity = unresolvable("node(s) didn't match pod affinity rules")
    const noAntiAffinity = resolvable("node(s) didn't match pod anti-affinity rules")
    const keptAway = resolvable("node(s) didn't satisfy existing pods anti-affinity rules")
    return {
      kind: 'check',
      filter: {
        check(node) {
          if (!satisfiesAffinity(node)) return noAffinity
          if (antiAffinity.some(({ topologyKey }) => antiAffinityCounts.at(node, topologyKey) > 0))
            return noAntiAffinity
          return existingCounts.anyAt(node) ? keptAway : null
        },
        added: (other, node) => {
          countExisting(other, node, 1)
          countIncoming(other, node, 1)
        },
        removed: (other, node) => {
          countExisting(other, node, -1)
          countIncoming(other, node, -1)
        },
      },
    }
  },
}
