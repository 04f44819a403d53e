/** Back to the lab as it came up: objects, nodes, disks, mounts and directories. Fast enough to stand between two scenes. */
import type { Api } from './api.js'
import { type LabObject, lasting, listAll, listNodes, savedBaseline } from './baseline.js'
import { NODES, S3_ENDPOINT } from './config.js'
import { detachDisks } from './disks.js'
import type { Lab } from './lab.js'
import { type Missing, missing, waitFor } from './wait.js'

/** Removed by Kubernetes itself in good time. */
const OWN_FINALIZERS = ['kubernetes.io/pvc-protection', 'kubernetes.io/pv-protection', 'orphan', 'foregroundDeletion']

/** Made again, or taken away, by controllers. */
const CONTROLLERS_KEEP = ({ resource, metadata: { name, namespace } }: LabObject) =>
  (resource === 'configmaps' && name === 'kube-root-ca.crt') ||
  (resource === 'serviceaccounts' && name === 'default') ||
  // System controllers ask for their own account the first time they have something to do.
  (resource === 'serviceaccounts' && namespace === 'kube-system')

export async function reset(lab: Lab): Promise<void> {
  const { api } = lab
  await resetNodes(lab)
  const kept = new Set(savedBaseline(lab.at).uids)
  const strange = async () => {
    const all = (await listAll(api)).filter(({ metadata }) => !kept.has(metadata.uid))
    const namespaces = new Set(await namespacesOf(api))
    return all.filter((object) => !namespaces.has(object.metadata.namespace ?? '') || !CONTROLLERS_KEEP(object))
  }

  await deleteUntilGone(api, async () => (await strange()).filter(FIRST))
  // What the kubelets still hold after that is cleaned by force.
  const letGo = () => mountedByKubelets(lab)
  await waitFor('the kubelets to let go', letGo, { timeoutMs: 6000 }).catch(() => undefined)
  await deleteUntilGone(api, strange)
  // Events of a pod with the same name in the next scene would be taken for new ones.
  await Promise.all((await namespacesOf(api)).map((name) => api.delete(`/api/v1/namespaces/${name}/events`)))

  await Promise.all(NODES.map(({ name }) => lab.enter(name, CLEAN, { timeoutMs: 60_000 })))
  await detachDisks(lab)
  // Nothing may be listening: most scenes need no S3.
  await fetch(`${S3_ENDPOINT}/moto-api/reset`, { method: 'POST' }).catch(() => undefined)
}

async function namespacesOf(api: Api): Promise<string[]> {
  return (await api.get<{ items: LabObject[] }>('/api/v1/namespaces')).items.map(({ metadata }) => metadata.name)
}

async function resetNodes(lab: Lab): Promise<void> {
  const before = savedBaseline(lab.at).nodes
  for (const { metadata, spec } of await listNodes(lab.api)) {
    const was = before.find(({ name }) => name === metadata.name)
    const labels: Record<string, string | null> = { ...was?.labels }
    for (const key of Object.keys(metadata.labels ?? {})) if (was && !(key in was.labels)) labels[key] = null
    const taints = was?.taints ?? []
    const changed =
      spec.unschedulable === true ||
      JSON.stringify(lasting(spec.taints)) !== JSON.stringify(taints) ||
      Object.entries(labels).some(([key, value]) => (metadata.labels?.[key] ?? null) !== value)
    if (!changed) continue
    await lab.api.patch(`/api/v1/nodes/${metadata.name}`, {
      metadata: { labels },
      spec: { unschedulable: null, taints },
    })
  }
}

/**
 * What uses volumes goes before the drivers that unmount them: a kubelet that has no driver any more keeps the pod for ever. Namespaces
 * go last, when they are empty.
 */
const FIRST = ({ resource, metadata: { namespace } }: LabObject) =>
  resource === 'persistentvolumes' ||
  /^(mutating|validating)/.test(resource) ||
  (namespace !== undefined && !namespace.startsWith('kube-'))

async function mountedByKubelets(lab: Lab): Promise<true | Missing> {
  const nodes = await Promise.all(NODES.map(({ name }) => lab.enter(name, `ls ${STAGED} 2>/dev/null || true`)))
  const left = nodes.flatMap((list) => list.split('\n')).filter((path) => path !== '')
  return left.length === 0 ? true : missing(left.join(', '))
}

/** What the kubelet keeps beside each volume of a CSI driver that it has staged. */
const STAGED = '/var/lib/kubelet/plugins/kubernetes.io/csi/*/*/vol_data.json'

async function deleteUntilGone(api: Api, find: () => Promise<LabObject[]>): Promise<void> {
  const started = Date.now()
  let last = 0
  await waitFor(
    'the reset',
    async () => {
      const left = await find()
      if (left.length === 0) return true
      // A pod may be going by a long grace period of its own; asked once more, it goes by this one.
      const again = Date.now() - last > 3000
      if (again) last = Date.now()
      // A test may have taken away what the kubelet needs to let go of a pod, as a CSI driver. What it mounted is unmounted later.
      const grace = Date.now() - started > 20_000 ? 0 : 1
      await Promise.all(
        left.map(async ({ path, resource, metadata }) => {
          const going = metadata.deletionTimestamp !== undefined
          if (resource === 'pods' && (again || !going)) await api.delete(path, grace)
          else if (!going) await api.delete(path)
          // Its controller would look at it only after five seconds, and there is nothing left in it.
          if (resource === 'namespaces')
            await api.put(`${path}/finalize`, { metadata: { name: metadata.name }, spec: { finalizers: [] } })
          // Finalizers that a test made up, and that nobody would remove.
          const foreign = (metadata.finalizers ?? []).some((name) => !OWN_FINALIZERS.includes(name))
          if (foreign && resource !== 'namespaces') await api.patch(path, { metadata: { finalizers: null } })
        }),
      )
      return missing(
        left
          .slice(0, 10)
          .map(({ path }) => path)
          .join(', '),
      )
    },
    { timeoutMs: 120_000, everyMs: 200 },
  )
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
if ls -d /run/systemd/system/geesefs-*.service.d >/dev/null 2>&1; then
  rm -rf /run/systemd/system/geesefs-*.service.d
  systemctl daemon-reload
fi
# Innermost first: FUSE mounts wherever they are, and what tests mounted.
awk '{for (i = 7; i < NF; i++) if ($i == "-") {print $(i + 1), $5; break}}' /proc/self/mountinfo | tac | while read -r kind target; do
  case "$kind $target" in fuse.* | *\ /mnt/?* | *\ /srv/?*) umount -l "$target" ;; esac
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
