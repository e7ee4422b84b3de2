import { RegentError } from '#common/errors/errors.ts'
import { account, identifier } from '../instance/accounts.ts'
import { textOf, type Sql } from './connections/statements.ts'
import type { Row } from './connections/statements.ts'
import { isTableMissing } from './connections/failure.ts'

/** Both names of the state are asked for; it was renamed. */
const bySide = "STATUS IN ('REPLICA_SIDE_DISABLED', 'SLAVESIDE_DISABLED')"

const names = 'EVENT_SCHEMA AS place, EVENT_NAME AS name'

type Query = (statement: string) => Promise<readonly Row[]>

/**
 * Events run on the primary only. On: those that replication brought here disabled are enabled, binary log off, and the
 * scheduler runs. Off: the scheduler stops, so that a former primary's own events
 * stay quiet too. Rejects with what the server said of an event that it refuses, once all others run.
 */
export async function setEvents(sql: Sql, on: boolean): Promise<void> {
  const [refused] = on ? await enableEvents(sql) : []
  await sql.change(`SET GLOBAL event_scheduler = ${on ? 'ON' : 'OFF'}`)
  if (refused !== undefined) throw refused
}

/**
 * Replication brings every event disabled, whether it ran at the source or a person had disabled it there (seen on
 * 9.7): what earlier primaries recorded tells the two apart. Each keeps its definer: ALTER EVENT without naming one
 * makes whoever alters it the definer (manual, "ALTER EVENT").
 */
async function enableEvents(sql: Sql): Promise<readonly RegentError[]> {
  const rows = await sql.read(`SELECT ${names}, DEFINER AS definer FROM information_schema.EVENTS WHERE ${bySide}`)
  if (rows.length === 0) return []
  const refused: RegentError[] = []
  const disabled = new Set((await recorded((statement) => sql.read(statement))).map(keyOf))
  for (const row of rows) {
    const [definer, place, name] = [textOf(row, 'definer'), textOf(row, 'place'), textOf(row, 'name')]
    const at = definer.lastIndexOf('@')
    const state = disabled.has(keyOf(row)) ? 'DISABLE' : 'ENABLE'
    const owner = account(definer.slice(0, at), definer.slice(at + 1))
    const event = `${identifier(place)}.${identifier(name)}`
    await sql.change(`ALTER DEFINER = ${owner} EVENT ${event} ${state}`).catch((error: unknown) => {
      if (!(error instanceof RegentError && error.code === 'REGENT_SERVER_ERROR')) throw error
      refused.push(error)
    })
  }
  return refused
}

/**
 * Records which events do not run although this is the primary, binary log on, so that the next primary knows. The
 * table is made by the first record, and so by replication everywhere: a replica without it could not apply
 * one. Only what differs is written; resolves when it is acknowledged, however long that takes.
 */
export async function recordEvents(sql: Sql, logged: Query): Promise<void> {
  const wanted = await sql.read(`SELECT ${names} FROM information_schema.EVENTS WHERE STATUS <> 'ENABLED'`)
  const before = await recorded((statement) => sql.read(statement))
  const [now, then] = [new Set(wanted.map(keyOf)), new Set(before.map(keyOf))]
  const [more, fewer] = [wanted.filter((row) => !then.has(keyOf(row))), before.filter((row) => !now.has(keyOf(row)))]
  if (more.length > 0) {
    const column = 'VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL'
    const columns = `place ${column}, name ${column}, PRIMARY KEY (place, name)`
    if (before.length === 0) await logged(`CREATE TABLE IF NOT EXISTS regent.disabled_event (${columns}) ENGINE=InnoDB`)
    await logged(`INSERT IGNORE INTO regent.disabled_event (place, name) VALUES ${more.map(tuple).join(', ')}`)
  }
  if (fewer.length === 0) return
  await logged(`DELETE FROM regent.disabled_event WHERE (place, name) IN (${fewer.map(tuple).join(', ')})`)
}

async function recorded(read: Query): Promise<readonly Row[]> {
  try {
    return await read('SELECT place, name FROM regent.disabled_event')
  } catch (error) {
    if (!isTableMissing(error)) throw error
    return []
  }
}

function keyOf(row: Row): string {
  return JSON.stringify([textOf(row, 'place'), textOf(row, 'name')])
}

/** In hexadecimal: a name may have any character. */
function tuple(row: Row): string {
  const [place, name] = ['place', 'name'].map(
    (column) => `_utf8mb4 X'${Buffer.from(textOf(row, column)).toString('hex')}'`,
  )
  return `(${place}, ${name})`
}
