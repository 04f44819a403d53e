/** Certificates and kubeconfigs of a lab, made new at every start. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Folders, GATEWAY, NODES, SERVICE_ADDRESS } from './config.js'

const CURVE = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes']

export function makePki(at: Folders): void {
  mkdirSync(at.pki, { recursive: true, mode: 0o700 })
  const openssl = (...args: string[]) =>
    execFileSync('openssl', args, { cwd: at.pki, stdio: ['ignore', 'ignore', 'pipe'] })

  openssl('req', '-x509', ...CURVE, '-keyout', 'ca.key', '-out', 'ca.crt', '-subj', '/CN=lab-ca', '-days', '30')
  openssl('genpkey', '-algorithm', 'EC', '-pkeyopt', 'ec_paramgen_curve:P-256', '-out', 'sa.key')
  openssl('pkey', '-in', 'sa.key', '-pubout', '-out', 'sa.pub')

  const certificate = (name: string, subject: string, names: string[]) => {
    writeFileSync(
      join(at.pki, `${name}.ext`),
      `subjectAltName=${names.join(',')}\nextendedKeyUsage=serverAuth,clientAuth\n`,
    )
    openssl('req', ...CURVE, '-keyout', `${name}.key`, '-out', `${name}.csr`, '-subj', subject)
    openssl(
      ...['x509', '-req', '-in', `${name}.csr`, '-CA', 'ca.crt', '-CAkey', 'ca.key', '-CAcreateserial'],
      ...['-out', `${name}.crt`, '-days', '30', '-extfile', `${name}.ext`],
    )
  }
  const server = ['localhost', 'kubernetes', 'kubernetes.default.svc'].map((name) => `DNS:${name}`)
  const addresses = ['127.0.0.1', GATEWAY, SERVICE_ADDRESS].map((address) => `IP:${address}`)
  certificate('apiserver', '/CN=kube-apiserver', [...server, ...addresses])
  certificate('kubelet-client', '/O=system:masters/CN=kube-apiserver-kubelet-client', ['DNS:client'])
  certificate('admin', '/O=system:masters/CN=admin', ['DNS:admin'])
  certificate('controllers', '/CN=system:kube-controller-manager', ['DNS:controllers'])
  certificate('scheduler', '/CN=system:kube-scheduler', ['DNS:scheduler'])
  for (const { name, address } of NODES)
    certificate(`node-${name}`, `/O=system:nodes/CN=system:node:${name}`, [`DNS:${name}`, `IP:${address}`])

  for (const user of ['admin', 'controllers', 'scheduler', ...NODES.map(({ name }) => `node-${name}`)])
    writeFileSync(join(at.pki, `${user}.kubeconfig`), kubeconfig(at, user), { mode: 0o600 })
}

function kubeconfig(at: Folders, user: string): string {
  const base64 = (file: string) => readFileSync(join(at.pki, file)).toString('base64')
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      { name: 'lab', cluster: { server: `https://${GATEWAY}:6443`, 'certificate-authority-data': base64('ca.crt') } },
    ],
    users: [
      {
        name: user,
        user: { 'client-certificate-data': base64(`${user}.crt`), 'client-key-data': base64(`${user}.key`) },
      },
    ],
    contexts: [{ name: 'lab', context: { cluster: 'lab', user } }],
    'current-context': 'lab',
  })
}
