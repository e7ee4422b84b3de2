import { Type } from 'typebox'
import { builtOf } from '#common/input/built-shapes.ts'
import { backupStoreFields } from './backup-store.ts'

export const backupStoreSchema = Type.Object(builtOf(backupStoreFields), { additionalProperties: false })

/** What a person may say of the backup that a new cluster begins with: `restore` in its spec. */
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
