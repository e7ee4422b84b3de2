import { describe, expect, it, vi } from 'vitest'

/** True once this has lasted longer than vitest's own second. */
function afterMs(ms: number): () => boolean {
  const began = process.hrtime.bigint()
  return () => process.hrtime.bigint() - began >= BigInt(ms) * 1_000_000n
}

describe('a test that waits', () => {
  it.concurrent.each([undefined, 20, { interval: 5 }, { timeout: 20 }])(
    'is as patient as a busy machine needs, whatever it asks for: %j',
    async (options) => {
      const [isSo, isLikewise, comes] = [afterMs(1_500), afterMs(1_500), afterMs(1_500)]
      const polled = typeof options === 'number' ? { timeout: options } : options
      await Promise.all([
        vi.waitFor(() => expect(isSo()).toBe(true), options),
        vi.waitUntil(isLikewise, options),
        expect.poll(comes, polled).toBe(true),
      ])
    },
  )
})
