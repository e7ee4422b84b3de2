import { command, say, type CommandPart, type Sentence } from '#common/sentence/sentence.ts'
import { localPlace, typedIn } from '#common/sentence/command.ts'
import { areBeingStarted, startingAmong } from '../judge/election/starting.ts'
import { instanceOf, type InstanceName } from '#topology/snapshot/member.ts'
import { holdsOf } from '#topology/snapshot/holdings.ts'
import { whyDoubtedWithoutRecord } from '../judge/data/doubted-data.ts'
import { modeOf } from '../decide.ts'
import type { Decided } from '../steps/step.ts'
import { nobodyAnswers, recordInDoubt } from '../flows/doubtful-record.ts'
import { whyNotAcknowledged } from '../judge/primary/acknowledging.ts'
import {
  hasStrayedLong,
  isFenced,
  isRecordLost,
  isServing,
  liveView,
  liveViews,
  settingsRefusingWrites,
  viewNamed,
  type DecisionInput,
  type LiveView,
  type Situation,
} from '../judge/situation.ts'
import type { Verdict } from '../judge/primary/verdict.ts'
import { countedMembers } from '../protocol/record.ts'
import { takingWrites } from './taking-writes.ts'
import { trialOf, whyNoFailover, type AskedFailover } from './asked-failover.ts'

/** A command of a person, as the operations take it. */
export type Command =
  | ({ readonly verb: 'failover' } & AskedFailover)
  | { readonly verb: 'switchover' }
  | { readonly verb: 'unfence'; readonly instance: InstanceName }
  | { readonly verb: 'resume' }

/** How it ends that a cluster takes no writes. */
export interface WayOut {
  /** Null where none helps, or none is needed: the sentence says for what is waited. */
  readonly command: Command | null
  readonly sentence: Sentence
}

/**
 * What ends that the cluster takes no writes: exactly one command, which a dry run accepts; or what is waited for. Null
 * where it takes writes, or in all likelihood does. Topology, explanations and refusals all name the command that is
 * found here, so that two of them cannot refer to each other.
 */
export function wayOut(input: DecisionInput): WayOut | null {
  const takes = takingWrites(input)
  // Its clients write on, in all likelihood: nobody is told how to end that.
  if (takes.kind === 'yes' || (takes.kind === 'unknown' && takes.isLikely)) return null
  return input.record === undefined ? withoutRecord(input) : withRecord({ ...input, record: input.record })
}

function withRecord(situation: Situation): WayOut {
  const decision = modeOf(situation.spec).decide(situation)
  if (nobodyAnswers(situation) !== null || recordInDoubt(situation) !== null) return noneHelps(decision)
  const { notes, record } = situation
  const primary = instanceOf(record.primary)
  if (isFenced(notes, primary)) return use({ verb: 'unfence', instance: primary }, say`${primary} takes writes again`)
  if (goesOn(situation, decision)) return noneNeeded(decision)
  return byItsAgent(situation) ?? byAPerson(situation) ?? noneHelps(decision)
}

/** The first that helps: what gives something up comes last. */
function byAPerson(situation: Situation): WayOut | null {
  return (
    byFailover(situation, { to: null, acceptLoss: false }) ??
    bySwitchover(situation) ??
    byResuming(situation) ??
    byWaiting(situation) ??
    byFailover(situation, { to: null, acceptLoss: true }) ??
    byChoice(situation)
  )
}

/** Nothing is to be given up for somebody who is on the way. */
function byWaiting(situation: Situation): WayOut | null {
  const starting = startingAmong(situation)
  if (starting.length === 0) return null
  const are = starting.length === 1 ? say`is` : say`are`
  return { command: null, sentence: say`no command is needed: ${areBeingStarted(starting)}, and ${are} waited for` }
}

/** Regent is about to end it, or somebody is back in a moment. */
function goesOn(situation: Situation, { flow }: Decided): boolean {
  if (flow !== null) return true
  const verdict = modeOf(situation.spec).judge(situation)
  if (verdict.kind === 'starting' || isWatched(verdict)) return true
  if (verdict.opening !== undefined) return isOpening(situation)
  return verdict.kind === 'well' && whyNotAcknowledged(situation) !== null && isConnecting(situation)
}

/**
 * The primary applies what it was elected with. Once that takes long another member may lead, if nothing is given up by
 * that.
 */
function isOpening(situation: Situation): boolean {
  const { snapshot, record, timings } = situation
  const openingMs = liveView(snapshot, record.primary)?.observation.openingMs ?? 0
  return openingMs < timings.slowOpeningMs || whyNoFailover(situation, { to: null, acceptLoss: false }) !== null
}

/** Silent or still for less than what counts. */
function isWatched({ kind, witnesses, revisitMs }: Verdict): boolean {
  return kind === 'unknown' && revisitMs !== null && !witnesses.includes('this manager')
}

/** Enough of the sync set have not been away for long. */
function isConnecting(situation: Situation): boolean {
  const { record, strayingSince } = situation
  const members = countedMembers(record)
  const near = members.filter((member) => !hasStrayedLong(situation, member))
  return near.length >= record.acks && members.some((member) => strayingSince.has(instanceOf(member)))
}

/** The primary is open, and its agent is about to set what refuses clients. */
function byItsAgent({ snapshot, record }: Situation): WayOut | null {
  const view = liveView(snapshot, record.primary)
  const server = view?.observation.server ?? null
  if (view === undefined || server === null || server.readOnly || server.offlineMode) return null
  const [first] = settingsRefusingWrites(server)
  if (first === undefined) return null
  const { name, seen, wanted } = first
  const sentence = say`writes of clients are refused while ${name} is ${seen} on ${view.name}, and its agent sets it to ${wanted}`
  return { command: null, sentence: say`no command is needed: ${sentence}` }
}

function byFailover(situation: Situation, asked: AskedFailover): WayOut | null {
  if (whyNoFailover(situation, asked) !== null) return null
  return use({ verb: 'failover', ...asked }, trialOf(situation, asked).sentence)
}

/** The primary runs and keeps itself closed, for its disk perhaps: another one can take over. */
function bySwitchover(situation: Situation): WayOut | null {
  if (modeOf(situation.spec).judge(situation).kind !== 'well') return null
  const plan = modeOf(situation.spec).planSwitchover(situation, null)
  return 'refusal' in plan ? null : use({ verb: 'switchover' }, say`${instanceOf(plan.candidate)} takes over`)
}

function byResuming(situation: Situation): WayOut | null {
  if (situation.notes.paused === null) return null
  const resumed = { ...situation, notes: { ...situation.notes, paused: null } }
  const decision = modeOf(situation.spec).decide(resumed)
  return goesOn(resumed, decision) ? use({ verb: 'resume' }, decision.sentence) : null
}

/** Nobody leads by themselves: a person names one. The one that holds most is offered. */
function byChoice(situation: Situation): WayOut | null {
  const asked = byHoldings(situation)
    .map((to) => ({ to, acceptLoss: true }))
    .find((one) => whyNoFailover(situation, one) === null)
  if (asked === undefined) return null
  const unknown = modeOf(situation.spec).unknownOf?.(situation, asked.to) ?? null
  const doubt = unknown === null ? '' : say`; ${unknown}`
  return use({ verb: 'failover', ...asked }, say`${asked.to} leads, and what only others hold is given up${doubt}`)
}

/** A record that was lost is made anew once everybody has answered; or a person chooses who leads. */
function withoutRecord(input: DecisionInput): WayOut {
  const decision = modeOf(input.spec).decide(input)
  const stands = decision.blocked && decision.actions.length === 0
  const to = byHoldings(input)
    .toSorted((a, b) => Number(isInDoubt(input, a)) - Number(isInDoubt(input, b)))
    .find((name) => !('refusal' in modeOf(input.spec).planForcedBootstrap(input, name)))
  if (!(isRecordLost(input) || holdsDiffer(input)) || !stands || to === undefined) return noneNeeded(decision)
  return use({ verb: 'failover', to, acceptLoss: true }, say`${to} leads, and what only others hold is given up`)
}

/** A new cluster that waits for nobody, and stands still: its servers hold what cannot be brought together. */
function holdsDiffer({ snapshot: { instances }, spec, timings }: DecisionInput): boolean {
  if (spec.restore !== undefined) return false
  const serving = instances.filter((view) => isServing(view, timings))
  const isAnyForeign = serving.some(({ observation: { server } }) => (server?.foreignTables.length ?? 0) > 0)
  return serving.length === instances.length && !isAnyForeign && serving.some((view) => !holdsNothing(view))
}

function holdsNothing({ observation }: LiveView): boolean {
  return holdsOf(observation).isEmpty()
}

function byHoldings({ snapshot }: DecisionInput): readonly InstanceName[] {
  return liveViews(snapshot)
    .toSorted((a, b) => holdsOf(b.observation).count() - holdsOf(a.observation).count())
    .map(({ name }) => name)
}

function isInDoubt({ snapshot }: DecisionInput, name: InstanceName): boolean {
  const seen = viewNamed(snapshot, name)?.observation
  return seen != null && whyDoubtedWithoutRecord(seen.stored) !== null
}

function use(command: Command, what: Sentence): WayOut {
  return { command, sentence: say`use: ${toType(command)} (${what})` }
}

function noneNeeded({ sentence }: Decided): WayOut {
  return { command: null, sentence: say`no command is needed: ${sentence}` }
}

function noneHelps({ sentence }: Decided): WayOut {
  return { command: null, sentence: say`no command helps: ${sentence}` }
}

/** As it is typed on one machine. */
export function inWords(way: Command): string {
  return typedIn(localPlace, toType(way))
}

function toType(way: Command): CommandPart {
  switch (way.verb) {
    case 'failover': {
      const whom = way.to === null ? [] : ['--to', way.to]
      return command('failover', ...(way.acceptLoss ? ['--accept-loss'] : []), ...whom)
    }
    case 'unfence':
      return command('unfence', way.instance)
    case 'switchover':
    case 'resume':
      return command(way.verb)
  }
}
