import { errnoOf } from '../connections/failure.ts'
import { numberOf, textOf } from '../connections/statements.ts'
import type { Row } from '../connections/statements.ts'
import { account, groupAccountGrants, groupUser, lastingColumns, literal, unbound } from '#agents/instance/accounts.ts'

/**
 * What the account of the group is here, and what its password looks like stored. Each server may have salted the same
 * password otherwise: what is stored tells only whether that has changed since it was tried.
 */
export const groupAccountStatement = `SELECT CONCAT_WS(' ', u.plugin, u.ssl_type, SHA2(u.authentication_string, 256)) AS print,
  u.account_locked AS locked, u.password_expired AS expired, ${lastingColumns('u.')}, u.Repl_slave_priv AS replicates,
  u.max_questions + u.max_updates + u.max_connections + u.max_user_connections AS limits,
  (SELECT GROUP_CONCAT(g.PRIV) FROM mysql.global_grants g WHERE g.USER = u.User AND g.HOST = u.Host) AS grants
  FROM mysql.user u WHERE u.User = '${groupUser}' AND u.Host = '%'`

/**
 * Grants of the account, and no others: with BACKUP_ADMIN a joiner would copy another member in place (`accounts.ts`).
 */
const wantedGrants = ['CONNECTION_ADMIN', 'GROUP_REPLICATION_STREAM']
/** `ER_MUST_CHANGE_PASSWORD`, `ER_ACCESS_DENIED_ERROR` without and with a password, and of an account without one. */
const refusals: ReadonlySet<number> = new Set([1820, 1045, 1698, 1044])

/**
 * Whether members can log in here with the password of this cluster. A login is tried once for each password that is
 * seen stored here.
 */
export class GroupAccount {
  readonly #login: () => Promise<void>
  #tried = { print: '', trouble: '' }

  /** @param login tries to log in as the group does */
  constructor(login: () => Promise<void>) {
    this.#login = login
  }

  /** Why a member may be kept out by this account; '' for nothing that is known. */
  async trouble(row: Row | undefined): Promise<string> {
    if (row === undefined) return 'is not there'
    const print = textOf(row, 'print')
    const shown = troubleOf(row)
    if (shown !== '' || print === this.#tried.print) return shown || this.#tried.trouble
    const refused = await this.#isRefused()
    // The server may be full, or about to end: asked again at the next look.
    if (refused === undefined) return ''
    this.#tried = { print, trouble: refused ? 'lets no member in with the password of this cluster' : '' }
    return this.#tried.trouble
  }

  /** What is stored here now was set by this agent. */
  isRight(row: Row | undefined): void {
    this.#tried = { print: textOf(row, 'print'), trouble: '' }
  }

  async #isRefused(): Promise<boolean | undefined> {
    try {
      await this.#login()
      return false
    } catch (error) {
      return refusals.has(errnoOf(error)) ? true : undefined
    }
  }
}

function troubleOf(row: Row): string {
  if (textOf(row, 'locked') === 'Y') return 'is locked'
  if (textOf(row, 'expired') === 'Y') return 'has a password that has expired'
  if (numberOf(row, 'lifetime') > 0) return 'has a password that will expire'
  if (numberOf(row, 'attempts') > 0) return 'is locked by wrong passwords'
  if (textOf(row, 'limits') !== '0') return 'is allowed only so many connections or statements'
  const grants = textOf(row, 'grants').split(',')
  const lacks = wantedGrants.filter((privilege) => !grants.includes(privilege))
  if (textOf(row, 'replicates') !== 'Y') lacks.push('REPLICATION SLAVE')
  if (lacks.length > 0) return `lacks ${lacks.join(', ')}`
  const more = grants.filter((privilege) => !wantedGrants.includes(privilege))
  return more.length > 0 ? `has ${more.join(', ')} as well` : ''
}

/** Makes the account what it is on a new server, whatever somebody made of it. */
export function groupAccountStatements(password: string): readonly string[] {
  const named = account(groupUser)
  const identified = `IDENTIFIED WITH caching_sha2_password BY ${literal(password)}`
  return [
    `CREATE USER IF NOT EXISTS ${named} ${identified}`,
    `ALTER USER ${named} ${identified} ${unbound} ACCOUNT UNLOCK`,
    `REVOKE ALL PRIVILEGES, GRANT OPTION FROM ${named}`,
    ...groupAccountGrants(),
  ]
}
