import { say } from '#common/sentence/sentence.ts'
import type { PrimaryAssignment } from '#failover/protocol/assignment.ts'
import { unappliedOf } from '#topology/snapshot/holdings.ts'
import type { ServerState } from '#topology/snapshot/observation.ts'
import { leadingOf, type Leading } from '../instance/life.ts'
import { notice, when, type View } from '../instance/pass.ts'
import { nextOfOpening } from './opening.ts'
import { assignmentApplied, putsRight } from './put-right.ts'
import { closes, isClosedForCopy, keepMarked, whyNotOpen, type Led } from './standing.ts'
import type { NextPass } from './steps.ts'

/** The next pass towards being the primary of this assignment. Pure. */
export function nextAsPrimary(view: View, led: Led): NextPass {
  const { assignment, state } = led
  const leading = leadingOf(view.life)
  if (isClosedForCopy(assignment, state) && state.semiSyncSource.waiting > 0)
    return { steps: [{ do: 'restartForCopy' }], next: 'soon' }
  if (leading?.step === 'open') return keeps(view, led, leading)
  if (!isOpenAsPrimary(state)) return nextOfOpening(view, led)
  // The agent that saw that its GTIDs were reset died before the kill.
  return view.stored.gtidsReset ? { steps: [{ do: 'kill' }], next: 'when something changes' } : takesAsOpen(state)
}

/**
 * mysqld always starts closed, so one that is open was opened by an agent of this primary, and a restarted agent takes
 * it as it is. A replica that was made writable by hand still has a channel too, but waits for no acknowledgements: it
 * is promoted as any other, since what it received may not be applied yet.
 */
function isOpenAsPrimary(state: ServerState): boolean {
  if (state.readOnly || state.offlineMode) return false
  return state.channel === null || (state.semiSyncSource.enabled && unappliedOf(state).isEmpty())
}

/** Opened by an agent that died since: where a channel is left, that agent had not tidied up. */
function takesAsOpen({ channel, executed }: ServerState): NextPass {
  const stage: Leading = {
    is: 'leading',
    step: 'open',
    inPlace: false,
    wasPrepared: false,
    executed,
    applied: null,
    tidyAtMs: channel ? 0 : null,
  }
  return { then: [{ fact: 'made', stage }], next: 'at once' }
}

/** An open primary: what is otherwise than assigned was changed by another hand, and is put right. */
function keeps(view: View, led: Led, leading: Leading): NextPass {
  const { assignment, state } = led
  const now: NextPass['now'] = [{ fact: 'leaveToRestartEnded' }]
  if (leading.applied !== assignment) return { ...assignmentApplied(assignment, state, leading), now }
  const putRight = putsRight(assignment, state)
  const tidied = tidiesUp(view, state, leading)
  const open = keepsOpen(view, assignment, state)
  return {
    now,
    steps: [
      ...putRight.steps,
      ...keepMarked(view, led, putRight.isDoubted),
      ...(open.steps ?? []),
      ...(tidied.steps ?? []),
    ],
    then: [...(open.then ?? []), ...(tidied.then ?? [])],
    next: tidied.next,
  }
}

function keepsOpen(view: View, assignment: PrimaryAssignment, state: ServerState): Pick<NextPass, 'steps' | 'then'> {
  const { revision, epoch } = assignment
  const why = whyNotOpen(view, assignment, state)
  if (why !== null)
    return {
      steps: closes(view, assignment, state),
      then: [{ fact: 'converged', revision, done: false, sentence: say`closed: ${why}` }],
    }
  const isOpen = !state.readOnly && !state.superReadOnly && !state.offlineMode
  const byHand = say`the primary was read-only or offline by another hand and is open again`
  return {
    steps: isOpen
      ? []
      : [{ do: 'open' }, { do: 'outdate' }, ...when(view.course.converged.done, notice('Opened', byHand))],
    then: [{ fact: 'converged', revision, done: true, sentence: say`primary of epoch ${epoch}` }],
  }
}

/**
 * What an opening leaves for later: its events, and the channel that it followed by. In this order: an agent that dies
 * before the end leaves the channel, by which the next one knows that both are still to be done.
 */
function tidiesUp({ nowMs }: View, { channel }: ServerState, leading: Leading): NextPass {
  const { tidyAtMs } = leading
  if (tidyAtMs !== null && tidyAtMs > nowMs) return { next: { afterMs: tidyAtMs - nowMs } }
  return {
    steps: [...when(tidyAtMs !== null, { do: 'runEvents' }), ...when(channel !== null, { do: 'forgetApplied' })],
    ...(tidyAtMs === null ? {} : { then: [{ fact: 'made', stage: { ...leading, tidyAtMs: null } }] }),
    next: 'when something changes',
  }
}
