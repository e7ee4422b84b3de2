import type { Timings } from '#failover/protocol/timings.ts'
import type { Transport, World } from '#common/ports/ports.ts'
import type { Asks } from './asks.ts'
import type { CertificatePort } from '../ports/certificate.ts'
import type { AgentConfig } from './config.ts'
import type { Learner } from './learn.ts'
import type { Notices } from './notices.ts'
import type { ExpulsionPort } from '../ports/expulsion.ts'
import type { ObserverPort } from '../ports/observer.ts'
import type { ProcessPort } from '../ports/process.ts'
import type { ServerPort } from '../ports/server.ts'
import type { StoredState, StoredStateFile } from './stored-state.ts'
import type { RunLog } from './run-log.ts'
import type { TailPort } from '../ports/tail.ts'
import type { VolumePort } from '../ports/volume.ts'

/** Whether it is a primary that decides alone what is acknowledged, by its mode: how mysqld ends may be in doubt. */
export type AnswersAlone = (stored: Pick<StoredState, 'assignment'>) => boolean

/** What the parts of one agent share: what is known, and ports to everything outside. */
export interface Parts extends Learner {
  /** Random id of this start of the agent. */
  readonly run: string
  /** The incarnation that this start began with. */
  readonly firstIncarnation: string
  readonly config: Pick<
    AgentConfig,
    | 'cluster'
    | 'mode'
    | 'instance'
    | 'host'
    | 'port'
    | 'tls'
    | 'lowSpaceBytes'
    | 'keepBinlogsSeconds'
    | 'heldBinlogsBytes'
    | 'archiveBytes'
    | 'serverSettings'
    | 'allowUnclassified'
    | 'far'
  >
  /** Password of this instance's replication account. */
  readonly replicationPassword: string
  readonly timings: Timings
  readonly world: World
  readonly transport: Transport
  readonly file: StoredStateFile
  readonly process: ProcessPort
  readonly server: ServerPort
  readonly volume: VolumePort
  /** How the binlogs of a dead primary are reached. */
  readonly tail: TailPort
  readonly notices: Notices
  /** What managers are asked for. */
  readonly asks: Asks
  readonly answersAlone: AnswersAlone
  /** Null where mysqld's own certificate will do. */
  readonly clientCertificate: CertificatePort | null
  readonly observer: ObserverPort
  /** In mode `group` alone. */
  readonly expulsion?: ExpulsionPort
  /** How many routers follow what this agent observes. */
  readonly routers: () => number
  /** Something that is reported is different now. */
  readonly changed: () => void
  /** Something was found out that a pass must see. */
  readonly wake: () => void
  /** What backups and rehearsals said. */
  readonly runs: RunLog
}

/**
 * Which server answers, and in which of its lives: in a container two after each other may have the same pid, and a
 * copy has a uuid of its own. Null while none does.
 */
export function serverLife({ observer, process }: Pick<Parts, 'observer' | 'process'>): string | null {
  return observer.server === null || process.state !== 'running' ? null : `${process.pid} ${observer.server.uuid}`
}
