import { say, type Sentence } from '#common/sentence/sentence.ts'
import { instanceOf } from '#topology/snapshot/member.ts'
import { isLive, liveViews, type DecisionInput, type Situation } from '../judge/situation.ts'
import { step, type FlowStep } from '../steps/step.ts'

/** A manager that reaches no instance suspects itself (safety rule 11); null where one answers. */
export function nobodyAnswers({ snapshot: { instances }, record }: DecisionInput): FlowStep | null {
  if (instances.length === 0 || instances.some(isLive)) return null
  const isBeingMade = record === undefined && instances.every(({ heardAtMs }) => heardAtMs === null)
  if (isBeingMade)
    return step(say`waiting for the first word of the agents of ${instances.map(({ name }) => name).join(', ')}`, [], {
      revisitMs: 1_000,
    })
  return step(say`no action: this manager reaches no instance at all and suspects itself`, [], {
    blocked: true,
    revisitMs: 1_000,
  })
}

/** Nothing is ordered by a record that is not the newest one; null where nothing tells that. */
export function recordInDoubt(situation: Situation): FlowStep | null {
  const why = fromThePast(situation) ?? namingAnother(situation)
  return why === null ? null : step(why, [], { blocked: true, revisitMs: 1_000 })
}

/** What an agent stored is newer than the record: the store was put back. Nothing is ordered; a person decides. */
function fromThePast({ snapshot, record }: Situation): Sentence | null {
  const ahead = liveViews(snapshot).find(({ observation: { stored } }) => {
    const acted = stored.assignment?.epoch ?? 0
    return (
      acted > record.epoch ||
      stored.promise > record.epoch + 1 ||
      (acted === record.epoch && stored.revision > record.revision)
    )
  })
  if (ahead === undefined) return null
  const { promise, revision } = ahead.observation.stored
  const says = say`the record says epoch ${record.epoch}, revision ${record.revision}`
  return say`record from the past: ${ahead.name} stored promise ${promise}, revision ${revision}; ${says}. Nothing is ordered until a person restores the newer record`
}

/**
 * An epoch has one primary: where somebody else was made primary in it, this record is not the one that did that.
 * Nothing is ordered; a person decides.
 */
function namingAnother({ snapshot, record }: Situation): Sentence | null {
  const named = instanceOf(record.primary)
  const other = liveViews(snapshot).find(
    ({ name, observation: { stored } }) =>
      name !== named && stored.assignment?.role === 'primary' && stored.assignment.epoch === record.epoch,
  )
  if (other === undefined) return null
  const says = say`the record says ${named} in the same epoch, revision ${record.revision}`
  const { revision } = other.observation.stored
  const made = say`${other.name} was made primary of epoch ${record.epoch}, revision ${revision}`
  return say`record of another history: ${made}; ${says}. Nothing is ordered until a person restores the right record`
}
