import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  fingerprint,
  hashName,
  KnownHostsError,
  KnownHostsFile,
  knownHostName,
  knownKeyTypes,
  lookUp,
  readKnownHosts,
} from '../../src/node/known-hosts.js'
import { has, makeKey } from './support-keys.js'

const ed = makeKey('ed25519')
const other = makeKey('ed25519')
const rsa = makeKey('rsa')
const ecdsa = makeKey('ecdsa')
const SALT = Buffer.alloc(20, 7)
const hashed = (name: string) => hashName(name, SALT)

interface Case {
  known: string | string[]
  host?: string
  port?: number
  alias?: string
  verdict: string
  line?: number
}

/** The host presents `ed`. Whether real ssh accepts it is asked below, where there is one. */
const CASES: Record<string, Case> = {
  nothing: { known: '', verdict: 'unknown' },
  'a plain line': { known: `node ${ed.line}`, verdict: 'trusted', line: 1 },
  'with comment, tabs and indent': {
    known: `# x\n\n \tnode\t${ed.line.replace(' ', '\t')} me@there`,
    verdict: 'trusted',
    line: 3,
  },
  CRLF: { known: `# x\r\nnode ${ed.line}\r\n`, verdict: 'trusted', line: 2 },
  'CRLF and comment': { known: `node ${ed.line} c\r\n`, verdict: 'trusted', line: 1 },
  'a list of names': { known: `a,node,10.0.0.1 ${ed.line}`, verdict: 'trusted', line: 1 },
  'another name': { known: `nodes ${ed.line}`, verdict: 'unknown' },
  'upper case in the file': { known: `NODE ${ed.line}`, verdict: 'trusted', line: 1 },
  'upper case asked': { known: `node ${ed.line}`, host: 'Node', verdict: 'trusted', line: 1 },
  'a star': { known: `n* ${ed.line}`, verdict: 'trusted', line: 1 },
  'question marks': { known: `n??e ${ed.line}`, verdict: 'trusted', line: 1 },
  'one question mark too few': { known: `n?e ${ed.line}`, verdict: 'unknown' },
  negation: { known: `*,!node ${ed.line}`, verdict: 'unknown' },
  'negation of others': { known: `*,!n?d ${ed.line}`, verdict: 'trusted', line: 1 },
  'negation alone': { known: `!other ${ed.line}`, verdict: 'unknown' },
  'a pattern in upper case': { known: `N*E ${ed.line}`, verdict: 'trusted', line: 1 },
  changed: { known: `node ${other.line}`, verdict: 'changed', line: 1 },
  'changed, of another type': { known: `x ${ed.line}\nnode ${rsa.line}`, verdict: 'changed', line: 2 },
  'changed, then right': {
    known: `node ${other.line}\nnode ${rsa.line}\nnode ${ed.line}`,
    verdict: 'trusted',
    line: 3,
  },
  'changed in one file, right in the next': {
    known: [`node ${other.line}`, `node ${ed.line}`],
    verdict: 'trusted',
    line: 1,
  },
  hashed: { known: `${hashed('node')} ${ed.line}`, verdict: 'trusted', line: 1 },
  'hashed, another name': { known: `${hashed('nodes')} ${ed.line}`, verdict: 'unknown' },
  'hashed, changed': { known: `${hashed('node')} ${other.line}`, verdict: 'changed', line: 1 },
  'hashed name in upper case': { known: `${hashed('NODE')} ${ed.line}`, verdict: 'unknown' },
  'a malformed hash': { known: `|1|abc|def ${ed.line}`, verdict: 'unknown' },
  'another kind of hash': {
    known: `|2|${SALT.toString('base64')}|${SALT.toString('base64')} ${ed.line}`,
    verdict: 'unknown',
  },
  revoked: { known: `@revoked node ${ed.line}`, verdict: 'revoked', line: 1 },
  'revoked wins over trusted': { known: `node ${ed.line}\n@revoked * ${ed.line}`, verdict: 'revoked', line: 2 },
  'revoked in another file': { known: [`node ${ed.line}`, `@revoked node ${ed.line}`], verdict: 'revoked', line: 1 },
  'revoked and hashed': {
    known: `node ${ed.line}\n@revoked ${hashed('node')} ${ed.line}`,
    verdict: 'revoked',
    line: 2,
  },
  'revoked for another host': { known: `node ${ed.line}\n@revoked other ${ed.line}`, verdict: 'trusted', line: 1 },
  'another key revoked': { known: `node ${ed.line}\n@revoked * ${other.line}`, verdict: 'trusted', line: 1 },
  'only another key revoked': { known: `@revoked node ${other.line}`, verdict: 'unknown' },
  'only an authority': { known: `@cert-authority node ${other.line}`, verdict: 'only-by-authority', line: 1 },
  'an authority with the very key': { known: `@cert-authority node ${ed.line}`, verdict: 'only-by-authority', line: 1 },
  'an authority and a plain line': {
    known: `@cert-authority * ${other.line}\nnode ${ed.line}`,
    verdict: 'trusted',
    line: 2,
  },
  'an authority and another plain key': {
    known: `@cert-authority * ${other.line}\nnode ${rsa.line}`,
    verdict: 'changed',
    line: 2,
  },
  'an unknown marker': { known: `@trusted node ${ed.line}`, verdict: 'unknown' },
  'two markers': { known: `@revoked @cert-authority node ${ed.line}`, verdict: 'unknown' },
  'no key': { known: `node\nnode # c\nnode ssh-ed25519`, verdict: 'unknown' },
  'a malformed line before the right one': {
    known: `node ssh-ed25519 AAAA!\nnode ${ed.line}`,
    verdict: 'trusted',
    line: 2,
  },
  'a line that lies about its type': { known: `node ${ed.line.replace('ssh-ed25519', 'ssh-rsa')}`, verdict: 'unknown' },
  'an unknown type': { known: `node ssh-foo AAAAB3NzaC1mb28=`, verdict: 'unknown' },
  'a cut key': { known: `node ${ed.line.slice(0, -8)}`, verdict: 'unknown' },
  'an SSH 1 key': { known: `node 1024 35 1234567\nnode ${ed.line}`, verdict: 'trusted', line: 2 },
  'an empty list of names': { known: `, ${ed.line}`, verdict: 'unknown' },
  'another port': { known: `[node]:2222 ${ed.line}`, port: 2222, verdict: 'trusted', line: 1 },
  'another port, not this one': { known: `[node]:2223 ${ed.line}`, port: 2222, verdict: 'unknown' },
  'another port, hashed': { known: `${hashed('[node]:2222')} ${ed.line}`, port: 2222, verdict: 'trusted', line: 1 },
  'another port, known without': { known: `node ${ed.line}`, port: 2222, verdict: 'trusted', line: 1 },
  'another port, another key without': { known: `node ${other.line}`, port: 2222, verdict: 'unknown' },
  'another port, changed, right without': {
    known: `[node]:2222 ${other.line}\nnode ${ed.line}`,
    port: 2222,
    verdict: 'changed',
    line: 1,
  },
  'another port, authority, right without': {
    known: `@cert-authority [node]:2222 ${other.line}\nnode ${ed.line}`,
    port: 2222,
    verdict: 'trusted',
    line: 2,
  },
  'another port, revoked without': { known: `@revoked node ${ed.line}`, port: 2222, verdict: 'revoked', line: 1 },
  'another port, pattern': { known: `[*]:2222 ${ed.line}`, port: 2222, verdict: 'trusted', line: 1 },
  'another port, star': { known: `* ${ed.line}`, port: 2222, verdict: 'trusted', line: 1 },
  'port 22 in brackets': { known: `[node]:22 ${ed.line}`, verdict: 'unknown' },
  alias: { known: `bastion ${ed.line}`, alias: 'Bastion', verdict: 'trusted', line: 1 },
  'alias, not the name': { known: `node ${ed.line}`, alias: 'bastion', verdict: 'unknown' },
  'alias on another port': { known: `bastion ${ed.line}`, alias: 'bastion', port: 2222, verdict: 'trusted', line: 1 },
  'alias on another port, with port': {
    known: `[bastion]:2222 ${ed.line}`,
    alias: 'bastion',
    port: 2222,
    verdict: 'unknown',
  },
  'an IPv6 address': { known: `fd00::1 ${ed.line}`, host: 'fd00::1', verdict: 'trusted', line: 1 },
  'an IPv6 address on another port': {
    known: `[fd00::1]:2222 ${ed.line}`,
    host: 'fd00::1',
    port: 2222,
    verdict: 'trusted',
    line: 1,
  },
}

const filesOf = (known: string | string[]) =>
  [known].flat().map((text, index) => new KnownHostsFile(`known_hosts${index + 1}`, text))

describe('looking up', () => {
  it.each(Object.entries(CASES))('%s', (_name, { known, host = 'node', port = 22, alias, verdict, line }) => {
    const found = lookUp(filesOf(known), { name: host, port, ...(alias !== undefined && { alias }) }, ed.blob)
    expect({ verdict: found.verdict, line: 'line' in found ? found.line : undefined }).toEqual({ verdict, line })
  })

  it('tells all keys that a changed host is known by', () => {
    const [file] = filesOf(`node ${other.line}\nnode ${rsa.line}\nnode ${rsa.line}`) as [KnownHostsFile]
    expect(lookUp([file], { name: 'node', port: 22 }, ed.blob)).toEqual({
      verdict: 'changed',
      file: 'known_hosts1',
      line: 1,
      expected: [fingerprint(other.blob), fingerprint(rsa.blob)].sort(),
    })
  })

  it('says which lines were passed over, and why', () => {
    const [file] = filesOf(
      `node\n@x node ${ed.line}\nnode ssh-ed25519 AAAA!\n|1|a|b ${ed.line}\nnode \u001b[2J AAAA\n`,
    ) as [KnownHostsFile]
    expect(file.notes).toEqual([
      'known_hosts1 line 1 is passed over: it has no key',
      'known_hosts1 line 2 is passed over: no marker is called @x',
      'known_hosts1 line 3 is passed over: no base64 after the key type',
      'known_hosts1 line 4 is passed over: the hashed name is malformed',
      'known_hosts1 line 5 is passed over: no key type that is known',
    ])
  })

  it('knows the types of the plain keys only', () => {
    const files = filesOf([
      `node ${rsa.line}\n@revoked node ${ed.line}`,
      `@cert-authority * ${other.line}\nnode ${ecdsa.line}\nnode ${rsa.line}`,
    ])
    expect(knownKeyTypes(files, { name: 'node', port: 22 })).toEqual(['ssh-rsa', 'ecdsa-sha2-nistp256'])
    expect(knownKeyTypes(files, { name: 'node', port: 2222 })).toEqual(['ssh-rsa', 'ecdsa-sha2-nistp256'])
    expect(knownKeyTypes(files, { name: 'node', port: 22, alias: 'x' })).toEqual([])
  })

  it('finds a line that was added meanwhile', () => {
    const [file] = filesOf('') as [KnownHostsFile]
    expect(file.linesFor('node')).toEqual([])
    file.add(`node ${ed.line}`)
    expect(file.linesFor('node').map(({ line }) => line)).toEqual([1])
  })
})

describe('files', () => {
  let folder: string
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'ks-known-hosts-'))
  })
  afterAll(() => rm(folder, { recursive: true }))

  it('takes a missing file as none, and /dev/null as empty', async () => {
    expect(await readKnownHosts(join(folder, 'none'))).toBeNull()
    expect((await readKnownHosts('/dev/null'))?.linesFor('node')).toEqual([])
  })

  it('refuses a directory, and what would keep it waiting', async () => {
    await mkdir(join(folder, 'dir'))
    await expect(readKnownHosts(join(folder, 'dir'))).rejects.toThrow(/dir is a directory$/)
    execFileSync('mkfifo', [join(folder, 'fifo')])
    await expect(readKnownHosts(join(folder, 'fifo'))).rejects.toThrow(/fifo is no file$/)
    await writeFile(join(folder, 'file'), '')
    await expect(readKnownHosts(join(folder, 'file', 'below'))).rejects.toThrow(KnownHostsError)
  })

  it.skipIf(process.getuid?.() === 0)('refuses a file that it may not read', async () => {
    await writeFile(join(folder, 'closed'), '')
    await chmod(join(folder, 'closed'), 0)
    await expect(readKnownHosts(join(folder, 'closed'))).rejects.toThrow(/permission denied$/)
  })

  it.runIf(has('ssh-keygen', '-?'))('agrees with ssh-keygen on hashes, names and fingerprints', async () => {
    const path = join(folder, 'hashed')
    const names = ['node', '[node]:2222', '10.0.0.1', 'fd00::1', 'a.b.example']
    await writeFile(
      path,
      `${names.slice(1).join(',')},node ${ed.line}\nnode ${rsa.line} comment\nother ${ecdsa.line}\n`,
    )
    execFileSync('ssh-keygen', ['-H', '-f', path], { stdio: 'ignore' })
    const file = await readKnownHosts(path)
    for (const name of [...names, 'other', 'absent']) {
      const { stdout } = spawnSync('ssh-keygen', ['-F', name, '-f', path], { encoding: 'utf8' })
      const lines = [...stdout.matchAll(/found: line (\d+)/g)].map((match) => Number(match[1]))
      expect(file?.linesFor(name).map(({ line }) => line)).toEqual(lines)
    }
    expect(file?.linesFor('node')).toHaveLength(2)
    for (const key of [ed, rsa, ecdsa]) {
      await writeFile(join(folder, 'key.pub'), key.line)
      const printed = execFileSync('ssh-keygen', ['-lf', join(folder, 'key.pub')], { encoding: 'utf8' })
      expect(printed.split(' ')[1]).toBe(fingerprint(key.blob))
    }
  })
})

// An sshd without a port: ssh's ProxyCommand is `sshd -i`. It never logs in; what is asked is what ssh says of the key.
const SSHD = '/usr/sbin/sshd'
describe.runIf(existsSync(SSHD) && existsSync('/run/sshd') && has('ssh', '-V'))('real ssh decides the same', () => {
  let folder: string
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'ks-real-ssh-'))
    await writeFile(join(folder, 'host'), ed.private, { mode: 0o600 })
    await writeFile(
      join(folder, 'sshd_config'),
      `HostKey ${folder}/host\nUsePAM no\nPasswordAuthentication no\nAuthorizedKeysFile none\n`,
    )
  })
  afterAll(() => rm(folder, { recursive: true }))

  it.each(Object.entries(CASES))('%s', async (_name, { known, host = 'node', port = 22, alias, verdict }) => {
    const paths = []
    for (const [index, text] of [known].flat().entries()) {
      const path = join(folder, `known${index}`)
      await writeFile(path, text)
      paths.push(path)
    }
    const options = {
      BatchMode: 'yes',
      StrictHostKeyChecking: 'yes',
      UserKnownHostsFile: paths.join(' '),
      GlobalKnownHostsFile: '/dev/null',
      HostKeyAlias: alias,
      IdentityFile: 'none',
      IdentityAgent: 'none',
      ProxyCommand: `${SSHD} -i -f ${folder}/sshd_config`,
    }
    const flags = Object.entries(options).flatMap(([name, value]) =>
      value === undefined ? [] : ['-o', `${name}=${value}`],
    )
    const { stderr } = spawnSync('ssh', ['-F', 'none', ...flags, '-p', String(port), '--', host, 'true'], {
      encoding: 'utf8',
      env: { ...process.env, LC_ALL: 'C' },
    })
    expect(stderr).toMatch(/Permission denied|Host key verification failed/)
    const accepted = stderr.includes('Permission denied')
    expect({ accepted, changed: stderr.includes('HOST IDENTIFICATION HAS CHANGED') }).toEqual({
      accepted: verdict === 'trusted',
      changed: verdict === 'changed',
    })
    if (verdict === 'revoked') expect(stderr).toMatch(/REVOKED/)
  })
})

it('finds each of a hundred names among 3,000 hashed lines', () => {
  const text = Array.from({ length: 3000 }, (_, index) => {
    const salt = Buffer.alloc(20)
    salt.writeUInt32BE(index)
    return `${hashName(`node-${index}`, salt)} ${ed.line}`
  }).join('\n')
  const file = new KnownHostsFile('known_hosts', text)
  for (let index = 0; index < 100; index++) expect(file.linesFor(`node-${index * 30}`)).toHaveLength(1)
  expect(knownHostName('Node', 2222)).toBe('[node]:2222')
})
