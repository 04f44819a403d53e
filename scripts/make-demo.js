/**
 * `node scripts/run-ts.js scripts/make-demo.js DUMP > demo/cluster.json`: the cluster that `--from demo` reads, from the recording
 * `before-drain.yaml` of the lab. It keeps what the tool reads and nothing else: no Events, ConfigMaps or managed fields.
 */
import { readDump } from '../src/cluster/dump.js'
import { KIND_NAMES, KINDS } from '../src/cluster/kinds.js'

const [dump] = process.argv.slice(2)
if (dump === undefined) throw new Error('usage: node scripts/run-ts.js scripts/make-demo.js DUMP > demo/cluster.json')
const snapshot = await readDump({ from: [dump] })
if (snapshot.warnings.length > 0) throw new Error(snapshot.warnings.join('\n'))

const apiVersionOf = (kind) => [KINDS[kind].group, KINDS[kind].versions[0]].filter((part) => part !== '').join('/')
const listed = KIND_NAMES.flatMap((kind) =>
  snapshot.objects[kind].map((item) => ({ apiVersion: apiVersionOf(kind), ...item })),
)
const lines = [...listed, ...snapshot.owners].map((item) => JSON.stringify(item))

// The recorded cluster has no CSI driver (its CSINodes name none), so that there is none of these is a fact, not a gap.
if (snapshot.objects.CSINode.some((node) => (node.spec?.drivers ?? []).length > 0)) {
  throw new Error('the recorded cluster has CSI drivers: record their objects too')
}
const empty = ['CSIDriver', 'CSIStorageCapacity', 'VolumeAttachment'].map((kind) =>
  JSON.stringify({ apiVersion: apiVersionOf(kind), kind: `${kind}List`, items: [] }),
)
const list = `{"apiVersion":"v1","kind":"List","items":[\n${lines.join(',\n')}\n]}`
// One JSON value, so that reading it is one JSON.parse.
process.stdout.write(`[${[list, ...empty].join(',\n')}]\n`)
