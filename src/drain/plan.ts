import { matchesSelector, type ParsedSelector } from '../cluster/labels.js'
import type { Node, PersistentVolumeClaim, Pod, PodVolume } from '../cluster/objects.js'
import type { ClusterSnapshot } from '../cluster/snapshot.js'
import { shellCommand } from '../node/shell-quote.js'
import { ClusterState, type NodeState, podInfo, podKey } from '../scheduling/cluster-state.js'
import { ephemeralClaimName } from '../scheduling/ephemeral.js'
import { type Attempt, schedule } from '../scheduling/schedule.js'
import { type Rules, rulesOf, schedulerVersion } from '../scheduling/wording.js'
import { isSystemPath, isWritable, pathOf, placementOf, podVolumeSource, sourceOf } from '../volumes/volume.js'
import { adviceFor } from './rules/advice.js'
import { BudgetPlay, type EvictionResult } from './rules/budgets.js'
import { coverageOf, coverageWarnings } from './rules/coverage.js'
import { DRAIN_FLAGS, type DrainDecision, drainDecision, isFinished } from './rules/drain-filters.js'
import { type Chain, OwnerIndex, ownerKind } from './rules/owners.js'
import { freshEphemeralClaim, replacementOf } from './rules/replacement.js'
import type { PodName } from './targets.js'
import {
  ACCEPTABLE,
  type Acceptable,
  type DrainReport,
  type Effect,
  type ListedVolume,
  type PodReport,
  type PodVolumeReport,
  VERDICTS,
  type Verdict,
} from './types.js'

export interface DrainOptions {
  /** Nodes to drain, in order; see resolveTargets. */
  nodes: readonly string[]
  /** What stands in the drain command instead of the nodes' names: the text of `-l`. */
  nodeSelectorText: string | null
  podSelector: ParsedSelector | null
  podSelectorText: string | null
  /** Only these pods are reported; empty: all. */
  pods: readonly PodName[]
  cordonOnly: boolean
  accept: readonly Acceptable[]
  context: string | null
  kubeconfig: string | null
}

type Fate = 'gone' | 'stuck' | 'returns' | 'moves'

/** What the drain would do with one pod, before budgets. */
interface Judged {
  pod: Pod
  decision: DrainDecision
  chain: Chain
  kind: 'stays' | 'finished' | 'evicted'
  attempt: Attempt | null
  fate: Fate | null
  uncertain: string[]
  volumes: PodVolumeReport[]
}

/** The cluster and the scheduler's view of it with all nodes of the call cordoned. */
interface Scene {
  snapshot: ClusterSnapshot
  rules: Rules
  state: ClusterState
  nodes: readonly string[]
  nodeByName: ReadonlyMap<string, Node>
  /** By NAMESPACE/NAME. */
  claims: ReadonlyMap<string, PersistentVolumeClaim>
  owners: OwnerIndex
  unknownVolumes: ReadonlyMap<string, ReadonlyMap<string, string>>
}

/**
 * What `kubectl drain` of these nodes would do, one verdict per pod. Each pod is judged alone: only it is deleted and created
 * again, on a cluster whose nodes of the call are cordoned.
 */
export function planDrain(snapshot: ClusterSnapshot, options: DrainOptions): DrainReport {
  const onNodes = podsOn(snapshot, options)
  const leaves = new OwnerIndex(snapshot)
  const decisions = new Map(onNodes.map((pod) => [pod, decide(pod, leaves)]))
  const evicted = onNodes.filter((pod) => decisions.get(pod)?.action === 'remove' && !isFinished(pod))
  const coverage = coverageOf(snapshot, evicted)
  const scene = sceneOf(snapshot, options.nodes, evicted, leaves, coverage.unknownVolumes)

  const judged = onNodes.map((pod) => judge(pod, decisions.get(pod) ?? decide(pod, leaves), scene))
  const evictions = playBudgets(judged, scene)
  const asked = new Set(options.pods.map(({ namespace, name }) => `${namespace}/${name}`))
  const pods = judged
    .filter(({ pod }) => asked.size === 0 || asked.has(podKey(pod)))
    .map((one) =>
      options.cordonOnly ? cordonReport(one, scene) : drainReport(one, evictions.get(podKey(one.pod)), scene),
    )
    .sort(byNodeThenName(options.nodes))

  const claims = unboundClaims(snapshot, options.nodes)
  const notSafe = wordsNotSafe(pods, claims.length > 0, options)
  const failed = Object.values(snapshot.kinds).some((status) => status.state === 'failed')
  const version = schedulerVersionOf(snapshot)
  const warnings = [...snapshot.warnings, ...coverageWarnings(snapshot, coverage), ...ownerWarnings(judged, snapshot)]
  if (version.newerThanKnown) {
    warnings.push(
      `Kubernetes ${version.said} is newer than this tool knows: the rules and words of the newest known version (1.${version.minor}) are used`,
    )
  }
  return {
    apiVersion: 'kubectl-storage/v1',
    kind: 'DrainReport',
    complete:
      coverage.missing.size === 0 &&
      !failed &&
      pods.every((pod) => pod.uncertain !== true) &&
      ownersReadable(judged, snapshot),
    warnings,
    nodes: [...options.nodes],
    cordonOnly: options.cordonOnly,
    pods,
    volumes: listedVolumes(snapshot, options.nodes),
    claims,
    summary: summarise(pods),
    drainCommand: options.cordonOnly ? null : drainCommand(judged, options),
    notSafe,
  }
}

function schedulerVersionOf(snapshot: ClusterSnapshot) {
  if (snapshot.serverVersion !== null) return schedulerVersion(snapshot.serverVersion)
  // A dump has no server to ask; the control plane is never older than its nodes.
  const versions = snapshot.objects.Node.flatMap((node) => node.status?.nodeInfo?.kubeletVersion ?? [])
  const highest = versions
    .map((said) => ({ said, parts: (/(\d+)\.(\d+)/.exec(said) ?? []).slice(1).map(Number) }))
    .sort((a, b) => {
      const [majorA = 0, minorA = 0] = a.parts
      const [majorB = 0, minorB = 0] = b.parts
      return majorB - majorA || minorB - minorA
    })[0]
  return schedulerVersion(highest?.said ?? null)
}

function podsOn(snapshot: ClusterSnapshot, { nodes, podSelector }: DrainOptions): Pod[] {
  const names = new Set(nodes)
  return snapshot.objects.Pod.filter(
    (pod) =>
      names.has(pod.spec?.nodeName ?? '') &&
      (podSelector === null || matchesSelector(podSelector, pod.metadata.labels)),
  )
}

function decide(pod: Pod, owners: OwnerIndex): DrainDecision {
  return drainDecision(pod, (namespace, name) => owners.exists('DaemonSet.apps', namespace, name))
}

function sceneOf(
  snapshot: ClusterSnapshot,
  nodes: readonly string[],
  evicted: readonly Pod[],
  owners: OwnerIndex,
  unknownVolumes: ReadonlyMap<string, ReadonlyMap<string, string>>,
): Scene {
  const { objects } = snapshot
  const rules = rulesOf(schedulerVersionOf(snapshot))
  const fresh = evicted.flatMap((pod) =>
    (pod.spec?.volumes ?? [])
      .filter((volume) => volume.ephemeral)
      .map((volume) => freshEphemeralClaim(pod, volume, objects.StorageClass)),
  )
  const replaced = new Set(fresh.map(claimKey))
  const state = new ClusterState(
    objects.Node,
    objects.Pod,
    {
      claims: [...objects.PersistentVolumeClaim.filter((claim) => !replaced.has(claimKey(claim))), ...fresh],
      volumes: objects.PersistentVolume,
      classes: objects.StorageClass,
      csiNodes: objects.CSINode,
      csiDrivers: objects.CSIDriver,
      csiCapacities: objects.CSIStorageCapacity,
      attachments: objects.VolumeAttachment,
      namespaces: objects.Namespace,
      budgets: objects.PodDisruptionBudget,
    },
    rules,
  )
  for (const name of nodes) {
    const node = state.nodeByName.get(name)
    if (node !== undefined) state.cordon(node)
  }
  const nodeByName = new Map(objects.Node.map((node) => [node.metadata.name, node]))
  const claims = new Map(objects.PersistentVolumeClaim.map((claim) => [claimKey(claim), claim]))
  return { snapshot, rules, state, nodes, nodeByName, claims, owners, unknownVolumes }
}

function claimKey(claim: PersistentVolumeClaim): string {
  return `${claim.metadata.namespace ?? ''}/${claim.metadata.name}`
}

function judge(pod: Pod, decision: DrainDecision, scene: Scene): Judged {
  const chain = scene.owners.chain(pod)
  const volumes = (pod.spec?.volumes ?? []).map((volume) => volumeReport(pod, volume, scene))
  const kind =
    decision.action === 'leave' ? 'stays' : isFinished(pod) || pod.metadata.deletionTimestamp ? 'finished' : 'evicted'
  const base = { pod, decision, chain, kind, volumes } as const
  if (kind !== 'evicted') return { ...base, attempt: null, fate: null, uncertain: [] }

  const unknown = scene.unknownVolumes.get(podKey(pod))
  const uncertain = [...(unknown ?? [])].map(
    ([volume, because]) => `volume ${volume} was left out of the judgement: ${because}, and that is not in the dump`,
  )
  const { schedulerName = 'default-scheduler', resourceClaims = [] } = pod.spec ?? {}
  if (schedulerName !== 'default-scheduler' && schedulerName !== '') {
    uncertain.push(`it is scheduled by ${schedulerName}, whose rules may differ from the default scheduler's`)
  }
  if (resourceClaims.length > 0)
    uncertain.push('it uses resource claims (dynamic resource allocation), which are not modelled')
  if (scene.state.nodes.length === 0) uncertain.push('without nodes nothing can be said about where it could go')

  const omit = new Set(unknown?.keys() ?? [])
  for (const volume of pod.spec?.volumes ?? []) {
    if (!volume.ephemeral || omit.has(volume.name)) continue
    const claim = scene.state.claims.get(`${pod.metadata.namespace ?? ''}/${ephemeralClaimName(pod, volume)}`)
    const storageClass = scene.state.classes.get(claim?.spec?.storageClassName ?? '')
    if (storageClass === undefined || storageClass.volumeBindingMode === 'WaitForFirstConsumer') continue
    // Provisioned at once, before the pod is scheduled, on a node that nobody can tell.
    omit.add(volume.name)
    uncertain.push(
      `its ephemeral volume ${volume.name} is provisioned anew by ${storageClass.provisioner}, and where can't be told`,
    )
  }
  const attempt = attemptAlone(pod, omit, scene)
  return { ...base, attempt, fate: fateOf(attempt, chain, scene), uncertain }
}

/** The pod deleted and created again, everything else where it is. */
function attemptAlone(pod: Pod, omit: ReadonlySet<string>, scene: Scene): Attempt {
  const { state, rules } = scene
  const placed = state.placed(podKey(pod))
  if (placed !== undefined) state.remove(placed.pod, placed.node)
  const replacement = replacementOf(pod, scene.nodeByName.get(pod.spec?.nodeName ?? ''), rules, omit)
  const attempt = schedule(podInfo(replacement, rules, 'spec'), state)
  if (placed !== undefined) state.place(placed.pod, placed.node)
  return attempt
}

function fateOf(attempt: Attempt, chain: Chain, scene: Scene): Fate {
  if (chain.gone !== null) return 'gone'
  if (scene.state.nodes.length === 0) return 'moves'
  if (attempt.feasible.length === 0 && attempt.preemption === null) return 'stuck'
  const drained = (node: NodeState) => scene.nodes.includes(node.name)
  const comesBack = attempt.preemption === null ? attempt.feasible.some(drained) : drained(attempt.preemption.node)
  return comesBack ? 'returns' : 'moves'
}

function playBudgets(judged: readonly Judged[], scene: Scene): Map<string, EvictionResult> {
  const play = new BudgetPlay(scene.snapshot.objects.PodDisruptionBudget, scene.snapshot.objects.Pod)
  const results = new Map<string, EvictionResult>()
  for (const node of scene.nodes) {
    const evictions = judged
      .filter(({ pod, kind }) => kind === 'evicted' && pod.spec?.nodeName === node)
      .map(({ pod, fate }) => ({ pod, comesBack: fate === 'moves' || fate === 'returns' }))
    for (const [key, result] of play.drain(evictions)) results.set(key, result)
  }
  return results
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

function scheduling(attempt: Attempt | null): PodReport['scheduling'] {
  if (attempt === null) return null
  return {
    feasibleNodes: attempt.feasible.map((node) => node.name).sort(),
    message: attempt.message,
    nominatedNode: attempt.preemption?.node.name ?? null,
  }
}

function ownerOf({ links }: Chain): PodReport['owner'] {
  const top = links.at(-1)?.reference
  return top === undefined ? null : { apiVersion: top.apiVersion, kind: top.kind, name: top.name }
}

/** Where the pod can come up other than on the node it is on now. */
function comesUpElsewhere({ pod, attempt }: Judged): boolean {
  if (attempt === null) return false
  const elsewhere = (node: NodeState) => node.name !== pod.spec?.nodeName
  return attempt.preemption === null ? attempt.feasible.some(elsewhere) : elsewhere(attempt.preemption.node)
}

/** hostPath volumes that the pod finds on whatever node it comes up on, as another directory. */
function startsEmpty(judged: Judged): Effect[] {
  const { pod, volumes } = judged
  if (!comesUpElsewhere(judged)) return []
  return volumes.flatMap((report): Effect[] => {
    const effect: Effect = { effect: 'starts-empty', volume: report.name, path: report.path ?? '' }
    if (report.claim !== null) return report.source === 'hostPath' && report.affinity === 'free' ? [effect] : []
    const hostPath = pod.spec?.volumes?.find((volume) => volume.name === report.name)?.hostPath
    if (!hostPath || isSystemPath(hostPath.path) || !isWritable(pod, report.name)) return []
    return ['', 'Directory', 'DirectoryOrCreate'].includes(hostPath.type ?? '') ? [effect] : []
  })
}

function preempts({ attempt }: Judged): Effect[] {
  if (!attempt?.preemption) return []
  const { node, victims } = attempt.preemption
  return [{ effect: 'preempts', node: node.name, victims: victims.map((victim) => victim.key) }]
}

function dataLost(pod: Pod): Effect[] {
  return (
    (pod.spec?.volumes ?? [])
      // Memory and huge pages hold nothing that outlives the pod anyway.
      .filter(({ emptyDir }) => emptyDir && emptyDir.medium !== 'Memory' && !emptyDir.medium?.startsWith('HugePages'))
      .map((volume) => ({ effect: 'data-lost', volume: volume.name }))
  )
}

function baseReport({
  pod,
  chain,
  attempt,
  uncertain,
  volumes,
}: Judged): Omit<PodReport, 'verdict' | 'effects' | 'why' | 'next'> {
  return {
    namespace: pod.metadata.namespace ?? '',
    name: pod.metadata.name,
    node: pod.spec?.nodeName ?? '',
    owner: ownerOf(chain),
    scheduling: scheduling(attempt),
    volumes,
    ...(uncertain.length > 0 ? { uncertain: true as const, uncertainReasons: uncertain } : {}),
  }
}

function drainReport(judged: Judged, eviction: EvictionResult | undefined, scene: Scene): PodReport {
  const { pod, decision, kind, fate } = judged
  const effects: Effect[] = decision.flags.map((flag) => ({ effect: 'needs-flag', flag }))
  const base = baseReport(judged)
  if (kind === 'stays') return { ...base, verdict: 'stays', effects, why: whyStays(pod), next: [] }
  if (kind === 'finished') {
    const terminating = !isFinished(pod)
    const why = terminating
      ? 'it is being deleted already'
      : `it has ended (${pod.status?.phase}): only the object goes`
    return {
      ...base,
      verdict: 'finished',
      ...(terminating ? { terminating: true as const } : {}),
      effects,
      why,
      next: [],
    }
  }
  const settled = fate ?? 'moves'
  const verdict: Verdict = eviction?.result === 'blocked' ? 'blocked' : settled
  effects.push(...dataLost(pod))
  if (settled === 'moves' || settled === 'returns') effects.push(...startsEmpty(judged), ...preempts(judged))
  if (eviction?.result === 'evicted' && eviction.waits !== null)
    effects.push({ effect: 'waits-for-budget', ...eviction.waits })
  const budgets = eviction?.result === 'blocked' ? eviction.budgets : []
  return {
    ...base,
    verdict,
    effects,
    // biome-ignore lint/suspicious/noThenProperty: the report's documented name; no promise is ever made of a report
    ...(verdict === 'blocked' ? { budgets, then: { verdict: settled } } : {}),
    why: verdict === 'blocked' ? whyBlocked(budgets, scene) : whyOf(settled, judged, scene),
    next: [
      ...new Set([
        ...nextSteps(verdict, budgets, judged, scene),
        ...(verdict === 'blocked' ? nextSteps(settled, [], judged, scene) : []),
      ]),
    ],
  }
}

function cordonReport(judged: Judged, scene: Scene): PodReport {
  const { pod, kind } = judged
  const base = baseReport(judged)
  if (kind !== 'evicted')
    return {
      ...base,
      verdict: 'stays',
      effects: [],
      why: kind === 'stays' ? whyStays(pod) : 'it has ended or is ending',
      next: [],
    }
  const { attempt } = judged
  // Nothing is evicted: whether something re-creates the pod is not the question.
  const fate = attempt === null ? 'moves' : fateOf(attempt, { ...judged.chain, gone: null }, scene)
  const effects = fate === 'stuck' ? [] : [...startsEmpty(judged), ...preempts(judged)]
  return { ...base, verdict: fate, effects, why: whyOf(fate, judged, scene), next: nextSteps(fate, [], judged, scene) }
}

function whyStays(pod: Pod): string {
  const mirror = pod.metadata.annotations?.['kubernetes.io/config.mirror'] !== undefined
  return mirror ? 'the kubelet runs it from a file on the node' : 'its DaemonSet keeps it on the node'
}

function whyBlocked(budgets: readonly string[], scene: Scene): string {
  const [name = ''] = budgets
  if (budgets.length > 1)
    return `it has ${budgets.length} budgets (${budgets.join(', ')}), and the eviction API refuses such a pod`
  const budget = scene.snapshot.objects.PodDisruptionBudget.find(
    (candidate) => `${candidate.metadata.namespace ?? ''}/${candidate.metadata.name}` === name,
  )
  const { desiredHealthy, currentHealthy } = budget?.status ?? {}
  const numbers =
    desiredHealthy === undefined || currentHealthy === undefined
      ? ''
      : `: it wants ${desiredHealthy} healthy, ${currentHealthy} are`
  return `budget ${budget?.metadata.name ?? name} lets no pod go${numbers}`
}

/** The volumes that keep the pod from every node that is not drained. */
function pinning({ volumes }: Judged, scene: Scene): PodVolumeReport[] {
  return volumes.filter(({ pinnedTo }) => pinnedTo?.every((node) => scene.nodes.includes(node)) ?? false)
}

function whyOf(fate: Fate, judged: Judged, scene: Scene): string {
  const { attempt, chain } = judged
  if (fate === 'gone') return chain.gone ?? ''
  if (fate === 'stuck') {
    const [volume] = pinning(judged, scene)
    if (volume === undefined) return `no node takes it: ${refusals(judged, scene) ?? attempt?.message ?? ''}`
    const where = volume.affinity === 'orphaned' ? 'on no node that exists' : `on ${volume.pinnedTo?.join(', ')} only`
    return `volume ${shortName(volume.volume ?? '')} (claim ${volume.claim}) is ${where}`
  }
  if (fate === 'returns') return 'it tolerates the cordon and can come straight back to the node'
  if (attempt?.preemption) return `it fits on ${attempt.preemption.node.name} when pods of lower priority make room`
  const nodes = attempt?.feasible.map((node) => node.name).sort() ?? []
  if (nodes.length === 0) return 'where it could go is not known'
  return nodes.length > 3
    ? `${nodes.length} nodes take it`
    : `${nodes.join(', ')} ${nodes.length === 1 ? 'takes' : 'take'} it`
}

/** A provisioner's pvc-UUID is told well enough by its beginning; the whole name is in the report's volumes. */
function shortName(volume: string): string {
  return volume.replace(/^(pvc-[0-9a-f]{8})-[0-9a-f-]{27}$/, '$1…')
}

/** Why the nodes that are not drained refuse the pod, most frequent reason first. */
function refusals({ attempt }: Judged, scene: Scene): string | null {
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

function nextSteps(verdict: Verdict, budgets: readonly string[], judged: Judged, scene: Scene): string[] {
  const { pod, chain, volumes } = judged
  const pins = verdict === 'stuck' ? pinning(judged, scene) : []
  return adviceFor({
    pod,
    verdict,
    chain,
    budgets,
    volumes,
    claims: scene.state.claims,
    reclaimPolicyOf: (volume) => scene.state.volumes.get(volume)?.spec?.persistentVolumeReclaimPolicy,
    pinning: pins.map((volume) => volume.name),
    relocateTo: pins.length === 0 ? null : relocationTarget(judged, pins, scene),
    refusedElsewhere: refusals(judged, scene),
  })
}

/** The first node, by name, that would take the pod if its pinned volumes were there. */
function relocationTarget({ pod }: Judged, pins: readonly PodVolumeReport[], scene: Scene): string | null {
  const attempt = attemptAlone(pod, new Set(pins.map((volume) => volume.name)), scene)
  const names = attempt.feasible.map((node) => node.name).filter((name) => !scene.nodes.includes(name))
  return names.sort()[0] ?? null
}

function byNodeThenName(nodes: readonly string[]) {
  return (a: PodReport, b: PodReport): number => {
    const byNode = nodes.indexOf(a.node) - nodes.indexOf(b.node)
    if (byNode !== 0) return byNode
    const [keyA, keyB] = [`${a.namespace}/${a.name}`, `${b.namespace}/${b.name}`]
    return keyA < keyB ? -1 : keyA > keyB ? 1 : 0
  }
}

function listedVolumes(snapshot: ClusterSnapshot, nodes: readonly string[]): ListedVolume[] {
  const { objects } = snapshot
  const used = new Set<string>()
  for (const pod of objects.Pod) {
    if (isFinished(pod) || !pod.spec?.nodeName) continue
    for (const volume of pod.spec.volumes ?? []) {
      const name =
        volume.persistentVolumeClaim?.claimName ?? (volume.ephemeral ? ephemeralClaimName(pod, volume) : undefined)
      if (name !== undefined) used.add(`${pod.metadata.namespace ?? ''}/${name}`)
    }
  }
  const listed: ListedVolume[] = []
  for (const volume of objects.PersistentVolume) {
    const placement = placementOf(volume, objects.Node)
    const here =
      placement.nodes !== null && placement.nodes.length > 0 && placement.nodes.every((node) => nodes.includes(node))
    if (!here) continue
    const ref = volume.spec?.claimRef
    const claim = ref?.name ? `${ref.namespace ?? ''}/${ref.name}` : null
    const phase = volume.status?.phase ?? ''
    const released = phase === 'Released' || phase === 'Failed'
    if (!released && claim !== null && used.has(claim)) continue
    listed.push({
      name: volume.metadata.name,
      phase,
      source: sourceOf(volume),
      pinnedTo: placement.nodes ?? [],
      claim,
      reason: released ? 'released' : 'unused',
    })
  }
  return listed.sort((a, b) => (a.name < b.name ? -1 : 1))
}

/** Claims that wait to be provisioned on a node of the call (volume.kubernetes.io/selected-node). */
function unboundClaims(snapshot: ClusterSnapshot, nodes: readonly string[]): DrainReport['claims'] {
  return snapshot.objects.PersistentVolumeClaim.flatMap((claim) => {
    const selectedNode = claim.metadata.annotations?.['volume.kubernetes.io/selected-node']
    if (selectedNode === undefined || !nodes.includes(selectedNode) || claim.spec?.volumeName) return []
    return [{ namespace: claim.metadata.namespace ?? '', name: claim.metadata.name, selectedNode }]
  }).sort((a, b) => (`${a.namespace}/${a.name}` < `${b.namespace}/${b.name}` ? -1 : 1))
}

function wordsNotSafe(
  pods: readonly PodReport[],
  claimsLoseNode: boolean,
  { cordonOnly, accept }: DrainOptions,
): string[] {
  const words = new Set<string>()
  for (const pod of pods) {
    words.add(pod.verdict)
    for (const { effect } of pod.effects) words.add(effect)
  }
  const counted: readonly string[] = cordonOnly ? ['stuck'] : ACCEPTABLE
  const found = counted.filter((word) => words.has(word) && !accept.some((accepted) => accepted === word))
  if (cordonOnly && claimsLoseNode) found.push('unbound-claims')
  return found.sort()
}

function summarise(pods: readonly PodReport[]): DrainReport['summary'] {
  const summary: DrainReport['summary'] = {}
  for (const verdict of VERDICTS) {
    const count = pods.filter((pod) => pod.verdict === verdict).length
    if (count > 0) summary[verdict] = count
  }
  return summary
}

function drainCommand(judged: readonly Judged[], options: DrainOptions): string {
  const flags = DRAIN_FLAGS.filter((flag) => judged.some(({ decision }) => decision.flags.includes(flag)))
  return shellCommand([
    'kubectl',
    'drain',
    ...(options.nodeSelectorText === null ? options.nodes : ['-l', options.nodeSelectorText]),
    ...(options.context === null ? [] : ['--context', options.context]),
    ...(options.kubeconfig === null ? [] : ['--kubeconfig', options.kubeconfig]),
    ...(options.podSelectorText === null ? [] : ['--pod-selector', options.podSelectorText]),
    ...flags,
  ])
}

function ownerWarnings(judged: readonly Judged[], snapshot: ClusterSnapshot): string[] {
  const absent = new Set<string>()
  const failed = new Map<string, string>()
  for (const { reference, object } of judged.flatMap(({ chain }) => chain.links)) {
    if (object !== undefined) continue
    const kind = ownerKind(reference)
    const status = Object.hasOwn(snapshot.ownerKinds, kind) ? snapshot.ownerKinds[kind] : undefined
    if (status?.state === 'failed') failed.set(kind, status.reason)
    else if (reference.kind !== 'Node') absent.add(kind)
  }
  const warnings = [...failed]
    .sort()
    .map(([kind, reason]) => `${kind} could not be read: ${reason}; the pods' references to it are believed`)
  if (absent.size > 0)
    warnings.push(
      `no ${[...absent].sort().join(', ')} was read: pods that name one as their controller are taken to be re-created by it`,
    )
  return warnings
}

function ownersReadable(judged: readonly Judged[], snapshot: ClusterSnapshot): boolean {
  return judged.every(({ chain }) =>
    chain.links.every(({ reference }) => {
      const kind = ownerKind(reference)
      return !Object.hasOwn(snapshot.ownerKinds, kind) || snapshot.ownerKinds[kind]?.state !== 'failed'
    }),
  )
}
