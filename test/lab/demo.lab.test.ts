import { readFile } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { comparable, recordDemo } from './support/demo.js'
import { Lab } from './support/lab.js'

const lab = Lab.connect()

it('the demo that ships is what this lab gives, but for names, times and ids', async () => {
  const shipped = await readFile(new URL('../../demo/cluster.json', import.meta.url), 'utf8')
  const [before, now] = [comparable(shipped), comparable(await recordDemo(lab))]
  expect(now.filter((line) => !before.includes(line))).toEqual([])
  expect(before.filter((line) => !now.includes(line))).toEqual([])
  expect(now).toHaveLength(before.length)
})
