import { Type } from 'typebox'
import { momentNames } from '#failover/protocol/hook-moments.ts'
import type { Recovery } from '#failover/protocol/notes.ts'
import { nullable } from './views.ts'

/** A recorded episode from detection to routed writes, as `failover/protocol/notes.ts` keeps it. */
export const recoverySchema = Type.Unsafe<Recovery>(
  Type.Object(
    {
      id: Type.String(),
      kind: Type.Enum(['bootstrap', 'failover', 'switchover', 'restart', 'repair'], {
        description: 'repair: something was put right at one instance, and the primary stayed.',
      }),
      startedWallMs: Type.Number({ description: 'Milliseconds since 1970-01-01 UTC.' }),
      analysis: Type.String({ description: 'Why it began.' }),
      sentence: Type.String(),
      from: nullable(Type.String({ description: 'Primary before, as <instance>@<volume>.' })),
      to: nullable(Type.String({ description: 'Primary after.' })),
      fromEpoch: Type.Integer(),
      toEpoch: nullable(Type.Integer()),
      outcome: Type.Enum(['running', 'succeeded', 'undone', 'abandoned']),
      timeline: Type.Array(
        Type.Object({ atMs: Type.Number({ description: 'Since detection, monotonic.' }), what: Type.String() }),
      ),
      loss: Type.Optional(
        Type.Object(
          {
            transactions: nullable(Type.Integer({ description: 'Those that are known of; null: nobody knows.' })),
            unheardSeconds: nullable(
              Type.Integer({ description: 'So long the lost primary may have taken writes of which nobody heard.' }),
            ),
          },
          {
            description:
              'What was given up of what clients may have been told; absent where no other one came to lead.',
          },
        ),
      ),
      hooks: Type.Optional(
        Type.Object(
          {
            failureType: Type.String({ description: 'What was wrong, by name.' }),
            runs: Type.Array(
              Type.Object({
                moment: Type.Enum([...momentNames]),
                index: Type.Integer(),
                hook: Type.String({ description: 'The program, or the host of a webhook.' }),
                state: Type.Enum(['due', 'running', 'succeeded', 'failed', 'unknown', 'skipped'], {
                  description:
                    'unknown: the manager that began it is gone, and nobody knows how it ended. skipped: it was not begun.',
                }),
                by: Type.String({ description: 'The manager that began it.' }),
                beganWallMs: nullable(Type.Number()),
                ms: nullable(Type.Number({ description: 'How long it ran.' })),
                said: Type.String({ description: 'How it ended.' }),
                stops: Type.Optional(Type.Boolean({ description: 'What was to follow was not begun for that.' })),
              }),
            ),
          },
          { description: 'What the hooks of the spec did; absent where there are none.' },
        ),
      ),
    },
    { $id: 'Recovery', description: 'One recorded episode from detection to routed writes.' },
  ),
)
