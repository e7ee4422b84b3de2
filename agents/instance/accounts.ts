import type { ModeName } from '#failover/protocol/mode-name.ts'
import { ownSession } from '#failover/settings/own-session.ts'
import { passwordFor } from '#common/mysql/account-password.ts'
import { instanceName, mostInstances, type InstanceName } from '#topology/snapshot/member.ts'
import { replicationUser, replicationUserPrefix } from '../ports/server.ts'

/** The agent's account: through the socket, or from this machine to the administrative interface. */
export const agentUser = 'regent'
/**
 * Where the agent's TCP connections come from, whatever the instance's address: the same on every instance, so that a
 * copy's accounts fit.
 */
export const agentHost = '127.0.0.1'
/** By which members of a replication group speak with each other, and a joiner with its donor. */
export const groupUser = 'regent_group'
export const clientUser = 'client'
export const adminUser = 'admin'
/** The database that `client` owns. */
const clientDatabase = 'app'
const regentSchema = 'regent'

/**
 * Every instance that a cluster can have: the accounts of all are there from the start, so that an instance that is
 * added finds its own account wherever it is sent.
 */
export function instancesOf(cluster: string): readonly InstanceName[] {
  return Array.from({ length: mostInstances }, (_, ordinal) => instanceName(cluster, ordinal))
}

/**
 * A string literal of SQL. Refuses what no name or password of Regent's holds, rather than trusting an escape under
 * every sql_mode.
 */
export function literal(text: string): string {
  if (isEscaped(text)) throw new TypeError('a text with control characters or backslashes is no SQL literal here')
  return `'${text.replaceAll("'", "''")}'`
}

function isEscaped(text: string): boolean {
  return /[\x00-\x1f\\]/.test(text)
}

/** A quoted identifier of SQL. */
export function identifier(name: string): string {
  return `\`${name.replaceAll('`', '``')}\``
}

/**
 * `'user'@'host'` of SQL. Accounts of others have any name. Where that is no literal it is an identifier, in which
 * nothing is escaped (manual, "Specifying Account Names").
 */
export function account(user: string, host = '%'): string {
  return [user, host].map((name) => (isEscaped(name) ? identifier(name) : literal(name))).join('@')
}

/**
 * What a new server is given before anybody can reach it, without binary log: the same on every instance, so that
 * neither replication nor a copy changes it. Each statement has a line, as `--init-file` wants it. `root` is removed:
 * there is no account whose password is not derived from the secret.
 */
export function initialStatements(cluster: string, secret: string, mode: ModeName): readonly string[] {
  return [
    `${ownSession}, sql_log_bin = 0`,
    ...['localhost', agentHost].flatMap((host) => ownAccount(agentUser, host, secret)),
    `CREATE DATABASE ${identifier(clientDatabase)}`,
    ...createAccount(clientUser, '%', secret),
    `GRANT ALL PRIVILEGES ON ${identifier(clientDatabase)}.* TO ${account(clientUser)}`,
    ...createAccount(adminUser, '%', secret),
    ...adminGrants(),
    ...instancesOf(cluster)
      .map((instance) => replicationAccount(instance, secret))
      .flat(),
    ...(mode === 'group' ? [...createAccount(groupUser, '%', secret), ...groupAccountGrants()] : []),
    ...schemaStatements(),
    fingerprintsOfAll,
    `DROP USER ${account('root', 'localhost')}`,
  ]
}

/** The statement that stores the fingerprint of every gate's password. */
const fingerprintsOfAll = String.raw`INSERT INTO regent.account (user, fingerprint) SELECT user, SHA2(authentication_string, 256) FROM mysql.user WHERE user LIKE 'regent\_r\_%'`

/** Everything but power over Regent's own accounts and sessions, which SYSTEM_USER protects. */
function adminGrants(): readonly string[] {
  return [
    `GRANT ALL PRIVILEGES ON *.* TO ${account(adminUser)} WITH GRANT OPTION`,
    `REVOKE SYSTEM_USER ON *.* FROM ${account(adminUser)}`,
  ]
}

export function replicationPassword(secret: string, instance: InstanceName): string {
  return passwordFor(secret, replicationUser(instance))
}

/**
 * Remembers what passwords of accounts look like stored, so that a change by another hand shows without trying to log
 * in.
 */
export function recordFingerprints(users: readonly string[]): string {
  return (
    'REPLACE INTO regent.account (user, fingerprint) SELECT user, SHA2(authentication_string, 256) ' +
    `FROM mysql.user WHERE user IN (${users.map(literal).join(', ')}) AND host = '%'`
  )
}

interface Account {
  readonly user: string
  readonly host: string
}

/** Makes an instance's replication account, unlocked. */
export function replicationAccount(instance: InstanceName, secret: string): readonly string[] {
  return ownAccount(replicationUser(instance), '%', secret)
}

function ownAccount(user: string, host: string, secret: string): readonly string[] {
  return [...createAccount(user, host, secret), ...grantsOf([{ user, host }])]
}

const unlimited = ['QUERIES_PER_HOUR', 'UPDATES_PER_HOUR', 'CONNECTIONS_PER_HOUR', 'USER_CONNECTIONS']

/** Options of ALTER USER: no limit, no time and no wrong passwords of anybody keep an account of Regent's out. */
export const unbound = `REQUIRE NONE WITH ${unlimited.map((what) => `MAX_${what} 0`).join(' ')} PASSWORD EXPIRE NEVER FAILED_LOGIN_ATTEMPTS 0 PASSWORD_LOCK_TIME 0`

/**
 * Columns of `mysql.user` that tell in how many days a password expires, and how many wrong passwords lock an account;
 * nothing or 0 for never. A lock of that kind shows in no table (manual, "Failed-Login Tracking and Temporary Account
 * Locking").
 * @param of an alias of the table with a dot, or ''
 */
export function lastingColumns(of: string): string {
  return `${of}password_lifetime AS lifetime, ${of}User_attributes->>'$.Password_locking.failed_login_attempts' AS attempts`
}

/**
 * Makes accounts of Regent's what they are to be, whatever a hand made of them. A gate stays locked or open as it is;
 * one that is made anew is locked. As few statements as possible: each is a transaction on disk, and orders wait
 * meanwhile.
 *
 * @param accounts of one kind: the agent's, or gates
 */
export function accountsAnew(accounts: readonly Account[], secret: string): readonly string[] {
  const isGate = accounts.every(({ user }) => user.startsWith(replicationUserPrefix))
  const identified = accounts.map(({ user, host }) => `${account(user, host)} ${identifiedBy(user, secret)}`).join(', ')
  return [
    `CREATE USER IF NOT EXISTS ${identified}${isGate ? ' ACCOUNT LOCK' : ''}`,
    `ALTER USER ${identified} ${unbound}${isGate ? '' : ' ACCOUNT UNLOCK'}`,
    ...grantsOf(accounts),
  ]
}

/** CONNECTION_ADMIN: replication goes on while a server is offline to everyone else. */
function grantsOf(accounts: readonly Account[]): readonly string[] {
  const names = accounts.map(({ user, host }) => account(user, host)).join(', ')
  return accounts[0]?.user === agentUser
    ? [`GRANT ALL PRIVILEGES ON *.* TO ${names} WITH GRANT OPTION`]
    : [`GRANT REPLICATION SLAVE ON *.* TO ${names}`, `GRANT CONNECTION_ADMIN, BACKUP_ADMIN ON *.* TO ${names}`]
}

/**
 * CONNECTION_ADMIN: members speak with each other while a server is offline to everyone else (manual, "User Credentials
 * For Distributed Recovery"). Without BACKUP_ADMIN no member copies itself in place: a joiner would, whatever the
 * threshold, where no binlog has what it lacks, and would have nothing if the copy died half-way. The agent makes
 * copies.
 */
export function groupAccountGrants(): readonly string[] {
  return [
    `GRANT REPLICATION SLAVE ON *.* TO ${account(groupUser)}`,
    `GRANT CONNECTION_ADMIN, GROUP_REPLICATION_STREAM ON *.* TO ${account(groupUser)}`,
  ]
}

function createAccount(user: string, host: string, secret: string): readonly string[] {
  return [`CREATE USER IF NOT EXISTS ${account(user, host)} ${identifiedBy(user, secret)}`]
}

function identifiedBy(user: string, secret: string): string {
  return `IDENTIFIED WITH caching_sha2_password BY ${literal(passwordFor(secret, user))}`
}

/**
 * What `--init-file` is given where nobody can log in any more: the agent's own accounts, and nothing that could fail.
 * Binary log off. Each statement has a line.
 */
export function agentAccountsAnew(secret: string): readonly string[] {
  const accounts = ['localhost', agentHost].map((host) => ({ user: agentUser, host }))
  return ['SET SESSION sql_log_bin = 0', ...accountsAnew(accounts, secret)]
}

/**
 * What `--init-file` is given where the data come out of a backup, maybe of another cluster: accounts of Regent's with
 * the passwords of this cluster, whatever the backup has, and Regent's tables made anew. Accounts and data of
 * applications stay. Binary log off; all of it may be done twice. Each statement has a line.
 */
export function restoredStatements(cluster: string, secret: string, mode: ModeName): readonly string[] {
  const gates = instancesOf(cluster).map((instance) => ({ user: replicationUser(instance), host: '%' }))
  const people = [adminUser, clientUser].map((user) => `${account(user)} ${identifiedBy(user, secret)}`).join(', ')
  return [
    ...agentAccountsAnew(secret),
    ...accountsAnew(gates, secret),
    `CREATE USER IF NOT EXISTS ${people}`,
    `ALTER USER ${people}`,
    ...[adminUser, clientUser].map((user) => `ALTER USER ${account(user)} DISCARD OLD PASSWORD`),
    ...adminGrants(),
    `CREATE DATABASE IF NOT EXISTS ${identifier(clientDatabase)}`,
    `GRANT ALL PRIVILEGES ON ${identifier(clientDatabase)}.* TO ${account(clientUser)}`,
    ...(mode === 'group'
      ? [
          ...createAccount(groupUser, '%', secret),
          `ALTER USER ${account(groupUser)} ${identifiedBy(groupUser, secret)}`,
          ...groupAccountGrants(),
        ]
      : []),
    `CREATE DATABASE IF NOT EXISTS ${identifier(regentSchema)}`,
    // What is recorded of events stays: an event that somebody disabled is told from all others by that alone.
    ...['marker', 'probe', 'account'].map((table) => `DROP TABLE IF EXISTS ${identifier(regentSchema)}.${table}`),
    ...schemaStatements(),
    fingerprintsOfAll,
  ]
}

/** Rows of the marker: a new one need not wait for the lock of one that still waits to be acknowledged. */
export const markerRows = 32

/**
 * Regent's own schema, made where it is missing: a volume may be older than one of its tables. The rows are there from
 * the start: writing them is an update everywhere.
 */
export function schemaStatements(): readonly string[] {
  const id = 'id TINYINT UNSIGNED NOT NULL PRIMARY KEY'
  const ids = Array.from({ length: markerRows }, (_, row) => `(${row}, '')`)
  return [
    `CREATE DATABASE IF NOT EXISTS ${identifier(regentSchema)}`,
    `CREATE TABLE IF NOT EXISTS regent.marker (${id}, token VARCHAR(64) CHARACTER SET ascii NOT NULL) ENGINE=InnoDB`,
    `INSERT IGNORE INTO regent.marker (id, token) VALUES ${ids.join(', ')}`,
    `CREATE TABLE IF NOT EXISTS regent.probe (${id}, beat BIGINT UNSIGNED NOT NULL) ENGINE=InnoDB`,
    'INSERT IGNORE INTO regent.probe (id, beat) VALUES (1, 0)',
    'CREATE TABLE IF NOT EXISTS regent.account (user VARCHAR(32) CHARACTER SET utf8mb4 COLLATE ' +
      'utf8mb4_bin NOT NULL PRIMARY KEY, fingerprint CHAR(64) CHARACTER SET ascii NOT NULL) ' +
      'ENGINE=InnoDB',
  ]
}
