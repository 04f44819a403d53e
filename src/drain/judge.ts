import type { Pod, PodVolume } from '../cluster/objects.js'
import { type NodeState, podInfo, podKey } from '../scheduling/cluster-state.js'
import { ephemeralClaimName } from '../scheduling/ephemeral.js'
import { type Attempt, schedule } from '../scheduling/schedule.js'
import { pathOf, placementOf, podVolumeSource, sourceOf } from '../volumes/volume.js'
import { type DrainDecision, isFinished } from './rules/drain-filters.js'
import { type Chain, jobGivesUp } from './rules/owners.js'
import { replacementOf } from './rules/replacement.js'
import type { Scene } from './scene.js'
import type { PodVolumeReport } from './types.js'

export type Fate = 'gone' | 'stuck' | 'returns' | 'moves'

/** What the drain would do with one pod, before budgets. */
export interface Judged {
  pod: Pod
  decision: DrainDecision
  chain: Chain
  kind: 'stays' | 'finished' | 'evicted'
  attempt: Attempt | null
  fate: Fate | null
  uncertain: string[]
  /** The verdict comes from what the dump lacks, so it is no finding that could make the drain unsafe. */
  unjudged: boolean
  /** Volumes that are left out when the pod is created again, since nobody can tell what becomes of them. */
  omitted: ReadonlySet<string>
  volumes: PodVolumeReport[]
}

export function judge(pod: Pod, decision: DrainDecision, scene: Scene): Judged {
  const found = scene.owners.chain(pod)
  const chain = {
    ...found,
    gone: found.gone ?? jobGivesUp(found, scene.evictedOf.get(found.links[0]?.reference.uid ?? '') ?? 0),
  }
  const volumes = (pod.spec?.volumes ?? [])
    // Configuration, tokens and the like go wherever the pod goes.
    .filter((volume) => podVolumeSource(volume) !== null)
    .map((volume) => volumeReport(pod, volume, scene))
  const kind =
    decision.action === 'leave' ? 'stays' : isFinished(pod) || pod.metadata.deletionTimestamp ? 'finished' : 'evicted'
  const base = { pod, decision, chain, kind, volumes } as const
  if (kind !== 'evicted')
    return { ...base, attempt: null, fate: null, uncertain: [], unjudged: false, omitted: new Set() }

  const unknown = scene.unknownVolumes.get(podKey(pod)) ?? new Map<string, string>()
  const uncertain = [...unknown].map(([name, because]) => `volume ${name}: ${because}, and none of that kind was read`)
  const { schedulerName = 'default-scheduler', resourceClaims = [] } = pod.spec ?? {}
  if (schedulerName !== 'default-scheduler' && schedulerName !== '') {
    uncertain.push(`it is scheduled by ${schedulerName}, whose rules may differ from the default scheduler's`)
  }
  if (resourceClaims.length > 0)
    uncertain.push('it uses resource claims (dynamic resource allocation), which are not modelled')

  for (const volume of volumes) {
    const csi = scene.state.volumes.get(volume.volume ?? '')?.spec?.csi
    if (csi?.volumeAttributes?.dataLocality === 'strict-local' && volume.affinity === 'free') {
      uncertain.push(
        `volume ${volume.name} is strict-local: Longhorn keeps its data on one node, and which one the volume does not say`,
      )
    }
  }
  if (scene.state.nodes.length === 0) {
    const fate: Fate = chain.gone === null ? 'moves' : 'gone'
    if (fate === 'moves') uncertain.push('without nodes nothing can be said about where it could go')
    return { ...base, attempt: null, fate, uncertain, unjudged: false, omitted: new Set() }
  }
  const omit = new Set<string>()
  for (const volume of pod.spec?.volumes ?? []) {
    if (!volume.ephemeral || unknown.has(volume.name)) continue
    const claim = scene.state.claims.get(`${pod.metadata.namespace ?? ''}/${ephemeralClaimName(pod, volume)}`)
    const storageClass = scene.state.classes.get(claim?.spec?.storageClassName ?? '')
    if (storageClass === undefined || storageClass.volumeBindingMode === 'WaitForFirstConsumer') continue
    // Provisioned at once, before the pod is scheduled, on a node that nobody can tell.
    omit.add(volume.name)
    uncertain.push(
      `its ephemeral volume ${volume.name} is provisioned anew by ${storageClass.provisioner}, and where can't be told`,
    )
  }
  const attempt = namedByTemplate(chain, scene) ?? attemptAlone(pod, omit, scene)
  const fate = fateOf(attempt, chain, scene)
  // As far as the dump goes, a claim or volume that it lacks is not there, and the scheduler would refuse the pod for that alone.
  const unjudged =
    fate === 'stuck' &&
    unknown.size > 0 &&
    fateOf(attemptAlone(pod, new Set([...omit, ...unknown.keys()]), scene), chain, scene) !== 'stuck'
  return { ...base, attempt, fate, uncertain, unjudged, omitted: omit }
}

/** The pod as it is created again. */
export function replacementFor({ pod, omitted }: Pick<Judged, 'pod' | 'omitted'>, scene: Scene): Pod {
  return replacementOf(pod, scene.nodeByName.get(pod.spec?.nodeName ?? ''), scene.rules, omitted)
}

/** The pod deleted and created again, everything else where it is. */
export function attemptAlone(pod: Pod, omit: ReadonlySet<string>, scene: Scene): Attempt {
  const { state, rules } = scene
  const placed = state.placed(podKey(pod))
  if (placed !== undefined) state.remove(placed.pod, placed.node)
  const attempt = schedule(podInfo(replacementFor({ pod, omitted: omit }, scene), rules, 'spec'), state)
  if (placed !== undefined) state.place(placed.pod, placed.node)
  return attempt
}

/** A workload whose template names the node passes the scheduler by: its pod is started there again, whatever the cordon. */
export function namesItsNode({ links }: Chain): boolean {
  return links[0]?.object?.spec?.template?.spec?.nodeName !== undefined
}

function namedByTemplate(chain: Chain, scene: Scene): Attempt | null {
  const name = chain.links[0]?.object?.spec?.template?.spec?.nodeName
  const node = name === undefined ? undefined : scene.state.nodeByName.get(name)
  return node === undefined ? null : { feasible: [node], message: null, preemption: null, rejections: new Map() }
}

export function fateOf(attempt: Attempt, chain: Chain, scene: Scene): Fate {
  if (chain.gone !== null) return 'gone'
  if (attempt.feasible.length === 0 && attempt.preemption === null) return 'stuck'
  const drained = (node: NodeState) => scene.nodes.includes(node.name)
  const comesBack = attempt.preemption === null ? attempt.feasible.some(drained) : drained(attempt.preemption.node)
  return comesBack ? 'returns' : 'moves'
}

/** The volumes that keep the pod from every node that is not drained. */
export function pinning({ volumes }: Judged, scene: Scene): PodVolumeReport[] {
  return volumes.filter(({ pinnedTo }) => pinnedTo?.every((node) => scene.nodes.includes(node)) ?? false)
}

/** Why the nodes that are not drained refuse the pod, most frequent reason first. */
export function refusals({ attempt }: Judged, scene: Scene): string | null {
  const counts = new Map<string, number>()
  for (const [node, { reasons }] of attempt?.rejections ?? []) {
    if (scene.nodes.includes(node.name)) continue
    for (const reason of reasons) counts.set(reason, (counts.get(reason) ?? 0) + 1)
  }
  if (counts.size === 0) return null
  return [...counts]
    .sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1))
    .map(([reason, count]) => `${count} ${reason}`)
    .join(', ')
}

function volumeReport(pod: Pod, volume: PodVolume, scene: Scene): PodVolumeReport {
  const { state, snapshot } = scene
  const claimName =
    volume.persistentVolumeClaim?.claimName ?? (volume.ephemeral ? ephemeralClaimName(pod, volume) : null)
  const own = {
    name: volume.name,
    claim: claimName,
    volume: null,
    source: podVolumeSource(volume),
    affinity: null,
    pinnedTo: null,
  }
  if (claimName === null) {
    if (volume.hostPath) return { ...own, path: volume.hostPath.path }
    return volume.csi ? { ...own, driver: volume.csi.driver } : own
  }
  const claim = scene.claims.get(`${pod.metadata.namespace ?? ''}/${claimName}`)
  const bound = state.volumes.get(claim?.spec?.volumeName ?? '')
  if (bound === undefined) {
    // The source of a claim is that of its volume; without one nobody can tell.
    return { ...own, volume: claim?.spec?.volumeName || null, source: volume.ephemeral ? 'ephemeral' : null }
  }
  const placement = placementOf(bound, snapshot.objects.Node)
  const report: PodVolumeReport = {
    ...own,
    volume: bound.metadata.name,
    source: sourceOf(bound),
    affinity: placement.affinity,
    pinnedTo: placement.nodes,
  }
  if (bound.spec?.csi) report.driver = bound.spec.csi.driver
  const path = pathOf(bound)
  return path === null ? report : { ...report, path }
}
