/**
 * Clusters made up from a seed, for the rarer rules of the scheduler. A cluster is plain data: `{drain, objects, pods}`; what the API
 * server would set by itself (uids, defaults) is left out. Names of kinds of clusters: `kinds`.
 */

/** A small generator of numbers (mulberry32): the same seed gives the same cluster everywhere. */
export class Chance {
  #state

  constructor(seed) {
    this.#state = seed >>> 0
  }

  next() {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let t = this.#state
    t = Math.imul(t ^ (t >>> 15), t | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }

  int(from, to) {
    return from + Math.floor(this.next() * (to - from + 1))
  }

  yes(probability) {
    return this.next() < probability
  }

  one(list) {
    return list[this.int(0, list.length - 1)]
  }

  some(list, from, to) {
    const left = [...list]
    const taken = []
    for (let n = this.int(from, Math.min(to, list.length)); n > 0; n--)
      taken.push(...left.splice(this.int(0, left.length - 1), 1))
    return taken
  }
}

const zones = ['za', 'zb', 'zc']
const apps = ['web', 'db', 'cache']
const namespaces = ['demo', 'other', 'third']

export const kinds = [
  'spread',
  'affinity',
  'resources',
  'nodes',
  'volumes',
  'provisioning',
  'limits',
  'disks',
  'taints',
  'preemption',
  'budgets',
  'nominated',
  'mixed',
  'resized',
]

/** @param {string} kind @param {number} seed */
export function inventCluster(kind, seed) {
  return new Invention(kind, new Chance(seed * 7919 + kinds.indexOf(kind) * 104729)).make()
}

class Invention {
  constructor(kind, chance) {
    this.kind = kind
    this.c = chance
    this.objects = []
    this.pods = []
    this.claims = []
    this.count = 0
  }

  make() {
    const { c } = this
    this.nodeNames = []
    const few = ['preemption', 'budgets', 'nominated', 'disks', 'spread'].includes(this.kind)
    const nodes = this.kind === 'mixed' && c.yes(0.04) ? 104 : c.int(2, few ? 4 : 6)
    for (let i = 0; i < nodes; i++) this.nodeNames.push(this.nodeName(i))
    for (const [i, name] of this.nodeNames.entries()) this.objects.push(this.node(name, i))
    this.drain = c.one(this.nodeNames)
    for (const name of namespaces) {
      if (name !== 'demo' || c.yes(1))
        this.objects.push({
          apiVersion: 'v1',
          kind: 'Namespace',
          metadata: { name, labels: { ...(c.yes(0.6) ? { team: c.one(['a', 'b']) } : {}) } },
        })
    }
    this.priorityClasses()
    if (['volumes', 'provisioning', 'limits', 'disks', 'preemption', 'mixed'].includes(this.kind)) this.storage()
    if (this.kind === 'resources')
      this.objects.push({
        apiVersion: 'node.k8s.io/v1',
        kind: 'RuntimeClass',
        metadata: { name: 'sandbox' },
        handler: 'sandbox',
        overhead: { podFixed: { cpu: c.one(['250m', '1']), memory: c.one(['128Mi', '1e8']) } },
      })
    const placed = nodes > 100 ? 30 : c.int(nodes, nodes * 3)
    for (let i = 0; i < placed; i++) this.pods.push(this.pod(c.one(this.nodeNames), false))
    for (let i = c.int(3, 6); i > 0; i--) this.pods.push(this.pod(this.drain, true))
    if (this.kind === 'budgets' || (this.kind === 'preemption' && c.yes(0.3))) this.budgets()
    if (this.kind === 'nominated') this.boss()
    return { kind: this.kind, drain: this.drain, objects: this.objects, pods: this.pods }
  }

  is(...names) {
    return names.includes(this.kind) || (this.kind === 'mixed' && this.c.yes(0.22))
  }

  nodeName(i) {
    const { c } = this
    if (this.kind === 'nodes' && c.yes(0.3)) return c.one([`node-${i}.example.com`, `10.0.0.${i}`, `${i}`, `x${i}--y`])
    return `n${i}`
  }

  node(name, i) {
    const { c, kind } = this
    const labels = { 'kubernetes.io/hostname': c.yes(0.9) ? name : `host-${i}` }
    if (c.yes(kind === 'spread' || kind === 'affinity' ? 0.85 : 0.7))
      labels['topology.kubernetes.io/zone'] = c.one(zones)
    if (c.yes(0.3)) labels['topology.kubernetes.io/region'] = c.one(['r1', 'r2'])
    if (c.yes(0.1)) labels['failure-domain.beta.kubernetes.io/zone'] = c.one(zones)
    if (c.yes(0.6)) labels.disk = c.one(['ssd', 'hdd', ''])
    if (c.yes(0.6)) labels.rank = c.one(['1', '5', '9', '4', 'x', '007', '9223372036854775808'])
    if (c.yes(0.3)) labels.rack = c.one(['r1', 'r2', ''])
    const tight = ['preemption', 'budgets', 'nominated', 'resized'].includes(kind)
    const allocatable = {
      cpu: tight
        ? c.one(kind === 'resized' ? ['2', '3'] : ['1', '2', '1500m'])
        : c.one(['2', '3500m', '4', '0.5', '1e1', '8']),
      memory: tight ? '4Gi' : c.one(['4Gi', '8Gi', '5e9', '4000Mi', '2G', '1048576Ki']),
      pods: c.yes(0.12) ? `${c.int(1, 4)}` : '110',
      'ephemeral-storage': c.one(['30Gi', '1Gi', '10G']),
    }
    if (kind === 'resources' || (kind === 'mixed' && c.yes(0.2))) {
      if (c.yes(0.4)) allocatable['example.com/gpu'] = `${c.int(0, 4)}`
      if (c.yes(0.3)) allocatable['hugepages-2Mi'] = c.one(['0', '64Mi', '256Mi'])
      if (c.yes(0.2)) allocatable['example.com/foo-bar.baz'] = '1k'
      if (c.yes(0.1)) allocatable['requests.example.com/odd'] = '1'
      if (c.yes(0.08)) delete allocatable[c.one(['cpu', 'memory', 'pods', 'ephemeral-storage'])]
    }
    const spec = {}
    const taints = []
    if (c.yes(kind === 'taints' ? 0.6 : kind === 'spread' ? 0.35 : tight ? 0.04 : 0.15)) {
      for (let n = c.int(1, 2); n > 0; n--) {
        const key = c.one(['dedicated', 'example.com/gpu', 'node-role.kubernetes.io/control-plane'])
        const effect = c.one(['NoSchedule', 'NoExecute', 'PreferNoSchedule', 'NoSchedule'])
        if (taints.some((taint) => taint.key === key && taint.effect === effect)) continue
        taints.push(c.yes(0.4) ? { key, effect } : { key, effect, value: c.one(['a', 'b']) })
      }
    }
    if (c.yes(0.05)) {
      spec.unschedulable = true
      // Without the taint now and then, as right after `kubectl cordon`.
      if (c.yes(0.7)) taints.push({ key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' })
    }
    if (taints.length > 0) spec.taints = taints
    return { apiVersion: 'v1', kind: 'Node', metadata: { name, labels }, spec, status: { allocatable } }
  }

  priorityClasses() {
    for (const [name, value] of [
      ['low', -10],
      ['negative', -2000000000],
      ['mid', 100],
      ['high', 1000],
    ])
      this.objects.push({ apiVersion: 'scheduling.k8s.io/v1', kind: 'PriorityClass', metadata: { name }, value })
    this.objects.push({
      apiVersion: 'scheduling.k8s.io/v1',
      kind: 'PriorityClass',
      metadata: { name: 'polite' },
      value: 1000,
      preemptionPolicy: 'Never',
    })
  }

  storage() {
    const { c } = this
    const add = (object) => this.objects.push(object)
    const storageClass = (name, rest) =>
      add({ apiVersion: 'storage.k8s.io/v1', kind: 'StorageClass', metadata: { name }, ...rest })
    storageClass('static', { provisioner: 'kubernetes.io/no-provisioner', volumeBindingMode: 'WaitForFirstConsumer' })
    storageClass('immediate', { provisioner: 'example.com/none', volumeBindingMode: 'Immediate' })
    storageClass('csi', { provisioner: 'csi.example.com', volumeBindingMode: 'WaitForFirstConsumer' })
    storageClass('zonal', {
      provisioner: c.one(['csi.example.com', 'plain.example.com']),
      volumeBindingMode: 'WaitForFirstConsumer',
      allowedTopologies: [
        { matchLabelExpressions: [{ key: 'topology.kubernetes.io/zone', values: c.some(zones, 1, 2) }] },
        ...(c.yes(0.3)
          ? [
              {
                matchLabelExpressions: [
                  { key: 'disk', values: ['ssd', 'hdd'] },
                  { key: 'topology.kubernetes.io/region', values: ['r1'] },
                ],
              },
            ]
          : []),
      ],
    })
    if (c.yes(0.75))
      add({
        apiVersion: 'storage.k8s.io/v1',
        kind: 'CSIDriver',
        metadata: { name: 'csi.example.com' },
        spec: { attachRequired: true, storageCapacity: c.yes(0.7) },
      })
    for (let i = c.int(0, 4); i > 0; i--) {
      const topology = c.one([
        { matchLabels: { 'topology.kubernetes.io/zone': c.one(zones) } },
        { matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'In', values: c.some(this.nodeNames, 1, 2) }] },
        {},
        null,
      ])
      add({
        apiVersion: 'storage.k8s.io/v1',
        kind: 'CSIStorageCapacity',
        metadata: { name: `cap-${i}`, namespace: 'demo' },
        storageClassName: c.one(['csi', 'zonal']),
        ...(topology === null ? {} : { nodeTopology: topology }),
        ...(c.yes(0.85) ? { capacity: c.one(['0', '5Gi', '100Gi', '1e10']) } : {}),
        ...(c.yes(0.4) ? { maximumVolumeSize: c.one(['1Gi', '50Gi', '0']) } : {}),
      })
    }
    for (const name of this.nodeNames) {
      if (!c.yes(0.7)) continue
      const driver = { name: 'csi.example.com', nodeID: name, topologyKeys: ['topology.kubernetes.io/zone'] }
      if (c.yes(this.kind === 'limits' ? 0.85 : 0.2))
        driver.allocatable = { count: c.int(this.kind === 'limits' ? 0 : 2, 3) }
      const drivers = c.yes(0.9) ? [driver] : [driver, { name: 'two.example.com', nodeID: name, topologyKeys: null }]
      add({ apiVersion: 'storage.k8s.io/v1', kind: 'CSINode', metadata: { name }, spec: { drivers } })
    }
    if (this.kind === 'volumes' || this.kind === 'mixed') this.freeVolumes()
  }

  affinityOf(c) {
    const hosts = c.some(this.nodeNames, 1, 2)
    const byHost = { matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'In', values: hosts }] }
    return c.one([
      null,
      { nodeSelectorTerms: [byHost] },
      { nodeSelectorTerms: [byHost] },
      {
        nodeSelectorTerms: [
          { matchExpressions: [{ key: 'topology.kubernetes.io/zone', operator: 'NotIn', values: ['za'] }] },
        ],
      },
      { nodeSelectorTerms: [{ matchExpressions: [{ key: 'rank', operator: 'Gt', values: ['4'] }] }, byHost] },
      { nodeSelectorTerms: [{ matchFields: [{ key: 'metadata.name', operator: 'In', values: [hosts[0]] }] }] },
      {
        nodeSelectorTerms: [
          {
            matchExpressions: [{ key: 'disk', operator: 'Exists' }],
            matchFields: [{ key: 'metadata.name', operator: 'NotIn', values: [hosts[0]] }],
          },
        ],
      },
    ])
  }

  freeVolumes() {
    const { c } = this
    for (let i = c.int(1, 6); i > 0; i--) {
      const affinity = this.affinityOf(c)
      const volume = {
        apiVersion: 'v1',
        kind: 'PersistentVolume',
        metadata: { name: `free-${i}`, labels: c.yes(0.5) ? { tier: c.one(['gold', 'iron']) } : {} },
        spec: {
          capacity: { storage: c.one(['1Gi', '5Gi', '10Gi', '1e9']) },
          accessModes: c.some(['ReadWriteOnce', 'ReadOnlyMany', 'ReadWriteMany'], 1, 2),
          persistentVolumeReclaimPolicy: 'Retain',
          storageClassName: c.one(['static', 'static', 'csi', '']),
          volumeMode: c.one(['Filesystem', 'Filesystem', 'Filesystem', 'Block']),
          hostPath: { path: `/srv/free-${i}` },
          ...(affinity === null ? {} : { nodeAffinity: { required: affinity } }),
        },
      }
      if (c.yes(0.2)) volume.spec.claimRef = { namespace: 'demo', name: `claim-${c.int(1, 6)}` }
      if (c.yes(0.06)) volume.spec.claimRef = { namespace: 'demo', name: 'claim-1', uid: 'gone' }
      if (c.yes(0.06)) {
        volume.metadata.finalizers = ['example.com/hold']
        volume.deleting = true
      }
      this.objects.push(volume)
    }
  }

  /** Adds a claim, and a volume when it has one; gives its name. */
  claim(namespace) {
    const { c, kind } = this
    const name = `claim-${this.claims.length + 1}`
    this.claims.push({ namespace, name })
    const claim = {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { name, namespace, annotations: {} },
      spec: {
        accessModes: c.yes(kind === 'disks' || kind === 'preemption' ? 0.6 : 0.1)
          ? ['ReadWriteOncePod']
          : [c.one(['ReadWriteOnce', 'ReadWriteMany', 'ReadWriteOnce'])],
        resources: { requests: { storage: c.one(['1Gi', '3Gi', '8Gi', '500M', '1000000001']) } },
        storageClassName: 'static',
      },
    }
    const bound = { volumes: 0.3, provisioning: 0.15, limits: 0.75, disks: 0.9, preemption: 0.9 }[kind] ?? 0.6
    if (c.yes(bound)) this.boundVolume(claim)
    else {
      claim.spec.storageClassName =
        kind === 'provisioning'
          ? c.one(['csi', 'zonal', 'zonal', 'csi', 'missing'])
          : c.one(['static', 'static', 'static', 'csi', 'zonal', 'immediate', 'missing', ''])
      if (c.yes(0.15)) claim.spec.volumeMode = 'Block'
      if (c.yes(0.15)) claim.spec.selector = { matchLabels: { tier: c.one(['gold', 'iron', 'clay']) } }
      if (c.yes(kind === 'provisioning' ? 0.2 : 0.08))
        claim.metadata.annotations['volume.kubernetes.io/selected-node'] = c.one([...this.nodeNames, 'gone'])
      if (c.yes(0.04)) claim.metadata.annotations['volume.beta.kubernetes.io/storage-class'] = 'static'
      if (c.yes(0.05)) claim.spec.volumeName = `free-${c.int(1, 3)}`
    }
    if (c.yes(0.04)) {
      claim.metadata.finalizers = ['example.com/hold']
      claim.deleting = true
    }
    this.objects.push(claim)
    return name
  }

  boundVolume(claim) {
    const { c, kind } = this
    const volumeName = `pv-${claim.metadata.name}`
    const csi = c.yes(kind === 'limits' ? 0.9 : 0.3)
    const affinity = kind === 'limits' || kind === 'disks' || kind === 'preemption' ? null : this.affinityOf(c)
    claim.spec.volumeName = volumeName
    claim.metadata.annotations['pv.kubernetes.io/bind-completed'] = 'yes'
    claim.spec.storageClassName = csi ? 'csi' : 'static'
    if (kind !== 'limits' && c.yes(0.05)) return
    const labels = {}
    if (c.yes(kind === 'volumes' || kind === 'mixed' ? 0.25 : 0.03)) {
      labels[
        c.one([
          'topology.kubernetes.io/zone',
          'failure-domain.beta.kubernetes.io/zone',
          'topology.kubernetes.io/region',
        ])
      ] = c.one(['za', 'za__zb', 'zb', 'r1', 'r1__r2', 'zc__za', ''])
    }
    this.objects.push({
      apiVersion: 'v1',
      kind: 'PersistentVolume',
      metadata: { name: volumeName, labels },
      spec: {
        capacity: { storage: '10Gi' },
        accessModes: claim.spec.accessModes,
        persistentVolumeReclaimPolicy: 'Retain',
        storageClassName: claim.spec.storageClassName,
        claimRef: { namespace: claim.metadata.namespace, name: claim.metadata.name, uid: 'claim' },
        ...(csi
          ? {
              csi: {
                driver: c.yes(0.95) ? 'csi.example.com' : 'two.example.com',
                volumeHandle: c.yes(0.9) ? volumeName : 'shared',
              },
            }
          : { hostPath: { path: `/srv/${volumeName}` } }),
        ...(affinity === null ? {} : { nodeAffinity: { required: affinity } }),
      },
      status: { phase: 'Bound' },
    })
    if (csi && c.yes(0.4))
      for (const node of c.some(this.nodeNames, 1, 2))
        this.objects.push({
          apiVersion: 'storage.k8s.io/v1',
          kind: 'VolumeAttachment',
          metadata: { name: `va-${volumeName}-${node}` },
          spec: { attacher: 'csi.example.com', nodeName: node, source: { persistentVolumeName: volumeName } },
        })
  }

  selector() {
    const { c } = this
    return c.one([
      { matchLabels: { app: c.one(apps) } },
      { matchLabels: { app: c.one(apps) } },
      { matchExpressions: [{ key: 'app', operator: 'In', values: c.some(apps, 1, 2) }] },
      { matchExpressions: [{ key: 'app', operator: 'NotIn', values: [c.one(apps)] }] },
      { matchExpressions: [{ key: 'tier', operator: c.one(['Exists', 'DoesNotExist']) }] },
      {},
      undefined,
    ])
  }

  affinityTerm() {
    const { c } = this
    const term = {
      topologyKey: c.one([
        'kubernetes.io/hostname',
        'topology.kubernetes.io/zone',
        'topology.kubernetes.io/zone',
        'rack',
      ]),
    }
    const selector = this.selector()
    if (selector !== undefined) term.labelSelector = selector
    if (c.yes(0.35)) term.namespaces = c.some([...namespaces, 'nowhere'], 1, 2)
    if (c.yes(0.35))
      term.namespaceSelector = c.one([
        {},
        { matchLabels: { team: 'a' } },
        { matchLabels: { team: 'none' } },
        { matchExpressions: [{ key: 'team', operator: 'DoesNotExist' }] },
      ])
    if (selector !== undefined && c.yes(0.2)) {
      if (c.yes(0.5)) term.matchLabelKeys = c.one([['tier'], ['version']])
      else term.mismatchLabelKeys = c.one([['tier'], ['version']])
    }
    return term
  }

  nodeAffinity() {
    const { c } = this
    const names = [...this.nodeNames, 'gone']
    const expression = () =>
      c.one([
        { key: 'disk', operator: 'In', values: c.some(['ssd', 'hdd', ''], 1, 2) },
        { key: 'disk', operator: 'NotIn', values: ['ssd'] },
        { key: 'disk', operator: 'DoesNotExist' },
        { key: 'rack', operator: 'Exists' },
        { key: 'rank', operator: 'Gt', values: [c.one(['0', '4', '-5', '8'])] },
        { key: 'rank', operator: 'Lt', values: [c.one(['6', '2', '100'])] },
        { key: 'topology.kubernetes.io/zone', operator: 'In', values: [c.one(zones)] },
      ])
    const field = () => ({
      key: 'metadata.name',
      operator: c.yes(0.75) ? 'In' : 'NotIn',
      values: [c.one(names)],
    })
    const term = () => {
      const made = {}
      if (c.yes(0.6)) made.matchExpressions = Array.from({ length: c.int(1, 2) }, expression)
      if (c.yes(0.5)) made.matchFields = Array.from({ length: c.yes(0.8) ? 1 : 2 }, field)
      return made
    }
    return { nodeSelectorTerms: Array.from({ length: c.int(1, 2) }, term) }
  }

  spreadConstraints() {
    const { c } = this
    const made = []
    const seen = new Set()
    for (let n = c.int(1, 3); n > 0; n--) {
      const topologyKey = c.one([
        'kubernetes.io/hostname',
        'topology.kubernetes.io/zone',
        'topology.kubernetes.io/zone',
        'rack',
      ])
      const whenUnsatisfiable = c.yes(0.85) ? 'DoNotSchedule' : 'ScheduleAnyway'
      if (seen.has(topologyKey + whenUnsatisfiable)) continue
      seen.add(topologyKey + whenUnsatisfiable)
      const constraint = { maxSkew: c.yes(0.75) ? 1 : 2, topologyKey, whenUnsatisfiable }
      const labelSelector = this.selector()
      if (labelSelector !== undefined) constraint.labelSelector = labelSelector
      if (whenUnsatisfiable === 'DoNotSchedule' && c.yes(0.3)) constraint.minDomains = c.int(1, 4)
      if (c.yes(0.35)) constraint.nodeAffinityPolicy = c.one(['Honor', 'Ignore'])
      if (c.yes(0.45)) constraint.nodeTaintsPolicy = c.one(['Honor', 'Ignore'])
      if (labelSelector !== undefined && c.yes(0.3))
        constraint.matchLabelKeys = c.one([['tier'], ['version'], ['tier', 'version']])
      made.push(constraint)
    }
    return made
  }

  requests() {
    const { c, kind } = this
    const tight = ['preemption', 'budgets', 'nominated'].includes(kind)
    const requests = {}
    if (tight) requests.cpu = c.one(['500m', '0.5', '700m', '1', '300m', '1400m'])
    else if (c.yes(kind === 'resources' ? 0.8 : 0.4))
      requests.cpu = c.one(['100m', '0.5', '1', '1500m', '2', '0', '3', '9'])
    if (c.yes(kind === 'resources' ? 0.6 : 0.25))
      requests.memory = c.one(['1Ki', '100k', '1e3', '1Gi', '2Gi', '1500m', '3e9', '20Gi'])
    if (c.yes(kind === 'resources' ? 0.35 : 0.05))
      requests['ephemeral-storage'] = c.one(['500Mi', '2Gi', '20Gi', '1e9'])
    const limits = {}
    if (kind === 'resources') {
      const extended = (name, value) => {
        requests[name] = value
        limits[name] = value
      }
      if (c.yes(0.25)) extended('example.com/gpu', c.one(['1', '2', '0']))
      if (c.yes(0.1)) extended('example.com/foo-bar.baz', c.one(['600', '1k']))
      if (c.yes(0.15)) extended('hugepages-2Mi', c.one(['32Mi', '128Mi']))
      if (limits['hugepages-2Mi'] && requests.cpu === undefined && requests.memory === undefined) requests.cpu = '10m'
    }
    return { requests, ...(Object.keys(limits).length > 0 ? { limits } : {}) }
  }

  pod(node, subject) {
    const { c, kind } = this
    this.count += 1
    const namespace = !subject && c.yes(kind === 'affinity' ? 0.4 : 0.12) ? c.one(namespaces) : 'demo'
    const labels = {}
    if (c.yes(0.85)) labels.app = c.one(apps)
    if (c.yes(0.4)) labels.tier = c.one(['front', 'back'])
    if (c.yes(0.3)) labels.version = c.one(['1', '2'])
    const name = kind === 'nodes' && c.yes(0.2) ? `${c.one(['a.b', '0', 'x--x'])}-${this.count}` : `p${this.count}`
    const spec = {
      containers: [{ name: 'app', image: 'example.com/app', resources: this.requests() }],
      terminationGracePeriodSeconds: 0,
    }
    const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace, labels }, spec, node, subject }

    if (this.is('resources')) {
      if (c.yes(0.3)) spec.containers.push({ name: 'second', image: 'example.com/app', resources: this.requests() })
      if (c.yes(0.45))
        spec.initContainers = Array.from({ length: c.int(1, 4) }, (_, i) => ({
          name: `init-${i}`,
          image: 'example.com/init',
          resources: this.requests(),
          ...(c.yes(0.5) ? { restartPolicy: 'Always' } : {}),
        }))
      if (kind === 'resources') {
        if (c.yes(0.2)) spec.runtimeClassName = 'sandbox'
        if (c.yes(0.25)) {
          // The whole must not be less than its parts, or the API server refuses it.
          spec.resources = {
            requests: c.one([
              { cpu: '20' },
              { cpu: '30', memory: '60Gi' },
              { memory: '61Gi' },
              { cpu: '2' },
              { cpu: '3500m', memory: '3Gi' },
            ]),
          }
          if (c.yes(0.7)) {
            for (const container of [...spec.containers, ...(spec.initContainers ?? [])]) container.resources = {}
          }
        }
      }
    }
    if (subject || !['spread'].includes(kind) || c.yes(0.2)) {
      if (this.is('spread') && (subject || c.yes(0.3))) spec.topologySpreadConstraints = this.spreadConstraints()
    }
    if (this.is('affinity') && c.yes(subject ? 0.85 : 0.4)) {
      spec.affinity = {}
      if (c.yes(0.55))
        spec.affinity.podAffinity = {
          requiredDuringSchedulingIgnoredDuringExecution: Array.from({ length: c.yes(0.7) ? 1 : 2 }, () =>
            this.affinityTerm(),
          ),
        }
      if (c.yes(0.6))
        spec.affinity.podAntiAffinity = {
          requiredDuringSchedulingIgnoredDuringExecution: Array.from({ length: c.yes(0.7) ? 1 : 2 }, () =>
            this.affinityTerm(),
          ),
        }
    }
    if ((this.is('nodes') && subject) || (kind === 'spread' && c.yes(0.35))) {
      if (c.yes(0.8))
        spec.affinity = {
          ...spec.affinity,
          nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: this.nodeAffinity() },
        }
      if (c.yes(0.35))
        spec.nodeSelector = c.one([
          { disk: 'ssd' },
          { disk: '' },
          { 'topology.kubernetes.io/zone': 'za' },
          { rack: 'r1', disk: 'hdd' },
        ])
    }
    if (this.is('taints')) {
      if (c.yes(kind === 'taints' ? 0.6 : 0.3))
        spec.containers[0].ports = Array.from({ length: c.int(1, 2) }, (_, i) => ({
          name: `p${i}`,
          containerPort: 8000 + i,
          hostPort: c.one([8080, 8081]) + i * 100,
          protocol: c.one(['TCP', 'UDP', 'SCTP']),
          ...(c.yes(0.5) ? { hostIP: c.one(['127.0.0.1', '0.0.0.0', '10.0.0.1', '::']) } : {}),
        }))
      if (c.yes(0.12)) {
        spec.hostNetwork = true
        spec.containers[0].ports = [{ containerPort: c.one([8080, 8081]) }]
      }
      if (c.yes(0.1))
        spec.initContainers = [
          ...(spec.initContainers ?? []),
          {
            name: 'side',
            image: 'example.com/side',
            restartPolicy: c.yes(0.7) ? 'Always' : undefined,
            ports: [{ containerPort: 1, hostPort: 8080 }],
          },
        ]
    }
    if (c.yes(kind === 'taints' || kind === 'spread' ? 0.6 : 0.15))
      spec.tolerations = Array.from({ length: c.int(1, 2) }, () =>
        c.one([
          { operator: 'Exists' },
          { key: 'dedicated', operator: 'Exists' },
          { key: 'dedicated', value: 'a' },
          { key: 'dedicated', operator: 'Equal', value: '', effect: 'NoSchedule' },
          { key: 'example.com/gpu', operator: 'Exists', effect: 'NoExecute' },
          { key: 'node.kubernetes.io/unschedulable', operator: 'Exists', effect: 'NoSchedule' },
          { key: 'node.kubernetes.io/unschedulable' },
          { operator: 'Exists', effect: 'NoSchedule' },
          { key: 'example.com/gpu', operator: 'Equal', value: 'b' },
        ]),
      )
    if (['preemption', 'budgets', 'nominated'].includes(kind) || c.yes(0.15)) {
      const choice = subject
        ? ['high', 'high', 'mid', 'mid', 'polite', undefined]
        : ['low', 'low', 'low', 'mid', 'negative', undefined, undefined]
      const priorityClassName = c.one(choice)
      if (priorityClassName !== undefined) spec.priorityClassName = priorityClassName
      if (kind === 'preemption') {
        if (c.yes(0.12)) spec.containers[0].ports = [{ containerPort: 1, hostPort: 8080 }]
        if (c.yes(0.12))
          spec.affinity = { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [this.affinityTerm()] } }
        if (c.yes(0.08))
          spec.affinity = { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [this.affinityTerm()] } }
        if (c.yes(0.1)) spec.topologySpreadConstraints = this.spreadConstraints()
      }
    }
    this.partPorts(pod)
    this.volumesOf(pod)
    if (kind === 'resized') this.resize(pod)
    if (!subject && c.yes(kind === 'spread' || kind === 'preemption' ? 0.12 : 0.04)) {
      pod.deleting = true
      spec.terminationGracePeriodSeconds = 3600
    }
    if (c.yes(0.04) && !subject) pod.phase = c.one(['Succeeded', 'Failed'])
    pod.startTime = `2026-01-${String(1 + (c.yes(0.2) ? 0 : this.count % 28)).padStart(2, '0')}T00:00:00Z`
    return pod
  }

  /** A running pod that is being resized, or was: what it holds is in its status. */
  resize(pod) {
    const { c } = this
    const cpu = () => c.one(['250m', '500m', '1', '1500m', '2'])
    pod.spec.containers[0].resources = { requests: { cpu: cpu() } }
    if (c.yes(0.3))
      pod.spec.initContainers = [
        { name: 'side', image: 'example.com/side', restartPolicy: 'Always', resources: { requests: { cpu: cpu() } } },
        ...(c.yes(0.5) ? [{ name: 'init', image: 'example.com/init', resources: { requests: { cpu: cpu() } } }] : []),
      ]
    const status = ({ name }) => ({
      name,
      image: 'example.com/app',
      imageID: 'x',
      ready: true,
      restartCount: 0,
      ...(c.yes(0.8) ? { resources: { requests: { cpu: cpu() } } } : {}),
      ...(c.yes(0.7) ? { allocatedResources: { cpu: cpu() } } : {}),
    })
    pod.containerStatuses = pod.spec.containers.map(status)
    if (pod.spec.initContainers) pod.initContainerStatuses = pod.spec.initContainers.map(status)
    if (c.yes(0.4))
      pod.conditions = [{ type: 'PodResizePending', status: 'True', reason: c.one(['Infeasible', 'Deferred']) }]
  }

  /**
   * No two pods of a node hold the same host port: no scheduler puts them there, and when one of them goes, the scheduler's cache
   * forgets the port for both until it next hears of the other.
   */
  partPorts({ spec, node }) {
    this.ports ??= new Set()
    for (const container of [...spec.containers, ...(spec.initContainers ?? [])]) {
      if (container.ports === undefined) continue
      container.ports = container.ports.filter((port) => {
        const held = `${node} ${port.hostPort ?? port.containerPort} ${port.protocol ?? 'TCP'}`
        if (this.ports.has(held)) return false
        this.ports.add(held)
        return true
      })
    }
  }

  volumesOf(pod) {
    const { c, kind } = this
    const { spec } = pod
    const volumes = []
    const namespace = pod.metadata.namespace
    const wants = { volumes: 0.9, provisioning: 0.9, limits: 0.95, disks: 0.5, preemption: 0.2, mixed: 0.3 }[kind] ?? 0
    if (c.yes(wants)) {
      const chosen = new Set()
      for (let n = c.yes(0.55) ? 1 : c.int(2, 3); n > 0; n--) {
        const shared = this.claims.filter((claim) => claim.namespace === namespace)
        const again = kind === 'disks' || kind === 'preemption' ? 0.5 : 0.25
        const name =
          shared.length > 0 && c.yes(again) ? c.one(shared).name : c.yes(0.02) ? 'no-such-claim' : this.claim(namespace)
        if (chosen.has(name)) continue
        chosen.add(name)
        volumes.push({ name: `v${volumes.length}`, persistentVolumeClaim: { claimName: name } })
      }
    }
    if (kind === 'provisioning' && pod.subject && c.yes(0.2))
      volumes.push({
        name: 'scratch',
        ephemeral: {
          volumeClaimTemplate: {
            spec: {
              accessModes: ['ReadWriteOnce'],
              storageClassName: c.one(['csi', 'zonal', 'static']),
              resources: { requests: { storage: '2Gi' } },
            },
          },
        },
      })
    if (kind === 'disks' && c.yes(0.7)) {
      const readOnly = c.yes(0.4)
      volumes.push({
        name: 'disk',
        ...c.one([
          { gcePersistentDisk: { pdName: c.one(['d1', 'd1', 'd2']), readOnly } },
          { awsElasticBlockStore: { volumeID: c.one(['e1', 'e1', 'e2']), readOnly } },
          {
            iscsi: {
              targetPortal: '10.0.0.1',
              iqn: c.one(['iqn.2026-01.com.example:a', 'iqn.2026-01.com.example:b']),
              lun: 0,
              readOnly,
            },
          },
          {
            rbd: {
              monitors: c.some(['m1', 'm2', 'm3'], 1, 2),
              image: c.one(['i1', 'i2']),
              pool: c.one(['rbd', 'kube', undefined]),
              readOnly,
            },
          },
        ]),
      })
    }
    if (volumes.length > 0) spec.volumes = volumes
  }

  budgets() {
    const { c } = this
    for (let i = c.int(1, 3); i > 0; i--) {
      const namespace = c.yes(0.85) ? 'demo' : 'other'
      this.objects.push({
        apiVersion: 'policy/v1',
        kind: 'PodDisruptionBudget',
        metadata: { name: `budget-${i}`, namespace },
        spec: {
          minAvailable: 1,
          selector: c.one([{ matchLabels: { app: c.one(apps) } }, { matchLabels: { tier: 'front' } }, {}]),
        },
        status: {
          disruptionsAllowed: c.int(0, 2),
          currentHealthy: 2,
          desiredHealthy: 1,
          expectedPods: 3,
          ...(c.yes(0.25) ? { disruptedPods: { [c.one(this.pods).metadata.name]: '2026-01-01T00:00:00Z' } } : {}),
        },
      })
    }
  }

  /** A pod that preempts before the drain begins, and waits for victims that take their time: it holds its node by nomination. */
  boss() {
    const { c } = this
    for (const pod of this.pods) if (!pod.subject) pod.spec.terminationGracePeriodSeconds = 3600
    this.pods.push({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'boss', namespace: 'demo', labels: { app: c.one(apps) } },
      spec: {
        priorityClassName: c.one(['mid', 'high']),
        terminationGracePeriodSeconds: 0,
        containers: [{ name: 'app', image: 'example.com/app', resources: { requests: { cpu: c.one(['900m', '1']) } } }],
        ...(c.yes(0.3)
          ? {
              affinity: {
                podAntiAffinity: {
                  requiredDuringSchedulingIgnoredDuringExecution: [
                    { topologyKey: 'kubernetes.io/hostname', labelSelector: { matchLabels: { app: c.one(apps) } } },
                  ],
                },
              },
            }
          : {}),
      },
      node: null,
      subject: false,
      boss: true,
    })
  }
}
