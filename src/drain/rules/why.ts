import { labelOf } from '../../cluster/labels.js'
import type { Pod } from '../../cluster/objects.js'
import type { JointOutcome } from '../joint.js'
import { type Fate, type Judged, namesItsNode, pinning, refusals } from '../judge.js'
import type { Scene } from '../scene.js'
import { isReady } from './budgets.js'

export function whyStays(pod: Pod): string {
  const mirror = pod.metadata.annotations?.['kubernetes.io/config.mirror'] !== undefined
  return mirror ? 'the kubelet runs it from a file on the node' : 'its DaemonSet keeps it on the node'
}

export function whyBlocked(
  pod: Pod,
  { budgets, usedUp }: { budgets: readonly string[]; usedUp: boolean },
  scene: Scene,
): string {
  const [name = ''] = budgets
  if (budgets.length > 1) {
    return `it has ${budgets.length} budgets (${budgets.join(', ')}), and the eviction API refuses such a pod`
  }
  if (usedUp) return `budget ${name} is used up by pods that do not come back`
  const status = scene.snapshot.objects.PodDisruptionBudget.find(
    ({ metadata }) => metadata.namespace === pod.metadata.namespace && metadata.name === name,
  )?.status
  const { desiredHealthy, currentHealthy, expectedPods } = status ?? {}
  if (desiredHealthy === undefined || currentHealthy === undefined) return `budget ${name} lets no pod go`
  if (expectedPods === 0)
    return `budget ${name} lets no pod go: it finds no controller that says how many there should be`
  const unready = isReady(pod)
    ? ''
    : '; the pod itself is not ready, which unhealthyPodEvictionPolicy: AlwaysAllow would let go'
  const are = `${currentHealthy} ${currentHealthy === 1 ? 'is' : 'are'}`
  return `budget ${name} lets no pod go: it wants ${desiredHealthy} healthy, ${are}${unready}`
}

export function whyOf(fate: Fate, judged: Judged, scene: Scene): string {
  const { attempt, chain } = judged
  if (fate === 'gone') return chain.gone ?? ''
  if (judged.unjudged) return "can't be judged: what it needs was not read"
  if (fate === 'stuck') {
    const [volume] = pinning(judged, scene)
    if (volume === undefined) return `no node takes it: ${refusals(judged, scene) ?? attempt?.message ?? ''}`
    const where =
      volume.affinity === 'orphaned'
        ? `on no node that exists${orphanHint(volume.volume ?? '', scene)}`
        : `on ${volume.pinnedTo?.join(', ')} only`
    return `volume ${shortName(volume.volume ?? '')} (claim ${volume.claim}) is ${where}`
  }
  if (fate === 'returns') {
    return !namesItsNode(chain)
      ? attempt?.preemption
        ? 'it tolerates the cordon and can come straight back, when pods of lower priority make room'
        : 'it tolerates the cordon and can come straight back to the node'
      : 'its template names the node: it is started there again, whatever the cordon'
  }
  if (attempt?.preemption) return `it fits on ${attempt.preemption.node.name} when pods of lower priority make room`
  const nodes = attempt?.feasible.map((node) => node.name).sort() ?? []
  if (nodes.length === 0) return 'where it could go is not known'
  return nodes.length > 3
    ? `${nodes.length} nodes take it`
    : `${nodes.join(', ')} ${nodes.length === 1 ? 'takes' : 'take'} it`
}

/** As {@link whyOf}, where the other evicted pods make the difference. */
export function whyTogether(fate: Fate, judged: Judged, outcome: JointOutcome | undefined, scene: Scene): string {
  if (outcome === undefined || fate === 'gone' || fate === judged.fate) return whyOf(fate, judged, scene)
  const others = outcome.with.length > 3 ? `${outcome.with.length} other pods` : outcome.with.join(', ')
  if (fate === 'stuck') return `${whyOf('moves', judged, scene)}, but not beside ${others}`
  return `it has to wait for ${others}`
}

/** A volume that names its node by name, where the node's kubernetes.io/hostname is another, matches no node. */
function orphanHint(volumeName: string, scene: Scene): string {
  const terms = scene.state.volumes.get(volumeName)?.spec?.nodeAffinity?.required?.nodeSelectorTerms ?? []
  for (const { key, values = [] } of terms.flatMap((term) => term.matchExpressions ?? [])) {
    const node = values.map((value) => scene.nodeByName.get(value)).find((found) => found !== undefined)
    if (node === undefined) continue
    const label = labelOf(node.metadata.labels, key)
    return `; a node named ${node.metadata.name} does, with ${label === undefined ? `no label ${key}` : `${key}=${label}`}`
  }
  return ''
}

/** A provisioner's pvc-UUID is told well enough by its beginning; the whole name is in the report's volumes. */
function shortName(volume: string): string {
  return volume.replace(/^(pvc-[0-9a-f]{8})-[0-9a-f-]{27}$/, '$1…')
}
