/**
 * `npm run readme` puts what `npm run demo` prints into the README, between its demo marks.
 * `node scripts/readme.js --check` only says whether that is there already; a test runs it.
 */
import { spawnSync } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const file = `${root}README.md`
const marks = /(?<=<!-- demo -->\n)[\s\S]*?(?=<!-- \/demo -->)/

const demo = spawnSync(process.execPath, [`${root}scripts/demo.js`], { encoding: 'utf8' })
if (demo.error) throw demo.error
if (demo.status !== 0) {
  process.stderr.write(`${demo.stderr}the demo ended with ${demo.status}; README.md is left as it is\n`)
  process.exit(1)
}
const before = await readFile(file, 'utf8')
if (!marks.test(before)) throw new Error('README.md has no <!-- demo --> … <!-- /demo --> block')
// By function: a replacement text would take a dollar sign in the output for a pattern.
const after = before.replace(marks, () => `\`\`\`text\n${demo.stdout.trimEnd()}\n\`\`\`\n`)
if (process.argv.includes('--check')) {
  if (after !== before) {
    process.stderr.write('README.md does not show what the demo prints now: npm run readme\n')
    process.exit(1)
  }
} else await writeFile(file, after)
