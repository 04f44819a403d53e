import { type Paint, painter, type Style } from '../present/color.js'
import { type Cell, type Column, grid, NONE, records, table } from '../present/table.js'
import { neutralise, wrap } from '../present/text.js'
import type { DrainReport, Effect, ListedVolume, PodReport, PodVolumeReport, Verdict } from './types.js'

export interface DrainViewOptions {
  /** Terminal cells per line; only commands to paste may be longer. */
  width: number
  color: boolean
  /** `-o wide`: every pod, with its node, volumes and feasible nodes. */
  wide: boolean
}

/** Above so many pods that end well, they are counted instead of listed (but not with `-o wide`). */
const LISTED_PLAIN_PODS = 15
/** So many names of a list are shown (all with `-o wide`). */
const LISTED_NAMES = 3
/** `First`, `Then` and the like stand in a column of their own. */
const LABEL = 8

const VERDICT_STYLE: Record<Verdict, Style> = {
  stuck: 'red',
  blocked: 'red',
  gone: 'red',
  returns: 'yellow',
  moves: 'green',
  finished: 'dim',
  stays: 'dim',
}

/** The report as a human reads it; ends with a newline. Warnings are not in it: they belong to stderr. */
export function renderDrainReport(report: DrainReport, options: DrainViewOptions): string {
  const view: View = {
    report,
    width: Math.max(20, options.width),
    wide: options.wide,
    paint: painter(options.color),
    color: options.color,
    pods: report.pods.toSorted(bySeverity),
  }
  const blocks = [
    headline(view),
    podTable(view),
    uncertainty(view),
    messages(view),
    contention(view),
    volumes(view),
    claims(view),
    steps(view),
  ]
  return `${blocks
    .filter((lines) => lines.length > 0)
    .map((lines) => lines.join('\n'))
    .join('\n\n')}\n`
}

/** `-o name`: the pods that make the answer "not safe". */
export function renderNames(report: DrainReport): string[] {
  return report.pods
    .filter((pod) => wordsOf(pod).some((word) => report.notSafe.includes(word)))
    .map((pod) => neutralise(`pod/${idOf(pod)}`))
    .sort(compare)
}

interface View {
  report: DrainReport
  width: number
  wide: boolean
  color: boolean
  paint: Paint
  /** Worst first. */
  pods: PodReport[]
}

// --- order

function bySeverity(a: PodReport, b: PodReport): number {
  return severity(a) - severity(b) || compare(a.namespace, b.namespace) || compare(a.name, b.name)
}

function severity(pod: PodReport): number {
  if (pod.verdict === 'moves' && !isPlain(pod)) return 4
  return { stuck: 0, blocked: 1, gone: 2, returns: 3, moves: 5, finished: 6, stays: 7 }[pod.verdict]
}

/** Nothing about it that the operator has to know. A flag that drain wants is no harm by itself, and is in the command. */
function isPlain(pod: PodReport): boolean {
  return (
    (pod.verdict === 'moves' || pod.verdict === 'finished' || pod.verdict === 'stays') &&
    pod.uncertain !== true &&
    pod.effects.every(({ effect }) => effect === 'needs-flag')
  )
}

/** By code unit, so that the order is the same on every machine. */
function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

// --- the answer

/** One thing that can be said of some pods, in the singular and in the plural. */
interface Clause {
  count: number
  one: string
  many: string
  /** What is counted, when it isn't pods. */
  noun?: [string, string]
}

const CLAUSES: Record<string, [string, string]> = {
  stuck: ['stays Pending', 'stay Pending'],
  blocked: ['is held by its budget', 'are held by their budgets'],
  gone: ['is gone for good', 'are gone for good'],
  returns: ['can come straight back', 'can come straight back'],
  contended: ['may stay Pending for want of room', 'may stay Pending for want of room'],
  preempts: ['fits only by preempting others', 'fit only by preempting others'],
  'starts-empty': ['may start over an empty directory', 'may start over an empty directory'],
  'data-lost': ['loses an emptyDir', 'lose an emptyDir'],
  'loses-fuse-server': ['loses its FUSE server first', 'lose their FUSE server first'],
  moves: ['moves to another node', 'move to another node'],
  stays: ['stays', 'stay'],
  finished: ['has finished', 'have finished'],
}
const ENDINGS = ['stuck', 'blocked', 'gone', 'returns', 'contended', 'preempts']
const DATA = ['starts-empty', 'data-lost', 'loses-fuse-server']
const HARMLESS = ['moves', 'stays', 'finished']

interface Answer {
  /** Each begins on a line of its own; the first says it. */
  lines: string[]
  style: Style
}

function headline(view: View): string[] {
  const { lines, style } = view.report.cordonOnly ? cordonAnswer(view.report) : drainAnswer(view.report)
  return lines.flatMap((text, index) =>
    wrap(text, view.width).map((line) => (index === 0 ? view.paint(line, 'bold', style) : line)),
  )
}

/** What was found is certain, but there may be more. */
function more(report: DrainReport): string {
  const unjudged = report.pods.filter((pod) => pod.unjudged === true).length
  const what = unjudged === 0 ? 'there may be more' : `${plural(unjudged, 'pod')} can't be judged`
  return `The answer is incomplete: ${what} (see the warnings).`
}

function drainAnswer(report: DrainReport): Answer {
  const doing = doingWhat(report)
  const counts = (word: string) => report.notSafe.includes(word)
  const endings = [...clauses(report, ENDINGS.filter(counts)), ...(counts('quorum') ? quorums(report) : [])]
  const data = clauses(report, DATA.filter(counts))
  const accepted = clauses(
    report,
    [...ENDINGS, ...DATA].filter((word) => !counts(word)),
  )
  if (!counts('quorum')) accepted.push(...quorums(report))
  const harmless = clauses(report, HARMLESS)

  if (report.notSafe.length > 0) {
    const lines = [`${doing} now: ${sentence(endings.length > 0 ? endings : data)}.`]
    if (endings.length > 0 && data.length > 0) lines.push(`Data at risk: ${sentence(data)}.`)
    if (accepted.length > 0) lines.push(`Accepted: ${sentence(accepted)}.`)
    if (!report.complete) lines.push(more(report))
    return { lines, style: 'red' }
  }
  if (!report.complete) return incompleteAnswer(doing, [...accepted, ...harmless])
  if (accepted.length > 0) {
    return { lines: [`${doing} is safe but for what is accepted: ${sentence(accepted)}.`], style: 'yellow' }
  }
  const rest = harmless.length > 0 ? sentence(harmless) : 'there is no pod to evict'
  return { lines: [`${doing} is safe: ${rest}.`], style: 'green' }
}

/** With `--pod` nothing is said of the node's other pods. */
function doingWhat({ nodes, only }: DrainReport): string {
  if (only === undefined) return `Draining ${nodeNames(nodes)}`
  return `Evicting only ${nameList(only, false)} from ${nodeNames(nodes)}`
}

const CORDON_CLAUSES: Record<string, [string, string]> = {
  stuck: ['would stay Pending if it were re-created', 'would stay Pending if they were re-created'],
  returns: ['could come back to the same node', 'could come back to the same node'],
  'starts-empty': ['could start over an empty directory elsewhere', 'could start over an empty directory elsewhere'],
  preempts: ['would fit only by preempting others', 'would fit only by preempting others'],
  moves: ['would find another node', 'would find another node'],
  stays: ['stays', 'stay'],
}

function cordonAnswer(report: DrainReport): Answer {
  const nodes = nodeNames(report.nodes)
  const count = (words: string[]) => clauses(report, words, CORDON_CLAUSES)
  const stuck = count(['stuck'])
  const accepted = report.notSafe.includes('stuck') ? [] : stuck
  const bad = [...(report.notSafe.includes('stuck') ? stuck : []), ...lostClaims(report)]
  const known = [...accepted, ...count(['returns', 'moves', 'starts-empty', 'preempts', 'stays'])]

  if (bad.length > 0) {
    const lines = [`Cordoning ${nodes} evicts nothing, but ${sentence(bad)}.`]
    return { lines: report.complete ? lines : [...lines, more(report)], style: 'red' }
  }
  if (!report.complete) return incompleteAnswer(`Cordoning ${nodes}`, known)
  const apart = accepted.length > 0 ? ' but for what is accepted' : ''
  const text = known.length > 0 ? sentence(known) : 'there is no pod on it'
  return {
    lines: [`Cordoning ${nodes} evicts nothing and is safe${apart}: ${text}.`],
    style: accepted.length > 0 ? 'yellow' : 'green',
  }
}

function lostClaims({ claims }: DrainReport): Clause[] {
  if (claims.length === 0) return []
  return [
    {
      count: claims.length,
      one: 'loses the node that was selected for it',
      many: 'lose the node that was selected for them',
      noun: ['unbound claim', 'unbound claims'],
    },
  ]
}

/** Nothing bad was seen, but not all was seen: this is never called safe. */
function incompleteAnswer(doing: string, known: Clause[]): Answer {
  const lines = [`${doing}: the answer is incomplete; something could not be judged (see the warnings).`]
  if (known.length > 0) lines.push(`Of what could be judged: ${sentence(known)}.`)
  return { lines, style: 'yellow' }
}

function clauses(report: DrainReport, words: readonly string[], texts = CLAUSES): Clause[] {
  return words.flatMap((word) => {
    const [one, many] = texts[word] ?? [word, word]
    const count = report.pods.filter((pod) => wordsOf(pod).includes(word)).length
    return count === 0 ? [] : [{ count, one, many }]
  })
}

function quorums(report: DrainReport): Clause[] {
  const of = new Set(
    report.pods.flatMap((pod) => pod.effects.flatMap((effect) => (effect.effect === 'quorum' ? [effect.of] : []))),
  )
  if (of.size === 0) return []
  return [{ count: of.size, one: 'is at risk', many: 'are at risk', noun: ['quorum', 'quorums'] }]
}

/** `1 pod stays Pending, 2 are gone for good`: what is counted is named once, and again when it changes. */
function sentence(parts: readonly Clause[]): string {
  let said = ''
  return parts
    .map(({ count, one, many, noun = ['pod', 'pods'] }) => {
      const name = noun[0] === said ? '' : ` ${count === 1 ? noun[0] : noun[1]}`
      said = noun[0]
      return `${count}${name} ${count === 1 ? one : many}`
    })
    .join(', ')
}

function nodeNames(nodes: readonly string[]): string {
  if (nodes.length > LISTED_NAMES) return `${nodes.length} nodes`
  return nodes.length < 2 ? (nodes[0] ?? 'no node') : `${nodes.slice(0, -1).join(', ')} and ${nodes.at(-1)}`
}

// --- the pods

interface PodColumn {
  column: Column
  of: (pod: PodReport) => Cell
  /** For the row that stands for many pods. */
  sum?: (verdict: Verdict, count: number) => Cell
}

function podTable(view: View): string[] {
  const { report, wide } = view
  if (view.pods.length === 0) return []
  const sums = wide ? new Map<Verdict, number>() : summedUp(view.pods.filter(isPlain))
  const listed = view.pods.filter((pod) => !isPlain(pod) || !sums.has(pod.verdict))

  const node: PodColumn = {
    column: { header: 'NODE', min: 10, content: 'name', stacked: 'body', label: 'on', hang: 2 },
    of: (pod) => ({ lines: [pod.node] }),
  }
  const volumes: PodColumn = {
    column: { header: 'VOLUMES', min: 28, content: 'prose', stacked: 'body', label: 'volume', hang: 2 },
    of: (pod) => ({ lines: pod.volumes.map(volumeLine) }),
  }
  const feasible: PodColumn = {
    column: { header: 'FEASIBLE NODES', min: 14, content: 'name', stacked: 'body', label: 'feasible nodes:' },
    of: (pod) => ({ lines: feasibleNodes(pod) }),
  }
  const columns: PodColumn[] = [
    {
      column: { header: 'POD', min: 20, content: 'name', stacked: 'title', hang: 2 },
      of: (pod) => ({ lines: [idOf(pod)] }),
      sum: (_, count) => ({ lines: [plural(count, 'pod')] }),
    },
    ...(wide || report.nodes.length > 1 ? [node] : []),
    {
      column: { header: 'OWNER', min: 12, content: 'name', stacked: 'body', hang: 2 },
      of: (pod) => ({ lines: [ownerOf(pod)] }),
    },
    {
      column: { header: 'ENDS', min: 8, content: 'name', stacked: 'title' },
      of: (pod) => ({ lines: [pod.uncertain ? `${pod.verdict}?` : pod.verdict], style: styleOf(pod) }),
      sum: (verdict) => ({ lines: [verdict], style: VERDICT_STYLE[verdict] }),
    },
    ...(wide ? [volumes, feasible] : []),
    {
      column: { header: 'WHY', min: 30, content: 'prose', stacked: 'body', hang: 2 },
      of: (pod) => ({ lines: whyLines(pod, wide) }),
      sum: (verdict) => ({ lines: [`${SUMMED_UP[verdict] ?? ''} (-o wide lists them)`] }),
    },
  ]

  const rows = listed.map((pod) => columns.map(({ of }) => of(pod)))
  for (const [verdict, count] of sums) rows.push(columns.map(({ sum }) => sum?.(verdict, count) ?? { lines: [] }))
  const all = columns.map(({ column }) => column)
  // Room is made by moving the less needed columns below the pod's name, before the table is given up for records.
  for (const breakNames of [false, true]) {
    for (const headers of [[], ['OWNER'], ['OWNER', 'NODE']]) {
      const lines = grid(...fold(all, rows, headers), { width: view.width, color: view.color, breakNames })
      if (lines !== null) return lines
    }
  }
  return records(all, rows, view)
}

/** The columns with these headers become lines below the first column. */
function fold(columns: Column[], rows: Cell[][], headers: string[]): [Column[], Cell[][]] {
  const folded = (index: number) => headers.includes(columns[index]?.header ?? '')
  return [
    columns.filter((_, index) => !folded(index)),
    rows.map((row) => {
      const sub = row.flatMap((cell, index) => {
        if (!folded(index)) return []
        const label = columns[index]?.label
        const lines = cell.lines.filter((line) => line !== NONE)
        return label === undefined ? lines : lines.map((line) => `${label} ${line}`)
      })
      return row.flatMap((cell, index) => (folded(index) ? [] : [index === 0 ? { ...cell, sub } : cell]))
    }),
  ]
}

/** The verdicts whose plain pods are counted instead of listed, with their number. */
function summedUp(plain: readonly PodReport[]): Map<Verdict, number> {
  const sums = new Map<Verdict, number>()
  if (plain.length <= LISTED_PLAIN_PODS) return sums
  for (const verdict of ['moves', 'finished', 'stays'] as const) {
    const count = plain.filter((pod) => pod.verdict === verdict).length
    if (count > LISTED_NAMES) sums.set(verdict, count)
  }
  return sums
}

const SUMMED_UP: Partial<Record<Verdict, string>> = {
  moves: 'another node takes each of them',
  finished: 'only the objects go',
  stays: 'not evicted',
}

function styleOf(pod: PodReport): Style {
  return pod.verdict === 'moves' && !isPlain(pod) ? 'yellow' : VERDICT_STYLE[pod.verdict]
}

function idOf(pod: PodReport): string {
  return `${pod.namespace}/${pod.name}`
}

function ownerOf(pod: PodReport): string {
  return pod.owner === null ? NONE : `${pod.owner.kind}/${pod.owner.name}`
}

function wordsOf(pod: PodReport): string[] {
  const verdict = pod.verdict === 'stuck' && pod.unjudged === true ? 'unjudged' : pod.verdict
  return [verdict, ...pod.effects.map(({ effect }) => effect)]
}

const THEN: Record<Verdict, string> = {
  stays: 'stays',
  finished: 'only the object goes',
  blocked: 'is held again',
  gone: 'is gone for good',
  stuck: 'stays Pending',
  returns: 'can come straight back',
  moves: 'moves to another node',
}

function whyLines(pod: PodReport, wide: boolean): string[] {
  const lines = [pod.why, ...pod.effects.flatMap((effect) => effectLine(effect, pod, wide))]
  if (pod.mayBeHeldBy !== undefined)
    lines.push(`budget ${pod.mayBeHeldBy} may hold it, if pods that do not come back go first`)
  if (pod.then !== undefined) lines.push(`once evicted, it ${THEN[pod.then.verdict]}`)
  return lines.filter((line) => line !== '')
}

function effectLine(effect: Effect, pod: PodReport, wide: boolean): string[] {
  const names = (all: readonly string[]) => nameList(all, wide)
  switch (effect.effect) {
    case 'needs-flag':
      // The command has the flag already; which pod wants it is a detail.
      return wide ? [`drain needs ${effect.flag}`] : []
    case 'data-lost':
      return [`loses emptyDir ${effect.volume}`]
    case 'starts-empty':
      return [`hostPath ${effect.path} (${volumeName(pod, effect.volume)}) is bound to no node: it may start empty`]
    case 'waits-for-budget':
      return [
        `budget ${effect.budget} lets it go when ${names(effect.after)} ${effect.after.length === 1 ? 'is' : 'are'} back`,
      ]
    case 'preempts':
      return [`fits on ${effect.node} only by preempting ${names(effect.victims)}`]
    case 'contended':
      return [`may stay Pending: ${names(effect.with)} may take the room on ${effect.node}`]
    case 'quorum':
      return [`${effect.down} of ${effect.of} go down together; it bears ${effect.bears}`]
    case 'loses-fuse-server':
      return [
        `what serves the FUSE ${effect.claims.length === 1 ? 'mount' : 'mounts'} of ${names(effect.claims)} goes before it`,
      ]
  }
}

function volumeName(pod: PodReport, name: string): string {
  const claim = pod.volumes.find((volume) => volume.name === name)?.claim ?? null
  return claim === null ? `volume ${name}` : `claim ${claim}`
}

function volumeLine(volume: PodVolumeReport): string {
  const parts: string[] = []
  if (volume.claim !== null) parts.push(`claim ${volume.claim}`)
  if (volume.volume !== null) parts.push(volume.volume)
  const source = volume.driver === undefined ? volume.source : `${volume.source ?? ''} ${volume.driver}`.trim()
  const nodes = volume.pinnedTo?.join(', ') ?? ''
  const where = {
    free: 'on no node in particular',
    restricted: `on ${nodes}`,
    pinned: `on ${nodes} only`,
    orphaned: 'on no node that is there',
  }
  // An emptyDir or a config map is on whatever node the pod is on: nothing to say.
  const place =
    volume.affinity === null || (volume.affinity === 'free' && volume.volume === null) ? '' : where[volume.affinity]
  if (source !== null) parts.push([source, volume.path ?? '', place].filter((part) => part !== '').join(' '))
  else if (place !== '') parts.push(place)
  return `${volume.name}: ${parts.length > 0 ? parts.join(', ') : 'unknown'}`
}

function feasibleNodes(pod: PodReport): string[] {
  const { scheduling } = pod
  if (scheduling === null) return [NONE]
  if (scheduling.feasibleNodes.length > 0)
    return [nameList(scheduling.feasibleNodes, scheduling.feasibleNodes.length <= 10)]
  return [scheduling.nominatedNode === null ? 'none' : `${scheduling.nominatedNode} by preemption`]
}

function nameList(names: readonly string[], all: boolean): string {
  if (names.length === 0) return 'others'
  if (all || names.length <= LISTED_NAMES + 1) return names.join(', ')
  return `${names.slice(0, LISTED_NAMES).join(', ')} and ${names.length - LISTED_NAMES} more`
}

function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}

// --- below the table

/** Keys in the order in which they come up first. */
function groupBy<T>(items: readonly T[], keysOf: (item: T) => string[]): Map<string, T[]> {
  const groups = new Map<string, T[]>()
  for (const item of items) {
    for (const key of keysOf(item)) {
      const group = groups.get(key)
      if (group === undefined) groups.set(key, [item])
      else group.push(item)
    }
  }
  return groups
}

function uncertainty(view: View): string[] {
  const uncertain = view.pods.filter((pod) => pod.uncertain === true)
  if (uncertain.length === 0) return []
  const groups = groupBy(uncertain, (pod) => pod.uncertainReasons ?? ['no reason is known'])
  return [
    ...wrap('Uncertain (marked ?): the verdict is the best answer, not a sure one.', view.width),
    ...[...groups].flatMap(([reason, pods]) =>
      indented(`${nameList(pods.map(idOf), view.wide)}: ${reason}`, view.width),
    ),
  ]
}

/** Each message once, with all pods that get it: a hundred replicas are told the same. */
function messages(view: View): string[] {
  const pending = view.pods.filter(
    (pod) => (pod.verdict === 'stuck' || pod.then?.verdict === 'stuck') && pod.unjudged !== true,
  )
  const groups = groupBy(pending, (pod) => [pod.scheduling?.message ?? []].flat())
  return [...groups].flatMap(([message, pods], index) => [
    ...(index === 0 ? [] : ['']),
    ...wrap(`${nameList(pods.map(idOf), view.wide)}, in the scheduler's words:`, view.width),
    ...indented(message, view.width, 0),
  ])
}

function contention({ report, wide, width }: View): string[] {
  return (report.contention ?? []).flatMap(({ pods, waiting = [], pending: { min, max } }) => {
    const count = min === max ? `${max}` : `${min} to ${max}`
    const verb = max === 1 ? 'stays' : 'stay'
    const already = waiting.length === 0 ? '' : ` (Pending already: ${nameList(waiting, wide)})`
    return wrap(`Of ${nameList(pods, wide)}${already}, ${count} ${verb} Pending: there is not room for all.`, width)
  })
}

function volumes(view: View): string[] {
  const { report } = view
  if (report.volumes.length === 0) return []
  const several = report.nodes.length > 1 || report.volumes.some((volume) => volume.pinnedTo.length > 1)
  const columns: [Column, (volume: ListedVolume) => string][] = [
    [{ header: 'VOLUME', min: 16, content: 'name', stacked: 'title' }, (volume) => volume.name],
    [{ header: 'PHASE', min: 9, content: 'name', stacked: 'title' }, (volume) => volume.phase],
    [{ header: 'SOURCE', min: 8, content: 'name', stacked: 'body' }, (volume) => volume.source ?? NONE],
    [{ header: 'CLAIM', min: 12, content: 'name', stacked: 'body', hang: 2 }, claimOf],
  ]
  if (several)
    columns.splice(2, 0, [
      { header: 'NODE', min: 10, content: 'name', stacked: 'body', label: 'on' },
      (volume) => volume.pinnedTo.join(', '),
    ])
  return [
    ...wrap(`On ${nodeNames(report.nodes)} too, used by no running pod:`, view.width),
    ...table(
      columns.map(([column]) => column),
      report.volumes.map((volume) => columns.map(([, of]) => ({ lines: [of(volume)] }))),
      { width: view.width, color: view.color, indent: 2 },
    ),
  ]
}

function claimOf({ claim, reason }: ListedVolume): string {
  if (claim === null) return NONE
  return reason === 'released' ? `${claim} (released)` : claim
}

function claims(view: View): string[] {
  const { report } = view
  if (report.claims.length === 0) return []
  const several = report.nodes.length > 1
  const title = several
    ? 'Unbound claims that wait for a volume on one of these nodes, which was selected for them:'
    : `Unbound claims that wait for a volume on ${nodeNames(report.nodes)}, which was selected for them:`
  return [
    ...wrap(title, view.width),
    ...report.claims.flatMap((claim) =>
      indented(
        several ? `${claim.namespace}/${claim.name} on ${claim.selectedNode}` : `${claim.namespace}/${claim.name}`,
        view.width,
      ),
    ),
  ]
}

function indented(text: string, width: number, hang = 2): string[] {
  return wrap(text, width - 2, hang).map((line) => `  ${line}`)
}

// --- what to do

function steps(view: View): string[] {
  const { report, width } = view
  const first = [...new Set(view.pods.flatMap((pod) => pod.next))]
  const instead = [...new Set(view.pods.flatMap((pod) => pod.instead))]
  const note = (text: string) => wrap(text, width - LABEL).map((line) => ' '.repeat(LABEL) + view.paint(line, 'dim'))
  const block = (label: string, lines: readonly string[]) =>
    lines.flatMap((step, index) => labelled(view, index > 0 ? '' : label, step))

  const lines = block(report.drainCommand === null ? 'Fix' : 'First', first)
  if (first.some((step) => step.startsWith('kubectl storage relocate'))) {
    lines.push(...note('relocate comes with a later version; docs/move-a-claim.md tells how to do it by hand'))
  }
  lines.push(...block('Or', instead))
  if (report.drainCommand === null) return lines
  lines.push(...labelled(view, lines.length > 0 ? 'Then' : 'Run', report.drainCommand))
  const blocked = view.pods.filter((pod) => pod.verdict === 'blocked')
  if (blocked.length > 0) {
    const names = blocked.flatMap((pod) => (pod.budgets ?? []).map((budget) => `${pod.namespace}/${budget}`))
    const budgets = [...new Set(names)].sort(compare)
    const what =
      budgets.length === 0 ? 'the budget' : `budget${budgets.length === 1 ? '' : 's'} ${nameList(budgets, view.wide)}`
    // Of a pod with several budgets the API refuses the eviction for good, and drain ends with that error.
    const meanwhile = blocked.some((pod) => (pod.budgets ?? []).length > 1) ? 'fails' : 'only retries'
    lines.push(...note(`when ${what} ${budgets.length > 1 ? 'are' : 'is'} dealt with; until then drain ${meanwhile}`))
  }
  return lines
}

/** A command stays on one line whatever the width, so that it can be pasted; prose wraps beside its label. */
function labelled(view: View, label: string, text: string): string[] {
  const command = text.startsWith('kubectl ')
  const lines = command ? [neutralise(text)] : wrap(text, view.width - LABEL)
  return lines.map((line, index) => {
    const lead = index === 0 ? label : ''
    return view.paint(lead, 'bold') + ' '.repeat(LABEL - lead.length) + line
  })
}
