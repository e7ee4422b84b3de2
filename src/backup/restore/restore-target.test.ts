import { describe, expect, it } from 'vitest'
import { targetOf, whyBadTarget } from './restore-target.ts'
import { sourceA } from '../objects/testing.ts'

describe('How far a restore goes', () => {
  it('is the newest, a backup, a second, transactions, or what was before one', () => {
    expect(targetOf({}).target).toEqual({ kind: 'newest' })
    expect(targetOf({ backup: '20261126T031209Z' }).target).toEqual({ kind: 'backup', name: '20261126T031209Z' })
    expect(targetOf({ until: '2026-11-25T03:12:09Z' }).target).toEqual({
      kind: 'moment',
      ms: Date.UTC(2026, 10, 25, 3, 12, 9),
    })
    expect(targetOf({ until: '2026-11-25T04:12:09+01:00' })).toEqual(targetOf({ until: '2026-11-25T03:12:09z' }))
    expect(targetOf({ untilGtids: `${sourceA}:1-9` }).target.kind).toBe('gtids')
    expect(targetOf({ before: `${sourceA}:9`, backup: '20261126T031209Z' })).toMatchObject({
      target: { kind: 'before' },
      from: '20261126T031209Z',
    })
  })

  it.each([
    [{ until: '2026-11-25T03:12:09Z', before: `${sourceA}:1` }, 'until and before are given'],
    [{ until: '2026-11-25T03:12:09' }, 'with its time zone'],
    [{ until: '2026-11-25 03:12:09Z' }, 'with its time zone'],
    [{ until: '2026-11-25T03:12:09.5Z' }, 'a whole second'],
    [{ until: '2026-06-31T03:12:09Z' }, 'a whole second'],
    [{ until: '2026-06-30T24:00:00Z' }, 'a whole second'],
    [{ until: '2026-13-30T23:00:00Z' }, 'a whole second'],
    [{ until: 'yesterday' }, 'a whole second'],
    [{ untilGtids: '' }, 'names no transaction'],
    [{ untilGtids: 'x:1' }, 'untilGtids is no set of transactions'],
    [{ before: `${sourceA}:1-2` }, 'before is 2 transactions'],
  ])('%o is refused where that is written', (wanted, why) => {
    expect(String(whyBadTarget(wanted))).toContain(why)
  })
})
