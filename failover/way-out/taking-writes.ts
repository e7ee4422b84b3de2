import { say, time, type Sentence } from '#common/sentence/sentence.ts'
import { utcTimeOf } from '#common/text/words.ts'
import { instanceOf } from '#topology/snapshot/member.ts'
import { modeOf } from '../decide.ts'
import { isWritable, liveView, viewOf, wasOpen, type DecisionInput, type Situation } from '../judge/situation.ts'

/** Whether a cluster takes writes. What nobody can tell is neither yes nor no. */
export type TakingWrites =
  | { readonly kind: 'yes' }
  | { readonly kind: 'no' }
  | {
      readonly kind: 'unknown'
      /** The cluster took writes when it was heard last, and other instances hear its server now. */
      readonly isLikely: boolean
      /** What was known last, of when, what others see, and what is to be done. */
      readonly sentence: Sentence
    }

/** The primary's own agent tells. Where that agent is silent, only the death of its server is known by others. */
export function takingWrites(input: DecisionInput): TakingWrites {
  if (isWritable(input)) return { kind: 'yes' }
  const { record } = input
  return record === undefined ? { kind: 'no' } : ofRecorded({ ...input, record })
}

function ofRecorded(situation: Situation): TakingWrites {
  const { record, snapshot } = situation
  const view = viewOf(snapshot, record.primary)
  if (view === undefined || liveView(snapshot, record.primary) !== undefined) return { kind: 'no' }
  const { kind, sentence } = modeOf(situation.spec).judge(situation)
  if ((kind !== 'agentLost' && kind !== 'unknown') || isLedByAnother(situation)) return { kind: 'no' }
  const name = instanceOf(record.primary)
  const known = say`whether ${name} takes writes is not known: ${sentence}; ${lastKnown(situation)}`
  const cure = say`Its agent has to come back: its log and its machine say why it is away`
  return {
    kind: 'unknown',
    isLikely: kind === 'agentLost' && wasOpen(record, view.observation),
    sentence: say`${known}. ${cure}`,
  }
}

/** A group with a majority, and without this primary. */
function isLedByAnother(situation: Situation): boolean {
  const group = modeOf(situation.spec).groupShown?.(situation)
  return group !== undefined && group.viewId !== '' && group.primary !== instanceOf(situation.record.primary)
}

function lastKnown({ record, snapshot, nowMs, wallMs }: Situation): Sentence {
  const view = viewOf(snapshot, record.primary)
  if (view === undefined || view.heardAtMs === null) return say`this manager never heard its agent`
  const at = time(utcTimeOf(wallMs - (nowMs - view.heardAtMs)))
  const took = wasOpen(record, view.observation) ? say`it took writes` : say`it took none`
  return say`when its agent was heard last, at ${at}, ${took}`
}
