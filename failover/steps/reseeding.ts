import { command, heard, say, text, type Said, type Sentence } from '#common/sentence/sentence.ts'
import { holdsOf } from '#topology/snapshot/holdings.ts'
import type { InstanceName } from '#topology/snapshot/member.ts'
import { errantIn, orderFor, peersOf } from './assignments.ts'
import { step, type FlowStep } from './step.ts'
import { failedBefore, type Donor } from '../judge/seeding/donor.ts'
import { whyNoOrigin, type BackupOrigin } from '../judge/seeding/seed-origin.ts'
import { mayReseed } from '../judge/seeding/reseed-consent.ts'
import { refusedAgainMs, restAfterRefusal } from '../judge/seeding/refusal.ts'
import type { ReseedOrder } from '../protocol/order.ts'
import {
  copiesDue,
  isReadyAsDonor,
  primaryDonates,
  seedingsDue,
  servingOn,
  unsparedMembers,
  type DueSeeding,
} from '../judge/seeding/seeding-plan.ts'
import { endpointOf, isLive, viewNamed, wantedInstances, type LiveView, type Situation } from '../judge/situation.ts'
import { vanishedDonorMs } from '../protocol/timings.ts'

/** What an agent says of transactions that are in none of its logs (`agents/binlog/errant-archive.ts`). */
const cannotBeArchived = 'cannot be archived'

/**
 * An instance that cannot follow as it is gets a copy of another: it went back in time, has errant transactions, lacks
 * what the primary purged, is empty while there is much to copy, or had a replication filter. What it alone has is
 * archived first by its agent (safety rule 8).
 */
export function reseedStep(situation: Situation, primary: LiveView): FlowStep | undefined {
  const all = seedingsDue(situation, primary)
  // An order that arrives when the copy is just made would have it made again.
  const copied = all.find(({ view }) => view.observation.seedingProgress !== null)
  if (copied) return leaveDonor(situation, primary, copied) ?? copyingStep(copied, copiesDue(situation, primary))
  // A donor gives one copy at a time (CLONE, error 3634): the next waits until the last one told shows that it copies.
  const [told] = [...situation.inFlight].find(([, { order }]) => order === 'reseed') ?? []
  if (told !== undefined) return step(say`${told} is being told to take a copy of another instance`)
  const free = all.filter(({ view }) => !situation.inFlight.has(view.name))
  const due = firstOf(situation, free)
  return due
    ? seedStep(situation, primary, due)
    : (unsparedStep(situation, primary) ?? servesOnStep(situation, primary))
}

/**
 * The seeding that can begin now, else one that can begin after a pause. A seeding that waits for a person, or that its
 * agent refuses, keeps none of the others waiting.
 */
function firstOf(situation: Situation, free: readonly DueSeeding[]): DueSeeding | undefined {
  const able = free.filter(({ view }) => goesOn(situation, view))
  const waits = ({ donor, backup }: DueSeeding) => (donor ?? backup)?.waitMs
  return able.find((due) => waits(due) === 0) ?? able.find((due) => waits(due) !== undefined) ?? free[0]
}

function goesOn(situation: Situation, { name, observation }: LiveView): boolean {
  return (observation.stored.seeding || mayReseed(situation, name)) && restAfterRefusal(situation, name) === 0
}

/**
 * The machine of the donor is gone, and MySQL waits for 300 s for what is to come from there: its agent is not heard,
 * and nothing comes. Another donor is named, and the agent of the copy ends the old copy. A copy that goes on is left
 * alone.
 */
function leaveDonor(
  situation: Situation,
  primary: LiveView,
  { view, donor, beside }: DueSeeding,
): FlowStep | undefined {
  const { donor: from = '', stillMs = 0 } = view.observation.seedingProgress ?? {}
  if (donor === null || donor.view.name === from || situation.inFlight.has(view.name)) return undefined
  if (stillMs < vanishedDonorMs || unheardMs(situation, from) < vanishedDonorMs) return undefined
  const order = { ...reseedOrder(situation, primary, view, donor.view), ...(beside ? { beside: true as const } : {}) }
  const seconds = Math.round(stillMs / 1_000)
  return step(
    say`${view.name} received nothing from ${from} for ${seconds} s, and the agent of ${from} is not heard: that copy is ended, and ${donor.view.name} is copied`,
    [{ kind: 'reseed', to: view.name, order }],
  )
}

/** For so long nobody heard its agent; 0 for one that is heard. */
function unheardMs({ snapshot, nowMs, managerSinceMs }: Situation, name: InstanceName): number {
  const view = viewNamed(snapshot, name)
  return isLive(view) ? 0 : nowMs - (view?.heardAtMs ?? managerSinceMs)
}

function copyingStep({ view, donor }: DueSeeding, due: Said): FlowStep {
  const { seedingProgress } = view.observation
  const from = seedingProgress?.donor ?? donor?.view.name ?? say`another instance`
  const copying = say`${view.name} is seeded from ${from} (${heard(seedingProgress?.stage ?? '')})`
  return step(say`${copying}${failedBefore(view)}${due === '' ? '' : say`; ${due}`}`)
}

/** Nothing is ordered: a person decides about copies, or nobody can be copied. */
function unsparedStep(situation: Situation, primary: LiveView): FlowStep | undefined {
  const [unspared] = unsparedMembers(situation, primary)
  if (unspared === undefined) return undefined
  const { view, why } = unspared
  const left = view.observation.server?.channel?.ioRunning === 'yes' ? '' : say`, and writes wait`
  const since = say`it is not seeded again, since only it may hold the last writes${left}`
  return step(
    say`${view.name} ${why}, and too few others in the sync set can acknowledge: ${since}. ${adviceFor(situation, view)}`,
    [],
    waitsASecond,
  )
}

function adviceFor(situation: Situation, { name }: LiveView): Sentence {
  const scale = command('scale', situation.cluster, String(wantedInstances(situation) + 1))
  return say`Add a replica (${scale}): once it counts, ${name} is archived and seeded again, and you can scale back`
}

/** Nothing is ordered: nobody is closed or ended for a member that serves. */
function servesOnStep(situation: Situation, primary: LiveView): FlowStep | undefined {
  const serving = servingOn(situation, primary)
  if (serving === undefined) return undefined
  const { view, why } = serving
  return step(
    say`${view.name} ${why} and goes on acknowledging: too few others can. ${adviceFor(situation, view)}`,
    [],
    waitsASecond,
  )
}

const waitsASecond = { blocked: true, revisitMs: 1_000 } as const

function seedStep(situation: Situation, primary: LiveView, due: DueSeeding): FlowStep {
  const { view, why, donor, beside } = due
  if (!mayReseed(situation, view.name) && !view.observation.stored.seeding)
    return step(
      say`${view.name} ${why}; reseed is manual: it is left as it is until you say ${command('reseed', view.name)}`,
      [],
      { blocked: true },
    )
  const because = say`${view.name} ${why}${failedBefore(view)}`
  if (due.backup !== null) return fromBackupStep(situation, primary, { ...due, backup: due.backup, because })
  if (donor === null)
    return step(say`${because}; it is not seeded: ${whyNoOrigin(situation, view, primary)}`, [], waitsASecond)
  const held =
    waitFor(donor, view, because) ??
    closeFirst(situation, primary, { ...due, donor, because }) ??
    refusedStep(situation, view, because)
  if (held) return held
  const how = beside
    ? say`the sync set cannot spare it: it is copied from ${donor.view.name} beside what it has`
    : say`it is archived and seeded again from ${donor.view.name}`
  const order = { ...reseedOrder(situation, primary, view, donor.view), ...(beside ? { beside: true as const } : {}) }
  return step(say`${because}; ${how}`, [{ kind: 'reseed', to: view.name, order }])
}

function fromBackupStep(
  situation: Situation,
  primary: LiveView,
  { view, backup, because }: DueSeeding & { readonly backup: BackupOrigin; readonly because: Sentence },
): FlowStep {
  const { order: from, name, why, waitMs, pauseMs } = backup
  if (waitMs > 0)
    return step(say`${because}; a backup is tried again ${pauseMs / 1_000} s after it failed`, [], {
      blocked: true,
      revisitMs: waitMs,
    })
  const order = { ...reseedOrder(situation, primary, view, primary), backup: from }
  return (
    refusedStep(situation, view, because) ??
    step(say`${because}; ${why}: it is archived and seeded again from backup ${name} and the archive`, [
      { kind: 'reseed', to: view.name, order },
    ])
  )
}

/** A donor that failed is left alone for a while. */
function waitFor(donor: Donor, { observation }: LiveView, because: Sentence): FlowStep | undefined {
  if (donor.waitMs <= 0) return undefined
  const isBlamed = observation.seedingFailures?.some((failure) => failure.donor === donor.view.name) === true
  const [who, when] = isBlamed ? [donor.view.name, 'it failed'] : ['it', 'that']
  const again = say`${who} is tried again ${donor.pauseMs / 1_000} s after ${when}`
  return step(say`${because}; ${again}`, [], { blocked: true, revisitMs: donor.waitMs })
}

function closeFirst(
  situation: Situation,
  primary: LiveView,
  { donor, beside, because }: DueSeeding & { readonly donor: Donor; readonly because: Sentence },
): FlowStep | undefined {
  const isDonor = donor.view.name === primary.name && (beside || primaryDonates(situation, primary))
  if (!isDonor || isReadyAsDonor(primary)) return undefined
  return step(
    say`${because}; only ${primary.name} can be copied, and it closes first: too few replicas can acknowledge, and a copy does not end while a write waits`,
    [],
    waitsASecond,
  )
}

/** Its agent has refused so often, for the same reason, that it is asked again only after a while. */
function refusedStep(situation: Situation, view: LiveView, because: Sentence): FlowStep | undefined {
  const refusal = situation.refused.get(view.name)
  const restMs = restAfterRefusal(situation, view.name)
  if (refusal === undefined || restMs === 0) return undefined
  const why = say`its agent refused that ${refusal.times} times (${text(refusal.error)}), and is asked again after ${refusedAgainMs / 1_000} s`
  const advice = refusal.error.includes(cannotBeArchived)
    ? say`. They are in no binlog: only a person can give them up, with all that is on its volume: ${command('replace', view.name, '--accept-loss')}`
    : ''
  return step(say`${because}; it is not seeded: ${why}${advice}`, [], { blocked: true, revisitMs: restMs })
}

function reseedOrder(situation: Situation, primary: LiveView, view: LiveView, donor: LiveView): ReseedOrder {
  const { observation } = view
  return {
    ...orderFor(situation, observation.member, situation.record.epoch),
    donor: endpointOf(donor),
    source: endpointOf(primary),
    destroys: holdsOf(observation).toString(),
    sourceHolds: holdsOf(primary.observation).toString(),
    ...errantIn(situation, view),
    peers: peersOf(situation),
  }
}
