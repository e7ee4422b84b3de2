import type { Comparing } from '#failover/protocol/word.ts'
import { parseGtidSet } from '#topology/gtid/gtid-set.ts'
import { unionOf } from '#topology/snapshot/holdings.ts'
import type { Observation } from '#topology/snapshot/observation.ts'
import type { Question } from '../instance/known.ts'
import { learn, type Learner } from '../instance/learn.ts'
import type { Parts } from '../instance/parts.ts'

type ComparingParts = Pick<Parts, 'told' | 'observer' | 'file'>

/**
 * A manager asks which of these transactions the server lacks. Only a look that begins from now on answers: a replica
 * may have received them from here after the look before (`topology/snapshot/comparison.ts`). Looks that go on anyway
 * are not disturbed: questions may come as often as looks.
 */
export function hearQuestion(
  parts: Learner & Pick<Parts, 'changed' | 'observer'>,
  { question, held }: Comparing,
): void {
  const { told, observer, changed } = parts
  const afterLook = observer.looksBegun
  const { asked, answered } = told.compares
  learn(parts, {
    fact: 'questionHeard',
    asked: { question, held, afterLook },
    answered: isAnswered(parts, asked) ? asked : answered,
  })
  observer
    .refresh()
    // The refresh may have shared a look that was under way.
    .then(() => (observer.look > afterLook ? undefined : observer.refresh()))
    .then(changed, () => undefined)
}

function isAnswered({ observer }: Pick<Parts, 'observer'>, question: Question | null): question is Question {
  return question !== null && observer.look > question.afterLook
}

/** What the server lacks of what was asked about, by the look that is shown with this. */
export function comparedNow(parts: ComparingParts): NonNullable<Observation['compared']> {
  const { told, observer, file } = parts
  const { asked, answered } = told.compares
  const newest = isAnswered(parts, asked) ? asked : answered
  const { server } = observer
  if (newest === null || server === null || file.current.unproven) return { question: 0, lacks: {} }
  const holds = unionOf([server.executed, server.received, server.owned])
  const lacks = Object.entries(newest.held).map(
    ([replica, { as, gtids }]) => [replica, { as, gtids: parseGtidSet(gtids).subtract(holds).toString() }] as const,
  )
  return { question: newest.question, lacks: Object.fromEntries(lacks) }
}
