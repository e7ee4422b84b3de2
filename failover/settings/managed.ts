import { groupHost } from '../protocol/group-address.ts'
import type { ModeName } from '../protocol/mode-name.ts'
import { loose, managed, watched, type Setting } from './setting.ts'

/**
 * A hundred years, in milliseconds: the time-out is judged by the wall clock, and its end means "acknowledge without a
 * replica".
 */
export const hundredYearsMs = '3153600000000'

const permanent = (plugin: string, only?: ModeName): Setting =>
  loose(
    managed(
      plugin,
      ({ mode }) => (only === undefined || mode === only ? 'FORCE_PLUS_PERMANENT' : undefined),
      'failovers and copies rest upon this plugin: nobody can uninstall the plugin while the server runs',
    ),
  )

/**
 * Every line of `my.cnf`, with its reason. A server always starts closed: read-only, offline, replication stopped,
 * semi-sync off in both directions. Only its agent opens it (docs/why/safety.md, "A mysqld always starts closed").
 */
export const managedByRegent: readonly Setting[] = [
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
  watched(
    'log_error_verbosity',
    '2',
    'errors and warnings; what the agent looks for is logged at every level, and log_error_suppression_list cannot leave that out',
  ),
  watched(
    'log_error_services',
    'log_filter_internal; log_sink_internal',
    'another filter or sink may leave out how the server ended',
  ),

  managed(
    'bind_address',
    ({ mode, host, otherHosts = [] }) =>
      [...new Set([host, ...otherHosts, ...(mode === 'group' ? [groupHost(host)] : [])])].join(),
    'clients, replicas and members of the group come to these addresses only',
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

  watched(
    'server_id',
    ({ serverId }) => (serverId === undefined ? undefined : String(serverId)),
    'unique in the cluster, and another one for other data: a receiver passes over what carries its own',
  ),
  watched('gtid_mode', 'ON', 'what an instance holds is told by GTID sets', { beginsBinlog: true }),
  watched('enforce_gtid_consistency', 'ON', 'gtid_mode needs it'),
  managed('log_bin', 'binlog', 'every instance can become primary'),
  managed('log_replica_updates', 'ON', 'a promoted replica can serve everything to the others'),
  watched('sync_binlog', '1', 'a primary forgets nothing when its machine crashes', { restsDurability: true }),
  watched('innodb_flush_log_at_trx_commit', '1', 'InnoDB agrees with the binary log after a crash', {
    restsDurability: true,
  }),
  watched('innodb_doublewrite', 'ON', 'a torn page would be a lost instance', { restsDurability: true }),
  watched('binlog_order_commits', 'ON', 'what is not acknowledged is then a suffix of the binary log', {
    restsDurability: true,
  }),
  watched(
    'binlog_error_action',
    'ABORT_SERVER',
    'a server that cannot write its binary log must end, not go on without one',
    {
      restsDurability: true,
    },
  ),
  {
    ...managed('binlog_format', () => undefined, 'a tail can be judged only in row format'),
    watched: { to: 'ROW' },
  },
  watched('innodb_log_checksums', 'ON', 'recovery must tell a torn redo log from a whole one'),
  watched('binlog_checksum', 'CRC32', 'a tail is cut only off a binary log whose events are proven whole', {
    beginsBinlog: true,
  }),
  watched(
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
  watched('relay_log_purge', 'ON', 'applied relay logs would fill the disk'),
  managed('relay_log_space_limit', '0', 'a receiver that waits for space does not acknowledge'),
  managed('skip_replica_start', 'ON', 'whom to follow, and whether, is the agent’s word'),
  watched('replica_preserve_commit_order', 'ON', 'a replica never shows a state that the primary never had'),
  watched('replica_exec_mode', 'STRICT', 'a skipped error is a difference that nobody sees'),
  watched('replica_sql_verify_checksum', 'ON', 'a damaged event in a relay log is never applied'),
  watched('replica_max_allowed_packet', '1073741824', 'a replica takes every event that a primary may write'),
  watched(
    'rpl_stop_replica_timeout',
    '31536000',
    'a statement that returns before a thread has stopped proves nothing',
  ),
  watched(
    'replica_net_timeout',
    '5',
    'a receiver that waits for a silent source can be stopped at once, one that connects to it only ' +
      'after this long. Longer than a failover takes to begin whose leading manager is lost as well; ' +
      'silence is noticed by heartbeats, long before',
  ),

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

  watched(
    'require_secure_transport',
    ({ clientTls }) => (clientTls?.required ? 'ON' : 'OFF'),
    'said beside the certificate for clients, since replicas and the agent come by the same port',
  ),
  managed('secure_file_priv', 'NULL', 'no statement reads or writes files of this machine'),
  managed('performance_schema', 'ON', 'sessions, dump threads, channels and the progress of copies are read there'),
  {
    ...watched(
      'transaction_read_only',
      'OFF',
      'the default of every session: writes of clients would be refused; START TRANSACTION READ ONLY says it for one transaction',
      { refusesWrites: true },
    ),
    bindsAgents: { worst: 'ON', session: 'transaction_read_only = 0' },
  },
  {
    ...watched(
      'max_user_connections',
      '0',
      'it would limit the accounts of replicas too; CREATE USER … WITH MAX_USER_CONNECTIONS limits one account',
    ),
    bindsAgents: { worst: '1', exempt: 'connections to the administrative interface do not count' },
  },
  {
    ...watched(
      'default_password_lifetime',
      '0',
      'passwords of agents and replicas would expire; CREATE USER … PASSWORD EXPIRE INTERVAL says it for one account',
    ),
    bindsAgents: { worst: '1', exempt: 'the default is put right long before a day is over' },
  },
  ...['password_history', 'password_reuse_interval'].map((name) =>
    watched(
      name,
      '0',
      'a replica’s password that another hand changed could not be given back; CREATE USER … PASSWORD HISTORY says it for one account',
    ),
  ),
]
