import type { ModeName } from '../../failover/protocol/mode.ts'
import { passwordFor } from '../../src/common/mysql/account-password.ts'
import { instanceName, mostInstances, type InstanceName } from '../../topology/snapshot/member.ts'
import { replicationUser } from '../ports/server.ts'

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
export const clientDatabase = 'app'
export const regentSchema = 'regent'

/**
 * Every instance that a cluster can have: the accounts of all are there from the start, so that one that is added finds
 * its own wherever it is sent.
 */
export function instancesOf(cluster: string): readonly InstanceName[] {
  return Array.from({ length: mostInstances }, (_, ordinal) => instanceName(cluster, ordinal))
}

/**
 * A string literal of SQL. Refuses what no name or password of Regent's holds, rather than trusting an escape under
 * every sql_mode.
 */
export function literal(text: string): string {
  if (/[\x00-\x1f\\]/.test(text))
    throw new TypeError('a text with control characters or backslashes is no SQL literal here')
  return `'${text.replaceAll("'", "''")}'`
}

/** A quoted identifier of SQL. */
export function identifier(name: string): string {
  return `\`${name.replaceAll('`', '``')}\``
}

/** `'user'@'host'` of SQL. */
export function account(user: string, host = '%'): string {
  return `${literal(user)}@${literal(host)}`
}

/**
 * What a new server is given before anybody can reach it, without binary log: the same on every instance, so that
 * neither replication nor a copy changes it. One statement per line, as `--init-file` wants it. `root` is removed:
 * there is no account whose password is not derived from the secret.
 */
export function initialStatements(cluster: string, secret: string, mode: ModeName): readonly string[] {
  return [
    'SET SESSION sql_log_bin = 0',
    ...createAccount(agentUser, 'localhost', secret),
    ...createAccount(agentUser, agentHost, secret),
    ...['localhost', agentHost].map(
      (host) => `GRANT ALL PRIVILEGES ON *.* TO ${account(agentUser, host)} WITH GRANT OPTION`,
    ),
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
    String.raw`INSERT INTO regent.account (user, fingerprint) SELECT user, SHA2(authentication_string, 256) FROM mysql.user WHERE user LIKE 'regent\_r\_%'`,
    `DROP USER ${account('root', 'localhost')}`,
  ]
}

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
 * Remembers what an account's password looks like stored, so that a change by another hand shows without trying to log
 * in.
 */
export function recordFingerprint(user: string): string {
  return `REPLACE INTO regent.account (user, fingerprint) SELECT user, SHA2(authentication_string, 256) FROM mysql.user WHERE user = ${literal(user)} AND host = '%'`
}

/**
 * Makes an instance's replication account, unlocked. CONNECTION_ADMIN: replication goes on while a server is offline to
 * everyone else.
 */
export function replicationAccount(instance: InstanceName, secret: string): readonly string[] {
  const user = replicationUser(instance)
  return [
    ...createAccount(user, '%', secret),
    `GRANT REPLICATION SLAVE ON *.* TO ${account(user)}`,
    `GRANT CONNECTION_ADMIN, BACKUP_ADMIN ON *.* TO ${account(user)}`,
  ]
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
  return [
    `CREATE USER IF NOT EXISTS ${account(user, host)} IDENTIFIED WITH caching_sha2_password BY ${literal(passwordFor(secret, user))}`,
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
    'CREATE TABLE IF NOT EXISTS regent.account (user VARCHAR(32) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL PRIMARY KEY, fingerprint CHAR(64) CHARACTER SET ascii NOT NULL) ENGINE=InnoDB',
  ]
}
