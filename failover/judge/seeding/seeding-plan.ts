import { counted, say, text, type Said, type Sentence } from '#common/sentence/sentence.ts'
import { whyNameless } from '#topology/snapshot/nameless.ts'
import { passesByItself } from '#topology/snapshot/no-space.ts'
import { holdsOf } from '#topology/snapshot/holdings.ts'
import { primaryAsDonor } from './donor.ts'
import { isMeasure } from '../election/elected-set.ts'
import { keepsRefusing } from './refusal.ts'
import { mayReseed } from './reseed-consent.ts'
import { errantKind, provenErrant } from '../data/errant.ts'
import { originFor, type Origin } from './seed-origin.ts'
import { isUncopied, mayHoldOtherRows, saysWhenCopied } from '../data/doubted-members.ts'
import { hasHole, lackedForGood, lacksNoMore, whyHoled } from '../data/holes.ts'
import { countedMembers, type ClusterRecord } from '#failover/protocol/record.ts'
import type { Observation } from '#topology/snapshot/observation.ts'
import type { InstanceView } from '#topology/snapshot/snapshot.ts'
import {
  departing,
  hasStrayedLong,
  isFollowing,
  isServing,
  liveViews,
  viewOf,
  type LiveView,
  type Situation,
} from '../situation.ts'

/** An applier that is stopped by an error this long is broken: no retry will help. */
const brokenMs = 5_000

/** An instance that cannot follow as it is, and whom it is to be a copy of. */
export interface DueSeeding extends Origin {
  readonly view: LiveView
  readonly why: Sentence
  /** The sync set cannot spare it: what it has stays until the copy is proven. */
  readonly beside: boolean
}

/**
 * Seedings that are due now: first of instances that may give up what they have, then of members that must keep it.
 * `primary` answers.
 */
export function seedingsDue(situation: Situation, primary: LiveView): readonly DueSeeding[] {
  const unspared = situation.spec.reseed === 'automatic' ? unsparedMembers(situation, primary) : []
  return [
    ...outsideDue(situation, primary),
    ...unspared.filter(({ donor, view }) => donor !== null && isTold(situation, view, { counted: true })),
  ]
}

/**
 * In the order of the instances. Nobody in the sync set, but for one that began to be seeded before it heard that it
 * joined: that holds nothing any more, and only the copy gives back what it stands for.
 */
function outsideDue(situation: Situation, primary: LiveView): readonly DueSeeding[] {
  const { record, timings, snapshot } = situation
  const going = departing(situation)
  return liveViews(snapshot).flatMap((view) => {
    const { observation } = view
    const mayBegin = isServing(view, timings) && !going.includes(view.name)
    if (view.past !== undefined || staysAsItIs(record, observation)) return []
    if ((!observation.stored.seeding && !mayBegin) || !isTold(situation, view, { counted: false })) return []
    const why = whyReseed(situation, view, primary)
    return why === null ? [] : [{ view, why, ...originFor(situation, view, primary), beside: false }]
  })
}

/** The instance leads, stands for something, or its agent would not say that it was copied. */
function staysAsItIs(record: ClusterRecord, observation: Observation): boolean {
  const { member, stored } = observation
  if (member === record.primary || (record.syncSet.includes(member) && !stored.seeding)) return true
  return isUncopied(record, observation) && !saysWhenCopied(observation)
}

function standsInFor(situation: Situation, other: InstanceView | undefined, view: InstanceView): boolean {
  return isFollowing(other, situation) && lacksNoMore(situation, other, view)
}

/**
 * The member acknowledges, hole or not, until an instance that does not count now is a copy and counts: then the member
 * is spared.
 */
function waitsForAnother(situation: Situation, view: LiveView): boolean {
  const { record, snapshot } = situation
  const [going, counted] = [departing(situation), countedMembers(record)]
  return (
    isFollowing(view, situation) &&
    liveViews(snapshot).some(
      ({ name, past, observation: { member } }) =>
        past === undefined && member !== record.primary && !counted.includes(member) && !going.includes(name),
    )
  )
}

/**
 * Members of the sync set that acknowledge nothing, or have a hole, would be seeded and that it cannot spare: with one
 * fewer, too few who follow would be left. They are copied beside what they hold for others, and from the primary
 * alone, closed: of it is known what it had when the copy began, each acknowledged write among it
 * (docs/why/decisions/0011).
 */
export function unsparedMembers(situation: Situation, primary: LiveView): readonly DueSeeding[] {
  const { record, timings, snapshot } = situation
  return liveViews(snapshot).flatMap((view) => {
    const { member, stored } = view.observation
    if (
      !record.syncSet.includes(member) ||
      stored.seeding ||
      !isServing(view, timings) ||
      servesOn(situation, view) ||
      waitsForAnother(situation, view)
    )
      return []
    const others = countedMembers(record).filter(
      (other) => other !== member && standsInFor(situation, viewOf(snapshot, other), view),
    )
    const why = others.length < record.acksWanted ? whyOnlyCopied(situation, view, primary) : null
    return why === null ? [] : [{ view, why, donor: primaryAsDonor(view, primary), backup: null, beside: true }]
  })
}

/**
 * Members of the sync set that would be seeded, and go on acknowledging because too few others can: what they
 * acknowledge they hold, and nothing is closed or ended for them.
 */
export function servingOn(
  situation: Situation,
  primary: LiveView,
): Omit<DueSeeding, 'donor' | 'backup' | 'beside'> | undefined {
  const { record, timings, snapshot } = situation
  const acknowledging = record.syncSet.flatMap((member) => {
    const view = viewOf(snapshot, member)
    return isServing(view, timings) && servesOn(situation, view) ? [view] : []
  })
  if (acknowledging.length > record.acksWanted) return undefined
  return acknowledging
    .flatMap((view) => {
      const why = view.past === undefined ? whyReseed(situation, view, primary) : null
      return why === null ? [] : [{ view, why }]
    })
    .at(0)
}

/**
 * The replica receives, acknowledges, and has what it acknowledges. Whether the replica can apply that is another
 * matter.
 */
function servesOn(situation: Situation, view: LiveView): boolean {
  const { server } = view.observation
  return server?.channel?.ioRunning === 'yes' && server.channel.semiSync && !hasHole(situation, view)
}

/**
 * The instance cannot follow as it is. Where the sync set cannot spare the instance, it is copied beside what it has.
 */
export function needsCopy(situation: Situation, view: LiveView, primary: LiveView): boolean {
  return !view.observation.stored.seeding && whyOnlyCopied(situation, view, primary) !== null
}

/**
 * Why only a copy gives the sync set back what this member stands for. Errant transactions alone are no reason: with
 * them it follows, holds what it acknowledges, and is seeded again once it need not count. The agent of an older one
 * stands by for them.
 */
function whyOnlyCopied(situation: Situation, view: LiveView, primary: LiveView): Sentence | null {
  const why = whyReseedAtOnce(situation, view)
  if (why !== null || !isMeasure(situation.record, primary)) return why
  const errant = view.observation.errantTold === undefined ? whyErrant(situation, view) : null
  return errant ?? whyReseedBesides(situation, view, primary)
}

/**
 * The agent acts on this revision, in which the instance counts or does not: before the agent knows that the instance
 * does not count, the agent refuses to give up what the instance has. Or the agent cannot be told, because of a seeding
 * that an earlier epoch began and nobody ended.
 */
function isTold(
  { record }: Situation,
  { observation: { stored } }: LiveView,
  { counted }: { readonly counted: boolean },
): boolean {
  const { assignment, promise, seeding } = stored
  if (seeding) return promise <= record.epoch
  return (
    assignment?.role === 'replica' &&
    assignment.epoch === record.epoch &&
    assignment.revision === record.revision &&
    assignment.counted === counted
  )
}

function whyReseed(situation: Situation, view: LiveView, primary: LiveView): Sentence | null {
  const why = whyReseedAtOnce(situation, view)
  if (why !== null || !isMeasure(situation.record, primary)) return why
  return whyErrant(situation, view) ?? whyReseedBesides(situation, view, primary)
}

/**
 * Why an instance may not become a member as that instance is; null where it may. An empty one that a person decides
 * about applies all that ever happened.
 */
export function whyNotAsItIs(situation: Situation, view: LiveView, primary: LiveView): Sentence | null {
  const { spec } = situation
  return spec.reseed === 'automatic'
    ? whyReseed(situation, view, primary)
    : whyReseed({ ...situation, spec: { ...spec, cloneAboveTransactions: Infinity } }, view, primary)
}

/** Whatever the primary holds. */
function whyReseedAtOnce(situation: Situation, { name, observation }: LiveView): Sentence | null {
  if (observation.stored.seeding) return say`began a seeding that has not ended`
  if (situation.inFlight.get(name)?.order === 'reseed') return say`is being told to give up what it has`
  const nameless = whyNameless(observation.stored)
  if (nameless !== null) return nameless
  if (isUncopied(situation.record, observation)) return mayHoldOtherRows
  return observation.stored.fromThePast
    ? say`went back in time, so that what its GTIDs name may be something else elsewhere`
    : null
}

/** Errant transactions that changed no data are made good at the primary (`failover/flows/emptying.ts`). */
function whyErrant(situation: Situation, view: LiveView): Sentence | null {
  if (errantKind(situation, view) !== 'harmful') return null
  const errant = provenErrant(situation, view)
  return say`has ${counted(errant.count(), 'errant transaction')} (${text(errant.toString().slice(0, 120))})`
}

/** Because of what the primary holds. A copy too many loses nothing. */
function whyReseedBesides(situation: Situation, view: LiveView, primary: LiveView): Sentence | null {
  const { observation } = view
  if (!lackedForGood(view, primary).isEmpty())
    return say`lacks transactions that the primary no longer has in its binlogs`
  const holed = whyHoled(situation, view)
  if (holed !== '') return holed
  if (observation.stored.filterSeen) return say`has had a replication filter`
  const broken = brokenApplier(situation, view)
  if (broken !== '') return say`cannot apply what it receives (${text(broken.slice(0, 120))})`
  if (observation.stored.opened)
    return say`was open for writes while it was no primary, so that nobody can tell whether its data are those of the primary`
  const behind = lacksAll(situation, view, primary)
  return behind > 0 ? say`is empty and lacks ${counted(behind, 'transaction')}` : null
}

/**
 * How many transactions it would have to apply who holds none, where that is more than are applied rather than copied
 * and somebody can be copied; else 0.
 */
function lacksAll(situation: Situation, view: LiveView, primary: LiveView): number {
  if (!holdsOf(view.observation).isEmpty()) return 0
  const behind = holdsOf(primary.observation).count()
  if (behind <= situation.spec.cloneAboveTransactions) return 0
  const { donor, backup } = originFor(situation, view, primary)
  return donor === null && backup === null ? 0 : behind
}

/**
 * An instance that holds nothing is to be copied. Connected first, the instance would receive something at once, be
 * empty no more, and apply all that ever happened. Where no copy is possible, or a person decides about that, the
 * instance follows. While nothing is known of the instance, it goes on with what it was told. While nothing is known of
 * the primary, the instance waits until somebody knows how much there is to copy.
 */
export function waitsForItsCopy(situation: Situation, view: LiveView, primary: LiveView | undefined): boolean {
  const { server, stored } = view.observation
  if (situation.spec.reseed === 'manual' || !holdsOf(view.observation).isEmpty()) return false
  if (server === null && stored.assignment !== null && stored.assignment.sourceReady !== false) return false
  if (primary === undefined || (primary.observation.server === null && holdsOf(primary.observation).isEmpty()))
    return true
  return lacksAll(situation, view, primary) > 0
}

/**
 * What is said of instances that were told to wait for their copy and are not being copied; '' for none. An instance
 * that is to go gets no copy.
 */
export function copiesDue(situation: Situation, primary: LiveView | undefined): Said {
  const going = departing(situation)
  const waiting = liveViews(situation.snapshot).filter((view) => {
    const { stored, seedingProgress } = view.observation
    return (
      !going.includes(view.name) &&
      stored.assignment?.sourceReady === false &&
      !stored.assignment.counted &&
      seedingProgress === null &&
      waitsForItsCopy(situation, view, primary)
    )
  })
  if (waiting.length === 0) return ''
  const names = waiting.map(({ name }) => name).join(', ')
  const once = situation.notes.paused ? say` once the cluster is resumed` : ''
  return say`${names} ${waiting.length === 1 ? say`is` : say`are`} to be copied from another instance${once}`
}

/** What its applier stopped at; '' while it may go on by itself. */
function brokenApplier({ nowMs, strayingSince }: Situation, { name, observation }: LiveView): string {
  const strayedMs = nowMs - (strayingSince.get(name) ?? nowMs)
  const { channel, group } = observation.server ?? {}
  return strayedMs > brokenMs ? brokenForGood(channel?.sqlError) || brokenForGood(group?.applierError) : ''
}

/** What passes is tried again by its agent: a copy would need more space still. */
function brokenForGood(applierError = ''): string {
  return passesByItself(applierError) ? '' : applierError
}

/**
 * CLONE from a server hangs while a write waits there, and fails after 300 s (seen on 9.7). A primary that too few can
 * acknowledge to, and that is the only donor, is closed while it is copied. What it was told stays while it does not
 * answer: else it would write a marker, that waits, as soon as it is started again. For one whose agent keeps refusing
 * nobody is kept out who reads there.
 */
export function primaryDonates(situation: Situation, primary: LiveView): boolean {
  const { record, timings, notes } = situation
  const already = primary.observation.stored.assignment?.donates === true
  if (!isServing(primary, timings)) return already
  if (notes.paused !== null || mayAcknowledge(situation, primary, already) >= record.acksWanted) return false
  return seedingsDue(situation, primary).some(
    ({ view, donor, beside }) =>
      donor?.view.name === primary.name &&
      (view.observation.stored.seeding ||
        (mayReseed(situation, view.name) && (beside || !keepsRefusing(situation, view.name)))),
  )
}

/**
 * Counted members that follow or, before the primary is closed for it, may only be connecting again; none with a hole
 * that is to be copied itself.
 */
function mayAcknowledge(situation: Situation, primary: LiveView, already: boolean): number {
  const { record, snapshot } = situation
  const copied = new Set(unsparedMembers(situation, primary).map(({ view }) => view.name))
  return countedMembers(record).filter((member) => {
    const view = viewOf(snapshot, member)
    if (view === undefined || (hasHole(situation, view) && copied.has(view.name))) return false
    return already ? isFollowing(view, situation) : !hasStrayedLong(situation, member)
  }).length
}

/** Closed for a copy, and nothing waits in it. */
export function isReadyAsDonor({ observation: { server, stored } }: LiveView): boolean {
  if (server === null || stored.assignment?.donates !== true) return false
  return server.readOnly && server.offlineMode && server.owned === '' && server.semiSyncSource.waiting === 0
}
