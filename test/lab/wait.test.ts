import { describe, expect, it } from 'vitest'
import { missing, waitFor } from './support/wait.js'

describe('waiting', () => {
  it('ends with what the probe found', async () => {
    let asked = 0
    const found = await waitFor('three', () => (++asked < 3 ? missing('more') : asked), { everyMs: 1 })
    expect(found).toBe(3)
  })

  it('says what it waited for and what was missing last', async () => {
    const waiting = waitFor('the nodes', () => missing('k8s-node-2 is not Ready'), { timeoutMs: 5, everyMs: 1 })
    await expect(waiting).rejects.toThrow(/^the nodes: not after 0 s; missing: k8s-node-2 is not Ready$/)
  })

  it('takes an error for an answer that is not there yet', async () => {
    let asked = 0
    const probe = () => {
      if (++asked < 2) throw new Error('connection refused')
      return true
    }
    await expect(waitFor('a server', probe, { everyMs: 1 })).resolves.toBe(true)
    const never = waitFor('a server', () => Promise.reject(new Error('connection refused')), {
      timeoutMs: 5,
      everyMs: 1,
    })
    await expect(never).rejects.toThrow('missing: connection refused')
  })

  it('stops when it is told to', async () => {
    const stopped = new AbortController()
    const waiting = waitFor('nothing', () => missing('all'), { signal: stopped.signal, everyMs: 1 })
    stopped.abort(new Error('stopped'))
    await expect(waiting).rejects.toThrow('stopped')
  })
})
