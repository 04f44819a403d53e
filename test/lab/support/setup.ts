/** Before the suite: there must be a lab, and what is random follows from one seed that is printed. */
import { randomInt } from 'node:crypto'
import { claim } from './claim.js'
import { Lab, SEED } from './lab.js'

export async function setup(): Promise<void> {
  const lab = Lab.connect()
  claim(lab.at)
  process.env[SEED] ??= String(randomInt(1, 2 ** 31))
  process.stderr.write(
    `lab: seed ${process.env[SEED]}${lab.full ? ', the whole suite' : ''} (${SEED}=… runs it again)\n`,
  )
  // Somebody may have tried something in a lab that was up already.
  await lab.reset()
}
