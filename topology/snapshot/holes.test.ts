import { describe, expect, it } from 'vitest'
import { anObservation, gtids, uuidOf, type ServerOverrides } from '../testing.ts'
import { passedOver, sourceLookOf, stillLacking, type SourceLook } from './holes.ts'
import type { BinlogPlace, Observation } from './observation.ts'

const place = (file: number, position: number): BinlogPlace => ({ file, position })
/** shop-0 has executed 100 transactions, and its binlogs end in file 7 at 5000. */
const source: SourceLook = { uuid: uuidOf('shop-0'), executed: gtids('shop-0', 100), end: place(7, 5_000) }

const holding = (executed: string, channel: ServerOverrides['channel'] = {}) =>
  anObservation({ server: { executed, received: '', channel: { hasRead: source.end, ...channel } } })
const lacking = (...given: Parameters<typeof holding>) => passedOver(holding(...given), source)?.toString()

describe('A replica that has read its source’s binlogs to where they ended', () => {
  it('lacks nothing of what was executed there', () => {
    expect(lacking(gtids('shop-0', 100))).toBe('')
    expect(lacking(gtids('shop-0', 130), { hasRead: place(8, 4) })).toBe('')
  })

  it('was passed over with what it lacks of that, whoever wrote it', () => {
    expect(lacking(`${uuidOf('shop-0')}:1-40:42-100`)).toBe(`${uuidOf('shop-0')}:41`)
    expect(lacking(`${uuidOf('shop-0')}:1-40:42-130`, { hasRead: place(7, 9_000) })).toBe(`${uuidOf('shop-0')}:41`)
    const others = { ...source, executed: `${gtids('shop-0', 100)},${gtids('shop-2', 2)}` }
    expect(passedOver(holding(gtids('shop-0', 100)), others)?.toString()).toBe(gtids('shop-2', 2))
  })

  it('holds what it received and did not apply yet', () => {
    const replica = anObservation({
      server: { executed: gtids('shop-0', 90), received: gtids('shop-0', 100), channel: { hasRead: source.end } },
    })
    expect(passedOver(replica, source)?.toString()).toBe('')
  })
})

it('A replica under a promise is not compared by what it held as it promised, once its receiver got more', () => {
  const promised = { ...holding(gtids('shop-0', 100)), promiseReport: { epoch: 2, holds: gtids('shop-0', 90) } }
  expect(passedOver(promised as Observation, source)?.toString()).toBe('')
  expect(stillLacking(gtids('shop-0', 95), promised as Observation)).toBe('')
})

describe('Nothing is said of a replica', () => {
  it('that has not read so far: what it lacks may be on its way', () => {
    for (const hasRead of [place(7, 4_999), place(6, 9_999), null])
      expect(lacking(gtids('shop-0', 90), { hasRead })).toBeUndefined()
  })

  it('that is not connected, reads from another server, or whose agent is older', () => {
    for (const channel of [{ ioRunning: 'connecting' }, { sourceUuid: uuidOf('shop-2') }] as const)
      expect(lacking(gtids('shop-0', 90), channel)).toBeUndefined()
    for (const channel of [null, {}])
      expect(passedOver(anObservation({ server: { executed: '', channel } }), source)).toBeUndefined()
  })
})

it('The look at a source is what it had executed and where its binlogs ended, and none where an older agent does not say', () => {
  const server = { executed: gtids('shop-0', 100), binlogNumber: 7, binlogPosition: 5_000 }
  expect(sourceLookOf(anObservation({ instance: 'shop-0', server }))).toEqual(source)
  expect(sourceLookOf(anObservation({ instance: 'shop-0' }))).toBeNull()
  expect(sourceLookOf(anObservation({ instance: 'shop-0', server: null }))).toBeNull()
})

it('What was passed over and came after all, after a receiver connected anew, is lacking no more', () => {
  expect(stillLacking(`${uuidOf('shop-0')}:41-42`, holding(`${uuidOf('shop-0')}:1-41`))).toBe(`${uuidOf('shop-0')}:42`)
  expect(stillLacking('', holding(''))).toBe('')
})
