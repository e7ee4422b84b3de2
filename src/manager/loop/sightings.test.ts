import { describe, expect, it } from 'vitest'
import { defaultTimings } from '#failover/protocol/timings.ts'
import { aSituation } from '#failover/testing.ts'
import { anObservation, gtids, uuidOf } from '#topology/testing.ts'
import { Sightings } from './sightings.ts'

const instance = { name: 'shop-0', host: '127.24.1.1', port: 3306, agent: '127.24.1.1:9000' } as const
const first = anObservation({
  instance: 'shop-0',
  agentRun: 'one',
  sequence: 7,
  stored: { incarnation: 'a', earlierIncarnations: [] },
})
const second = anObservation({
  instance: 'shop-0',
  agentRun: 'two',
  sequence: 1,
  stored: { incarnation: 'b', earlierIncarnations: ['a'] },
})

describe('what a manager has heard of an instance', () => {
  it('is the newest, whatever comes late', () => {
    const sightings = new Sightings(defaultTimings)
    sightings.setInstances([instance])
    expect(sightings.hear(first, 0)).toBe(true)
    expect(sightings.hear({ ...first, sequence: 6 }, 1)).toBe(false)
    expect(sightings.observationOf('shop-0')?.sequence).toBe(7)
  })

  it('grows older while nothing is heard', () => {
    const sightings = new Sightings(defaultTimings)
    sightings.setInstances([instance])
    sightings.hear(
      {
        ...first,
        processSinceMs: 5,
        openingMs: 20,
        seedingFailures: [{ donor: 'shop-1', times: 1, error: 'refused', agoMs: 10 }],
      },
      0,
    )
    expect(sightings.snapshot(100).instances[0]?.observation).toMatchObject({
      processSinceMs: 105,
      openingMs: 120,
      seedingFailures: [{ agoMs: 110 }],
    })
  })

  it('is the word of the agent that runs now, also when the last word of the one before comes after it', () => {
    const sightings = new Sightings(defaultTimings)
    sightings.setInstances([instance])
    expect(sightings.hear(second, 0)).toBe(true)
    expect(sightings.hear({ ...first, sequence: 8 }, 1)).toBe(false)
    expect(sightings.observationOf('shop-0')?.agentRun).toBe('two')
  })

  it('names who is forgetful, as what it said last, until it says so no more', () => {
    const sightings = new Sightings(defaultTimings)
    sightings.setInstances([instance])
    expect(sightings.forgetful).toEqual({})
    sightings.hear({ ...first, forgetfulAs: 'one.0' }, 0)
    sightings.hear({ ...first, sequence: 8, forgetfulAs: 'one.1' }, 1)
    expect(sightings.forgetful).toEqual({ 'shop-0': 'one.1' })
    sightings.hear({ ...first, sequence: 9 }, 2)
    expect(sightings.forgetful).toEqual({})
  })
})

describe('what a manager remembers of a primary', () => {
  it('says nothing of the next one: that is not deaf from its first moment on', () => {
    const seen = (epoch: number, nowMs: number) =>
      aSituation({
        record: { epoch },
        nowMs,
        views: {
          'shop-0': {
            server: {
              owned: `${uuidOf('shop-0')}:101`,
              semiSyncSource: { waiting: 1 },
              dumpThreads: [{ threadId: 1, user: 'r', host: 'h', serverUuid: uuidOf('shop-1'), semiSync: true }],
            },
          },
          'shop-1': { server: { received: gtids('shop-0', 101) } },
        },
      })
    const sightings = new Sightings(defaultTimings)
    sightings.track(seen(1, 1_000))
    sightings.track(seen(1, 4_000))
    expect(sightings.remembered(seen(1, 4_000).record)).toMatchObject({ deafSinceMs: 1_000 })
    expect(sightings.remembered(seen(2, 4_000).record)).toMatchObject({ deafSinceMs: null })
    sightings.track(seen(2, 4_001))
    expect(sightings.remembered(seen(2, 4_001).record)).toMatchObject({ deafSinceMs: 4_001 })
  })
})
