/** Back to the lab as it came up: objects, nodes, disks, mounts and directories. Fast enough to stand between two scenes. */
import { rmSync } from 'node:fs'
import { type LabObject, lasting, listAll, listNodes, savedBaseline } from './baseline.js'
import { NODES, S3_ENDPOINT } from './config.js'
import { detachDisks } from './disks.js'
import type { Lab } from './lab.js'
import { type Missing, missing, waitFor } from './wait.js'

/** Removed by Kubernetes itself in good time. */
const OWN_FINALIZERS = ['kubernetes.io/pvc-protection', 'kubernetes.io/pv-protection', 'orphan', 'foregroundDeletion']

/** Made again, or taken away, by controllers. */
const CONTROLLERS_KEEP = (object: LabObject) =>
  (object.kind === 'ConfigMap' && object.metadata.name === 'kube-root-ca.crt') ||
  (object.kind === 'ServiceAccount' && object.metadata.name === 'default') ||
  // System controllers ask for their own account the first time they have something to do.
  (object.kind === 'ServiceAccount' && object.metadata.namespace === 'kube-system')

export async function reset(lab: Lab): Promise<void> {
  await resetNodes(lab)
  await deleteObjects(lab)
  await Promise.all(NODES.map(({ name }) => lab.enter(name, CLEAN, { timeoutMs: 60_000 })))
  await detachDisks(lab)
  // Nothing may be listening: most scenes need no S3.
  await fetch(`${S3_ENDPOINT}/moto-api/reset`, { method: 'POST' }).catch(() => undefined)
  rmSync(`${lab.at.run}/tmp`, { recursive: true, force: true })
}

async function resetNodes(lab: Lab): Promise<void> {
  const before = savedBaseline(lab.at).nodes
  for (const { metadata, spec } of await listNodes(lab.at)) {
    const was = before.find(({ name }) => name === metadata.name)
    const labels: Record<string, string | null> = { ...was?.labels }
    for (const key of Object.keys(metadata.labels ?? {})) if (was && !(key in was.labels)) labels[key] = null
    const taints = was?.taints ?? []
    const changed =
      spec.unschedulable === true ||
      JSON.stringify(lasting(spec.taints)) !== JSON.stringify(taints) ||
      Object.entries(labels).some(([key, value]) => (metadata.labels?.[key] ?? null) !== value)
    if (!changed) continue
    const patch = JSON.stringify({ metadata: { labels }, spec: { unschedulable: null, taints } })
    await lab.kubectl(['patch', 'node', metadata.name, '--type=merge', '--patch', patch])
  }
}

/** What uses volumes goes before the drivers that unmount them: a kubelet that has no driver any more keeps the pod for ever. */
const FIRST = ({ kind, metadata }: LabObject) =>
  kind === 'Namespace' ||
  kind === 'PersistentVolume' ||
  /Webhook/.test(kind) ||
  (metadata.namespace !== undefined && !metadata.namespace.startsWith('kube-'))

async function deleteObjects(lab: Lab): Promise<void> {
  const kept = new Set(savedBaseline(lab.at).uids)
  const strange = async () =>
    (await listAll(lab.at)).filter((object) => !kept.has(object.metadata.uid) && !CONTROLLERS_KEEP(object))
  await deleteUntilGone(lab, async () => (await strange()).filter(FIRST))
  // What is left after that is cleaned by force.
  await waitFor('the kubelets to let go of their volumes', () => mountedByKubelets(lab), { timeoutMs: 6000 }).catch(
    () => {},
  )
  await deleteUntilGone(lab, strange)
}

async function mountedByKubelets(lab: Lab): Promise<true | Missing> {
  const nodes = await Promise.all(NODES.map(({ name }) => lab.enter(name, `ls ${STAGED} 2>/dev/null || true`)))
  const left = nodes.flatMap((list) => list.split('\n')).filter((path) => path !== '')
  return left.length === 0 ? true : missing(left.join(', '))
}

/** What the kubelet keeps beside each volume of a CSI driver that it has staged. */
const STAGED = '/var/lib/kubelet/plugins/kubernetes.io/csi/*/*/vol_data.json'

async function deleteUntilGone(lab: Lab, find: () => Promise<LabObject[]>): Promise<void> {
  const started = Date.now()
  let last = 0
  await waitFor(
    'the reset',
    async () => {
      const left = await find()
      if (left.length === 0) return true
      // What goes with its namespace is not asked for by itself, but for pods: their grace period may be long.
      const going = new Set(left.filter(({ kind }) => kind === 'Namespace').map(({ metadata }) => metadata.name))
      const direct = left.filter(
        ({ kind, metadata }) =>
          metadata.deletionTimestamp === undefined && kind !== 'Pod' && !going.has(metadata.namespace ?? ''),
      )
      if (direct.length > 0) await remove(lab, direct)
      await unhook(lab, left)

      const pods = left.filter(({ kind }) => kind === 'Pod')
      if (pods.length > 0 && Date.now() - last > 3000) {
        last = Date.now()
        // A test may have taken away what the kubelet needs to let go of them, as a CSI driver. What they mounted is unmounted later.
        const hopeless = Date.now() - started > 20_000
        await remove(lab, pods, ...(hopeless ? ['--grace-period=0', '--force'] : ['--grace-period=1']))
      }
      const names = left.map(({ kind, metadata }) => `${kind} ${metadata.namespace ?? ''}/${metadata.name}`)
      return missing(`still there: ${names.slice(0, 10).join(', ')}`)
    },
    { timeoutMs: 120_000, everyMs: 200 },
  )
}

async function remove(lab: Lab, objects: LabObject[], ...flags: string[]): Promise<void> {
  await lab.kubectl(['delete', '--wait=false', '--ignore-not-found', ...flags, '--filename=-'], {
    input: asList(objects),
  })
}

/** Finalizers that a test made up, and that nobody would remove. */
async function unhook(lab: Lab, objects: LabObject[]): Promise<void> {
  for (const { kind, metadata } of objects) {
    const foreign = (metadata.finalizers ?? []).filter((name) => !OWN_FINALIZERS.includes(name))
    if (foreign.length === 0 || kind === 'Namespace') continue
    const where = metadata.namespace === undefined ? [] : ['--namespace', metadata.namespace]
    const patch = JSON.stringify({ metadata: { finalizers: null } })
    await lab.tryKubectl(['patch', kind, metadata.name, ...where, '--type=merge', '--patch', patch])
  }
}

function asList(objects: LabObject[]): string {
  const items = objects.map(({ apiVersion, kind, metadata: { name, namespace } }) => ({
    apiVersion,
    kind,
    metadata: { name, namespace },
  }))
  return JSON.stringify({ apiVersion: 'v1', kind: 'List', items })
}

/** Runs on every node once no pod is left. Tests put hostPath directories below /srv or /mnt. */
const CLEAN = String.raw`
# A kubelet that could not unmount something remembers it as mounted, and would not stage it again for the next pod.
published=$(find /var/lib/kubelet/pods -path '*/volumes/kubernetes.io~csi/*' -name vol_data.json 2>/dev/null)
staged=$(ls ${STAGED} 2>/dev/null)
[ -z "$published$staged" ] || systemctl stop kubelet
systemctl list-units --all --plain --no-legend 'geesefs-*' | while read -r unit rest; do
  systemctl kill --kill-whom=all --signal=KILL "$unit" 2>/dev/null || true
  systemctl reset-failed "$unit" 2>/dev/null || true
done
rm -rf /run/systemd/system/geesefs-*.service.d
systemctl daemon-reload
# Innermost first: FUSE mounts wherever they are, and what tests mounted.
awk '{print $3, $5; }' /proc/self/mountinfo | tac | while read -r device target; do
  kind=$(awk -v t="$target" '$5 == t {for (i = 7; i < NF; i++) if ($i == "-") print $(i + 1)}' /proc/self/mountinfo | tail -1)
  case $target in
    /mnt/?*|/srv/?*) umount -l "$target" ;;
    /sys/*) ;;
    *) case $kind in fuse.*) umount -l "$target" ;; esac ;;
  esac
done
rm -rf --one-file-system /opt/local-path-provisioner /srv /mnt /var/lib/kubelet/plugins/ru.yandex.s3.csi \
  /var/lib/kubelet/plugins/kubernetes.io/csi/ru.yandex.s3.csi
mkdir -p /srv /mnt
rm -f /dev/lab-*
if [ -n "$published$staged" ]; then
  rm -rf --one-file-system /var/lib/kubelet/pods/*
  systemctl start kubelet
fi
`
