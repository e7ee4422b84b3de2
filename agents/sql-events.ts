import { account, identifier } from './accounts.ts'
import { textOf, type Sql } from './sql.ts'

/**
 * Events run on the primary only. On: those that replication brought here disabled are enabled, binary log off, and the scheduler runs. Off: the scheduler stops, so that a former primary's own events
 * stay quiet too.
 */
export async function setEvents(sql: Sql, on: boolean): Promise<void> {
  if (on) await enableEvents(sql)
  await sql.change(`SET GLOBAL event_scheduler = ${on ? 'ON' : 'OFF'}`)
}

/** Each keeps its definer: ALTER EVENT without naming one makes whoever alters it the definer (manual, "ALTER EVENT"). Both names of the state are asked for; it was renamed. */
async function enableEvents(sql: Sql): Promise<void> {
  const rows = await sql.read("SELECT EVENT_SCHEMA AS place, EVENT_NAME AS name, DEFINER AS definer FROM information_schema.EVENTS WHERE STATUS IN ('REPLICA_SIDE_DISABLED', 'SLAVESIDE_DISABLED')")
  for (const row of rows) {
    const [definer, place, name] = [textOf(row, 'definer'), textOf(row, 'place'), textOf(row, 'name')]
    const at = definer.lastIndexOf('@')
    await sql.change(`ALTER DEFINER = ${account(definer.slice(0, at), definer.slice(at + 1))} EVENT ${identifier(place)}.${identifier(name)} ENABLE`)
  }
}
