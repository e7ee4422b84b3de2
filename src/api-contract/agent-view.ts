import { Type } from 'typebox'
import type { WatchView } from '#common/watch/watch.ts'
import type { FactView, RunStep } from '#failover/protocol/word.ts'
import { nullable } from './views.ts'

/** What an agent says of itself when it is asked. */
export interface AgentView {
  readonly instance: string
  /** Why nothing is known of it; '' where it answered. */
  readonly failure: string
  /** What it looks after again and again. */
  readonly watches: readonly WatchView[]
  /** What it got to know last: the oldest first. */
  readonly facts: readonly FactView[]
  /** What its backups and rehearsals said: the oldest first. Absent where it did not answer, and from older agents. */
  readonly runs?: readonly RunStep[]
}

const ms = (description: string) => Type.Number({ description })

const watchSchema = Type.Object({
  name: Type.String(),
  everyMs: Type.Number(),
  rests: Type.Boolean({ description: 'There is nothing of the kind to look at.' }),
  last: nullable(Type.Object({ agoMs: ms('Since the end of the last look.'), tookMs: Type.Number() })),
  underWayMs: nullable(ms('How long the present look has taken so far; null for none.')),
  failure: Type.String({ description: 'Why the last look failed; empty where it did not.' }),
})

const factSchema = Type.Object({
  agoMs: ms('Since it was learnt.'),
  fact: Type.String({ description: 'What kind of thing became known.' }),
  detail: Type.String({ description: 'What was found out.' }),
})

const runSchema = Type.Object({
  agoMs: ms('Since it was said.'),
  kind: Type.String({ description: 'backup or rehearsal.' }),
  name: Type.String({ description: 'Of the run.' }),
  sentence: Type.String({ description: 'How far the run was, or what came of it.' }),
})

export const agentViewSchema = Type.Unsafe<AgentView>(
  Type.Object(
    {
      instance: Type.String(),
      failure: Type.String({ description: 'Why nothing is known of it; empty where it answered.' }),
      watches: Type.Array(watchSchema),
      facts: Type.Array(factSchema, { description: 'The newest last; empty where an older agent tells none.' }),
      runs: Type.Optional(
        Type.Array(runSchema, {
          description: 'What its backups and rehearsals said since it started, the newest last.',
        }),
      ),
    },
    {
      $id: 'AgentView',
      description:
        'What an agent looks after again and again, and what it got to know last, as it says when it is asked.',
    },
  ),
)
