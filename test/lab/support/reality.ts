/**
 * What drain-check said, held against what the real `kubectl drain` then does: every pod's fate against its verdict, and the
 * scheduler's own words against the message.
 */

import type { Pod as ClusterPod } from '../../../src/cluster/objects.js'
import { readCluster } from '../../../src/cluster/read.js'
import { OwnerIndex } from '../../../src/drain/rules/owners.js'
import { sceneOf } from '../../../src/drain/scene.js'
import type { DrainReport, PodReport } from '../../../src/drain/types.js'
import { podInfo } from '../../../src/scheduling/cluster-state.js'
import { schedule } from '../../../src/scheduling/schedule.js'
import type { Lab, PluginRun, Pod } from './lab.js'
import { missing } from './wait.js'

/** A drain that is held by a budget never ends by itself. */
const DRAIN_TIMEOUT_SECONDS = 15
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
  const preview = await lab.plugin(['drain-check', ...nodes, '-o', 'json'])
  const report = preview.json as DrainReport
  if (report?.kind !== 'DrainReport')
    throw new Error(`drain-check exits ${preview.code}: ${preview.stderr}${preview.stdout}`)
  const expectedCode = report.notSafe.length > 0 ? 3 : report.complete ? 0 : 7

  const command = report.drainCommand?.split(' ') ?? []
  const held = report.pods.some(({ verdict }) => verdict === 'blocked')
  const drained = await lab.tryKubectl([...command.slice(1), `--timeout=${DRAIN_TIMEOUT_SECONDS}s`], {
    timeoutMs: 120_000,
  })
  const after = await settled(lab)

  const differences: string[] = []
  if (preview.code !== expectedCode)
    differences.push(`drain-check exits ${preview.code}, its document says ${expectedCode}`)
  if ((drained.code !== 0) !== held) {
    differences.push(
      `${held ? 'a budget was to hold the drain' : 'the drain was to end well'}, it exits ${drained.code}: ${drained.stderr}`,
    )
  }
  differences.push(...compareLeft(report, before, after), ...compareReplaced(report, before, after))
  differences.push(...(await compareMessages(lab, report, nodes, before, after)))
  return { report, preview, differences }
}

/** The scheduler tries a pod that it refused again after at most ten seconds. */
const QUIET_MS = { withPending: 13_000, otherwise: 2_000 }

/** The pods, once none is on its way: none is ending or starting, and those without a node stay without one. */
async function settled(lab: Lab): Promise<Pod[]> {
  let last = ''
  let since = Date.now()
  return lab.waitFor(
    'the cluster to come to rest',
    async () => {
      const pods = (await lab.list<Pod>('pods', '--all-namespaces')).sort((a, b) => (idOf(a) < idOf(b) ? -1 : 1))
      const moving = pods.filter((pod) => pod.spec.nodeName !== undefined && !isAtRest(pod)).map(idOf)
      const now = pods.map((pod) => `${idOf(pod)} ${pod.metadata.uid} ${pod.spec.nodeName ?? ''}`).join('\n')
      if (now !== last) since = Date.now()
      last = now
      if (moving.length > 0) return missing(`${moving.join(', ')} on the way`)
      const quiet = pods.some(({ spec }) => spec.nodeName === undefined) ? QUIET_MS.withPending : QUIET_MS.otherwise
      return Date.now() - since >= quiet ? pods : missing('a while without change')
    },
    { timeoutMs: 150_000 },
  )
}

function isAtRest({ metadata, status }: Pod): boolean {
  if (metadata.deletionTimestamp !== undefined) return false
  const ready = status.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True') ?? false
  return ready || status.phase === 'Succeeded' || status.phase === 'Failed'
}

/** Pods that stay are there with the same uid, those that go are not. */
function compareLeft(report: DrainReport, before: readonly Pod[], after: readonly Pod[]): string[] {
  const now = new Map(after.map((pod) => [pod.metadata.uid, pod]))
  return before.flatMap((pod) => {
    const said = reportOf(report, pod)
    if (said === undefined) return []
    const there = now.has(pod.metadata.uid)
    const stays = said.verdict === 'stays' || said.verdict === 'blocked'
    return there === stays ? [] : [`${idOf(pod)}: said to be ${said.verdict}, ${there ? 'is still there' : 'is gone'}`]
  })
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
}

function familiesOf(report: DrainReport, before: readonly Pod[], after: readonly Pod[]): Family[] {
  const fresh = replacements(before, after)
  const families = new Map<string, Family>()
  for (const pod of before) {
    const said = reportOf(report, pod)
    if (said === undefined || said.verdict === 'stays' || said.verdict === 'blocked') continue
    const key = familyOf(pod)
    const family = families.get(key) ?? {
      name: controllerOf(pod)?.name ?? idOf(pod),
      said: [],
      fresh: fresh.get(key) ?? [],
    }
    family.said.push(said)
    families.set(key, family)
  }
  return [...families.values()]
}

const isContended = ({ effects }: PodReport) => effects.some(({ effect }) => effect === 'contended')

function compareReplaced(report: DrainReport, before: readonly Pod[], after: readonly Pod[]): string[] {
  const differences: string[] = []
  const families = familiesOf(report, before, after)
  for (const { name, said, fresh } of families) {
    const made = said.filter(({ verdict }) => verdict !== 'gone' && verdict !== 'finished')
    // A finished Job pod is not made again; of what is gone nothing comes back.
    if (fresh.length !== made.length) differences.push(`${name}: ${made.length} to be made again, ${fresh.length} were`)
    const pending = fresh.filter(({ spec }) => spec.nodeName === undefined).length
    const stuck = made.filter(({ verdict }) => verdict === 'stuck').length
    const maybe = made.filter(isContended).length
    if (pending < stuck || pending > stuck + maybe) {
      differences.push(`${name}: ${stuck}${maybe > 0 ? ` to ${stuck + maybe}` : ''} to stay Pending, ${pending} do`)
    }
    for (const pod of fresh) {
      const node = pod.spec.nodeName
      if (node === undefined) continue
      const allowed = new Set(made.flatMap(placesOf))
      if (!allowed.has(node))
        differences.push(`${name}: ${idOf(pod)} is on ${node}, said was ${[...allowed].join(', ') || 'no node'}`)
      const back = report.nodes.includes(node)
      if (back && !made.some(({ verdict }) => verdict === 'returns'))
        differences.push(`${name}: ${idOf(pod)} came back to ${node}, not said to`)
    }
  }
  for (const { pods, pending } of report.contention ?? []) {
    const inGroup = families.filter(({ said }) =>
      said.some(({ namespace, name }) => pods.includes(`${namespace}/${name}`)),
    )
    const count = inGroup.flatMap(({ fresh }) => fresh).filter(({ spec }) => spec.nodeName === undefined).length
    if (count < pending.min || count > pending.max) {
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

/** What our filters say of a Pending pod on the cluster as it is now, with the other new pods where they are, and without them. */
async function statePredictor(lab: Lab, nodes: string[]): Promise<(pod: Pod) => string[]> {
  const kinds = 'nodes,pods,pvc,pv,sc,csinodes,csidrivers,csistoragecapacities,pdb,namespaces'
  const { Readable } = await import('node:stream')
  const dump = await lab.kubectl(['get', kinds, '--all-namespaces', '--output=json'])
  const { gitVersion } = (
    JSON.parse(await lab.kubectl(['version', '--output=json'])) as { serverVersion: { gitVersion: string } }
  ).serverVersion
  const snapshot = {
    ...(await readCluster({ from: ['-'], stdin: Readable.from([dump]), kinds: [] })),
    serverVersion: gitVersion,
  }
  return (pod) => {
    const found = snapshot.objects.Pod.find(({ metadata }) => metadata.uid === pod.metadata.uid) as ClusterPod
    const scene = sceneOf(snapshot, nodes, [], new OwnerIndex(snapshot), new Map())
    const message = () => schedule(podInfo(found, scene.rules, 'spec'), scene.state).message
    const withOthers = message()
    return withOthers === null ? [] : [withOthers]
  }
}
