import { matchesSelector, type ParsedSelector } from '../cluster/labels.js'
import type { Pod } from '../cluster/objects.js'
import type { ClusterSnapshot } from '../cluster/snapshot.js'
import { shellCommand } from '../node/shell-quote.js'
import { podKey } from '../scheduling/cluster-state.js'
import type { Attempt } from '../scheduling/schedule.js'
import { isPending, playTogether, type Together } from './joint.js'
import { attemptAlone, type Fate, fateOf, type Judged, judge, namesItsNode, pinning, refusals } from './judge.js'
import { type Advice, adviceFor } from './rules/advice.js'
import { BudgetPlay, type EvictionResult } from './rules/budgets.js'
import { coverageOf, coverageWarnings } from './rules/coverage.js'
import { DRAIN_FLAGS, type DrainDecision, drainDecision, isFinished } from './rules/drain-filters.js'
import { dataLost, preempts, startsEmpty } from './rules/effects.js'
import { fuseEffects } from './rules/fuse.js'
import { listedVolumes, unboundClaims } from './rules/listed.js'
import { type Chain, OwnerIndex, ownersReadable, ownerWarnings } from './rules/owners.js'
import { quorumEffects } from './rules/quorum.js'
import { whyBlocked, whyOf, whyStays, whyTogether } from './rules/why.js'
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
  /** The flags that say which cluster this is and who asks, as given; no credential. */
  connection: readonly string[]
}

/**
 * What `kubectl drain` of these nodes would do, one verdict per pod. Each pod is judged alone: only it is deleted and created
 * again, on a cluster whose nodes of the call are cordoned.
 */
export function planDrain(snapshot: ClusterSnapshot, options: DrainOptions): DrainReport {
  const onNodes = podsOn(snapshot, options)
  const owners = new OwnerIndex(snapshot)
  const decisions = new Map(onNodes.map((pod) => [pod, decide(pod, owners)]))
  const evicted = onNodes.filter((pod) => decisions.get(pod)?.action === 'remove' && !isFinished(pod))
  const coverage = coverageOf(snapshot, evicted)
  const scene = sceneOf(snapshot, options.nodes, evicted, owners, coverage.unknownVolumes)

  const judged = onNodes.map((pod) => judge(pod, decisions.get(pod) ?? decide(pod, owners), scene))
  // Pods asked about by name are judged as if they alone were evicted.
  const asked = new Set(options.pods.map(({ namespace, name }) => `${namespace}/${name}`))
  const reported = judged.filter(({ pod }) => asked.size === 0 || asked.has(podKey(pod)))
  const chains = judged.map(({ chain }) => chain)
  const played = options.cordonOnly ? nothingPlayed : playDrain(reported, scene)
  const pods = reported
    .map((one) => (options.cordonOnly ? cordonReport(one, scene) : drainReport(one, played, scene)))
    .sort(byNodeThenName(options.nodes))

  const claims = unboundClaims(snapshot, options.nodes)
  const notSafe = wordsNotSafe(pods, claims.length > 0, options)
  const failed = Object.values(snapshot.kinds).some((status) => status.state === 'failed')
  const version = schedulerVersionOf(snapshot)
  const warnings = [...snapshot.warnings, ...coverageWarnings(snapshot, coverage), ...ownerWarnings(chains, owners)]
  const onTheirs =
    options.podSelector === null || onNodes.length > 0 ? [] : podsOn(snapshot, { ...options, podSelector: null })
  if (onTheirs.length > 0) {
    warnings.push(
      `none of the ${onTheirs.length} pods there has the labels ${options.podSelectorText} (--pod-selector)`,
    )
  }
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
      ownersReadable(chains, owners),
    warnings,
    nodes: [...options.nodes],
    cordonOnly: options.cordonOnly,
    ...(asked.size > 0 ? { only: [...asked].sort() } : {}),
    pods,
    volumes: listedVolumes(snapshot, options.nodes),
    claims,
    ...(played.together.groups.length > 0 ? { contention: played.together.groups } : {}),
    summary: summarise(pods),
    // Without pods nobody can tell which flags the drain will demand; and drain has no way to evict only the pods asked about.
    drainCommand:
      options.cordonOnly || asked.size > 0 || snapshot.kinds.Pod.state !== 'read'
        ? null
        : drainCommand(judged, options),
    notSafe,
  }
}

/** How the drain goes as a whole: the budgets, and the pods that compete for room. Each depends on the other. */
function playDrain(judged: readonly Judged[], scene: Scene): Played {
  const pending = scene.snapshot.objects.Pod.filter(isPending)
  let together: Together = { outcomes: new Map(), groups: [] }
  let evictions = playBudgets(judged, together, scene)
  // A pod that finds no room gives its budget nothing back; then another may be held, and take no room. Two rounds settle it.
  for (let round = 0; round < 2; round++) {
    const leaving = judged.filter((one) => one.kind !== 'stays' && evictions.get(podKey(one.pod))?.result !== 'blocked')
    const returning = leaving.flatMap((one) => {
      const eviction = evictions.get(podKey(one.pod))
      if (eviction?.result !== 'evicted' || one.fate === 'gone' || one.attempt === null || one.unjudged) return []
      if (namesItsNode(one.chain)) return []
      const waits = eviction.waits === null ? 0 : 1
      return [{ judged: one, stage: 2 * scene.nodes.indexOf(one.pod.spec?.nodeName ?? '') + waits }]
    })
    const played = playTogether(leaving, returning, pending, scene)
    // What is held now took part in the round before: that is how it would end, and what its budget reckons with.
    together = { outcomes: new Map([...together.outcomes, ...played.outcomes]), groups: played.groups }
    const again = playBudgets(judged, together, scene)
    const same = [...again].every(([key, result]) => result.result === evictions.get(key)?.result)
    evictions = again
    if (same) break
  }
  const staysDown = (one: Judged) => settledFate(one, together) === 'stuck'
  return {
    evictions,
    together,
    quorum: quorumEffects(judged, evictions, staysDown, scene),
    fuse: fuseEffects(judged, scene),
  }
}

const nothingPlayed: Played = {
  evictions: new Map(),
  together: { outcomes: new Map(), groups: [] },
  quorum: new Map(),
  fuse: new Map(),
}

function playBudgets(judged: readonly Judged[], together: Together, scene: Scene): Map<string, EvictionResult> {
  const play = new BudgetPlay(scene.snapshot.objects.PodDisruptionBudget, scene.snapshot.objects.Pod)
  const results = new Map<string, EvictionResult>()
  for (const node of scene.nodes) {
    const evictions = judged
      .filter(({ pod, kind }) => kind === 'evicted' && pod.spec?.nodeName === node)
      .map((one) => ({ pod: one.pod, comesBack: ['moves', 'returns'].includes(settledFate(one, together)) }))
    for (const [key, result] of play.drain(evictions)) results.set(key, result)
  }
  return results
}

/** Where the pod ends when the others are evicted, too. */
function settledFate({ pod, fate }: Judged, { outcomes }: Together): Fate {
  const ends = outcomes.get(podKey(pod))?.ends
  if (fate === null || fate === 'gone' || ends === undefined) return fate ?? 'moves'
  if (ends === 'pending') return 'stuck'
  return fate === 'stuck' ? 'moves' : fate
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
}: Judged): Omit<PodReport, 'verdict' | 'effects' | 'why' | 'next' | 'instead'> {
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

/** What the plays found: how each eviction goes, and the effects that come of the pods' being evicted together. */
interface Played {
  evictions: ReadonlyMap<string, EvictionResult>
  together: Together
  quorum: ReadonlyMap<string, Effect>
  fuse: ReadonlyMap<string, Effect>
}

function drainReport(judged: Judged, { evictions, together, quorum, fuse }: Played, scene: Scene): PodReport {
  const key = podKey(judged.pod)
  const eviction = evictions.get(key)
  const outcome = together.outcomes.get(key)
  const { pod, decision, kind } = judged
  const effects: Effect[] = decision.flags.map((flag) => ({ effect: 'needs-flag', flag }))
  const base = baseReport(judged)
  if (kind === 'stays') return { ...base, verdict: 'stays', effects, why: whyStays(pod), next: [], instead: [] }
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
      instead: [],
    }
  }
  const settled = settledFate(judged, together)
  const verdict: Verdict = eviction?.result === 'blocked' ? 'blocked' : settled
  effects.push(...dataLost(pod))
  if (settled === 'moves' || settled === 'returns') effects.push(...startsEmpty(judged), ...preempts(judged))
  if (eviction?.result === 'evicted' && eviction.waits !== null)
    effects.push({ effect: 'waits-for-budget', ...eviction.waits })
  if (outcome?.ends === 'contended') effects.push({ effect: 'contended', node: outcome.node ?? '', with: outcome.with })
  effects.push(...[quorum.get(key), fuse.get(key)].filter((effect) => effect !== undefined))
  const budgets = eviction?.result === 'blocked' ? eviction.budgets : []
  const why =
    eviction?.result === 'blocked' ? whyBlocked(pod, eviction, scene) : whyTogether(settled, judged, outcome, scene)
  const mayBeHeldBy = eviction?.result === 'evicted' ? eviction.mayBeHeldBy : null
  const own = advise(verdict, budgets, judged, scene)
  // Of a pod that is held: what its budget needs, then what it needs itself.
  const after = verdict === 'blocked' ? advise(settled, [], judged, scene) : { next: [], instead: [] }
  const advice = { next: [...new Set([...own.next, ...after.next])], instead: [...own.instead, ...after.instead] }
  const message = base.scheduling?.message ?? (settled === 'stuck' ? (outcome?.message ?? null) : null)
  return {
    ...base,
    scheduling: base.scheduling === null ? null : { ...base.scheduling, message },
    verdict,
    effects,
    ...(verdict === 'blocked' ? { budgets, then: { verdict: settled } } : {}),
    ...(mayBeHeldBy === null ? {} : { mayBeHeldBy }),
    why,
    ...advice,
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
      instead: [],
    }
  const { attempt } = judged
  // Nothing is evicted: whether something re-creates the pod is not the question.
  const fate = attempt === null ? 'moves' : fateOf(attempt, { ...judged.chain, gone: null }, scene)
  const effects = fate === 'stuck' ? [] : [...startsEmpty(judged), ...preempts(judged)]
  return { ...base, verdict: fate, effects, why: whyOf(fate, judged, scene), ...advise(fate, [], judged, scene) }
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
    // Whoever accepts that a budget holds a pod will see to the budget; then this is how it ends.
    if (pod.then !== undefined && accept.includes('blocked')) words.add(pod.then.verdict)
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
    ...options.connection,
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

function advise(verdict: Verdict, budgets: readonly string[], judged: Judged, scene: Scene): Advice {
  const { pod, chain, volumes } = judged
  if (judged.unjudged) return { next: [], instead: [] }
  const pins = verdict === 'stuck' || verdict === 'returns' ? pinning(judged, scene) : []
  return adviceFor({
    pod,
    verdict,
    chain,
    budgets,
    volumes,
    claims: scene.state.claims,
    replicasWouldHelp: (name) => {
      const budget = scene.snapshot.objects.PodDisruptionBudget.find(
        ({ metadata }) => metadata.namespace === pod.metadata.namespace && metadata.name === name,
      )
      const { minAvailable, maxUnavailable } = budget?.spec ?? {}
      return minAvailable !== '100%' && maxUnavailable !== 0 && maxUnavailable !== '0%'
    },
    toCordon: scene.nodes.filter((node) => scene.nodeByName.get(node)?.spec?.unschedulable !== true),
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
