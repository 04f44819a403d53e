import { describe, expect, it } from 'vitest'
import { hasOpenSsh } from '../../src/node/ssh-config.js'
import recorded from '../fixtures/ssh-config/openssh-9.2.json' with { type: 'json' }
import { CASES, settingsOfCase } from './ssh-config-cases.js'

const openssh = await hasOpenSsh(process.env)

describe("the two ways to a host's settings agree", () => {
  // Recorded on Debian 12 as root with OpenSSH 9.2p1.
  it.each(Object.entries(CASES))('%s: the files as OpenSSH 9.2 read them', async (name, of) => {
    const read = await settingsOfCase(of, { openssh: false, home: '/root', localUser: 'root' })
    expect(read).toEqual((recorded as Record<string, unknown>)[name])
  })

  it.runIf(openssh).each(Object.entries(CASES))('%s: the files as ssh -G of this machine', async (_name, of) => {
    expect(await settingsOfCase(of, { openssh: false })).toEqual(await settingsOfCase(of, { openssh: true }))
  })
})
