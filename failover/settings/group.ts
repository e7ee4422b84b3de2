import { groupAddress } from '../protocol/group-address.ts'
import { loose, refused, watched, type ServerFacts, type Setting } from './setting.ts'

type Value = string | ((facts: ServerFacts) => string)

/** Settings of the group replication plugin, in mode `group` alone. */
const agreedByGroup = (name: string, value: Value, reason: string): Setting =>
  loose(watched(`group_replication_${name}`, inGroup(value), reason, { agreedOn: true }))
const watchedOfGroup = (name: string, value: Value, reason: string): Setting =>
  loose(watched(`group_replication_${name}`, inGroup(value), reason))

function inGroup(value: Value): (facts: ServerFacts) => string | undefined {
  return (facts) => (facts.mode !== 'group' ? undefined : typeof value === 'function' ? value(facts) : value)
}

export const managedOfGroup: readonly Setting[] = [
  watchedOfGroup('start_on_boot', 'OFF', 'whether a member joins is the agent’s word'),
  watchedOfGroup('bootstrap_group', 'OFF', 'who forms a group is the record’s word: else there would be two groups'),
  // The checks go first: with these on the server takes no single primary.
  agreedByGroup('enforce_update_everywhere_checks', 'OFF', 'single_primary_mode needs it'),
  agreedByGroup('single_primary_mode', 'ON', 'one writer at a time'),
  watchedOfGroup(
    'communication_stack',
    'MYSQL',
    'who speaks to a member logs in to its server; with XCOM anybody on an allowed machine may expel members',
  ),
  watchedOfGroup('local_address', groupAddress, 'the MYSQL stack listens where the server listens'),
  watchedOfGroup('ssl_mode', 'REQUIRED', 'members speak TLS with each other'),
  watchedOfGroup('recovery_use_ssl', 'ON', 'the account of the group logs in over TLS'),
  watchedOfGroup('recovery_get_public_key', 'ON', 'caching_sha2_password, where TLS is not there'),
  watchedOfGroup(
    'recovery_reconnect_interval',
    '2',
    'a joiner tries the next donor soon; the default waits for a minute',
  ),
  watchedOfGroup(
    'exit_state_action',
    'OFFLINE_MODE',
    'a member that lost its group answers nobody: neither old reads nor writes',
  ),
  watchedOfGroup(
    'unreachable_majority_timeout',
    '20',
    'the agent closes a member without a majority within its lease, and keeps it in the group, so ' +
      'that the majority can be restored; this is the net below an agent that died',
  ),
  watchedOfGroup(
    'member_expel_timeout',
    '0',
    'the group waits 5 s for a silent member anyhow; one that comes back joins again within seconds',
  ),
  watchedOfGroup('autorejoin_tries', '0', 'the agent joins again, and sooner than after five minutes'),
  watchedOfGroup('components_stop_timeout', '30', 'a stop must end'),
  watchedOfGroup('message_cache_size', '134217728', 'the default takes a gigabyte of memory'),
  watchedOfGroup(
    'clone_threshold',
    '9223372036854775807',
    'the agent makes copies: mysqld could not start itself again',
  ),
  watchedOfGroup(
    'paxos_single_leader',
    'OFF',
    'with ON a dead primary cannot be expelled before the group’s own time-out',
  ),
]

/** The rest of the plugin’s settings: its own values are the right ones, or the agent sets them. */
export const refusedOfGroup: readonly Setting[] = refused(
  'group_replication_advertise_recovery_endpoints group_replication_auto_increment_increment ' +
    'group_replication_communication_debug_options group_replication_communication_max_message_size ' +
    'group_replication_compression_threshold group_replication_consistency ' +
    'group_replication_flow_control_applier_threshold ' +
    'group_replication_flow_control_certifier_threshold group_replication_flow_control_hold_percent ' +
    'group_replication_flow_control_max_quota group_replication_flow_control_member_quota_percent ' +
    'group_replication_flow_control_min_quota group_replication_flow_control_min_recovery_quota ' +
    'group_replication_flow_control_mode group_replication_flow_control_period ' +
    'group_replication_flow_control_release_percent group_replication_force_members ' +
    'group_replication_group_name group_replication_group_seeds ' +
    'group_replication_gtid_assignment_block_size group_replication_ip_allowlist ' +
    'group_replication_member_weight group_replication_poll_spin_loops ' +
    'group_replication_preemptive_garbage_collection ' +
    'group_replication_preemptive_garbage_collection_rows_threshold ' +
    'group_replication_recovery_compression_algorithms group_replication_recovery_public_key_path ' +
    'group_replication_recovery_retry_count group_replication_recovery_ssl_ca ' +
    'group_replication_recovery_ssl_capath group_replication_recovery_ssl_cert ' +
    'group_replication_recovery_ssl_cipher group_replication_recovery_ssl_crl ' +
    'group_replication_recovery_ssl_crlpath group_replication_recovery_ssl_key ' +
    'group_replication_recovery_ssl_verify_server_cert group_replication_recovery_tls_ciphersuites ' +
    'group_replication_recovery_tls_version group_replication_recovery_zstd_compression_level ' +
    'group_replication_tls_source group_replication_transaction_size_limit ' +
    'group_replication_view_change_uuid group_replication_*',
  'membership is what safety rests on',
)
