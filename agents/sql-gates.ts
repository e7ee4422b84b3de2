import type { InstanceName } from '../topology/member.ts'
import { account, replicationAccount } from './accounts.ts'
import { replicationUser } from './server-port.ts'
import type { SqlConnection } from './sql-connection.ts'

/** Leftover dump threads of closed gates are the caller's to end; a lock keeps new ones out. */
export async function setGates({ sql, deadlineMs, secret }: { sql: SqlConnection; deadlineMs: number; secret: string }, open: readonly InstanceName[]): Promise<void> {
  const rows = await sql.query("SELECT User AS user, account_locked AS locked FROM mysql.user WHERE User LIKE 'regent\\\\_r\\\\_%'", deadlineMs)
  const locked = new Map(rows.map((row) => [String(row['user']), row['locked'] === 'Y']))
  const wanted = new Set(open.map(replicationUser))
  const statements: string[] = []
  for (const instance of open) {
    const user = replicationUser(instance)
    if (!locked.has(user)) statements.push(...replicationAccount(instance, secret))
    else if (locked.get(user)) statements.push(`ALTER USER ${account(user)} ACCOUNT UNLOCK`)
  }
  const closing = [...locked].filter(([user, isLocked]) => !isLocked && !wanted.has(user)).map(([user]) => user)
  if (closing.length > 0) statements.push(`ALTER USER ${closing.map((user) => `${account(user)}`).join(', ')} ACCOUNT LOCK`)
  for (const statement of statements) await sql.query(statement, deadlineMs)
  if (closing.length > 0) await endClosed(sql, deadlineMs, wanted)
}

/** Dump threads of accounts that are closed now: killed, and gone when this resolves. */
async function endClosed(sql: SqlConnection, deadlineMs: number, wanted: ReadonlySet<string>): Promise<void> {
  const rows = await sql.query("SELECT PROCESSLIST_ID AS id, PROCESSLIST_USER AS user FROM performance_schema.threads WHERE PROCESSLIST_COMMAND LIKE 'Binlog Dump%'", deadlineMs)
  for (const row of rows) {
    if (!wanted.has(String(row['user']))) await sql.query(`KILL CONNECTION ${Number(row['id'])}`, deadlineMs).catch(() => undefined)
  }
}
