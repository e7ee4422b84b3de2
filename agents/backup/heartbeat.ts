import { say } from '#common/sentence/sentence.ts'
import type { Watch } from '#common/watch/watch.ts'
import { heartbeatMsOf } from '#failover/protocol/backup-task.ts'
import { whyClosed } from '../instance/known.ts'
import { learn, type Learner } from '../instance/learn.ts'
import type { Parts } from '../instance/parts.ts'
import { leads } from '../instance/stored-state.ts'

/** The watches of an agent come round once a second, and never to the millisecond. */
const slackMs = 500

type HeartbeatParts = Learner & Pick<Parts, 'changed' | 'file' | 'observer' | 'process' | 'server' | 'world'>

/**
 * Writes the time into a row of the primary, a commit each. So replicas of an idle cluster show a lag, and a restore of
 * an idle cluster reaches a time and not merely its last transaction. Heartbeats are written one at a time, as any
 * watch looks. Where nobody acknowledges, one session waits, as a client's would. That session is never ended: a killed
 * wait commits without its acknowledgement. The server itself refuses a heartbeat that comes late, once the server was
 * closed (`agents/sql/heartbeat.ts`).
 */
export class Heartbeat implements Watch {
  readonly name = 'the heartbeat'
  /** A heartbeat waits as long as writes wait; others tell of that. */
  readonly deadlineMs = 86_400_000
  readonly failure = { code: 'HeartbeatFailed', sentence: say`the heartbeat was not written` }
  readonly #parts: HeartbeatParts
  #begunAtMs = -Infinity

  constructor(parts: HeartbeatParts) {
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
      // The server was closed, or lost, in the meantime.
      if (!takesWrites(this.#parts)) return
      throw error
    }
    if (!takesWrites(this.#parts)) return
    learn(this.#parts, { fact: 'heartbeatWritten', atMs })
    changed()
  }
}

/**
 * Whether any client could write here: the server is the open primary of this epoch, and nobody is about to close it.
 */
function takesWrites({ file, course, process, observer, guards, pod }: HeartbeatParts): boolean {
  const { server } = observer
  const isOpen = server !== null && !server.readOnly && !server.offlineMode
  const isToStay = whyClosed(guards) === null && pod.termination === null && !file.current.seeding
  return leads(file.current) && course.converged.done && process.state === 'running' && isOpen && isToStay
}
