import type { World } from '../src/common/ports.ts'
import { literal } from './accounts.ts'
import type { SqlConnection } from './sql-connection.ts'

/** A copy that makes no progress for this long is given up by the caller's own watch; the statement itself has no limit. */
const watchMs = 500

export interface CloneRequest {
  readonly directory: string
  readonly donor: { readonly host: string; readonly port: number; readonly user: string; readonly password: string }
  readonly progress: (stage: string, percent: number) => void
}

/** CLONE INSTANCE into a fresh directory: the running server's own data is not touched. Progress comes from performance_schema. */
export async function cloneInto(ports: { sql: SqlConnection; watch: SqlConnection; world: World; deadlineMs: number }, request: CloneRequest): Promise<void> {
  const { sql, watch, world, deadlineMs } = ports
  const { donor, directory, progress } = request
  await sql.query(`SET GLOBAL clone_valid_donor_list = ${literal(`${donor.host}:${donor.port}`)}`, deadlineMs)
  let done = false
  const watching = async (): Promise<void> => {
    while (!done) {
      await world.timers.sleep(watchMs)
      const [row] = await watch.query("SELECT STAGE AS stage, ROUND(100 * DATA / GREATEST(ESTIMATE, 1)) AS percent FROM performance_schema.clone_progress WHERE STATE = 'In Progress' LIMIT 1", deadlineMs).catch(() => [])
      if (row && !done) progress(String(row['stage']).toLowerCase(), Math.min(100, Number(row['percent'])))
    }
  }
  const watched = watching()
  try {
    await sql.query(`CLONE INSTANCE FROM ${literal(donor.user)}@${literal(donor.host)}:${donor.port} IDENTIFIED BY ${literal(donor.password)} DATA DIRECTORY = ${literal(directory)}`, Number.POSITIVE_INFINITY)
  } finally {
    done = true
    await watched
  }
}
