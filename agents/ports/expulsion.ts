import type { GroupState } from '../../topology/snapshot/observation.ts'

/** Has the other members of a replication group remove the member of this instance, once its mysqld is dead. */
export interface ExpulsionPort {
  /** Who is in the group now, as this server shows it. Connections are kept to the others; nothing waits for that. */
  know(group: GroupState): void
  /**
   * mysqld is dead: the others agree on the removal of its member. Resolves to what became of that, in a sentence.
   * Never rejects. The group's own time-outs remove whoever is not removed so.
   */
  expel(): Promise<string>
  close(): void
}
