import { counted, say, type Sentence } from '#common/sentence/sentence.ts'
import { parseGtidSet } from '#topology/gtid/gtid-set.ts'
import { staysClosedWithout } from '../doubts/elected-set.ts'
import { leadingOf, type Leading } from '../instance/life.ts'
import { when, type View } from '../instance/pass.ts'
import { assignmentApplied, putsRight, setsAsAssigned } from './put-right.ts'
import { keepMarked, whyNotOpen, type Led } from './standing.ts'
import type { NextPass } from './steps.ts'

/** Clients come back and the first replica connects in this time: what nobody waits for is not done beside that. */
export const tidyAfterMs = 300

/**
 * Opens the server as primary, in the order that is safe and fast: nothing foreign runs, everything received is
 * applied, leftovers of dump threads are gone (they would delay the first acknowledgement by a second), gates and k
 * exactly as assigned, then open. A server that restarted stays offline until a marker is acknowledged, so that nobody
 * reads what its recovery committed before k members hold it. Pure.
 */
export function nextOfOpening(view: View, led: Led): NextPass {
  const { course, nowMs } = view
  const { epoch } = led.assignment
  const pass = nextStep(view, led)
  if (course.openingSince?.epoch === epoch) return pass
  return { ...pass, now: [{ fact: 'openingBegan', epoch, atMs: nowMs }, ...(pass.now ?? [])] }
}

function nextStep(view: View, led: Led): NextPass {
  const leading = leadingOf(view.life)
  if (leading === null) return begins(view, led)
  if (leading.step === 'applying') return applies(led, leading)
  const { assignment, state } = led
  const executed = state.channel === null ? state.executed : leading.executed
  const lacks = staysClosedWithout(view, assignment, parseGtidSet(executed))
  if (lacks !== null) return { ...lacks, then: [{ fact: 'made', stage: { ...leading, step: 'applying' } }] }
  return leading.step === 'applied' ? setsGates(led, leading) : opens(view, led, leading)
}

const begun: Leading = {
  is: 'leading',
  step: 'applying',
  inPlace: false,
  executed: '',
  wasPrepared: false,
  applied: null,
  tidyAtMs: null,
}

/**
 * Once for each mysqld. Nobody else is on the server: a lock or an idle transaction of theirs would hold up the applier
 * and account changes. MySQL does not promise what a session tells others that is killed while the session waits for an
 * acknowledgement (9.7 goes on waiting). So what may have waited is in doubt before the kill, on disk.
 */
function begins({ life, course }: View, { assignment, state }: Led): NextPass {
  const { stage } = life
  const inPlace = course.reopening
  if (stage.is === 'prepared' && stage.epoch === assignment.epoch) {
    const ready: Leading = { ...begun, step: 'applied', inPlace, executed: stage.executed, wasPrepared: true }
    return { then: [{ fact: 'made', stage: ready }], next: 'at once' }
  }
  const { enabled, waiting } = state.semiSyncSource
  const mayWait = enabled && (waiting > 0 || !state.readOnly)
  return {
    steps: [
      ...when(mayWait, { do: 'doubt', revision: assignment.revision }),
      ...when(!state.offlineMode, { do: 'setOffline', on: true }),
      { do: 'endForeignSessions' },
    ],
    then: [{ fact: 'made', stage: { ...begun, inPlace } }],
    next: 'at once',
  }
}

/** The rest of the relay log is applied before anybody writes. */
function applies({ state }: Led, leading: Leading): NextPass {
  const { channel, executed, semiSyncSource } = state
  return channel === null
    ? { then: [{ fact: 'made', stage: { ...leading, step: 'applied', executed } }], next: 'at once' }
    : { steps: [{ do: 'applyEverything', channel, waits: semiSyncSource.enabled, leading }], next: 'at once' }
}

/**
 * Gates and k exactly as assigned, once nothing that an earlier life left behind can acknowledge. Replicas may connect
 * from then on, while this server opens.
 */
function setsGates({ assignment, state }: Led, leading: Leading): NextPass {
  const { revision, connected = [], counted } = assignment
  return {
    steps: [
      { do: 'awaitSwitchingOff' },
      ...when(state.channel !== null && !leading.wasPrepared, { do: 'stopApplier' }),
      { do: 'endDumpThreads', but: connected.filter((instance) => counted.includes(instance)) },
      ...setsAsAssigned(assignment, true),
      ...when(leading.inPlace, { do: 'outdate' }),
    ],
    then: [
      { fact: 'made', stage: { ...leading, step: 'gated', applied: assignment } },
      { fact: 'converged', revision, done: false, sentence: say`gates and acknowledgements are set` },
    ],
    // What differs after this look was changed by another hand.
    next: leading.inPlace ? 'after a look' : 'at once',
  }
}

function opens(view: View, led: Led, leading: Leading): NextPass {
  const { assignment, state } = led
  const { revision, acks, epoch } = assignment
  if (leading.applied !== assignment) return assignmentApplied(assignment, state, leading)
  // Found between the election and the opening: its agent ends it.
  if (view.doubts.gtidsReset && !leading.inPlace)
    return {
      then: [{ fact: 'converged', done: false, sentence: say`closed: its GTIDs do not tell any more what it holds` }],
      next: 'when something changes',
    }
  const why = whyNotOpen(view, assignment, state)
  if (leading.inPlace && acks > 0 && view.life.markedRevision < revision) return awaitsMarker(view, led, why)
  return {
    steps: [...when(why === null, { do: 'open' }), { do: 'outdate' }, ...keepMarked(view, led)],
    then: [
      { fact: 'opened', stage: { ...leading, step: 'open', tidyAtMs: view.nowMs + tidyAfterMs } },
      { fact: 'converged', revision, done: true, sentence: say`primary of epoch ${epoch}` },
    ],
    next: { afterMs: tidyAfterMs },
  }
}

/**
 * Offline until a marker proves what recovery committed. A hand may switch acknowledgements off meanwhile: a marker
 * returns then, and proves nothing.
 */
function awaitsMarker(view: View, led: Led, why: Sentence | null): NextPass {
  const { assignment, state } = led
  const { acks } = assignment
  const { steps, isDoubted } = putsRight(assignment, state)
  const sentence =
    why === null
      ? say`offline until ${counted(acks, 'replica')} ${acks === 1 ? say`acknowledges` : say`acknowledge`} a marker`
      : say`closed: ${why}`
  return {
    now: [{ fact: 'openingWaits' }, { fact: 'converged', sentence }],
    steps: [...steps, ...when(steps.length > 0, { do: 'outdate' }), ...keepMarked(view, led, isDoubted)],
    next: 'when something changes',
  }
}
