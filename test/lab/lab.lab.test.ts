/** The lab itself and the API that the other suites use. */
import { beforeEach, describe, expect, it } from 'vitest'
import { Lab, missing } from './support/lab.js'
import { run } from './support/run.js'

const lab = Lab.connect()
beforeEach(() => lab.reset())

const sleeper = (name: string, extra: object = {}) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace: 'scratch' },
  spec: {
    containers: [{ name: 'app', image: 'busybox', imagePullPolicy: 'IfNotPresent', command: ['sleep', 'infinity'] }],
    ...extra,
  },
})

describe('the cluster', () => {
  it('has three Ready nodes of Kubernetes 1.34.4, the master tainted', async () => {
    const nodes = await lab.list('nodes')
    expect(nodes.map(({ metadata }) => metadata.name)).toEqual(['k8s-node-1', 'k8s-node-2', 'master'])
    for (const { status } of nodes) expect(status?.nodeInfo).toMatchObject({ kubeletVersion: 'v1.34.4' })
    const master = await lab.get('node', 'master')
    expect(master.spec).toMatchObject({
      taints: [{ key: 'node-role.kubernetes.io/control-plane', effect: 'NoSchedule' }],
    })
  })

  it('has nodes with systemd, D-Bus and containerd of their own', async () => {
    const ids = await Promise.all(
      lab.nodes.map(async ({ name }) => {
        expect((await lab.enter(name, 'hostname')).trim()).toBe(name)
        expect((await lab.enter(name, 'systemctl is-active dbus containerd kubelet ssh')).trim()).toMatch(
          /^active\nactive\nactive\nactive$/,
        )
        return (await lab.enter(name, 'cat /etc/machine-id')).trim()
      }),
    )
    expect(new Set(ids).size).toBe(3)
  })

  it('keeps units of the same name on two nodes apart', async () => {
    const pids = async (node: string) => (await lab.enter(node, 'systemctl show -p MainPID --value same')).trim()
    for (const { name } of lab.nodes) await lab.enter(name, 'systemd-run --quiet --unit=same sleep 1000')
    await lab.enter('k8s-node-1', 'systemctl stop same')
    expect(await pids('k8s-node-1')).toBe('0')
    expect(await pids('k8s-node-2')).not.toBe('0')
    for (const { name } of lab.nodes) await lab.enter(name, 'systemctl stop same 2>/dev/null || true')
  })

  it('is reached by ssh, each node by a host key of its own', async () => {
    const prints = new Set<string>()
    for (const { name } of lab.nodes) {
      const { host, port, user, privateKeyFile, knownHostsFile } = lab.ssh(name)
      const { code, stdout, stderr } = await run('ssh', [
        ...['-F', 'none', '-o', 'BatchMode=yes', '-o', 'StrictHostKeyChecking=yes'],
        ...['-o', `UserKnownHostsFile=${knownHostsFile}`, '-o', 'GlobalKnownHostsFile=none'],
        ...['-o', 'IdentitiesOnly=yes', '-i', privateKeyFile, '-p', String(port), `${user}@${host}`],
        'hostname; cat /etc/ssh/ssh_host_ed25519_key.pub',
      ])
      expect(stderr).toBe('')
      expect(code).toBe(0)
      expect(stdout.split('\n')[0]).toBe(name)
      prints.add(stdout)
    }
    expect(prints.size).toBe(3)
  })

  it('lets pods of two nodes talk', async () => {
    await lab.namespace('scratch')
    await lab.apply([
      sleeper('one', { nodeSelector: { 'kubernetes.io/hostname': 'k8s-node-1' }, terminationGracePeriodSeconds: 1 }),
      sleeper('two', { nodeSelector: { 'kubernetes.io/hostname': 'k8s-node-2' }, terminationGracePeriodSeconds: 1 }),
    ])
    const pods = await lab.podsReady('scratch', 2)
    const address = pods.find(({ metadata }) => metadata.name === 'two')?.status.podIP
    await lab.kubectl(['exec', 'one', '--namespace', 'scratch', '--', 'ping', '-c', '1', '-W', '5', String(address)])
  })
})

describe('the API', () => {
  it('runs the plugin that was built, with its exit code and its document', async () => {
    await lab.start('debug-shell')
    const { code, json } = await lab.plugin(['drain-check', 'k8s-node-2', '-o', 'json'])
    expect(code).toBe(3)
    expect(json).toMatchObject({
      kind: 'DrainReport',
      complete: true,
      pods: [{ namespace: 'demo', name: 'debug-shell', verdict: 'gone' }],
    })
  })

  it('has kubectl storage, as an operator has it', async () => {
    const { stderr } = await lab.tryKubectl(['storage', 'drain-check', 'no-such-node'])
    expect(stderr).toContain('no-such-node')
    expect(JSON.parse(await lab.kubectl(['version', '--output=json']))).toMatchObject({
      clientVersion: { gitVersion: 'v1.34.4' },
      serverVersion: { gitVersion: 'v1.34.4' },
    })
  })

  it('says what is missing when a wait ends', async () => {
    await expect(lab.waitFor('a wonder', () => missing('the wonder'), { timeoutMs: 10 })).rejects.toThrow(
      /a wonder: not after 0 s; missing: the wonder/,
    )
    await lab.namespace('scratch')
    await lab.apply(sleeper('alone', { nodeSelector: { 'kubernetes.io/hostname': 'nowhere' } }))
    await expect(lab.podsReady('scratch', 1, '', { timeoutMs: 3000 })).rejects.toThrow(
      /alone is Pending, 0\/3 nodes are available/,
    )
  })

  it('gives the same numbers for the same purpose, others for another', () => {
    const [one, again, other] = [lab.random('a'), lab.random('a'), lab.random('b')]
    const numbers = [one(), one(), one()]
    expect([again(), again(), again()]).toEqual(numbers)
    expect(other()).not.toBe(numbers[0])
    for (const number of numbers) expect(number).toBeGreaterThanOrEqual(0)
    for (const number of numbers) expect(number).toBeLessThan(1)
  })
})

describe('reset', () => {
  it('takes back whatever a test did', async () => {
    await lab.start('cache')
    await lab.start('db')
    await lab.kubectl(['label', 'node', 'k8s-node-2', 'rack=7'])
    await lab.kubectl(['label', 'node', 'k8s-node-2', 'kubernetes.io/hostname=renamed', '--overwrite'])
    await lab.apply([
      { apiVersion: 'scheduling.k8s.io/v1', kind: 'PriorityClass', metadata: { name: 'scratch' }, value: 7 },
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'scratch' } },
    ])
    await lab.namespace('scratch')
    // Neither would go by itself in time.
    await lab.apply(sleeper('slow', { terminationGracePeriodSeconds: 600 }))
    await lab.apply({
      ...sleeper('held'),
      metadata: { name: 'held', namespace: 'scratch', finalizers: ['example.com/held'] },
    })
    await lab.podsReady('scratch', 2)
    await lab.kubectl(['delete', 'pod', 'slow', '--namespace', 'scratch', '--wait=false'])
    await lab.start('taints')
    await lab.kubectl(['cordon', 'k8s-node-2'])
    await lab.enter('k8s-node-1', 'mkdir -p /srv/reports && touch /srv/reports/file')

    await lab.reset()
    expect((await lab.list('pods', '-A')).map(({ metadata }) => metadata.name)).toEqual([])
    expect((await lab.list('pv')).map(({ metadata }) => metadata.name)).toEqual([])
    expect((await lab.list('sc')).map(({ metadata }) => metadata.name)).toEqual(['local-path'])
    expect((await lab.list('namespaces')).map(({ metadata }) => metadata.name)).not.toContain('scratch')
    const { metadata, spec } = await lab.get('node', 'k8s-node-2')
    expect(metadata.labels).toMatchObject({ 'kubernetes.io/hostname': 'k8s-node-2' })
    expect(metadata.labels).not.toHaveProperty('rack')
    expect(spec).not.toHaveProperty('unschedulable')
    expect((await lab.get('node', 'k8s-node-1')).spec).not.toHaveProperty('taints')
    for (const node of ['k8s-node-1', 'k8s-node-2'])
      expect(
        await lab.enter(node, 'ls -A /srv /mnt; ls -A /opt/local-path-provisioner /dev/lab-* 2>/dev/null; true'),
      ).toBe('/mnt:\n\n/srv:\n')
    expect((await run('losetup', ['--list', '--noheadings'])).stdout).not.toContain(lab.at.run)
  })
})
