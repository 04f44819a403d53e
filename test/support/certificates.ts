/** X.509 certificates made on the spot, so that no key lies in the repository and none runs out: valid from 2000 to 2099. */
import { createPublicKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'

export interface Certificate {
  /** PEM. */
  cert: string
  key: string
  name: string
  privateKey: KeyObject
}

function der(tag: number, ...parts: Buffer[]): Buffer {
  const content = Buffer.concat(parts)
  const length =
    content.length < 0x80
      ? Buffer.from([content.length])
      : content.length < 0x100
        ? Buffer.from([0x81, content.length])
        : Buffer.from([0x82, content.length >> 8, content.length & 0xff])
  return Buffer.concat([Buffer.from([tag]), length, content])
}

const sequence = (...parts: Buffer[]): Buffer => der(0x30, ...parts)
const oid = (...bytes: number[]): Buffer => der(0x06, Buffer.from(bytes))
const utf8 = (text: string): Buffer => der(0x0c, Buffer.from(text))
const COMMON_NAME = oid(0x55, 0x04, 0x03)
const ECDSA_SHA256 = sequence(oid(0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02))
const subject = (name: string): Buffer => sequence(der(0x31, sequence(COMMON_NAME, utf8(name))))
const time = (text: string): Buffer =>
  text.startsWith('20') && text < '2050' ? der(0x17, Buffer.from(text.slice(2))) : der(0x18, Buffer.from(text))

let serial = 0

export interface CertificateOptions {
  /** Who signs; absent: itself. */
  issuer?: Certificate
  /** 127.0.0.1 and localhost unless given. */
  dnsNames?: string[]
  ipAddresses?: number[][]
  authority?: boolean
  /** Its last second, as `YYYYMMDDhhmmssZ`. */
  notAfter?: string
}

export function makeCertificate(name: string, options: CertificateOptions = {}): Certificate {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const { issuer, dnsNames = ['localhost'], ipAddresses = [[127, 0, 0, 1]], authority = false } = options
  const names = [
    ...dnsNames.map((dns) => der(0x82, Buffer.from(dns))),
    ...ipAddresses.map((address) => der(0x87, Buffer.from(address))),
  ]
  const extensions = [
    sequence(
      oid(0x55, 0x1d, 0x13),
      der(0x01, Buffer.from([0xff])),
      der(0x04, sequence(...(authority ? [der(0x01, Buffer.from([0xff]))] : []))),
    ),
    ...(authority ? [] : [sequence(oid(0x55, 0x1d, 0x11), der(0x04, sequence(...names)))]),
  ]
  serial++
  const toSign = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.from([1, serial])),
    ECDSA_SHA256,
    subject(issuer?.name ?? name),
    sequence(time('20000101000000Z'), time(options.notAfter ?? '20991231235959Z')),
    subject(name),
    createPublicKey(privateKey).export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(...extensions)),
  )
  const signature = sign('sha256', toSign, issuer?.privateKey ?? privateKey)
  const certificate = sequence(toSign, ECDSA_SHA256, der(0x03, Buffer.from([0]), signature))
  const lines = certificate.toString('base64').match(/.{1,64}/g) ?? []
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    name,
    privateKey,
  }
}
