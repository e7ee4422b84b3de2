import type { Connection } from 'mysql2/promise'
import type { TestCluster } from './cluster.ts'
import { monotonicMs } from './monotonic.ts'

/** Undoing takes about as long as what is undone took, on any machine: far longer than a session takes to go. */
export const changingMs = 6_000

/** What a switchover is refused with that has no time to undo. */
export const cannotBeUndone = /session \d+ of client has changed \d+ rows.*--timeout \d+s/

/**
 * Whether rows are being undone. `information_schema.innodb_trx` does not say: whoever reads that table more often than
 * ten times a second reads the same rows again and again, and so does the agent then.
 */
export async function isUndoing(cluster: TestCluster, instance: string): Promise<boolean> {
  const [status] = await cluster.sql(instance, 'show engine innodb status')
  return String(status?.['Status']).includes('ROLLING BACK')
}

export async function prepareLarge(cluster: TestCluster, primary: string): Promise<void> {
  const as = { user: 'client' } as const
  await cluster.sql(primary, 'create table if not exists app.digits (n int primary key)', as)
  await cluster.sql(primary, 'insert ignore into app.digits values (0),(1),(2),(3),(4),(5),(6),(7),(8),(9)', as)
  await cluster.sql(
    primary,
    'create table if not exists app.large (id int primary key auto_increment, v char(100))',
    as,
  )
}

/** A session of the client whose transaction has changed rows for a while, and is open. */
export async function changeManyRows(cluster: TestCluster, primary: string): Promise<Connection> {
  await prepareLarge(cluster, primary)
  const open = await cluster.session(primary, 'client')
  await open.query('start transaction')
  for (const begunMs = monotonicMs(); monotonicMs() - begunMs < changingMs;)
    await open.query("insert into app.large (v) select 'x' from app.digits a, app.digits b, app.digits c, app.digits d")
  return open
}

/** What a dry run says, or what it is refused with. */
export function dryRun(cluster: TestCluster, timeoutMs: number): Promise<{ readonly message: string }> {
  return cluster.switchover({ timeoutMs, dryRun: true }).then(
    ({ sentence }) => ({ message: sentence }),
    (error: Error) => error,
  )
}
