import { numberOf, textOf, type Row } from './statements.ts'

/** Both are of the moment in which the statement began, by the clock that the start was noted by. */
export const startStatement = `SELECT UNIX_TIMESTAMP() AS now, VARIABLE_VALUE AS uptime
  FROM performance_schema.global_status WHERE VARIABLE_NAME = 'Uptime'`

/**
 * When that mysqld started, in seconds: the same number for as long as it runs. Where its clock was put back to before
 * its start, the uptime is below zero, and the server prints a number of 64 bits without a sign.
 */
export function startedAtIn(row: Row | undefined): number {
  return numberOf(row, 'now') - Number(BigInt.asIntN(64, BigInt(textOf(row, 'uptime'))))
}
