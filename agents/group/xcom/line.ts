import type { Answer, ClientReply, GroupSnapshot, MemberIdentity, Synode } from './messages.ts'

/** A member that answers questions of XCom's protocol, one after the other, until the line ends. */
export interface XcomLine {
  readonly address: string
  readonly isOpen: boolean
  /** Which group, and how far this member is. Rejects past the deadline, and the line has ended then. */
  state(deadlineMs: number): Promise<ClientReply>
  /**
   * The configurations that this member knows. Where the member is the first of those alive, it tells the group its
   * view of the members at once.
   * @param delivered what this member has just said
   */
  snapshot(delivered: Synode, deadlineMs: number): Promise<GroupSnapshot>
  remove(group: number, victim: MemberIdentity, deadlineMs: number): Promise<Answer>
  close(): void
}

/** Connects to the member at this address. Rejects after `deadlineMs` at the latest. */
export type OpenLine = (address: string, deadlineMs: number) => Promise<XcomLine>
