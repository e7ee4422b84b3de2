import { codeOf, describeError } from '../src/common/errors.ts'
import type { WriteProbe } from '../topology/observation.ts'
import type { SqlConnection } from './sql-connection.ts'

/**
 * Whether a write goes through: one InnoDB row, binary log off, so that it waits for no acknowledgement. Read-only or offline servers refuse it at once, which is an answer too. When it does not
 * come back, the process list tells a lock from a server that is frozen.
 */
export async function probeWrite(writing: SqlConnection, looking: SqlConnection, deadlineMs: number): Promise<{ result: WriteProbe; detail: string }> {
  try {
    await writing.query('UPDATE regent.probe SET beat = beat + 1 WHERE id = 1', deadlineMs)
    return { result: 'ok', detail: '' }
  } catch (error) {
    const detail = describeError(error)
    if (codeOf(error) === 'REGENT_SERVER_ERROR') return { result: refusal(detail), detail }
    return whyStuck(looking, deadlineMs, detail)
  }
}

function refusal(detail: string): WriteProbe {
  if (/\((1114|1021|3|1026)\)|No space left|is full/.test(detail)) return 'diskFull'
  if (/\(1205\)|\(3572\)/.test(detail)) return 'locked'
  if (/Read-only file system/.test(detail)) return 'readOnlyFilesystem'
  return 'ok'
}

async function whyStuck(looking: SqlConnection, deadlineMs: number, detail: string): Promise<{ result: WriteProbe; detail: string }> {
  try {
    const rows = await looking.query("SELECT PROCESSLIST_STATE AS state FROM performance_schema.threads WHERE PROCESSLIST_STATE LIKE 'Waiting for%lock%' OR PROCESSLIST_STATE LIKE '%disk space%' LIMIT 5", deadlineMs)
    const states = rows.map((row) => String(row['state']))
    if (states.some((state) => state.includes('disk space'))) return { result: 'diskFull', detail: states.join('; ') }
    if (states.length > 0) return { result: 'locked', detail: states.join('; ') }
    return { result: 'unknown', detail }
  } catch {
    return { result: 'stuck', detail }
  }
}
