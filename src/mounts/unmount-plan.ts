/** What `unmount` would do on each node, and what it leaves alone and why: facts in, plan out. Nothing here waits or reads. */
import type { PersistentVolume, Pod } from '../cluster/objects.js'
import type { ClusterSnapshot } from '../cluster/snapshot.js'
import { ephemeralClaimName } from '../scheduling/ephemeral.js'
import { controllerOf, isFinished, wantsCordon, whyNotHeld, whyNotRecreated } from './rules/recreated.js'
import { stackedRefusals } from './rules/stacked.js'
import type { NodeMounts, ProbedMount, ReportedMount, ReportedNode } from './types.js'
import type { NodeUnmountPlan, Refusal, RestartedPod, UnmountGroup, UnmountPlan, UnmountStep } from './unmount-types.js'

export interface UnmountOptions {
  lazy: boolean
  abort: boolean
  restartPods: boolean
  /** Only these mount points; null: whatever is dead on the nodes. */
  paths: readonly string[] | null
  /** CSI drivers that stage a volume again in NodePublishVolume when its staging mount is gone. */
  restages: ReadonlySet<string>
}

/** One node as it was found. */
export interface NodeFacts {
  report: ReportedNode
  /** Null when the node gave no answer. */
  mounts: NodeMounts | null
}

/** `cluster` is null when none was asked (`--no-cluster`): then nobody knows which pods there are. */
export function planUnmount(
  nodes: readonly NodeFacts[],
  cluster: ClusterSnapshot | null,
  options: UnmountOptions,
): UnmountPlan {
  const planned = nodes
    .map((node) => planNode(node, cluster, options))
    .sort((a, b) => (a.node < b.node ? -1 : a.node > b.node ? 1 : 0))
  return {
    apiVersion: 'kubectl-storage/v1',
    kind: 'UnmountPlan',
    complete: planned.every(({ outcome }) => outcome === 'ok'),
    warnings: [],
    lazy: options.lazy,
    abort: options.abort,
    nodes: planned,
  }
}

function planNode({ report, mounts }: NodeFacts, cluster: ClusterSnapshot | null, options: UnmountOptions) {
  const { node, outcome, error, suggestions } = report
  const plan: NodeUnmountPlan = {
    node,
    outcome,
    ...(error === undefined ? {} : { error }),
    ...(suggestions === undefined ? {} : { suggestions }),
    kubeletRoots: mounts?.kubeletRoots ?? [],
    groups: [],
    leftAlone: [],
    refusals: [],
  }
  if (mounts === null) return plan
  const { paths } = options
  const chosen = mounts.mounts.filter(({ target }) => paths === null || paths.includes(target))
  plan.refusals = (paths ?? []).flatMap((path) => pathRefusals(path, mounts))
  if (paths === null)
    plan.leftAlone = mounts.mounts
      .filter(({ state }) => state === 'hung' || state === 'unknown')
      .map(({ target, id, fsType, source, state, detail }) => ({
        ...{ target, mountId: id, fsType, source, state },
        ...(detail === undefined ? {} : { detail }),
      }))
  const dead = chosen.filter(({ state }) => state === 'dead')
  const devices = [...new Set(dead.map(({ device }) => device))]
  const drafts = devices.map((device) =>
    draftGroup(
      dead.filter((mount) => mount.device === device),
      { node, report, facts: mounts, cluster, options },
    ),
  )
  // What lies on top was mounted later, and goes first.
  const latest = ({ mounts: own }: Draft): number => Math.max(...own.map(({ mount }) => mounts.mounts.indexOf(mount)))
  drafts.sort((a, b) => latest(b) - latest(a))
  settleStacks(drafts, mounts)
  plan.groups = drafts.map((draft) => finished(draft))
  return plan
}

function pathRefusals(path: string, { mounts }: NodeMounts): Refusal[] {
  const there = mounts.filter(({ target }) => target === path)
  if (there.length === 0) return [{ rule: 'not-fuse', object: path, reason: 'no FUSE file system is mounted there' }]
  if (there.some(({ state }) => state === 'dead')) return []
  const top = there.at(-1)
  return [
    {
      rule: 'not-dead',
      object: path,
      reason: `it is ${top?.state}${top?.detail === undefined ? '' : ` (${top.detail})`}; only what is dead is unmounted`,
    },
  ]
}

interface Scene {
  node: string
  report: ReportedNode
  facts: NodeMounts
  cluster: ClusterSnapshot | null
  options: UnmountOptions
}

interface Draft {
  /** In the order in which they go. */
  mounts: { mount: ProbedMount; step: UnmountStep; refusals: Refusal[] }[]
  tie: ReportedMount | undefined
  pods: Pod[]
  names: string[]
  restart: UnmountGroup['restart']
}

function draftGroup(dead: readonly ProbedMount[], scene: Scene): Draft {
  const { facts, report, cluster } = scene
  const ids = new Set(dead.map(({ id }) => id))
  const ties = report.mounts.filter(({ mountId }) => mountId !== null && ids.has(mountId))
  const tie = ties.find(({ volume }) => volume !== undefined) ?? ties[0]
  const copies = facts.mounts.filter(({ device }) => device === dead[0]?.device)
  const places = copies.map((mount) => ({ mount, place: placeOf(mount.target, facts.kubeletRoots) }))
  const uids = new Set(
    places
      .flatMap(({ place }) => (place.podUid === undefined ? [] : [place.podUid]))
      .concat(podsByHandle(places, facts)),
  )
  const pods = usersOf(scene, uids, tie)
  const names = [...new Set([...pods.map(nameOf), ...ties.flatMap((one) => one.pods)])].sort()

  const mounts = dead
    .map((mount) => {
      const place = placeOf(mount.target, facts.kubeletRoots)
      return { mount, step: stepOf(mount, place), refusals: unreadable(mount) }
    })
    // Where pods have it first, then where it is staged; of several on one path the one on top first.
    .sort(
      (a, b) => ORDER[a.step.role] - ORDER[b.step.role] || byPath(a.step, b.step) || topFirst(a.mount, b.mount, facts),
    )
  const draft: Draft = { mounts, tie, pods, names, restart: null }

  for (const entry of mounts) {
    if (entry.step.role !== 'staging') continue
    const behind = copies.filter(({ id, target }) => !ids.has(id) && placeOf(target, facts.kubeletRoots).podUid)
    if (behind.length > 0)
      entry.refusals.push({
        rule: 'binds-first',
        object: entry.mount.target,
        reason: `it is still mounted for pods at ${behind.map(({ target }) => target).join(', ')}`,
        override: 'name those paths, too, or the node',
      })
  }
  if (cluster === null) refuseUnknownPods(draft, uids)
  else if (pods.length > 0) restartOrRefuse(draft, scene)
  return draft
}

const ORDER = { pod: 0, other: 1, staging: 2 } as const

function byPath(a: UnmountStep, b: UnmountStep): number {
  return a.target < b.target ? -1 : a.target > b.target ? 1 : 0
}

function topFirst(a: ProbedMount, b: ProbedMount, { mounts }: NodeMounts): number {
  return mounts.indexOf(b) - mounts.indexOf(a)
}

interface Place {
  role: UnmountStep['role']
  podUid?: string
}

/** What the kubelet has the path for (pkg/kubelet/kubelet_getters.go, pkg/volume/csi csi_util.go). */
function placeOf(target: string, roots: readonly string[]): Place {
  const root = roots.find((one) => target.startsWith(`${one}/`))
  if (root === undefined) return { role: 'other' }
  const below = target.slice(root.length + 1)
  const pod = /^pods\/([^/]+)\/(?:volumes|volume-subpaths)\/./.exec(below)
  if (pod?.[1] !== undefined) return { role: 'pod', podUid: pod[1] }
  return /^plugins\/./.test(below) ? { role: 'staging' } : { role: 'other' }
}

/** Pods whose directory says that they have the volume that is staged there, mounted or not. */
function podsByHandle(places: readonly { mount: ProbedMount; place: Place }[], facts: NodeMounts): string[] {
  return places.flatMap(({ mount, place }) => {
    if (place.role !== 'staging') return []
    const staged = facts.staging.find(({ path }) => path === mount.target)
    if (staged?.handle === undefined) return []
    return facts.podVolumes
      .filter(({ driver, handle }) => driver === staged.driver && handle === staged.handle)
      .map(({ podUid }) => podUid)
  })
}

/** The pods on the node that use the volume and have not ended, by NS/NAME. */
function usersOf({ node, cluster }: Scene, uids: ReadonlySet<string>, tie: ReportedMount | undefined): Pod[] {
  if (cluster === null) return []
  return cluster.objects.Pod.filter((pod) => {
    if (pod.spec?.nodeName !== node || isFinished(pod)) return false
    // A static pod's directories have the uid of its file, which its mirror carries in an annotation (kubelet/types ConfigHash).
    const mirrored = pod.metadata.annotations?.['kubernetes.io/config.mirror']
    if (uids.has(pod.metadata.uid ?? '') || (mirrored !== undefined && uids.has(mirrored))) return true
    if (tie?.pods.includes(nameOf(pod)) === true) return true
    return tie?.volume !== undefined && volumesOf(pod, cluster).some(({ metadata }) => metadata.name === tie.volume)
  }).sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1))
}

function volumesOf(pod: Pod, { objects }: ClusterSnapshot): PersistentVolume[] {
  return (pod.spec?.volumes ?? []).flatMap((volume) => {
    const name =
      volume.persistentVolumeClaim?.claimName ?? (volume.ephemeral ? ephemeralClaimName(pod, volume) : undefined)
    const claim = objects.PersistentVolumeClaim.find(
      ({ metadata }) => metadata.name === name && metadata.namespace === pod.metadata.namespace,
    )
    const found = objects.PersistentVolume.find(({ metadata }) => metadata.name === claim?.spec?.volumeName)
    return found === undefined ? [] : [found]
  })
}

function nameOf({ metadata }: Pod): string {
  return `${metadata.namespace ?? ''}/${metadata.name}`
}

function stepOf(mount: ProbedMount, { role, podUid }: Place): UnmountStep {
  return {
    target: mount.target,
    mountId: mount.id,
    device: mount.device,
    root: mount.root,
    fsType: mount.fsType,
    source: mount.source,
    probeAs: ownerOf(mount.superOptions),
    role,
    ...(podUid === undefined ? {} : { podUid }),
    removeDirectory: role !== 'other',
  }
}

/** Without allow_other only the user who mounted it may use it (fuse_allow_current_process), root neither. */
function ownerOf(superOptions: string): { uid: number; gid: number } {
  const options = superOptions.split(',')
  if (options.includes('allow_other')) return { uid: 0, gid: 0 }
  const number = (key: string): number => {
    const value = options.find((option) => option.startsWith(`${key}=`))?.slice(key.length + 1)
    return value !== undefined && /^\d+$/.test(value) ? Number(value) : 0
  }
  return { uid: number('user_id'), gid: number('group_id') }
}

/** Bytes that are no UTF-8 were replaced when the table was read: such a path can't be given back as it is. */
function unreadable({ target, source, root }: ProbedMount): Refusal[] {
  return [target, source, root].some((text) => text.includes('\ufffd') || text.includes('\0'))
    ? [
        {
          rule: 'unreadable-path',
          object: target,
          reason: 'its path or source has bytes that are no UTF-8: unmount it on the node',
        },
      ]
    : []
}

function refuseUnknownPods({ mounts }: Draft, uids: ReadonlySet<string>): void {
  if (uids.size === 0) return
  for (const { mount, refusals } of mounts)
    refusals.push({
      rule: 'pods-unknown',
      object: mount.target,
      reason: `pods may still use it (${[...uids].sort().join(', ')}), and without the cluster nobody can tell`,
      override: 'leave out --no-cluster',
    })
}

function restartOrRefuse(draft: Draft, { cluster, options, node }: Scene): void {
  if (cluster === null) return
  const { pods, mounts, tie } = draft
  if (!options.restartPods) {
    for (const { mount, step, refusals } of mounts) {
      if (step.role === 'staging' && tie?.driver !== undefined && options.restages.has(tie.driver)) {
        // The kubelet still takes it for mounted and there may be a pod for it at any moment.
        step.removeDirectory = false
        continue
      }
      // A pod that has ended but lies there still does not hold its own mount.
      if (step.podUid !== undefined && !pods.some(({ metadata }) => metadata.uid === step.podUid)) continue
      refusals.push({
        rule: 'used-by-pods',
        object: mount.target,
        reason:
          step.role === 'staging'
            ? `${list(draft.names)} on the node ${use(draft.names)} the volume, and the kubelet does not stage it again while one does: the next pod would get the node's own disk`
            : `${list(draft.names)} ${use(draft.names)} it: a container that restarts would get the node's own disk instead`,
        override: '--restart-pods',
      })
    }
    return
  }
  const going = pods.filter(({ metadata }) => metadata.deletionTimestamp === undefined)
  const blocked = pods.flatMap((pod): Refusal[] => {
    const object = `pod/${nameOf(pod)}`
    const gone = pod.metadata.deletionTimestamp === undefined ? whyNotRecreated(pod, going, cluster) : null
    if (gone !== null)
      return [
        {
          rule: 'pod-not-recreated',
          object,
          reason: gone,
          override: `delete it yourself: kubectl delete pod ${pod.metadata.name} -n ${pod.metadata.namespace ?? ''}`,
        },
      ]
    const early = whyNotHeld(pod, cluster)
    return early === null
      ? []
      : [
          {
            rule: 'pod-not-held',
            object,
            reason: early,
            override: 'scale its controller to 0, unmount, and scale it back',
          },
        ]
  })
  for (const entry of mounts) {
    entry.refusals.push(...blocked)
    // The kubelet makes and removes the directories of pods and volumes that it still reckons with.
    if (entry.step.role !== 'other') entry.step.removeDirectory = false
  }
  const cordoned = cluster.objects.Node.find(({ metadata }) => metadata.name === node)?.spec?.unschedulable === true
  draft.restart = {
    pods: pods.map(restartOf),
    cordon: !cordoned && pods.some(wantsCordon),
  }
}

function restartOf(pod: Pod): RestartedPod {
  const controller = controllerOf(pod)
  const { namespace = '', name, uid = '', deletionTimestamp } = pod.metadata
  return {
    namespace,
    name,
    uid,
    controller: controller === undefined ? null : { kind: controller.kind, name: controller.name, uid: controller.uid },
    terminating: deletionTimestamp !== undefined,
  }
}

function list(names: readonly string[]): string {
  return names.length > 3 ? `${names.length} pods` : names.join(', ')
}

function use(names: readonly string[]): string {
  return names.length === 1 ? 'uses' : 'use'
}

/**
 * A dead mount may lie on a dead one: that on top goes first, if it goes at all. So it is asked again until no more are refused.
 */
function settleStacks(drafts: readonly Draft[], { mounts }: NodeMounts): void {
  const all = drafts.flatMap((draft, order) => draft.mounts.map((entry) => ({ draft, order, entry })))
  for (let changed = true; changed; ) {
    changed = false
    const fine = all.filter(({ draft, entry }) => entry.refusals.length === 0 && !refusesAll(draft))
    for (const { order, entry } of all) {
      if (entry.refusals.some(({ rule }) => rule === 'covered' || rule === 'mounted-on')) continue
      const going = new Set(
        fine
          .filter((other) => other.order <= order && other.entry.mount.target === entry.mount.target)
          .map((other) => other.entry.mount.id),
      )
      const found = stackedRefusals(entry.mount, mounts, going)
      if (found.length === 0) continue
      entry.refusals.push(...found)
      changed = true
    }
  }
}

/** Pods are not restarted for a part of it. */
function refusesAll({ restart, mounts }: Draft): boolean {
  return restart !== null && mounts.some(({ refusals }) => refusals.length > 0)
}

function finished(draft: Draft): UnmountGroup {
  const { mounts, tie, names, restart } = draft
  const whole = refusesAll(draft)
  const isRefused = (entry: Draft['mounts'][number]): boolean => whole || entry.refusals.length > 0
  const first = mounts.find(({ refusals }) => refusals.length > 0)
  return {
    device: mounts[0]?.mount.device ?? '',
    ...(tie?.driver === undefined ? {} : { driver: tie.driver }),
    ...(tie?.volume === undefined ? {} : { volume: tie.volume }),
    ...(tie?.claim === undefined ? {} : { claim: tie.claim }),
    pods: names,
    restart: whole ? null : restart,
    steps: mounts.filter((entry) => !isRefused(entry)).map(({ step }) => step),
    refused: mounts.filter(isRefused).map(({ mount, refusals }) => ({
      ...{ target: mount.target, mountId: mount.id, fsType: mount.fsType, source: mount.source },
      refusals:
        refusals.length > 0
          ? refusals
          : [
              {
                rule: 'others-refused',
                object: mount.target,
                reason: `${first?.mount.target} can't go, and pods are not restarted for the rest alone`,
              },
            ],
    })),
  }
}
