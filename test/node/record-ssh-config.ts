/** Records what the OpenSSH of this machine says of ssh-config-cases.ts: as root, since paths of the home are in it. */
import { writeFile } from 'node:fs/promises'
import { CASES, settingsOfCase } from './ssh-config-cases.js'

const recorded: Record<string, unknown> = {}
for (const [name, of] of Object.entries(CASES)) recorded[name] = await settingsOfCase(of, { openssh: true })
await writeFile('test/fixtures/ssh-config/openssh-9.2.json', `${JSON.stringify(recorded, null, 1)}\n`)
