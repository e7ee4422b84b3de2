import { RegentError } from '../errors/errors.ts'
import { say, type Sayable, text } from '../sentence/sentence.ts'

/** The oldest MySQL that Regent runs. */
export const oldestVersion = '8.0.26'

/**
 * The version in the output of `mysqld --version`. Throws REGENT_MYSQL_TOO_OLD below 8.0.26 and REGENT_MYSQL_MISSING
 * for what is not MySQL; `where` names the server in the message.
 */
export function usableVersion(output: string, where: Sayable): string {
  const match = /\bVer (\d+)\.(\d+)\.(\d+)(\S*)/.exec(output)
  if (match === null || /mariadb/i.test(output)) {
    throw new RegentError(
      'REGENT_MYSQL_MISSING',
      say`${where} is not a MySQL server: it calls itself "${text(output.trim())}".`,
    )
  }
  const version = match.slice(1, 4).map(Number)
  if (isTooOld(version)) {
    throw new RegentError(
      'REGENT_MYSQL_TOO_OLD',
      say`${where} is MySQL ${version.join('.')}, and Regent needs ${oldestVersion} or newer.`,
    )
  }
  return version.join('.')
}

/** What a version leaves open is not held against it. */
export function isTooOld(version: readonly (number | undefined)[]): boolean {
  const oldest = oldestVersion.split('.').map(Number)
  const at = version.findIndex((number, index) => number !== undefined && number !== oldest[index])
  return at >= 0 && (version[at] ?? 0) < (oldest[at] ?? 0)
}
