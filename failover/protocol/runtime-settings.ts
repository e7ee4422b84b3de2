import { serverSettings, type ServerFacts } from './server-settings.ts'

/**
 * Managed settings that a running server takes from anybody with the right to set them, and that nobody else here owns:
 * roles set read-only, offline, events and semi-sync. They are looked at with everything else and put right.
 * `my.cnf` is made anew at each start, so what only a start takes is right by then.
 */
const atRuntime = [
  'server_id',
  'log_error_verbosity',
  'log_error_services',
  'gtid_mode',
  'enforce_gtid_consistency',
  'sync_binlog',
  'innodb_flush_log_at_trx_commit',
  'innodb_doublewrite',
  'binlog_order_commits',
  'binlog_checksum',
  'binlog_expire_logs_seconds',
  'relay_log_purge',
  'replica_preserve_commit_order',
  'replica_net_timeout',
  'require_secure_transport',
  // In mode `group` alone. The checks go first: with these on the server takes no single primary.
  'group_replication_enforce_update_everywhere_checks',
  'group_replication_single_primary_mode',
  'group_replication_start_on_boot',
  'group_replication_bootstrap_group',
  'group_replication_communication_stack',
  'group_replication_local_address',
  'group_replication_ssl_mode',
  'group_replication_recovery_use_ssl',
  'group_replication_recovery_get_public_key',
  'group_replication_paxos_single_leader',
  'group_replication_exit_state_action',
  'group_replication_unreachable_majority_timeout',
  'group_replication_member_expel_timeout',
  'group_replication_autorejoin_tries',
  'group_replication_components_stop_timeout',
  'group_replication_message_cache_size',
  'group_replication_clone_threshold',
  'group_replication_recovery_reconnect_interval',
] as const

export type RuntimeSetting = (typeof atRuntime)[number]

export const runtimeSettings: readonly RuntimeSetting[] = atRuntime

/** With these otherwise, what was committed may be nowhere after a crash, or its order proves nothing. */
const durabilityRests: ReadonlySet<string> = new Set<RuntimeSetting>([
  'sync_binlog',
  'innodb_flush_log_at_trx_commit',
  'innodb_doublewrite',
  'binlog_order_commits',
])

export function restsDurabilityOn(name: string): boolean {
  return durabilityRests.has(name)
}

/** These begin another binary log, which waits for every commit under way, and others wait for that. */
const rotating: ReadonlySet<string> = new Set<RuntimeSetting>(['gtid_mode', 'binlog_checksum'])

/** The group as a whole changes these while its members run: by a function, and the server refuses `SET`. */
export const agreedOn: ReadonlySet<string> = new Set<RuntimeSetting>([
  'group_replication_enforce_update_everywhere_checks',
  'group_replication_single_primary_mode',
])

export function isAgreedOn(name: string): boolean {
  return agreedOn.has(name)
}

export function beginsBinlog(name: string): boolean {
  return rotating.has(name)
}

/** What the server's settings are to be, where Regent says so. */
export function wantedAtRuntime(facts: ServerFacts): ReadonlyMap<RuntimeSetting, string> {
  const wanted = new Map<RuntimeSetting, string>()
  for (const name of runtimeSettings) {
    const value = serverSettings.find((setting) => setting.name === name)?.value
    const text = typeof value === 'function' ? value(facts) : value
    if (text !== undefined) wanted.set(name, text)
  }
  return wanted
}

/** The server shows ON as 1 in places, by its version. */
export function isSameValue(seen: string, wanted: string): boolean {
  return plain(seen) === plain(wanted)
}

function plain(value: string): string {
  return value.toUpperCase().replace(/^ON$/, '1').replace(/^OFF$/, '0')
}
