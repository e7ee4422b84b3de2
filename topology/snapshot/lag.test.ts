import { describe, expect, it } from 'vitest'
import { lagByHeartbeat } from './lag.ts'

const heartbeat = { atMs: 1_000_000, everyMs: 1_000 }

describe('The lag by a heartbeat', () => {
  it.each([
    ['nothing where the newest heartbeat was applied', 1_000_004, 0],
    ['nothing where that is the one before: nobody looks at two servers at once', 998_001, 0],
    ['the time since what was applied last was committed', 998_000, 2],
    ['so also where nothing arrives any more', 400_000, 600],
  ])('is %s', (_, appliedUpToMs, seconds) => {
    expect(lagByHeartbeat(heartbeat, appliedUpToMs)).toBe(seconds)
  })

  it('is not known without a heartbeat of the primary, or where nothing was applied yet', () => {
    expect([lagByHeartbeat(undefined, 1), lagByHeartbeat(heartbeat, undefined)]).toEqual([null, null])
  })
})
