import { describe, expect, it } from 'vitest'
import { firstWrite, longestPause } from './outage.ts'

const write = (id: number, host: string, beganMs: number, ackedMs: number) => ({ id, host, beganMs, ackedMs })
const writes = [
  write(1, 'a', 0, 2),
  write(2, 'a', 10, 12),
  write(3, 'a', 20, 90),
  write(5, 'b', 130, 135),
  write(6, 'b', 140, 142),
]

describe('the outage a client saw', () => {
  it('is the longest time between two acknowledgements', () => {
    expect(longestPause(writes, 0)).toEqual({ pauseMs: 78, sinceMs: 12, fromHost: 'a', toHost: 'a' })
  })

  it('counts from the last acknowledgement before the event, which may lie before it', () => {
    expect(longestPause(writes, 100)).toEqual({ pauseMs: 45, sinceMs: 90, fromHost: 'a', toHost: 'b' })
  })

  it('is nothing where nothing was acknowledged since', () => {
    expect(longestPause(writes, 200)).toEqual({ pauseMs: 0, sinceMs: 200, fromHost: '', toHost: '' })
  })

  it('ends with the first write that began after the fault on another server, not with one that the old server still answered', () => {
    expect(firstWrite(writes, 15, 'a')?.id).toBe(5)
    expect(firstWrite(writes, 15, undefined)?.id).toBe(3)
    expect(firstWrite(writes, 141, 'a')).toBeUndefined()
  })
})
