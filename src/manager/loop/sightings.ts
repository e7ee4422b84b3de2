import type { PlatformInstance } from '#common/ports/platform.ts'
import { deafnessAfter, type Deafness } from '#failover/judge/primary/deaf.ts'
import { isLeaseBlocked } from '#failover/judge/primary/lease-out.ts'
import { isFollowing, type DecisionInput, type Situation } from '#failover/judge/situation.ts'
import type { ClusterRecord } from '#failover/protocol/record.ts'
import type { Timings } from '#failover/protocol/timings.ts'
import type { BinlogArchiveSeen } from '#topology/snapshot/binlog-archive.ts'
import type { BackupsSeen } from '#topology/snapshot/copies.ts'
import type { Observation } from '#topology/snapshot/observation.ts'
import type { Snapshot } from '#topology/snapshot/snapshot.ts'
import { HoleWatch } from './hole-watch.ts'

interface Sighting {
  readonly instance: PlatformInstance
  readonly observation: Observation | null
  /** When the observation came, and when anything was heard last. */
  readonly observedAtMs: number
  readonly heardAtMs: number | null
  /** Why its agent knows nothing of its server, as that said last; '' for nothing. */
  readonly trouble: string
}

/**
 * What this manager has heard of each instance, since when replicas stray or are not heard by their primary, and which
 * were passed over.
 */
export class Sightings {
  readonly #timings: Timings
  #byName = new Map<string, Sighting>()
  readonly #straying = new Map<string, number>()
  readonly #holes = new HoleWatch()
  /** In which the primary led that the next two are about; null before the first look. */
  #epoch: number | null = null
  #deafness: Deafness | null = null
  #leaseBlockedSinceMs: number | null = null

  constructor(timings: Timings) {
    this.#timings = timings
  }

  /** What no single look at the cluster shows. What was seen of a primary says nothing of the next one. */
  remembered(
    record: ClusterRecord | undefined,
  ): Pick<DecisionInput, 'strayingSince' | 'passedOver' | 'deafSinceMs' | 'leaseBlockedSinceMs'> {
    const isOfPrimary = record?.epoch === this.#epoch
    return {
      strayingSince: this.#straying,
      passedOver: this.#holes.passedOver,
      deafSinceMs: isOfPrimary ? (this.#deafness?.sinceMs ?? null) : null,
      leaseBlockedSinceMs: isOfPrimary ? this.#leaseBlockedSinceMs : null,
    }
  }

  /** Takes over which instances exist; what was heard of those that stay is kept. */
  setInstances(instances: readonly PlatformInstance[]): void {
    const before = this.#byName
    this.#byName = new Map(
      instances.map((instance) => {
        const known = before.get(instance.name)
        return [
          instance.name,
          {
            instance,
            observation: known?.observation ?? null,
            observedAtMs: known?.observedAtMs ?? 0,
            heardAtMs: known?.heardAtMs ?? null,
            trouble: known?.trouble ?? '',
          },
        ]
      }),
    )
  }

  addressOf(name: string): string | undefined {
    return this.#byName.get(name)?.instance.agent
  }

  observationOf(name: string): Observation | null {
    return this.#byName.get(name)?.observation ?? null
  }

  /** Replicas that wait to be told what to catch up with, and as what. */
  get forgetful(): Readonly<Record<string, string>> {
    return Object.fromEntries(
      [...this.#byName].flatMap(([name, { observation }]) =>
        observation?.forgetfulAs === undefined ? [] : [[name, observation.forgetfulAs]],
      ),
    )
  }

  /** The newest of everybody. */
  get observations(): readonly Observation[] {
    return [...this.#byName.values()].flatMap(({ observation }) => observation ?? [])
  }

  /** Takes an observation; false for one older than what is known, or of an instance that is none of ours. */
  hear(observation: Observation, nowMs: number): boolean {
    const known = this.#byName.get(observation.instance)
    if (known === undefined) return false
    const last = known.observation
    if (last?.agentRun === observation.agentRun && last.sequence >= observation.sequence) return false
    // The last words of an agent that has been followed by another: what it promised and saw is out of date.
    if (
      last &&
      last.agentRun !== observation.agentRun &&
      last.stored.earlierIncarnations?.includes(observation.stored.incarnation) &&
      last.member === observation.member
    )
      return false
    this.#byName.set(observation.instance, {
      ...known,
      observation,
      observedAtMs: nowMs,
      heardAtMs: nowMs,
      trouble: '',
    })
    return true
  }

  /** A heartbeat. True when the instance had been given up for unreachable. */
  touch(name: string, nowMs: number): boolean {
    const known = this.#byName.get(name)
    if (known === undefined) return false
    const wasSilent = known.heardAtMs === null || nowMs - known.heardAtMs >= this.#timings.unreachableMs
    this.#byName.set(name, { ...known, heardAtMs: nowMs, trouble: '' })
    return wasSilent
  }

  setTrouble(name: string, trouble: string): void {
    const known = this.#byName.get(name)
    if (known) this.#byName.set(name, { ...known, trouble })
  }

  /** The snapshot at `nowMs`: durations up to now are moved on by how long ago they were reported. */
  snapshot(nowMs: number): Snapshot {
    const views = [...this.#byName.values()].map(({ instance, observation, observedAtMs, heardAtMs, trouble }) => ({
      ...instance,
      ...(trouble !== '' && { trouble }),
      observation: observation && aged(observation, nowMs - observedAtMs),
      heardAtMs,
      reachable: heardAtMs !== null && nowMs - heardAtMs < this.#timings.unreachableMs,
    }))
    return { instances: views }
  }

  /** Milliseconds until the next instance would become unreachable; null when none can. */
  nextSilenceMs(nowMs: number): number | null {
    const waits = [...this.#byName.values()].flatMap(({ heardAtMs }) =>
      heardAtMs === null ? [] : [heardAtMs + this.#timings.unreachableMs - nowMs],
    )
    const due = waits.filter((wait) => wait > 0)
    return due.length === 0 ? null : Math.min(...due) + 1
  }

  /** Notes since when each counted replica does not follow as the record wants, and who was passed over. */
  track(situation: Situation): void {
    const { record, snapshot, nowMs } = situation
    this.#holes.track(record, snapshot, nowMs)
    if (record.epoch !== this.#epoch)
      [this.#epoch, this.#deafness, this.#leaseBlockedSinceMs] = [record.epoch, null, null]
    this.#deafness = deafnessAfter(this.#deafness, situation)
    this.#leaseBlockedSinceMs = isLeaseBlocked(situation) ? (this.#leaseBlockedSinceMs ?? nowMs) : null
    for (const view of snapshot.instances) {
      if (view.observation?.member === record.primary || isFollowing(view, situation)) this.#straying.delete(view.name)
      else if (!this.#straying.has(view.name)) this.#straying.set(view.name, nowMs)
    }
  }
}

function aged(observation: Observation, ageMs: number): Observation {
  return {
    ...observation,
    processSinceMs: observation.processSinceMs + ageMs,
    silentMs: observation.silentMs > 0 ? observation.silentMs + ageMs : 0,
    ...(observation.openingMs !== undefined && { openingMs: observation.openingMs + ageMs }),
    ...(observation.backups && { backups: agedBackups(observation.backups, ageMs) }),
    ...(observation.binlogArchive && { binlogArchive: agedArchive(observation.binlogArchive, ageMs) }),
    ...(observation.closesHole && {
      closesHole: { ...observation.closesHole, agoMs: observation.closesHole.agoMs + ageMs },
    }),
    ...(observation.seedingFailures && {
      seedingFailures: observation.seedingFailures.map((failure) => ({ ...failure, agoMs: failure.agoMs + ageMs })),
    }),
  }
}

function agedArchive(seen: BinlogArchiveSeen, ageMs: number): BinlogArchiveSeen {
  return { ...seen, behindMs: seen.behindMs === null ? null : seen.behindMs + ageMs }
}

function agedBackups(seen: BackupsSeen, ageMs: number): BackupsSeen {
  return { ...seen, lookedAgoMs: seen.lookedAgoMs === null ? null : seen.lookedAgoMs + ageMs }
}
