/** Which proxy a request goes through, by Go's rules (golang.org/x/net/http/httpproxy), which kubectl follows. */
import { BlockList, isIP } from 'node:net'

/**
 * The proxy that the environment names for this address; null for none. HTTPS_PROXY for https, HTTP_PROXY for http, in capitals or not,
 * less what NO_PROXY excepts; this machine itself never goes through a proxy.
 */
export function proxyFromEnvironment(url: URL, env: NodeJS.ProcessEnv): string | null {
  const proxy = variable(env, url.protocol === 'https:' ? 'HTTPS_PROXY' : 'HTTP_PROXY')
  if (proxy === '') return null
  const port = url.port === '' ? (url.protocol === 'https:' ? '443' : '80') : url.port
  const host = url.hostname
    .replace(/^\[|\]$/g, '')
    .replace(/\.$/, '')
    .toLowerCase()
  if (isOwnMachine(host) || isExcepted(host, port, variable(env, 'NO_PROXY'))) return null
  return proxy.includes('://') ? proxy : `http://${proxy}`
}

function variable(env: NodeJS.ProcessEnv, name: string): string {
  return env[name] || env[name.toLowerCase()] || ''
}

function isOwnMachine(host: string): boolean {
  if (host === 'localhost') return true
  return isIP(host) === 4 ? host.startsWith('127.') : host === '::1'
}

function isExcepted(host: string, port: string, noProxy: string): boolean {
  return noProxy
    .split(',')
    .map((entry) => entry.trim().toLowerCase())
    .filter((entry) => entry !== '')
    .some((entry) => excepts(entry, host, port))
}

/** `*`, an address, a network, or a name with everything below it (`.name`: only what is below it), each perhaps with a port. */
function excepts(entry: string, host: string, port: string): boolean {
  if (entry === '*') return true
  const [, network, bits] = /^([^/]+)\/(\d+)$/.exec(entry) ?? []
  if (network !== undefined) return isInNetwork(host, network, Number(bits))
  const withPort = /^(?:\[(.+)\]|([^:]+)):(\d+)$/.exec(entry)
  if (withPort !== null && withPort[3] !== port) return false
  const name = (withPort === null ? entry : (withPort[1] ?? withPort[2] ?? ''))
    .replace(/^\[|\]$/g, '')
    .replace(/^\*\./, '.')
  if (isIP(name) !== 0) return host === name
  return name.startsWith('.') ? host.endsWith(name) : host === name || host.endsWith(`.${name}`)
}

function isInNetwork(host: string, network: string, bits: number): boolean {
  const family = isIP(network)
  if (family === 0 || isIP(host) !== family || bits > (family === 4 ? 32 : 128)) return false
  const list = new BlockList()
  list.addSubnet(network, bits, family === 4 ? 'ipv4' : 'ipv6')
  return list.check(host, family === 4 ? 'ipv4' : 'ipv6')
}
