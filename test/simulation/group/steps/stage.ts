import type { ExpulsionPort } from '#agents/ports/expulsion.ts'
import type { GroupPort } from '#agents/ports/group.ts'
import type { Script, Stage, StagedServer } from '#test/simulation/mysqld/steps/stage.ts'

/** One server that may be a member of the one group of a stage, and what its agent asks of the other members. */
export interface StagedMember extends StagedServer {
  readonly group: GroupPort
  readonly expulsion: ExpulsionPort
  /** `groupAddress`. */
  readonly address: string
  /** SIGSTOP. */
  freeze(): void
  /** SIGCONT. */
  thaw(): void
}

/** Servers without a group, and time. */
export interface GroupStage extends Stage {
  readonly servers: readonly StagedMember[]
}

/** Steps that real and simulated members of a group play alike. */
export type GroupScript = Script<GroupStage>
