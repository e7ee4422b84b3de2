import type { QueryEvent } from './binlog-events.ts'
import type { GroupEnding } from './binlog-groups.ts'

/**
 * Server series on which every kind of statement was seen to vanish without a trace when its unacknowledged end of the
 * binlog was cut off after a SIGKILL (`test/real/unacknowledged-tail.test.ts`). On others the instance is archived and seeded again.
 */
export const provenSeries: readonly string[] = ['9.7']

/** Whether `version`, as the binlog's Format_description event has it, belongs to a proven series. */
export function isProvenVersion(version: string): boolean {
  return provenSeries.some((series) => version.startsWith(`${series}.`))
}

/**
 * Why a transaction that waited for its acknowledgement must not be cut off, or undefined where it can be: because InnoDB
 * only prepared it, and rolls it back when the binlog does not have it (Xid, XA_PREPARE, a DDL statement with an Xid), because InnoDB
 * has yet to do it (XA COMMIT and XA ROLLBACK of what was prepared before), or because it has no effect.
 */
export function whyNotTrimmable(ending: GroupEnding): string | undefined {
  switch (ending.kind) {
    case 'xid':
    case 'xaPrepare':
    case 'incomplete':
      return undefined
    case 'statement':
      return whyStatementIsNotTrimmable(ending.statement)
    case 'commitStatement':
    case 'rollbackStatement':
      return 'it ends in a COMMIT or ROLLBACK statement: a table that is not transactional was written'
    case 'payload':
      return 'it is compressed and was not looked into'
    case 'notUnderstood':
      return `it is not understood (${ending.what})`
  }
}

function whyStatementIsNotTrimmable(statement: QueryEvent): string | undefined {
  if (statement.hasXid || leavesNothing(statement.text)) return undefined
  return `it is a statement without an Xid (${firstWords(statement.text)} …): what it did cannot be taken back`
}

/** The server writes XA statements itself, in this form; the others are as the client sent them. */
const leavingNothing = /^(?:XA (?:COMMIT|ROLLBACK) X'|(?:ANALYZE|OPTIMIZE|FLUSH)\s)/i
/** White space and comments a client may put first; not the kind the server executes. */
const leading = /^(?:\s+|\/\*(?![!+])[^]*?\*\/|--\s[^\n]*\n|#[^\n]*\n)*/

function leavesNothing(text: string): boolean {
  return leavingNothing.test(text.replace(leading, ''))
}

/** Only words: values, among them hashes of passwords, are nobody's business. */
function firstWords(text: string): string {
  return /^[a-z_]+(?:\s+[a-z_]+)?/i.exec(text.replace(leading, ''))?.[0] ?? 'a statement'
}
