/**
 * Asks a real scheduler about invented clusters and holds its answers against ours.
 *
 *   node test/lab/record-scheduler.mjs --bin DIR [--etcd FILE] [--scheduler FILE [--gates GATES]] [--port N] [--kinds a,b] [--seeds FROM-TO]
 *        [--out FILE.ndjson.gz] [--twice] [--probe] [--verbose]
 *
 * --bin: where kube-apiserver, kube-controller-manager and kube-scheduler are. --scheduler: another version's scheduler; one that is
 * newer than the API server may need --gates to do without what that server does not have.
 * Each case: the cluster is made, node `drain` is cordoned, and its pods are taken one after the other: deleted, created again
 * without a node, the scheduler's first answer noted, the copy deleted. See test/fixtures/scheduler-cases/README.md for what --out
 * writes. --probe asks about each node by itself where a pod was placed, so that every node that we think passes is known to pass,
 * and every other one to refuse for the reason that we say. --twice keeps only cases that get the same answers a second time, so that nothing left to chance is kept. Differences are
 * printed; exit 1 when there are any.
 */
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'
import { startControlPlane } from './control-plane.mjs'
import { inventCluster, kinds } from './invented-clusters.mjs'

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

const paths = {
  Namespace: '/api/v1/namespaces',
  Node: '/api/v1/nodes',
  Pod: '/api/v1/pods',
  PersistentVolume: '/api/v1/persistentvolumes',
  PersistentVolumeClaim: '/api/v1/persistentvolumeclaims',
  StorageClass: '/apis/storage.k8s.io/v1/storageclasses',
  CSINode: '/apis/storage.k8s.io/v1/csinodes',
  CSIDriver: '/apis/storage.k8s.io/v1/csidrivers',
  CSIStorageCapacity: '/apis/storage.k8s.io/v1/csistoragecapacities',
  VolumeAttachment: '/apis/storage.k8s.io/v1/volumeattachments',
  PodDisruptionBudget: '/apis/policy/v1/poddisruptionbudgets',
  PriorityClass: '/apis/scheduling.k8s.io/v1/priorityclasses',
  RuntimeClass: '/apis/node.k8s.io/v1/runtimeclasses',
}
/** Kinds that a case has of its own; namespaces and priority classes stay. */
const ownKinds = Object.keys(paths).filter((kind) => kind !== 'Namespace' && kind !== 'PriorityClass')
const namespaced = new Set(['Pod', 'PersistentVolumeClaim', 'CSIStorageCapacity', 'PodDisruptionBudget'])

function pathOf(kind, namespace) {
  if (!namespaced.has(kind) || namespace === undefined) return paths[kind]
  const at = paths[kind].lastIndexOf('/')
  return `${paths[kind].slice(0, at)}/namespaces/${namespace}${paths[kind].slice(at)}`
}

class Lab {
  constructor(plane) {
    this.plane = plane
    this.refused = 0
    /** What the watch has seen of each pod, by uid: every state in order. */
    this.seen = new Map()
  }

  async watchPods() {
    await this.plane.watch('/api/v1/pods?watch=1&resourceVersion=0', ({ object }) => {
      const uid = object?.metadata?.uid
      if (uid === undefined) return
      const states = this.seen.get(uid)
      if (states === undefined) this.seen.set(uid, [object])
      else states.push(object)
    })
  }

  async list(kind) {
    const { body } = await this.plane.call('GET', paths[kind])
    return (body.items ?? []).map((item) => ({ ...item, kind, apiVersion: body.apiVersion }))
  }

  async create({ status: _, deleting: __, ...object }) {
    const { status, body } = await this.plane.call('POST', pathOf(object.kind, object.metadata.namespace), object)
    if (status === 201) return body
    if (status !== 422)
      process.stderr.write(`create ${object.kind} ${object.metadata.name}: ${status} ${body.message}\n`)
    this.refused += 1
    if (this.verbose) process.stderr.write(`${body.message}\n`)
    return null
  }

  patch({ kind, metadata }, change, sub = '') {
    const path = `${pathOf(kind, metadata.namespace)}/${metadata.name}${sub}`
    return this.plane.call('PATCH', path, change, 'application/merge-patch+json')
  }

  remove({ kind, metadata }, grace = 0) {
    const path = `${pathOf(kind, metadata.namespace)}/${metadata.name}?gracePeriodSeconds=${grace}`
    return this.plane.call('DELETE', path)
  }

  async clean() {
    for (let tries = 0; ; tries++) {
      let left = 0
      for (const kind of ownKinds) {
        const items = await this.list(kind)
        left += items.length
        await Promise.all(
          items.map(async (item) => {
            if (item.metadata.finalizers) await this.patch(item, { metadata: { finalizers: null } })
            await this.remove(item)
          }),
        )
      }
      if (left === 0) return
      if (tries > 100) throw new Error('the cluster does not get empty')
    }
  }

  async make({ objects, pods }) {
    const of = (...wanted) => objects.filter(({ kind }) => wanted.includes(kind))
    for (const namespace of of('Namespace')) {
      await this.plane.call('POST', paths.Namespace, namespace)
      await this.patch(namespace, { metadata: { labels: { team: null, ...namespace.metadata.labels } } })
    }
    for (const priorityClass of of('PriorityClass')) await this.plane.call('POST', paths.PriorityClass, priorityClass)
    await Promise.all(of('StorageClass', 'CSIDriver', 'RuntimeClass').map((object) => this.create(object)))
    // A volume of a bound claim gets its claimRef from the volume binder, which takes one without the claim's uid for another's.
    const withoutRef = (volume) =>
      volume.spec.claimRef?.uid === 'claim' ? { ...volume, spec: { ...volume.spec, claimRef: undefined } } : volume
    await Promise.all(of('PersistentVolume').map((volume) => this.create(withoutRef(volume))))
    // Claims that come before the binder has seen their volumes are taken for lost.
    if (of('PersistentVolume').length > 0) await sleep(300)
    await Promise.all(
      of('PersistentVolume', 'CSINode', 'CSIStorageCapacity', 'VolumeAttachment', 'PersistentVolumeClaim').map(
        (object) => (object.kind === 'PersistentVolume' ? null : this.create(object)),
      ),
    )
    for (const object of objects) if (object.deleting) await this.remove(object)
    await Promise.all(
      of('Node').map(async (node) => {
        await this.create(node)
        const conditions = [{ type: 'Ready', status: 'True', reason: 'KubeletReady' }]
        const nodeInfo = { kubeletVersion: this.version }
        await this.patch(
          node,
          { status: { ...node.status, capacity: node.status.allocatable, conditions, nodeInfo } },
          '/status',
        )
      }),
    )
    await Promise.all(
      of('PodDisruptionBudget').map(async (budget) => {
        await this.create(budget)
        await this.patch(budget, { status: { ...budget.status, observedGeneration: 1 } }, '/status')
      }),
    )
    await Promise.all(pods.filter(({ boss }) => !boss).map((pod) => this.place(pod)))
  }

  /** A pod that runs on its node, as far as the API can tell. */
  async place(invented) {
    const made = await this.create(manifest(invented, invented.node))
    if (made === null) return
    await this.patch(
      invented,
      {
        status: {
          phase: invented.phase ?? 'Running',
          startTime: invented.startTime,
          conditions: [{ type: 'Ready', status: 'True' }, ...(invented.conditions ?? [])],
          containerStatuses: invented.containerStatuses,
          initContainerStatuses: invented.initContainerStatuses,
        },
      },
      '/status',
    )
    if (invented.deleting) await this.remove(invented, 3600)
  }

  /** Waits until the volume binder has done what it does. */
  async settle() {
    let before = ''
    for (let tries = 0; tries < 40; tries++) {
      await sleep(tries === 0 ? 250 : 150)
      const now = [...(await this.list('PersistentVolume')), ...(await this.list('PersistentVolumeClaim'))]
        .map(({ metadata }) => `${metadata.uid} ${metadata.resourceVersion}`)
        .sort()
        .join()
      if (now === before) return
      before = now
    }
    throw new Error('volumes do not settle')
  }

  /** Creates the pod without a node and waits for what the scheduler says first; null when it says nothing. */
  async ask(invented) {
    const ephemeral = (invented.spec.volumes ?? []).filter((volume) => volume.ephemeral)
    const copy = manifest(invented, null)
    // The claims of generic ephemeral volumes come from a controller; the pod is held until we have done its work.
    if (ephemeral.length > 0) copy.spec = { ...copy.spec, schedulingGates: [{ name: 'example.com/hold' }] }
    const claimsBefore = await this.selectedNodes()
    const made = await this.create(copy)
    if (made === null) return null
    if (ephemeral.length > 0) {
      for (const volume of ephemeral) {
        await this.create({
          apiVersion: 'v1',
          kind: 'PersistentVolumeClaim',
          metadata: {
            name: `${copy.metadata.name}-${volume.name}`,
            namespace: copy.metadata.namespace,
            ownerReferences: [
              { apiVersion: 'v1', kind: 'Pod', name: made.metadata.name, uid: made.metadata.uid, controller: true },
            ],
          },
          spec: volume.ephemeral.volumeClaimTemplate.spec,
        })
      }
      await sleep(300)
      await this.patch(copy, { spec: { schedulingGates: null } })
    }
    const until = Date.now() + 12_000
    while (Date.now() < until) {
      for (const pod of this.seen.get(made.metadata.uid) ?? []) {
        if (pod.spec.nodeName) return { pod: made, outcome: { result: 'scheduled', node: pod.spec.nodeName } }
        const condition = pod.status?.conditions?.find(({ type }) => type === 'PodScheduled')
        if (condition?.status !== 'False' || condition.reason === 'SchedulingGated') continue
        const { reason, message } = condition
        const nominated = pod.status.nominatedNodeName ?? null
        return { pod: made, outcome: { result: 'pending', reason, message, nominated } }
      }
      await sleep(15)
      if (until - Date.now() > 11_500) continue
      for (const [key, node] of await this.selectedNodes()) {
        if (claimsBefore.get(key) === node) continue
        return { pod: made, outcome: { result: 'scheduled', node, provisioning: key } }
      }
    }
    return { pod: made, outcome: null }
  }

  async selectedNodes() {
    const claims = await this.list('PersistentVolumeClaim')
    return new Map(
      claims.map(({ metadata }) => [
        `${metadata.namespace}/${metadata.name}`,
        metadata.annotations?.['volume.kubernetes.io/selected-node'],
      ]),
    )
  }

  /** Makes the cluster, drains the node's pods one by one; null when the case can't be used. */
  async record(invented) {
    await this.clean()
    this.seen.clear()
    await sleep(150)
    await this.make(invented)
    await this.settle()
    const boss = invented.pods.find((pod) => pod.boss)
    if (boss !== undefined) {
      const answer = await this.ask(boss)
      if (answer?.outcome?.nominated === undefined || answer.outcome.nominated === null) return null
      if (answer.outcome.nominated === invented.drain) return null
      await sleep(500)
    }
    const objects = await this.snapshot()
    await this.patch(
      { kind: 'Node', metadata: { name: invented.drain } },
      {
        spec: {
          unschedulable: true,
          taints: [
            ...(objects.find(({ kind, metadata }) => kind === 'Node' && metadata.name === invented.drain)?.spec
              ?.taints ?? []),
            { key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' },
          ].filter(
            ({ key, effect }, at, all) => all.findIndex((other) => other.key === key && other.effect === effect) === at,
          ),
        },
      },
    )
    const there = new Set(
      objects.filter(({ kind }) => kind === 'Pod').map(({ metadata }) => `${metadata.namespace}/${metadata.name}`),
    )
    const outcomes = {}
    const probes = []
    const finish = () => ({ objects: objects.filter(({ kind }) => kind !== 'RuntimeClass'), outcomes, probes })
    for (const subject of invented.pods.filter((pod) => pod.subject)) {
      const key = `${subject.metadata.namespace}/${subject.metadata.name}`
      if (!there.has(key)) continue
      await this.remove(subject)
      await sleep(120)
      const answer = await this.ask(subject)
      if (answer === null || answer.outcome === null) {
        process.stderr.write(`no answer for ${key}\n`)
        break
      }
      outcomes[key] = answer.outcome
      if (answer.outcome.nominated) {
        // Victims are ended one after the other, after the answer.
        for (let tries = 0; tries < 20 && this.preempted(objects).length === 0; tries++) await sleep(200)
        await sleep(500)
        answer.outcome.preempted = this.preempted(objects)
        break
      }
      if (this.probe && answer.outcome.result === 'scheduled' && bindsNothing(subject, objects)) {
        await this.remove(subject)
        await sleep(80)
        for (const node of invented.objects.filter(({ kind }) => kind === 'Node').slice(0, 8)) {
          const pinned = pinnedTo(subject, node.metadata.name)
          const said = await this.ask(pinned)
          if (said?.outcome) probes.push({ key, node: node.metadata.name, outcome: said.outcome, pod: pinned })
          await this.remove(pinned)
          await sleep(80)
          // Preemption has begun: the cluster is another one now.
          if (said?.outcome?.nominated) return finish()
        }
        continue
      }
      // A volume that was bound or is to be provisioned makes the cluster another one.
      if (answer.outcome.provisioning !== undefined || (await this.claimsChanged(objects))) break
      await this.remove(subject)
      for (const volume of (subject.spec.volumes ?? []).filter(({ ephemeral }) => ephemeral)) {
        await this.remove({
          kind: 'PersistentVolumeClaim',
          metadata: { name: `${subject.metadata.name}-${volume.name}`, namespace: subject.metadata.namespace },
        })
      }
      await sleep(80)
    }
    return finish()
  }

  async claimsChanged(objects) {
    const before = new Map(
      objects
        .filter(({ kind }) => kind === 'PersistentVolumeClaim')
        .map(({ metadata, spec }) => [`${metadata.namespace}/${metadata.name}`, spec.volumeName ?? '']),
    )
    const now = await this.list('PersistentVolumeClaim')
    return now.some(({ metadata, spec }) => {
      const was = before.get(`${metadata.namespace}/${metadata.name}`)
      return was !== undefined && was !== (spec.volumeName ?? '')
    })
  }

  preempted(objects) {
    const before = new Set(
      objects
        .filter(
          ({ kind, status }) => kind === 'Pod' && status.conditions?.some(({ type }) => type === 'DisruptionTarget'),
        )
        .map(({ metadata }) => metadata.uid),
    )
    const names = new Set()
    for (const [uid, states] of this.seen) {
      const last = states.at(-1)
      const by = last.status?.conditions?.find(({ type }) => type === 'DisruptionTarget')
      if (!before.has(uid) && by?.reason === 'PreemptionByScheduler')
        names.add(`${last.metadata.namespace}/${last.metadata.name}`)
    }
    return [...names].sort()
  }

  async snapshot() {
    const objects = []
    for (const kind of Object.keys(paths)) {
      for (const item of await this.list(kind)) {
        if (kind === 'Namespace' && !['demo', 'other', 'third'].includes(item.metadata.name)) continue
        if (kind === 'PriorityClass' && item.metadata.name.startsWith('system-')) continue
        objects.push(item)
      }
    }
    return objects
  }
}

/** What is sent to the API server: the pod, on that node or on none. */
function manifest({ apiVersion, kind, metadata, spec }, node) {
  return { apiVersion, kind, metadata, spec: node === null ? spec : { ...spec, nodeName: node } }
}

/** Whether placing the pod leaves all claims and volumes as they are. */
function bindsNothing({ metadata, spec }, objects) {
  return (spec.volumes ?? []).every(({ ephemeral, persistentVolumeClaim }) => {
    if (persistentVolumeClaim === undefined) return ephemeral === undefined
    const claim = objects.find(
      (object) =>
        object.kind === 'PersistentVolumeClaim' &&
        object.metadata.namespace === metadata.namespace &&
        object.metadata.name === persistentVolumeClaim.claimName,
    )
    return claim?.status.phase === 'Bound'
  })
}

/** The pod, allowed on that one node only, to learn what the scheduler says of just this node. */
function pinnedTo(pod, name) {
  const field = { key: 'metadata.name', operator: 'In', values: [name] }
  const { affinity } = pod.spec
  const terms = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [{}]
  const required = {
    nodeSelectorTerms: terms.map((term) => ({ ...term, matchFields: [...(term.matchFields ?? []), field] })),
  }
  return {
    ...pod,
    spec: {
      ...pod.spec,
      affinity: { ...affinity, nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: required } },
    },
  }
}

/** Leaves out what no rule looks at, so that a case is small. */
function slim(object) {
  const { metadata, spec, status } = object
  const { managedFields: _, resourceVersion: __, generation: ___, creationTimestamp: ____, uid, ...meta } = metadata
  const made = { ...object, metadata: ['PersistentVolumeClaim'].includes(object.kind) ? { ...meta, uid } : meta }
  if (object.kind === 'Node') {
    made.status = {
      allocatable: status.allocatable,
      conditions: [{ type: 'Ready', status: 'True' }],
      nodeInfo: { kubeletVersion: status.nodeInfo.kubeletVersion },
    }
  } else if (object.kind === 'Pod') {
    const drop = [
      ...['dnsPolicy', 'restartPolicy', 'schedulerName', 'securityContext', 'enableServiceLinks', 'serviceAccountName'],
      ...['serviceAccount', 'terminationGracePeriodSeconds', 'runtimeClassName'],
    ]
    made.spec = Object.fromEntries(Object.entries(spec).filter(([key]) => !drop.includes(key)))
    for (const list of ['containers', 'initContainers']) {
      if (!spec[list]) continue
      made.spec[list] = spec[list].map(({ name, resources, ports, restartPolicy }) => ({
        name,
        ...(resources && Object.keys(resources).length > 0 ? { resources } : {}),
        ...(ports ? { ports } : {}),
        ...(restartPolicy ? { restartPolicy } : {}),
      }))
    }
    const { phase, startTime, nominatedNodeName, conditions } = status
    const held = (statuses) =>
      statuses?.map(({ name, resources, allocatedResources }) => ({ name, resources, allocatedResources }))
    made.status = {
      phase,
      startTime,
      nominatedNodeName,
      conditions: conditions?.map(({ type, status, reason }) => ({ type, status, reason })),
      containerStatuses: held(status.containerStatuses),
      initContainerStatuses: held(status.initContainerStatuses),
    }
    made.metadata.ownerReferences = [
      { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'owner', uid: 'owner', controller: true },
    ]
  }
  return made
}

/** Our side: the plan of the drain, from the sources. */
async function predictor() {
  const root = fileURLToPath(new URL('../..', import.meta.url))
  const { outputFiles } = await build({
    absWorkingDir: root,
    stdin: {
      contents: `export { planDrain } from './src/drain/plan.ts'
        export { snapshot } from './test/support/objects.ts'
        export { podInfo } from './src/scheduling/cluster-state.ts'
        export { schedule } from './src/scheduling/schedule.ts'
        export { clusterState } from './test/support/scheduler-cases.ts'`,
      resolveDir: root,
    },
    bundle: true,
    platform: 'node',
    format: 'esm',
    write: false,
    logLevel: 'error',
  })
  const code = Buffer.from(outputFiles[0].contents).toString('base64')
  const { planDrain, snapshot, clusterState, podInfo, schedule } = await import(`data:text/javascript;base64,${code}`)
  /** As `differing`, of pods that may go to one node only. */
  const differingProbes = ({ drain, objects, outcomes, kubernetes }, probes) => {
    const gone = new Set()
    return Object.keys(outcomes).flatMap((key) => {
      gone.add(key)
      const left = objects.filter(
        (object) => !(object.kind === 'Pod' && gone.has(`${object.metadata.namespace}/${object.metadata.name}`)),
      )
      const original = objects.find(
        ({ kind, metadata }) => kind === 'Pod' && `${metadata.namespace}/${metadata.name}` === key,
      )
      return probes
        .filter((probe) => probe.key === key)
        .flatMap(({ node, outcome, pod }) => {
          const state = clusterState(left, kubernetes)
          state.cordon(state.nodeByName.get(drain))
          const { nodeName: _, ...spec } = original.spec
          // Requests with their defaults, priority and merged selectors are as the API server has made them.
          const nodeAffinity = pod.spec.affinity.nodeAffinity
          const asked = { ...original, spec: { ...spec, affinity: { ...spec.affinity, nodeAffinity } }, status: {} }
          const { feasible, message, preemption } = schedule(podInfo(asked, state.rules, 'spec'), state)
          const same =
            outcome.result === 'scheduled'
              ? feasible.some(({ name }) => name === outcome.node)
              : message === outcome.message && (preemption?.node.name ?? '') === (outcome.nominated ?? '')
          const predicted = { feasible: feasible.map(({ name }) => name), message }
          return same ? [] : [{ key, node, outcome, predicted }]
        })
    })
  }
  const differing = ({ drain, objects, outcomes, kubernetes }) => {
    const gone = new Set()
    return Object.entries(outcomes).flatMap(([key, outcome]) => {
      const left = objects.filter(
        (object) => !(object.kind === 'Pod' && gone.has(`${object.metadata.namespace}/${object.metadata.name}`)),
      )
      gone.add(key)
      const [namespace, name] = key.split('/')
      const report = planDrain(snapshot(left), {
        nodes: [drain],
        nodeSelectorText: null,
        podSelector: null,
        podSelectorText: null,
        pods: [{ namespace, name }],
        cordonOnly: false,
        accept: [],
        context: null,
        kubeconfig: null,
      }).pods[0]
      const { feasibleNodes = [], message = null, nominatedNode = null } = report?.scheduling ?? {}
      if (outcome.result === 'scheduled') {
        return feasibleNodes.includes(outcome.node)
          ? []
          : [{ key, outcome, predicted: { feasibleNodes, message, nominatedNode } }]
      }
      const priorities = (keys) =>
        keys
          .map((one) => clusterState(left, kubernetes).placed(one)?.pod.priority)
          .sort()
          .join()
      // Pods that are ending already are victims, too, but nothing more is done to them, or it does not show.
      const ending = new Set(
        left
          .filter(({ kind, metadata }) => kind === 'Pod' && metadata.deletionTimestamp)
          .map(({ metadata }) => `${metadata.namespace}/${metadata.name}`),
      )
      const all = report?.effects.find(({ effect }) => effect === 'preempts')?.victims ?? []
      const victims = all.filter((victim) => !ending.has(victim))
      const same =
        message === outcome.message &&
        (nominatedNode ?? '') === (outcome.nominated ?? '') &&
        (!outcome.nominated ||
          priorities(victims) === priorities(outcome.preempted.filter((victim) => !ending.has(victim))))
      return same ? [] : [{ key, outcome, predicted: { feasibleNodes, message, nominatedNode, victims } }]
    })
  }
  return { differing, differingProbes }
}

const { values } = parseArgs({
  options: {
    bin: { type: 'string' },
    etcd: { type: 'string', default: 'etcd' },
    scheduler: { type: 'string' },
    gates: { type: 'string', default: '' },
    port: { type: 'string', default: '26443' },
    kinds: { type: 'string', default: kinds.join() },
    seeds: { type: 'string', default: '1-25' },
    out: { type: 'string' },
    twice: { type: 'boolean', default: false },
    probe: { type: 'boolean', default: false },
    verbose: { type: 'boolean', default: false },
  },
})
if (values.bin === undefined) {
  process.stderr.write('--bin DIR: where kube-apiserver, kube-controller-manager and kube-scheduler are\n')
  process.exit(2)
}
const scheduler = values.scheduler ?? join(values.bin, 'kube-scheduler')
const version = /v\d+\.\d+\.\d+/.exec(execFileSync(scheduler, ['--version']).toString())?.[0] ?? 'unknown'
const { differing, differingProbes } = await predictor()
const plane = await startControlPlane({
  bin: values.bin,
  etcd: values.etcd,
  scheduler,
  gates: values.gates,
  port: Number(values.port),
})
const lab = new Lab(plane)
lab.version = version
lab.verbose = values.verbose
lab.probe = values.probe
const [from = 1, to = from] = values.seeds.split('-').map(Number)
const kept = []
const count = {
  cases: 0,
  answers: 0,
  scheduled: 0,
  pending: 0,
  nominated: 0,
  differ: 0,
  unusable: 0,
  unstable: 0,
  probes: 0,
}
let stopping = false
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => (stopping = true))
try {
  await lab.watchPods()
  for (let seed = from; seed <= to && !stopping; seed++) {
    for (const kind of values.kinds.split(',')) {
      if (stopping) break
      const invented = inventCluster(kind, seed)
      const recorded = await lab.record(invented)
      if (recorded === null || Object.keys(recorded.outcomes).length === 0) {
        count.unusable += 1
        continue
      }
      const number = seed * 100 + kinds.indexOf(kind)
      const one = {
        seed: number,
        kind,
        kubernetes: version,
        drain: invented.drain,
        objects: recorded.objects.map(slim),
        outcomes: recorded.outcomes,
      }
      if (values.twice) {
        const again = await lab.record(invented)
        // Which of the passing nodes is scoring, and chance.
        const answers = (outcomes) =>
          JSON.stringify(outcomes, (key, value) =>
            key === 'node' || key === 'provisioning' || key === 'preempted' ? undefined : value,
          )
        if (again === null || answers(again.outcomes) !== answers(recorded.outcomes)) {
          count.unstable += 1
          process.stdout.write(
            `UNSTABLE ${number} ${kind}\n${answers(recorded.outcomes)}\n${again && answers(again.outcomes)}\n`,
          )
          continue
        }
      }
      count.cases += 1
      for (const outcome of Object.values(one.outcomes)) {
        count.answers += 1
        count[outcome.result] += 1
        if (outcome.nominated) count.nominated += 1
      }
      const differences = [...differing(one), ...differingProbes(one, recorded.probes)]
      count.probes += recorded.probes.length
      count.differ += differences.length
      for (const difference of differences) {
        process.stdout.write(`DIFFERS ${number} ${kind}\n${JSON.stringify(difference, null, 1)}\n`)
      }
      kept.push(one)
      if (values.out !== undefined) {
        writeFileSync(values.out, gzipSync(`${kept.map((each) => JSON.stringify(each)).join('\n')}\n`, { level: 9 }))
      }
    }
  }
} finally {
  await plane.stop()
}
process.stdout.write(`${JSON.stringify({ version, ...count, refused: lab.refused })}\n`)
process.exitCode = count.differ > 0 ? 1 : 0
