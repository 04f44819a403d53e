/**
 * A CSI node driver for the lab only, which leaves on a node what k8s-csi-s3 with GeeseFS leaves there. The FUSE program is s3fs, under
 * the name of geesefs. Runs in a privileged pod in the node's pid namespace.
 */
import { spawn, spawnSync } from 'node:child_process'
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import * as grpc from '@grpc/grpc-js'
import { loadSync } from '@grpc/proto-loader'
import { DRIVER, dropInFolder, unitOf } from './handle.js'

const KUBELET = '/var/lib/kubelet'
const PLUGIN = join(KUBELET, 'plugins', DRIVER)
const SOCKET = join(PLUGIN, 'csi.sock')
const REGISTRATION = join(KUBELET, 'plugins_registry', `${DRIVER}-reg.sock`)
const BINARY = join(PLUGIN, 'geesefs')

type Map = Record<string, string>
type Request = {
  volumeId: string
  stagingTargetPath: string
  targetPath: string
  readonly: boolean
  secrets: Map
  volumeContext: Map
}

/** Runs in the node's own namespaces, as systemd there would. */
function onNode(...command: string[]): string {
  const { status, stdout, stderr, error } = spawnSync(
    'nsenter',
    ['-t', '1', '-m', '-u', '-i', '-n', '-p', '--', ...command],
    {
      encoding: 'utf8',
    },
  )
  if (error) throw error
  if (status !== 0) throw new Error(`${command[0]} exited ${status}: ${stderr.trim()}`)
  return stdout
}

function run(...command: [string, ...string[]]): void {
  const { status, stderr, error } = spawnSync(command[0], command.slice(1), { encoding: 'utf8' })
  if (error) throw error
  if (status !== 0) throw new Error(`${command.join(' ')} exited ${status}: ${stderr.trim()}`)
}

/** The mount table alone: no path is touched, since a dead FUSE mount answers nothing. */
function mounted(path: string): boolean {
  return readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .some((line) => line.split(' ')[4] === path)
}

async function untilMounted(path: string, alive: () => boolean): Promise<void> {
  const deadline = Date.now() + 10_000
  while (!mounted(path)) {
    if (!alive()) throw new Error(`the FUSE process ended before it had mounted ${path}`)
    if (Date.now() > deadline) throw new Error(`${path} is not mounted after 10 s`)
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}

/** Part of a bucket can only be mounted when it is there. The lab's server looks into no signature, but wants one. */
async function makePrefix(endpoint: string, bucket: string, prefix: string): Promise<void> {
  for (const path of [bucket, `${bucket}/${prefix}/`]) {
    const authorization = 'AWS4-HMAC-SHA256 Credential=lab/20260101/us-east-1/s3/aws4_request'
    const response = await fetch(`${endpoint}/${path}`, { method: 'PUT', headers: { authorization } })
    // 409: the bucket is there already.
    if (!response.ok && response.status !== 409) throw new Error(`PUT ${path}: ${response.status}`)
  }
}

function copyBinary(): void {
  // In one step, for another volume's process may be starting from it.
  copyFileSync('/usr/bin/geesefs', `${BINARY}.new`)
  chmodSync(`${BINARY}.new`, 0o755)
  renameSync(`${BINARY}.new`, BINARY)
}

async function stage({ volumeId, stagingTargetPath, secrets, volumeContext }: Request): Promise<void> {
  if (mounted(stagingTargetPath)) return
  const { accessKeyID = '', secretAccessKey = '', endpoint = '' } = secrets
  const [bucket = '', prefix = ''] = volumeId.split('/')
  const asked = (volumeContext.options ?? '').split(' ').filter((option) => option !== '')
  const direct = asked.includes('--no-systemd')
  await makePrefix(endpoint, bucket, prefix)
  mkdirSync(stagingTargetPath, { recursive: true })
  // As drivers do that start a pod for each volume; here the scene has made that pod.
  if (asked.includes('--mounter-pod')) return untilMounted(stagingTargetPath, () => true)

  const environment = [`AWS_ACCESS_KEY_ID=${accessKeyID}`, `AWS_SECRET_ACCESS_KEY=${secretAccessKey}`]
  const options = `url=${endpoint},use_path_request_style,allow_other,nonempty,subtype=geesefs,fsname=${bucket}`
  const args = ['-f', '-o', options, `${bucket}:/${prefix}`, stagingTargetPath]

  if (direct) {
    const child = spawn('/usr/bin/geesefs', args, {
      stdio: 'inherit',
      env: { ...process.env, AWS_ACCESS_KEY_ID: accessKeyID, AWS_SECRET_ACCESS_KEY: secretAccessKey },
    })
    let alive = true
    child.on('exit', () => {
      alive = false
    })
    child.on('error', (error) => console.error(error))
    await untilMounted(stagingTargetPath, () => alive)
    return
  }

  copyBinary()
  const unit = unitOf(volumeId)
  const folder = dropInFolder(unit)
  onNode('mkdir', '-p', folder)
  const stop = `[Service]\nExecStopPost=/bin/umount -f -l ${stagingTargetPath}\nTimeoutStopSec=20\n`
  writeFileSync(join(folder, '50-StopProps.conf'), stop, { mode: 0o600 })
  onNode(
    'systemd-run',
    '--quiet',
    `--unit=${unit}`,
    `--description=GeeseFS mount for Kubernetes volume ${volumeId}`,
    '--property=CollectMode=inactive-or-failed',
    `--property=Environment=${environment.join(' ')}`,
    BINARY,
    ...args,
  )
  await untilMounted(stagingTargetPath, () => onNode('systemctl', 'show', '-p', 'ActiveState', unit).includes('=activ'))
}

function unstage({ volumeId, stagingTargetPath }: Request): void {
  const unit = unitOf(volumeId)
  const state = onNode('systemctl', 'show', '-p', 'ActiveState', unit)
  if (state.includes('=active')) {
    onNode('systemctl', 'stop', unit)
    return
  }
  // A dead mount counts as no mount, as it does for the driver that this stands for: it asks stat, and stat fails. So it is left.
  if (mounted(stagingTargetPath) && existsSync(stagingTargetPath)) run('umount', stagingTargetPath)
}

function publish({ stagingTargetPath, targetPath, readonly }: Request): void {
  if (mounted(targetPath)) return
  mkdirSync(targetPath, { recursive: true })
  run('mount', '-o', readonly ? 'bind,ro' : 'bind', stagingTargetPath, targetPath)
}

function unpublish({ targetPath }: Request): void {
  if (mounted(targetPath)) run('umount', targetPath)
  if (existsSync(targetPath)) rmdirSync(targetPath)
}

function answer(work: (request: Request) => unknown) {
  return (call: grpc.ServerUnaryCall<Request, object>, done: grpc.sendUnaryData<object>) => {
    Promise.resolve()
      .then(() => work(call.request))
      .then(
        (result) => done(null, typeof result === 'object' && result !== null ? result : {}),
        (error: Error) => {
          console.error(call.getPath(), error.message)
          done({ code: grpc.status.INTERNAL, details: error.message })
        },
      )
  }
}

function service(file: string, ...path: string[]): grpc.ServiceDefinition {
  let found: unknown = grpc.loadPackageDefinition(loadSync(join(__dirname, file)))
  for (const name of path) found = (found as Record<string, unknown>)[name]
  return (found as grpc.ServiceClientConstructor).service
}

async function listen(server: grpc.Server, socket: string): Promise<void> {
  rmSync(socket, { force: true })
  await new Promise<void>((resolve, reject) => {
    server.bindAsync(`unix://${socket}`, grpc.ServerCredentials.createInsecure(), (error) =>
      error ? reject(error) : resolve(),
    )
  })
}

async function main(): Promise<void> {
  mkdirSync(PLUGIN, { recursive: true })
  const driver = new grpc.Server()
  driver.addService(service('csi.proto', 'csi', 'v1', 'Identity'), {
    GetPluginInfo: answer(() => ({ name: DRIVER, vendorVersion: 'lab' })),
    GetPluginCapabilities: answer(() => ({})),
    Probe: answer(() => ({ ready: { value: true } })),
  })
  driver.addService(service('csi.proto', 'csi', 'v1', 'Node'), {
    NodeGetInfo: answer(() => ({ nodeId: process.env.NODE_NAME ?? '' })),
    NodeGetCapabilities: answer(() => ({ capabilities: [{ rpc: { type: 'STAGE_UNSTAGE_VOLUME' } }] })),
    NodeStageVolume: answer(stage),
    NodeUnstageVolume: answer(unstage),
    NodePublishVolume: answer(publish),
    NodeUnpublishVolume: answer(unpublish),
  })
  await listen(driver, SOCKET)

  const registration = new grpc.Server()
  registration.addService(service('registration.proto', 'pluginregistration', 'Registration'), {
    GetInfo: answer(() => ({ type: 'CSIPlugin', name: DRIVER, endpoint: SOCKET, supportedVersions: ['1.0.0'] })),
    NotifyRegistrationStatus: (
      call: grpc.ServerUnaryCall<{ pluginRegistered: boolean; error: string }, object>,
      done: grpc.sendUnaryData<object>,
    ) => {
      console.log(call.request.pluginRegistered ? 'registered' : `not registered: ${call.request.error}`)
      done(null, {})
    },
  })
  await listen(registration, REGISTRATION)

  process.on('SIGTERM', () => {
    rmSync(REGISTRATION, { force: true })
    process.exit(0)
  })
}

main().catch((error) => {
  console.error(error)
  process.exit(1)
})
