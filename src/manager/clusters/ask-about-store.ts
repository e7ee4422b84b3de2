import { RegentError } from '#common/errors/errors.ts'
import type { Transport } from '#common/ports/ports.ts'
import { say } from '#common/sentence/sentence.ts'
import { liveViews, type DecisionInput, type LiveView } from '#failover/judge/situation.ts'
import { orderVersion } from '#failover/protocol/message.ts'
import { sayWord, type Answers, type StoreQuestions, type Word } from '#failover/protocol/word.ts'
import { instanceOf } from '#topology/snapshot/member.ts'

/** A store with years of an archive is listed within that. A search answers in parts. */
const deadlineMs = 120_000

/**
 * Has an agent look into the store of backups: a manager has neither its login nor its key. A replica's, where one can,
 * since the primary has more to lose. Throws `REGENT_REFUSED` where no store is named or no agent can look, and what
 * the agent refused with.
 */
export async function askAboutStore<N extends keyof StoreQuestions>(
  transport: Transport,
  input: Pick<DecisionInput, 'spec' | 'cluster' | 'snapshot' | 'record'>,
  question: N,
  asked: StoreQuestions[N],
): Promise<Answers[N]> {
  const { spec, cluster } = input
  if (spec.backup === undefined)
    throw new RegentError(
      'REGENT_REFUSED',
      say`the spec of ${cluster} names no store of backups; give backup.store in the spec, as docs/guide/backup.md shows`,
      { remedy: '' },
    )
  const { store } = spec.backup
  let refusal = new RegentError(
    'REGENT_REFUSED',
    say`no agent of ${cluster} that answers can look into the store of backups; older agents cannot`,
    { remedy: '' },
  )
  for (const { agent, observation } of readersOf(input))
    try {
      const said = { version: orderVersion, cluster, member: observation.member, store, ...asked } as Word<N>
      return await sayWord({ transport, deadlineMs }, agent, question, said)
    } catch (error) {
      if (!(error instanceof RegentError) || error.code !== 'REGENT_BUSY') throw error
      refusal = error
    }
  throw refusal
}

function readersOf({ snapshot, record }: Pick<DecisionInput, 'snapshot' | 'record'>): readonly LiveView[] {
  const primary = record === undefined ? '' : instanceOf(record.primary)
  return liveViews(snapshot)
    .filter(({ observation }) => observation.readsStore === true)
    .toSorted((one, other) => Number(one.name === primary) - Number(other.name === primary))
}
