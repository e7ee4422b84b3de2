import { Type, type Static } from 'typebox'
import type {
  ArchiveSearch,
  FoundTransactions,
  RestoreWindow,
  StoredBackup,
  StoredBackups,
} from '#failover/protocol/stored-backups.ts'
import { nullable } from './views.ts'

const ms = (description: string) => Type.Number({ description })
const sentences = (description: string) => Type.Array(Type.String(), { description })
const folder = Type.String({ description: 'Folder of the cluster in the store.' })

const storedBackupSchema = Type.Unsafe<StoredBackup>(
  Type.Object({
    name: Type.String(),
    cluster: folder,
    lineage: Type.String({ description: 'Random identity of the cluster.' }),
    instance: Type.String({ description: 'That was copied.' }),
    serverUuid: Type.String(),
    mysqlVersion: Type.String(),
    epoch: Type.Integer(),
    startedAtMs: ms('When it was begun.'),
    endedAtMs: ms('When the copy was whole.'),
    storedAtMs: ms('When the last part was stored.'),
    gtids: Type.String({ description: 'The copy holds all of these.' }),
    gtidsAtMost: Type.String({ description: 'The copy holds none but these.' }),
    rawBytes: Type.Integer({ description: 'Of the data.' }),
    storedBytes: Type.Integer({ description: 'What lies in the store.' }),
    parts: Type.Integer(),
    compression: Type.String(),
    encryption: nullable(
      Type.Object({ scheme: Type.String(), keyId: Type.String(), salt: Type.String(), signature: Type.String() }),
    ),
    sha256: Type.String({ description: 'Of the data.' }),
    verified: nullable(
      Type.Object({
        verifiedAtMs: ms('When a restore proved it.'),
        restoreMs: ms('It took so long.'),
        tables: Type.Optional(Type.Integer({ description: 'That were checked.' })),
        rows: Type.Optional(Type.Integer({ description: 'In these.' })),
        compared: Type.Optional(Type.Integer({ description: 'Tables that had the same rows as a replica.' })),
        replica: Type.Optional(Type.String({ description: 'That replica.' })),
        notCompared: Type.Optional(Type.String({ description: 'Why no table was compared.' })),
      }),
    ),
  }),
)

export const storedBackupsSchema = Type.Unsafe<StoredBackups>(
  Type.Object(
    {
      cluster: folder,
      address: Type.String({ description: 'Of the store, without credentials.' }),
      refusesPlain: Type.Boolean({ description: 'No restore with the keys of the store takes what is not encrypted.' }),
      backups: Type.Array(storedBackupSchema, { description: 'Those that are whole, the oldest first.' }),
      unusable: sentences('What of the store cannot be used, and why.'),
    },
    { $id: 'StoredBackups', description: 'The backups of a cluster that lie in its store.' },
  ),
)

export const restoreWindowSchema = Type.Unsafe<RestoreWindow>(
  Type.Object(
    {
      cluster: folder,
      spans: Type.Array(Type.Object({ fromMs: ms('First second.'), toMs: ms('Last second.') }), {
        description: 'Each second of a span can be restored.',
      }),
      alone: sentences('Backups that reach themselves only.'),
      holes: sentences('What the archive lacks.'),
      leftOut: sentences('Why backups are left out.'),
    },
    { $id: 'RestoreWindow', description: 'From when to when a cluster can be restored.' },
  ),
)

export const foundTransactionsSchema = Type.Unsafe<FoundTransactions>(
  Type.Object(
    {
      cluster: folder,
      pieces: Type.Integer({ description: 'Of the archive, of the time that is meant.' }),
      read: Type.Integer({ description: 'How many of these are read by now.' }),
      passedOver: Type.Integer({ description: 'Compressed transactions that were too long to be looked into.' }),
      found: Type.Array(
        Type.Object({
          gtid: Type.String(),
          committedMs: ms('When it was committed.'),
          kind: Type.String(),
          statement: Type.String({ description: 'Empty where it wrote rows.' }),
        }),
      ),
      next: nullable(Type.String({ description: 'Say it as `after` for the next part; null where all is read.' })),
    },
    { $id: 'FoundTransactions', description: 'A part of what a search in the archive of binary logs found.' },
  ),
)

const line = (maxLength: number, description: string) =>
  Type.String({ minLength: 1, maxLength, pattern: '^[^\\u0000-\\u001f\\u007f]+$', description })

/** Strict: a key that is not understood is refused. */
export const archiveSearchSchema = Type.Object(
  {
    table: line(130, 'schema.table, or schema.* for all of a schema.'),
    kind: Type.Optional(
      Type.String({
        pattern: '^[a-z]{1,16}$',
        description: 'drop, truncate, alter, create, rename, insert, update or delete; anything unless given.',
      }),
    ),
    since: Type.Optional(line(64, 'Committed at this second or later, with its time zone.')),
    until: Type.Optional(line(64, 'Committed at this second or before.')),
    after: Type.Optional(line(1_024, '`next` of the part before.')),
  },
  { additionalProperties: false },
)

export type ArchiveSearchBody = Static<typeof archiveSearchSchema> & ArchiveSearch
