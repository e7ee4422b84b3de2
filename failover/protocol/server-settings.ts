import { RegentError } from '../../src/common/errors/errors.ts'
import { groupAddress, groupHost } from './group-address.ts'
import type { ModeName } from './mode.ts'

/** What the settings of one server depend on: its agent's configuration, and where things lie on its volume. */
export interface ServerFacts {
  readonly mode: ModeName
  readonly instance: string
  /** Of its data folder (`serverIdOf`); undefined where no server runs there, and to leave that out. */
  readonly serverId?: number | undefined
  readonly host: string
  readonly port: number
  readonly adminPort: number
  readonly pluginDir: string
  readonly shareDir: string
  readonly dataDir: string
  readonly socket: string
  readonly serverPidFile: string
  readonly errorLog: string
  readonly clientTls?: { readonly required: boolean }
}

/** One line of the server's configuration. `managed` ones may not be set by anybody else: safety rests on them. */
export interface ServerSetting {
  readonly name: string
  /** Undefined leaves the server's own default. */
  readonly value: string | ((facts: ServerFacts) => string | undefined)
  readonly managed: boolean
  readonly reason: string
  /**
   * Understood only once a plugin is loaded, or only by some versions: a server that does not know it warns and goes
   * on.
   */
  readonly loose?: true
}

type Value = ServerSetting['value']
const managed = (name: string, value: Value, reason: string): ServerSetting => ({ name, value, managed: true, reason })
const ownDefault = (name: string, value: Value, reason: string): ServerSetting => ({
  name,
  value,
  managed: false,
  reason,
})
/** A setting of the group replication plugin, in mode `group` alone. */
const ofGroup = (name: string, value: string | ((facts: ServerFacts) => string), reason: string): ServerSetting =>
  loose(
    managed(
      `group_replication_${name}`,
      (facts) => (facts.mode === 'group' ? (typeof value === 'function' ? value(facts) : value) : undefined),
      reason,
    ),
  )
const loose = (setting: ServerSetting): ServerSetting => ({ ...setting, loose: true })
const permanent = (plugin: string, only?: ModeName): ServerSetting =>
  loose(
    managed(
      plugin,
      ({ mode }) => (only === undefined || mode === only ? 'FORCE_PLUS_PERMANENT' : undefined),
      'failovers and copies rest upon this plugin: nobody can uninstall the plugin while the server runs',
    ),
  )

/**
 * A hundred years, in milliseconds: the time-out is judged by the wall clock, and its end means "acknowledge without a
 * replica".
 */
export const hundredYearsMs = '3153600000000'

/**
 * Every line of `my.cnf`, with its reason. A server always starts closed: read-only, offline, replication stopped,
 * semi-sync off in both directions. Only its agent opens it (docs/why/safety.md, "A mysqld always starts closed").
 */
export const serverSettings: readonly ServerSetting[] = [
  managed('datadir', ({ dataDir }) => dataDir, 'the instance’s volume'),
  managed('plugin_dir', ({ pluginDir }) => pluginDir || undefined, 'where this server’s own plugins lie'),
  managed('lc_messages_dir', ({ shareDir }) => shareDir || undefined, 'where this server’s own messages lie'),
  managed(
    'character_sets_dir',
    ({ shareDir }) => (shareDir ? `${shareDir}/charsets` : undefined),
    'where this server’s own character sets lie',
  ),
  managed('socket', ({ socket }) => socket, 'the agent’s way in'),
  managed('pid_file', ({ serverPidFile }) => serverPidFile, 'appears when the server’s interfaces are open'),
  managed(
    'log_error',
    ({ errorLog }) => errorLog,
    'tells how a server ended: a shutdown may have acknowledged what waited, a crash has not',
  ),
  managed(
    'log_error_verbosity',
    '2',
    'errors and warnings; what the agent looks for is logged at every level, and log_error_suppression_list cannot leave that out',
  ),
  managed(
    'log_error_services',
    'log_filter_internal; log_sink_internal',
    'another filter or sink may leave out how the server ended',
  ),

  managed(
    'bind_address',
    ({ mode, host }) => [...new Set(mode === 'group' ? [host, groupHost(host)] : [host])].join(),
    'clients, replicas and members of the group come to this address only',
  ),
  managed('port', ({ port }) => String(port), 'the same on every instance'),
  managed('admin_address', ({ host }) => host, 'the agent gets in here when connections are exhausted'),
  managed(
    'admin_port',
    ({ adminPort }) => String(adminPort),
    'the default 33062 lies among the ports that outgoing connections take',
  ),
  managed('create_admin_listener_thread', 'ON', 'a thread of its own: it answers when the others are busy accepting'),
  managed('mysqlx', 'OFF', 'one more door that fencing would have to watch'),
  managed('skip_name_resolve', 'ON', 'a login must not wait for a name server'),
  managed('report_host', ({ host }) => host, 'shown at the source, for people'),
  managed('report_port', ({ port }) => String(port), 'shown at the source, for people'),

  managed(
    'server_id',
    ({ serverId }) => (serverId === undefined ? undefined : String(serverId)),
    'unique in the cluster, and another one for other data: a receiver passes over what carries its own',
  ),
  managed('gtid_mode', 'ON', 'what an instance holds is told by GTID sets'),
  managed('enforce_gtid_consistency', 'ON', 'gtid_mode needs it'),
  managed('log_bin', 'binlog', 'every instance can become primary'),
  managed('log_replica_updates', 'ON', 'a promoted replica can serve everything to the others'),
  managed('sync_binlog', '1', 'a primary forgets nothing when its machine crashes'),
  managed('innodb_flush_log_at_trx_commit', '1', 'InnoDB agrees with the binary log after a crash'),
  managed('innodb_doublewrite', 'ON', 'a torn page would be a lost instance'),
  managed('binlog_order_commits', 'ON', 'what is not acknowledged is then a suffix of the binary log'),
  managed('binlog_checksum', 'CRC32', 'a tail is cut only off a binary log whose events are proven whole'),
  managed(
    'binlog_expire_logs_seconds',
    '0',
    'the agent purges (keepBinlogsSeconds): mysqld does not know who still needs a binlog',
  ),
  loose(
    managed(
      'binlog_expire_logs_auto_purge',
      'OFF',
      'also where somebody sets another time while it runs; since 8.0.29',
    ),
  ),
  managed('relay_log', 'relay-bin', 'the default holds the machine’s name, which changes when a volume moves'),
  managed('relay_log_recovery', 'OFF', 'ON throws away at a restart what this replica has acknowledged'),
  managed('relay_log_purge', 'ON', 'applied relay logs would fill the disk'),
  managed('skip_replica_start', 'ON', 'whom to follow, and whether, is the agent’s word'),
  managed('replica_preserve_commit_order', 'ON', 'a replica never shows a state that the primary never had'),
  managed(
    'replica_net_timeout',
    '5',
    'a receiver that waits for a silent source can be stopped at once, one that connects to it only after this long. Longer than a failover takes to begin whose leading manager is lost as well; silence is noticed by heartbeats, long before',
  ),
  ownDefault('replica_parallel_workers', '4', 'the applier’s backlog is outage at a failover'),
  loose(ownDefault('replica_parallel_type', 'LOGICAL_CLOCK', 'needed for parallel appliers before 8.0.27')),
  ownDefault('max_binlog_size', '268435456', 'only the last binary log is read to judge a tail'),
  ownDefault('net_write_timeout', '30', 'a replica that vanished lets go of its dump thread'),

  managed('super_read_only', 'ON', 'a server starts closed'),
  managed('read_only', 'ON', 'a server starts closed'),
  managed('offline_mode', 'ON', 'nobody reads what recovery brought back before it is known to be acknowledged'),
  managed('event_scheduler', 'OFF', 'events run on the primary only: the agent switches them on when it opens one'),
  managed('persisted_globals_load', 'OFF', 'SET PERSIST super_read_only=OFF would let a returning primary open itself'),
  managed(
    'disabled_storage_engines',
    'MyISAM,MRG_MYISAM,CSV,MEMORY,BLACKHOLE,ARCHIVE,FEDERATED',
    'not crash-safe, not copied by CLONE, or (MEMORY) writing a GTID of its own after a restart',
  ),
  managed(
    'plugin_load_add',
    ({ mode }) =>
      `semisync_source.so;semisync_replica.so;mysql_clone.so${mode === 'group' ? ';group_replication.so' : ''}`,
    'loaded at start, so that no statement has to install them',
  ),
  ...['clone', 'rpl_semi_sync_source', 'rpl_semi_sync_replica'].map((plugin) => permanent(plugin)),
  permanent('group_replication', 'group'),

  loose(managed('rpl_semi_sync_source_enabled', 'OFF', 'a server starts with semi-sync off in both directions')),
  loose(managed('rpl_semi_sync_replica_enabled', 'OFF', 'only what the record counts may acknowledge')),
  loose(
    managed('rpl_semi_sync_source_timeout', hundredYearsMs, 'its end would acknowledge writes that no replica holds'),
  ),
  loose(managed('rpl_semi_sync_source_wait_point', 'AFTER_SYNC', 'nobody sees a write before it is acknowledged')),
  loose(
    managed('rpl_semi_sync_source_wait_no_replica', 'ON', 'losing the replicas must not switch acknowledgements off'),
  ),

  ofGroup('start_on_boot', 'OFF', 'whether a member joins is the agent’s word'),
  ofGroup('bootstrap_group', 'OFF', 'who forms a group is the record’s word: else there would be two groups'),
  ofGroup('single_primary_mode', 'ON', 'one writer at a time'),
  ofGroup('enforce_update_everywhere_checks', 'OFF', 'single_primary_mode needs it'),
  ofGroup(
    'communication_stack',
    'MYSQL',
    'who speaks to a member logs in to its server; with XCOM anybody on an allowed machine may expel members',
  ),
  ofGroup('local_address', groupAddress, 'the MYSQL stack listens where the server listens'),
  ofGroup('ssl_mode', 'REQUIRED', 'members speak TLS with each other'),
  ofGroup('recovery_use_ssl', 'ON', 'the account of the group logs in over TLS'),
  ofGroup('recovery_get_public_key', 'ON', 'caching_sha2_password, where TLS is not there'),
  ofGroup('recovery_reconnect_interval', '2', 'a joiner tries the next donor soon; the default waits for a minute'),
  ofGroup(
    'exit_state_action',
    'OFFLINE_MODE',
    'a member that lost its group answers nobody: neither old reads nor writes',
  ),
  ofGroup(
    'unreachable_majority_timeout',
    '20',
    'the agent closes a member without a majority within its lease, and keeps it in the group, so that the majority can be restored; this is the net below an agent that died',
  ),
  ofGroup(
    'member_expel_timeout',
    '0',
    'the group waits 5 s for a silent member anyhow; one that comes back joins again within seconds',
  ),
  ofGroup('autorejoin_tries', '0', 'the agent joins again, and sooner than after five minutes'),
  ofGroup('components_stop_timeout', '30', 'a stop must end'),
  ofGroup('message_cache_size', '134217728', 'the default takes a gigabyte of memory'),
  ofGroup('clone_threshold', '9223372036854775807', 'the agent makes copies: mysqld could not start itself again'),
  ofGroup('paxos_single_leader', 'OFF', 'with ON a dead primary cannot be expelled before the group’s own time-out'),
  managed(
    'require_secure_transport',
    ({ clientTls }) => (clientTls?.required ? 'ON' : undefined),
    'said beside the certificate for clients, since replicas and the agent come by the same port',
  ),
  managed('secure_file_priv', 'NULL', 'no statement reads or writes files of this machine'),
  ownDefault('max_connections', '500', 'the agent has an interface of its own beside them'),
  ownDefault(
    'innodb_buffer_pool_size',
    '134217728',
    'modest; give it most of the memory of a machine that does nothing else',
  ),
  ownDefault('performance_schema', 'ON', 'dump threads, channels and clone progress are read there'),
  ownDefault('performance_schema_digests_size', '2000', 'statement statistics within modest memory'),
  ownDefault(
    'performance_schema_events_statements_history_long_size',
    '100',
    'histories nobody reads would take memory',
  ),
  ownDefault('performance_schema_events_stages_history_long_size', '100', 'histories nobody reads would take memory'),
  ownDefault('performance_schema_events_waits_history_long_size', '100', 'histories nobody reads would take memory'),
  ownDefault(
    'performance_schema_events_transactions_history_long_size',
    '100',
    'histories nobody reads would take memory',
  ),
]

/**
 * What is never written into `my.cnf`, and nobody else may set either. A name that ends in `*` stands for all that
 * begin so.
 */
const refused: Readonly<Record<string, string>> = {
  daemonize: 'the agent watches the process that it starts',
  initialize: 'the agent initialises, once',
  user: 'the agent starts the server as whoever it runs as itself',
  chroot: 'the agent must find the server’s files',
  basedir: 'where the server’s files lie is given by the agent’s own configuration',
  binlog_do_db: 'a filtered binary log is no proof of what an instance holds',
  binlog_ignore_db: 'a filtered binary log is no proof of what an instance holds',
  binlog_format: 'a tail can be judged only in row format',
  expire_logs_days: 'the agent purges binlogs (keepBinlogsSeconds)',
  gtid_executed_compression_period: 'belongs to GTIDs, which are Regent’s',
  innodb_force_recovery:
    'a server that starts so refuses writes or has lost some, and is no proof of what it holds: take a copy of the volume and use it there',
  tc_heuristic_recover: 'it settles by guess what a crash left open: the binary log says it',
  init_file: 'statements at start would write GTIDs of their own',
  init_replica: 'statements at start would write GTIDs of their own',
  log_bin_index: 'the agent reads the binary logs from the data folder',
  plugin_load: 'it replaces the plugins that Regent loads; INSTALL PLUGIN adds one of yours',
  early_plugin_load: 'it would be loaded while a new instance is initialised',
  relay_log_index: 'the agent reads the relay logs from the data folder',
  'replicate_*': 'a filter leaves out transactions that the GTID set claims to have',
  replica_skip_errors: 'a skipped error is a difference that nobody sees',
  replica_load_tmpdir: 'the agent reads the relay logs from the data folder',
  'group_replication_*': 'membership is what safety rests on',
  'rpl_semi_sync_*': 'acknowledgements are what safety rests on',
  grant_tables: 'accounts are the gates',
  networking: 'clients and replicas come over the network',
  'admin_*': 'the agent’s own interface',
  'mysqlx_*': 'one more door that fencing would have to watch',
}

/** Names of before 8.0.26, which servers still take. */
const formerNames: readonly (readonly [RegExp, string])[] = [
  [/slave/g, 'replica'],
  [/master/g, 'source'],
  [/^server-?id$/, 'server_id'],
  [/^replica_start$/, 'skip_replica_start'],
  [/^name_resolve$/, 'skip_name_resolve'],
]

/** Names of the managed variables, as the server shows them. */
export const managedSettings: readonly string[] = serverSettings
  .filter((setting) => setting.managed)
  .map((setting) => setting.name)

/**
 * Refuses (`REGENT_BAD_REQUEST`) extra settings that are managed, by any spelling the server would take: dashes, old
 * names, `skip_`, `loose_` …, or an abbreviation, and names or values that could begin another line.
 * @param where what they are called where they were given
 */
export function checkServerSettings(extra: Readonly<Record<string, string>>, where = 'serverSettings'): void {
  for (const [name, value] of Object.entries(extra)) {
    if (!/^[A-Za-z][A-Za-z0-9_.-]{0,80}$/.test(name))
      throw new RegentError(
        'REGENT_BAD_REQUEST',
        `${where}: ${JSON.stringify(name.slice(0, 80))} is no name of a server variable`,
      )
    if (typeof value !== 'string' || value.length > 4_096 || /[\x00-\x1f\x7f]/.test(value))
      throw new RegentError('REGENT_BAD_REQUEST', `${where}: the value of ${name} must be one line of text`)
    const why = whyRefused(name)
    if (why !== undefined)
      throw new RegentError('REGENT_BAD_REQUEST', `${where}: ${name} is not for you to set: ${why}`)
  }
}

function whyRefused(given: string): string | undefined {
  const name = canonicalName(given)
  const setting = serverSettings.find((one) => one.managed && covers(one.name, name))
  if (setting) return `Regent manages ${setting.name}: ${setting.reason}`
  const entry = Object.entries(refused).find(([pattern]) => covers(pattern, name))
  return entry?.[1]
}

/**
 * The server takes any unambiguous beginning of a name for the whole. An exact name of an unmanaged setting is meant as
 * it is.
 */
function covers(pattern: string, name: string): boolean {
  if (pattern.endsWith('*')) return name.startsWith(pattern.slice(0, -1))
  const plain = withoutPrefix(pattern)
  if (name === pattern || name === plain) return true
  const known = serverSettings.some((one) => !one.managed && one.name === name)
  return !known && (pattern.startsWith(name) || plain.startsWith(name))
}

/** The name as the server shows it, whatever spelling was given. */
export function canonicalName(given: string): string {
  const spelled = withoutPrefix(
    given
      .toLowerCase()
      .replaceAll('-', '_')
      .replace(/^loose_/, ''),
  )
  return formerNames.reduce((name, [former, now]) => name.replace(former, now), spelled)
}

function withoutPrefix(name: string): string {
  return name.replace(/^(?:skip|disable|enable|maximum)_/, '')
}
