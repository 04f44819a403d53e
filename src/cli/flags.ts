import * as Flags from '@oclif/core/flags'
import type { ConnectionFlags } from '../cluster/connection.js'

export const OUTPUTS = ['table', 'wide', 'json', 'yaml', 'name'] as const
export type OutputFormat = (typeof OUTPUTS)[number]

const CONNECTION = 'CONNECTION'
const OUTPUT = 'OUTPUT'

/** kubectl's flags for where the cluster is and who asks, with kubectl's names, short forms and meaning. */
export const connectionFlags = {
  as: Flags.string({ helpGroup: CONNECTION, helpValue: 'USER', description: 'user to impersonate' }),
  'as-group': Flags.string({
    helpGroup: CONNECTION,
    helpValue: 'GROUP',
    description: 'group to impersonate; may be repeated',
    multiple: true,
    multipleNonGreedy: true,
  }),
  'as-uid': Flags.string({ helpGroup: CONNECTION, helpValue: 'UID', description: 'UID to impersonate' }),
  'certificate-authority': Flags.string({
    helpGroup: CONNECTION,
    helpValue: 'FILE',
    description: 'certificate of the authority that signed the server’s',
  }),
  'client-certificate': Flags.string({ helpGroup: CONNECTION, helpValue: 'FILE', description: 'client certificate' }),
  'client-key': Flags.string({
    helpGroup: CONNECTION,
    helpValue: 'FILE',
    description: 'key of the client certificate',
  }),
  cluster: Flags.string({ helpGroup: CONNECTION, helpValue: 'NAME', description: 'cluster of the kubeconfig to use' }),
  context: Flags.string({ helpGroup: CONNECTION, helpValue: 'NAME', description: 'context of the kubeconfig to use' }),
  'insecure-skip-tls-verify': Flags.boolean({
    helpGroup: CONNECTION,
    description: 'do not check the server’s certificate',
  }),
  kubeconfig: Flags.string({ helpGroup: CONNECTION, helpValue: 'FILE', description: 'kubeconfig file to use' }),
  namespace: Flags.string({
    char: 'n',
    helpGroup: CONNECTION,
    helpValue: 'NAMESPACE',
    description: 'namespace of names given without one',
  }),
  'all-namespaces': Flags.boolean({ char: 'A', helpGroup: CONNECTION, description: 'look in every namespace' }),
  'request-timeout': Flags.string({
    helpGroup: CONNECTION,
    helpValue: 'DURATION',
    description: 'give up on one request after this time (5s, 2m); 0 waits for ever',
  }),
  server: Flags.string({
    char: 's',
    helpGroup: CONNECTION,
    helpValue: 'URL',
    description: 'address of the API server',
  }),
  'tls-server-name': Flags.string({
    helpGroup: CONNECTION,
    helpValue: 'NAME',
    description: 'name to look for in the server’s certificate',
  }),
  token: Flags.string({ helpGroup: CONNECTION, helpValue: 'TOKEN', description: 'bearer token' }),
  user: Flags.string({ helpGroup: CONNECTION, helpValue: 'NAME', description: 'user of the kubeconfig to use' }),
}

type Given = Partial<Record<keyof typeof connectionFlags, string | boolean | string[] | undefined>>

/** The flags as the cluster layer names them; what was not given is left out. */
export function connectionOf(flags: Given): ConnectionFlags {
  const text = (name: keyof typeof connectionFlags): string | undefined => {
    const value = flags[name]
    return typeof value === 'string' ? value : undefined
  }
  const asGroup = flags['as-group']
  return {
    as: text('as'),
    asGroup: Array.isArray(asGroup) ? asGroup : undefined,
    asUid: text('as-uid'),
    certificateAuthority: text('certificate-authority'),
    clientCertificate: text('client-certificate'),
    clientKey: text('client-key'),
    cluster: text('cluster'),
    context: text('context'),
    insecureSkipTlsVerify: flags['insecure-skip-tls-verify'] === true ? true : undefined,
    kubeconfig: text('kubeconfig'),
    namespace: text('namespace'),
    requestTimeout: text('request-timeout'),
    server: text('server'),
    tlsServerName: text('tls-server-name'),
    token: text('token'),
    user: text('user'),
  }
}

export const outputFlags = {
  help: Flags.boolean({ char: 'h', helpGroup: OUTPUT, description: 'show this help' }),
  'no-color': Flags.boolean({
    helpGroup: OUTPUT,
    description: 'no colours; NO_COLOR in the environment does the same',
  }),
  output: Flags.string({
    char: 'o',
    helpGroup: OUTPUT,
    helpValue: 'FORMAT',
    options: [...OUTPUTS],
    default: 'table',
    description: 'form of the result',
  }),
  v: Flags.integer({
    char: 'v',
    helpGroup: OUTPUT,
    helpValue: 'LEVEL',
    min: 0,
    default: 0,
    description: 'how much to tell on stderr; 6 names the requests, 9 adds the trace of a bug',
  }),
}

export const sharedFlags = { ...connectionFlags, ...outputFlags }
