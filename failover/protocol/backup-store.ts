import {
  anyBoolean,
  described,
  integer,
  matching,
  objectOf,
  optional,
  text,
  type Described,
  type Shaped,
} from '#common/input/shapes.ts'
import { gtids, name } from './message.ts'

const line = (description: string) => described(text(1, 1_024), description)

/** What `src/backup/objects/object-key.ts` takes is of this form; a name that ends with a dash is refused there. */
const folderPattern = '^([a-z0-9][a-z0-9-]{0,62}[.])?[a-z][a-z0-9-]{0,38}$'

/**
 * Where backups lie, and how an agent gets there. Files and folders are those of the agent's machine: no key and no
 * password stands in a spec, or travels in a message.
 */
export const backupStoreFields = {
  address: line('A folder, or s3://bucket/prefix.'),
  folder: optional(
    described(
      { ...matching(folderPattern), maxLength: 103 },
      'Folder of this cluster below the address: the name of the cluster unless given, on Kubernetes namespace.name. Two clusters never share one.',
    ),
  ),
  endpoint: optional(line('URL of an S3 server other than AWS.')),
  region: optional(line('Region of the bucket; us-east-1 unless given.')),
  pathStyle: optional(
    described(anyBoolean, 'The bucket is a part of the path, not of the host name, as most other servers want.'),
  ),
  caFile: optional(line('Certificate of the authority that signed the certificate of the store.')),
  credentialsFolder: optional(
    line('Folder with the files accessKeyId and secretAccessKey; those of the environment unless given.'),
  ),
  encryptionKeyFile: optional(
    line(
      'File with 32 bytes, or 64 hexadecimal digits: what is stored is encrypted with that key. Several keys ' +
        'are a line of digits each: the first one encrypts, each opens. Not encrypted unless given.',
    ),
  ),
  allowPlain: optional(
    described(
      anyBoolean,
      'With a key, also what is not encrypted or not signed is taken: for what lies there since before there ' +
        'was a key, or since an older Regent. Refused unless given.',
    ),
  ),
  bytesPerSecond: optional(
    described(
      integer(1_048_576, 1_099_511_627_776),
      'So many bytes of a backup are sent in a second at most; the archive and restores go without a limit. No limit unless given.',
    ),
  ),
}

export const backupStore = objectOf(backupStoreFields)
export type BackupStore = Readonly<Shaped<typeof backupStore>>

/** Whose folder in the store holds the backups of this cluster. */
export function backupFolderOf({ cluster, store }: { readonly cluster: string; readonly store: BackupStore }): string {
  return store.folder ?? cluster
}

/** What a new cluster begins with, as fields of an order. */
export const backupToRestore = {
  store: backupStore,
  of: text(1, 103),
  backup: optional(name),
  until: optional(name),
  untilGtids: optional(gtids),
  before: optional(gtids),
}

export type BackupToRestore = Readonly<Described<typeof backupToRestore>>

/** The backups of the cluster itself, for an instance that cannot be a copy of another one. */
export const backupToSeedFrom = objectOf({
  store: backupStore,
  of: text(1, 103),
  /** What the primary has in no binlog any more: backup and archive must hold that, the rest is received. */
  purged: gtids,
})

export type BackupToSeedFrom = Shaped<typeof backupToSeedFrom>
