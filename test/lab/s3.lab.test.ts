/** S3 through FUSE as k8s-csi-s3 does it, with the kubelet's own behaviour around it. */
import { beforeEach, describe, expect, it } from 'vitest'
import { dropInFolder, stagingPath, unitOf } from './csi/handle.js'
import { S3_ENDPOINT } from './support/config.js'
import { Lab, missing, type Pod } from './support/lab.js'
import { BUCKET, DIRECT, MEDIA, NAMESPACE, restartDriver, S3_KEY_ID, S3_SECRET } from './support/scenes.js'

const lab = Lab.connect()
beforeEach(() => lab.reset())

const NODE = 'k8s-node-2'
const AS_NOBODY = 'setpriv --reuid=65534 --regid=65534 --clear-groups'

const inPod = (deployment: string, ...command: string[]) =>
  lab.tryKubectl(['exec', `deployment/${deployment}`, '--namespace', NAMESPACE, '--', ...command])

async function podOf(deployment: string): Promise<Pod> {
  const [pod] = await lab.list<Pod>('pods', '--namespace', NAMESPACE, '--selector', `app=${deployment}`)
  if (pod === undefined) throw new Error(`no pod of ${deployment}`)
  return pod
}

const podPath = (pod: Pod, volume: string) =>
  `/var/lib/kubelet/pods/${pod.metadata.uid}/volumes/kubernetes.io~csi/${volume}/mount`

/** Target, source and type of the FUSE mounts, from the mount table alone. */
async function fuseMounts(): Promise<string[]> {
  const table = await lab.enter(NODE, 'cat /proc/self/mounts')
  return table
    .split('\n')
    .map((line) => line.split(' '))
    .filter(([, , kind]) => kind?.startsWith('fuse.'))
    .map(([source, target, kind]) => `${target} ${source} ${kind}`)
    .sort()
}

describe('served by a systemd unit', () => {
  it('is written and read by the pod, and lies in the bucket', async () => {
    await lab.start('media')
    expect((await inPod('media', 'sh', '-c', 'echo film > /media/a && cat /media/a')).stdout).toBe('film\n')
    // The server asks who reads, but not for proof.
    const headers = { authorization: 'AWS lab:lab' }
    const stored = await fetch(`${S3_ENDPOINT}/${MEDIA.handle}/a`, { headers })
    expect(await stored.text()).toBe('film\n')
  })

  it('is mounted twice, as the bucket, with the type of GeeseFS', async () => {
    await lab.start('media')
    const pod = await podOf('media')
    expect(pod.spec.nodeName).toBe(NODE)
    expect(await fuseMounts()).toEqual(
      [stagingPath(MEDIA.handle), podPath(pod, MEDIA.name)].map((path) => `${path} ${BUCKET} fuse.geesefs`).sort(),
    )
  })

  it('shows its keys to everybody on the node', async () => {
    await lab.start('media')
    const unit = unitOf(MEDIA.handle)
    const keys = `AWS_ACCESS_KEY_ID=${S3_KEY_ID} AWS_SECRET_ACCESS_KEY=${S3_SECRET}`
    expect(await lab.enter(NODE, `${AS_NOBODY} systemctl show ${unit} -p Environment`)).toBe(`Environment=${keys}\n`)
    expect(await lab.enter(NODE, `${AS_NOBODY} cat /run/systemd/transient/${unit}`)).toContain(S3_SECRET)
    expect(await lab.enter(NODE, `systemctl show ${unit} -p CollectMode --value`)).toBe('inactive-or-failed\n')
    const dropIn = `${dropInFolder(unit)}/50-StopProps.conf`
    expect(await lab.enter(NODE, `stat -c %a ${dropIn}; cat ${dropIn}`)).toBe(
      `600\n[Service]\nExecStopPost=/bin/umount -f -l ${stagingPath(MEDIA.handle)}\nTimeoutStopSec=20\n`,
    )
    expect(await lab.enter(NODE, `systemctl show ${unit} -p DropInPaths --value`)).toContain(dropIn)
  })

  it('outlives the driver, goes with the pod, and leaves the drop-in folder', async () => {
    await lab.start('media')
    await restartDriver(lab)
    expect((await inPod('media', 'sh', '-c', 'echo film > /media/b && cat /media/b')).stdout).toBe('film\n')

    await lab.kubectl(['delete', 'deployment', 'media', '--namespace', NAMESPACE])
    await lab.waitFor('the kubelet to unmount', async () => {
      const mounts = await fuseMounts()
      return mounts.length === 0 ? true : missing(mounts.join(', '))
    })
    const unit = unitOf(MEDIA.handle)
    expect((await lab.tryEnter(NODE, `systemctl status ${unit}`)).stderr).toContain('could not be found')
    await lab.enter(NODE, `test -d ${dropInFolder(unit)}`)
    await lab.enter(NODE, 'test -x /var/lib/kubelet/plugins/ru.yandex.s3.csi/geesefs')
  })
})

describe('with --no-systemd', () => {
  it('is served by a process of the driver pod, without a unit', async () => {
    await lab.start('media-direct')
    expect((await inPod('media-direct', 'sh', '-c', 'echo film > /media/a && cat /media/a')).stdout).toBe('film\n')
    expect(await lab.enter(NODE, "systemctl list-units --all --plain --no-legend 'geesefs-*'")).toBe('')
    const { stdout } = await lab.tryKubectl([
      'get',
      'pods',
      '-n',
      'kube-system',
      '-l',
      'app=csi-s3',
      '--field-selector',
      `spec.nodeName=${NODE}`,
      '-o',
      'name',
    ])
    const driver = stdout.trim()
    expect(driver).toMatch(/^pod\//)
    const group = await lab.enter(NODE, 'cat /proc/$(pgrep -f ^/usr/bin/geesefs)/cgroup')
    const { status } = await lab.get<Pod>(driver, '-n', 'kube-system')
    const id = String((status.containerStatuses?.[0] as { containerID?: string } | undefined)?.containerID)
    expect(group).toContain(id.replace('containerd://', ''))
  })

  it('dies with the driver: the pod stays Running over a dead mount', async () => {
    await lab.start('dead-mount')
    const { code, stderr } = await inPod('media-direct', 'ls', '/media')
    expect(code).not.toBe(0)
    expect(stderr).toContain('Transport endpoint is not connected')
    const pod = await podOf('media-direct')
    expect(pod.status.phase).toBe('Running')
    expect(await fuseMounts()).toHaveLength(2)
  })

  it('leaves a dead staging mount once the pod is gone, and the kubelet says so', async () => {
    await lab.start('dead-mount')
    const since = (await lab.enter(NODE, 'date +%s')).trim()
    await lab.kubectl(['delete', 'deployment', 'media-direct', '--namespace', NAMESPACE])
    const log = () => lab.enter(NODE, `journalctl --unit kubelet --since @${since} --output cat`)
    await lab.waitFor('the words of the kubelet', async () => {
      const text = await log()
      return text.includes('GetMountRefs found corrupted mount') ? true : missing(text.split('\n').slice(-5).join('\n'))
    })
    expect(await log()).toContain('treating as unmounted path')
    await lab.waitFor('the pod to be gone', async () => {
      const left = await lab.list('pods', '--namespace', NAMESPACE)
      return left.length === 0 ? true : missing('pod objects')
    })
    const path = stagingPath(DIRECT.handle)
    expect(await fuseMounts()).toEqual([`${path} ${BUCKET} fuse.geesefs`])
    expect((await lab.tryEnter(NODE, `ls ${path}`)).stderr).toContain('Transport endpoint is not connected')
    await lab.enter(NODE, `umount ${path}`)
    expect(await fuseMounts()).toEqual([])
  })

  it('can start again after a reset', async () => {
    await lab.start('dead-mount')
    await lab.reset()
    await lab.start('media-direct')
    expect((await inPod('media-direct', 'sh', '-c', 'echo again > /media/a && cat /media/a')).stdout).toBe('again\n')
  })
})
