/** The scenes that the plugin exists for. Each is a state of the cluster that a test or a person starts by name. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DRIVER, stagingPath } from '../csi/handle.js'
import { NODES, REPOSITORY, S3_ENDPOINT } from './config.js'
import type { Lab } from './lab.js'
import { missing } from './wait.js'

export type Scene = { name: string; title: string; start: (lab: Lab) => Promise<void> }

const WORKERS = NODES.filter(({ master }) => !master).map(({ name }) => name)

/** All scenes put their namespaced objects here. */
export const NAMESPACE = 'demo'

/** Made up, and put together here so that no scanner takes them for somebody's. */
export const S3_KEY_ID = `GK${'00c0ffee'.repeat(3)}`
export const S3_SECRET = '5eed1ab0'.repeat(8)

export const BUCKET = 'k8s-volumes'

/** A volume in the bucket, with the same name for the PersistentVolume and the prefix, as k8s-csi-s3 makes them. */
export type S3Volume = { name: string; handle: string; options: string }

const s3Volume = (number: number, options: string): S3Volume => {
  const name = `pvc-6d656469-6100-4000-8000-${String(number).padStart(12, '0')}`
  return { name, handle: `${BUCKET}/${name}`, options }
}
const OPTIONS = '--memory-limit 1000 --dir-mode 0777 --file-mode 0666'
export const MEDIA = s3Volume(1, OPTIONS)
/** Served by the driver's own pod. */
export const DIRECT = s3Volume(2, `${OPTIONS} --no-systemd`)
/** Served by a pod that has nothing else to do. */
export const MOUNTED_BY_POD = s3Volume(3, `${OPTIONS} --mounter-pod`)

export const SCENES: Scene[] = [
  {
    name: 'cache',
    title: 'a Deployment whose local-path claim pins it to k8s-node-2',
    start: async (lab) => {
      await manifests(lab, 'cache')
      await lab.podsReady(NAMESPACE, 1, 'app.kubernetes.io/name=cache')
    },
  },
  {
    name: 'db',
    title: 'a bare pod on a ReadWriteOncePod volume, a disk of its own on k8s-node-1',
    start: async (lab) => {
      await disk(lab)
      await manifests(lab, 'db')
      await running(lab, 'db')
    },
  },
  {
    name: 'released',
    title: 'that disk after pod and claim are gone: Released, full of data, and a claim db2 that waits',
    start: async (lab) => {
      await disk(lab)
      await manifests(lab, 'db')
      await running(lab, 'db')
      const fill = ['dd', 'if=/dev/zero', 'of=/data/big', 'bs=1M', 'count=180']
      await lab.kubectl(['exec', 'db', '-n', NAMESPACE, '--', ...fill])
      await lab.kubectl(['delete', 'pod/db', 'pvc/db', '-n', NAMESPACE])
      await phase(lab, 'Released', 'pv', DISK_VOLUME)
      await manifests(lab, 'db2')
      await lab.unschedulable(NAMESPACE, 'db2')
    },
  },
  {
    name: 'media',
    title: 'a Deployment on an S3 bucket through FUSE, served by a systemd unit that shows the keys',
    start: async (lab) => {
      await driver(lab)
      await s3Workload(lab, 'media', MEDIA)
    },
  },
  {
    name: 'media-direct',
    title: 'the same with --no-systemd: the FUSE process lives in the driver pod',
    start: async (lab) => {
      await driver(lab)
      await s3Workload(lab, 'media-direct', DIRECT)
    },
  },
  {
    name: 'dead-mount',
    title: 'media-direct after the driver pod was restarted: Transport endpoint is not connected',
    start: async (lab) => {
      await scene('media-direct').start(lab)
      await restartDriver(lab)
      await lab.waitFor('the mount to be dead', async () => {
        const { code, stderr } = await lab.tryKubectl([
          ...['exec', 'deployment/media-direct', '-n', NAMESPACE, '--', 'ls', '/media'],
        ])
        return code !== 0 && stderr.includes('not connected') ? true : missing(`ls /media exits ${code} ${stderr}`)
      })
    },
  },
  {
    name: 'media-mounter',
    title: 'the same served by a pod of its own, which a drain of k8s-node-2 ends, too',
    start: async (lab) => {
      await driver(lab)
      await mounter(lab, MOUNTED_BY_POD)
      await s3Workload(lab, 'media-mounter', MOUNTED_BY_POD, WATCHES_ITS_END)
    },
  },
  {
    name: 'web',
    title: 'two replicas that a budget holds',
    start: async (lab) => {
      await manifests(lab, 'web')
      await lab.podsReady(NAMESPACE, 2, 'app=web')
      await lab.waitFor('the budget to count them', async () => {
        const { status } = await lab.get('pdb', 'web', '-n', NAMESPACE)
        return status?.currentHealthy === 2 ? true : missing(`it counts ${status?.currentHealthy}`)
      })
    },
  },
  {
    name: 'reports',
    title: 'a StatefulSet on a hostPath volume that is bound to no node',
    start: async (lab) => {
      await manifests(lab, 'reports')
      await lab.podsReady(NAMESPACE, 1, 'app=reports')
    },
  },
  {
    name: 'queue',
    title: 'a StatefulSet of three on local-path',
    start: async (lab) => {
      await manifests(lab, 'queue')
      await lab.podsReady(NAMESPACE, 3, 'app=queue')
    },
  },
  {
    name: 'unbound',
    title: 'claims that are bound to nothing, one with a node chosen for it',
    start: async (lab) => {
      await manifests(lab, 'unbound')
      await lab.waitFor('a node for claim lost', async () => {
        const { metadata } = await lab.get('pvc', 'lost', '-n', NAMESPACE)
        const annotations = metadata.annotations as Record<string, string> | undefined
        return annotations?.['volume.kubernetes.io/selected-node'] ?? missing('its annotation')
      })
    },
  },
  {
    name: 'taints',
    title: 'k8s-node-1 has a taint that one Deployment tolerates',
    start: async (lab) => {
      await lab.kubectl(['taint', 'node', 'k8s-node-1', 'example.com/dedicated=batch:NoSchedule', '--overwrite'])
      await manifests(lab, 'taints')
      await lab.podsReady(NAMESPACE, 1, 'app=batch')
      await lab.podsReady(NAMESPACE, 1, 'app=plain')
    },
  },
  {
    name: 'debug-shell',
    title: 'a bare pod on k8s-node-2',
    start: async (lab) => {
      await manifests(lab, 'debug-shell')
      await running(lab, 'debug-shell')
    },
  },
  {
    name: 'node-agent',
    title: 'a DaemonSet',
    start: async (lab) => {
      await manifests(lab, 'node-agent')
      await lab.waitFor('its pods', async () => {
        const { status } = await lab.get('daemonset', 'node-agent', '-n', 'kube-system')
        const { desiredNumberScheduled: wanted, numberReady: ready } = status ?? {}
        return Number(wanted) > 0 && ready === wanted ? true : missing(`${ready ?? 0} of ${wanted ?? '?'} are ready`)
      })
    },
  },
]

export function scene(name: string): Scene {
  const found = SCENES.find((one) => one.name === name)
  if (found === undefined) throw new Error(`no scene ${name}`)
  return found
}

export const DISK_VOLUME = 'k8s-node-1-disk1'

async function manifests(lab: Lab, ...names: string[]): Promise<void> {
  await lab.namespace(NAMESPACE)
  for (const name of names) await lab.apply(readFileSync(join(REPOSITORY, `test/lab/scenes/${name}.yaml`), 'utf8'))
}

async function phase(lab: Lab, wanted: string, kind: string, name: string): Promise<void> {
  await lab.waitFor(`${kind} ${name} to be ${wanted}`, async () => {
    const { status } = await lab.get(kind, name)
    return status?.phase === wanted ? true : missing(`it is ${status?.phase}`)
  })
}

async function running(lab: Lab, name: string): Promise<void> {
  await lab.podsReady(NAMESPACE, 1, '', { field: `metadata.name=${name}` })
}

async function disk(lab: Lab): Promise<void> {
  await lab.attachDisk('k8s-node-1', 'disk1', 256)
  await manifests(lab, 'disk')
}

async function driver(lab: Lab): Promise<void> {
  await Promise.all([lab.startS3(), ...WORKERS.map((node) => lab.loadImage(node, 'csi'))])
  await lab.apply({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'csi-s3-secret', namespace: 'kube-system' },
    stringData: { accessKeyID: S3_KEY_ID, secretAccessKey: S3_SECRET, endpoint: S3_ENDPOINT },
  })
  await manifests(lab, 'csi-s3')
  await driverReady(lab)
}

/** Resolves when every worker's kubelet knows the driver. */
export async function driverReady(lab: Lab): Promise<void> {
  await lab.podsReady('kube-system', WORKERS.length, 'app=csi-s3')
  await lab.waitFor('the kubelets to know the driver', async () => {
    const nodes = await lab.list('csinodes')
    const without = WORKERS.filter((name) => {
      const spec = nodes.find(({ metadata }) => metadata.name === name)?.spec as { drivers?: { name: string }[] | null }
      return !spec?.drivers?.some((one) => one.name === DRIVER)
    })
    return without.length === 0 ? true : missing(without.join(', '))
  })
}

/** As after a crash: no signal to be handled, a new pod. */
export async function restartDriver(lab: Lab): Promise<void> {
  await lab.kubectl(['delete', 'pod', '-n', 'kube-system', '-l', 'app=csi-s3', '--grace-period=1'])
  await driverReady(lab)
}

/** Serves the volume on k8s-node-2, and nowhere else. */
async function mounter(lab: Lab, { handle }: S3Volume): Promise<void> {
  const [bucket, prefix] = handle.split('/')
  const options = `url=${S3_ENDPOINT},use_path_request_style,allow_other,nonempty,subtype=geesefs,fsname=${bucket}`
  const key = (name: string, key: string) => ({ name, valueFrom: { secretKeyRef: { name: 'csi-s3-secret', key } } })
  const labels = { app: 'mounter' }
  const hostPath = (name: string, path: string) => ({ name, hostPath: { path, type: 'Directory' } })
  await lab.apply({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'mounter', namespace: 'kube-system' },
    spec: {
      replicas: 1,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: {
          terminationGracePeriodSeconds: 1,
          nodeSelector: { 'kubernetes.io/hostname': 'k8s-node-2' },
          containers: [
            {
              name: 'mounter',
              image: 'example.com/kubectl-storage/csi-s3:lab',
              imagePullPolicy: 'Never',
              // The driver makes bucket and directory when the kubelet stages the volume.
              command: ['sh', '-c', 'until geesefs "$@"; do sleep 0.2; done', 'mounter'],
              args: ['-f', '-o', options, `${bucket}:/${prefix}`, stagingPath(handle)],
              env: [key('AWS_ACCESS_KEY_ID', 'accessKeyID'), key('AWS_SECRET_ACCESS_KEY', 'secretAccessKey')],
              securityContext: { privileged: true },
              volumeMounts: [
                { name: 'kubelet', mountPath: '/var/lib/kubelet', mountPropagation: 'Bidirectional' },
                { name: 'plugin', mountPath: '/plugin' },
              ],
            },
          ],
          volumes: [hostPath('kubelet', '/var/lib/kubelet'), hostPath('plugin', `/var/lib/kubelet/plugins/${DRIVER}`)],
        },
      },
    },
  })
}

/** What the container saw of /media in the three seconds after it was told to end. */
export const SEEN_AT_THE_END = '/srv/seen-at-the-end'
const WATCHES_ITS_END = {
  nodeSelector: { 'kubernetes.io/hostname': 'k8s-node-2' },
  terminationGracePeriodSeconds: 10,
  command: [
    ...['sh', '-c'],
    `trap 'for i in $(seq 30); do ls /media >> /seen/ls 2>&1; usleep 100000; done; exit' TERM; sleep infinity & wait`,
  ],
  mounts: [{ name: 'seen', mountPath: '/seen' }],
  volumes: [{ name: 'seen', hostPath: { path: SEEN_AT_THE_END, type: 'DirectoryOrCreate' } }],
}

type Extra = { command: string[]; mounts: object[]; volumes: object[]; [field: string]: unknown }
const PLAIN: Extra = {
  command: ['sleep', 'infinity'],
  mounts: [],
  volumes: [],
  terminationGracePeriodSeconds: 1,
}

/** A volume of the bucket, its claim, and a Deployment that has it at /media, on k8s-node-2 as long as that can be. */
async function s3Workload(
  lab: Lab,
  name: string,
  { name: volume, handle, options }: S3Volume,
  { command, mounts, volumes, ...fields }: Extra = PLAIN,
): Promise<void> {
  const metadata = { name, namespace: NAMESPACE }
  const secret = { name: 'csi-s3-secret', namespace: 'kube-system' }
  const size = { storage: '1Gi' }
  const accessModes = ['ReadWriteMany']
  const labels = { app: name }
  const preferred = [{ key: 'kubernetes.io/hostname', operator: 'In', values: ['k8s-node-2'] }]
  await lab.namespace(NAMESPACE)
  await lab.apply([
    {
      apiVersion: 'v1',
      kind: 'PersistentVolume',
      metadata: { name: volume },
      spec: {
        capacity: size,
        accessModes,
        persistentVolumeReclaimPolicy: 'Retain',
        storageClassName: 'csi-s3',
        claimRef: metadata,
        csi: {
          driver: DRIVER,
          volumeHandle: handle,
          nodeStageSecretRef: secret,
          volumeAttributes: { capacity: '1073741824', mounter: 'geesefs', options },
        },
      },
    },
    {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata,
      spec: { storageClassName: 'csi-s3', volumeName: volume, accessModes, resources: { requests: size } },
    },
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata,
      spec: {
        replicas: 1,
        selector: { matchLabels: labels },
        template: {
          metadata: { labels },
          spec: {
            ...fields,
            affinity: {
              nodeAffinity: {
                preferredDuringSchedulingIgnoredDuringExecution: [
                  { weight: 100, preference: { matchExpressions: preferred } },
                ],
              },
            },
            containers: [
              {
                name: 'app',
                image: 'busybox',
                imagePullPolicy: 'IfNotPresent',
                command,
                volumeMounts: [{ name: 'media', mountPath: '/media' }, ...mounts],
              },
            ],
            volumes: [{ name: 'media', persistentVolumeClaim: { claimName: name } }, ...volumes],
          },
        },
      },
    },
  ])
  await lab.podsReady(NAMESPACE, 1, `app=${name}`)
}
