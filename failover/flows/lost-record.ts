import { say, type Sentence } from '#common/sentence/sentence.ts'
import type { InstanceName } from '#topology/snapshot/member.ts'
import type { StoredSummary } from '#topology/snapshot/observation.ts'
import type { InstanceView } from '#topology/snapshot/snapshot.ts'
import { areBeingStarted, startingAmong } from '../judge/election/starting.ts'
import type { DecisionInput, LiveView } from '../judge/situation.ts'
import { agentsAreAwaited, standStillInMaking } from '../steps/making.ts'
import type { FlowStep } from '../steps/step.ts'
import { forcedAdvice } from './forced-bootstrap.ts'

/**
 * Revisions of a rebuilt record begin at the next multiple of this: no lost record was so far ahead of what its agents
 * stored.
 */
export const rebuildStep = 1_000_000

/**
 * What those promised or acted on who do not answer is unknown: the record begins so far above what the others stored.
 */
export const unknownEpochs = 1_000
export const unknownRevisions = 1_000_000_000

/** All known members say what they stored, or a person says that it goes on without some. */
export function waitForSilent(input: DecisionInput, silent: readonly InstanceView[]): FlowStep {
  const starting = startingAmong(input)
  const without = starting.length > 0 ? areBeingStarted(starting) : say`wait, or ${forcedAdvice}`
  return standStillInMaking(say`${agentsAreAwaited(silent)}: the record is lost; ${without}`)
}

/** The volume of this instance went back in time, and only the record knew what that volume missed. */
export function standBehindPast({ name }: InstanceView): FlowStep {
  return standStillInMaking(
    say`the volume of ${name} went back in time, and no record says what it missed: bring back the newer one, or ${forcedAdvice}`,
  )
}

/** What only the primary held is on a volume that is not here. */
export function whyLeaderIsLost(lost: InstanceName): Sentence {
  return say`${lost} was the primary and lives on another volume now; what only it held is on the old one: bring that back, or ${forcedAdvice}`
}

/** The primary that the newest assignment names; undefined where nobody was ever assigned anything. */
export function lastLeader(live: readonly LiveView[]): InstanceName | undefined {
  const assigned = live.flatMap(({ name, observation: { stored } }) =>
    stored.assignment === null ? [] : [{ name, assignment: stored.assignment }],
  )
  const [newest] = assigned.toSorted((a, b) => compareAge(b.assignment, a.assignment))
  if (newest === undefined) return undefined
  return newest.assignment.role === 'primary' ? newest.name : (newest.assignment.source ?? undefined)
}

type Assigned = NonNullable<StoredSummary['assignment']>

function compareAge(a: Assigned, b: Assigned): number {
  return a.epoch - b.epoch || a.revision - b.revision
}
