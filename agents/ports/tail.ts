import type { MemberId } from '#topology/snapshot/member.ts'
import type { GtidText } from '#topology/snapshot/gtid-text.ts'

/** A file that has binlog events: where wanted transactions lie, neighbours as one range. */
interface TailFile {
  readonly name: string
  /** Its Format_description event, as of a closed file. */
  readonly head: Buffer
  readonly ranges: readonly { readonly offset: number; readonly end: number }[]
}

/** What the volume of a dead server has of transactions that somebody lacks. */
export interface FoundTail {
  /** In the order in which they are to be applied. */
  readonly files: readonly TailFile[]
  readonly gtids: GtidText
  /** Bytes of a transaction that was being written when the server died. Nobody was told that it was committed. */
  readonly halfWrittenBytes: number
}

/** The binlogs of a dead server, wherever they are. Rejects where they cannot be read, or are not what they were. */
export interface TailSource {
  find(wanted: GtidText): Promise<FoundTail>
  /** All of that part of a file which it named, checked. */
  read(file: string, offset: number, end: number): Promise<Buffer>
}

/** Whose binlogs, and under which promise: both sides have given it. */
interface TailOwner {
  /** `host:port` of its agent. */
  readonly agent: string
  readonly member: MemberId
  readonly epoch: number
}

/** How the binlogs of a dead server are reached: through the agent beside it, or by other means where there is none. */
export type TailPort = (owner: TailOwner) => TailSource

/** The channel by which a tail is applied; relay logs of a channel are named by it. */
export const tailChannel = 'regent_tail'
