import type { Channel, ChangedSetting } from '#topology/snapshot/observation.ts'

/**
 * Which thread of a replica is stopped while the option is changed. With the other thread running the server keeps
 * what was received and not applied; with both stopped it throws that away, whatever the statement says (tried on
 * 9.7.4). What only a server takes that has both stopped waits until everything is applied.
 */
export type StoppedThread = 'receiver' | 'applier' | 'both'

/** An option of the replication channel that Regent sets, or relies on as the server has it by default. */
export interface ChannelOption {
  /** In `CHANGE REPLICATION SOURCE TO`. */
  readonly name: string
  /** In `performance_schema.replication_connection_configuration` or `replication_applier_configuration`. */
  readonly column: string
  /** As the server shows it; `NULL` for nothing. */
  readonly wanted: string
  /** As the statement takes it. */
  readonly sql: string
  readonly stopped: StoppedThread
  /** Not what a new channel has by itself: set with each change of source. */
  readonly isOwn?: true
}

/**
 * Retries, one a second: thirty years. Not 0, which the manual calls infinite and the server's code does not treat so
 * everywhere.
 */
const retryCount = '1000000000'

/** Host, port, account and password are the source's own, and are set with it. */
const options: readonly ChannelOption[] = [
  { name: 'SOURCE_DELAY', column: 'DESIRED_DELAY', wanted: '0', sql: '0', stopped: 'applier' },
  { name: 'PRIVILEGE_CHECKS_USER', column: 'PRIVILEGE_CHECKS_USER', wanted: 'NULL', sql: 'NULL', stopped: 'applier' },
  {
    name: 'REQUIRE_TABLE_PRIMARY_KEY_CHECK',
    column: 'REQUIRE_TABLE_PRIMARY_KEY_CHECK',
    wanted: 'STREAM',
    sql: 'STREAM',
    stopped: 'applier',
  },
  {
    name: 'SOURCE_CONNECT_RETRY',
    column: 'CONNECTION_RETRY_INTERVAL',
    wanted: '1',
    sql: '1',
    stopped: 'receiver',
    isOwn: true,
  },
  {
    name: 'SOURCE_RETRY_COUNT',
    column: 'CONNECTION_RETRY_COUNT',
    wanted: retryCount,
    sql: retryCount,
    stopped: 'receiver',
    isOwn: true,
  },
  {
    name: 'SOURCE_HEARTBEAT_PERIOD',
    column: 'HEARTBEAT_INTERVAL',
    wanted: '0.5',
    sql: '0.5',
    stopped: 'receiver',
    isOwn: true,
  },
  {
    name: 'GET_SOURCE_PUBLIC_KEY',
    column: 'GET_PUBLIC_KEY',
    wanted: 'YES',
    sql: '1',
    stopped: 'receiver',
    isOwn: true,
  },
  { name: 'SOURCE_PUBLIC_KEY_PATH', column: 'PUBLIC_KEY_PATH', wanted: '', sql: "''", stopped: 'receiver' },
  { name: 'SOURCE_BIND', column: 'NETWORK_INTERFACE', wanted: '', sql: "''", stopped: 'receiver' },
  { name: 'NETWORK_NAMESPACE', column: 'NETWORK_NAMESPACE', wanted: '', sql: "''", stopped: 'receiver' },
  {
    name: 'SOURCE_COMPRESSION_ALGORITHMS',
    column: 'COMPRESSION_ALGORITHM',
    wanted: 'uncompressed',
    sql: "'uncompressed'",
    stopped: 'receiver',
  },
  { name: 'SOURCE_SSL_CA', column: 'SSL_CA_FILE', wanted: '', sql: "''", stopped: 'receiver' },
  { name: 'SOURCE_SSL_CAPATH', column: 'SSL_CA_PATH', wanted: '', sql: "''", stopped: 'receiver' },
  { name: 'SOURCE_SSL_CERT', column: 'SSL_CERTIFICATE', wanted: '', sql: "''", stopped: 'receiver' },
  { name: 'SOURCE_SSL_KEY', column: 'SSL_KEY', wanted: '', sql: "''", stopped: 'receiver' },
  { name: 'SOURCE_SSL_CIPHER', column: 'SSL_CIPHER', wanted: '', sql: "''", stopped: 'receiver' },
  { name: 'SOURCE_SSL_CRL', column: 'SSL_CRL_FILE', wanted: '', sql: "''", stopped: 'receiver' },
  { name: 'SOURCE_SSL_CRLPATH', column: 'SSL_CRL_PATH', wanted: '', sql: "''", stopped: 'receiver' },
  {
    name: 'SOURCE_SSL_VERIFY_SERVER_CERT',
    column: 'SSL_VERIFY_SERVER_CERTIFICATE',
    wanted: 'NO',
    sql: '0',
    stopped: 'receiver',
  },
  { name: 'SOURCE_TLS_VERSION', column: 'TLS_VERSION', wanted: '', sql: "''", stopped: 'receiver' },
  { name: 'SOURCE_TLS_CIPHERSUITES', column: 'TLS_CIPHERSUITES', wanted: 'NULL', sql: 'NULL', stopped: 'receiver' },
  { name: 'REQUIRE_ROW_FORMAT', column: 'REQUIRE_ROW_FORMAT', wanted: 'NO', sql: '0', stopped: 'both' },
  { name: 'GTID_ONLY', column: 'GTID_ONLY', wanted: '0', sql: '0', stopped: 'both' },
  {
    name: 'SOURCE_CONNECTION_AUTO_FAILOVER',
    column: 'SOURCE_CONNECTION_AUTO_FAILOVER',
    wanted: '0',
    sql: '0',
    stopped: 'both',
  },
  {
    name: 'ASSIGN_GTIDS_TO_ANONYMOUS_TRANSACTIONS',
    column: 'ASSIGN_GTIDS_TO_ANONYMOUS_TRANSACTIONS_TYPE',
    wanted: 'OFF',
    sql: 'OFF',
    stopped: 'both',
  },
  { name: 'SOURCE_AUTO_POSITION', column: 'AUTO_POSITION', wanted: '1', sql: '1', stopped: 'both' },
]

const encryption: ChannelOption = {
  name: 'SOURCE_SSL',
  column: 'SSL_ALLOWED',
  wanted: 'YES',
  sql: '1',
  stopped: 'receiver',
  isOwn: true,
}

/** @param encrypts what is received comes over TLS, or not at all; else either is well */
export function channelOptions(encrypts: boolean): readonly ChannelOption[] {
  return encrypts ? [...options, encryption] : options
}

/**
 * Options of this channel that are otherwise than they are to be, of those that are changed with this thread stopped.
 */
export function changedOptions(channel: Channel | null | undefined, stopped: StoppedThread): readonly ChangedSetting[] {
  const named = new Set([...options, encryption].filter((option) => option.stopped === stopped).map(({ name }) => name))
  return (channel?.changedOptions ?? []).filter(({ name }) => named.has(name))
}

/** Servers show numbers with more or fewer digits, by their version. */
export function isSameOption(seen: string, wanted: string): boolean {
  if (seen.toUpperCase() === wanted.toUpperCase()) return true
  return seen !== '' && wanted !== '' && Number(seen) === Number(wanted)
}
