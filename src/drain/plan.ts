import { matchesSelector, type ParsedSelector } from '../cluster/labels.js'
import type { Pod } from '../cluster/objects.js'
import type { ClusterSnapshot } from '../cluster/snapshot.js'
import { shellCommand } from '../node/shell-quote.js'
import { podKey } from '../scheduling/cluster-state.js'
import type { Attempt } from '../scheduling/schedule.js'
import { attemptAlone, fateOf, type Judged, judge, pinning, refusals } from './judge.js'
import { adviceFor } from './rules/advice.js'
import { BudgetPlay, type EvictionResult } from './rules/budgets.js'
import { coverageOf, coverageWarnings } from './rules/coverage.js'
import { DRAIN_FLAGS, type DrainDecision, drainDecision, isFinished } from './rules/drain-filters.js'
import { dataLost, preempts, startsEmpty } from './rules/effects.js'
import { listedVolumes, unboundClaims } from './rules/listed.js'
import { type Chain, OwnerIndex, ownersReadable, ownerWarnings } from './rules/owners.js'
import { whyBlocked, whyOf, whyStays } from './rules/why.js'
import { type Scene, sceneOf, schedulerVersionOf } from './scene.js'
import type { PodName } from './targets.js'
import {
  ACCEPTABLE,
  type Acceptable,
  type DrainReport,
  type Effect,
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
  const chains = judged.map(({ chain }) => chain)
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
  const warnings = [...snapshot.warnings, ...coverageWarnings(snapshot, coverage), ...ownerWarnings(chains, snapshot)]
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
      ownersReadable(chains, snapshot),
    warnings,
    nodes: [...options.nodes],
    cordonOnly: options.cordonOnly,
    pods,
    // Without pods nobody can tell which volumes are in use, nor which flags the drain will demand.
    volumes: snapshot.kinds.Pod.state === 'read' ? listedVolumes(snapshot, options.nodes) : [],
    claims,
    summary: summarise(pods),
    drainCommand: options.cordonOnly || snapshot.kinds.Pod.state !== 'read' ? null : drainCommand(judged, options),
    notSafe,
  }
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

function baseReport({
  pod,
  chain,
  attempt,
  uncertain,
  unjudged,
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
    ...(unjudged ? { unjudged: true as const } : {}),
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
    ...(verdict === 'blocked' ? { budgets, then: { verdict: settled } } : {}),
    why: verdict === 'blocked' ? whyBlocked(pod, budgets, scene) : whyOf(settled, judged, scene),
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

function byNodeThenName(nodes: readonly string[]) {
  return (a: PodReport, b: PodReport): number => {
    const byNode = nodes.indexOf(a.node) - nodes.indexOf(b.node)
    if (byNode !== 0) return byNode
    const [keyA, keyB] = [`${a.namespace}/${a.name}`, `${b.namespace}/${b.name}`]
    return keyA < keyB ? -1 : keyA > keyB ? 1 : 0
  }
}

function wordsNotSafe(
  pods: readonly PodReport[],
  claimsLoseNode: boolean,
  { cordonOnly, accept }: DrainOptions,
): string[] {
  const words = new Set<string>()
  for (const pod of pods) {
    if (pod.unjudged !== true || pod.verdict !== 'stuck') words.add(pod.verdict)
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
