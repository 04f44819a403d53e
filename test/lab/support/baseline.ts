/** The cluster as it was when the lab came up, so that a reset knows what to delete without knowing who made it. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Folders, operatorEnv } from './config.js'
import { check } from './run.js'

/** What tests and scenes make. Webhooks first: one that is left would refuse the rest. */
export const KINDS = [
  'mutatingwebhookconfigurations',
  'validatingwebhookconfigurations',
  'namespaces',
  'deployments',
  'statefulsets',
  'daemonsets',
  'replicasets',
  'cronjobs',
  'jobs',
  'pods',
  'persistentvolumeclaims',
  'persistentvolumes',
  'storageclasses',
  'csidrivers',
  'priorityclasses',
  'poddisruptionbudgets',
  'services',
  'serviceaccounts',
  'secrets',
  'configmaps',
  'roles',
  'rolebindings',
  'clusterroles',
  'clusterrolebindings',
  'resourcequotas',
  'limitranges',
  'csistoragecapacities',
  'customresourcedefinitions',
]

export type LabObject = {
  apiVersion: string
  kind: string
  metadata: {
    name: string
    namespace?: string
    uid: string
    finalizers?: string[]
    deletionTimestamp?: string
    labels?: Record<string, string>
  }
}

export type LabTaint = { key: string; value?: string; effect: string; timeAdded?: string }

export type Baseline = {
  uids: string[]
  nodes: { name: string; labels: Record<string, string>; taints: LabTaint[] }[]
}

type NodeObject = LabObject & { spec: { taints?: LabTaint[]; unschedulable?: boolean } }

export async function listAll(at: Folders): Promise<LabObject[]> {
  return list<LabObject>(at, KINDS.join(','))
}

export async function listNodes(at: Folders): Promise<NodeObject[]> {
  return list<NodeObject>(at, 'nodes')
}

async function list<T>(at: Folders, kinds: string): Promise<T[]> {
  const args = ['get', kinds, '--all-namespaces', '--output=json']
  return (JSON.parse(await check(join(at.bin, 'kubectl'), args, { env: operatorEnv(at) })) as { items: T[] }).items
}

/** Taints that the node's own condition makes come and go by themselves. */
export function lasting(taints: LabTaint[] | undefined): LabTaint[] {
  return (taints ?? []).filter(({ key }) => !key.startsWith('node.kubernetes.io/'))
}

export async function readBaseline(at: Folders): Promise<Baseline> {
  const [objects, nodes] = await Promise.all([listAll(at), listNodes(at)])
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
