import { Type } from 'typebox'

/** How an operation ended, or what a dry run found. */
export interface OperationResult {
  /** The operation is done; false for a dry run and where nothing had to be done. */
  readonly done: boolean
  readonly dryRun: boolean
  readonly sentence: string
  /** Id of the recovery with the timeline. */
  readonly recovery?: string
  /** Name of the backup, or of the rehearsal, that was begun, and the instance that does that. */
  readonly backup?: string
  readonly rehearsal?: string
  readonly instance?: string
  /** Steps, one line each: what a dry run would do. */
  readonly plan?: readonly string[]
}

export const operationResultSchema = Type.Unsafe<OperationResult>(
  Type.Object(
    {
      done: Type.Boolean({ description: 'False for a dry run and where nothing had to be done.' }),
      dryRun: Type.Boolean(),
      sentence: Type.String(),
      recovery: Type.Optional(Type.String({ description: 'Id of the recovery with the timeline.' })),
      backup: Type.Optional(Type.String({ description: 'Name of the backup that was begun.' })),
      rehearsal: Type.Optional(Type.String({ description: 'Name of the rehearsal that was begun.' })),
      instance: Type.Optional(
        Type.String({ description: 'The instance that is copied for a backup, or where a restore is rehearsed.' }),
      ),
      plan: Type.Optional(Type.Array(Type.String(), { description: 'Steps, one line each.' })),
    },
    { $id: 'OperationResult', description: 'How an operation ended, or what a dry run found.' },
  ),
)
