import { matchesSelector } from '../../cluster/labels.js'
import { type AffinityTerm, type ClusterState, type NodeState, type PodInfo, termMatches } from '../cluster-state.js'
import { type LiveCount, TopologyCounts } from '../counts.js'
import { type Filter, resolvable, skip, unresolvable } from '../filter.js'

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

/** Where the pods are that must be near, and those that must not. */
class Incoming implements LiveCount {
  readonly near = new TopologyCounts()
  readonly away = new TopologyCounts()

  constructor(
    readonly affinity: readonly AffinityTerm[],
    readonly antiAffinity: readonly AffinityTerm[],
  ) {}

  count(other: PodInfo, node: NodeState, by: 1 | -1): void {
    if (matchesAll(this.affinity, other)) for (const term of this.affinity) this.near.add(node, term.topologyKey, by)
    for (const term of this.antiAffinity) {
      if (termMatches(term, other, undefined)) this.away.add(node, term.topologyKey, by)
    }
  }
}

/** The anti-affinity terms of the pods that are there, each once, and where the pods are that have it. */
class Existing implements LiveCount {
  readonly #terms = new Map<string, { term: AffinityTerm; counts: TopologyCounts }>()

  count(other: PodInfo, node: NodeState, by: 1 | -1): void {
    for (const term of other.antiAffinity) {
      let entry = this.#terms.get(term.id)
      if (entry === undefined) {
        entry = { term, counts: new TopologyCounts() }
        this.#terms.set(term.id, entry)
      }
      entry.counts.add(node, term.topologyKey, by)
    }
  }

  /** How many different terms there are; grows when a pod comes with a new one. */
  get size(): number {
    return this.#terms.size
  }

  /** Those that are about this pod, wherever the pods are that have them. */
  about(pod: PodInfo, namespaceLabels: Readonly<Record<string, string>> | undefined) {
    return [...this.#terms.values()].filter(({ term }) => termMatches(term, pod, namespaceLabels))
  }
}

/** Required pod affinity, required pod anti-affinity, and the required anti-affinity of the pods that are there already. */
export const interPodAffinity: Filter = {
  name: 'InterPodAffinity',
  prepare(pod, cluster) {
    const ids = [...pod.affinity.map(({ id }) => `near ${id}`), ...pod.antiAffinity.map(({ id }) => `away ${id}`)]
    const incoming = cluster.counted(`InterPodAffinity of ${ids.join('\n')}`, () => {
      const [affinity, antiAffinity] = [pod.affinity, pod.antiAffinity].map((terms) =>
        terms.map((term) => withNamespaces(term, cluster)),
      )
      return new Incoming(affinity ?? [], antiAffinity ?? [])
    })
    const { affinity, antiAffinity, near, away } = incoming
    const hasTerms = affinity.length > 0 || antiAffinity.length > 0
    const existing = cluster.counted('InterPodAffinity of pods that are there', () => new Existing())
    const find = () => existing.about(pod, cluster.namespaces.get(pod.namespace)?.metadata.labels)
    let [about, known] = [find(), existing.size]
    if (!hasTerms && about.every(({ counts }) => counts.empty)) return skip

    const satisfiesAffinity = (node: NodeState): boolean => {
      let allThere = true
      for (const { topologyKey } of affinity) {
        if (!Object.hasOwn(node.labels, topologyKey)) return false
        if (near.at(node, topologyKey) <= 0) allThere = false
      }
      // The first pod of a group that wants to be with its own kind has to start somewhere.
      return allThere || (near.empty && matchesAll(affinity, pod))
    }
    const noAffinity = unresolvable("node(s) didn't match pod affinity rules")
    const noAntiAffinity = resolvable("node(s) didn't match pod anti-affinity rules")
    const keptAway = resolvable("node(s) didn't satisfy existing pods anti-affinity rules")
    const change = (other: PodInfo, node: NodeState, by: 1 | -1) => {
      existing.count(other, node, by)
      if (hasTerms) incoming.count(other, node, by)
      if (existing.size === known) return
      about = find()
      known = existing.size
    }
    return {
      kind: 'check',
      filter: {
        check(node) {
          if (!satisfiesAffinity(node)) return noAffinity
          if (antiAffinity.some(({ topologyKey }) => away.at(node, topologyKey) > 0)) return noAntiAffinity
          return about.some(({ term, counts }) => counts.at(node, term.topologyKey) > 0) ? keptAway : null
        },
        added: (other, node) => change(other, node, 1),
        removed: (other, node) => change(other, node, -1),
      },
    }
  },
}
