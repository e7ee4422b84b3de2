import { Type, type Static, type TSchema } from 'typebox'
import { backupSettingsSchema } from '#failover/protocol/backup-settings.ts'
import { backupStoreSchema, restoreSchema } from '#failover/protocol/backup-store-schema.ts'
import { closed } from './schema-words.ts'

/**
 * What a `MySQLCluster` says of backups: the core's own words (`failover/protocol/`), but for what names files and
 * folders. These parts are Secrets here, and a claim, which only the pods see.
 */
const {
  address: _address,
  caFile: _ca,
  credentialsFolder: _login,
  encryptionKeyFile: _key,
  ...words
} = backupStoreSchema.properties

const secretNamePattern = '^[a-z0-9][a-z0-9.-]*$'
const objectName = (description: string) => Type.String({ pattern: secretNamePattern, maxLength: 253, description })

const store = (description: string) =>
  closed(
    {
      address: Type.Optional(
        Type.String({ pattern: '^s3://.', maxLength: 512, description: 's3://bucket/prefix. This or claim.' }),
      ),
      claim: Type.Optional(
        objectName(
          'A PersistentVolumeClaim in the namespace of the cluster, in place of a bucket. All pods mount the claim, ' +
            'so its access mode is ReadWriteMany, and its storage must not be that of the instances. Its top folder ' +
            'must be writable for group 65532. The volume must keep what was synced (NFS with `sync`, CephFS).',
        ),
      ),
      ...words,
      credentialsSecret: Type.Optional(
        objectName(
          'A Secret with accessKeyId and secretAccessKey, and sessionToken where there is one. The environment’s ' +
            'chain unless given, such as the role of the pods’ account.',
        ),
      ),
      caSecret: Type.Optional(
        objectName('A Secret with ca.crt: the authority that signed the certificate of the S3 server.'),
      ),
      encryption: Type.Optional(
        closed(
          {
            secret: objectName('Name of the Secret.'),
            key: Type.String({
              default: 'key',
              pattern: '^[A-Za-z0-9._-]+$',
              maxLength: 253,
              description: 'Key in the Secret: 32 bytes, or 64 hexadecimal digits.',
            }),
          },
          {
            description:
              'What is stored is encrypted with the key in this Secret. Not encrypted unless given. Keep a copy of the ' +
              'key elsewhere: without the key no backup can be restored.',
          },
        ),
      ),
    },
    {
      description,
      rules: [
        {
          rule: 'has(self.address) != has(self.claim)',
          message: 'where backups lie is not said; give either address, or claim',
        },
        {
          rule:
            '!has(self.claim) || !(has(self.endpoint) || has(self.region) || has(self.pathStyle) || ' +
            'has(self.credentialsSecret) || has(self.caSecret))',
          message: 'endpoint, region, pathStyle, credentialsSecret and caSecret are for a bucket; a claim has none',
        },
      ],
    },
  )

const { store: _files, schedule, rehearsal, ...settings } = backupSettingsSchema.properties

/** In place of null, which `kubectl apply` takes away and the API server then fills with the default. */
export const never = 'never'
const wordsOf = (core: TSchema) => core as { readonly default?: string; readonly description?: string }
const cron = (core: TSchema) => {
  const { default: initial, description = '' } = wordsOf(core)
  return Type.String({
    default: initial,
    minLength: 1,
    maxLength: 128,
    description: description.replace('null =', `"${never}" =`),
  })
}

export const backupSchema = closed(
  {
    store: store(
      'Where backups lie. The agents alone see the Secrets, and take up what changes in one without a restart.',
    ),
    schedule: cron(schedule),
    ...settings,
    rehearsal: closed(
      { ...rehearsal.properties, schedule: cron(rehearsal.properties.schedule) },
      { default: {}, description: wordsOf(rehearsal).description ?? '' },
    ),
  },
  {
    description:
      'Backups of this cluster; none are made unless given. Another Secret or claim restarts the instances one by one, nothing else does.',
  },
)

const { store: _from, of: _of, ...whichBackup } = restoreSchema.properties

const restore = closed(
  {
    store: store('Where the backup lies.'),
    of: Type.Optional(
      Type.String({
        pattern: '^([a-z0-9][a-z0-9-]{0,62}/)?[a-z][a-z0-9-]{0,38}$',
        maxLength: 103,
        description:
          'The cluster that the backup was made of, as name or namespace/name; of the same name, and in the same ' +
          'namespace, unless given. Without effect where store.folder is given.',
      }),
    ),
    ...whichBackup,
  },
  {
    description:
      'The first instance restores this backup before anybody leads. It may be changed until then; without ' +
      'effect, and refused, once the cluster has had a primary. Nothing is restored over data.',
  },
)

export const bootstrapSchema = closed(
  { restore: Type.Optional(restore) },
  { description: 'What a new cluster begins with; with nothing unless given.' },
)

type KubeBackup = Readonly<Static<typeof backupSchema>>
export type KubeBackupStore = KubeBackup['store']
