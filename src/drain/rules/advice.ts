import type { PersistentVolumeClaim, Pod } from '../../cluster/objects.js'
import { shellCommand } from '../../node/shell-quote.js'
import { namesItsNode } from '../judge.js'
import type { PodVolumeReport, Verdict } from '../types.js'
import { type Chain, isCustom, ownerKind } from './owners.js'

/** What the operator's own documentation calls replacing an instance, by the kind of its custom resource. */
const operatorProcedures: Readonly<Record<string, (namespace: string, cluster: string, pod: string) => string>> = {
  'Cluster.postgresql.cnpg.io': (namespace, cluster, pod) =>
    `CloudNativePG: set spec.nodeMaintenanceWindow (inProgress: true, reusePVC: false) on Cluster ${namespace}/${cluster} during the drain, or kubectl cnpg destroy ${shellCommand([cluster, pod])} -n ${shellCommand([namespace])} once the other instances are in sync`,
  'RabbitmqCluster.rabbitmq.com': (namespace, cluster, pod) =>
    `RabbitMQ: rabbitmq-queues check_if_node_is_quorum_critical in ${namespace}/${pod} first; then rabbitmqctl forget_cluster_node, delete its claim, and let the operator of RabbitmqCluster ${namespace}/${cluster} join a new node`,
}

export interface Situation {
  pod: Pod
  verdict: Verdict
  chain: Chain
  budgets: readonly string[]
  volumes: readonly PodVolumeReport[]
  claims: ReadonlyMap<string, PersistentVolumeClaim>
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

/** Commands and steps that resolve a pod's verdict, the best first; commands are ready to paste. */
export function adviceFor(situation: Situation): string[] {
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
      const scalable = top !== undefined && top.kind !== 'Job' && top.kind !== 'CronJob' && top.kind !== 'DaemonSet'
      steps.push(
        scalable
          ? `one more ready replica of ${top.kind} ${namespace}/${top.name}, or a budget ${budgets[0]} that allows a disruption`
          : `a budget ${namespace}/${budgets[0]} that allows a disruption`,
      )
    }
  }
  if (custom !== undefined && (verdict === 'stuck' || verdict === 'blocked')) {
    const procedure = operatorProcedures[ownerKind(custom)]
    steps.push(
      procedure === undefined
        ? `${custom.kind} ${namespace}/${custom.name} is run by an operator: follow its own procedure for node maintenance; neither scale its pods nor delete their claims by hand`
        : procedure(namespace, custom.name, name),
    )
    return steps
  }
  if (verdict === 'stuck') {
    const claims = situation.volumes.filter(
      (volume) => volume.claim !== null && situation.pinning.includes(volume.name),
    )
    for (const volume of claims) {
      const claim = volume.claim ?? ''
      const to = situation.relocateTo === null ? [] : ['--to', situation.relocateTo]
      steps.push(shellCommand(['kubectl', 'storage', 'relocate', 'pvc', claim, '-n', namespace, ...to]))
    }
    for (const volume of claims) {
      const claim = volume.claim ?? ''
      if (!isFromTemplate(claim, pod, chain)) continue
      const policy = volume.volume === null ? undefined : situation.reclaimPolicyOf(volume.volume)
      const fate =
        policy === 'Delete' ? 'its policy Delete destroys the data' : `its data stays behind on volume ${volume.volume}`
      const remove = shellCommand(['kubectl', 'delete', 'pvc', claim, '-n', namespace, '--wait=false'])
      const again = shellCommand(['kubectl', 'delete', 'pod', name, '-n', namespace])
      steps.push(`${remove} && ${again}   # or start empty elsewhere: ${fate}`)
    }
    if (claims.length === 0 && situation.refusedElsewhere !== null)
      steps.push(`let another node take ${namespace}/${name}; now they refuse it: ${situation.refusedElsewhere}`)
  }
  if (verdict === 'gone' && chain.links.length === 0) {
    steps.push(
      `${shellCommand(['kubectl', 'get', 'pod', name, '-n', namespace, '-o', 'yaml'])} > ${shellCommand([`${name}.yaml`])}   # keep it: nothing else re-creates it`,
    )
  }
  if (verdict === 'returns') {
    steps.push(
      !namesItsNode(chain)
        ? `${namespace}/${name} tolerates the cordon: take the toleration of node.kubernetes.io/unschedulable out of its template, or give it a node affinity`
        : `${namespace}/${name} names its node: take nodeName out of its template, or scale it to 0 for as long as the node is away`,
    )
  }
  return steps
}
