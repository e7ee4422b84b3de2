import { Type, type Static } from 'typebox'
import { closed } from '../spec/schema-words.ts'

/**
 * The spec and the status of a `MySQLBackup`. Such an object is one run: a person asks for a run by an object, and
 * Regent tells of its own runs by objects. As in `src/kube/spec/spec-schema.ts`, the schemas are the TypeScript types,
 * the definition, the webhook's check and the reference page.
 */
export const mysqlBackupSpecSchema = closed(
  {
    cluster: Type.String({
      pattern: '^[a-z][a-z0-9-]*$',
      minLength: 1,
      maxLength: 39,
      description: 'The MySQLCluster that is backed up, in the same namespace.',
    }),
    instance: Type.Optional(
      Type.String({
        pattern: '^[a-z][a-z0-9-]{0,38}-[0-9]{1,2}$',
        maxLength: 42,
        description: 'The instance that is copied; the replica that hurts least unless given.',
      }),
    ),
    backup: Type.Optional(
      Type.String({
        pattern: '^[0-9]{8}T[0-9]{6}Z(-[0-9]{2})?$',
        maxLength: 19,
        description:
          'A run that has begun already, by its name. Then nothing is begun: the object only tells of that run. ' +
          'Regent makes such objects for runs that nobody made an object for, as those of the schedule.',
      }),
    ),
  },
  {
    description: 'What is backed up. It cannot change; make another object.',
    rules: [{ rule: 'self == oldSelf', message: 'a backup cannot become another one; make another object' }],
  },
)

export type MySQLBackupSpec = Static<typeof mysqlBackupSpecSchema>

const backupPhases = ['Pending', 'Running', 'Succeeded', 'Failed', 'Unknown'] as const
export type BackupPhase = (typeof backupPhases)[number]

const text = (description: string) => Type.Optional(Type.String({ description }))
const moment = (description: string) => Type.Optional(Type.String({ format: 'date-time', description }))
const amount = (description: string) => Type.Optional(Type.Integer({ minimum: 0, description }))

export const mysqlBackupStatusSchema = Type.Object(
  {
    phase: Type.Optional(
      Type.Unsafe<BackupPhase>({
        type: 'string',
        enum: [...backupPhases],
        description:
          'Pending: it cannot begin yet, and message says why. Running. Succeeded: it is whole in the store. Failed. ' +
          'Unknown: nobody speaks of the run any more; it is told as soon as somebody does.',
      }),
    ),
    backup: text('Name in the store, by which it is restored.'),
    instance: text('The instance that is copied.'),
    startedAt: moment('When it began, or, as long as its agent has not said that, when the instance was told to.'),
    completedAt: moment('When all was in the store; of a run that failed, when that was heard.'),
    seconds: Type.Optional(Type.Number({ minimum: 0, description: 'How long it took until all was in the store.' })),
    took: text('The same for people.'),
    bytes: amount('Of the data, as far as they are in the store.'),
    storedBytes: amount('What lies in the store.'),
    size: text('The same for people.'),
    stored: text('The same for people.'),
    gtids: text('Transactions that the backup holds; where the set is long, how many there are.'),
    message: text('How it goes, or why it does not.'),
    verified: Type.Optional(
      Type.Object(
        {
          at: Type.String({ format: 'date-time', description: 'When it was restored last.' }),
          restoreSeconds: Type.Optional(Type.Number({ minimum: 0, description: 'How long that took.' })),
          tables: amount('Tables of applications that were checked.'),
          rows: amount('Rows that were counted in these.'),
          compared: amount('Tables that had the same rows as the replica beside at the same transactions.'),
          replica: text('The replica that the tables were compared with.'),
          notCompared: text('Why no table was compared with a replica.'),
        },
        { description: 'That the backup was restored once; absent while nobody has tried.' },
      ),
    ),
  },
  { description: 'How it went.' },
)

export type MySQLBackupStatus = Static<typeof mysqlBackupStatusSchema>
