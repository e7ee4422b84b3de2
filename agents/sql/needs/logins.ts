import { agentHost, agentUser } from '#agents/instance/accounts.ts'
import { describeError } from '#common/errors/errors.ts'
import type { SqlTarget } from '../connections/connection.ts'
import { errnoOf } from '../connections/failure.ts'
import { SqlPool } from '../connections/pool.ts'

/**
 * The server's numbers for "not you": access denied, no such host, its plugin is not there, locked, expired, blocked
 * after wrong passwords, too many of this account.
 */
const ofAccounts: ReadonlySet<number> = new Set([1045, 1130, 1226, 1524, 1698, 1820, 1862, 3118, 3955])
/**
 * A setting of the whole server is to blame, which is put right by itself: `max_user_connections`,
 * `protocol_compression_algorithms`.
 */
const ofSettings: ReadonlySet<number> = new Set([1203, 3922])

type Ports = ConstructorParameters<typeof SqlPool>[2]

export interface Refusal {
  /** As the table of needs calls the account. */
  readonly what: string
  readonly why: string
  /** The account is not as it is to be. */
  readonly isOfAccount: boolean
}

/**
 * Logs in anew each way that the agent has in, and says where the server refuses. Open sessions tell nothing: they go
 * on whatever becomes of their account. A server that says nothing refuses nothing.
 */
export async function refusedLogins(
  ways: readonly SqlTarget[],
  ports: Ports,
  deadlineMs: number,
): Promise<readonly Refusal[]> {
  const tried = await Promise.all(
    ways.map(async (way) => {
      const pool = new SqlPool([way], 'DO 0', ports)
      const what = `account ${agentUser}@${'socketPath' in way ? 'localhost' : agentHost}`
      const refusal = await pool.query('SELECT 1', { deadlineMs, after: 'abandon' }).then(
        () => [],
        (error: unknown) => refusalIn(error, what),
      )
      pool.disconnect()
      return refusal
    }),
  )
  return tried.flat()
}

function refusalIn(error: unknown, what: string): readonly Refusal[] {
  const errno = errnoOf(error)
  const isOfAccount = ofAccounts.has(errno)
  return isOfAccount || ofSettings.has(errno) ? [{ what, why: describeError(error), isOfAccount }] : []
}
