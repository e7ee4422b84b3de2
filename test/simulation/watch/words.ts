import { isNotedUnsettled } from '#failover/judge/data/unsettled.ts'
import type { ClusterRecord } from '#failover/protocol/record.ts'
import { parseNotes } from '#store/wire.ts'
import { parseGtidSet } from '#topology/gtid/gtid-set.ts'
import { instanceOf, type MemberId } from '#topology/snapshot/member.ts'
import type { Observation, PromiseReport } from '#topology/snapshot/observation.ts'
import type { Machine } from '../machine.ts'
import type { Mysqld } from '../mysqld/mysqld.ts'
import { cluster as clusterName, type SimulatedCluster } from '../simulated-cluster.ts'
import { byHandIn, durableIn, heldBy, shown } from './held.ts'
import { OnDisk } from './on-disk.ts'
import { WrittenByHand } from './written-by-hand.ts'
import { say } from '#common/sentence/sentence.ts'

/** A report under a promise, by somebody who remembers everything. */
export interface Given {
  /** The newest at which the report was given. */
  readonly revision: number
  readonly asPrimary: boolean
  /** Its mysqld was down by then. */
  readonly isDown: boolean
}

/** What agents said, and whether that was true when they said so. */
export class Words {
  readonly #cluster: SimulatedCluster
  readonly onDisk = new OnDisk()
  readonly byHand: WrittenByHand
  readonly #promised = new Map<MemberId, { readonly promise: number; readonly revision: number }>()
  readonly #given = new Map<string, Given>()

  constructor(cluster: SimulatedCluster) {
    this.#cluster = cluster
    this.byHand = new WrittenByHand(cluster)
  }

  given(member: MemberId, epoch: number): Given | undefined {
    return this.#given.get(`${member} ${epoch}`)
  }

  /** What is wrong with what leaves an agent at this moment. */
  hear(machine: Machine, said: Observation): string | undefined {
    const wrong =
      this.#takesBack(machine, said) ??
      this.#isNotOnDisk(machine, said) ??
      this.#reportsWrongly(machine, said) ??
      this.#hidesWhatMayBeAcknowledged(machine, said) ??
      this.#hidesWhatItForgot(machine, said)
    this.#note(said)
    this.byHand.hear(machine, said)
    if (this.onDisk.of(machine)?.gtidsReset === true) this.#cluster.unseenResets.stored(machine)
    return wrong && `${said.instance} ${wrong}`
  }

  #note({ member, stored, promiseReport: report, process }: Observation): void {
    const { promise, revision } = stored
    this.#promised.set(member, { promise, revision })
    if (report === null || report.epoch !== promise || stored.seeding) return
    // A primary without a binary log can say what is in the files of before, and nobody can say more.
    if (stored.forgetful && !(report.asPrimary && stored.binlogOff === true)) return
    const key = `${member} ${promise}`
    this.#given.set(key, {
      revision,
      asPrimary: report.asPrimary,
      isDown: this.#given.get(key)?.isDown ?? process !== 'running',
    })
  }

  /** Not so a volume that went back in time: what was promised last is not there. */
  #takesBack({ goneMember }: Machine, { member, stored: { promise, revision } }: Observation): string | undefined {
    const before = this.#promised.get(member)
    if (before === undefined || member === goneMember) return undefined
    if (promise < before.promise) return `takes its promise of epoch ${before.promise} back`
    return revision < before.revision ? `acts on revision ${revision} after ${before.revision}` : undefined
  }

  /** Disk before word. */
  #isNotOnDisk(machine: Machine, { stored, promiseReport }: Observation): string | undefined {
    const disk = this.onDisk.of(machine)
    const [promise, revision] = [disk?.promise ?? 0, disk?.revision ?? 0]
    if (promise < stored.promise) return `says that it promised epoch ${stored.promise}, its disk ${promise}`
    if (revision < stored.revision) return `says that it acts on revision ${stored.revision}, its disk ${revision}`
    return promiseReport !== null && promise < promiseReport.epoch
      ? `reports under the promise of epoch ${promiseReport.epoch}, its disk promised ${promise}`
      : undefined
  }

  #reportsWrongly(machine: Machine, { promiseReport: report, stored }: Observation): string | undefined {
    if (report === null || stored.seeding) return undefined
    const { mysqld } = machine
    if (mysqld === null || mysqld.state === 'dead') return namesWrongly(machine, report)
    if (!report.asPrimary && mysqld.receiver.status !== 'no')
      return this.#receives(machine, report) ? 'receives from the primary that it promised to leave' : undefined
    return report.asPrimary && isOpenOrWaits(mysqld)
      ? `reports under the promise of epoch ${report.epoch} while its server is open or sessions wait`
      : namesWrongly(machine, report)
  }

  /** Of an epoch before the promise. Who was gathered hears the candidate. */
  #receives({ folder }: Machine, { epoch }: PromiseReport): boolean {
    const { record, machines } = this.#cluster
    const source = machines.find(({ host }) => host === folder?.source?.host)
    return record !== undefined && record.epoch < epoch && source?.name === instanceOf(record.primary)
  }

  /** A stop by a stranger acknowledged what too few hold: shown with the death, or with the silence before. */
  #hidesWhatMayBeAcknowledged(machine: Machine, said: Observation): string | undefined {
    const { record } = this.#cluster
    if (record === undefined || said.member !== record.primary || record.acks === 0) return undefined
    if (!tellsOfAnEnd(said) || this.#cluster.isElsewhere(said.member)) return undefined
    // Where a glance cannot tell, its agent finds out once it has read the whole binlog.
    if (machine.endingTold('stopped', true) === 'crashed') return undefined
    const unproven = untold(machine.mysqld)
    if (unproven.length === 0 || this.#isNoted(record)) return undefined
    const others = record.syncSet.map((one) => this.#cluster.machine(instanceOf(one)))
    const lacking = unproven.find(
      (one) => others.filter((other) => other.folder?.has(one) || this.#cluster.mayForget(other)).length < record.acks,
    )
    return lacking && `shows that its server ends, and hides that ${shown(lacking.gtid)} may be acknowledged`
  }

  #isNoted({ primary }: ClusterRecord): boolean {
    const notes = this.#cluster.cells.get(`notes.${clusterName}`)
    return notes !== undefined && isNotedUnsettled(parseNotes(notes.text, say`the simulated store`), primary)
  }

  #isBeingCopied(machine: Machine, { seeding }: Observation['stored']): boolean {
    return seeding || this.onDisk.of(machine)?.unproven === true
  }

  #hidesWhatItForgot(machine: Machine, { member, stored }: Observation): string | undefined {
    const { record } = this.#cluster
    const { folder } = machine
    // Without acknowledgements nothing rests on what one had.
    if (record === undefined || record.acks === 0 || folder === undefined) return undefined
    if (!record.syncSet.includes(member)) return undefined
    if (!machine.thrownAway.isEmpty() || stored.forgetful || this.#isBeingCopied(machine, stored)) return undefined
    const primary = this.#cluster.machine(instanceOf(record.primary)).folder
    const lost = folder.acknowledged.find((one) => !folder.has(one) && primary?.has(one) === true)
    if (lost === undefined || this.#cluster.isElsewhere(member)) return undefined
    return `counts, and has forgotten ${shown(lost.gtid)}, which it acknowledged`
  }
}

/** A primary's server ends or is silent, and nothing is said to be unsettled. */
function tellsOfAnEnd({ stored, process, silentMs }: Observation): boolean {
  return stored.assignment?.role === 'primary' && !stored.unsettled && (process !== 'running' || silentMs > 0)
}

/** Where somebody switched acknowledgements off and the server ended before its agent looked, nobody can know. */
function untold(mysqld: Mysqld | null) {
  return mysqld === null || mysqld.isLooseByHand ? [] : mysqld.unproven
}

function isOpenOrWaits({ readOnly, superReadOnly, offline, waiting, isOpenByHand }: Mysqld): boolean {
  return !isOpenByHand && !(readOnly && superReadOnly && offline && waiting === 0)
}

function namesWrongly(machine: Machine, { asPrimary, holds }: PromiseReport): string | undefined {
  const named = parseGtidSet(holds)
  const more = heldBy(machine).subtract(named)
  // A hand may write on a replica at any time, and on a primary once it was demoted.
  const unnamed = asPrimary ? more.subtract(byHandIn(machine.folder)) : more.withoutSource(machine.folder?.uuid ?? '')
  if (!unnamed.isEmpty()) return `reports less than it holds: ${shown(unnamed)}`
  const unsafe = named.subtract(durableIn(machine.folder)).subtract(machine.thrownAway)
  return unsafe.isEmpty() ? undefined : `reports what is not on its disk: ${shown(unsafe)}`
}
