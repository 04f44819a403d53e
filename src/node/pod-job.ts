/**
 * The Job that asks one node something through a privileged pod, and the reading of what came back. Pure.
 *
 * A Job has no standard input, so the script comes in the pod's environment: compressed, in base64, in several variables, because Linux
 * takes no single one above 128 KiB (execve(2), MAX_ARG_STRLEN). It can be read by whoever may read pods, which is why scripts hold no
 * secrets. The answer comes back by the pod's log, where kubelet and runtime may add lines, cut the beginning off (rotation, by default
 * at 10 MiB) or the end (a container that is killed): so it is one frame with a length and a checksum, and anything else is no answer.
 */
import { createHash } from 'node:crypto'
import { gunzipSync, gzipSync } from 'node:zlib'
import type { Manifest } from '../cluster/writer.js'
import type { NodeScript } from './types.js'

/** The only container that is looked at; admission may have added others. */
export const CONTAINER = 'ask'
/** Which sweep a Job and its pods are of. */
export const SWEEP_LABEL = 'kubectl-storage/sweep'
/** How long Kubernetes keeps a Job that has ended and that we, being gone, do not delete. */
export const TTL_SECONDS = 120
/** Compressed and in base64: so many pods with it must fit in etcd's 1.5 MiB an object, with room. */
export const MAX_SCRIPT_BYTES = 200_000
/** Of an answer, when the script does not say. */
export const DEFAULT_MAX_BYTES = 8 * 2 ** 20
/** Below MAX_ARG_STRLEN. */
const CHUNK = 100_000
/** Of what the script wrote to standard error, its end. */
const MAX_STDERR_BYTES = 2000

export interface PodJobOptions {
  /** Of the Job; unique in the sweep. */
  name: string
  namespace: string
  node: string
  image: string
  /** Random letters and digits; the same for all Jobs of a sweep. */
  sweep: string
  /** Random letters and digits: marks the lines of the log that are the frame. */
  nonce: string
  script: NodeScript
  /** Kubernetes ends the pod after so many seconds, whether we are still there or not. */
  deadlineSeconds: number
}

/**
 * What runs in the container. The script's output goes to a file in memory and from there into the frame, so that nothing that the node
 * prints reaches the log as it is. `head` ends a script that writes without end; `env -i` keeps the container's environment from the node.
 * In namespaces of pid 1 (mount, UTS, IPC, network, PID) it is the node's own /bin/sh that reads the script, as over SSH.
 * No `$(NAME)` and no two dollar signs in a row: Kubernetes expands them in commands (core/v1 Container.command).
 */
const WRAPPER = `
say() { echo "$NONCE $*"; }
say begin
for tool in nsenter base64 gzip sha256sum head tail env tr wc; do
  command -v $tool >/dev/null 2>&1 || { say missing $tool; say end; exit 0; }
done
cd /answer || exit 1
echo "$SCRIPT_0$SCRIPT_1" | base64 -d | gzip -d >script || { say missing script; say end; exit 0; }
{
  env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C \\
    nsenter -t 1 -m -u -i -n -p -- /bin/sh <script 2>errors
  echo $? >code
} | head -c $LIMIT >out
say code \`cat code\`
say length \`wc -c <out\`
say sha256 \`sha256sum <out\`
say out \`gzip -c <out | base64 | tr -d '\\n'\`
say err \`tail -c ${MAX_STDERR_BYTES} errors | base64 | tr -d '\\n'\`
say end
`

/** Whether the script fits into a pod; it is not, when it is beyond {@link MAX_SCRIPT_BYTES}. */
export function packScript(text: string): string[] | null {
  const packed = gzipSync(text, { level: 9 }).toString('base64')
  if (packed.length > MAX_SCRIPT_BYTES) return null
  const chunks = Array.from({ length: Math.ceil(packed.length / CHUNK) }, (_, index) =>
    packed.slice(index * CHUNK, (index + 1) * CHUNK),
  )
  return chunks
}

/** What may be in an object's name and in a label's value: for nodes whose name is longer, its beginning and a checksum. */
export function jobName(sweep: string, node: string): string {
  // A pod's name is its Job's and six characters more, a host name of at most 63.
  const clean = node.replace(/[^a-z0-9-]+/g, '-').replace(/^-+|-+$/g, '')
  const hash = createHash('sha256').update(node).digest('hex').slice(0, 8)
  const head = `kubectl-storage-${sweep}-`
  return `${head}${clean.slice(0, 57 - head.length - hash.length - 1).replace(/-+$/, '')}-${hash}`.replace(
    /-{2,}/g,
    '-',
  )
}

/** @throws {RangeError} the script is too long: see packScript() */
export function podJob(options: PodJobOptions): Manifest {
  const { name, namespace, sweep, deadlineSeconds } = options
  const labels = labelsOf(sweep)
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name, namespace, labels },
    spec: {
      backoffLimit: 0,
      completions: 1,
      parallelism: 1,
      activeDeadlineSeconds: deadlineSeconds,
      ttlSecondsAfterFinished: TTL_SECONDS,
      template: { metadata: { labels: podLabels(labels), annotations: ANNOTATIONS }, spec: podSpec(options) },
    },
  }
}

/** The very pod that the Job controller would create, for a dry run: admission judges pods, not Jobs. */
export function podOfJob(options: PodJobOptions): Manifest {
  const { name, namespace, sweep } = options
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace, labels: podLabels(labelsOf(sweep)), annotations: ANNOTATIONS },
    spec: podSpec(options),
  }
}

export function selectorOf(sweep: string): string {
  return `${SWEEP_LABEL}=${sweep}`
}

function labelsOf(sweep: string): Record<string, string> {
  return { 'app.kubernetes.io/managed-by': 'kubectl-storage', [SWEEP_LABEL]: sweep }
}

// Service meshes put a proxy into each pod, which would never end.
const ANNOTATIONS = { 'linkerd.io/inject': 'disabled', 'sidecar.istio.io/inject': 'false' }
function podLabels(labels: Record<string, string>): Record<string, string> {
  return { ...labels, 'sidecar.istio.io/inject': 'false' }
}

function podSpec({ node, image, nonce, script, deadlineSeconds }: PodJobOptions): object {
  const chunks = packScript(script.text)
  if (chunks === null) throw new RangeError('the script is too long for a pod')
  const env = [
    { name: 'NONCE', value: nonce },
    // One byte more than may be: an answer that is too long is seen as such.
    { name: 'LIMIT', value: String((script.maxBytes ?? DEFAULT_MAX_BYTES) + 1) },
    ...[0, 1].map((index) => ({ name: `SCRIPT_${index}`, value: chunks[index] ?? '' })),
  ]
  return {
    restartPolicy: 'Never',
    // The kubelet's own, so that the pod ends too when its node does not hear of the Job's end.
    activeDeadlineSeconds: deadlineSeconds,
    terminationGracePeriodSeconds: 1,
    // Asks the scheduler for this node as the DaemonSet controller does: with spec.nodeName nobody would look whether it exists.
    affinity: {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [{ matchFields: [{ key: 'metadata.name', operator: 'In', values: [node] }] }],
        },
      },
    },
    // Every taint, that of a cordon too.
    tolerations: [{ operator: 'Exists' }],
    hostPID: true,
    // A pod network that is broken, or has no address left, keeps no answer back.
    hostNetwork: true,
    dnsPolicy: 'Default',
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    containers: [
      {
        name: CONTAINER,
        image,
        imagePullPolicy: 'IfNotPresent',
        command: ['/bin/sh', '-c', WRAPPER],
        env,
        // The image's user may be any.
        securityContext: { privileged: true, runAsUser: 0, runAsNonRoot: false },
        volumeMounts: [{ name: 'answer', mountPath: '/answer' }],
      },
    ],
    volumes: [{ name: 'answer', emptyDir: { medium: 'Memory' } }],
  }
}

/** What a log holds. */
export type Frame =
  | { kind: 'answer'; code: number; output: Buffer; errors: string }
  /** The image lacks this program. */
  | { kind: 'missing'; tool: string }
  | { kind: 'too-long' }
  /** No frame, or one of which something is missing: what, in a few words. */
  | { kind: 'broken'; why: string }

/** Reads the frame out of a log. Everything outside of it is left alone, and nothing in it is believed beyond `maxBytes`. */
export function readFrame(log: Buffer, nonce: string, maxBytes: number): Frame {
  const lines = log.toString('latin1').split('\n')
  const mark = `${nonce} `
  const said = lines.filter((line) => line.startsWith(mark)).map((line) => line.slice(mark.length).trimEnd())
  const broken = (why: string): Frame => ({ kind: 'broken', why })
  if (said.length === 0) return broken(log.length === 0 ? 'the log is empty' : 'the log holds no answer')
  if (said[0] !== 'begin') return broken('the beginning of the log is gone')
  if (said.at(-1) !== 'end') return broken('the log ends before the answer does')
  const fields = new Map<string, string>()
  for (const line of said.slice(1, -1)) {
    const space = line.indexOf(' ')
    const key = space < 0 ? line : line.slice(0, space)
    if (fields.has(key)) return broken(`${key} is there twice`)
    fields.set(key, space < 0 ? '' : line.slice(space + 1).trim())
  }
  const tool = fields.get('missing')
  if (tool !== undefined) return { kind: 'missing', tool }
  const code = wholeNumber(fields.get('code'))
  const length = wholeNumber(fields.get('length'))
  const sha256 = fields.get('sha256')?.match(/^[0-9a-f]{64}\b/)?.[0]
  const out = fields.get('out')
  if (length !== null && length > maxBytes) return { kind: 'too-long' }
  if (code === null || length === null || sha256 === undefined || out === undefined) {
    return broken('a part of the answer is missing')
  }
  let output: Buffer
  try {
    output = gunzipSync(Buffer.from(out, 'base64'), { maxOutputLength: Math.max(1, maxBytes) })
  } catch {
    return broken('the answer is damaged')
  }
  if (output.length !== length || createHash('sha256').update(output).digest('hex') !== sha256) {
    return broken('the answer is damaged')
  }
  const errors = Buffer.from(fields.get('err') ?? '', 'base64')
    .subarray(-MAX_STDERR_BYTES)
    .toString('utf8')
  return { kind: 'answer', code, output, errors }
}

function wholeNumber(text: string | undefined): number | null {
  return text !== undefined && /^\d{1,12}$/.test(text) ? Number(text) : null
}
