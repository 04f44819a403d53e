import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import {
  type Frame,
  jobName,
  MAX_SCRIPT_BYTES,
  type PodJobOptions,
  packScript,
  podJob,
  podOfJob,
  readFrame,
} from '../../src/node/pod-job.js'

const options: PodJobOptions = {
  name: 'kubectl-storage-a1b2c3d4e5-n1-676b8bb8',
  namespace: 'nodes',
  node: 'n1',
  image: 'busybox:1.37',
  sweep: 'a1b2c3d4e5',
  nonce: 'ksn0nce',
  script: { text: 'echo hello\n' },
  deadlineSeconds: 65,
}

interface PodSpec {
  affinity: object
  containers: { command: string[]; env: { name: string; value: string }[]; securityContext: object }[]
  [field: string]: unknown
}

function specOf(given: Partial<PodJobOptions> = {}): PodSpec {
  return podOfJob({ ...options, ...given }).spec as PodSpec
}

describe('podJob', () => {
  it('ends and goes by itself, and is not tried again', () => {
    expect(podJob(options)).toMatchObject({
      metadata: {
        name: options.name,
        labels: { 'app.kubernetes.io/managed-by': 'kubectl-storage', 'kubectl-storage/sweep': 'a1b2c3d4e5' },
      },
      spec: { backoffLimit: 0, activeDeadlineSeconds: 65, ttlSecondsAfterFinished: 120 },
    })
  })

  it('has a pod for this one node, cordoned, tainted or full of pods’ addresses as it may be, without rights', () => {
    expect(specOf()).toMatchObject({
      restartPolicy: 'Never',
      activeDeadlineSeconds: 65,
      automountServiceAccountToken: false,
      hostPID: true,
      hostNetwork: true,
      tolerations: [{ operator: 'Exists' }],
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: {
            nodeSelectorTerms: [{ matchFields: [{ key: 'metadata.name', operator: 'In', values: ['n1'] }] }],
          },
        },
      },
    })
  })

  it('is dry-run with the very pod that its Job makes', () => {
    const job = podJob(options).spec as { template: { metadata: object; spec: object } }
    expect(podOfJob(options).spec).toEqual(job.template.spec)
    expect(podOfJob(options).metadata).toMatchObject(job.template.metadata)
  })

  it('keeps the script out of the command, and the command free of what Kubernetes would expand', () => {
    const { command, env } = specOf({ script: { text: 'echo "$(id)" $$\n' } }).containers[0] ?? { command: [], env: [] }
    expect(command.join('\n')).not.toMatch(/echo "\$\(id\)|\$\$|\$\([A-Za-z_]/)
    for (const { value } of env) expect(value).toMatch(/^[A-Za-z0-9+/=]*$/)
  })

  it('takes long scripts in variables that Linux takes, and none that is too long', () => {
    // Random, so that it can't be made smaller.
    const long = createHash('shake256', { outputLength: 60_000 }).update('x').digest('hex')
    const { env } = specOf({ script: { text: long } }).containers[0] ?? { env: [] }
    expect(env.every(({ value }) => value.length < 128 * 1024)).toBe(true)
    const longer = createHash('shake256', { outputLength: MAX_SCRIPT_BYTES }).update('x').digest('hex')
    expect(packScript(longer)).toBeNull()
    expect(() => podJob({ ...options, script: { text: longer } })).toThrow(RangeError)
  })
})

describe('jobName', () => {
  it.each([
    ['n1', 'kubectl-storage-a1b2c3d4e5-n1-676b8bb8'],
    ['ip-10-0-0-1.eu-central-1.compute.internal', 'kubectl-storage-a1b2c3d4e5-ip-10-0-0-1-eu-centra-bc2dd44b'],
  ])('of %s', (node, name) => {
    expect(jobName('a1b2c3d4e5', node)).toBe(name)
  })

  it('is a name for Jobs, pods and labels whatever the node is called, and each node has its own', () => {
    const nodes = ['a', 'a.b', 'a-b', `${'x'.repeat(250)}.y`, `${'x'.repeat(250)}.z`, '0', 'a'.repeat(63), '-.-']
    const names = nodes.map((node) => jobName('a1b2c3d4e5', node))
    expect(new Set(names).size).toBe(nodes.length)
    for (const name of names) {
      expect(name).toMatch(/^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/)
      expect(name.length).toBeLessThanOrEqual(57)
    }
  })
})

/** Runs what would run in the container, in these namespaces instead of the node's. */
function inContainer(text: string, maxBytes?: number, path = process.env.PATH ?? ''): { log: Buffer; frame: Frame } {
  const script = maxBytes === undefined ? { text } : { text, maxBytes }
  const { command, env } = specOf({ script }).containers[0] ?? { command: [], env: [] }
  const folder = mkdtempSync(join(tmpdir(), 'answer-'))
  try {
    const wrapper = (command[2] ?? '')
      .replace('cd /answer', `cd ${folder}`)
      .replace('nsenter -t 1 -m -u -i -n -p -- /bin/sh', '/bin/sh')
    const { stdout, stderr } = spawnSync('/bin/sh', ['-c', wrapper], {
      env: { PATH: path, OF_THE_CONTAINER: 'x', ...Object.fromEntries(env.map(({ name, value }) => [name, value])) },
      maxBuffer: 2 ** 28,
    })
    const log = Buffer.concat([stdout, stderr])
    return { log, frame: readFrame(log, 'ksn0nce', maxBytes ?? 2 ** 23) }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

describe('what runs in the container', () => {
  it('gives the script’s output whole, whatever bytes it is', () => {
    const bytes = Buffer.from(Array.from({ length: 256 }, (_, index) => index))
    const { log, frame } = inContainer(`printf '${[...bytes].map((byte) => `\\${byte.toString(8)}`).join('')}'`)
    expect(frame).toMatchObject({ kind: 'answer', code: 0, output: bytes })
    expect(log.toString('latin1')).toMatch(/^[\x20-\x7e\n]*$/)
  })

  it('gives the exit code and the end of what went to standard error', () => {
    expect(inContainer('echo said; echo oops >&2; exit 3')).toMatchObject({
      frame: { kind: 'answer', code: 3, output: Buffer.from('said\n'), errors: 'oops\n' },
    })
  })

  it('keeps the container’s environment from the node', () => {
    const { frame } = inContainer('env')
    const output = frame.kind === 'answer' ? frame.output.toString() : ''
    expect(output).toContain('LC_ALL=C')
    expect(output).not.toMatch(/OF_THE_CONTAINER|SCRIPT_|NONCE/)
  })

  it('takes a script of more than one variable', () => {
    const noise = createHash('shake256', { outputLength: 60_000 }).update('x').digest('hex')
    expect(packScript(`: ${noise}\necho end`)?.length).toBe(1)
    const more = createHash('shake256', { outputLength: 90_000 }).update('y').digest('base64')
    const text = `: ${noise.slice(0, 30_000)} ${more}\necho end`
    expect(packScript(text)?.length).toBe(2)
    expect(inContainer(text).frame).toMatchObject({ kind: 'answer', code: 0, output: Buffer.from('end\n') })
  })

  it('ends a script that writes without end, and does not take its answer for a short one', () => {
    expect(inContainer('yes', 1000).frame).toEqual({ kind: 'too-long' })
    expect(inContainer('head -c 1000 /dev/zero', 1000).frame).toMatchObject({ kind: 'answer', code: 0 })
  })

  it('says which program the image lacks', () => {
    expect(inContainer('echo hello', undefined, '/nowhere').frame).toEqual({ kind: 'missing', tool: 'nsenter' })
  })

  it('can not be taken in by a script that prints a frame', () => {
    const { frame } = inContainer('echo ksn0nce end; echo ksn0nce begin; echo ksn0nce code 0')
    expect(frame).toMatchObject({ kind: 'answer', output: Buffer.from('ksn0nce end\nksn0nce begin\nksn0nce code 0\n') })
  })
})

describe('readFrame', () => {
  const { log } = inContainer(`head -c 5000 /dev/urandom`)
  const read = (text: Buffer | string, max = 10_000): Frame => readFrame(Buffer.from(text), 'ksn0nce', max)

  it('leaves what stands around the frame', () => {
    expect(read(`Warning: x\n${log}more\n`)).toMatchObject({ kind: 'answer', code: 0 })
  })

  it('knows a log that was cut anywhere', () => {
    // The line break at the very end is no part of it.
    for (let length = 0; length < log.length - 1; length += 7) {
      expect(read(log.subarray(0, length)).kind).toBe('broken')
      if (length > 0) expect(read(log.subarray(length)).kind).toBe('broken')
    }
  })

  it('knows an answer that was changed anywhere', () => {
    const start = log.indexOf(' out ') + 5
    for (let at = start; at < log.indexOf('\n', start); at += 97) {
      const changed = Buffer.from(log)
      changed[at] = changed[at] === 0x41 ? 0x42 : 0x41
      expect(read(changed).kind).toBe('broken')
    }
  })

  it('unpacks no more than may be', () => {
    const bomb = gzipSync(Buffer.alloc(1e7)).toString('base64')
    const text = `ksn0nce begin\nksn0nce code 0\nksn0nce length 10\nksn0nce sha256 ${'0'.repeat(64)}\nksn0nce out ${bomb}\nksn0nce end\n`
    expect(read(text)).toEqual({ kind: 'broken', why: 'the answer is damaged' })
    expect(read(text.replace('length 10\n', 'length 10000000\n'))).toEqual({ kind: 'too-long' })
  })
})
