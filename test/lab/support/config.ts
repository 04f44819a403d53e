/** What the lab is made of: one place for names, addresses and folders. */
import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'

export type LabNode = { name: string; address: string; podSubnet: string; master: boolean }

export const NODES: LabNode[] = [
  { name: 'master', address: '10.99.0.10', podSubnet: '10.244.0.0/24', master: true },
  { name: 'k8s-node-1', address: '10.99.0.11', podSubnet: '10.244.1.0/24', master: false },
  { name: 'k8s-node-2', address: '10.99.0.12', podSubnet: '10.244.2.0/24', master: false },
]

export const POD_NETWORK = '10.244.0.0/16'
export const SERVICE_NETWORK = '10.96.0.0/16'
/** The API server as pods know it. */
export const SERVICE_ADDRESS = '10.96.0.1'

export const BRIDGE = 'lab0'
/** This machine, as the nodes see it. */
export const GATEWAY = '10.99.0.1'

/** On the loopback or on every address. */
export const PORTS = {
  etcd: 2379,
  'etcd peers': 2380,
  'API server': 6443,
  'controller manager': 10257,
  scheduler: 10259,
  // The control plane without nodes of scheduler.lab.test.ts: three in a row.
  'second API server': 26443,
  'second etcd': 26444,
  'second etcd peers': 26445,
}
/** Only on the bridge. */
export const S3_PORT = 5000
export const S3_ENDPOINT = `http://${GATEWAY}:${S3_PORT}`

/** The environment variable that marks every process of a lab; its value is the lab's `run` folder. */
export const MARK = 'KUBECTL_STORAGE_LAB_RUN'

/** Looked for upwards, since scripts/run-ts.js runs this from a bundle elsewhere in the repository. */
export const REPOSITORY = (() => {
  let folder = import.meta.dirname
  while (!existsSync(join(folder, 'package.json'))) folder = dirname(folder)
  return folder
})()

export type Folders = {
  /** What is built, kept between runs. */
  cache: string
  bin: string
  images: string
  rootfs: string
  /** What a running lab writes; gone when it is down. */
  run: string
  pki: string
  /** Holds `kubectl-storage`, for kubectl to find. */
  plugins: string
  kubeconfig: string
  /** The private key for root on the nodes, and their host keys. */
  sshKey: string
  knownHosts: string
  state: string
  /** What the processes of the last lab wrote. */
  logs: string
}

/** The environment of an operator of this cluster: its kubeconfig, its kubectl, and `kubectl storage`. */
export function operatorEnv(at: Folders): NodeJS.ProcessEnv {
  return {
    ...process.env,
    KUBECONFIG: at.kubeconfig,
    // kubectl would keep what it discovers in the home directory.
    KUBECACHEDIR: join(at.run, 'kubectl'),
    PATH: `${at.plugins}:${at.bin}:${process.env.PATH ?? ''}`,
    NO_COLOR: '1',
  }
}

export function folders(env: NodeJS.ProcessEnv = process.env): Folders {
  const cache = env.KUBECTL_STORAGE_LAB || join(env.HOME || homedir(), '.cache', 'kubectl-storage-lab')
  const run = join(cache, 'run')
  const pki = join(run, 'pki')
  return {
    cache,
    bin: join(cache, 'bin'),
    images: join(cache, 'images'),
    rootfs: join(cache, 'rootfs'),
    run,
    pki,
    plugins: join(run, 'plugins'),
    kubeconfig: join(pki, 'admin.kubeconfig'),
    sshKey: join(run, 'ssh', 'id'),
    knownHosts: join(run, 'ssh', 'known_hosts'),
    state: join(run, 'state.json'),
    logs: join(cache, 'logs'),
  }
}
