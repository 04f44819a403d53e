import type { DrainReport, PodReport, Verdict } from '../../src/drain/types.js'

/** A pod of a report; what is not named is as plain as can be. */
export function pod(id: string, verdict: Verdict, rest: Partial<PodReport> = {}): PodReport {
  const [namespace = '', name = ''] = id.split('/')
  return {
    namespace,
    name,
    node: 'k8s-node-2',
    owner: { apiVersion: 'apps/v1', kind: 'Deployment', name: name.split('-')[0] ?? name },
    verdict,
    effects: [],
    scheduling: null,
    volumes: [],
    why: `why ${name} ${verdict}`,
    next: [],
    instead: [],
    ...rest,
  }
}

/** A report of these pods; summary and notSafe follow from them unless given. */
export function report(pods: PodReport[], rest: Partial<DrainReport> = {}): DrainReport {
  const unsafe = [
    'blocked',
    'contended',
    'data-lost',
    'gone',
    'loses-fuse-server',
    'preempts',
    'quorum',
    'returns',
    'starts-empty',
    'stuck',
  ]
  const words = new Set<string>(
    pods.flatMap(({ verdict, effects }) => [verdict, ...effects.map(({ effect }) => effect)]),
  )
  const summary: DrainReport['summary'] = {}
  for (const { verdict } of pods) summary[verdict] = (summary[verdict] ?? 0) + 1
  return {
    apiVersion: 'kubectl-storage/v1',
    kind: 'DrainReport',
    complete: true,
    warnings: [],
    nodes: ['k8s-node-2'],
    cordonOnly: false,
    pods,
    volumes: [],
    claims: [],
    summary,
    drainCommand: 'kubectl drain k8s-node-2',
    notSafe: unsafe.filter((word) => words.has(word)),
    ...rest,
  }
}

export const CACHE_MESSAGE =
  "0/3 nodes are available: 1 node(s) didn't match PersistentVolume's node affinity, 1 node(s) had untolerated taint(s), " +
  '1 node(s) were unschedulable. no new claims to deallocate, preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling.'

/** What the recorded cluster gives for k8s-node-2: one pod of almost every ending. */
export function recordedCluster(): DrainReport {
  return report(
    [
      pod('kube-system/node-agent-wqktz', 'stays', {
        owner: { apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'node-agent' },
        effects: [{ effect: 'needs-flag', flag: '--ignore-daemonsets' }],
        volumes: [
          { name: 'host', claim: null, volume: null, source: 'hostPath', affinity: 'free', pinnedTo: null, path: '/' },
        ],
        why: 'a DaemonSet keeps it on the node',
      }),
      pod('demo/cache-7c7564cb5b-s7tpb', 'stuck', {
        scheduling: { feasibleNodes: [], message: CACHE_MESSAGE, nominatedNode: null },
        volumes: [
          {
            name: 'data',
            claim: 'cache',
            volume: 'pvc-d99d4407-37d6-4b6c-8f5e-1f1e0f6f2a11',
            source: 'hostPath',
            affinity: 'pinned',
            pinnedTo: ['k8s-node-2'],
            path: '/opt/local-path-provisioner/pvc-d99d4407-37d6-4b6c-8f5e-1f1e0f6f2a11_demo_cache',
          },
        ],
        why: 'volume pvc-d99d4407… (claim cache) is on k8s-node-2 only',
        next: ['kubectl storage relocate pvc cache -n demo --to k8s-node-1'],
      }),
      pod('demo/web-7d6b86d545-jq5ld', 'blocked', {
        effects: [
          { effect: 'needs-flag', flag: '--delete-emptydir-data' },
          { effect: 'data-lost', volume: 'tmp' },
        ],
        scheduling: { feasibleNodes: ['k8s-node-1'], message: null, nominatedNode: null },
        volumes: [{ name: 'tmp', claim: null, volume: null, source: 'emptyDir', affinity: null, pinnedTo: null }],
        budgets: ['web'],
        then: { verdict: 'moves' },
        why: 'budget web needs 2 of 2, 0 may go',
        next: ['one more replica of demo/web, or a lower minAvailable in budget web'],
      }),
      pod('demo/debug-shell', 'gone', {
        owner: null,
        effects: [{ effect: 'needs-flag', flag: '--force' }],
        scheduling: { feasibleNodes: [], message: null, nominatedNode: null },
        why: 'no controller re-creates it',
      }),
      pod('demo/reports-0', 'moves', {
        owner: { apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'reports' },
        effects: [{ effect: 'starts-empty', volume: 'data', path: '/srv/reports' }],
        scheduling: { feasibleNodes: ['k8s-node-1'], message: null, nominatedNode: null },
        volumes: [
          {
            name: 'data',
            claim: 'reports',
            volume: 'shared-reports',
            source: 'hostPath',
            affinity: 'free',
            pinnedTo: null,
            path: '/srv/reports',
          },
        ],
        why: 'k8s-node-1 takes it',
      }),
    ],
    { drainCommand: 'kubectl drain k8s-node-2 --ignore-daemonsets --delete-emptydir-data --force' },
  )
}

/** Long names, several nodes, every effect, listed volumes and claims, an uncertain pod, many plain ones. */
export function busyCluster(): DrainReport {
  const message =
    '0/6 nodes are available: 1 Insufficient memory, 1 node(s) had untolerated taint(s), 2 Insufficient cpu, 2 node(s) were unschedulable.'
  const plain = Array.from({ length: 20 }, (_, index) =>
    pod(`shop/frontend-6c9f7d9b7d-${String(index).padStart(5, 'x')}`, 'moves', {
      scheduling: {
        feasibleNodes: ['worker-a.example.internal', 'worker-d.example.internal'],
        message: null,
        nominatedNode: null,
      },
      node: 'worker-b.example.internal',
    }),
  )
  const replicas = Array.from({ length: 6 }, (_, index) =>
    pod(`monitoring/kube-prometheus-stack-prometheus-node-exporter-${index}`, 'stuck', {
      node: 'worker-c.example.internal',
      owner: { apiVersion: 'monitoring.coreos.com/v1', kind: 'Prometheus', name: 'kube-prometheus-stack-prometheus' },
      scheduling: { feasibleNodes: [], message, nominatedNode: null },
      why: 'no node has room: cpu and memory are short',
      next: [
        'a node with 4 cpu and 8Gi of memory more, or lower requests in Prometheus/kube-prometheus-stack-prometheus',
      ],
    }),
  )
  return report(
    [
      ...plain,
      ...replicas,
      pod('shop/redis-0', 'returns', {
        node: 'worker-b.example.internal',
        owner: { apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'redis' },
        scheduling: { feasibleNodes: ['worker-b.example.internal'], message: null, nominatedNode: null },
        why: 'it tolerates the cordon, and only worker-b.example.internal passes',
        effects: [{ effect: 'loses-fuse-server', claims: ['shop/redis-backup'] }],
      }),
      pod('shop/etcd-1', 'moves', {
        node: 'worker-b.example.internal',
        scheduling: { feasibleNodes: [], message: null, nominatedNode: 'worker-a.example.internal' },
        effects: [
          {
            effect: 'preempts',
            node: 'worker-a.example.internal',
            victims: ['batch/a', 'batch/b', 'batch/c', 'batch/d', 'batch/e'],
          },
          { effect: 'contended', node: 'worker-a.example.internal', with: ['shop/redis-0'] },
          { effect: 'quorum', of: 'StatefulSet shop/etcd', down: 2, bears: 1 },
          { effect: 'waits-for-budget', budget: 'shop/etcd', after: ['shop/etcd-0'] },
        ],
        why: 'worker-a.example.internal would take it',
      }),
      pod('ml/train-0', 'stuck', {
        node: 'worker-c.example.internal',
        uncertain: true,
        uncertainReasons: ['it uses resource claims (DRA), which are not modelled'],
        scheduling: { feasibleNodes: [], message, nominatedNode: null },
        why: 'no node has room: cpu and memory are short',
      }),
      pod('batch/import-28391', 'finished', { node: 'worker-c.example.internal', why: 'Succeeded' }),
    ],
    {
      complete: false,
      nodes: ['worker-b.example.internal', 'worker-c.example.internal'],
      volumes: [
        {
          name: 'pvc-0a1b2c3d-0000-4000-8000-000000000001',
          phase: 'Bound',
          source: 'local',
          pinnedTo: ['worker-b.example.internal'],
          claim: 'shop/old',
          reason: 'unused',
        },
        {
          name: 'worker-c-disk1',
          phase: 'Released',
          source: 'local',
          pinnedTo: ['worker-c.example.internal'],
          claim: 'shop/gone',
          reason: 'released',
        },
      ],
      claims: [{ namespace: 'shop', name: 'redis-data', selectedNode: 'worker-b.example.internal' }],
      drainCommand:
        'kubectl drain worker-b.example.internal worker-c.example.internal --ignore-daemonsets --delete-emptydir-data',
    },
  )
}
