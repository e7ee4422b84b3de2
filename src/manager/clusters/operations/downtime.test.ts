import { describe, expect, it } from 'vitest'
import { operationsOn } from './testing-operations.ts'

describe('a downtime', () => {
  const asked = { instance: 'shop-2', forMs: 60_000, reason: 'new disk', owner: 'ann', dryRun: false }
  const words = 'downtime until 1970-01-01 00:17:40 UTC by ann: new disk'

  it('is noted until its time, and says so', async () => {
    const { operations, notes } = operationsOn({})
    expect(await operations.perform('downtime', { ...asked, dryRun: true })).toEqual({
      done: false,
      dryRun: true,
      sentence: `shop-2 would be in ${words}`,
    })
    expect(notes().downtimes).toBeUndefined()
    expect(await operations.perform('downtime', asked)).toEqual({
      done: true,
      dryRun: false,
      sentence: `shop-2 is in ${words}`,
    })
    expect(notes().downtimes).toEqual([
      { instance: 'shop-2', untilWallMs: 1_060_000, reason: 'new disk', owner: 'ann' },
    ])
  })

  it('of the primary says that a failover is not held back', async () => {
    expect(
      (await operationsOn({}).operations.perform('downtime', { ...asked, instance: 'shop-0' })).sentence,
    ).toContain('it is the primary: if it fails, another one takes over as ever')
  })

  it('is ended by a person before its time', async () => {
    const { operations, notes } = operationsOn({
      notes: { downtimes: [{ instance: 'shop-2', untilWallMs: 1_060_000, reason: 'new disk', owner: 'ann' }] },
    })
    expect(await operations.perform('end-downtime', { instance: 'shop-1', dryRun: false })).toEqual({
      done: false,
      dryRun: false,
      sentence: 'shop-1 is not in downtime',
    })
    expect(await operations.perform('end-downtime', { instance: 'shop-2', dryRun: true })).toEqual({
      done: false,
      dryRun: true,
      sentence: `would end the ${words}`,
    })
    expect(await operations.perform('end-downtime', { instance: 'shop-2', dryRun: false })).toEqual({
      done: true,
      dryRun: false,
      sentence: 'shop-2 is no longer in downtime',
    })
    expect(notes().downtimes).toBeUndefined()
  })

  it('of nobody is refused with who there is', async () => {
    const { operations } = operationsOn({})
    for (const over of [
      operations.perform('downtime', { ...asked, instance: 'shop-9' }),
      operations.perform('end-downtime', { instance: 'shop-9', dryRun: false }),
    ]) {
      await expect(over).rejects.toMatchObject({
        code: 'REGENT_NOT_FOUND',
        message: expect.stringContaining('shop-0, shop-1, shop-2') as string,
      })
    }
  })
})
