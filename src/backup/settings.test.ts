import { describe, expect, it } from 'vitest'
import { backupSettingsOf, backupSettingsSchema } from './settings.ts'

const s3 = { store: 's3://backups/prod' }

describe('settings of backups', () => {
  it('have defaults for everything but the store', () => {
    expect(backupSettingsOf({ store: '/backups' })).toEqual({
      store: '/backups',
      pathStyle: false,
      schedule: '0 3 * * *',
      timeZone: 'UTC',
      retention: { last: 3, days: 7, weeks: 4 },
      archive: { everySeconds: 5 },
      rehearsal: { schedule: '0 4 * * 0' },
      throttleBytesPerSecond: 0,
    })
  })

  it('keep what is given, and leave that as it was', () => {
    const given = {
      ...s3,
      endpoint: 'https://s3.example.com:9000',
      pathStyle: true,
      retention: { days: 30 },
      rehearsal: { schedule: null },
    }
    expect(backupSettingsOf(given)).toMatchObject({ ...given, retention: { last: 3, days: 30, weeks: 4 } })
    expect(given.retention).toEqual({ days: 30 })
  })

  it('are described, each, with the unit of what has one', () => {
    const described = Object.values<object>(backupSettingsSchema.properties)
    for (const each of described) expect('description' in each && each.description).toMatch(/^[A-Z][^]{10,}\.$/)
  })

  it.each<[unknown, string]>([
    [undefined, 'backup: the top level is missing; allowed is a mapping'],
    [{}, 'backup: the top level lacks "store"'],
    [{ store: '' }, 'backup: store is ""; allowed is a text of 1 to 1024 characters'],
    [{ ...s3, retain: 1 }, 'backup: the top level has the unknown key "retain"; allowed are store, endpoint'],
    [{ ...s3, retention: { last: 0 } }, 'backup: retention.last is 0; allowed is an integer from 1 to 1000'],
    [
      { ...s3, archive: { everySeconds: -1 } },
      'backup: archive.everySeconds is -1; allowed is an integer from 0 to 3600',
    ],
    [{ ...s3, throttleBytesPerSecond: 1.5 }, 'backup: throttleBytesPerSecond is 1.5; allowed is an integer'],
    [{ ...s3, rehearsal: { schedule: 7 } }, 'backup: rehearsal.schedule is 7; allowed is '],
    [{ ...s3, schedule: 'daily' }, 'backup.schedule is "daily": write five fields'],
    [
      { ...s3, rehearsal: { schedule: '0 0 31 2 *' } },
      'backup.rehearsal.schedule is "0 0 31 2 *", a day that no year has',
    ],
    [{ ...s3, timeZone: 'Berlin' }, 'backup.schedule is for time zone "Berlin", which is unknown'],
    [{ ...s3, endpoint: 's3.example.com' }, 'backup.endpoint is "s3.example.com": write a URL such as'],
    [
      { store: '/backups', region: 'eu-central-1' },
      'backup.region is for a store of S3 alone, and backup.store does not begin with s3://: leave out one of the two',
    ],
    [
      { store: 's3://me:secret@backups/prod' },
      'backup.store has credentials in it, which everybody would see: put them into backup.credentialsFolder',
    ],
    [{ ...s3, endpoint: 'https://me:secret@s3.example.com' }, 'backup.endpoint has credentials in it'],
  ])('that cannot work are refused in a sentence: %j', (given, why) => {
    const settle = () => backupSettingsOf(given)
    expect(settle).toThrow(expect.objectContaining({ code: 'REGENT_BAD_REQUEST' }))
    expect(settle).toThrow(why)
    expect(settle).not.toThrow('secret')
  })
})
