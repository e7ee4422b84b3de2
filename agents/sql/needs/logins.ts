import { agentHost, agentUser } from '../../instance/accounts.ts'
import { describeError } from '../../../src/common/errors/errors.ts'
import type { SqlTarget } from '../connections/connection.ts'
import { errnoOf } from '../connections/failure.ts'
import { SqlPool } from '../connections/pool.ts'

/**
 * The server's numbers for "not you": access denied, no such host, its plugin is not there, locked, expired, blocked
 * after wrong passwords, too many of this account, not with this compression.
 */
const refusals: ReadonlySet<number> = new Set([1045, 1130, 1203, 1226, 1524, 1698, 1820, 1862, 3118, 3922, 3955])

type Ports = ConstructorParameters<typeof SqlPool>[2]

export interface Refusal {
  /** As the table of needs calls the account. */
  readonly what: string
  readonly why: string
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
      const why = await pool.query('SELECT 1', { deadlineMs, after: 'abandon' }).then(
        () => '',
        (error: unknown) => (refusals.has(errnoOf(error)) ? describeError(error) : ''),
      )
      pool.disconnect()
      return { what: `account ${agentUser}@${'socketPath' in way ? 'localhost' : agentHost}`, why }
    }),
  )
  return tried.filter(({ why }) => why !== '')
}
