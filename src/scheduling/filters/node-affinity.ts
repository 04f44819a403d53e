import type { NodeSelectorTerm } from '../../cluster/objects.js'
import { type Filter, skip, unresolvable } from '../filter.js'
import { podSelectsNode } from '../node-selector.js'
import { intersection } from '../sets.js'

/** The node names that a term's matchFields leave (`metadata.name In …`, ANDed); null when it names none. */
function namesOf(term: NodeSelectorTerm): Set<string> | null {
  const named = (term.matchFields ?? []).filter(({ key, operator }) => key === 'metadata.name' && operator === 'In')
  if (named.length === 0) return null
  return named.map(({ values = [] }) => new Set(values)).reduce(intersection)
}

/** nodeSelector and required node affinity. */
export const nodeAffinity: Filter = {
  name: 'NodeAffinity',
  prepare(pod) {
    const spec = pod.pod.spec ?? {}
    const required = spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution
    if (!required && spec.nodeSelector === undefined) return skip
    const rejection = unresolvable("node(s) didn't match Pod's node affinity/selector")
    const filter = {
      check: (node: { labels: Readonly<Record<string, string>>; name: string }) =>
        podSelectsNode(spec, node.labels, node.name) ? null : rejection,
    }

    // Terms are ORed: only when each of them names nodes is the pod tied to those.
    const perTerm = (required?.nodeSelectorTerms ?? []).map(namesOf)
    if (perTerm.length === 0 || perTerm.includes(null)) return { kind: 'check', filter }
    const onlyNodes = new Set(perTerm.flatMap((names) => [...(names ?? [])]))
    if (onlyNodes.size === 0) return { kind: 'reject', rejection: unresolvable('pod affinity terms conflict') }
    return { kind: 'check', filter, onlyNodes }
  },
}
