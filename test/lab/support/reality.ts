/**
 * What drain-check said, held against what the real `kubectl drain` then does: every pod's fate against its verdict, and the
 * scheduler's own words against the message.
 */

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import type { Pod as ClusterPod } from '../../../src/cluster/objects.js'
import { readCluster } from '../../../src/cluster/read.js'
import { OwnerIndex } from '../../../src/drain/rules/owners.js'
import { type Scene, sceneOf } from '../../../src/drain/scene.js'
import type { DrainReport, PodReport } from '../../../src/drain/types.js'
import { podInfo } from '../../../src/scheduling/cluster-state.js'
import { schedule } from '../../../src/scheduling/schedule.js'
import type { Lab, PluginRun, Pod } from './lab.js'
import { missing } from './wait.js'

/** A drain that is held by a budget never ends by itself; one whose pods go one after the other asks again every five seconds. */
const DRAIN_TIMEOUT_SECONDS = { held: 15, otherwise: 90 }
const idOf = ({ metadata }: Pod): string => `${metadata.namespace}/${metadata.name}`

type Reference = { kind: string; name: string; uid: string; controller?: boolean }

function controllerOf(pod: Pod): Reference | undefined {
  return (pod.metadata.ownerReferences as Reference[] | undefined)?.find(({ controller }) => controller === true)
}

export interface Reality {
  report: DrainReport
  preview: PluginRun
  /** What differs, each line with both sides; empty when the preview was right. */
  differences: string[]
}

/** Runs drain-check, then the command that it printed, waits until nothing moves any more, and compares. */
export async function previewAndDrain(lab: Lab, nodes: string[]): Promise<Reality> {
  const before = await settled(lab)
  const dump = await dumpOf(lab, 'deployments,replicasets,statefulsets,daemonsets,jobs')
  const { preview, report, differences } = await previewOf(lab, nodes)

  const command = report.drainCommand?.split(' ') ?? []
  const held = report.pods.some(({ verdict }) => verdict === 'blocked')
  const seconds = held ? DRAIN_TIMEOUT_SECONDS.held : DRAIN_TIMEOUT_SECONDS.otherwise
  const drained = await lab.tryKubectl([...command.slice(1), `--timeout=${seconds}s`], { timeoutMs: 120_000 })
  let after = await settled(lab, report.pods.some(isOfJob) ? JOB_BACKOFF_MS : 0)

  if ((drained.code !== 0) !== held) {
    differences.push(
      `${held ? 'a budget was to hold the drain' : 'the drain was to end well'}, it exits ${drained.code}: ${drained.stderr}`,
    )
  }
  const compare = async () => [
    ...compareLeft(report, before, after),
    ...(await compareReplaced(lab, report, before, after)),
    ...(await compareMessages(lab, report, nodes, before, after)),
  ]
  let found = await compare()
  if (found.length > 0 && after.some(({ spec }) => spec.nodeName === undefined)) {
    after = await settled(lab, OVERLOOKED_MS)
    found = await compare()
  }
  differences.push(...found)
  if (differences.length > 0) keep(lab, { differences, dump: JSON.parse(dump), report, drained, after })
  return { report, preview, differences }
}

/**
 * The scheduler's hints can pass over an event that makes room, as when the pod goes whose anti-affinity kept another one out
 * (interpodaffinity/plugin.go, isSchedulableAfterPodChange). It looks again after half a minute in the lab, after five by default.
 */
const OVERLOOKED_MS = 40_000

/** Beside the logs of the lab: all that is needed to see why, and `dump` as a file for `drain-check --from`. */
function keep(lab: Lab, evidence: object): void {
  const name = `difference-${String(process.hrtime.bigint())}.log`
  writeFileSync(join(lab.at.run, name), JSON.stringify(evidence, null, 2))
  process.stderr.write(`lab: what differs is kept in ${join(lab.at.logs, name)}\n`)
}

const KINDS = 'nodes,pods,pvc,pv,sc,csinodes,csidrivers,csistoragecapacities,pdb,namespaces,volumeattachments'

function dumpOf(lab: Lab, ...kinds: string[]): Promise<string> {
  return lab.kubectl(['get', [KINDS, ...kinds].join(), '--all-namespaces', '--output=json'])
}

/** Runs `drain-check --cordon-only`, cordons, then deletes the pods of the nodes one at a time, and compares each. */
export async function previewAndCordon(lab: Lab, nodes: string[]): Promise<Reality> {
  let before = await settled(lab)
  const { preview, report, differences } = await previewOf(lab, nodes, '--cordon-only')
  await lab.kubectl(['cordon', ...nodes])
  for (const pod of report.pods) {
    await lab.kubectl(['delete', 'pod', pod.name, '--namespace', pod.namespace])
    const after = await settled(lab)
    const alone = { ...report, pods: [pod] }
    if (pod.verdict === 'stays') {
      const places = [...replacements(before, after).values()].flat().map(({ spec }) => spec.nodeName)
      if (places.join() !== pod.node) differences.push(`${pod.name}: was to stay on ${pod.node}, is on ${places}`)
    } else {
      differences.push(...(await compareReplaced(lab, alone, before, after)))
      differences.push(...(await compareMessages(lab, alone, nodes, before, after)))
    }
    before = after
  }
  return { report, preview, differences }
}

async function previewOf(lab: Lab, nodes: string[], ...flags: string[]): Promise<Reality> {
  const preview = await lab.plugin(['drain-check', ...nodes, ...flags, '-o', 'json'])
  const report = preview.json as DrainReport
  if (report?.kind !== 'DrainReport')
    throw new Error(`drain-check exits ${preview.code}: ${preview.stderr}${preview.stdout}`)
  const expected = report.notSafe.length > 0 ? 3 : report.complete ? 0 : 7
  const right = preview.code === expected
  return {
    preview,
    report,
    differences: right ? [] : [`drain-check exits ${preview.code}, its document says ${expected}`],
  }
}

/** The lab's scheduler tries a pod that it refused again after at most one second. */
const QUIET_MS = { withPending: 4_000, otherwise: 2_000 }

/** The Job controller makes a new pod for one that failed, as an evicted one does, after ten seconds (DefaultJobPodFailureBackOff). */
const JOB_BACKOFF_MS = 13_000
const isOfJob = ({ owner, verdict }: PodReport) =>
  owner?.kind === 'Job' && verdict !== 'stays' && verdict !== 'finished'

/** The pods, once none is on its way: none is ending or starting, and those without a node stay without one. */
async function settled(lab: Lab, atLeastMs = 0): Promise<Pod[]> {
  let last = ''
  let since = Date.now()
  return lab.waitFor(
    'the cluster to come to rest',
    async () => {
      const pods = (await lab.list<Pod>('pods', '--all-namespaces')).sort((a, b) => (idOf(a) < idOf(b) ? -1 : 1))
      const moving = pods
        .filter((pod) => isPromised(pod) || (pod.spec.nodeName !== undefined && !isAtRest(pod)))
        .map(idOf)
      const now = pods.map((pod) => `${idOf(pod)} ${pod.metadata.uid} ${pod.spec.nodeName ?? ''}`).join('\n')
      if (now !== last) since = Date.now()
      last = now
      if (moving.length > 0) return missing(`${moving.join(', ')} on the way`)
      const quiet = pods.some(({ spec }) => spec.nodeName === undefined) ? QUIET_MS.withPending : QUIET_MS.otherwise
      return Date.now() - since >= Math.max(quiet, atLeastMs) ? pods : missing('a while without change')
    },
    { timeoutMs: 150_000 },
  )
}

/** Preemption has made room for it. */
function isPromised({ spec, status }: Pod): boolean {
  return spec.nodeName === undefined && Boolean(status.nominatedNodeName)
}

function isAtRest({ metadata, status }: Pod): boolean {
  if (metadata.deletionTimestamp !== undefined) return false
  const ready = status.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True') ?? false
  return ready || status.phase === 'Succeeded' || status.phase === 'Failed'
}

/** Pods that stay are there with the same uid, those that go are not; which of equal pods a budget holds is chance. */
function compareLeft(report: DrainReport, before: readonly Pod[], after: readonly Pod[]): string[] {
  const there = new Set(after.map(({ metadata }) => metadata.uid))
  const counts = new Map<string, { said: number; are: number }>()
  for (const pod of before) {
    const said = reportOf(report, pod)
    if (said === undefined) continue
    const { said: before = 0, are = 0 } = counts.get(equals(pod)) ?? {}
    const stays = said.verdict === 'stays' || said.verdict === 'blocked'
    counts.set(equals(pod), { said: before + Number(stays), are: are + Number(there.has(pod.metadata.uid)) })
  }
  return [...counts]
    .filter(([, { said, are }]) => said !== are)
    .map(([name, { said, are }]) => `of ${name} ${said} were to stay where they are, ${are} did`)
}

/** One name for pods that nothing but their names tells apart. */
function equals(pod: Pod): string {
  return `${pod.metadata.namespace}/${controllerOf(pod)?.name ?? pod.metadata.name}`
}

function reportOf(report: DrainReport, pod: Pod): PodReport | undefined {
  return report.pods.find(({ namespace, name }) => namespace === pod.metadata.namespace && name === pod.metadata.name)
}

/** Pods that were not there before, by their controller (`-` for none), that of the same name for a StatefulSet. */
function replacements(before: readonly Pod[], after: readonly Pod[]): Map<string, Pod[]> {
  const known = new Set(before.map(({ metadata }) => metadata.uid))
  const fresh = new Map<string, Pod[]>()
  for (const pod of after) {
    if (known.has(pod.metadata.uid)) continue
    const key = familyOf(pod)
    fresh.set(key, [...(fresh.get(key) ?? []), pod])
  }
  return fresh
}

/** Pods of one family can't be told apart once they are created again; those of a StatefulSet keep their names. */
function familyOf(pod: Pod): string {
  const controller = controllerOf(pod)
  if (controller === undefined) return `- ${idOf(pod)}`
  return controller.kind === 'StatefulSet' ? `${controller.uid} ${idOf(pod)}` : controller.uid
}

interface Family {
  name: string
  said: PodReport[]
  fresh: Pod[]
  /** Pods of other nodes that preemption has driven out; their replacements are among the fresh ones. */
  drivenOut: number
}

function familiesOf(report: DrainReport, before: readonly Pod[], after: readonly Pod[]): Family[] {
  const fresh = replacements(before, after)
  const there = new Set(after.map(({ metadata }) => metadata.uid))
  const drivenOut = before.filter((pod) => reportOf(report, pod) === undefined && !there.has(pod.metadata.uid))
  const families = new Map<string, Family>()
  for (const pod of before) {
    const said = reportOf(report, pod)
    if (said === undefined || said.verdict === 'stays' || said.verdict === 'blocked') continue
    const key = familyOf(pod)
    const family = families.get(key) ?? {
      name: controllerOf(pod)?.name ?? idOf(pod),
      said: [],
      fresh: fresh.get(key) ?? [],
      drivenOut: drivenOut.filter((other) => familyOf(other) === key).length,
    }
    family.said.push(said)
    families.set(key, family)
  }
  return [...families.values()]
}

const isContended = ({ effects }: PodReport) => effects.some(({ effect }) => effect === 'contended')

async function compareReplaced(
  lab: Lab,
  report: DrainReport,
  before: readonly Pod[],
  after: readonly Pod[],
): Promise<string[]> {
  const differences: string[] = []
  const families = familiesOf(report, before, after)
  for (const { name, said, fresh, drivenOut } of families) {
    const made = said.filter(({ verdict }) => verdict !== 'gone' && verdict !== 'finished')
    // A finished Job pod is not made again; of what is gone nothing comes back.
    const again = made.length + drivenOut
    if (fresh.length !== again) differences.push(`${name}: ${again} to be made again, ${fresh.length} were`)
    const pending = fresh.filter(({ spec }) => spec.nodeName === undefined).length
    const stuck = made.filter(({ verdict }) => verdict === 'stuck').length
    const maybe = made.filter(isContended).length + drivenOut
    if (pending < stuck || pending > stuck + maybe) {
      differences.push(`${name}: ${stuck}${maybe > 0 ? ` to ${stuck + maybe}` : ''} to stay Pending, ${pending} do`)
    }
    for (const pod of fresh) {
      const node = pod.spec.nodeName
      if (node === undefined) continue
      const allowed = new Set(made.flatMap(placesOf))
      // What the pod may do depends on where the others went, when its rules look at them.
      if (!allowed.has(node)) for (const open of await openFor(lab, pod, report.nodes)) allowed.add(open)
      if (!allowed.has(node))
        differences.push(`${name}: ${idOf(pod)} is on ${node}, said was ${[...allowed].join(', ') || 'no node'}`)
      const back = report.nodes.includes(node)
      if (back && !made.some(({ verdict }) => verdict === 'returns'))
        differences.push(`${name}: ${idOf(pod)} came back to ${node}, not said to`)
    }
  }
  for (const { pods, waiting = [], pending } of report.contention ?? []) {
    const inGroup = families.filter(({ said }) =>
      said.some(({ namespace, name }) => pods.includes(`${namespace}/${name}`)),
    )
    const concerned = [...inGroup.flatMap(({ fresh }) => fresh), ...after.filter((pod) => waiting.includes(idOf(pod)))]
    const count = new Set(concerned.filter(({ spec }) => spec.nodeName === undefined)).size
    const drivenOut = inGroup.reduce((sum, family) => sum + family.drivenOut, 0)
    if (count < pending.min || count > pending.max + drivenOut) {
      differences.push(`of ${pods.join(', ')} ${pending.min} to ${pending.max} to stay Pending, ${count} do`)
    }
  }
  return differences
}

/** Where the pod may be: what passes alone, and for one that waits for others any node that others may open. */
function placesOf(said: PodReport): string[] {
  const { feasibleNodes = [], nominatedNode = null } = said.scheduling ?? {}
  const opened = said.verdict !== 'stuck' && feasibleNodes.length === 0 && nominatedNode === null
  return [
    ...feasibleNodes,
    ...(nominatedNode === null ? [] : [nominatedNode]),
    ...(opened ? ['k8s-node-1', 'k8s-node-2', 'master'] : []),
  ]
}

/**
 * The scheduler's newest word on each Pending pod is that of the pod alone, or that of a joint state: the others gone, or placed as
 * they are now.
 */
async function compareMessages(
  lab: Lab,
  report: DrainReport,
  nodes: string[],
  before: readonly Pod[],
  after: readonly Pod[],
): Promise<string[]> {
  const pending = familiesOf(report, before, after).flatMap(({ said, fresh }) =>
    fresh.filter(({ spec }) => spec.nodeName === undefined).map((pod) => ({ pod, said })),
  )
  if (pending.length === 0) return []
  const placed = await statePredictor(lab, nodes)
  const words = (pod: Pod) => pod.status.conditions?.find(({ type }) => type === 'PodScheduled')?.message ?? ''
  return pending.flatMap(({ pod, said }) => {
    const predicted = new Set(said.flatMap(({ scheduling }) => scheduling?.message ?? []))
    for (const message of placed(pod)) predicted.add(message)
    const real = words(pod)
    if (predicted.has(real)) return []
    return [
      `${idOf(pod)}: the scheduler says\n    ${real}\n  predicted was\n    ${[...predicted].join('\n    ') || 'nothing'}`,
    ]
  })
}

/** The cluster as it is now, with these nodes cordoned, as our filters see it. */
async function sceneNow(lab: Lab, nodes: string[]): Promise<{ scene: Scene; podOf: (pod: Pod) => ClusterPod }> {
  const dump = await dumpOf(lab)
  const { gitVersion } = (
    JSON.parse(await lab.kubectl(['version', '--output=json'])) as { serverVersion: { gitVersion: string } }
  ).serverVersion
  const snapshot = {
    ...(await readCluster({ from: ['-'], stdin: Readable.from([dump]), kinds: [] })),
    serverVersion: gitVersion,
  }
  const scene = sceneOf(snapshot, nodes, [], new OwnerIndex(snapshot), new Map())
  const podOf = ({ metadata }: Pod) =>
    snapshot.objects.Pod.find((pod) => pod.metadata.uid === metadata.uid) as ClusterPod
  return { scene, podOf }
}

/** What our filters say of a Pending pod with the other new pods where they are. */
async function statePredictor(lab: Lab, nodes: string[]): Promise<(pod: Pod) => string[]> {
  const { scene, podOf } = await sceneNow(lab, nodes)
  return (pod) => {
    const { message } = schedule(podInfo(podOf(pod), scene.rules, 'spec'), scene.state)
    return message === null ? [] : [message]
  }
}

/** The nodes that our filters let the pod go to, if it were made again with all others where they are. */
async function openFor(lab: Lab, pod: Pod, nodes: string[]): Promise<string[]> {
  const { scene, podOf } = await sceneNow(lab, nodes)
  const placed = scene.state.placed(idOf(pod))
  if (placed !== undefined) scene.state.remove(placed.pod, placed.node)
  const { nodeName: _, ...spec } = podOf(pod).spec ?? {}
  return schedule(podInfo({ ...podOf(pod), spec }, scene.rules, 'spec'), scene.state).feasible.map(({ name }) => name)
}
