import { describe, expect, it } from 'vitest'
import { defaultTimings } from '#failover/protocol/timings.ts'
import { anObservation } from '#topology/testing.ts'
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
