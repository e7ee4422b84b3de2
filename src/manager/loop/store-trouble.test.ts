import { describe, expect, it } from 'vitest'
import type { Decision } from '#failover/protocol/decision.ts'
import { limited, noTrouble } from './store-trouble.ts'

const decision: Decision = {
  condition: 'primaryWell',
  actions: [{ kind: 'scale', count: 3 }],
  sentence: 'no action: primary shop-0 is healthy',
  news: 'no action: primary shop-0 is healthy',
  reasons: [],
  blocked: false,
  flow: null,
  revisitMs: null,
}

describe('what is said while nothing can be committed', () => {
  it('is the record, where that cannot be used, and not the store', () => {
    const trouble = { ...noTrouble, reading: 'the record of shop, a file, cannot be used', isDamaged: true }
    expect(limited(decision, trouble, true)).toMatchObject({
      condition: 'storeAway',
      blocked: true,
      actions: decision.actions,
      sentence:
        'no action: primary shop-0 is healthy; nothing can be committed until the record can be used again: the record of shop, a file, cannot be used',
    })
  })

  it('is the store, where that does not answer, and nothing once it does', () => {
    const trouble = { ...noTrouble, store: 'no answer within 2000 ms', reading: 'damaged', isDamaged: true }
    expect(limited(decision, trouble, true).sentence).toContain(
      'nothing can be committed until the store is back: no answer within 2000 ms',
    )
    expect(limited(decision, noTrouble, true)).toBe(decision)
  })

  it('is all that who does not lead may do', () => {
    expect(limited(decision, { ...noTrouble, store: 'gone' }, false).actions).toEqual([])
  })
})
