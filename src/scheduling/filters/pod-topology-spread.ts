import { labelOf, matchesSelector, type ParsedSelector, parseLabelSelector } from '../../cluster/labels.js'
import type { PodSpec, TopologySpreadConstraint } from '../../cluster/objects.js'
import type { NodeState, PodInfo } from '../cluster-state.js'
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
  /** Matching pods of each domain (value of the topology key). */
  counts: Map<string, number>
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
    counts: new Map(),
  }
}

/** Whether the node's pods count for the constraint (nodeAffinityPolicy, nodeTaintsPolicy). */
function counts(constraint: Constraint, spec: PodSpec, node: NodeState): boolean {
  if (constraint.honorsAffinity && !podSelectsNode(spec, node.labels, node.name)) return false
  return !constraint.honorsTaints || untoleratedTaint(node.taints, spec.tolerations ?? []) === null
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

    const hasAllKeys = (node: NodeState) =>
      constraints.every(({ topologyKey }) => Object.hasOwn(node.labels, topologyKey))
    for (const node of cluster.nodes) {
      if (!hasAllKeys(node)) continue
      for (const constraint of constraints) {
        if (!counts(constraint, spec, node)) continue
        const { selector } = constraint
        let matching = 0
        // An empty selector selects no pod here (countPodsMatchSelector).
        if (selector !== null && selector.length > 0) {
          for (const other of node.pods) {
            if (other.namespace !== pod.namespace || other.pod.metadata.deletionTimestamp) continue
            if (matchesSelector(selector, other.pod.metadata.labels)) matching += 1
          }
        }
        const domain = node.labels[constraint.topologyKey] ?? ''
        constraint.counts.set(domain, (constraint.counts.get(domain) ?? 0) + matching)
      }
    }
    // The fewest are asked for on every node; pods that come and go during preemption make it stale.
    const fewest = new Map<Constraint, number>()
    const minimum = (constraint: Constraint): number => {
      let value = fewest.get(constraint)
      if (value === undefined) {
        value =
          constraint.counts.size < constraint.minDomains ? 0 : Math.min(2 ** 31 - 1, ...constraint.counts.values())
        fewest.set(constraint, value)
      }
      return value
    }
    const update = (other: PodInfo, node: NodeState, by: 1 | -1) => {
      if (other.namespace !== pod.namespace || !hasAllKeys(node)) return
      for (const constraint of constraints) {
        if (constraint.selector === null || !matchesSelector(constraint.selector, other.pod.metadata.labels)) continue
        if (!counts(constraint, spec, node)) continue
        const domain = node.labels[constraint.topologyKey] ?? ''
        constraint.counts.set(domain, (constraint.counts.get(domain) ?? 0) + by)
        fewest.delete(constraint)
      }
    }
    const noLabel = unresolvable("node(s) didn't match pod topology spread constraints (missing required label)")
    const skewed = resolvable("node(s) didn't match pod topology spread constraints")
    return {
      kind: 'check',
      filter: {
        check(node) {
          for (const constraint of constraints) {
            const domain = labelOf(node.labels, constraint.topologyKey)
            if (domain === undefined) return noLabel
            const self = constraint.selector !== null && matchesSelector(constraint.selector, labels) ? 1 : 0
            if ((constraint.counts.get(domain) ?? 0) + self - minimum(constraint) > constraint.maxSkew) return skewed
          }
          return null
        },
        added: (other, node) => update(other, node, 1),
        removed: (other, node) => update(other, node, -1),
      },
    }
  },
}
