/**
 * What is said to and by XCom, the Paxos engine of Group Replication, as this client uses it. The client speaks a
 * single version of the protocol: x_1_9, number 10.
 */
export const protocolVersion = 10

/** A slot of the group's message log: which group, which number, which member’s turn. */
export interface Synode {
  readonly group: number
  readonly message: bigint
  readonly node: number
}

export const nullSynode: Synode = { group: 0, message: 0n, node: 0 }

/** Whether `one` comes after `other` in the log of a group. */
export function isLater(one: Synode, other: Synode): boolean {
  return one.message > other.message || (one.message === other.message && one.node > other.node)
}

/**
 * A life of one member. The address alone is no identity: a member that comes back has the same address and another
 * incarnation.
 */
export interface MemberIdentity {
  /** `host:port` as the group writes it. Compared as text: `localhost` is not `127.0.0.1`. */
  readonly address: string
  /** The `uuid` blob, one character per byte: the time at which that member joined. */
  readonly incarnation: string
}

/** The members from `start` on. The newest configuration is perhaps not in force yet. */
export interface Configuration {
  readonly start: Synode
  readonly bootKey: Synode
  /** In the group’s own order, oldest first. */
  readonly members: readonly MemberIdentity[]
  /** By position in `members`: whether the detector believed it alive. May be shorter than `members`. */
  readonly alive: readonly boolean[]
  /** Messages between the agreement on a change of configuration and its start. */
  readonly eventHorizon: number
  /** How many members may propose: 1 with `group_replication_paxos_single_leader=ON`, 0 for all. */
  readonly mostLeaders: number
}

/** Answer to `get_event_horizon`, and to a request for removal. */
export interface ClientReply {
  readonly kind: 'reply'
  /** `ok` to a removal is a promise to propose it, not that it was agreed on. */
  readonly answer: Answer
  /** The newest message that this member has seen proposed. */
  readonly newest: Synode
  /** The newest message that this member has carried out. Its group is the id of the group. */
  readonly delivered: Synode
  readonly eventHorizon: number
}

export type Answer = 'ok' | 'fail' | 'retry' | 'redirect'

/** Answer to `need_boot`: what a joining member would be told. */
export interface GroupSnapshot {
  readonly kind: 'snapshot'
  readonly logStart: Synode
  readonly logEnd: Synode
  readonly configurations: readonly Configuration[]
}

/** Which of the configurations begins last; undefined where there is none. */
export function newestConfiguration(configurations: readonly Configuration[]): Configuration | undefined {
  return configurations.reduce<Configuration | undefined>(
    (newest, each) => (newest === undefined || isLater(each.start, newest.start) ? each : newest),
    undefined,
  )
}

/** `pax_op`: what a message is for. */
export const operations = { clientMessage: 0, needBoot: 17, snapshot: 21, clientReply: 22 } as const

/** `cargo_type`: what a client asks for. */
export const cargoes = { removeNode: 15, getEventHorizon: 21 } as const

/** `x_msg_type` of a header. */
export const frameTypes = { message: 0, versionRequest: 1, versionReply: 2 } as const

export const headerBytes = 12

/** Where the operation stands in a body, which has at least as many bytes. */
export const operationAt = 48
export const leastBodyBytes = 52
