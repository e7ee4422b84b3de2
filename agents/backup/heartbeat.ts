import { say } from '#common/sentence/sentence.ts'
import type { Watch } from '#common/watch/watch.ts'
import { heartbeatMsOf } from '#failover/protocol/backup-settings.ts'
import { whyClosed } from '../instance/known.ts'
import { learn } from '../instance/learn.ts'
import type { Parts } from '../instance/parts.ts'
import { leads } from '../instance/stored-state.ts'

/** The watches of an agent come round once a second, and never to the millisecond. */
const slackMs = 500

/**
 * Writes the time into a row of the primary, a commit each: so replicas of an idle cluster show a lag, and a restore of
 * one reaches a time and not merely its last transaction. One at a time, as any watch: where nobody acknowledges, one
 * session waits, as a client's would, and is never ended (a killed wait commits without its acknowledgement). The
 * server itself refuses a heartbeat that comes late, once it was closed (`agents/sql/heartbeat.ts`).
 */
export class Heartbeat implements Watch {
  readonly name = 'the heartbeat'
  /** Waits as long as writes wait; others tell of that. */
  readonly deadlineMs = 86_400_000
  readonly failure = { code: 'HeartbeatFailed', sentence: say`the heartbeat was not written` }
  readonly #parts: Parts
  #begunAtMs = -Infinity

  constructor(parts: Parts) {
    this.#parts = parts
  }

  while(): boolean {
    return heartbeatMsOf(this.#parts.told.backups) > 0 && takesWrites(this.#parts)
  }

  isDue(): boolean {
    return this.#parts.world.clock.monotonicMs() - this.#begunAtMs >= heartbeatMsOf(this.#parts.told.backups) - slackMs
  }

  async look(): Promise<void> {
    const { server, world, changed } = this.#parts
    this.#begunAtMs = world.clock.monotonicMs()
    const atMs = world.clock.wallMs()
    try {
      await server.writeHeartbeat()
    } catch (error) {
      // It was closed, or lost its server, in the meantime.
      if (!takesWrites(this.#parts)) return
      throw error
    }
    if (!takesWrites(this.#parts)) return
    learn(this.#parts, { fact: 'heartbeatWritten', atMs })
    changed()
  }
}

/** As any client of the primary of this epoch could write: opened, and about to be closed by nobody. */
function takesWrites({ file, course, process, observer, guards, pod }: Parts): boolean {
  const { server } = observer
  const isOpen = server !== null && !server.readOnly && !server.offlineMode
  const isToStay = whyClosed(guards) === null && pod.termination === null && !file.current.seeding
  return leads(file.current) && course.converged.done && process.state === 'running' && isOpen && isToStay
}
