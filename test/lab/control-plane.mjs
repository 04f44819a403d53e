/**
 * A control plane without nodes, to ask a real scheduler about clusters that are objects only: etcd, kube-apiserver, kube-scheduler
 * and the volume binder, on loopback, in a directory of its own. Takes seconds to start and 600 MB.
 */
import { spawn } from 'node:child_process'
import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { closeSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { Agent, request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

/** Admission that would give pods and nodes more than the case says: tolerations, taints, finalizers, service accounts. */
const admissionOff = [
  'ServiceAccount',
  'DefaultTolerationSeconds',
  'TaintNodesByCondition',
  'StorageObjectInUseProtection',
  'LimitRanger',
]

/**
 * @param options `port` is the API server's; the next two are etcd's. `bin` has what is not given by itself. A directory of its own is
 *   made in `folder`, and `env` is added to the environment of all processes.
 */
export async function startControlPlane({
  bin,
  etcd,
  apiServer = join(bin, 'kube-apiserver'),
  scheduler = join(bin, 'kube-scheduler'),
  gates = '',
  port,
  folder = tmpdir(),
  env = {},
}) {
  const home = mkdtempSync(join(folder, 'scheduler-lab-'))
  const token = randomBytes(16).toString('hex')
  const processes = []
  const run = (name, command, args) => {
    const log = openSync(join(home, `${name}.log`), 'a')
    const child = spawn(command, args, { stdio: ['ignore', log, log], env: { ...process.env, ...env } })
    closeSync(log)
    child.on('error', (error) => process.stderr.write(`${name}: ${error.message}\n`))
    // Also after an error: a program that is not there has no exit.
    processes.push({ child, ended: new Promise((resolve) => child.on('exit', resolve).on('error', resolve)) })
  }
  const agent = new Agent({ keepAlive: true, rejectUnauthorized: false, maxSockets: 32 })
  const stop = async () => {
    for (const { child } of [...processes].reverse()) child.kill('SIGKILL')
    await Promise.all(processes.map(({ ended }) => ended))
    agent.destroy()
    rmSync(home, { recursive: true, force: true })
  }

  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  writeFileSync(join(home, 'sa.key'), privateKey.export({ type: 'pkcs8', format: 'pem' }))
  writeFileSync(join(home, 'sa.pub'), publicKey.export({ type: 'spki', format: 'pem' }))
  writeFileSync(join(home, 'tokens.csv'), `${token},recorder,1,system:masters\n`)
  mkdirSync(join(home, 'certs'))
  const server = `https://127.0.0.1:${port}`
  const kubeconfig = join(home, 'kubeconfig')
  writeFileSync(
    kubeconfig,
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: 'lab', cluster: { server, 'insecure-skip-tls-verify': true } }],
      users: [{ name: 'lab', user: { token } }],
      contexts: [{ name: 'lab', context: { cluster: 'lab', user: 'lab' } }],
      'current-context': 'lab',
    }),
  )

  const [client, peer] = [`http://127.0.0.1:${port + 1}`, `http://127.0.0.1:${port + 2}`]
  run('etcd', etcd, [
    ...['--data-dir', join(home, 'etcd'), '--listen-client-urls', client, '--advertise-client-urls', client],
    ...['--listen-peer-urls', peer, '--initial-advertise-peer-urls', peer, '--initial-cluster', `default=${peer}`],
    '--unsafe-no-fsync',
  ])
  run('apiserver', apiServer, [
    `--etcd-servers=${client}`,
    '--bind-address=127.0.0.1',
    '--advertise-address=127.0.0.1',
    `--secure-port=${port}`,
    `--cert-dir=${join(home, 'certs')}`,
    `--token-auth-file=${join(home, 'tokens.csv')}`,
    '--authorization-mode=AlwaysAllow',
    '--service-account-issuer=https://lab',
    `--service-account-key-file=${join(home, 'sa.pub')}`,
    `--service-account-signing-key-file=${join(home, 'sa.key')}`,
    '--service-cluster-ip-range=10.97.0.0/16',
    `--disable-admission-plugins=${admissionOff.join(',')}`,
    '--allow-privileged=true',
    '--endpoint-reconciler-type=none',
  ])

  /** One request; resolves with status and parsed body whatever the status is. */
  const call = (method, path, body, type = 'application/json') =>
    new Promise((resolve, reject) => {
      const sent = request(
        `${server}${path}`,
        { method, agent, headers: { authorization: `Bearer ${token}`, 'content-type': type } },
        (response) => {
          const chunks = []
          response.on('data', (chunk) => chunks.push(chunk))
          response.on('end', () => {
            const text = Buffer.concat(chunks).toString('utf8')
            let parsed = text
            try {
              parsed = JSON.parse(text)
            } catch {}
            resolve({ status: response.statusCode, body: parsed })
          })
        },
      )
      sent.on('error', reject)
      sent.end(body === undefined ? undefined : JSON.stringify(body))
    })
  /** Calls `seen` with every event of the watch, until the process ends. */
  const watch = (path, seen) =>
    new Promise((resolve, reject) => {
      const sent = request(
        `${server}${path}`,
        { agent: new Agent({ rejectUnauthorized: false }), headers: { authorization: `Bearer ${token}` } },
        (response) => {
          let rest = ''
          response.setEncoding('utf8')
          response.on('data', (chunk) => {
            const lines = (rest + chunk).split('\n')
            rest = lines.pop() ?? ''
            for (const line of lines) if (line !== '') seen(JSON.parse(line))
          })
          response.on('end', () => reject(new Error('the watch ended')))
          // A server that has just started may refuse a watch at once; one that has lasted a while is there to stay.
          setTimeout(() => resolve(undefined), 500)
        },
      )
      sent.on('error', reject)
      sent.end()
    })

  try {
    for (let tries = 0; ; tries++) {
      const ready = await call('GET', '/readyz').catch(() => ({ status: 0 }))
      if (ready.status === 200) break
      if (tries > 300) throw new Error(`the API server does not start:\n${tail(join(home, 'apiserver.log'))}`)
      await sleep(200)
    }
    run('kcm', join(bin, 'kube-controller-manager'), [
      `--kubeconfig=${kubeconfig}`,
      '--leader-elect=false',
      '--controllers=persistentvolume-binder-controller',
      '--secure-port=0',
      '--kube-api-qps=500',
      '--kube-api-burst=500',
    ])
    const config = join(home, 'scheduler.json')
    writeFileSync(
      config,
      JSON.stringify({
        apiVersion: 'kubescheduler.config.k8s.io/v1',
        kind: 'KubeSchedulerConfiguration',
        clientConnection: { kubeconfig, qps: 1000, burst: 1000 },
        leaderElection: { leaderElect: false },
      }),
    )
    run('scheduler', scheduler, [`--config=${config}`, '--secure-port=0', `--feature-gates=${gates}`])
    await sleep(3000)
  } catch (error) {
    await stop()
    throw error
  }
  return { call, watch, stop }
}

function tail(file) {
  return readFileSync(file, 'utf8').split('\n').slice(-20).join('\n')
}
