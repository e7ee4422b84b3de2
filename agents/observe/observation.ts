import { lifeOf } from '../instance/life.ts'
import { holdsOf } from '#topology/snapshot/holdings.ts'
import { memberId } from '#topology/snapshot/member.ts'
import {
  observationVersion,
  type Observation,
  type ProcessState,
  type StoredSummary,
} from '#topology/snapshot/observation.ts'
import { backupTaskText, heartbeatMsOf } from '#failover/protocol/backup-task.ts'
import { unclassifiedIn } from '#failover/settings/check.ts'
import { isEndingUnseen, shownSilenceMs } from '../doubts/ending.ts'
import { comparedNow } from '../doubts/compared.ts'
import { forgetfulAs } from '../doubts/forgetful.ts'
import type { Lease } from '../guard/lease.ts'
import type { Jobs } from '../instance/known.ts'
import type { Parts } from '../instance/parts.ts'
import { silentMembers } from '../instance/silent-members.ts'
import { summaryOf } from '../instance/stored-state.ts'
import { isUsed, backupPlaceOf } from '../instance/used-stores.ts'

/** Builds what is sent to the manager from what the agent knows now. Reads nothing. */
export class ObservationBuilder {
  readonly #parts: Parts
  readonly #lease: Lease
  readonly #version: string
  readonly #opensStores: boolean
  readonly #unclassified: readonly string[]
  #sequence = 0

  /** @param opensStores whether the agent can be told of a store of backups */
  constructor(parts: Parts, lease: Lease, version: string, opensStores = false) {
    this.#parts = parts
    this.#lease = lease
    this.#version = version
    this.#opensStores = opensStores
    this.#unclassified = unclassifiedIn(parts.config.serverSettings)
  }

  build(): Observation {
    const {
      run,
      config,
      file,
      process,
      observer,
      course,
      copying,
      doubts,
      told,
      pod,
      contact,
      notices,
      jobs,
      clientCertificate,
      world,
    } = this.#parts
    const nowMs = world.clock.monotonicMs()
    this.#sequence += 1
    return {
      version: observationVersion,
      cluster: config.cluster,
      instance: config.instance,
      member: memberId(config.instance, file.current.volume),
      agentRun: run,
      sequence: this.#sequence,
      regentVersion: this.#version,
      bindsToRun: true,
      takesWord: true,
      ...reachOf(config),
      process: this.#shownProcess(),
      processNote: process.note,
      mysqldPid: isSqlOnly(config) ? null : process.pid,
      processSinceMs: nowMs - process.changedAtMs,
      ...this.#shownServer(),
      silentMs: shownSilenceMs(this.#parts),
      ...this.#shownProbe(),
      freeBytes: observer.freeBytes,
      stored: this.#stored(),
      promiseReport: course.promiseReport,
      converged: course.converged,
      markedRevision: lifeOf(this.#parts).markedRevision,
      binlogSet: course.binlogSet,
      lease: this.#lease.question,
      seedingProgress: progressOf(copying, nowMs),
      ...(copying.failures.size === 0
        ? {}
        : {
            seedingFailures: [...copying.failures].map(([donor, { times, error, isRefused, atMs }]) => ({
              donor,
              times,
              error,
              ...(isRefused === true ? { isRefused } : {}),
              agoMs: nowMs - atMs,
            })),
          }),
      lacksElected: doubts.lacksElected,
      ...openingFor(this.#parts, nowMs),
      ...(file.current.forgetful && told.catchUpTo === null ? { forgetfulAs: forgetfulAs(this.#parts) } : {}),
      heardForgetful: observer.isFresh ? told.heardForgetful : {},
      compared: comparedNow(this.#parts),
      ...errantKnown(this.#parts),
      ...joiningOf(this.#parts),
      ...(pod.termination === null ? {} : { terminating: true }),
      ...(clientCertificate === null || clientCertificate.trouble === ''
        ? {}
        : { certificateTrouble: clientCertificate.trouble }),
      ...lacksOf(this.#parts),
      ...copiesOf(jobs, nowMs),
      ...backupFailuresOf(this.#parts),
      ...heartbeatOf(this.#parts),
      ...binlogArchiveOf(this.#parts, nowMs),
      ...this.#backups(nowMs),
      ...this.#settings(),
      peers: [...contact.peersHeard].map(([instance, atMs]) => ({ instance, heardMsAgo: nowMs - atMs })),
      ...silentFor(this.#parts),
      ...asksOf(this.#parts),
      notices: notices.list,
    }
  }

  /** A store that this instance looked at as primary is shown no more once another instance looks. */
  #backups(
    nowMs: number,
  ): Pick<Observation, 'backupTask' | 'knowsStore' | 'backups' | 'closesHoles' | 'readsStore' | 'seedsFromBackup'> {
    const { told, jobs, file, config } = this.#parts
    if (!this.#opensStores) return {}
    const shown = {
      backupTask: backupTaskText(told.backups),
      readsStore: true as const,
      ...(told.backups === null ? {} : { knowsStore: isUsed(this.#parts, backupPlaceOf(config, told.backups)) }),
    }
    if (jobs.backups === null || file.current.assignment?.role !== 'primary')
      return { ...shown, closesHoles: true, seedsFromBackup: true }
    const { lookedAtMs, ...seen } = jobs.backups
    return { ...shown, backups: { ...seen, lookedAgoMs: lookedAtMs === null ? null : nowMs - lookedAtMs } }
  }

  #settings(): Pick<
    Observation,
    'settingsRefused' | 'settingsRolledBack' | 'startFailed' | 'startsFailed' | 'unclassifiedSettings'
  > {
    const { settingsRefused, settingsRolledBack, startFailed, startsFailed } = this.#parts.process
    return {
      ...(settingsRefused ? { settingsRefused } : {}),
      ...(settingsRolledBack ? { settingsRolledBack } : {}),
      ...(startFailed ? { startFailed } : {}),
      ...(startsFailed ? { startsFailed } : {}),
      ...(this.#unclassified.length === 0 ? {} : { unclassifiedSettings: this.#unclassified }),
    }
  }

  #shownServer(): Pick<Observation, 'server' | 'lookAgeMs'> {
    const { file, observer } = this.#parts
    const { server, lookAgeMs } = observer
    return server === null || file.current.unproven ? { server: null } : { server, lookAgeMs }
  }

  /** What keeps the agent from its work is shown as well where a client's write goes through. */
  #shownProbe(): Pick<Observation, 'probe' | 'probeDetail'> {
    const {
      guards: { closed, lockedBy },
      observer: { probe },
    } = this.#parts
    if (closed.space !== null) return { probe: 'lowSpace', probeDetail: closed.space }
    const free = probe.result === 'ok' || probe.result === 'unknown' || probe.result === 'locked'
    return lockedBy !== null && free
      ? { probe: 'locked', probeDetail: lockedBy }
      : { probe: probe.result, probeDetail: probe.detail }
  }

  #shownProcess(): ProcessState {
    const { process } = this.#parts
    const ends = process.state === 'exiting' || process.state === 'dead'
    if (ends && lifeOf(this.#parts).isRestarted) return 'starting'
    return isEndingUnseen(this.#parts) ? 'running' : process.state
  }

  /**
   * What its source holds is not kept on disk. A replica that cannot go on without it, because its own tail is in
   * doubt, says that it acts on no revision, and is told again. So does one that may not acknowledge before a manager
   * has seen who it is.
   */
  #stored(): StoredSummary {
    const { file, doubts } = this.#parts
    const stopping = lifeOf(this.#parts).isStoppedByOthers && file.current.assignment?.role === 'primary'
    const summary = {
      ...summaryOf(file.current),
      ...(stopping ? { unsettled: true } : {}),
      ...(doubts.unkept > 0 ? { unsettled: true } : {}),
      ...(doubts.gtidsReset ? { forgetful: true, fromThePast: true, gtidsReset: true as const } : {}),
    }
    const { assignment } = summary
    return assignment?.role === 'replica' && this.#waitsToBeTold(assignment)
      ? { ...summary, assignment: { ...assignment, revision: 0 } }
      : summary
  }

  #waitsToBeTold({ counted }: { readonly counted?: boolean }): boolean {
    const { file, told, process } = this.#parts
    const tailInDoubt = file.current.mayHaveTail && process.state !== 'running'
    const unseen = counted === true && !told.trustsAssignment
    return unseen || (told.sourceHolds === null && tailInDoubt)
  }
}

export function reachOf(config: Pick<Parts['config'], 'far'>): Pick<Observation, 'reachedBy' | 'startsAgain'> {
  if (config.far === undefined) return {}
  const startsAgain = !isSqlOnly(config) && config.far.start !== undefined
  return { reachedBy: isSqlOnly(config) ? 'sql' : 'ssh', ...(startsAgain ? {} : { startsAgain }) }
}

/** Nobody sees the process there. */
function isSqlOnly({ far }: Pick<Parts['config'], 'far'>): boolean {
  return far !== undefined && far.ssh === undefined
}

function errantKnown({ told }: Pick<Parts, 'told'>): Pick<Observation, 'errantTold' | 'errantJudged'> {
  const { errant, errantJudged } = told
  return errantJudged === null ? { errantTold: errant } : { errantTold: errant, errantJudged }
}

function silentFor(parts: Pick<Parts, 'expulsion' | 'file' | 'timings'>): Pick<Observation, 'silentMembers'> {
  const silent = silentMembers(parts)
  return silent.length === 0 ? {} : { silentMembers: silent }
}

/** The opening in this epoch: what was left of an earlier epoch says nothing. */
function openingFor(
  { file, course: { openingSince } }: Pick<Parts, 'course' | 'file'>,
  nowMs: number,
): Pick<Observation, 'openingMs'> {
  const { assignment } = file.current
  return openingSince === null || assignment?.role !== 'primary' || assignment.epoch !== openingSince.epoch
    ? {}
    : { openingMs: nowMs - openingSince.atMs }
}

/**
 * Everything this instance holds, as far as it was seen, as text, by the rule that the manager has; null before its
 * server answered.
 */
export function holdsText({ observer, course, file }: Pick<Parts, 'course' | 'file' | 'observer'>): string | null {
  const seen = {
    promiseReport: course.promiseReport,
    server: file.current.unproven ? null : observer.server,
    binlogSet: course.binlogSet,
  }
  return Object.values(seen).every((one) => one === null) ? null : holdsOf(seen).toString()
}

function progressOf({ progress }: Parts['copying'], nowMs: number): Observation['seedingProgress'] {
  if (progress === null) return null
  const { movedAtMs, ...shown } = progress
  return { ...shown, ...(movedAtMs === null ? {} : { stillMs: Math.round(nowMs - movedAtMs) }) }
}

/**
 * What a start made of its server is shown by a look that began after the start. A start that an agent before began, or
 * that nobody answered, may go on in the server.
 */
function joiningOf({ jobs, observer }: Pick<Parts, 'jobs' | 'observer'>): Pick<Observation, 'joinsGroup'> {
  const isUnseen = observer.server?.group !== undefined && !observer.isFresh
  return jobs.startingGroup !== null || jobs.mayBeStartingGroup || isUnseen ? { joinsGroup: true } : {}
}

function lacksOf({ guards: { lacks } }: Pick<Parts, 'guards'>): Pick<Observation, 'lacks'> {
  return lacks.length === 0 ? {} : { lacks }
}

function asksOf({ asks: { shown } }: Pick<Parts, 'asks'>): Pick<Observation, 'asks'> {
  return shown.length === 0 ? {} : { asks: shown }
}

/** Nothing is shown of what was shipped as primary once another instance ships. */
function binlogArchiveOf(
  { jobs, file }: Pick<Parts, 'file' | 'jobs'>,
  nowMs: number,
): Pick<Observation, 'binlogArchive'> {
  const { binlogArchive } = jobs
  if (binlogArchive === null || file.current.assignment?.role !== 'primary') return {}
  const { atMs, hole, lacks, trouble } = binlogArchive
  const behindMs = atMs === null ? null : Math.round(nowMs - atMs)
  return { binlogArchive: { behindMs, ...(lacks === '' ? {} : { lacks }), hole, trouble } }
}

/** What was begun here of backups since the agent started. */
function copiesOf(
  { backup, rehearsal, closesHole }: Jobs,
  nowMs: number,
): Pick<Observation, 'backup' | 'closesHole' | 'rehearsal'> {
  const { atMs, ...closing } = closesHole ?? { atMs: 0 }
  return {
    ...(backup === null ? {} : { backup }),
    ...(rehearsal === null ? {} : { rehearsal }),
    ...('stage' in closing ? { closesHole: { ...closing, agoMs: Math.round(nowMs - atMs) } } : {}),
  }
}

/** Nothing is shown of what was written as primary once another instance writes. */
function heartbeatOf({
  jobs: { heartbeatAtMs },
  file,
  told,
}: Pick<Parts, 'file' | 'jobs' | 'told'>): Pick<Observation, 'heartbeat'> {
  const everyMs = heartbeatMsOf(told.backups)
  const shows = everyMs > 0 && file.current.assignment?.role === 'primary'
  return shows && heartbeatAtMs !== null ? { heartbeat: { atMs: heartbeatAtMs, everyMs } } : {}
}

/** Nothing where there is nothing that could fail: a counter that is there says that backups are wanted. */
function backupFailuresOf({
  jobs: { backupFailures },
  told,
}: Pick<Parts, 'jobs' | 'told'>): Pick<Observation, 'backupFailures'> {
  const hasFailed = Object.values(backupFailures).some((times) => times > 0)
  return told.backups !== null || hasFailed ? { backupFailures } : {}
}
