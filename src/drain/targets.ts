import { matchesSelector, type ParsedSelector } from '../cluster/labels.js'
import type { ClusterSnapshot } from '../cluster/snapshot.js'

export interface PodName {
  namespace: string
  name: string
}

/** What the user asked about. Nodes by name, in the order they are drained; or by label; or those that the pods are on. */
export interface Selection {
  nodes: readonly string[]
  nodeSelector: ParsedSelector | null
  pods: readonly PodName[]
  /** Only pods with these labels are evicted. */
  podSelector: ParsedSelector | null
}

/** `nodes` to drain, in order; or why the question can't be answered: no wrong "safe" comes from an empty choice. */
export type Targets = { nodes: string[] } | { problem: string; unknown?: string; known?: string[] }

/** Finds the nodes that the selection means. In a dump without nodes, the names are taken as they are. */
export function resolveTargets(snapshot: ClusterSnapshot, selection: Selection): Targets {
  const known = snapshot.objects.Node.map((node) => node.metadata.name).sort()
  const nodesKnown = known.length > 0
  let nodes: string[] = [...new Set(selection.nodes)]

  if (selection.nodeSelector !== null) {
    const selector = selection.nodeSelector
    nodes = snapshot.objects.Node.filter((node) => matchesSelector(selector, node.metadata.labels))
      .map((node) => node.metadata.name)
      .sort()
    if (nodes.length === 0 && nodesKnown) return { problem: 'no node has these labels' }
  }
  for (const name of nodesKnown ? nodes : []) {
    if (!known.includes(name)) return { problem: `node ${name} does not exist`, unknown: name, known }
  }

  const podsKnown = snapshot.kinds.Pod.state !== 'absent'
  const own: string[] = []
  for (const { namespace, name } of podsKnown ? selection.pods : []) {
    const pod = snapshot.objects.Pod.find(
      (other) => other.metadata.namespace === namespace && other.metadata.name === name,
    )
    if (pod === undefined) {
      const sameNamespace = snapshot.objects.Pod.filter((other) => other.metadata.namespace === namespace)
      return {
        problem: `pod ${namespace}/${name} does not exist`,
        unknown: `${namespace}/${name}`,
        known: sameNamespace.map((other) => `${namespace}/${other.metadata.name}`).sort(),
      }
    }
    if (selection.podSelector !== null && !matchesSelector(selection.podSelector, pod.metadata.labels)) {
      return { problem: `pod ${namespace}/${name} is not among those that the pod selector takes` }
    }
    const node = pod.spec?.nodeName ?? ''
    if (node === '') return { problem: `pod ${namespace}/${name} is on no node yet` }
    if (selection.nodes.length === 0 && selection.nodeSelector === null) own.push(node)
    else if (!nodes.includes(node))
      return { problem: `pod ${namespace}/${name} is on node ${node}, which is not among the nodes asked about` }
  }
  if (own.length > 0) nodes = [...new Set(own)].sort()
  return { nodes }
}
