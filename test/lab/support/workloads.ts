/** Random workloads for the lab's two workers: small enough to start in seconds, various enough to get into each other's way. */
import type { Lab } from './lab.js'

type Random = () => number
type Manifest = {
  apiVersion: string
  kind: string
  metadata: { name: string; namespace?: string; labels?: Record<string, string> }
  [key: string]: unknown
}

export const RANDOM_NAMESPACE = 'random'
const NODES = ['k8s-node-1', 'k8s-node-2'] as const

const pick = <T>(random: Random, items: readonly T[]): T => items[Math.floor(random() * items.length)] as T
const chance = (random: Random, of: number): boolean => random() < of

/** Thousandths of a processor that a worker has for pods. */
export async function workerCpu(lab: Lab): Promise<number> {
  const node = await lab.get('node', NODES[0])
  const text = String((node.status as unknown as { allocatable: { cpu: string } }).allocatable.cpu)
  return text.endsWith('m') ? Number(text.slice(0, -1)) : Number(text) * 1000
}

/** `cpu`: thousandths that a worker has for pods. */
export function randomWorkloads(random: Random, cpu: number): Manifest[] {
  const manifests: Manifest[] = [
    { apiVersion: 'scheduling.k8s.io/v1', kind: 'PriorityClass', metadata: { name: 'random-high' }, value: 1000 },
    { apiVersion: 'scheduling.k8s.io/v1', kind: 'PriorityClass', metadata: { name: 'random-low' }, value: 10 },
  ]
  const count = 3 + Math.floor(random() * 4)
  for (let index = 0; index < count; index++) manifests.push(...workload(random, `w${index}`, cpu))
  return manifests
}

function workload(random: Random, name: string, cpu: number): Manifest[] {
  const labels = { app: name, tier: pick(random, ['front', 'back']) }
  const metadata = { name, namespace: RANDOM_NAMESPACE, labels }
  const kind = pick(random, [
    'Deployment',
    'Deployment',
    'Deployment',
    'StatefulSet',
    'StatefulSet',
    'Pod',
    'DaemonSet',
    'Job',
  ])
  const claims: Manifest[] = []
  const spec = podSpec(random, name, labels, cpu, kind, claims)
  const template = { metadata: { labels }, spec }
  const selector = { matchLabels: { app: name } }
  const replicas = 1 + Math.floor(random() * 3)
  const budget: Manifest[] =
    kind !== 'Pod' && kind !== 'Job' && kind !== 'DaemonSet' && chance(random, 0.35)
      ? [
          {
            apiVersion: 'policy/v1',
            kind: 'PodDisruptionBudget',
            metadata: { name, namespace: RANDOM_NAMESPACE },
            spec: {
              selector,
              ...pick(random, [
                { minAvailable: replicas },
                { minAvailable: 1 },
                { maxUnavailable: 1 },
                { maxUnavailable: '34%' },
                { minAvailable: '50%' },
              ]),
            },
          },
        ]
      : []
  switch (kind) {
    case 'Pod':
      return [...claims, { apiVersion: 'v1', kind, metadata, spec }]
    case 'Job':
      return [
        {
          apiVersion: 'batch/v1',
          kind,
          metadata,
          spec: { backoffLimit: 6, template: { metadata: { labels }, spec: { ...spec, restartPolicy: 'Never' } } },
        },
      ]
    case 'DaemonSet':
      return [{ apiVersion: 'apps/v1', kind, metadata, spec: { selector, template } }]
    case 'StatefulSet':
      return [
        ...budget,
        {
          apiVersion: 'apps/v1',
          kind,
          metadata,
          spec: {
            serviceName: name,
            replicas,
            podManagementPolicy: 'Parallel',
            selector,
            template,
            ...(chance(random, 0.5) ? { volumeClaimTemplates: [localPath('data')] } : {}),
          },
        },
      ]
    default:
      return [
        ...claims,
        ...budget,
        {
          apiVersion: 'apps/v1',
          kind,
          metadata,
          spec: {
            replicas: claims.length > 0 ? 1 : replicas,
            ...(claims.length > 0 ? { strategy: { type: 'Recreate' } } : {}),
            selector,
            template,
          },
        },
      ]
  }
}

function localPath(name: string, namespace?: string) {
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name, ...(namespace === undefined ? {} : { namespace }) },
    spec: {
      storageClassName: 'local-path',
      accessModes: ['ReadWriteOnce'],
      resources: { requests: { storage: '10Mi' } },
    },
  }
}

function podSpec(
  random: Random,
  name: string,
  labels: Record<string, string>,
  cpu: number,
  kind: string,
  claims: Manifest[],
) {
  const volumes: object[] = []
  const volumeMounts: object[] = []
  const mount = (volume: string, source: object) => {
    volumes.push({ name: volume, ...source })
    volumeMounts.push({ name: volume, mountPath: `/${volume}` })
  }
  if (chance(random, 0.25)) mount('tmp', { emptyDir: pick(random, [{}, { medium: 'Memory' }]) })
  if (chance(random, 0.15)) mount('host', { hostPath: { path: `/srv/${name}`, type: 'DirectoryOrCreate' } })
  if ((kind === 'Deployment' || kind === 'Pod') && chance(random, 0.3)) {
    claims.push(localPath(name, RANDOM_NAMESPACE))
    mount('data', { persistentVolumeClaim: { claimName: name } })
  }
  if (kind === 'StatefulSet') volumeMounts.push()
  const affinity = pick(random, [
    {},
    {},
    {},
    {
      podAntiAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: [
          { topologyKey: 'kubernetes.io/hostname', labelSelector: { matchLabels: { app: name } } },
        ],
      },
    },
    {
      podAntiAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: [
          {
            topologyKey: 'kubernetes.io/hostname',
            labelSelector: { matchLabels: { tier: labels.tier === 'front' ? 'back' : 'front' } },
          },
        ],
      },
    },
    {
      podAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: [
          { topologyKey: 'kubernetes.io/hostname', labelSelector: { matchLabels: { tier: labels.tier } } },
        ],
      },
    },
    {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [
            {
              matchExpressions: [
                {
                  key: 'kubernetes.io/hostname',
                  operator: pick(random, ['In', 'NotIn']),
                  values: [pick(random, NODES)],
                },
              ],
            },
          ],
        },
      },
    },
  ])
  const tolerations = pick(random, [
    [],
    [],
    [],
    [],
    [{ operator: 'Exists' }],
    [{ key: 'node.kubernetes.io/unschedulable', operator: 'Exists' }],
    [{ key: 'node-role.kubernetes.io/control-plane', operator: 'Exists' }],
  ])
  const spread = chance(random, 0.12)
    ? [
        {
          maxSkew: 1,
          topologyKey: 'kubernetes.io/hostname',
          whenUnsatisfiable: 'DoNotSchedule',
          labelSelector: { matchLabels: { app: name } },
        },
      ]
    : []
  return {
    terminationGracePeriodSeconds: 1,
    affinity,
    tolerations,
    topologySpreadConstraints: spread,
    ...pick(random, [{}, {}, { priorityClassName: 'random-high' }, { priorityClassName: 'random-low' }]),
    containers: [
      {
        name: 'app',
        image: 'busybox',
        imagePullPolicy: 'IfNotPresent',
        command: ['sleep', 'infinity'],
        resources: { requests: { cpu: `${Math.round(cpu * pick(random, [0.02, 0.05, 0.1, 0.2, 0.35, 0.5]))}m` } },
        ...(chance(random, 0.12) && kind !== 'DaemonSet'
          ? { ports: [{ containerPort: 80, hostPort: 18000 + Math.floor(random() * 3) }] }
          : {}),
        volumeMounts,
      },
    ],
    volumes,
  }
}
