import { labelOf, matchesSelector, type ParsedSelector, parseLabelSelector } from '../../cluster/labels.js'
import type { PodSpec, TopologySpreadConstraint } from '../../cluster/objects.js'
import type { NodeState, PodInfo } from '../cluster-state.js'
import type { LiveCount } from '../counts.js'
import { type Filter, resolvable, skip, unresolvable } from '../filter.js'
import { podSelectsNode } from '../node-selector.js'
import { untoleratedTaint } from '../tolerations.js'

interface Constraint {
  maxSkew: number
  topologyKey: string
  /** null: selects no pod. */
  selector: ParsedSelector | null
  minDomains: number
  honorsAffinity: boolean
  honorsTaints: boolean
}

function toConstraint(
  constraint: TopologySpreadConstraint,
  labels: Readonly<Record<string, string>> | undefined,
): Constraint {
  const selector = parseLabelSelector(constraint.labelSelector)
  const keyed = (constraint.matchLabelKeys ?? []).flatMap((key) => {
    const value = labelOf(labels, key)
    return value === undefined ? [] : [{ key, operator: '=' as const, values: [value] }]
  })
  return {
    maxSkew: constraint.maxSkew,
    topologyKey: constraint.topologyKey,
    selector: selector === null ? null : [...keyed, ...selector],
    minDomains: constraint.minDomains ?? 1,
    honorsAffinity: (constraint.nodeAffinityPolicy ?? 'Honor') === 'Honor',
    honorsTaints: (constraint.nodeTaintsPolicy ?? 'Ignore') === 'Honor',
  }
}

/** Whether the node's pods count for the constraint (nodeAffinityPolicy, nodeTaintsPolicy). */
function eligible(constraint: Constraint, spec: PodSpec, node: NodeState): boolean {
  if (constraint.honorsAffinity && !podSelectsNode(spec, node.labels, node.name)) return false
  return !constraint.honorsTaints || untoleratedTaint(node.taints, spec.tolerations ?? []) === null
}

/** Matching pods of each domain (value of the topology key), of the nodes that count. */
class Spread implements LiveCount {
  readonly #constraint: Constraint
  readonly #namespace: string
  readonly #domainOf = new Map<NodeState, string>()
  readonly #counts = new Map<string, number>()
  #fewest: number | null = null

  constructor(constraint: Constraint, all: readonly Constraint[], pod: PodInfo, nodes: readonly NodeState[]) {
    this.#constraint = constraint
    this.#namespace = pod.namespace
    const spec = pod.pod.spec ?? {}
    for (const node of nodes) {
      if (!all.every(({ topologyKey }) => Object.hasOwn(node.labels, topologyKey))) continue
      if (!eligible(constraint, spec, node)) continue
      const domain = node.labels[constraint.topologyKey] ?? ''
      this.#domainOf.set(node, domain)
      this.#counts.set(domain, 0)
    }
  }

  /** countPodsMatchSelector: an empty selector selects no pod here, and a pod that is being deleted does not count. */
  count(other: PodInfo, node: NodeState, by: 1 | -1): void {
    if (this.#constraint.selector?.length === 0 || other.pod.metadata.deletionTimestamp) return
    this.change(other, node, by)
  }

  /** updateWithPod, as preemption tries what removing pods would do. */
  change(other: PodInfo, node: NodeState, by: 1 | -1): void {
    const domain = this.#domainOf.get(node)
    const { selector } = this.#constraint
    if (domain === undefined || other.namespace !== this.#namespace || selector === null) return
    if (!matchesSelector(selector, other.pod.metadata.labels)) return
    const before = this.#counts.get(domain) ?? 0
    this.#counts.set(domain, before + by)
    // One less is the fewest now or changes nothing; one more changes nothing unless it was of the fewest.
    if (this.#fewest === null) return
    if (by < 0) this.#fewest = Math.min(this.#fewest, before + by)
    else if (before === this.#fewest) this.#fewest = null
  }

  /** In the domain with the fewest; none where there are fewer domains than there must be. */
  get minimum(): number {
    if (this.#counts.size < this.#constraint.minDomains) return 0
    if (this.#fewest === null) {
      this.#fewest = 2 ** 31 - 1
      for (const count of this.#counts.values()) this.#fewest = Math.min(this.#fewest, count)
    }
    return this.#fewest
  }

  at(domain: string): number {
    return this.#counts.get(domain) ?? 0
  }
}

/** topologySpreadConstraints with DoNotSchedule. The scheduler's default constraints are ScheduleAnyway and keep no pod away. */
export const podTopologySpread: Filter = {
  name: 'PodTopologySpread',
  prepare(pod, cluster) {
    const spec = pod.pod.spec ?? {}
    const { labels } = pod.pod.metadata
    const constraints = (spec.topologySpreadConstraints ?? [])
      .filter((constraint) => constraint.whenUnsatisfiable === 'DoNotSchedule')
      .map((constraint) => toConstraint(constraint, labels))
    if (constraints.length === 0) return skip

    const nodesThatCount = [spec.nodeSelector, spec.affinity?.nodeAffinity, spec.tolerations]
    const spreads = constraints.map((constraint, index) => {
      const id = JSON.stringify([pod.namespace, constraints, index, nodesThatCount])
      const make = () => new Spread(constraint, constraints, pod, cluster.nodes)
      return { constraint, live: cluster.counted(`PodTopologySpread of ${id}`, make) }
    })
    const change = (other: PodInfo, node: NodeState, by: 1 | -1) => {
      for (const { live } of spreads) live.change(other, node, by)
    }
    const noLabel = unresolvable("node(s) didn't match pod topology spread constraints (missing required label)")
    const skewed = resolvable("node(s) didn't match pod topology spread constraints")
    return {
      kind: 'check',
      filter: {
        check(node) {
          for (const { constraint, live } of spreads) {
            const domain = labelOf(node.labels, constraint.topologyKey)
            if (domain === undefined) return noLabel
            const self = constraint.selector !== null && matchesSelector(constraint.selector, labels) ? 1 : 0
            if (live.at(domain) + self - live.minimum > constraint.maxSkew) return skewed
          }
          return null
        },
        added: (other, node) => change(other, node, 1),
        removed: (other, node) => change(other, node, -1),
      },
    }
  },
}
