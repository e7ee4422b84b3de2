import { createHash, hash } from 'node:crypto'
import { described, RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import type { Disk } from '#common/ports/ports.ts'
import type { Assignment } from '#failover/protocol/assignment.ts'
import type { BinlogPlace, StoredSummary } from '#topology/snapshot/observation.ts'
import type { Medium } from './medium.ts'

const storedStateVersion = 1

/** What an agent keeps on its volume and acts by, whatever else is lost (safety rule 3). */
export interface StoredState {
  readonly version: number
  /** Random id of this volume, made once. */
  readonly volume: string
  /** New at each agent start and with each newer promise: a volume that went back in time shows an old one. */
  readonly incarnation: string
  /**
   * The incarnations before that, newest first. Several, because agents may start again while no manager is there to
   * note the last one.
   */
  readonly earlierIncarnations: readonly string[]
  /**
   * The incarnations of the last start that a manager has noted, as far as this agent was told, newest first: however
   * many starts follow that no manager notes, they lead back to these.
   */
  readonly notedIncarnations: readonly string[]
  /** The highest epoch promised. Only grows. */
  readonly promise: number
  /** The newest revision of the record acted on. Only grows. */
  readonly revision: number
  readonly assignment: Assignment | null
  readonly bootId: string
  /** What its page cache rested on besides; null before any agent looked. */
  readonly medium: Medium | null
  /** The receiver was stopped and relay logs were fsynced since they last grew. */
  readonly stoppedInOrder: boolean
  readonly unsettled: boolean
  /** Why, where that was an order. */
  readonly unsettledBy?: 'switchover' | undefined
  readonly forgetful: boolean
  readonly seeding: boolean
  /** Its data folder is a copy that is not proven to hold what the one before held, which lies beside it. */
  readonly unproven: boolean
  readonly filterSeen: boolean
  /** The volume went back in time and was told so; the volume has not been seeded since. */
  readonly fromThePast: boolean
  /** Its GTIDs were reset while its server ran; it has not been seeded since. */
  readonly gtidsReset: boolean
  /** So that is, because its server ran without a binary log. */
  readonly binlogOff: boolean
  /** So that is, because another hand gave its server GTIDs that it never executed. */
  readonly gtidsGiven: boolean
  /** As a replica: up to where its binlogs were looked at for transactions begun by other names. Null before that. */
  readonly binlogJudged: JudgedBinlog | null
  /** The server was open for writes while it was no primary; it has not been seeded since. */
  readonly opened: boolean
  /**
   * The open server was in a group that another hand formed: what it wrote there may have the names of what its group
   * wrote.
   */
  readonly forked: boolean
  /** The epoch of the order by which its data became a copy of another instance, or of a backup; 0 for none. */
  readonly copiedEpoch: number
  /** The server was primary since its tail was last judged: there may be a tail that nobody acknowledged. */
  readonly mayHaveTail: boolean
  /** The last epoch in which it formed its replication group, alone; 0 for none. In one epoch nobody forms it twice. */
  readonly formedEpoch: number
  /**
   * Until when a primary of mode `async` may tell clients OK, by the monotonic clock of this boot. Absent for one that
   * nobody confirmed, and in other modes.
   */
  readonly leaseUntilMs?: number | undefined
  /** The backup that its data came out of, with its cluster. Absent where they began otherwise. */
  readonly restored?: string | undefined
  /** Stores of backups in which its cluster has a folder, by hashes of their places; newest first. Absent for none. */
  readonly usedStores?: readonly string[] | undefined
  /**
   * The last rehearsal that proved nothing, and why; '' while the rehearsal is under way. Absent for none: what was
   * proven lies in the store.
   */
  readonly rehearsal?: { readonly name: string; readonly failure: string } | undefined
}

/** A place in the binlogs of the server with this uuid. */
export interface JudgedBinlog extends BinlogPlace {
  readonly uuid: string
}

/**
 * So many earlier incarnations are kept, those that were noted among them: else a manager that comes back after more
 * starts than that would take the volume for one that went back in time.
 */
const incarnationsKept = 32
/** So many incarnations of one start: each promise makes another. */
const notedKept = 8

/** Room for each of the two copies. Preallocated, so that a full disk cannot stop a promise. */
const slotBytes = 65_536
const magic = 'RGNT'
const headerBytes = 4 + 4 + 8 + 4 + 32

/** The agent's file: two preallocated slots, each with a sequence number and a checksum; the newer sound one counts. */
export class StoredStateFile {
  readonly #disk: Disk
  readonly #path: string
  #current: StoredState
  #sequence: bigint
  #writing: Promise<unknown> = Promise.resolve()

  private constructor(disk: Disk, path: string, current: StoredState, sequence: bigint) {
    this.#disk = disk
    this.#path = path
    this.#current = current
    this.#sequence = sequence
  }

  /**
   * Opens the file, or makes it with `fresh`. Throws `REGENT_STORED_STATE_CORRUPT` when both copies are damaged and
   * `REGENT_NEWER_VERSION`.
   */
  static async open(disk: Disk, path: string, fresh: () => StoredState): Promise<StoredStateFile> {
    const bytes = await disk.read(path)
    if (bytes === undefined || isBlank(bytes)) {
      if (bytes === undefined) await disk.allocate(path, slotBytes * 2)
      const file = new StoredStateFile(disk, path, fresh(), 0n)
      await file.update({})
      return file
    }
    const slots = [readSlot(bytes, 0), readSlot(bytes, 1)].filter((slot) => slot !== undefined)
    const newest = slots.toSorted((a, b) => Number(b.sequence - a.sequence))[0]
    if (newest === undefined)
      throw new RegentError(
        'REGENT_STORED_STATE_CORRUPT',
        say`${path}: both copies fail their checksum, so what this instance promised is unknown`,
      )
    if (newest.state.version > storedStateVersion) {
      throw new RegentError(
        'REGENT_NEWER_VERSION',
        say`${path} has version ${newest.state.version}, this agent understands up to ${storedStateVersion}`,
      )
    }
    return new StoredStateFile(disk, path, newest.state, newest.sequence)
  }

  get current(): StoredState {
    return this.#current
  }

  /**
   * Writes the changed state and resolves once it is on disk. Promise and revision never go back: a smaller one throws
   * `REGENT_STALE_ORDER`. Orders, markers and seedings call this at any time, so writes follow each other: of two that
   * began from the same state the later would take back the other's promise.
   */
  update(change: Partial<StoredState>): Promise<StoredState> {
    const written = this.#writing.then(() => this.#write(change))
    this.#writing = written.catch(() => undefined)
    return written
  }

  async #write(change: Partial<StoredState>): Promise<StoredState> {
    const wanted = { ...this.#current, ...change, version: storedStateVersion }
    const next = wanted.promise > this.#current.promise ? { ...wanted, ...incarnationAfterPromise(wanted) } : wanted
    if (next.promise < this.#current.promise || next.revision < this.#current.revision) {
      throw new RegentError(
        'REGENT_STALE_ORDER',
        say`promise ${next.promise}, revision ${next.revision} are older than the stored ${this.#current.promise}, ${this.#current.revision}`,
      )
    }
    const sequence = this.#sequence + 1n
    const slot = encodeSlot(next, sequence)
    try {
      await this.#disk.writeAt(this.#path, Number(sequence % 2n) * slotBytes, slot)
    } catch (error) {
      throw new RegentError('REGENT_INTERNAL', say`cannot write ${this.#path}: ${described(error)}`, { cause: error })
    }
    this.#sequence = sequence
    this.#current = next
    return next
  }
}

/** What a new run of the agent writes before it does anything. */
export function newIncarnation(
  before: Incarnations,
  incarnation: string,
): Pick<StoredState, 'incarnation' | 'earlierIncarnations'> {
  const earlier =
    before.incarnation === '' ? before.earlierIncarnations : [before.incarnation, ...before.earlierIncarnations]
  const pinned = before.notedIncarnations.filter((noted) => earlier.indexOf(noted) >= incarnationsKept - notedKept)
  return {
    incarnation,
    earlierIncarnations: [
      ...earlier.filter((each) => !pinned.includes(each)).slice(0, incarnationsKept - pinned.length),
      ...pinned,
    ],
  }
}

type Incarnations = Pick<StoredState, 'incarnation' | 'earlierIncarnations' | 'notedIncarnations'>

/**
 * What is written when a manager shows that it has noted this start: it orders nothing before
 * (`failover/judge/data/incarnations.ts`). Which of the start's incarnations it noted is not said, so all of them are
 * pinned.
 * @param first that of the start itself, before any promise
 */
export function notedNow(
  { incarnation, earlierIncarnations }: Incarnations,
  first: string,
): Pick<StoredState, 'notedIncarnations'> {
  const sinceStart = [incarnation, ...earlierIncarnations]
  return { notedIncarnations: sinceStart.slice(0, sinceStart.indexOf(first) + 1).slice(0, notedKept) }
}

/**
 * A copy that was made of the volume before the promise, while the agent ran, is told by it too. No two starts have the
 * same incarnation, so neither have their promises.
 */
function incarnationAfterPromise(state: StoredState): Incarnations {
  return promisedIncarnation(
    state,
    createHash('sha256').update(`${state.incarnation} ${state.promise}`).digest('hex').slice(0, 16),
  )
}

/** The next incarnation of a start that goes on: noted soon, where the start is. */
function promisedIncarnation(before: Incarnations, incarnation: string): Incarnations {
  const noted = before.notedIncarnations
  return {
    ...newIncarnation(before, incarnation),
    notedIncarnations: noted.includes(before.incarnation) ? [incarnation, ...noted].slice(0, notedKept) : noted,
  }
}

/** The agent has promised something newer than what it is assigned to be. */
export function isPromised({ assignment, promise }: Pick<StoredState, 'assignment' | 'promise'>): boolean {
  return promise > (assignment?.epoch ?? 0)
}

/** The instance was made primary, and has promised nothing newer since. */
export function leads({ assignment, promise }: Pick<StoredState, 'assignment' | 'promise'>): boolean {
  return assignment?.role === 'primary' && assignment.epoch === promise
}

/** The part of it that is reported. */
export function summaryOf(stored: StoredState): StoredSummary {
  const { assignment } = stored
  return {
    promise: stored.promise,
    revision: stored.revision,
    assignment: assignment && summaryOfAssignment(assignment),
    countedUuids: (assignment?.role === 'primary' && assignment.countedUuids) || {},
    ...unsettledOf(stored),
    // What it acknowledged it holds, perhaps, and cannot name.
    forgetful: stored.forgetful || stored.gtidsReset,
    seeding: stored.seeding,
    filterSeen: stored.filterSeen,
    fromThePast: stored.fromThePast || stored.gtidsReset,
    ...namelessOf(stored),
    ...openedOf(stored),
    copiedEpoch: stored.copiedEpoch,
    incarnation: stored.incarnation,
    earlierIncarnations: stored.earlierIncarnations,
    toldNoted: stored.notedIncarnations.includes(stored.incarnation),
    ...(stored.formedEpoch > 0 ? { formedEpoch: stored.formedEpoch } : {}),
    ...(stored.restored === undefined ? {} : { restored: stored.restored }),
  }
}

function openedOf({ opened, forked }: StoredState): Pick<StoredSummary, 'opened' | 'forked'> {
  return { ...(opened ? { opened } : {}), ...(forked ? { forked } : {}) }
}

function namelessOf({ gtidsReset, binlogOff, gtidsGiven }: StoredState): Nameless {
  if (!gtidsReset) return {}
  if (binlogOff) return { gtidsReset, binlogOff }
  return gtidsGiven ? { gtidsReset, gtidsGiven } : { gtidsReset }
}

type Nameless = Pick<StoredSummary, 'gtidsReset' | 'binlogOff' | 'gtidsGiven'>

function unsettledOf({ unsettled, unsettledBy }: StoredState): Pick<StoredSummary, 'unsettled' | 'unsettledBy'> {
  return { unsettled, ...(unsettled && unsettledBy !== undefined ? { unsettledBy } : {}) }
}

function summaryOfAssignment(assignment: Assignment): NonNullable<StoredSummary['assignment']> {
  const { epoch, revision, role, fenced, peers } = assignment
  const addresses = Object.fromEntries(peers.map(({ instance, agent }) => [instance, agent]))
  const { group } = assignment
  const isFork = group?.fork === true ? { groupFork: true as const } : {}
  const task = group === undefined ? {} : { groupDoes: group.does, groupConsistency: group.consistency, ...isFork }
  const common = { epoch, revision, role, fenced, addresses, ...task }
  if (assignment.role === 'replica')
    return {
      ...common,
      counted: assignment.counted,
      source: assignment.source.instance,
      sourceReady: assignment.sourceReady !== false,
      ...(assignment.passedOver === true ? { passedOver: true as const } : {}),
    }
  const donates = assignment.donates === true ? { donates: true as const } : {}
  return { ...common, counted: false, source: null, sourceReady: true, ...donates }
}

/**
 * Preallocated and never written whole: the agent died before or in its first write, which goes to the second slot, so
 * nothing was promised.
 */
function isBlank(bytes: Uint8Array): boolean {
  return bytes.subarray(0, slotBytes).every((byte) => byte === 0) && readSlot(bytes, 1) === undefined
}

function encodeSlot(state: StoredState, sequence: bigint): Uint8Array {
  const payload = Buffer.from(JSON.stringify(state))
  if (payload.length > slotBytes - headerBytes)
    throw new RegentError(
      'REGENT_INTERNAL',
      say`the stored state needs ${payload.length} bytes, at most ${slotBytes - headerBytes} fit`,
    )
  const slot = Buffer.alloc(headerBytes + payload.length)
  slot.write(magic, 0, 'latin1')
  slot.writeUInt32LE(storedStateVersion, 4)
  slot.writeBigUInt64LE(sequence, 8)
  slot.writeUInt32LE(payload.length, 16)
  checksum(sequence, payload).copy(slot, 20)
  payload.copy(slot, headerBytes)
  return slot
}

function readSlot(bytes: Uint8Array, index: number): { state: StoredState; sequence: bigint } | undefined {
  const part = bytes.subarray(index * slotBytes, (index + 1) * slotBytes)
  const slot = Buffer.from(part.buffer, part.byteOffset, part.length)
  if (slot.length < headerBytes || slot.toString('latin1', 0, 4) !== magic) return undefined
  const sequence = slot.readBigUInt64LE(8)
  const payload = slot.subarray(headerBytes, headerBytes + slot.readUInt32LE(16))
  if (!checksum(sequence, payload).equals(slot.subarray(20, headerBytes))) return undefined
  return { state: { ...addedLater, ...(JSON.parse(payload.toString()) as StoredState) }, sequence }
}

/** What a file of an earlier agent does not say. */
const addedLater = {
  earlierIncarnations: [],
  notedIncarnations: [],
  fromThePast: false,
  gtidsReset: false,
  binlogOff: false,
  gtidsGiven: false,
  opened: false,
  forked: false,
  medium: null,
  unproven: false,
  binlogJudged: null,
  copiedEpoch: 0,
  formedEpoch: 0,
} as const

function checksum(sequence: bigint, payload: Uint8Array): Buffer {
  return hash('sha256', Buffer.concat([Buffer.from(String(sequence)), payload]), 'buffer')
}

/** What made data doubtful: a proven copy of another instance in their place ends all of that. */
export const dataInNoDoubt = {
  filterSeen: false,
  fromThePast: false,
  gtidsReset: false,
  binlogOff: false,
  gtidsGiven: false,
  opened: false,
  forked: false,
} as const

/** A replica's data may be others than its GTIDs say. What a primary has is what the cluster goes by. */
export function hasDataInDoubt(stored: StoredState): boolean {
  const doubts = Object.keys(dataInNoDoubt) as readonly (keyof typeof dataInNoDoubt)[]
  return stored.assignment?.role === 'replica' && doubts.some((doubt) => stored[doubt])
}

/** What a volume that was never used holds. */
export function freshState(volume: string, bootId: string): StoredState {
  return {
    version: storedStateVersion,
    volume,
    incarnation: '',
    earlierIncarnations: [],
    notedIncarnations: [],
    promise: 0,
    revision: 0,
    assignment: null,
    bootId,
    medium: null,
    stoppedInOrder: true,
    unsettled: false,
    forgetful: false,
    seeding: false,
    unproven: false,
    ...dataInNoDoubt,
    binlogJudged: null,
    copiedEpoch: 0,
    mayHaveTail: false,
    formedEpoch: 0,
  }
}
