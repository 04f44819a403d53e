import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { claim, otherSuite } from './support/claim.js'
import { folders } from './support/config.js'

const run = mkdtempSync(join(tmpdir(), 'claim-'))
const at = { ...folders(), run }
beforeEach(() => rmSync(join(run, 'suite'), { force: true }))
afterAll(() => rmSync(run, { recursive: true }))

describe('the claim of a run of the suite on the lab', () => {
  it('is free at first', () => {
    expect(otherSuite(at)).toBeUndefined()
  })

  it('does not keep out the run that made it', () => {
    claim(at)
    expect(readFileSync(join(run, 'suite'), 'utf8')).toBe(String(process.pid))
    expect(otherSuite(at)).toBeUndefined()
  })

  it('keeps out everybody else, and names who made it', () => {
    writeFileSync(join(run, 'suite'), String(process.ppid))
    expect(otherSuite(at)).toBe(process.ppid)
  })

  it('ends with the run', () => {
    const { pid } = spawnSync('true')
    writeFileSync(join(run, 'suite'), String(pid))
    expect(otherSuite(at)).toBeUndefined()
  })
})
