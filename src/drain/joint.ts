import { matchesLabelSelector } from '../cluster/labels.js'
import type { Pod } from '../cluster/objects.js'
import {
  type ClusterState,
  classOfClaim,
  type NodeState,
  type PodInfo,
  podInfo,
  podKey,
  termMatches,
} from '../scheduling/cluster-state.js'
import { volumesToBind } from '../scheduling/filters/volume-binding.js'
import { fewestThatFill } from '../scheduling/room.js'
import { schedule } from '../scheduling/schedule.js'
import { type Judged, replacementFor } from './judge.js'
import type { Scene } from './scene.js'
import type { ContendedGroup } from './types.js'

/**
 * What becomes of the evicted pods together. kubectl evicts all pods of a node at once; their replacements are scheduled by
 * priority and then in no order that is known, and which of the passing nodes each gets is scoring. Pods that were Pending before
 * the drain take part: one of them may be tried the moment that room is free, before a replacement is there or tried again
 * (backoff), whatever its priority. A pod's place is sure when the others can't fill every node that takes it; what is not sure is
 * played through, in every order and choice where those are few enough, else in many.
 */
export interface Together {
  /** By NAMESPACE/NAME; pods that are not here end as they would alone. */
  outcomes: Map<string, JointOutcome>
  groups: ContendedGroup[]
}

export interface JointOutcome {
  /** `placed` in every order and choice, `pending` in every one, or it depends. */
  ends: 'placed' | 'pending' | 'contended'
  /** The pods it competes with (NS/NAME), sorted, and the node that they compete for; null when no node takes it at first. */
  with: string[]
  node: string | null
  /** What the scheduler says when it stays Pending, with the others placed. */
  message: string | null
}

interface Member {
  key: string
  info: PodInfo
  /** The same for pods that the scheduler can't tell apart: playing with one of them is playing with any. */
  kind: string
  /** When it comes, see {@link Returning}; null for a pod that was Pending before, or that preemption drove out: at any time. */
  stage: number | null
  /** Names of the nodes that pass, or where preemption makes room, when all evicted pods are gone. */
  feasible: ReadonlySet<string>
  /** Whom preemption would drive out for it then. */
  victims: readonly PodInfo[]
}

/** How much of the scheduler's work (see Moves) a group may cost before the play changes from every order to samples. */
const MOST_WORK = 60_000
const MOST_SAMPLES = 200
const FEWEST_SAMPLES = 4
/** Of Pending pods that are alike no more take part: so many fill what a drain lets become free, or never will. */
const MOST_ALIKE = 50

/** A pod that is created again, and how late: by its node's place in the drain, and after those that its budget makes it wait for. */
export interface Returning {
  judged: Judged
  stage: number
}

/**
 * `evicted`: all pods that leave the nodes; `returning` of them get a replacement; `pending` are on no node before the drain. The
 * scene is as before when it returns.
 */
export function playTogether(
  evicted: readonly Judged[],
  returning: readonly Returning[],
  pending: readonly Pod[],
  scene: Scene,
): Together {
  if (returning.length === 0 || returning.length + pending.length < 2) return { outcomes: new Map(), groups: [] }
  const { state } = scene
  const left = evicted.flatMap(({ pod }) => state.placed(podKey(pod)) ?? [])
  for (const { pod, node } of left) state.remove(pod, node)
  const together = playReturns(returning, pending, scene)
  for (const { pod, node } of left) state.place(pod, node)
  return together
}

/** Pods that the default scheduler would place if it could: the kubelet's mirror pods and pods of other schedulers are none. */
export function isPending({ metadata, spec = {}, status }: Pod): boolean {
  const { nodeName, schedulerName = 'default-scheduler', schedulingGates = [] } = spec
  const waits = !nodeName && schedulerName === 'default-scheduler' && schedulingGates.length === 0
  return waits && metadata.deletionTimestamp === undefined && (status?.phase ?? 'Pending') === 'Pending'
}

function playReturns(returning: readonly Returning[], pending: readonly Pod[], scene: Scene): Together {
  const { state, rules } = scene
  const comes = returning.map(({ judged, stage }) =>
    memberOf(podInfo(replacementFor(judged, scene), rules, 'spec'), stage, state),
  )
  const members = [...comes, ...waitingMembers(pending, scene)]
  const outcomes = new Map<string, JointOutcome>()
  const groups: ContendedGroup[] = []
  for (const group of groupsOf(members, state)) {
    if (group.every(({ stage }) => stage === null)) continue
    const { ends, whole } = playGroup(group, scene)
    let contended = false
    for (const member of group) {
      if (member.stage === null) continue
      const outcome = outcomeOf(member, group, ends, whole)
      if (outcome.ends === 'contended') contended = true
      outcomes.set(member.key, outcome)
    }
    if (!contended) continue
    const counts = ends.map(({ pending }) => pending.size)
    const waiting = group.filter(({ stage }) => stage === null).map(({ key }) => key)
    groups.push({
      pods: group.map((member) => member.key).sort(),
      ...(waiting.length > 0 ? { waiting: waiting.sort() } : {}),
      pending: { min: Math.min(...counts), max: Math.max(...counts) },
    })
  }
  return { outcomes, groups }
}

function memberOf(info: PodInfo, stage: number | null, state: ClusterState): Member {
  const { feasible, preemption } = schedule(info, state)
  const places = preemption === null ? feasible : [preemption.node]
  return {
    key: info.key,
    info,
    kind: kindOf(info, stage),
    stage,
    feasible: new Set(places.map((node) => node.name)),
    victims: preemption?.victims ?? [],
  }
}

/** Those of the Pending pods that could find a place now, or when another one has found its own. */
function waitingMembers(pending: readonly Pod[], { state, rules }: Scene): Member[] {
  const alike = new Map<string, Member[]>()
  for (const pod of pending) {
    const info = podInfo(pod, rules, 'spec')
    const kind = kindOf(info, null)
    const known = alike.get(kind) ?? []
    if (known.length >= MOST_ALIKE) continue
    const [first] = known
    const member = first === undefined ? memberOf(info, null, state) : { ...first, key: info.key, info }
    alike.set(kind, [...known, member])
  }
  return [...alike.values()].flat().filter(({ feasible, info }) => feasible.size > 0 || looksAtOthers(info))
}

function outcomeOf(member: Member, group: readonly Member[], ends: readonly End[], whole: boolean): JointOutcome {
  const alike = group.filter((other) => other.kind === member.kind)
  const waitingOf = (end: End) => alike.filter((other) => end.pending.has(other.key))
  const never = ends.every((end) => waitingOf(end).length === 0)
  const always = ends.every((end) => waitingOf(end).length === alike.length)
  const nodes = ends.flatMap(({ places }) => alike.flatMap((other) => places.get(other.key) ?? []))
  const [waiting] = ends.flatMap((end) => waitingOf(end).map((other) => end.pending.get(other.key) ?? null))
  return {
    // What always happened in samples may not always happen, unless it is what the pod does alone.
    ends: never ? 'placed' : always && (whole || member.feasible.size === 0) ? 'pending' : 'contended',
    with: group
      .filter((other) => other !== member)
      .map((other) => other.key)
      .sort(),
    node: [...nodes, ...member.feasible].sort()[0] ?? null,
    message: waiting ?? null,
  }
}

/** Pods with claims are all different: each has its own. */
function kindOf({ pod, key, claims }: PodInfo, stage: number | null): string {
  if (claims.length > 0) return key
  const { namespace, labels } = pod.metadata
  const { containers = [], initContainers = [], volumes = [], ...spec } = pod.spec ?? {}
  // The volume of a service account's token has a name of its own in each pod; to the scheduler a mount means nothing.
  const unmounted = [...containers, ...initContainers].map(({ volumeMounts: _, ...container }) => container)
  const sources = volumes.map(({ name: _, ...source }) => source).filter((source) => Object.keys(source).length > 0)
  return JSON.stringify([stage, namespace, labels, spec, containers.length, unmounted, sources])
}

/** Members that may get into each other's way; those whose place is sure are in none. */
function groupsOf(members: readonly Member[], state: ClusterState): Member[][] {
  const entangled = entanglements(members, state)
  const unsure = members.filter(
    (member) =>
      (entangled.get(member)?.length ?? 0) > 0 || member.victims.length > 0 || !hasSurePlace(member, members, state),
  )
  const group = new Map<Member, Set<Member>>()
  const join = (a: Member, b: Member) => {
    const [mine, theirs] = [group.get(a) ?? new Set([a]), group.get(b) ?? new Set([b])]
    if (mine === theirs) return
    for (const member of theirs) mine.add(member)
    for (const member of mine) group.set(member, mine)
  }
  for (const member of unsure) {
    for (const other of members) if (other !== member && overlap(member, other)) join(member, other)
    for (const other of entangled.get(member) ?? []) join(member, other)
  }
  return [...new Set(group.values())]
    .map((set) => [...set].sort((a, b) => (a.key < b.key ? -1 : 1)))
    .sort((a, b) => ((a[0]?.key ?? '') < (b[0]?.key ?? '') ? -1 : 1))
}

function overlap(a: Member, b: Member): boolean {
  const [small, large] = a.feasible.size <= b.feasible.size ? [a, b] : [b, a]
  for (const node of small.feasible) if (large.feasible.has(node)) return true
  return false
}

/** Whether the others, wherever they go, leave a node that takes the pod. */
function hasSurePlace(member: Member, members: readonly Member[], state: ClusterState): boolean {
  if (member.feasible.size === 0) return true // for sure none: nothing of the others' room can change that
  if (member.feasible.size >= members.length && member.info.hostPorts.length === 0) return true
  const others = members.filter((other) => other !== member && overlap(member, other)).map((other) => other.info)
  let needed = 0
  for (const name of member.feasible) {
    const node = state.nodeByName.get(name)
    if (node === undefined) continue
    needed += usesLimitedVolumes(member.info, node, state) ? 1 : fewestThatFill(node, member.info, others)
    if (needed > others.length) return true
  }
  return others.length === 0
}

function usesLimitedVolumes(pod: PodInfo, node: NodeState, state: ClusterState): boolean {
  const limited =
    state.csiNodes.get(node.name)?.spec?.drivers?.some(({ allocatable }) => allocatable?.count !== undefined) ?? false
  return limited && pod.claims.length > 0
}

/** Members whose rules look at each other: affinity, spreading, a claim or free volumes that both want. */
function entanglements(members: readonly Member[], state: ClusterState): Map<Member, Member[]> {
  const found = new Map<Member, Member[]>()
  const note = (a: Member, b: Member) => {
    found.set(a, [...(found.get(a) ?? []), b])
    found.set(b, [...(found.get(b) ?? []), a])
  }
  const concerned = members.filter(({ info }) => looksAtOthers(info))
  for (const a of concerned) {
    for (const b of members) {
      if (a !== b && (selects(a.info, b.info, state) || shareVolumes(a.info, b.info, state))) note(a, b)
    }
  }
  // Whom preemption drives out may be whom another one wants to be with, or can't be beside.
  for (const a of members) {
    for (const b of a.victims.length > 0 ? members : []) {
      const about = (victim: PodInfo) => selects(b.info, victim, state) || selects(victim, b.info, state)
      if (a !== b && a.victims.some(about)) note(a, b)
    }
  }
  return found
}

function looksAtOthers({ pod, affinity, antiAffinity, claims }: PodInfo): boolean {
  const spreads = (pod.spec?.topologySpreadConstraints ?? []).some((one) => one.whenUnsatisfiable === 'DoNotSchedule')
  return affinity.length > 0 || antiAffinity.length > 0 || spreads || claims.length > 0
}

function selects(a: PodInfo, b: PodInfo, state: ClusterState): boolean {
  const labelsOf = (pod: PodInfo) => state.namespaces.get(pod.namespace)?.metadata.labels
  const terms = [...a.affinity, ...a.antiAffinity]
  if (terms.some((term) => termMatches(term, b, labelsOf(b)))) return true
  return (a.pod.spec?.topologySpreadConstraints ?? []).some((constraint) => {
    const same = a.namespace === b.namespace && constraint.whenUnsatisfiable === 'DoNotSchedule'
    return same && matchesLabelSelector(constraint.labelSelector, b.pod.metadata.labels)
  })
}

/** A claim of both, or unbound claims of one class without provisioner: the first takes the volume. */
function shareVolumes(a: PodInfo, b: PodInfo, state: ClusterState): boolean {
  if (a.namespace === b.namespace && a.claims.some((claim) => b.claims.includes(claim))) return true
  const unbound = (pod: PodInfo) =>
    pod.claims.flatMap((name) => {
      const claim = state.claims.get(`${pod.namespace}/${name}`)
      return claim === undefined || claim.spec?.volumeName ? [] : [classOfClaim(claim)]
    })
  const classes = new Set(unbound(a))
  return unbound(b).some((name) => classes.has(name) && (state.volumesByClass.get(name)?.length ?? 0) > 0)
}

interface End {
  /** Pods that stay Pending, with what the scheduler says of them. */
  pending: Map<string, string | null>
  /** Where the others are. */
  places: Map<string, string>
}

interface Play {
  ends: End[]
  /** Every order and choice was played. */
  whole: boolean
}

type Move = { member: Member; node: NodeState; victims: readonly PodInfo[] }

/** Plays the members' scheduling through; the state is as before when it returns. */
function playGroup(group: readonly Member[], scene: Scene): Play {
  return playEveryOrder(group, scene) ?? { ends: playSamples(group, scene), whole: false }
}

interface Moves {
  moves: Move[]
  message: string | null
  /** How often a node was looked at: once, and again for each of its pods where preemption tried to do without them. */
  work: number
}

function movesOf(member: Member, state: ClusterState): Moves {
  const { preemption, feasible, message, rejections } = schedule(member.info, state)
  let work = state.nodes.length
  if (feasible.length === 0) {
    for (const [node, { helpedByPreemption }] of rejections) if (helpedByPreemption) work += node.pods.size
  }
  if (preemption !== null) return { moves: [{ member, ...preemption }], message, work }
  return { moves: feasible.map((node) => ({ member, node, victims: [] })), message, work }
}

/** The members of a group, and those that come to them: pods that preemption drove out and whose controllers make them again. */
class Cast {
  readonly group: readonly Member[]
  readonly #scene: Scene
  /** By the pod that was there first. */
  readonly #drivenOut = new Map<PodInfo, Member>()

  constructor(group: readonly Member[], scene: Scene) {
    this.group = group
    this.#scene = scene
  }

  /** Makes the move; gives back how to undo it, and who waits for a place because of it. */
  make({ member, node, victims }: Move): { undo: () => void; out: Member[] } {
    const { state } = this.#scene
    for (const victim of victims) state.remove(victim, node)
    const volumes = volumesToBind(member.info, node, state)
    state.place(member.info, node)
    for (const volume of volumes) state.reserved.add(volume)
    const undo = () => {
      for (const volume of volumes) state.reserved.delete(volume)
      state.remove(member.info, node)
      for (const victim of victims) state.place(victim, node)
    }
    return { undo, out: victims.flatMap((victim) => this.#madeAgain(victim) ?? []) }
  }

  /** The same for states in which the same pods are in the same places. */
  id(): string {
    return [...this.group, ...this.#drivenOut.values()]
      .map(({ key, kind }) => `${kind} ${this.#scene.state.placed(key)?.node.name ?? ''}`)
      .sort()
      .join('\n')
  }

  end(waiting: ReadonlyMap<Member, string | null>): End {
    const placed = this.group.filter((member) => !waiting.has(member))
    const pending = [...waiting].filter(([member]) => this.group.includes(member))
    return {
      pending: new Map(pending.map(([member, message]) => [member.key, message])),
      places: new Map(placed.map(({ key }) => [key, this.#scene.state.placed(key)?.node.name ?? ''])),
    }
  }

  /** What comes for a pod that was driven out; undefined when nothing does. */
  #madeAgain(victim: PodInfo): Member | undefined {
    const known = [...this.group, ...this.#drivenOut.values()].find(({ info }) => info === victim)
    if (known !== undefined || !hasController(victim)) return known
    const before = this.#drivenOut.get(victim)
    if (before !== undefined) return before
    const replacement = replacementFor({ pod: victim.pod, omitted: new Set() }, this.#scene)
    const info = podInfo(replacement, this.#scene.rules, 'spec')
    const made: Member = { key: info.key, info, kind: info.key, stage: null, feasible: new Set(), victims: [] }
    this.#drivenOut.set(victim, made)
    return made
  }
}

function hasController({ pod }: PodInfo): boolean {
  return pod.metadata.ownerReferences?.some(({ controller }) => controller === true) ?? false
}

/** By node drained, then by priority: those before a pod here are tried before it. Those that come at any time are last. */
function byTurn(a: Member, b: Member): number {
  if (a.stage === null || b.stage === null) return Number(a.stage === null) - Number(b.stage === null)
  return a.stage - b.stage || b.info.priority - a.info.priority
}

/**
 * Every order and choice: of the waiting pods whose turn it is, any that finds a place takes any of the nodes that pass (or the one
 * where preemption makes room). null when that is too much work.
 */
function playEveryOrder(group: readonly Member[], scene: Scene): Play | null {
  const cast = new Cast(group, scene)
  const seen = new Set<string>()
  const ends = new Map<string, End>()
  let work = 0
  const explore = (waiting: readonly Member[]): boolean => {
    // Preemption can chase pods around; a state that was seen is not looked at again, so this ends.
    const id = cast.id()
    if (seen.has(id)) return true
    seen.add(id)

    const messages = new Map<Member, string | null>()
    const kinds = new Map<string, Moves>()
    const moves: Move[] = []
    let turn: Member | null = null
    for (const member of [...waiting].sort(byTurn)) {
      // Once it is somebody's turn, only those come beside him whose turn it is, too, or always.
      if (turn !== null && member.stage !== null && byTurn(turn, member) !== 0) continue
      const known = kinds.get(member.kind)
      if (known !== undefined) {
        messages.set(member, known.message)
        continue
      }
      if (work > MOST_WORK) return false
      const found = movesOf(member, scene.state)
      work += found.work
      kinds.set(member.kind, found)
      messages.set(member, found.message)
      moves.push(...found.moves)
      if (found.moves.length > 0 && member.stage !== null) turn ??= member
    }
    if (moves.length === 0) {
      ends.set(id, cast.end(messages))
      return true
    }
    for (const move of moves) {
      const { undo, out } = cast.make(move)
      const enough = explore([...waiting.filter((member) => member !== move.member), ...out])
      undo()
      if (!enough) return false
    }
    return true
  }
  return explore(group) ? { ends: [...ends.values()], whole: true } : null
}

/** Many orders and choices, the same ones each time: what fails is tried again until nothing more finds a place. */
function playSamples(group: readonly Member[], scene: Scene): End[] {
  const ends: End[] = []
  let work = 0
  for (let sample = 0; sample < MOST_SAMPLES && (sample < FEWEST_SAMPLES || work < 2 * MOST_WORK); sample++) {
    const cast = new Cast(group, scene)
    const choose = chooser(sample)
    const rank = new Map(group.map((member) => [member, choose(group.length)]))
    const order = [...group].sort((a, b) => byTurn(a, b) || (rank.get(a) ?? 0) - (rank.get(b) ?? 0))
    const undos: (() => void)[] = []
    let waiting = new Map<Member, string | null>(order.map((member) => [member, null]))
    // What a kind of pod was refused with, for as long as nothing moves.
    const refused = new Map<string, string | null>()
    for (let round = 0; round <= 2 * group.length; round++) {
      const again = new Map<Member, string | null>()
      let progress = false
      for (const member of atAnyTime([...waiting.keys()].sort(byTurn), choose)) {
        const known = refused.get(member.kind)
        if (known !== undefined) {
          again.set(member, known)
          continue
        }
        const { moves, message, work: cost } = movesOf(member, scene.state)
        work += cost
        const move = moves[choose(moves.length)]
        if (move === undefined) {
          refused.set(member.kind, message)
          again.set(member, message)
          continue
        }
        refused.clear()
        const { undo, out } = cast.make(move)
        undos.push(undo)
        for (const lost of out) again.set(lost, null)
        progress = true
      }
      waiting = again
      if (!progress) break
    }
    ends.push(cast.end(waiting))
    for (const undo of undos.reverse()) undo()
  }
  return ends
}

/** The members in their turn, those that come at any time somewhere among them. */
function atAnyTime(sorted: readonly Member[], choose: (below: number) => number): Member[] {
  const order = sorted.filter(({ stage }) => stage !== null)
  for (const member of sorted) if (member.stage === null) order.splice(choose(order.length + 1), 0, member)
  return order
}

/** A fixed sequence of choices for each number, so that the plan is the same each time (a linear congruential generator). */
function chooser(seed: number): (below: number) => number {
  let value = (Math.imul(seed + 1, 2654435761) + 1013904223) >>> 0
  return (below) => {
    value = (Math.imul(value, 1664525) + 1013904223) >>> 0
    return below === 0 ? 0 : Math.floor((value / 2 ** 32) * below)
  }
}
