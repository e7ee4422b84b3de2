import { describe, expect, it, vi } from 'vitest'
import { allWithinRecord, epochOf } from './epoch.ts'
import { aPod } from '../testing.ts'

const read = [aPod(0, { role: 'primary', epoch: '3' }), aPod(1, { role: 'replica', epoch: '2' })]
const forged = [...read, aPod(2, { role: 'replica', epoch: '99' })]

describe('Epochs of objects', () => {
  it('count as they are while none is higher than what is known, and the record is not read', async () => {
    const committed = vi.fn(() => Promise.resolve(3))
    expect(await allWithinRecord(read, 3, committed)).toBe(read)
    expect(committed).not.toHaveBeenCalled()
  })

  it('that nobody committed count for no more than the record’s', async () => {
    expect((await allWithinRecord(forged, 3, () => Promise.resolve(3))).map(epochOf)).toEqual([3, 2, 3])
  })

  it('that somebody committed meanwhile count', async () => {
    expect((await allWithinRecord(forged, 3, () => Promise.resolve(99))).map(epochOf)).toEqual([3, 2, 99])
  })

  it('count as they are where there is no record', async () => {
    expect(await allWithinRecord(forged, 0, () => Promise.resolve(undefined))).toEqual(forged)
  })
})
