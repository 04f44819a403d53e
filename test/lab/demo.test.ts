import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { comparable } from './support/demo.js'

const shipped = readFileSync(new URL('../../demo/cluster.json', import.meta.url), 'utf8')

interface Sized {
  kind: string
  spec: { capacity?: object; nodeName?: string }
  status: { capacity?: object; allocatable?: object }
}

/** The recording, had something in it been otherwise. */
function changed(change: (item: Sized) => void): string {
  const [list, ...empty] = JSON.parse(shipped) as [{ items: Sized[] }, ...unknown[]]
  list.items.forEach(change)
  return JSON.stringify([list, ...empty])
}

describe('recordings of the demo', () => {
  it('are the same on a machine of another size', () => {
    let nodes = 0
    const elsewhere = changed(({ kind, status }) => {
      if (kind !== 'Node') return
      nodes++
      status.capacity = { cpu: '64', memory: '1Ki', pods: '110' }
      status.allocatable = { cpu: '63' }
    })
    expect(nodes).toBe(3)
    expect(comparable(elsewhere)).toEqual(comparable(shipped))
  })

  it.each<[string, string, (item: Sized) => void]>([
    [
      'size of a volume',
      'PersistentVolume',
      ({ spec }) => {
        spec.capacity = { storage: '7Ki' }
      },
    ],
    [
      'node of a pod',
      'Pod',
      ({ spec }) => {
        spec.nodeName = 'master'
      },
    ],
  ])('are not the same with another %s', (_, kind, change) => {
    const other = changed((item) => {
      if (item.kind === kind) change(item)
    })
    expect(comparable(other)).not.toEqual(comparable(shipped))
  })
})
