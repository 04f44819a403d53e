/** Builds what is missing. */
import { spawn } from 'node:child_process'
import { mkdirSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { build as bundle } from 'esbuild'
import { type Folders, REPOSITORY } from './config.js'

export async function build(at: Folders, signal?: AbortSignal): Promise<void> {
  const driver = join(at.cache, 'src', 'csi', 'driver.cjs')
  mkdirSync(at.cache, { recursive: true })
  await bundle({
    absWorkingDir: REPOSITORY,
    entryPoints: ['test/lab/csi/driver.ts'],
    outfile: driver,
    bundle: true,
    platform: 'node',
    format: 'cjs',
    target: 'node20',
    logLevel: 'warning',
  })
  const script = join(REPOSITORY, 'test/lab/build.sh')
  await new Promise<void>((resolve, reject) => {
    // A group of its own: bash looks at a signal only when what it waits for has ended, which may be a compiler with minutes to go.
    const child = spawn(script, [at.cache, realpathSync(process.execPath), driver], {
      stdio: ['ignore', 'inherit', 'inherit'],
      detached: true,
    })
    const stop = () => process.kill(-Number(child.pid), 'SIGTERM')
    signal?.addEventListener('abort', stop)
    child.on('error', reject)
    child.on('close', (code) => {
      signal?.removeEventListener('abort', stop)
      if (code === 0) resolve()
      else reject(signal?.reason ?? new Error(`test/lab/build.sh: exit ${code}`))
    })
  })
}
