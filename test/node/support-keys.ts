/** Keys made when a test runs: no private key is in the repository. */
import { spawnSync } from 'node:child_process'
import { createRequire } from 'node:module'
import { parsePublicKey } from '../../src/node/known-hosts.js'

const { utils } = createRequire(import.meta.url)('ssh2') as typeof import('ssh2')

export interface TestKey {
  /** `TYPE BASE64` */
  line: string
  blob: Buffer
  private: string
}

export function makeKey(type: 'ed25519' | 'rsa' | 'ecdsa'): TestKey {
  const pair =
    type === 'rsa'
      ? utils.generateKeyPairSync('rsa', { bits: 2048 })
      : type === 'ecdsa'
        ? utils.generateKeyPairSync('ecdsa', { bits: 256 })
        : utils.generateKeyPairSync('ed25519')
  const line = pair.public.trim()
  const parsed = parsePublicKey(line)
  if (typeof parsed === 'string') throw new Error(parsed)
  return { line, blob: parsed.key, private: pair.private }
}

/** Whether a program is there; tests that need it are skipped where it is not. */
export function has(program: string, ...args: string[]): boolean {
  return spawnSync(program, args, { stdio: 'ignore' }).error === undefined
}
