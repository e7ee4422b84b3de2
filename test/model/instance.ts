import type { StoredState } from '../../agents/instance/stored-state.ts'
import type { InstanceName, MemberId } from '../../topology/snapshot/member.ts'
import type { ReseedOrder } from '../../failover/protocol/order.ts'
import type { PromiseReport } from '../../topology/snapshot/observation.ts'
import { memberId, ordinalOf } from '../../topology/snapshot/member.ts'
import { countOf, firstOf, isWithin, type Writes } from './ledger.ts'

/**
 * What is in force in one mysqld. Gone when it ends, except for gates (they are rows of `mysql.user`) and the channel's
 * source.
 */
export interface Server {
  open: boolean
  /** k in force; 0 = semi-sync off. */
  acks: number
  /** Instances whose replication accounts are unlocked. */
  gates: ReadonlySet<InstanceName>
  channel: { source: InstanceName; semiSync: boolean; running: boolean } | null
}

/** A marker on its way: counts once k replicas acknowledged everything before it. */
export interface Marker {
  readonly revision: number
  readonly before: Writes
  readonly by: Set<InstanceName>
}

/** What an agent knows only until it dies. */
export interface AgentMemory {
  report: PromiseReport | null
  /** It promised while it followed the candidate of a switchover, and goes on with that. */
  receiverKept: boolean
  sourceHolds: string | null
  /** The same, said after the primary had heard of what this one forgot last. */
  catchUpTo: string | null
  converged: { revision: number; done: boolean; sentence: string }
  markedRevision: number
  openedPid: number | null
  opening: { pid: number; revision: number; inPlace: boolean } | null
  /** Since when it opens, in which epoch. */
  openingSince: { readonly epoch: number; readonly atMs: number } | null
  mayRestart: boolean
  /** No manager was heard for so long that a primary may start alone. */
  alone: boolean
  binlogSet: string | null
  /** What it was seen to hold as a replica; null for unknown. */
  seenToHold: Writes | null
  /** What somebody threw away of that. */
  thrownAway: Writes
  /** How often that was seen since its agent started. */
  timesForgotten: number
  /** As a primary: which replicas a manager said are forgetful, and as what. */
  heardForgetful: Readonly<Record<InstanceName, string>>
  /** What its server lacks of what it was elected for. */
  lacksElected: string
  /** A manager told this run what to be, or its volume stayed where it was. */
  trustsAssignment: boolean
}

/** One instance: its machine, volume, agent and mysqld. */
export interface Instance {
  readonly name: InstanceName
  exists: boolean
  agentUp: boolean
  agentRun: number
  mysqld: 'running' | 'dead' | 'stopped'
  /** A stranger stops its mysqld: silent, not dead yet, and what waited was acknowledged. */
  ending: boolean
  pid: number
  /** Times its server got a new uuid. */
  generation: number
  disk: StoredState
  /** The binlog of a primary, received and executed of a replica. */
  held: Writes
  /** Executed; the rest of a primary's binlog waits for acknowledgements or, after a crash, is only prepared. */
  committed: Writes
  /** Acknowledged to this server since it started, by replica. */
  acked: Map<InstanceName, Writes>
  marker: Marker | null
  server: Server
  memory: AgentMemory
  /** Its applier is held back: what it receives waits in its relay logs. */
  delayed: boolean
  /** Thrown away by a hand, and not received again: its word is not taken. */
  lost: Writes
  /** Its machine crashed since its agent last ran. */
  rebooted: boolean
  /** Cut off from the other instances. */
  isolated: boolean
  seedsFrom: InstanceName | null
  /** The order by which it is copied beside what it has. */
  beside: ReseedOrder | null
  /** Times its volume went back in time: what it promised went back with it. */
  timesBack: number
  /**
   * Its volume went back behind what the notes know, in that epoch of the record; it is about to be told. Of no account
   * once it has another volume.
   */
  past: { readonly volume: string; readonly epoch: number } | null
  /** Since its agent last ran. */
  putBack: boolean
  /** A copy of its volume that somebody made. */
  snapshot: VolumeCopy | null
}

/** It takes itself for a member that has promised and received more. */
export function isPast({ past, disk }: Instance): boolean {
  return past?.volume === disk.volume
}

/** What a volume holds. */
export type VolumeCopy = Pick<Instance, 'disk' | 'held' | 'committed' | 'generation'> & { readonly server: Server }

export function freshMemory(): AgentMemory {
  return {
    report: null,
    receiverKept: false,
    sourceHolds: null,
    catchUpTo: null,
    converged: { revision: 0, done: false, sentence: 'starting' },
    markedRevision: 0,
    openedPid: null,
    opening: null,
    openingSince: null,
    mayRestart: false,
    alone: false,
    binlogSet: null,
    seenToHold: null,
    thrownAway: 0,
    timesForgotten: 0,
    heardForgetful: {},
    lacksElected: '',
    trustsAssignment: false,
  }
}

/** `agents/doubts/forgetful.ts`. */
export function forgetfulAs(instance: Pick<Instance, 'name' | 'agentRun' | 'memory'>): string {
  return `${runOf(instance)}.${instance.memory.timesForgotten}`
}

export function memberOf({ name, disk }: Instance): MemberId {
  return memberId(name, disk.volume)
}

/** As its observations name this start of its agent. */
export function runOf({ name, agentRun }: Pick<Instance, 'name' | 'agentRun'>): string {
  return `${name}-${agentRun}`
}

export function serverUuidOf({ name, generation }: Pick<Instance, 'name' | 'generation'>): string {
  return `0000000${generation % 10}-0000-0000-${String(Math.floor(generation / 10)).padStart(4, '0')}-${String(ordinalOf(name)).padStart(12, '0')}`
}

/** Its replication account is open there, the network lets it, and both ends run. */
export function isConnected(replica: Instance, source: Instance): boolean {
  const { channel } = replica.server
  return (
    channel !== null &&
    channel.running &&
    channel.source === source.name &&
    replica.mysqld === 'running' &&
    source.mysqld === 'running' &&
    source.server.gates.has(replica.name) &&
    !replica.isolated &&
    !source.isolated
  )
}

/** mysqld ends without a farewell: what waits for acknowledgements stays in the binlog, only prepared. */
export function killMysqld(instance: Instance): void {
  if (instance.mysqld === 'dead') return
  instance.mysqld = 'dead'
  if (instance.ending) noticeEnding(instance)
  instance.ending = false
  instance.marker = null
  instance.acked.clear()
  const { channel } = instance.server
  instance.server = {
    ...instance.server,
    open: false,
    acks: 0,
    channel: channel && { ...channel, running: false, semiSync: false },
  }
}

/** Its agent has looked into the error log. */
export function noticeEnding(instance: Instance): void {
  instance.disk = { ...instance.disk, unsettled: true }
}

/** mysqld starts closed, with replication stopped and semi-sync off; what was prepared is committed by its recovery. */
export function startMysqld(instance: Instance): void {
  instance.mysqld = 'running'
  instance.pid += 1
  if (!isHeldBack(instance)) instance.committed = instance.held
}

/** What it received and has not applied stays in its relay logs. */
export function isHeldBack({ delayed, server }: Instance): boolean {
  return delayed && server.channel !== null
}

/**
 * One more write arrives at a replica. Acknowledgements are by position: what it holds of the source's binlog counts.
 */
export function receive(replica: Instance, source: Instance): boolean {
  if (!isConnected(replica, source)) return false
  const next = firstOf(source.held & ~replica.held)
  replica.held |= next
  replica.lost &= ~next
  if (!isHeldBack(replica)) replica.committed = replica.held
  return acknowledge(replica, source) || next !== 0
}

function acknowledge(replica: Instance, source: Instance): boolean {
  if (replica.server.channel?.semiSync !== true) return false
  const before = source.acked.get(replica.name) ?? 0
  const now = before | (source.held & replica.held)
  source.acked.set(replica.name, now)
  const { marker } = source
  const news =
    now !== before || (marker !== null && !marker.by.has(replica.name) && isWithin(marker.before, replica.held))
  if (marker && isWithin(marker.before, replica.held)) marker.by.add(replica.name)
  return news
}

/** The first waiting write that has its acknowledgements is committed and its client told; 0 for none. */
export function releaseFirst(source: Instance): Writes {
  if (source.mysqld !== 'running' || source.server.channel !== null) return 0
  const first = firstOf(source.held & ~source.committed)
  const given = [...source.acked.values()].filter((acked) => (acked & first) !== 0).length
  if (first === 0 || given < source.server.acks) return 0
  source.committed |= first
  return first
}

/** How many replicas could acknowledge a write of this server now. */
export function ableToAcknowledge(source: Instance, all: readonly Instance[]): number {
  return all.filter((replica) => isConnected(replica, source) && replica.server.channel?.semiSync === true).length
}

/** Of what a channel received nothing waits for an acknowledgement: it is to be applied. */
export function waitingOf(source: Instance): number {
  return source.server.channel === null ? backlogOf(source) : 0
}

export function backlogOf({ held, committed }: Instance): number {
  return countOf(held & ~committed)
}
