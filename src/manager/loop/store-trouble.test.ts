import { describe, expect, it } from 'vitest'
import type { Decision } from '#failover/protocol/decision.ts'
import { RegentError } from '#common/errors/errors.ts'
import { StoreTrouble } from './store-trouble.ts'

const decision: Decision = {
  condition: 'primaryWell',
  actions: [],
  sentence: 'no action: primary shop-0 is healthy',
  news: 'no action: primary shop-0 is healthy',
  reasons: [],
  blocked: false,
  flow: null,
  revisitMs: null,
}

async function afterReading(error: Error) {
  const trouble = new StoreTrouble(() => undefined)
  await trouble.read(Promise.reject(error)).catch(() => undefined)
  return trouble
}

describe('what is said while nothing can be committed', () => {
  it.each(['REGENT_STORE_DAMAGED', 'REGENT_NEWER_VERSION'] as const)(
    'is the record, where that cannot be used (%s), and not the store',
    async (code) => {
      const trouble = await afterReading(new RegentError(code, 'the record of shop, a file, cannot be used'))
      expect(trouble.limit(decision, true)).toMatchObject({
        condition: 'storeAway',
        blocked: true,
        sentence:
          'no action: primary shop-0 is healthy; nothing can be committed until the record can be used again: the record of shop, a file, cannot be used',
      })
    },
  )

  it('is the store, where that does not answer, and nothing once it does', async () => {
    const trouble = await afterReading(new RegentError('REGENT_STORE_UNAVAILABLE', 'no answer within 2000 ms'))
    expect(trouble.limit(decision, true).sentence).toContain(
      'nothing can be committed until the store is back: no answer within 2000 ms',
    )
    await trouble.read(Promise.resolve())
    expect(trouble.limit(decision, true)).toBe(decision)
  })
})
