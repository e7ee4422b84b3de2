import type { AdoptedHost } from '../adoption.ts'
import type { SeenMore } from '../servers/read-more.ts'
import type { Reach, SeenServer } from '../servers/seen.ts'

/** What is known of one server, after its newest look. */
export interface Look {
  readonly host: AdoptedHost
  /** How the newest look went; null before the first has ended. */
  readonly reach: Reach | null
  /** Why it went so, in the words of who refused; '' where the server answers. */
  readonly why: string
  /** Monotonic milliseconds since which looks go so. */
  readonly sinceMs: number
  /** The server as it answered last; null where it never did. */
  readonly server: SeenServer | null
  /** Absent until somebody wanted to know. */
  readonly more?: SeenMore
  /** When the look that it answered last began and ended. */
  readonly askedMs: number
  readonly answeredMs: number
  /** `gtid_executed` of the answer before, which had ended at that time. */
  readonly before: { readonly executed: string; readonly answeredMs: number } | null
}

/** A server that answers now. */
export interface AnsweredLook extends Look {
  readonly server: SeenServer
}

export function answers(look: Look | undefined): look is AnsweredLook {
  return look?.reach === 'answers' && look.server !== null
}
