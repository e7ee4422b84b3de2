import { Type } from 'typebox'
import type { Recovery } from '#failover/protocol/notes.ts'
import { nullable } from './views.ts'

/** One recorded episode from detection to routed writes, as `failover/protocol/notes.ts` keeps it. */
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
    },
    { $id: 'Recovery', description: 'One recorded episode from detection to routed writes.' },
  ),
)
