import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

export function setup(): void {
  execFileSync(process.execPath, [fileURLToPath(new URL('../scripts/build.js', import.meta.url))], { stdio: 'inherit' })
}
