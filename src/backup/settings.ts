import { Type, type Static } from 'typebox'
import { Value } from 'typebox/value'
import { RegentError } from '#common/errors/errors.ts'
import { complaintAbout } from '#common/input/schema-complaint.ts'
import { say, text, type Said } from '#common/sentence/sentence.ts'
import { whyBadSchedule } from './schedule.ts'

/**
 * What a person may say about the backups of a cluster: `backup` in the spec of a cluster. The schema is the TypeScript
 * type, the check, and the pages that describe it.
 */
const closed = { additionalProperties: false } as const

/** A program's own words for a place; what is in them is read where the store is opened. */
const optionalText = (description: string, longest = 1_024) =>
  Type.Optional(Type.String({ minLength: 1, maxLength: longest, description }))

const cron = (initial: string, description: string) =>
  Type.String({ default: initial, minLength: 1, maxLength: 128, description })

const kept = (initial: number, minimum: number, description: string) =>
  Type.Integer({ default: initial, minimum, maximum: 1_000, description })

export const backupSettingsSchema = Type.Object(
  {
    store: Type.String({
      minLength: 1,
      maxLength: 1_024,
      description:
        'Where backups lie: s3://bucket/folder, or the absolute path of a folder. Below that each cluster has a ' +
        'folder of its name.',
    }),
    endpoint: optionalText('URL of the S3 server; that of AWS in the region unless given.'),
    region: optionalText('Region of the bucket; that of the environment unless given.', 64),
    pathStyle: Type.Boolean({
      default: false,
      description: 'Whether the bucket is named in the path and not in the host name, as many S3 servers need.',
    }),
    caFile: optionalText('File with the authorities that signed the certificate of the S3 server, as PEM.'),
    credentialsFolder: optionalText(
      'Folder with the files accessKeyId, secretAccessKey and, where there is one, sessionToken; read again when they ' +
        'change. The chain of the environment unless given.',
    ),
    schedule: cron('0 3 * * *', 'When a backup is made: five fields of cron, or @daily and the like.'),
    timeZone: Type.String({
      default: 'UTC',
      minLength: 1,
      maxLength: 64,
      description: 'By which clock schedules are meant, such as Europe/Berlin.',
    }),
    retention: Type.Object(
      {
        last: kept(3, 1, 'The newest backups that stay.'),
        days: kept(7, 0, 'The newest backup of a day stays, for so many days that have one.'),
        weeks: kept(4, 0, 'The newest backup of a week stays, for so many weeks that have one.'),
      },
      {
        ...closed,
        default: {},
        description:
          'Which backups stay, and the binlogs that they need. The newest one and the newest verified one always stay.',
      },
    ),
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
    encryptionKeyFile: optionalText(
      'File with the key by which everything is encrypted before it leaves the cluster. Keep a copy elsewhere: without ' +
        'it no backup can be read. Not encrypted unless given.',
    ),
    rehearsal: Type.Object(
      {
        schedule: Type.Union([cron('0 4 * * 0', ''), Type.Null()], {
          default: '0 4 * * 0',
          description:
            'When the newest backup is restored into a throw-away server and checked, as is the first one; null = never.',
        }),
      },
      { ...closed, default: {}, description: 'The proof that a backup can be restored.' },
    ),
    throttleBytesPerSecond: Type.Integer({
      default: 0,
      minimum: 0,
      maximum: 1_099_511_627_776,
      description: 'No more than this is sent by a backup; 0 = as fast as it goes. Bytes per second.',
    }),
  },
  { ...closed, description: 'Backups, and the archive behind them.' },
)

export type BackupSettings = Static<typeof backupSettingsSchema>

/** The settings with their defaults. Throws `REGENT_BAD_REQUEST` with the first that cannot work. */
export function backupSettingsOf(given: unknown): BackupSettings {
  const settings: unknown = Value.Default(backupSettingsSchema, Value.Clone(given))
  const complaint = complaintAbout(backupSettingsSchema, settings)
  if (complaint !== undefined) throw new RegentError('REGENT_BAD_REQUEST', say`backup: ${text(complaint)}`)
  const checked = settings as BackupSettings
  const why = whyBadSettings(checked)
  if (why !== '') throw new RegentError('REGENT_BAD_REQUEST', why)
  return checked
}

function whyBadSettings(settings: BackupSettings): Said {
  const { schedule, timeZone, rehearsal } = settings
  return (
    whySecret('backup.store', settings.store) ||
    whySecret('backup.endpoint', settings.endpoint) ||
    whyBadEndpoint(settings) ||
    whyOfS3(settings) ||
    whyBadSchedule('backup.schedule', { cron: schedule, timeZone }) ||
    (rehearsal.schedule === null
      ? ''
      : whyBadSchedule('backup.rehearsal.schedule', { cron: rehearsal.schedule, timeZone }))
  )
}

/** The address is said in logs and in the status: its own words are not repeated here either. */
function whySecret(what: string, address = ''): Said {
  return /^[^/]*\/\/[^/]*@/.test(address)
    ? say`${what} has credentials in it, which everybody would see: put them into backup.credentialsFolder`
    : ''
}

function whyBadEndpoint({ endpoint }: BackupSettings): Said {
  if (endpoint === undefined || /^https?:\/\/[^/?#\s]+\/?$/.test(endpoint)) return ''
  return say`backup.endpoint is "${text(endpoint.slice(0, 60))}": write a URL such as https://s3.example.com:9000`
}

function whyOfS3({ store, endpoint, region, pathStyle, caFile, credentialsFolder }: BackupSettings): Said {
  if (/^s3:\/\//i.test(store)) return ''
  const ofS3 = { endpoint, region, pathStyle: pathStyle || undefined, caFile, credentialsFolder }
  const [stray] = Object.entries(ofS3).find(([, value]) => value !== undefined) ?? []
  return stray === undefined
    ? ''
    : say`backup.${stray} is for a store of S3 alone, and backup.store does not begin with s3://: leave out one of the two`
}
