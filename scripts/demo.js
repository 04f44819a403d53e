/** `npm run demo`: what the README shows. The demo cluster is not safe to drain, so the command ends with 3; npm would call that a failure. */
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const NOT_SAFE = 3
const bin = fileURLToPath(new URL('../bin/run.js', import.meta.url))
const { status, error } = spawnSync(process.execPath, [bin, 'drain-check', 'k8s-node-2', '--from', 'demo'], {
  stdio: 'inherit',
})
if (error) throw error
process.exitCode = status === NOT_SAFE ? 0 : (status ?? 1)
