/**
 * Configurations that `ssh -G` and the reading of the files must agree on. `DIR` in them is the folder they are written to. What
 * OpenSSH says of them is in test/fixtures/ssh-config/openssh-9.2.json, recorded by record-ssh-config.ts.
 */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { InputError } from '../../src/cluster/errors.js'
import { effectiveSettings, type HostSettings } from '../../src/node/ssh-config.js'

export interface ConfigCase {
  config: string
  /** More files, by their path below DIR. */
  files?: Record<string, string>
  hosts: string[]
  user?: string
  port?: number
}

export const CASES: Record<string, ConfigCase> = {
  empty: { config: '', hosts: ['node-1', '10.0.0.1', 'fd00::1', 'Node-1.Example'] },
  'first value wins': {
    config:
      'Host a*\n  User one\n  Port 1\nHost ab\n  User two\n  HostName x.example\nHost *\n  User three\n  Port 3\n',
    hosts: ['a', 'ab', 'b'],
  },
  'before the first Host': { config: 'User all\nHost a\n  User a\n  Port 5\n', hosts: ['a', 'b'] },
  negation: {
    config: 'Host *.example !bad.example\n  User x\nHost !a *\n  Port 4\nHost !*\n  Port 9\n',
    hosts: ['a', 'bad.example', 'good.example'],
  },
  'question marks': {
    config: 'Host node-?\n  User x\nHost node-??\n  User y\n',
    hosts: ['node-1', 'node-12', 'node-'],
  },
  case: {
    config:
      'HOST A.Example\n  USER x\nHost a.example\n  user y\nMatch host a.EXAMPLE\n  Port 5\nMatch originalhost A.example\n  Port 6\n',
    hosts: ['A.Example', 'a.example'],
  },
  flags: {
    config: 'User config\nPort 44\nMatch user flag\n  HostName by-user\n',
    hosts: ['a'],
    user: 'flag',
    port: 99,
  },
  'HostName tokens': {
    config: 'Host a B\n  HostName %h.Example.%%x\nMatch host a.example.%x\n  Port 7\n',
    hosts: ['a', 'B'],
  },
  'match user and host': {
    config:
      'Match user root host foo\n  User z\n  HostName bar\nMatch host bar\n  Port 44\nMatch originalhost foo\n  HostKeyAlias Alias%h\nMatch user z host bar,!qux\n  ConnectTimeout 1m30\n',
    hosts: ['foo', 'bar', 'qux'],
    user: 'root',
  },
  'match final': {
    config:
      'Match final host b.example\n  User later\nHost a\n  HostName b.example\n  IdentityFile DIR/one\nHost b.example\n  Port 8\n  IdentityFile DIR/two\nMatch !final\n  ConnectTimeout 5\nMatch canonical\n HashKnownHosts yes\n',
    hosts: ['a', 'b.example', 'c'],
  },
  'match all and negations': {
    config:
      'Match !host foo\n  User x\nMatch !all\n  User no\nMatch host f*,!foo\n  Port 3\nMatch host foo all\n  Port 4\nMatch all\n  User end\n',
    hosts: ['foo', 'fox', 'bar'],
  },
  'match written with = and quotes': {
    config: 'Match user="nobody,z*" host "foo,bar" # why\n User=q\nMatch host=foo\n  Port = 5\n',
    hosts: ['foo', 'bar', 'x'],
    user: 'zz',
  },
  'quotes and escapes': {
    config: `IdentityFile 'DIR/a b'\nIdentityFile "DIR/c d" # comment\nIdentityFile DIR/e\\ f\nIdentityFile DIR/g\\h\nIdentityFile "DIR/i\\"j"\nUser "w"x#y\n`,
    hosts: ['a'],
  },
  'quoted keyword, tabs, CRLF, form feed': {
    config: '"User" x\r\n\tPort\t=\t3\r\nHostName foo. \f\r\n\r\n# comment\r\n   # another\r\n',
    hosts: ['a'],
  },
  'identity files': {
    config:
      'Host a\n  IdentityFile ~/.ssh/one\n  IdentityFile %d/two\n  IdentitiesOnly yes\nHost *\n  IdentityFile ~/.ssh/one\n  IdentityFile ~/k_%h_%n_%p_%r_%u_%%\n  CertificateFile ~/.ssh/c-cert.pub\n  CertificateFile ~/.ssh/c-cert.pub\n',
    hosts: ['a', 'B'],
    user: 'u1',
  },
  'identity file none': { config: 'IdentityFile none\n', hosts: ['a'] },
  'identity file none and others': { config: 'IdentityFile none\nIdentityFile DIR/x\n', hosts: ['a'] },
  'variables of the environment': {
    config:
      'IdentityFile $' +
      '{KS_TEST}/k\nIdentityAgent $' +
      '{KS_TEST}/%h/sock\nUserKnownHostsFile $' +
      '{KS_TEST}/known %d/known ~/known\n',
    hosts: ['a'],
  },
  'agent none': { config: 'IdentityAgent none\n', hosts: ['a'] },
  'agent of a variable': {
    config: 'Host a\n  IdentityAgent $KS_TEST\nHost b\n  IdentityAgent $KS_UNSET\n',
    hosts: ['a', 'b'],
  },
  'agent by its name': { config: 'IdentityAgent SSH_AUTH_SOCK\n', hosts: ['a'] },
  'known hosts files': {
    config: 'UserKnownHostsFile none\nGlobalKnownHostsFile /dev/null\nHashKnownHosts yes\nCheckHostIP yes\n',
    hosts: ['a'],
  },
  'known hosts file with a space': { config: 'UserKnownHostsFile "DIR/my known hosts" DIR/other\n', hosts: ['a'] },
  'strict no': {
    config:
      'Host a\n StrictHostKeyChecking no\nHost b\n StrictHostKeyChecking off\nHost c\n StrictHostKeyChecking yes\nHost d\n StrictHostKeyChecking accept-new\n',
    hosts: ['a', 'b', 'c', 'd', 'e'],
  },
  'proxy jump': {
    config:
      'Host a\n  ProxyJump u@h1:22,h2,[fd00::1]:33,ssh://u@x:44\nHost b\n  ProxyJump none\nHost b c\n  ProxyJump h1 # comment\nHost d\n  ProxyJump j@domain@h9\nHost *\n ProxyJump last\n',
    hosts: ['a', 'b', 'c', 'd', 'e'],
  },
  'proxy command': {
    config:
      'Host a\n  ProxyCommand "nc x" -X connect %h %p # not a comment\nHost b\n  ProxyCommand none\nHost c\n  ProxyJump h1\n  ProxyCommand nc\nHost d\n  ProxyCommand nc\n  ProxyJump h1\nHost e\n  ProxyJump none\n  ProxyCommand nc\nHost b\n  ProxyJump h1\nHost e\n  ProxyJump h1\n',
    hosts: ['a', 'b', 'c', 'd', 'e'],
  },
  algorithms: {
    config:
      'Host a\n  Ciphers aes128-ctr,aes256-ctr\n  KexAlgorithms curve25519-sha256\n  MACs hmac-sha2-256\nHost b\n  Ciphers +3des-cbc\n  HostKeyAlgorithms +ssh-rsa\n  PubkeyAcceptedKeyTypes +ssh-rsa\n  KexAlgorithms -diffie-hellman-*\nHost c\n  HostKeyAlgorithms ^rsa-sha2-512,ssh-ed25519\n  MACs -hmac-sha1*,umac-*\nHost d\n  HostKeyAlgorithms +ssh-*\n  PubkeyAcceptedAlgorithms -ecdsa*\n  PreferredAuthentications publickey,password\n',
    hosts: ['a', 'b', 'c', 'd'],
  },
  'what needs ssh itself': {
    config:
      'Host a\n  PKCS11Provider /usr/lib/pkcs11.so\nHost b\n  KnownHostsCommand /usr/bin/keys %H # x\nHost c\n  RevokedHostKeys DIR/revoked\n  BindAddress 127.0.0.1\n  AddressFamily inet6\n',
    hosts: ['a', 'b', 'c'],
  },
  gssapi: { config: 'GSSAPIAuthentication yes\nGSSAPIDelegateCredentials no\n', hosts: ['a'] },
  'connect timeout': {
    config: 'Host a\n ConnectTimeout 7\nHost b\n ConnectTimeout none\nHost c\n ConnectTimeout 1h2m\n',
    hosts: ['a', 'b', 'c'],
  },
  include: {
    config:
      'Host zzz\n  Include DIR/inc/*\nHost foo\n  HostName qq\n  Include DIR/inc/a DIR/inc/b*\n  User late\nInclude DIR/nothing-here\nInclude DIR/none/*.conf\n',
    files: {
      'inc/a': 'User i\nHost other\n  Port 1\n',
      'inc/b.conf': 'Port 7\n',
      'inc/c': 'Include DIR/inc/d\n',
      'inc/d': 'Port 8\nHost zzz\n HostName deep\n',
      'inc/.hidden': 'User hidden\n',
    },
    hosts: ['foo', 'other', 'zzz', 'bar'],
  },
  'include with classes and folders': {
    config: 'Include DIR/conf.d/[0-9][0-9]-*.conf\nInclude DIR/*/x?\nInclude DIR/sub\nInclude "DIR/with space"\n',
    files: {
      'conf.d/10-a.conf': 'User ten\n',
      'conf.d/09-b.conf': 'User nine\n',
      'conf.d/x-c.conf': 'Port 9\n',
      'sub/x1': 'Port 11\n',
      'with space': 'ConnectTimeout 4\n',
    },
    hosts: ['a'],
  },
  'ignore unknown': { config: 'IgnoreUnknown Foo*,UseK*\nFooBar x y\nUseKeychain yes\nUser y\n', hosts: ['a'] },
  'port by its name': { config: 'Port ssh\n', hosts: ['a'] },
  'last line without newline': { config: 'Host a\n  User x', hosts: ['a'] },
  'no such option': { config: 'User x\nFrobnicate y\n', hosts: ['a'] },
  'no such option elsewhere': { config: 'Host b\n  Frobnicate y\n', hosts: ['a'] },
  'no value': { config: 'Host a\n  User\n', hosts: ['a'] },
  'Host alone': { config: 'Host\n', hosts: ['a'] },
  'Match alone': { config: 'Match\n', hosts: ['a'] },
  'Match of nothing known': { config: 'Match weather rain\n  User x\n', hosts: ['a'] },
  'Match without value': { config: 'Match host\n  User x\n', hosts: ['a'] },
  'Match all with others': { config: 'Match all host foo\n  User x\n', hosts: ['a'] },
  'two values': { config: 'User x y\n', hosts: ['a'] },
  'open quote': { config: 'User "x\n', hosts: ['a'] },
  'bad port': { config: 'Port 70000\n', hosts: ['a'] },
  'bad flag': { config: 'Host b\n  IdentitiesOnly maybe\n', hosts: ['a'] },
  'bad strict': { config: 'StrictHostKeyChecking on\n', hosts: ['a'] },
  'bad jump': { config: 'ProxyJump ::1\n', hosts: ['a'] },
  'bad time': { config: 'ConnectTimeout soon\n', hosts: ['a'] },
  'a pattern of ciphers': { config: 'Ciphers ^aes256-*\n', hosts: ['a'] },
  'circle of includes': { config: 'Include DIR/config\n', hosts: ['a'] },
}

export const ENV = { KS_TEST: '/ks-test' }

/** Writes the case's files to a new folder. */
export async function writeCase(of: ConfigCase): Promise<{ folder: string; done: () => Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), 'ks-ssh-config-'))
  for (const [path, text] of Object.entries({ ...of.files, config: of.config })) {
    await mkdir(dirname(join(folder, path)), { recursive: true })
    await writeFile(join(folder, path), text.replaceAll('DIR', folder), { mode: 0o600 })
  }
  return { folder, done: () => rm(folder, { recursive: true }) }
}

export interface Reader {
  openssh: boolean
  home?: string
  localUser?: string
}

/** The settings of each host, or `error` with the place that is named; the folder is `DIR` again. */
export async function settingsOfCase(
  of: ConfigCase,
  reader: Reader,
): Promise<Record<string, HostSettings | { error: string }>> {
  const { folder, done } = await writeCase(of)
  try {
    const settings: Record<string, HostSettings | { error: string }> = {}
    for (const host of of.hosts) {
      try {
        settings[host] = await effectiveSettings(host, {
          configFile: join(folder, 'config'),
          env: { ...process.env, ...ENV, KS_UNSET: undefined },
          ...(of.user !== undefined && { user: of.user }),
          ...(of.port !== undefined && { port: of.port }),
          ...reader,
        })
      } catch (error) {
        if (!(error instanceof InputError)) throw error
        const place = error.message.match(/config:? line \d+/)?.[0].replace(':', '')
        settings[host] = { error: place ?? (/recursive|levels/.test(error.message) ? 'too deep' : error.message) }
      }
    }
    return JSON.parse(JSON.stringify(settings).replaceAll(folder, 'DIR'))
  } finally {
    await done()
  }
}
