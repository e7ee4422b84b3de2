import type { Sentence } from '#common/sentence/sentence.ts'
import type { GroupState } from '#topology/snapshot/observation.ts'

/** Has the others of a replication group remove a member that is dead, or that nobody hears. */
export interface ExpulsionPort {
  /**
   * Tells the members of the group, as this server shows them now. Connections are kept to all members; nothing waits
   * for that.
   */
  know(group: GroupState): void
  /**
   * Tells that this server is no member any more: connections are closed, and the members are forgotten until `know`. A
   * server that starts its member takes one connection at a time, and begins again 5 s later where that connection is
   * not its own.
   */
  rest(): void
  /** By `groupAddress`: for how many milliseconds each member has answered nothing. Only members that are known. */
  readonly silence: ReadonlyMap<string, number>
  /**
   * The others agree on the removal of the member at this address (`groupAddress`). Whether that member is dead or
   * unheard is the caller's knowledge. Resolves to what became of that, in a sentence. Never rejects. The group's own
   * time-outs remove whoever is not removed so.
   */
  expel(address: string): Promise<Sentence>
}
