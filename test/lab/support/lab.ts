/**
 * The lab as tests use it:
 *
 *   const lab = Lab.connect()                      // the lab that `npm run test:lab` or `npm run lab:up` started
 *   beforeEach(() => lab.reset())                  // objects, nodes, disks, mounts, directories: as it came up
 *   await lab.start('cache')                       // a scene of scenes.ts; resolves when it stands
 *   await lab.apply(`apiVersion: v1 …`)            // YAML text, or objects
 *   await lab.kubectl(['drain', 'k8s-node-2'])     // stdout; throws on another exit code (tryKubectl: {code, stdout, stderr})
 *   await lab.get<Pod>('pod', 'web-0', '-n', 'demo')    // one object;  lab.list<Pod>('pods', '-A') its items
 *   await lab.plugin(['drain-check', 'k8s-node-2', '-o', 'json'])   // {code, stdout, stderr, json}
 *   await lab.enter('k8s-node-1', 'findmnt')       // a shell script inside the node, as root
 *   lab.ssh('k8s-node-1')                          // how to reach it from outside
 *   await lab.waitFor('db is bound', async () => … ?? missing('phase Pending'), { timeoutMs })
 *   lab.random('what it is for')                   // numbers from the run's seed, which is printed;  lab.full: the whole suite
 */
import { join } from 'node:path'
import { Api } from './api.js'
import { otherSuite } from './claim.js'
import { type Folders, folders, GATEWAY, NODES, operatorEnv, REPOSITORY, S3_ENDPOINT, S3_PORT } from './config.js'
import { attachDisk } from './disks.js'
import { IMAGES } from './node-files.js'
import { startProcess } from './processes.js'
import { reset } from './reset.js'
import { check, type Ran, type RunOptions, run } from './run.js'
import { scene } from './scenes.js'
import { numbers } from './share.js'
import { readState, type State } from './state.js'
import { type Missing, missing, type WaitOptions, waitFor } from './wait.js'

export { Missing, missing } from './wait.js'

/** Set by `npm run test:lab -- --full`. */
export const FULL = 'KUBECTL_STORAGE_LAB_FULL'
/** Chosen by the global setup unless it is set already. */
export const SEED = 'KUBECTL_STORAGE_LAB_SEED'

export type KubeObject = {
  apiVersion: string
  kind: string
  metadata: { name: string; namespace?: string; uid?: string; [key: string]: unknown }
  status?: { phase?: string; [key: string]: unknown }
  [key: string]: unknown
}

export type Pod = KubeObject & {
  spec: { nodeName?: string }
  status: {
    phase: string
    nominatedNodeName?: string
    conditions?: { type: string; status: string; reason?: string; message?: string }[]
    containerStatuses?: { ready: boolean; state: Record<string, { reason?: string; message?: string }> }[]
  }
}

export type PluginRun = Ran & {
  /** What `-o json` printed; undefined when stdout is no JSON. */
  json: unknown
}

export type Ssh = { host: string; port: number; user: string; privateKeyFile: string; knownHostsFile: string }

export class Lab {
  private constructor(
    readonly at: Folders,
    private readonly state: State,
  ) {
    this.api = new Api(at)
  }

  /** The lab that is up. A test never starts one by itself: who starts it takes it down. */
  static connect(at: Folders = folders()): Lab {
    const state = readState(at)
    if (!state?.ready)
      throw new Error('no lab is up: npm run test:lab runs the suite in one, npm run lab:up starts one')
    const other = otherSuite(at)
    if (other !== undefined) throw new Error(`a run of the suite, process ${other}, uses the lab that is up`)
    return new Lab(at, state)
  }

  readonly nodes = NODES
  readonly api: Api

  get kubeconfig(): string {
    return this.at.kubeconfig
  }

  /** Whether the whole suite was asked for, not the share that a usual run takes. */
  get full(): boolean {
    return process.env[FULL] === '1'
  }

  get seed(): number {
    return Number(process.env[SEED] ?? 1)
  }

  /** Numbers in [0, 1) that follow from the run's seed and from what they are for. */
  random(purpose: string): () => number {
    return numbers(this.seed, purpose)
  }

  get env(): NodeJS.ProcessEnv {
    return operatorEnv(this.at)
  }

  tryKubectl(args: string[], options: RunOptions = {}): Promise<Ran> {
    return run(join(this.at.bin, 'kubectl'), args, { env: this.env, ...options })
  }

  async kubectl(args: string[], options: RunOptions = {}): Promise<string> {
    return check(join(this.at.bin, 'kubectl'), args, { env: this.env, ...options })
  }

  async get<T extends KubeObject = KubeObject>(...args: string[]): Promise<T> {
    return JSON.parse(await this.kubectl(['get', ...args, '--output=json'])) as T
  }

  async list<T extends KubeObject = KubeObject>(...args: string[]): Promise<T[]> {
    return (JSON.parse(await this.kubectl(['get', ...args, '--output=json'])) as { items: T[] }).items
  }

  async apply(manifest: string | object | object[]): Promise<void> {
    const items = Array.isArray(manifest) ? manifest : [manifest]
    const input = typeof manifest === 'string' ? manifest : JSON.stringify({ apiVersion: 'v1', kind: 'List', items })
    await this.kubectl(['apply', '--filename=-'], { input })
  }

  async namespace(name: string): Promise<void> {
    await this.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } })
    // Pods are refused until it is there.
    await this.waitFor(`namespace ${name}`, () => this.api.get(`/api/v1/namespaces/${name}/serviceaccounts/default`))
  }

  /** Runs what a user runs, the built program. Exit codes are the caller's to judge. */
  async plugin(args: string[], options: RunOptions = {}): Promise<PluginRun> {
    const ran = await run(process.execPath, [join(REPOSITORY, 'bin/run.js'), ...args], { env: this.env, ...options })
    return { ...ran, json: parsed(ran.stdout) }
  }

  /** A shell script inside a node, as root in all its namespaces. */
  async enter(node: string, script: string, options: RunOptions = {}): Promise<string> {
    const { code, stdout, stderr } = await this.tryEnter(node, script, options)
    if (code !== 0) throw new Error(`on ${node}: ${script.trim()}: exit ${code}\n${stderr.trim()}`)
    return stdout
  }

  tryEnter(node: string, script: string, options: RunOptions = {}): Promise<Ran> {
    const init = this.state.inits[node]
    if (init === undefined) throw new Error(`no node ${node}`)
    const env = { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C.UTF-8' }
    return run('nsenter', enterArguments(init, ['/bin/sh', '-c', script]), { env, ...options })
  }

  ssh(node: string): Ssh {
    const found = this.nodes.find(({ name }) => name === node)
    if (found === undefined) throw new Error(`no node ${node}`)
    return {
      host: found.address,
      port: 22,
      user: 'root',
      privateKeyFile: this.at.sshKey,
      knownHostsFile: this.at.knownHosts,
    }
  }

  /** Asks until the probe returns anything but `missing(…)`; when time runs out the error says what was missing last. */
  waitFor<T>(what: string, probe: () => T | Missing | Promise<T | Missing>, options: WaitOptions = {}): Promise<T> {
    return waitFor(what, probe, options)
  }

  /** Waits until there are so many pods of a selector (all of the namespace without one) and all are ready. */
  async podsReady(
    namespace: string,
    count: number,
    selector = '',
    { field = '', ...options }: WaitOptions & { field?: string } = {},
  ): Promise<Pod[]> {
    return this.waitFor(
      `${count} ready pods ${selector || field} in ${namespace}`,
      async () => {
        const which = new URLSearchParams({ labelSelector: selector, fieldSelector: field })
        const { items: pods } = await this.api.get<{ items: Pod[] }>(`/api/v1/namespaces/${namespace}/pods?${which}`)
        const waiting = pods.filter((pod) => !isReady(pod)).map((pod) => `${pod.metadata.name} is ${describe(pod)}`)
        if (pods.length !== count) waiting.unshift(`${pods.length} of ${count} pods are there`)
        return waiting.length === 0 ? pods : missing(waiting.join('; '))
      },
      { timeoutMs: 90_000, ...options },
    )
  }

  /** The scheduler's newest word on a pod that stays Pending. */
  async unschedulable(namespace: string, name: string, options: WaitOptions = {}): Promise<string> {
    return this.waitFor(
      `the scheduler's word on ${namespace}/${name}`,
      async () => {
        const pod = await this.api.get<Pod>(`/api/v1/namespaces/${namespace}/pods/${name}`)
        const scheduled = pod.status.conditions?.find(({ type }) => type === 'PodScheduled')
        return scheduled?.reason === 'Unschedulable' ? (scheduled.message ?? '') : missing(describe(pod))
      },
      options,
    )
  }

  /** Sets up a named scene and waits until it stands. Scenes can stand beside each other. */
  async start(name: string): Promise<void> {
    await scene(name).start(this)
  }

  reset(): Promise<void> {
    return reset(this)
  }

  /** Gives a node an ext4 file system of its own at /mnt/disks/NAME. */
  attachDisk(node: string, name: string, mebibytes: number): Promise<string> {
    return attachDisk(this, node, name, mebibytes)
  }

  /** Makes one of the cache's images known to a node's containerd, if it is not yet. */
  async loadImage(node: string, image: string): Promise<void> {
    const mark = `/run/lab-image-${image}`
    await this.enter(node, `[ -e ${mark} ] || { ctr -n k8s.io images import ${IMAGES}/${image}.tar && touch ${mark}; }`)
  }

  /** The S3 server on the bridge, started when a scene first asks for it. */
  async startS3(): Promise<void> {
    const there = async () => (await fetch(`${S3_ENDPOINT}/moto-api/`).catch(() => undefined))?.ok === true
    if (await there()) return
    startProcess(this.at, 's3', join(this.at.cache, 's3', 'bin', 'moto_server'), ['-H', GATEWAY, '-p', String(S3_PORT)])
    await this.waitFor('the S3 server', async () => ((await there()) ? true : missing('an answer')), {
      timeoutMs: 30_000,
    })
  }
}

/** For nsenter: all of the node's namespaces. */
export function enterArguments(init: number, command: string[]): string[] {
  return ['--target', String(init), '-m', '-u', '-i', '-n', '-p', '-C', '--', ...command]
}

export function isReady(pod: Pod): boolean {
  return pod.status.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') === true
}

function describe({ metadata, status }: Pod): string {
  const state = Object.values(status.containerStatuses?.[0]?.state ?? {})[0]
  const scheduled = status.conditions?.find(({ type }) => type === 'PodScheduled')
  const going = metadata.deletionTimestamp === undefined ? '' : ', being deleted'
  return [status.phase + going, state?.reason, state?.message, scheduled?.message].filter(Boolean).join(', ')
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
