import { describe, expect, it } from 'vitest'
import { virtualWorld } from '#common/ports/testing-world.ts'
import type { ObjectStore } from '../object-store.ts'
import { Throttle } from './throttle.ts'
import { throttledStore } from './throttled-store.ts'

describe('A throttle', () => {
  it('is shared by all puts, and lets reads pass', async () => {
    const world = virtualWorld()
    const taken: string[] = []
    const sink: Partial<ObjectStore> = {
      address: 'sink',
      put: async (key, content) => {
        for await (const chunk of content) taken.push(`${key} ${chunk.length} ${world.clock.monotonicMs()}`)
        return 0
      },
      putIfAbsent: async (key) => (taken.push(`${key} ${world.clock.monotonicMs()}`), true),
    }
    const store = throttledStore(sink as ObjectStore, new Throttle(1_000, world))
    const content = async function* () {
      for (let chunk = 0; chunk < 2; chunk += 1) yield new Uint8Array(500)
    }
    const puts = Promise.all([store.put('a', content()), store.put('b', content())])
    await world.advance(10_000)
    await puts
    expect(taken).toEqual(['a 500 0', 'b 500 500', 'a 500 1000', 'b 500 1500'])
    await store.putIfAbsent('c', new Uint8Array(1))
    // What was not used is not saved for later.
    expect(taken.at(-1)).toBe('c 10000')
  })

  it('ends its waiting with the signal', async () => {
    const world = virtualWorld()
    const throttle = new Throttle(1_024, world)
    await throttle.pass(1_000_000)
    const controller = new AbortController()
    const waiting = throttle.pass(1, controller.signal)
    controller.abort(new Error('enough'))
    await expect(waiting).rejects.toThrow('enough')
  })
})
