import type { QueryEvent } from '#binlog/events.ts'
import type { GroupEnding } from './groups.ts'

/**
 * Server series on which every kind of statement was seen to vanish without a trace when its unacknowledged end of the
 * binlog was cut off after a SIGKILL (`test/servers/long/unacknowledged-tail.test.ts`). On others the instance is
 * archived and seeded again.
 */
export const provenSeries: readonly string[] = ['9.7']

/** Whether `version`, as the binlog's Format_description event has it, belongs to a proven series. */
export function isProvenVersion(version: string): boolean {
  return provenSeries.some((series) => version.startsWith(`${series}.`))
}

/**
 * Why a transaction that waited for its acknowledgement must not be cut off, or undefined where it can be: because
 * InnoDB only prepared it, and rolls it back when the binlog does not have it (Xid, XA_PREPARE, a DDL statement with an
 * Xid), because InnoDB has yet to do it (XA COMMIT and XA ROLLBACK of what was prepared before), or because it has no
 * effect.
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

/**
 * The transaction is one statement that changes no data, wherever it was executed. An XA COMMIT is no such statement,
 * since what was prepared is committed by it.
 */
export function changesNoData(ending: GroupEnding): boolean {
  return (
    ending.kind === 'statement' &&
    ending.statement.isWhole &&
    withoutData.test(ending.statement.text.replace(leading, ''))
  )
}

function whyStatementIsNotTrimmable({ text, hasXid, isWhole }: QueryEvent): string | undefined {
  const statement = text.replace(leading, '')
  if (finishedByServer.test(statement) || withoutData.test(statement)) return undefined
  if (!hasXid) return `it is a statement without an Xid (${firstWords(statement)} …): what it did cannot be taken back`
  if (!isWhole && !/^create\s/i.test(statement))
    return `it is too long a statement to be judged (${firstWords(statement)} …)`
  return movesFiles(text)
    ? 'it discards or imports a tablespace: files were removed or changed before it was written to the binlog'
    : undefined
}

/**
 * `ALTER TABLE … DISCARD | IMPORT … TABLESPACE` has an Xid, and yet InnoDB does not bring the files back (seen on 9.7).
 */
function movesFiles(text: string): boolean {
  return /\b(?:discard|import)\b/i.test(text) && /\btablespace\b/i.test(text)
}

/** The server writes XA statements itself, in this form. */
const finishedByServer = /^XA (?:COMMIT|ROLLBACK) X'/i
/** As the client sent them. A histogram stays: statistics only. */
const withoutData = /^(?:ANALYZE|OPTIMIZE|FLUSH)\s/i
/** White space and comments a client may put first; not the kind the server executes. */
const leading = /^(?:\s+|\/\*(?![!+])[^]*?\*\/|--\s[^\n]*\n|#[^\n]*\n)*/

/** Only words: values, among them hashes of passwords, are nobody's business. */
function firstWords(statement: string): string {
  return /^[a-z_]+(?:\s+[a-z_]+)?/i.exec(statement)?.[0] ?? 'a statement'
}
