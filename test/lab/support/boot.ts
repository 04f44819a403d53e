/** From built parts to three Ready nodes: the control plane as processes of this machine, the nodes as systemd-nspawn machines. */
import { cpSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Api } from './api.js'
import { readBaseline, writeBaseline } from './baseline.js'
import {
  BRIDGE,
  type Folders,
  GATEWAY,
  type LabNode,
  NODES,
  operatorEnv,
  PORTS,
  REPOSITORY,
  SERVICE_NETWORK,
} from './config.js'
import { makeGroups } from './groups.js'
import { ENABLED, IMAGES, nodeFiles } from './node-files.js'
import { makePki } from './pki.js'
import { initOf, startProcess } from './processes.js'
import { check } from './run.js'
import { type State, writeState } from './state.js'
import { missing, waitFor } from './wait.js'

export type BootOptions = { signal?: AbortSignal; say?: (line: string) => void }

export async function boot(at: Folders, { signal, say = () => {} }: BootOptions = {}): Promise<void> {
  const started = Date.now()
  mkdirSync(at.run, { mode: 0o700 })
  const state: State = {
    ready: false,
    ipForward: readFileSync('/proc/sys/net/ipv4/ip_forward', 'utf8').trim(),
    inits: {},
  }
  // First of all, so that whatever happens now can be undone.
  writeState(at, state)
  const sh = (command: string, ...args: string[]) => check(command, args, { signal })

  makePki(at)
  mkdirSync(at.plugins)
  symlinkSync(join(REPOSITORY, 'bin/run.js'), join(at.plugins, 'kubectl-storage'))
  await sh('ip', 'link', 'add', BRIDGE, 'type', 'bridge')
  await sh('ip', 'addr', 'add', `${GATEWAY}/24`, 'dev', BRIDGE)
  await sh('ip', 'link', 'set', BRIDGE, 'up')
  writeFileSync('/proc/sys/net/ipv4/ip_forward', '1')

  signal?.throwIfAborted()
  startServers(at)
  mkdirSync(dirname(at.sshKey), { mode: 0o700 })
  await sh('ssh-keygen', '-q', '-t', 'ed25519', '-N', '', '-C', 'lab', '-f', at.sshKey)
  const machines = await Promise.all(NODES.map(async (node) => ({ node, pid: await startNode(at, node, sh) })))
  await waitFor('the API server', () => kubectl(at, signal, 'get', '--raw', '/readyz'), { timeoutMs: 90_000, signal })
  startControllers(at)

  for (const { node, pid } of machines)
    state.inits[node.name] = await waitFor(
      `the machine ${node.name}`,
      () => initOf(pid) ?? missing(`its first process; see ${join(at.run, `node-${node.name}.log`)}`),
      { signal, timeoutMs: 30_000 },
    )
  writeState(at, state)

  await waitFor('the nodes', () => nodesReady(at, signal), { timeoutMs: 180_000, signal })
  const role = 'node-role.kubernetes.io/control-plane'
  for (const { name } of NODES.filter(({ master }) => master)) {
    await kubectl(at, signal, 'taint', 'node', name, `${role}=:NoSchedule`, '--overwrite')
    await kubectl(at, signal, 'label', 'node', name, `${role}=`, '--overwrite')
  }
  await startProvisioner(at, signal)
  await waitFor(
    'the default service account',
    () => kubectl(at, signal, 'get', 'serviceaccount', 'default', '-n', 'default'),
    { signal },
  )
  writeBaseline(at, await readBaseline(new Api(at)))
  state.ready = true
  writeState(at, state)
  say(`up after ${((Date.now() - started) / 1000).toFixed(1)} s`)
}

async function kubectl(at: Folders, signal: AbortSignal | undefined, ...args: string[]): Promise<string> {
  return check(join(at.bin, 'kubectl'), ['--request-timeout=10s', ...args], {
    signal,
    env: operatorEnv(at),
  })
}

async function nodesReady(at: Folders, signal: AbortSignal | undefined) {
  const list = JSON.parse(await kubectl(at, signal, 'get', 'nodes', '-o', 'json')) as {
    items: {
      metadata: { name: string }
      status: { conditions?: { type: string; status: string; message: string }[] }
    }[]
  }
  const found = NODES.map(({ name }) => {
    const node = list.items.find((item) => item.metadata.name === name)
    if (!node) return `${name} has not registered`
    const ready = node.status.conditions?.find(({ type }) => type === 'Ready')
    return ready?.status === 'True' ? '' : `${name} is not Ready: ${ready?.message ?? 'no condition yet'}`
  }).filter((problem) => problem !== '')
  return found.length === 0 ? true : missing(found.join('; '))
}

function startServers(at: Folders): void {
  const [client, peer] = [`http://127.0.0.1:${PORTS.etcd}`, `http://127.0.0.1:${PORTS['etcd peers']}`]
  startProcess(at, 'etcd', join(at.bin, 'etcd'), [
    ...['--data-dir', join(at.run, 'etcd'), '--listen-client-urls', client, '--advertise-client-urls', client],
    ...['--listen-peer-urls', peer, '--initial-advertise-peer-urls', peer, '--initial-cluster', `default=${peer}`],
    '--unsafe-no-fsync',
  ])
  const pki = (file: string) => join(at.pki, file)
  startProcess(at, 'apiserver', join(at.bin, 'kube-apiserver'), [
    `--etcd-servers=${client}`,
    '--bind-address=0.0.0.0',
    `--advertise-address=${GATEWAY}`,
    `--secure-port=${PORTS['API server']}`,
    `--client-ca-file=${pki('ca.crt')}`,
    `--tls-cert-file=${pki('apiserver.crt')}`,
    `--tls-private-key-file=${pki('apiserver.key')}`,
    '--service-account-issuer=https://kubernetes.default.svc',
    `--service-account-key-file=${pki('sa.pub')}`,
    `--service-account-signing-key-file=${pki('sa.key')}`,
    '--authorization-mode=Node,RBAC',
    '--enable-admission-plugins=NodeRestriction',
    `--service-cluster-ip-range=${SERVICE_NETWORK}`,
    '--allow-privileged=true',
    `--kubelet-client-certificate=${pki('kubelet-client.crt')}`,
    `--kubelet-client-key=${pki('kubelet-client.key')}`,
    `--kubelet-certificate-authority=${pki('ca.crt')}`,
    '--kubelet-preferred-address-types=InternalIP',
  ])
}

function startControllers(at: Folders): void {
  startProcess(at, 'controllers', join(at.bin, 'kube-controller-manager'), [
    `--kubeconfig=${join(at.pki, 'controllers.kubeconfig')}`,
    `--service-account-private-key-file=${join(at.pki, 'sa.key')}`,
    `--root-ca-file=${join(at.pki, 'ca.crt')}`,
    '--use-service-account-credentials',
    '--leader-elect=false',
    '--allocate-node-cidrs=false',
    // A volume and a claim that name each other may miss each other's creation; then only this brings them together (15 s by default).
    '--pvclaimbinder-sync-period=2s',
  ])
  const config = join(at.run, 'scheduler.json')
  writeFileSync(config, JSON.stringify(schedulerConfig(at)))
  startProcess(at, 'scheduler', join(at.bin, 'kube-scheduler'), [
    `--config=${config}`,
    // Five minutes by default. What no event made it look at again it looks at after this time, every half minute.
    '--pod-max-in-unschedulable-pods-duration=5s',
  ])
}

function schedulerConfig(at: Folders): object {
  return {
    apiVersion: 'kubescheduler.config.k8s.io/v1',
    kind: 'KubeSchedulerConfiguration',
    clientConnection: { kubeconfig: join(at.pki, 'scheduler.kubeconfig') },
    leaderElection: { leaderElect: false },
    // Ten by default: the one thing that a test would wait for to know that a Pending pod stays so.
    podMaxBackoffSeconds: 1,
  }
}

async function startNode(
  at: Folders,
  node: LabNode,
  sh: (command: string, ...args: string[]) => Promise<string>,
): Promise<number> {
  const folder = join(at.run, 'nodes', node.name)
  const root = join(folder, 'root')
  for (const name of ['upper', 'work', 'root', 'containerd']) mkdirSync(join(folder, name), { recursive: true })
  const layers = `lowerdir=${at.rootfs},upperdir=${join(folder, 'upper')},workdir=${join(folder, 'work')}`
  await sh('mount', '-t', 'overlay', 'overlay', '-o', layers, root)

  for (const [path, content] of Object.entries(nodeFiles(node))) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), content)
  }
  for (const unit of ENABLED)
    symlinkSync(`/etc/systemd/system/${unit}`, join(root, '/etc/systemd/system/multi-user.target.wants', unit))
  for (const file of ['crt', 'key', 'kubeconfig'])
    cpSync(join(at.pki, `node-${node.name}.${file}`), join(root, `/etc/kubernetes/node.${file}`))
  cpSync(join(at.pki, 'ca.crt'), join(root, '/etc/kubernetes/ca.crt'))

  // The package made one set of host keys for the common root; each node gets a key of its own instead.
  for (const kind of ['rsa', 'ecdsa', 'ed25519'])
    for (const end of ['', '.pub']) rmSync(join(root, `/etc/ssh/ssh_host_${kind}_key${end}`), { force: true })
  const hostKey = join(root, '/etc/ssh/ssh_host_ed25519_key')
  await sh('ssh-keygen', '-q', '-t', 'ed25519', '-N', '', '-C', node.name, '-f', hostKey)
  const [kind, key] = readFileSync(`${hostKey}.pub`, 'utf8').split(' ')
  writeFileSync(at.knownHosts, `${node.name},${node.address} ${kind} ${key}\n`, { flag: 'a' })
  mkdirSync(join(root, '/root/.ssh'), { recursive: true, mode: 0o700 })
  writeFileSync(join(root, '/root/.ssh/authorized_keys'), readFileSync(`${at.sshKey}.pub`))

  const groups = makeGroups(node.name).map((file) => `echo $$ > ${file}`)
  return startProcess(at, `node-${node.name}`, 'sh', [
    ...['-c', [...groups, 'exec "$@"'].join('; '), 'sh', 'systemd-nspawn'],
    ...['--directory', root, '--boot', '--machine', node.name],
    // Nothing of this machine's systemd takes part, if it has one, and nothing is written to its journal.
    ...['--register=no', '--keep-unit', '--link-journal=no', '--resolv-conf=off', '--timezone=off'],
    ...['--network-bridge', BRIDGE, '--bind=/dev/fuse', '--bind=/dev/kmsg'],
    `--bind-ro=${join(at.bin, 'kubelet')}:/usr/local/bin/kubelet`,
    `--bind-ro=${at.images}:${IMAGES}`,
    // On the disk itself: containerd's own overlays can't be stacked on the node's.
    `--bind=${join(folder, 'containerd')}:/var/lib/containerd`,
    '--capability=all',
    '--system-call-filter=@keyring @privileged @mount bpf perf_event_open',
  ])
}

async function startProvisioner(at: Folders, signal: AbortSignal | undefined): Promise<void> {
  await kubectl(at, signal, 'apply', '-f', join(REPOSITORY, 'test/lab/manifests/local-path.yaml'))
  const namespace = 'local-path-storage'
  const config = join(at.run, 'local-path.json')
  const map = ['get', 'configmap', 'local-path-config', '-n', namespace, '-o', 'jsonpath={.data.config\\.json}']
  writeFileSync(config, await kubectl(at, signal, ...map))
  startProcess(
    at,
    'local-path',
    join(at.bin, 'local-path-provisioner'),
    [
      ...['start', '--kubeconfig', at.kubeconfig, '--config', config, '--namespace', namespace],
      ...['--configmap-name', 'local-path-config', '--helper-image', 'busybox'],
      ...['--service-account-name', 'local-path-provisioner-service-account'],
    ],
    { POD_NAMESPACE: namespace },
  )
}
