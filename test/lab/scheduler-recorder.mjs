/**
 * Makes an invented cluster (invented-clusters.mjs) in a control plane without nodes (control-plane.mjs), drains one of its nodes pod
 * by pod, and notes what the scheduler says of each.
 */

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

export class Recorder {
  /** @param version the scheduler's, which the nodes are said to have */
  constructor(plane, version) {
    this.plane = plane
    this.version = version
    this.verbose = false
    /** Whether to ask about each node by itself, too. */
    this.probe = false
    this.refused = 0
    this.unanswered = 0
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
        this.unanswered += 1
        process.stderr.write(`${invented.kind}: no answer for ${key}\n`)
        break
      }
      outcomes[key] = answer.outcome
      if (answer.outcome.nominated) {
        // Victims are ended one after the other, after the answer.
        const { nominated } = answer.outcome
        for (let tries = 0; tries < 20 && this.preempted(objects, nominated).length === 0; tries++) await sleep(200)
        await sleep(500)
        answer.outcome.preempted = this.preempted(objects, nominated)
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

  /**
   * Who had to go from that node. A pod of lower priority that waited for it by nomination loses it, and may preempt on another node
   * in the same moment.
   */
  preempted(objects, node) {
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
      if (!before.has(uid) && by?.reason === 'PreemptionByScheduler' && last.spec.nodeName === node)
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

/**
 * What is sent to the API server: the pod, on that node or on none. A victim of preemption ends slowly, since once it is gone the
 * scheduler may choose more victims for the same pod, and only those of its first answer count.
 */
function manifest({ apiVersion, kind, metadata, spec }, node) {
  const placed = { ...spec, nodeName: node, terminationGracePeriodSeconds: 3600 }
  return { apiVersion, kind, metadata, spec: node === null ? spec : placed }
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
export function slim(object) {
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
