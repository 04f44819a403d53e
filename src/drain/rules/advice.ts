import type { PersistentVolumeClaim, Pod } from '../../cluster/objects.js'
import { shellCommand } from '../../node/shell-quote.js'
import { namesItsNode } from '../judge.js'
import type { PodVolumeReport, Verdict } from '../types.js'
import { type Chain, isCustom, ownerKind } from './owners.js'

/** What the operator's own documentation calls for when a node is drained, by the kind of its custom resource. */
const operatorProcedures: Readonly<Record<string, (name: string, pod: string) => string>> = {
  'Cluster.postgresql.cnpg.io': (name) =>
    `CloudNativePG: set spec.nodeMaintenanceWindow on Cluster ${name} for the time of the drain (inProgress: true; reusePVC: false makes a new instance elsewhere, true waits for the node)`,
  'RabbitmqCluster.rabbitmq.com': (name, pod) =>
    `RabbitMQ: in ${pod}, rabbitmq-queues check_if_node_is_quorum_critical first; then replace this member of RabbitmqCluster ${name} by the operator's own procedure`,
}

export interface Situation {
  pod: Pod
  verdict: Verdict
  chain: Chain
  budgets: readonly string[]
  volumes: readonly PodVolumeReport[]
  /** By NAMESPACE/NAME. */
  claims: ReadonlyMap<string, PersistentVolumeClaim>
  /** Whether one more ready pod lets that budget allow a disruption. */
  replicasWouldHelp(budget: string): boolean
  /** Nodes that are drained and not cordoned yet. */
  toCordon: readonly string[]
  reclaimPolicyOf(volume: string): string | undefined
  /** Names of the volumes that keep the pod on the drained nodes. */
  pinning: readonly string[]
  /** Where the pod could run if those volumes were there, the best first; null when nothing but other reasons keep it away. */
  relocateTo: string | null
  /** Which taint or toleration brings the pod back to a cordoned node. */
  refusedElsewhere: string | null
}

function customOwner(chain: Chain) {
  return chain.links.map(({ reference }) => reference).find(isCustom)
}

/** The claim that a StatefulSet makes again from its template when it is deleted: TEMPLATE-NAME-ORDINAL. */
function isFromTemplate(claim: string, pod: Pod, chain: Chain): boolean {
  const owner = chain.links[0]?.reference
  return owner !== undefined && ownerKind(owner) === 'StatefulSet.apps' && claim.endsWith(`-${pod.metadata.name}`)
}

export interface Advice {
  /** Commands (ready to paste) and steps that resolve the pod's verdict, in order. */
  next: string[]
  /** Ways to do without: what they give up is said. */
  instead: string[]
}

export function adviceFor(situation: Situation): Advice {
  const steps = stepsFor(situation)
  return { next: steps, instead: situation.verdict === 'stuck' ? startEmptyInstead(situation) : [] }
}

function stepsFor(situation: Situation): string[] {
  const { pod, verdict, chain, budgets } = situation
  const namespace = pod.metadata.namespace ?? ''
  const { name } = pod.metadata
  const custom = customOwner(chain)
  const steps: string[] = []

  if (verdict === 'blocked') {
    if (budgets.length > 1) {
      steps.push(
        `leave ${namespace}/${name} only one budget: the eviction API refuses a pod that has several (${budgets.join(', ')})`,
      )
    } else if (custom === undefined) {
      const top = chain.links.at(-1)?.reference
      const scalable =
        top !== undefined &&
        !['Job', 'CronJob', 'DaemonSet'].includes(top.kind) &&
        situation.replicasWouldHelp(budgets[0] ?? '')
      steps.push(
        scalable
          ? `one more ready replica of ${top.kind} ${namespace}/${top.name}, or a budget ${budgets[0]} that allows a disruption`
          : `a budget ${namespace}/${budgets[0]} that allows a disruption`,
      )
    }
  }
  if (custom !== undefined && (verdict === 'stuck' || verdict === 'blocked' || verdict === 'returns')) {
    const procedure = Object.hasOwn(operatorProcedures, ownerKind(custom))
      ? operatorProcedures[ownerKind(custom)]
      : undefined
    steps.push(
      procedure === undefined
        ? `${custom.kind} ${namespace}/${custom.name} is run by an operator: follow its own procedure for node maintenance; neither scale its pods nor delete their claims by hand`
        : procedure(`${namespace}/${custom.name}`, `${namespace}/${name}`),
    )
    return steps
  }
  if (verdict === 'stuck') steps.push(...adviceForStuck(situation))
  if (verdict === 'gone' && chain.links.length === 0) {
    steps.push(
      `${shellCommand(['kubectl', 'get', 'pod', name, '-n', namespace, '-o', 'yaml'])} > ${shellCommand([`${namespace}-${name}.yaml`])}   # keep it: nothing re-creates it`,
    )
  }
  if (verdict === 'returns') {
    const pinned = situation.volumes.filter(
      (volume) => volume.claim !== null && situation.pinning.includes(volume.name),
    )
    // Without the toleration it would only be stuck instead.
    for (const { claim } of pinned) {
      const to = situation.relocateTo === null ? [] : ['--to', situation.relocateTo]
      steps.push(shellCommand(['kubectl', 'storage', 'relocate', 'pvc', claim ?? '', '-n', namespace, ...to]))
    }
    steps.push(
      !namesItsNode(chain)
        ? `${namespace}/${name} tolerates the cordon: take the toleration of node.kubernetes.io/unschedulable out of its template, or give it a node affinity`
        : `${namespace}/${name} names its node: take nodeName out of its template, or scale it to 0 for as long as the node is away`,
    )
  }
  return steps
}

/** The commands come in the order in which they are run; what would come back to the node is kept from it first. */
function adviceForStuck({ pod, chain, volumes, claims, pinning, ...situation }: Situation): string[] {
  const namespace = pod.metadata.namespace ?? ''
  const { name } = pod.metadata
  const steps: string[] = []
  for (const { claim } of volumes) {
    if (claim === null) continue
    const object = claims.get(`${namespace}/${claim}`)
    if (object !== undefined && !object.metadata.deletionTimestamp) continue
    const state = object === undefined ? 'does not exist' : 'is being deleted'
    steps.push(
      isFromTemplate(claim, pod, chain)
        ? `claim ${namespace}/${claim} ${state}: when ${name} is Pending after the drain and the claim is gone, delete the pod once more, and its StatefulSet makes the claim anew (empty)`
        : `claim ${namespace}/${claim} ${state}: make it again before the drain, or take it out of the pod`,
    )
  }
  if (steps.length > 0) return steps

  const pinned = pinnedClaims({ volumes, pinning })
  for (const { claim, orphaned } of pinned) {
    if (orphaned) {
      steps.push(
        `claim ${namespace}/${claim} is on a node that does not exist any more: its data can't be reached, not even copied`,
      )
      continue
    }
    const to = situation.relocateTo === null ? [] : ['--to', situation.relocateTo]
    steps.push(shellCommand(['kubectl', 'storage', 'relocate', 'pvc', claim, '-n', namespace, ...to]))
  }
  if (pinned.length === 0 && situation.refusedElsewhere !== null) {
    steps.push(`let another node take ${namespace}/${name}; now they refuse it: ${situation.refusedElsewhere}`)
  }
  return steps
}

/** Claims whose volume keeps the pod on the drained nodes, or on none that exists. */
function pinnedClaims({ volumes, pinning }: Pick<Situation, 'volumes' | 'pinning'>) {
  return volumes.flatMap(({ name, claim, volume, affinity }) =>
    claim !== null && pinning.includes(name) ? [{ claim, volume, orphaned: affinity === 'orphaned' }] : [],
  )
}

/** A pod of a StatefulSet whose application replicates by itself may give up its data: the claim is made anew from its template. */
function startEmptyInstead(situation: Situation): string[] {
  const { pod, chain, claims, toCordon } = situation
  const namespace = pod.metadata.namespace ?? ''
  if (customOwner(chain) !== undefined) return []
  return pinnedClaims(situation).flatMap(({ claim, volume }) => {
    if (!isFromTemplate(claim, pod, chain) || claims.get(`${namespace}/${claim}`)?.metadata.deletionTimestamp) return []
    const destroys = volume !== null && situation.reclaimPolicyOf(volume) === 'Delete'
    const commands = [
      // Else the new claim may be given a volume on the very node that is drained.
      ...(toCordon.length > 0 ? [['kubectl', 'cordon', ...toCordon]] : []),
      ['kubectl', 'delete', 'pvc', claim, '-n', namespace, '--wait=false'],
      ['kubectl', 'delete', 'pod', pod.metadata.name, '-n', namespace],
    ]
    const fate = destroys ? 'policy Delete destroys the data' : `the data stays behind on volume ${volume}`
    return [`${commands.map(shellCommand).join(' && ')}   # starts empty elsewhere: ${fate}`]
  })
}
