import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { dueRun, nextRunMs, whyBadSchedule, type Schedule } from './schedule.ts'

const daily: Schedule = { cron: '30 2 * * *', timeZone: 'Europe/Berlin' }
const at = (iso: string) => Date.parse(iso)

function runsAfter(schedule: Schedule, iso: string, count: number): readonly string[] {
  const runs = [at(iso)]
  while (runs.length <= count) runs.push(nextRunMs(schedule, runs.at(-1) ?? 0))
  return runs.slice(1).map((ms) => new Date(ms).toISOString().slice(5, 16))
}

describe('the next run', () => {
  it.each<[string, string, string, readonly string[]]>([
    ['30 2 * * *', 'UTC', '2026-11-26T02:29:59Z', ['11-26T02:30', '11-27T02:30']],
    ['30 2 * * *', 'UTC', '2026-11-26T02:30:00Z', ['11-27T02:30']],
    ['30 2 * * *', 'Asia/Kolkata', '2026-11-26T00:00:00Z', ['11-26T21:00']],
    ['0 4 * * 0', 'UTC', '2026-11-26T00:00:00Z', ['11-29T04:00', '12-06T04:00']],
    ['0 0 29 2 *', 'UTC', '2026-11-26T00:00:00Z', ['02-29T00:00', '02-29T00:00']],
    ['@weekly', 'UTC', '2026-11-26T00:00:00Z', ['11-29T00:00']],
    ['*/15 * * * *', 'UTC', '2026-11-26T00:07:00Z', ['11-26T00:15', '11-26T00:30']],
  ])('of %s in %s after %s', (cron, timeZone, after, runs) => {
    expect(runsAfter({ cron, timeZone }, after, runs.length)).toEqual(runs)
  })

  it('is at the end of the gap where the clock is put forward past its time, and the next day as ever', () => {
    expect(runsAfter(daily, '2026-03-28T12:00:00Z', 3)).toEqual(['03-29T01:00', '03-30T00:30', '03-31T00:30'])
    const twice = { ...daily, cron: '15 1,2 * * *' }
    expect(runsAfter(twice, '2026-03-28T12:00:00Z', 3)).toEqual(['03-29T00:15', '03-29T01:00', '03-29T23:15'])
    const lordHowe = { cron: '15 2 * * *', timeZone: 'Australia/Lord_Howe' }
    expect(runsAfter(lordHowe, '2026-10-03T00:00:00Z', 2)).toEqual(['10-03T15:30', '10-04T15:15'])
  })

  it('is one run where the clock is put back and shows its time twice', () => {
    expect(runsAfter(daily, '2026-10-24T12:00:00Z', 3)).toEqual(['10-25T00:30', '10-26T01:30', '10-27T01:30'])
    expect(runsAfter(daily, '2026-10-25T00:30:00Z', 1)).toEqual(['10-26T01:30'])
    expect(runsAfter({ ...daily, cron: '15 1,2 * * *' }, '2026-10-24T12:00:00Z', 3)).toEqual([
      '10-24T23:15',
      '10-25T00:15',
      '10-26T00:15',
    ])
  })

  it('of each hour is each hour, whatever the clock does', () => {
    const hourly = { ...daily, cron: '0 * * * *' }
    expect(runsAfter(hourly, '2026-10-24T23:30:00Z', 3)).toEqual(['10-25T00:00', '10-25T01:00', '10-25T02:00'])
    expect(runsAfter(hourly, '2026-03-29T00:30:00Z', 2)).toEqual(['03-29T01:00', '03-29T02:00'])
  })

  it('is later than the moment asked for, and daily within 25 hours of it, in any zone at any time', () => {
    const zone = fc.constantFrom('UTC', 'Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'Asia/Kathmandu')
    const clock = fc.tuple(fc.nat(59), fc.nat(23)).map(([minute, hour]) => `${minute} ${hour} * * *`)
    const ms = fc.integer({ min: at('2024-01-01T00:00:00Z'), max: at('2034-01-01T00:00:00Z') })
    fc.assert(
      fc.property(zone, clock, ms, (timeZone, cron, afterMs) => {
        const waits = nextRunMs({ cron, timeZone }, afterMs) - afterMs
        expect(waits).toBeGreaterThan(0)
        expect(waits).toBeLessThanOrEqual(25 * 3_600_000)
      }),
      { numRuns: 500 },
    )
  })
})

describe('a run', () => {
  const since = at('2026-11-26T01:30:00Z')
  it('is due at its time, and not a millisecond before', () => {
    const time = at('2026-11-27T01:30:00Z')
    expect(dueRun(daily, since, time - 1)).toEqual({ isDue: false, atMs: time })
    expect(dueRun(daily, since, time)).toEqual({ isDue: true, atMs: time })
  })

  it('makes up for all that were missed while nobody was there', () => {
    const now = at('2026-12-24T12:00:00Z')
    expect(dueRun(daily, since, now)).toEqual({ isDue: true, atMs: at('2026-11-27T01:30:00Z') })
    expect(dueRun(daily, now, now + 1).isDue).toBe(false)
  })
})

describe('a schedule', () => {
  it.each<[string, string, string]>([
    ['', 'UTC', 'backup.schedule is "": write five fields (minute, hour, day, month, day of week) as in "0 3 * * *"'],
    ['0 0 3 * * *', 'UTC', 'write five fields'],
    ['2026-01-01T00:00:00', 'UTC', 'write five fields'],
    ['@reboot', 'UTC', 'write five fields'],
    ['every day at three', 'UTC', 'write five fields'],
    ['one two three four five', 'UTC', 'which cannot be read: '],
    ['60 3 * * *', 'UTC', 'backup.schedule is "60 3 * * *", which cannot be read: Invalid value for minute: 60'],
    ['0 24 * * *', 'UTC', 'Invalid value for hour: 24'],
    ['*/0 * * * *', 'UTC', 'illegal stepping: 0'],
    ['0 0 30 2 *', 'UTC', 'backup.schedule is "0 0 30 2 *", a day that no year has: nothing would ever run'],
    [
      '0 3 * * *',
      'Mars/Olympus',
      'backup.schedule is for time zone "Mars/Olympus", which is unknown: name one such as UTC or Europe/Berlin',
    ],
    ['0 3 * * *', '', 'is for time zone ""'],
  ])('that cannot work is refused in a sentence: %j in %j', (cron, timeZone, why) => {
    const said = String(whyBadSchedule('backup.schedule', { cron, timeZone }))
    expect(said).toContain(why)
    expect(() => nextRunMs({ cron, timeZone }, 0)).toThrow('the schedule is ')
  })

  it('of any text is refused in a short sentence, or has a next run', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.stringMatching(/^[0-9*,/LW#? -]{1,30}$/)), (cron) => {
        const schedule = { cron, timeZone: 'UTC' }
        const said = String(whyBadSchedule('backup.schedule', schedule))
        expect(said.length).toBeLessThan(300)
        if (said === '') expect(nextRunMs(schedule, 0)).toBeGreaterThan(0)
      }),
    )
  })
})
