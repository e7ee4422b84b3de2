import { refused, type Setting } from './setting.ts'

const outside = 'data, and what belongs to data, stay on the volume of the instance'
const fact = 'mysqld says it of itself, or it belongs to one session: no configuration sets it'
const acknowledgements = 'acknowledgements are what safety rests on'
const proof = 'a filtered binary log is no proof of what an instance holds'
const readBinlogs = 'the agent reads the binary logs from the data folder'
const readRelayLogs = 'the agent reads the relay logs from the data folder'
const passwords = 'passwords would stand where they do not belong'

/** What is never written into `my.cnf`, and nobody else may set either. */
export const refusedByRegent: readonly Setting[] = [
  ...refused('daemonize gdb', 'the agent watches the process that it starts'),
  ...refused('initialize initialize_insecure', 'the agent initialises, once'),
  ...refused('help verbose validate_config', 'mysqld would end instead of serving'),
  ...refused('user', 'the agent starts the server as whoever it runs as itself'),
  ...refused('chroot', 'the agent must find the server’s files'),
  ...refused('basedir', 'where the server’s files lie is given by the agent’s own configuration'),
  ...refused('upgrade', 'a newer server brings its data up to date by itself'),

  ...refused('binlog_do_db binlog_ignore_db', proof),
  ...refused('expire_logs_days', 'the agent purges binlogs (keepBinlogsSeconds)'),
  ...refused(
    'gtid_executed gtid_executed_compression_period gtid_next gtid_owned gtid_purged binlog_gtid_simple_recovery server_uuid',
    'belongs to GTIDs, which are Regent’s',
  ),
  ...refused('sql_log_bin binlog_direct_non_transactional_updates', 'what is in no binary log is on no replica'),
  ...refused('sql_replica_skip_counter', 'a skipped transaction is a difference that nobody sees'),
  ...refused(
    'binlog_encryption binlog_rotate_encryption_master_key_at_startup',
    'the agent reads binary logs while mysqld is down',
  ),
  ...refused('log_bin_index log_bin_basename', readBinlogs),
  ...refused('relay_log_index relay_log_basename replica_load_tmpdir', readRelayLogs),
  ...refused('max_binlog_dump_events sporadic_binlog_dump_fail', 'a test of MySQL itself, that ends replication'),
  ...refused('server_id_bits', 'the number of an instance is its whole server_id'),

  ...refused(
    'replicate_* replicate_same_server_id',
    'a filter leaves out transactions that the GTID set claims to have',
  ),
  ...refused('replica_skip_errors', 'a skipped error is a difference that nobody sees'),
  ...refused('replica_type_conversions rbr_exec_mode', 'rows that differ from those of the primary are no copy'),
  ...refused('replica_allow_higher_version_source', 'who may follow whom in a rolling update is Regent’s word'),
  ...refused('replication_optimize_for_static_plugin_config replication_sender_observe_commit_only', acknowledgements),
  ...refused(
    'rpl_semi_sync_replica_trace_level rpl_semi_sync_source_trace_level rpl_semi_sync_source_wait_for_replica_count rpl_semi_sync_*',
    acknowledgements,
  ),
  ...refused(
    'source_info_repository relay_log_info_repository source_info_file relay_log_info_file source_retry_count log_bin_use_v1_row_events',
    'how a replica follows is its agent’s word',
  ),
  ...refused('report_user report_password show_replica_auth_info log_raw', passwords),
  ...refused(
    'clone_valid_donor_list clone_ssl_ca clone_ssl_cert clone_ssl_key clone_delay_after_data_drop',
    'copies are made by agents',
  ),

  ...refused(
    'innodb_force_recovery innodb_force_load_corrupted innodb_read_only',
    'a server that starts so refuses writes or has lost some, and is no proof of what it holds: take a copy of the volume and use it there',
  ),
  ...refused('tc_heuristic_recover', 'it settles by guess what a crash left open: the binary log says it'),
  ...refused('log_tc log_tc_size', 'the binary log tells what a crash left open'),
  ...refused('innodb_data_home_dir innodb_log_group_home_dir innodb_undo_directory innodb_doublewrite_dir', outside),
  ...refused(
    'innodb_temp_tablespaces_dir innodb_directories innodb_tmpdir innodb_redo_log_archive_dirs symbolic_links',
    outside,
  ),
  ...refused('innodb_data_file_path innodb_temp_data_file_path innodb_buffer_pool_filename', outside),
  ...refused(
    'tmpdir',
    'a folder that is not there keeps mysqld from starting; temporary files lie where the instance has room for them',
  ),
  ...refused(
    'innodb_redo_log_encrypt innodb_undo_log_encrypt',
    'mysqld does not start without a keyring, and is given none',
  ),
  ...refused('innodb_replication_delay', 'it keeps replicas back while a failover waits for them'),
  ...refused('keyring_*', 'mysqld is given no keyring'),
  ...refused('core_file innodb_buffer_pool_in_core_file', 'a core as large as the memory would fill the volume'),

  ...refused('init_file init_replica', 'statements at start would write GTIDs of their own'),
  ...refused('plugin_load', 'it replaces the plugins that Regent loads; INSTALL PLUGIN adds one of yours'),
  ...refused('early_plugin_load', 'it would be loaded while a new instance is initialised'),
  ...refused('grant_tables skip_grant_tables', 'accounts are the gates'),
  ...refused('networking skip_networking', 'clients and replicas come over the network'),
  ...refused('thread_handling', 'each session has a thread of its own, by which the agent sees and ends the session'),
  ...refused(
    'admin_ssl_ca admin_ssl_capath admin_ssl_cert admin_ssl_cipher admin_ssl_crl admin_ssl_crlpath ' +
      'admin_ssl_key admin_tls_ciphersuites admin_tls_version admin_*',
    'the agent’s own interface',
  ),
  ...refused('mysqlx_*', 'one more door that fencing would have to watch'),
  ...refused(
    'ssl ssl_ca ssl_capath ssl_cert ssl_key ssl_crl ssl_crlpath auto_generate_certs',
    'replicas need TLS, and clients get their certificate from clientTls of the agent’s file, or from spec.tls.secretName',
  ),
  ...refused(
    'caching_sha2_password_auto_generate_rsa_keys caching_sha2_password_private_key_path ' +
      'caching_sha2_password_public_key_path caching_sha2_password_enforce_storage_format ' +
      'sha256_password_auto_generate_rsa_keys sha256_password_private_key_path ' +
      'sha256_password_public_key_path caching_sha2_password_storage_format',
    'agents and replicas log in with caching_sha2_password',
  ),
  ...refused(
    'performance_schema_max_thread_instances performance_schema_max_thread_classes ' +
      'performance_schema_max_metadata_locks performance_schema_max_statement_classes ' +
      'performance_schema_setup_actors_size performance_schema_setup_objects_size ' +
      'performance_schema_instrument performance_schema_consumer_*',
    'with too few of them the agent does not see every session and lock',
  ),
  ...refused('ndb_* ndb ndbcluster ndbinfo ndbinfo_*', 'tables of NDB are in no copy'),

  ...refused(
    'build_id hostname license protocol_version version version_comment version_compile_machine ' +
      'version_compile_os version_compile_zlib version_with_update innodb_version system_time_zone',
    fact,
  ),
  ...refused(
    'have_compress have_dynamic_loading have_geometry have_profiling have_query_cache ' +
      'have_rtree_keys have_statement_timeout have_symlink have_ssl have_openssl',
    fact,
  ),
  ...refused(
    'character_set_system large_files_support large_page_size lower_case_file_system external_locking keyring_operations locked_in_memory',
    fact,
  ),
  ...refused(
    'error_count warning_count external_user proxy_user identity insert_id last_insert_id statement_id timestamp rand_seed1 rand_seed2',
    fact,
  ),
  ...refused(
    'immediate_server_version original_server_version original_commit_timestamp pseudo_replica_mode pseudo_thread_id require_row_format',
    fact,
  ),
  ...refused(
    'resultset_metadata show_create_table_skip_secondary_engine transaction_allow_batching use_secondary_engine',
    fact,
  ),
  ...refused(
    'character_set_client character_set_connection character_set_database character_set_results collation_connection collation_database',
    fact,
  ),
]
