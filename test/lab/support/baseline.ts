/** The cluster as it was when the lab came up, so that a reset knows what to delete without knowing who made it. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Api } from './api.js'
import type { Folders } from './config.js'

/** What tests and scenes make. Webhooks first: one that is left would refuse the rest. */
const RESOURCES = [
  'apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations',
  'apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations',
  'apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies',
  'apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings',
  'api/v1/namespaces',
  'apis/apps/v1/deployments',
  'apis/apps/v1/statefulsets',
  'apis/apps/v1/daemonsets',
  'apis/apps/v1/replicasets',
  'apis/batch/v1/cronjobs',
  'apis/batch/v1/jobs',
  'api/v1/replicationcontrollers',
  'api/v1/pods',
  'api/v1/persistentvolumeclaims',
  'api/v1/persistentvolumes',
  'apis/storage.k8s.io/v1/storageclasses',
  'apis/storage.k8s.io/v1/csidrivers',
  'apis/storage.k8s.io/v1/csistoragecapacities',
  'apis/storage.k8s.io/v1/volumeattachments',
  'apis/scheduling.k8s.io/v1/priorityclasses',
  'apis/policy/v1/poddisruptionbudgets',
  'api/v1/services',
  'api/v1/serviceaccounts',
  'api/v1/secrets',
  'api/v1/configmaps',
  'api/v1/resourcequotas',
  'api/v1/limitranges',
  'apis/rbac.authorization.k8s.io/v1/roles',
  'apis/rbac.authorization.k8s.io/v1/rolebindings',
  'apis/rbac.authorization.k8s.io/v1/clusterroles',
  'apis/rbac.authorization.k8s.io/v1/clusterrolebindings',
  'apis/apiextensions.k8s.io/v1/customresourcedefinitions',
]

export type LabObject = {
  metadata: {
    name: string
    namespace?: string
    uid: string
    finalizers?: string[]
    deletionTimestamp?: string
    labels?: Record<string, string>
  }
  /** The plural, as in the path: `pods`. */
  resource: string
  path: string
}

export type LabTaint = { key: string; value?: string; effect: string; timeAdded?: string }

export type Baseline = {
  uids: string[]
  nodes: { name: string; labels: Record<string, string>; taints: LabTaint[] }[]
}

type NodeObject = {
  metadata: { name: string; labels?: Record<string, string> }
  spec: { taints?: LabTaint[]; unschedulable?: boolean }
}

export async function listAll(api: Api): Promise<LabObject[]> {
  const lists = await Promise.all(
    RESOURCES.map(async (collection) => {
      const { items } = await api.get<{ items: { metadata: LabObject['metadata'] }[] }>(`/${collection}`)
      const at = collection.lastIndexOf('/')
      const [group, resource] = [collection.slice(0, at), collection.slice(at + 1)]
      return items.map(({ metadata }) => {
        const where = metadata.namespace === undefined ? '' : `/namespaces/${metadata.namespace}`
        return { metadata, resource, path: `/${group}${where}/${resource}/${metadata.name}` }
      })
    }),
  )
  return lists.flat()
}

export async function listNodes(api: Api): Promise<NodeObject[]> {
  return (await api.get<{ items: NodeObject[] }>('/api/v1/nodes')).items
}

/** Taints that the node's own condition makes come and go by themselves. */
export function lasting(taints: LabTaint[] | undefined): LabTaint[] {
  return (taints ?? []).filter(({ key }) => !key.startsWith('node.kubernetes.io/'))
}

export async function readBaseline(api: Api): Promise<Baseline> {
  const [objects, nodes] = await Promise.all([listAll(api), listNodes(api)])
  return {
    uids: objects.map(({ metadata }) => metadata.uid),
    nodes: nodes.map(({ metadata, spec }) => ({
      name: metadata.name,
      labels: metadata.labels ?? {},
      taints: lasting(spec.taints),
    })),
  }
}

const file = (at: Folders) => join(at.run, 'baseline.json')

export function writeBaseline(at: Folders, baseline: Baseline): void {
  writeFileSync(file(at), JSON.stringify(baseline))
}

export function savedBaseline(at: Folders): Baseline {
  return JSON.parse(readFileSync(file(at), 'utf8')) as Baseline
}
