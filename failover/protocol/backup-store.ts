import { Type, type Static } from 'typebox'
import { objectOf, optional, text, type Shape, type Shaped } from '#common/input/shapes.ts'
import { gtids, name } from './message.ts'

const line = (description: string) => Type.String({ minLength: 1, maxLength: 1_024, description })

/** What `src/backup/objects/object-key.ts` takes is of this form; a name that ends with a dash is refused there. */
const folderPattern = '^([a-z0-9][a-z0-9-]{0,62}[.])?[a-z][a-z0-9-]{0,38}$'

/**
 * Where backups lie, and how an agent gets there. Files and folders are those of the agent's machine: no key and no
 * password stands in a spec, or travels in a message.
 */
export const backupStoreSchema = Type.Object(
  {
    address: line('A folder, or s3://bucket/prefix.'),
    folder: Type.Optional(
      Type.String({
        pattern: folderPattern,
        maxLength: 103,
        description:
          'Folder of this cluster below the address: the name of the cluster unless given, on Kubernetes namespace.name. Two clusters never share one.',
      }),
    ),
    endpoint: Type.Optional(line('URL of an S3 server other than AWS.')),
    region: Type.Optional(line('Region of the bucket; us-east-1 unless given.')),
    pathStyle: Type.Optional(
      Type.Boolean({
        description: 'The bucket is a part of the path, not of the host name, as most other servers want.',
      }),
    ),
    caFile: Type.Optional(line('Certificate of the authority that signed the certificate of the store.')),
    credentialsFolder: Type.Optional(
      line('Folder with the files accessKeyId and secretAccessKey; those of the environment unless given.'),
    ),
    encryptionKeyFile: Type.Optional(
      line(
        'File with 32 bytes, or 64 hexadecimal digits: what is stored is encrypted with that key. Several keys ' +
          'are a line of digits each: the first one encrypts, each opens. Not encrypted unless given.',
      ),
    ),
    allowPlain: Type.Optional(
      Type.Boolean({
        description:
          'With a key, also what is not encrypted or not signed is taken: for what lies there since before there ' +
          'was a key, or since an older Regent. Refused unless given.',
      }),
    ),
    bytesPerSecond: Type.Optional(
      Type.Integer({
        minimum: 1_048_576,
        maximum: 1_099_511_627_776,
        description:
          'So many bytes of a backup are sent in a second at most; the archive and restores go without a limit. No limit unless given.',
      }),
    ),
  },
  { additionalProperties: false },
)

export type BackupStore = Readonly<Static<typeof backupStoreSchema>>
export const backupStore: Shape<BackupStore> = { ...backupStoreSchema }

/** Whose folder in the store holds the backups of this cluster. */
export function backupFolderOf({ cluster, store }: { readonly cluster: string; readonly store: BackupStore }): string {
  return store.folder ?? cluster
}

export const restoreSchema = Type.Object(
  {
    store: backupStoreSchema,
    of: Type.String({
      minLength: 1,
      maxLength: 103,
      description: 'The cluster that the backup was made of; the folder in the store, where that has another name.',
    }),
    backup: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 64,
        description: 'Name of the backup to begin with; the best one unless given.',
      }),
    ),
    until: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 64,
        description:
          'All that was committed up to the beginning of this second, such as 2026-11-25T03:12:09Z: with its time ' +
          'zone, and without a fraction. What was committed within the second, at 03:12:09.001 and later, is left out.',
      }),
    ),
    untilGtids: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 1_048_576,
        description: 'All up to these transactions, and nothing behind the last of them.',
      }),
    ),
    before: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 128,
        description: 'Everything before this one transaction, such as the one that dropped a table.',
      }),
    ),
  },
  {
    additionalProperties: false,
    description:
      'A new cluster begins with what this store holds of another one: the newest that can be reached, or what one of ' +
      'until, untilGtids and before says. Without effect once the cluster has its first primary.',
  },
)

/** What a new cluster begins with. */
export type BackupToRestore = Readonly<Static<typeof restoreSchema>>

/** The same as fields of an order. */
export const backupToRestore = {
  store: backupStore,
  of: text(1, 103),
  backup: optional(name),
  until: optional(name),
  untilGtids: optional(gtids),
  before: optional(gtids),
}

/** The backups of the cluster itself, for an instance that cannot be a copy of another one. */
export const backupToSeedFrom = objectOf({
  store: backupStore,
  of: text(1, 103),
  /** What the primary has in no binlog any more: backup and archive must hold that, the rest is received. */
  purged: gtids,
})

export type BackupToSeedFrom = Shaped<typeof backupToSeedFrom>
