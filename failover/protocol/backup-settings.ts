import { Type, type Static } from 'typebox'
import { backupStoreSchema } from './backup-store-schema.ts'

const closed = { additionalProperties: false } as const

const schedule = (initial: string, description: string) =>
  Type.Union([Type.String({ minLength: 1, maxLength: 128 }), Type.Null()], { default: initial, description })

const kept = (initial: number, minimum: number, description: string) =>
  Type.Integer({ default: initial, minimum, maximum: 1_000, description })

/** What stays where nothing else is said. */
export const usualRetention = { last: 3, days: 7, weeks: 4 } as const

const retentionSchema = Type.Object(
  {
    last: kept(usualRetention.last, 1, 'The newest backups that stay.'),
    days: kept(
      usualRetention.days,
      0,
      'The newest backup of a day stays, for so many days that have one. Days of UTC.',
    ),
    weeks: kept(
      usualRetention.weeks,
      0,
      'The newest backup of a week stays, for so many weeks that have one. Weeks of UTC, from Monday.',
    ),
  },
  {
    ...closed,
    default: {},
    description:
      'Which backups stay, with the binlogs that they need. The newest one and the newest verified one always stay.',
  },
)

/** What a person may say about the backups of a cluster: `backup` in its spec. */
export const backupSettingsSchema = Type.Object(
  {
    store: backupStoreSchema,
    schedule: schedule(
      '0 3 * * *',
      'When a backup is made: five fields of cron (minute, hour, day, month, day of week), or @daily and the like; ' +
        'null = by hand alone. The first one is made as soon as the cluster is whole.',
    ),
    timeZone: Type.String({
      default: 'UTC',
      minLength: 1,
      maxLength: 64,
      description: 'By which clock schedules are meant: a name of the IANA database, such as Europe/Berlin.',
    }),
    retention: retentionSchema,
    archive: Type.Object(
      {
        everySeconds: Type.Integer({
          default: 5,
          minimum: 0,
          maximum: 3_600,
          description:
            'How often what was committed is shipped; so much can be lost with the whole cluster. 0 = never: a ' +
            'restore reaches the moments of backups alone. Seconds.',
        }),
      },
      { ...closed, default: {}, description: 'The continuous archive of binlogs.' },
    ),
    heartbeat: Type.Object(
      {
        everySeconds: Type.Integer({
          default: 1,
          minimum: 0,
          maximum: 60,
          description:
            'How often the primary writes the time into regent.heartbeat, a commit each: so the window of an idle ' +
            'cluster goes on, and its replicas show a lag. 0 = never. Seconds.',
        }),
      },
      { ...closed, default: {}, description: 'The row that tells how far a replica, and a restore, is.' },
    ),
    rehearsal: Type.Object(
      {
        schedule: schedule(
          '0 4 * * 0',
          'When the newest backup is restored into a throw-away server and checked, as is the first one; null = never.',
        ),
      },
      { ...closed, default: {}, description: 'The proof that a backup can be restored.' },
    ),
  },
  { ...closed, description: 'Backups of this cluster; none are made unless given.' },
)

export type BackupSettings = Static<typeof backupSettingsSchema>
