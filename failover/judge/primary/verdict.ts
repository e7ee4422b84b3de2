import { isAnswerOfSource } from '#common/mysql/answer-of-source.ts'
import { counted, duration, heard, lasting, say, type Sentence } from '#common/sentence/sentence.ts'
import type { Observation } from '#topology/snapshot/observation.ts'
import { isToBeStarted, lackedByPrimary } from '../election/elected-set.ts'
import { instanceOf } from '#topology/snapshot/member.ts'
import { hungMs, vanishedDonorMs } from '#failover/protocol/timings.ts'
import { allOf } from '#common/text/words.ts'
import { whyLeftClosed } from './left-closed.ts'
import { openingOf, type Opening } from './slow-opening.ts'
import {
  hasPromised,
  isFar,
  isLive,
  isServing,
  viewNamed,
  viewOf,
  type LiveView,
  type Situation,
} from '../situation.ts'

/**
 * What is known of the primary, and from whom. `well` · `starting` it was allowed to start and has not answered yet ·
 * `dead` its agent says that mysqld ended, or two kinds of witnesses lost it, or its agent is lost and may have left it
 * closed · `frozen` · `agentLost` replicas still hear the server: no reason to fail over · `unable` it was elected and
 * cannot open · `slow` it was elected, and somebody else would open sooner · `deaf` it hears no acknowledgements ·
 * `unknown` nobody can testify.
 */
export type VerdictKind = 'well' | 'starting' | 'dead' | 'frozen' | 'agentLost' | 'unable' | 'slow' | 'deaf' | 'unknown'

export interface Verdict {
  readonly kind: VerdictKind
  readonly sentence: Sentence
  readonly witnesses: readonly string[]
  /** Look again after this long; null when only events matter. */
  readonly revisitMs: number | null
  /** The primary was elected and takes no writes yet: `well` while it is waited for, else `slow`. Absent otherwise. */
  readonly opening?: Opening
}

/** A verdict that calls for another primary. */
export function callsForFailover(verdict: Verdict): boolean {
  return ['dead', 'frozen', 'unable', 'slow', 'deaf'].includes(verdict.kind)
}

/** The primary takes writes, or is about to in a moment that nobody need mend. */
export function isWell({ kind, opening }: Verdict): boolean {
  return kind === 'well' && opening === undefined
}

/** Judges the primary. Its own agent's word is enough; without it, two kinds of witnesses are needed. */
export function judgePrimary(situation: Situation): Verdict {
  const name = instanceOf(situation.record.primary)
  const view = viewOf(situation.snapshot, situation.record.primary)
  if (view === undefined) return verdict('dead', whyGone(situation, name), ['the platform'])
  if (isLive(view)) return judgeByOwnAgent(name, view.observation, situation)
  return judgeByOthers(situation, name, view.heardAtMs)
}

function whyGone({ snapshot, record }: Situation, name: string): Sentence {
  const wentBack = viewNamed(snapshot, name)?.past === record.primary
  return wentBack
    ? say`the volume of ${name} went back in time and is nobody’s who is known`
    : say`${name} is gone or lives on another volume`
}

function judgeByOwnAgent(name: string, seen: Observation, situation: Situation): Verdict {
  const own = ['its own agent']
  if (isToBeStarted(situation))
    return verdict('starting', say`mysqld of ${name} is to be started: it was elected while it was down`, own)
  // Before its server’s state: it ends its server when it promises, and no start would bring back what it lacks.
  const lacks = lackedByPrimary(situation.record, seen).count()
  if (lacks > 0)
    return verdict(
      'unable',
      say`${name} lacks ${counted(lacks, 'transaction')} of the set that it was elected for and stays closed`,
      own,
    )
  return judgeProcess(name, seen, situation)
}

function judgeProcess(name: string, seen: Observation, situation: Situation): Verdict {
  const { timings } = situation
  const own = ['its own agent']
  switch (seen.process) {
    case 'dead':
    case 'exiting':
    case 'absent':
      return verdict(
        'dead',
        say`mysqld of ${name} is dead${seen.processNote ? say`: ${heard(seen.processNote)}` : ''}`,
        own,
      )
    case 'starting':
      return seen.processSinceMs < timings.startMs
        ? verdict('starting', say`mysqld of ${name} is starting`, own, timings.startMs - seen.processSinceMs)
        : verdict('dead', say`mysqld of ${name} did not come up within ${duration(timings.startMs)}`, own)
    case 'stopped':
      return frozenAfter(name, say`is stopped (SIGSTOP)`, seen.processSinceMs, timings.frozenMs)
    case 'running':
      return judgeRunning(name, seen, situation)
  }
}

function judgeRunning(name: string, seen: Observation, situation: Situation): Verdict {
  const { startMs } = situation.timings
  const own = ['its own agent']
  if (seen.probe === 'readOnlyFilesystem')
    return verdict('dead', say`the file system of ${name} is read-only: ${heard(seen.probeDetail)}`, own)
  if (seen.server === null && seen.processSinceMs >= startMs)
    return verdict('dead', say`mysqld of ${name} runs and has not answered within ${duration(startMs)}`, own)
  if (seen.server === null) return verdict('starting', say`mysqld of ${name} runs and has not answered yet`, own, 200)
  const answersNothing = seen.probe === 'stuck' || seen.probe === 'unknown'
  if (seen.silentMs > 0 && answersNothing) return judgeSilent(name, seen, situation)
  if (letsNobodyIn(seen))
    return verdict('frozen', say`mysqld of ${name} has let nobody in ${lasting(seen.silentMs)}`, own)
  return judgeAnswering(name, seen, situation)
}

/**
 * A session that was open goes on, as that of the probe, and no other begins: an account statement that waits for its
 * acknowledgement keeps all logins out. A lock was seen before that, and logins that wait use up the connections. The
 * admin interface has no limit of connections; a far agent may be kept out by that limit alone. Where only SQL reaches
 * the host nobody could end the server.
 */
function letsNobodyIn({ probe, silentMs, reachedBy }: Observation): boolean {
  if (silentMs < hungMs || reachedBy === 'sql') return false
  return probe === 'ok' || probe === 'locked' || (probe === 'tooManyConnections' && reachedBy === undefined)
}

/** An agent that has lost SSH as well shows nothing long before: for so long only its server has been silent. */
const surelyHungMs = 6_000

/**
 * For an agent far from its server silence may be that of the network between. Its agent is one witness then, and the
 * replicas are the second one, by another route.
 */
function judgeSilent(name: string, { silentMs, reachedBy }: Observation, situation: Situation): Verdict {
  const { frozenMs, heartbeatMs } = situation.timings
  const isHeard = reachedBy !== undefined && hearingOf(situation, name).length > 0
  if (reachedBy !== 'sql')
    return frozenAfter(name, say`does not answer`, silentMs, isHeard ? Math.max(frozenMs, surelyHungMs) : frozenMs)
  const sentence = say`mysqld of ${name} has not answered ${lasting(silentMs)}, and only SQL reaches it`
  return verdict('unknown', sentence, ['its own agent'], heartbeatMs)
}

/** Replicas acknowledge within milliseconds; the server looks for acknowledgements once a second at the worst. */
function judgeAnswering(name: string, seen: Observation, situation: Situation): Verdict {
  const { deafSinceMs, nowMs, timings } = situation
  const own = ['its own agent']
  const leftMs = deafSinceMs === null ? null : deafSinceMs + timings.deafMs - nowMs
  if (deafSinceMs !== null && leftMs !== null && leftMs <= 0)
    return verdict(
      'deaf',
      say`writes at ${name} have waited ${lasting(nowMs - deafSinceMs)} for acknowledgements of what enough replicas hold: its server does not hear its replicas`,
      [...own, 'its replicas'],
    )
  const opening = openingOf(situation, seen)
  if (opening === null) return verdict('well', say`${name} is healthy`, own, leftMs)
  const kind = opening.successor === null ? 'well' : 'slow'
  return { ...verdict(kind, opening.sentence, own, opening.revisitMs), opening }
}

function frozenAfter(name: string, what: Sentence, sinceMs: number, frozenMs: number): Verdict {
  return sinceMs >= frozenMs
    ? verdict('frozen', say`mysqld of ${name} ${what} ${lasting(sinceMs)}`, ['its own agent'])
    : verdict(
        'unknown',
        say`mysqld of ${name} ${what} ${lasting(sinceMs)}, frozen after ${duration(frozenMs)}`,
        ['its own agent'],
        frozenMs - sinceMs,
      )
}

function judgeByOthers(situation: Situation, name: string, heardAtMs: number | null): Verdict {
  const { timings, nowMs } = situation
  const silent = nowMs - (heardAtMs ?? situation.managerSinceMs)
  if (silent < timings.unreachableMs)
    return verdict(
      'unknown',
      say`the agent of ${name} is silent ${lasting(silent)}`,
      [],
      timings.unreachableMs - silent,
    )
  const hearing = hearingOf(situation, name)
  if (hearing.length > 0) {
    const closed = whyLeftClosed(situation)
    if (closed !== null) return verdict('dead', closed, ['this manager'])
    const hear = hearing.length === 1 ? say`hears` : say`hear`
    return verdict(
      'agentLost',
      say`the agent of ${name} is unreachable but ${allOf(hearing.map((view) => view.name))} still ${hear} its server`,
      [],
      timings.unreachableMs,
    )
  }
  const lost = servingBeside(situation, name).filter(
    ({ observation }) =>
      observation.stored.assignment?.source === name && hasTried(observation) && !isKeptAway(situation, observation),
  )
  if (lost.length === 0)
    return verdict(
      'unknown',
      say`the agent of ${name} is unreachable and no replica can testify`,
      ['this manager'],
      timings.unreachableMs,
    )
  const witnesses = ['this manager', ...lost.map((view) => view.name)]
  return verdict(
    'dead',
    say`${name} is unreachable for this manager and for ${allOf(lost.map((view) => view.name))}`,
    witnesses,
  )
}

/**
 * A replica that waits for its copy never connected: its silence about the source says nothing. A counted replica was
 * connected, or no better witness is left.
 */
function hasTried({ stored: { assignment, seeding } }: Observation): boolean {
  return assignment?.counted === true || (assignment?.sourceReady !== false && !seeding)
}

/**
 * Its own agent stopped its receiver, whatever the source does: what is wrong with the replica says nothing of the
 * source. A promise stops the receivers of those who had lost the source before.
 */
function isKeptAway(situation: Situation, observation: Observation): boolean {
  if (observation.server?.channel?.ioRunning !== 'no' || hasPromised(situation.record, observation)) return false
  return standsBy(observation) || isCopied(observation)
}

function standsBy({ stored: { assignment, gtidsReset }, errantTold = '' }: Observation): boolean {
  return assignment?.passedOver === true || gtidsReset === true || (errantTold !== '' && assignment?.counted !== true)
}

/** The source is silent for a copy too, where that stands still for long. */
function isCopied({ seedingProgress }: Observation): boolean {
  return seedingProgress !== null && (seedingProgress.stillMs ?? 0) < vanishedDonorMs
}

/** Its receiver has a source that still speaks. */
function servingBeside({ snapshot, timings }: Situation, name: string): readonly LiveView[] {
  return snapshot.instances.filter((view): view is LiveView => view.name !== name && isServing(view, timings))
}

/** Whose receivers the primary speaks to. A member that has promised hears nobody but whom it fetches from. */
export function hearingOf(situation: Situation, name: string): readonly LiveView[] {
  return servingBeside(situation, name).filter(
    ({ observation }) =>
      !hasPromised(situation.record, observation) &&
      (hearsSource(observation, name, situation.timings.unreachableMs) ||
        (isFar(situation) && isRefused(observation, name))),
  )
}

function hearsSource(seen: Observation, name: string, unreachableMs: number): boolean {
  const channel = seen.server?.channel
  if (channel === null || channel === undefined || seen.stored.assignment?.source !== name) return false
  return channel.ioRunning === 'yes' && (channel.silentMs ?? 0) + seen.silentMs < unreachableMs
}

/** Its source answered, if only to refuse. */
function isRefused({ stored, server }: Observation, name: string): boolean {
  const { ioRunning, ioErrno = 0 } = server?.channel ?? {}
  return stored.assignment?.source === name && ioRunning === 'connecting' && isAnswerOfSource(ioErrno)
}

function verdict(
  kind: VerdictKind,
  sentence: Sentence,
  witnesses: readonly string[],
  revisitMs: number | null = null,
): Verdict {
  return { kind, sentence, witnesses, revisitMs }
}
