/** Each scene stands, and is what it says. */
import { beforeEach, describe, expect, it } from 'vitest'
import { Lab, type Pod } from './support/lab.js'
import { DISK_VOLUME, NAMESPACE, SCENES } from './support/scenes.js'

const lab = Lab.connect()
beforeEach(() => lab.reset())

const inDemo = (what: string, ...args: string[]) => [what, '--namespace', NAMESPACE, ...args]
const pods = (selector: string) => lab.list<Pod>(...inDemo('pods', '--selector', selector))

describe('the scenes', () => {
  it('have names and titles', () => {
    expect(new Set(SCENES.map(({ name }) => name)).size).toBe(SCENES.length)
    for (const { title } of SCENES) expect(title).not.toBe('')
  })

  it('cache: a directory of k8s-node-2, which takes more than it was asked for', async () => {
    await lab.start('cache')
    const [volume] = await lab.list('pv')
    expect(JSON.stringify(volume?.spec)).toContain('"values":["k8s-node-2"]')
    await lab.kubectl(
      inDemo('exec', 'deployment/cache', '--', 'dd', 'if=/dev/zero', 'of=/data/big', 'bs=1M', 'count=200'),
    )
    const listing = await lab.enter('k8s-node-2', 'stat -c "%a %n" /opt/local-path-provisioner/*')
    expect(listing).toMatch(/^777 .*_demo_cache\n$/)
  })

  it('db: a disk of its own, which is full when it is full', async () => {
    await lab.start('db')
    const { status } = await lab.get('pv', DISK_VOLUME)
    expect(status?.phase).toBe('Bound')
    expect((await lab.get<Pod>(...inDemo('pod', 'db'))).spec.nodeName).toBe('k8s-node-1')
    expect(await lab.enter('k8s-node-1', 'findmnt -no FSTYPE /mnt/disks/disk1')).toBe('ext4\n')
    const full = await lab.tryKubectl(
      inDemo('exec', 'db', '--', 'dd', 'if=/dev/zero', 'of=/data/big', 'bs=1M', 'count=400'),
    )
    expect(full.code).not.toBe(0)
    expect(full.stderr).toContain('No space left on device')
  })

  it('released: the disk keeps its data, and db2 waits for ever', async () => {
    await lab.start('released')
    const { spec } = await lab.get('pv', DISK_VOLUME)
    expect(spec).toMatchObject({ claimRef: { namespace: NAMESPACE, name: 'db' } })
    expect(await lab.enter('k8s-node-1', 'ls /mnt/disks/disk1')).toBe('big\nlost+found\n')
    expect(await lab.unschedulable(NAMESPACE, 'db2')).toMatch(
      /^0\/3 nodes are available: 1 node\(s\) had untolerated taint\(s\), 2 node\(s\) didn't find available persistent volumes to bind\./,
    )
  })

  it('web: a drain is held by the budget', async () => {
    await lab.start('web')
    const [pod] = await pods('app=web')
    const drain = ['drain', String(pod?.spec.nodeName), '--delete-emptydir-data', '--timeout=6s']
    const { code, stderr } = await lab.tryKubectl(drain)
    expect(code).toBe(1)
    expect(stderr).toContain("Cannot evict pod as it would violate the pod's disruption budget")
  })

  it('reports: comes up elsewhere over an empty directory, without a word', async () => {
    await lab.start('reports')
    await lab.kubectl(inDemo('exec', 'reports-0', '--', 'touch', '/reports/file'))
    const { spec } = await lab.get<Pod>(...inDemo('pod', 'reports-0'))
    await lab.kubectl(['drain', String(spec.nodeName), '--force', '--timeout=60s'])
    const [moved] = await lab.podsReady(NAMESPACE, 1, 'app=reports')
    expect(moved?.spec.nodeName).not.toBe(spec.nodeName)
    expect(await lab.kubectl(inDemo('exec', 'reports-0', '--', 'ls', '/reports'))).toBe('')
  })

  it('queue: three claims, each with a volume on the node of its pod', async () => {
    await lab.start('queue')
    const volumes = await lab.list('pv')
    expect(volumes).toHaveLength(3)
    for (const pod of await pods('app=queue')) {
      const claim = await lab.get(...inDemo('pvc', `data-${pod.metadata.name}`))
      const volume = volumes.find(({ metadata }) => metadata.name === (claim.spec as { volumeName: string }).volumeName)
      expect(JSON.stringify(volume?.spec)).toContain(`"values":["${pod.spec.nodeName}"]`)
    }
  })

  it('unbound: three claims wait, one has a node chosen', async () => {
    await lab.start('unbound')
    const claims = await lab.list(...inDemo('pvc'))
    expect(claims.map(({ metadata, status }) => [metadata.name, status?.phase])).toEqual([
      ['later', 'Pending'],
      ['lost', 'Pending'],
      ['none', 'Pending'],
    ])
    expect(claims[1]?.metadata.annotations).toMatchObject({ 'volume.kubernetes.io/selected-node': 'k8s-node-2' })
  })

  it('taints: plain has only k8s-node-2', async () => {
    await lab.start('taints')
    await lab.kubectl(['drain', 'k8s-node-2', '--timeout=60s'])
    const [batch] = await lab.podsReady(NAMESPACE, 1, 'app=batch')
    expect(batch?.spec.nodeName).toBe('k8s-node-1')
    const [plain] = await pods('app=plain')
    expect(await lab.unschedulable(NAMESPACE, String(plain?.metadata.name))).toContain('untolerated taint')
  })

  it('debug-shell and node-agent: one is gone after a drain, one stays', async () => {
    await lab.start('debug-shell')
    await lab.start('node-agent')
    await lab.kubectl(['drain', 'k8s-node-2', '--force', '--ignore-daemonsets', '--timeout=60s'])
    expect((await lab.tryKubectl(inDemo('get', 'pod', 'debug-shell'))).stderr).toContain('NotFound')
    expect(await lab.list('pods', '--namespace', 'kube-system', '-l', 'app=node-agent')).toHaveLength(2)
  })
})
