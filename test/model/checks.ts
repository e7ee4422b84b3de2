import type { ClusterRecord } from '../../failover/protocol/record.ts'
import { isNotedUnsettled } from '../../failover/judge/unsettled.ts'
import { instanceOf } from '../../topology/snapshot/member.ts'
import { ableToAcknowledge, isConnected, isPast, memberOf, waitingOf, type Instance } from './instance.ts'
import { isWithin, type Writes } from './ledger.ts'
import { describeRecord } from './model-words.ts'
import type { ModelWorld } from './model-world.ts'

/** Remembers what must never go back. */
export class Checker {
  readonly #world: ModelWorld
  readonly #promised = new Map<string, { promise: number; revision: number }>()
  #seen = 1

  constructor(world: ModelWorld) {
    this.#world = world
  }

  /**
   * The first rule (docs/why/safety.md, "How it is checked") that does not hold now, as a sentence; undefined when all
   * do.
   */
  violation(): string | undefined {
    const rules = [
      acknowledgedIsHeldByPrimary,
      oldPrimaryIsRevoked,
      acknowledgedIsHeldByK,
      countedAreMembers,
      nobodyIsErrant,
    ]
    for (const rule of rules) {
      const found = rule(this.#world)
      if (found !== undefined) return `${found} (${describeRecord(this.#world.record)})`
    }
    return this.#wentBack()
  }

  #wentBack(): string | undefined {
    const { history, instances } = this.#world
    for (; this.#seen < history.length; this.#seen += 1) {
      const wrong = wrongStep(history[this.#seen - 1], history[this.#seen])
      if (wrong !== undefined) return wrong
    }
    return instances.map((instance) => this.#promiseWentBack(instance)).find((found) => found !== undefined)
  }

  #promiseWentBack(instance: Instance): string | undefined {
    const { name, disk } = instance
    const key = `${memberOf(instance)} ${instance.timesBack}`
    const before = this.#promised.get(key)
    this.#promised.set(key, { promise: disk.promise, revision: disk.revision })
    if (before === undefined || (disk.promise >= before.promise && disk.revision >= before.revision)) return undefined
    return `monotonic: ${name} went back from promise ${before.promise}, revision ${before.revision} to ${disk.promise}, ${disk.revision}`
  }
}

/** Each record follows from the one before it: one revision more, an epoch that never shrinks and has one primary. */
function wrongStep(before: ClusterRecord | undefined, after: ClusterRecord | undefined): string | undefined {
  if (!before || !after) return undefined
  if (after.revision !== before.revision + 1) return `monotonic: revision ${after.revision} after ${before.revision}`
  if (after.epoch < before.epoch) return `monotonic: epoch ${after.epoch} after ${before.epoch}`
  if (after.epoch === before.epoch && after.primary !== before.primary)
    return `monotonic: epoch ${after.epoch} has two primaries`
  if (after.syncSet.includes(after.primary)) return `S: the primary is in its own sync set`
  return after.leaving.every((member) => after.syncSet.includes(member))
    ? undefined
    : 'S: somebody leaves who is no member'
}

/**
 * While the primary’s volume is gone, or went back in time, nobody holds what the record says: the next primary must.
 */
function acknowledgedIsHeldByPrimary(world: ModelWorld): string | undefined {
  const primary = world.memberOf(world.record.primary)
  if (primary === undefined || hasGoneBack(primary, world)) return undefined
  // It was elected, somebody threw away what it had received, and it has not opened: the next primary must hold that.
  const excused = primary.server.open ? 0 : primary.lost & world.ledger.writesIn(world.record.elected ?? '')
  const missing = world.acknowledged & ~primary.held & ~excused
  return missing === 0
    ? undefined
    : `S1: acknowledged ${world.ledger.textOf(missing)} is missing from the primary of the record`
}

/** Whose volume went back and who was made primary, or member, by an election after that is not excused. */
function hasGoneBack(instance: Instance, { record }: ModelWorld): boolean {
  return isPast(instance) && instance.past?.epoch === record.epoch
}

/** It could tell a client OK: it takes writes or lets some wait, and enough replicas acknowledge to it. */
function oldPrimaryIsRevoked(world: ModelWorld): string | undefined {
  const { record, instances } = world
  const able = instances.find(
    (instance) => isOldAndOpen(instance, record) && ableToAcknowledge(instance, instances) >= instance.server.acks,
  )
  return able === undefined
    ? undefined
    : `S2: the old primary ${able.name} can still collect ${able.server.acks} acknowledgements`
}

function isOldAndOpen(instance: Instance, record: ClusterRecord): boolean {
  if (
    instance.mysqld === 'dead' ||
    instance.name === instanceOf(record.primary) ||
    instance.disk.assignment?.role !== 'primary'
  )
    return false
  return instance.disk.assignment.epoch < record.epoch && (instance.server.open || waitingOf(instance) > 0)
}

/**
 * A member that forgot, whose machine crashed, or whose volume is gone or went back in time counts as holder: its word
 * is not taken.
 */
function acknowledgedIsHeldByK(world: ModelWorld): string | undefined {
  const { record, acknowledged } = world
  if (record.syncSet.length < record.acks || isUnsettled(world)) return undefined
  const held = record.syncSet
    .map((member) => world.memberOf(member))
    .map((instance) =>
      instance === undefined || instance.disk.forgetful || instance.rebooted || instance.lost !== 0 || isPast(instance)
        ? -1
        : instance.held,
    )
  const missing = acknowledged & ~heldByAtLeast(record.acks, held)
  return missing === 0
    ? undefined
    : `S3: acknowledged ${world.ledger.textOf(missing)} is held by fewer than ${record.acks} of S`
}

/** Its agent says so, or said so before its volume was lost. */
function isUnsettled({ record, notes, primary }: ModelWorld): boolean {
  return primary?.disk.unsettled === true || isNotedUnsettled(notes, record.primary)
}

/** Writes that are in at least `count` of these sets. */
function heldByAtLeast(count: number, sets: readonly Writes[]): Writes {
  const inAtLeast = [-1, ...Array.from({ length: count }, () => 0)]
  for (const held of sets) {
    for (let number = count; number >= 1; number -= 1)
      inAtLeast[number] = (inAtLeast[number] ?? 0) | ((inAtLeast[number - 1] ?? 0) & held)
  }
  return inAtLeast[count] ?? 0
}

/** Before its semi-sync is on, a server counts nobody, whoever is still connected. */
function countedAreMembers(world: ModelWorld): string | undefined {
  const { record, instances } = world
  const primary = world.memberOf(record.primary)
  if (
    !primary ||
    primary.disk.assignment?.role !== 'primary' ||
    primary.disk.assignment.epoch !== record.epoch ||
    primary.server.acks === 0
  )
    return undefined
  const stranger = instances.find(
    (replica) =>
      isConnected(replica, primary) &&
      replica.server.channel?.semiSync === true &&
      !record.syncSet.includes(memberOf(replica)),
  )
  return stranger === undefined ? undefined : `S3: ${stranger.name} acknowledges and is not in S`
}

/**
 * A member of S holds nothing that the primary lacks; a follower may, but then its observation shows it. So does a
 * member whose volume went back in time, until the next epoch.
 */
function nobodyIsErrant(world: ModelWorld): string | undefined {
  const { record } = world
  const primary = world.memberOf(record.primary)
  if (!primary || hasGoneBack(primary, world)) return undefined
  const held = primary.held | world.ledger.writesIn(record.elected ?? '') | world.byHand
  const errant = record.syncSet.find((member) => {
    const instance = world.memberOf(member)
    return instance !== undefined && !hasGoneBack(instance, world) && !isWithin(instance.held, held)
  })
  return errant === undefined ? undefined : `S4: ${instanceOf(errant)} is in S and holds what the primary lacks`
}
