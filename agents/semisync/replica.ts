import { counted as countedIn, say, type Sentence } from '#common/sentence/sentence.ts'
import type { ReplicaAssignment } from '#failover/protocol/assignment.ts'
import { noticesOpening } from '../doubts/opened.ts'
import { parseGtidSet } from '#topology/gtid/gtid-set.ts'
import type { ServerState } from '#topology/snapshot/observation.ts'
import { unionOf } from '#topology/snapshot/holdings.ts'
import { noticesLoss } from '../doubts/thrown-away.ts'
import { notice, when, type View } from '../instance/pass.ts'
import { follows } from './following.ts'
import type { NextPass, Step } from './steps.ts'

/** The next pass towards following as assigned. Pure. `state` is what the server said. */
export function nextAsReplica(view: View, assigned: ReplicaAssignment, state: ServerState): NextPass {
  const assignment = asSeenNow(view, assigned)
  const holds = unionOf([state.executed, state.received])
  const loss = noticesLoss(view, holds) ?? noticesOpening(view, wasOpened(view, state))
  if (loss !== null) return loss
  const pass = standsBy(view, assignment, state) ?? mends(view, state) ?? follows(view, assignment, state)
  return withDuties(view, assignment, state, {
    ...pass,
    now: [...(pass.now ?? []), { fact: 'holdsSeen', holds: holds.toString() }],
  })
}

/**
 * A volume that went back in time still has the assignment it had then, and would acknowledge to a primary it has since
 * promised to leave. So where an agent cannot tell that its volume stayed where it was, it counts only once a manager,
 * who looks at incarnations, has told this run of it.
 */
function asSeenNow({ told }: View, assignment: ReplicaAssignment): ReplicaAssignment {
  return { ...assignment, counted: assignment.counted && told.trustsAssignment }
}

/** What each pass of a replica does first: it leads nobody, and is closed for writes, whoever opened it. */
function withDuties(view: View, { revision }: ReplicaAssignment, state: ServerState, pass: NextPass): NextPass {
  return {
    ...pass,
    now: [...(pass.now ?? []), { fact: 'leadsNobody' }],
    steps: [
      ...staysClosed(view, revision, state),
      ...when((state.changedSettings ?? []).length > 0, { do: 'putSettingsRight', state }),
      ...(pass.steps ?? []),
    ],
  }
}

/** The server was closed before it was made to follow. */
function wasOpened({ life: { stage } }: View, { superReadOnly }: ServerState): boolean {
  return stage.is === 'following' && !superReadOnly
}

function staysClosed({ course, life }: View, revision: number, state: ServerState): readonly Step[] {
  if (state.superReadOnly && state.readOnly) return []
  const wasClosed = course.converged.done && course.converged.revision === revision && !life.openedByAgent
  const byHand = notice('ClosedAgain', say`read-only was switched off by another hand and is on again`)
  return [{ do: 'closeForWrites' }, { do: 'outdate' }, ...when(wasClosed, byHand)]
}

/** Why it follows nobody; null where it is to follow. */
function standsBy(view: View, assignment: ReplicaAssignment, state: ServerState): NextPass | null {
  const { revision } = assignment
  const why = whyItStandsBy(view, assignment, state)
  if (why === null) return null
  const isReceiving = state.channel !== null && state.channel.ioRunning !== 'no'
  return {
    steps: [...when(isReceiving, { do: 'stopReceiver' }), ...when(!state.offlineMode, { do: 'setOffline', on: true })],
    then: [{ fact: 'converged', revision, done: false, sentence: why }],
    next: 'when something changes',
  }
}

/**
 * What its source never had is for the manager to say, who has asked the source about it: what the source held when
 * this agent was told is older than what came from there since. As long as it counts it goes on: what it acknowledges
 * it holds, and writes may wait for it.
 */
function whyItStandsBy(
  { told, doubts, stored }: View,
  { counted, passedOver }: ReplicaAssignment,
  state: ServerState,
): Sentence | null {
  // What it acknowledges says more than it holds.
  if (passedOver === true) return say`the source passed it over, and it waits to be seeded again`
  const errant = parseGtidSet(told.errant).intersect(unionOf([state.executed, state.received]))
  // What changed no data, as far as is known, needs no copy.
  const mayBeHarmless = told.errantJudged === null || told.errantJudged.changesNothing
  if (!counted && !mayBeHarmless && !errant.isEmpty())
    return say`has ${countedIn(errant.count(), 'errant transaction')} and waits to be archived and seeded again`
  return doubts.gtidsReset || stored.gtidsReset ? whyNameless(stored) : null
}

function whyNameless({ binlogOff, gtidsGiven }: View['stored']): Sentence {
  if (binlogOff) return say`ran without a binary log and waits to be seeded again`
  return gtidsGiven
    ? say`has the GTIDs that a hand gave it, never executed them, and waits to be seeded again`
    : say`the GTIDs were reset by another hand, and it waits to be seeded again`
}

/** What must not be followed with: a filter that somebody set, or relay logs that a crash may have spoilt. */
function mends({ stored, life }: View, { channel }: ServerState): NextPass | null {
  if (channel?.filtered)
    return {
      store: { filterSeen: true },
      steps: [
        { do: 'clearFilters' },
        notice(
          'ReplicationFilter',
          say`a replication filter was set by hand and removed; what it left out is unknown, so this instance will be seeded again`,
        ),
        { do: 'outdate' },
      ],
      next: 'after a look',
    }
  if (!stored.forgetful || life.relayLogsDiscarded) return null
  // Its page cache was lost: what it received may have holes. The replica starts again from what it executed.
  return {
    steps: [
      ...when(channel !== null, { do: 'forgetSource' }),
      notice('ForgetfulReplica', say`unapplied transactions were thrown away and are fetched again`),
      { do: 'outdate' },
    ],
    then: [{ fact: 'relayLogsDiscarded' }],
    next: 'after a look',
  }
}
