import { fixed, free, loose, ownDefault, within, type Setting } from './setting.ts'
import { bindingAgents } from './sessions.ts'

const memory = 'how much memory mysqld takes for what'
const caches = 'how much of its tables and statements mysqld remembers'
const optimizer = 'how a statement finds its rows'
const written = 'how much is written at a commit, which stays as safe'
const shown = 'what people are shown'
const logs = 'what is logged, and where among mysqld’s own files'
const accounts = 'how people’s accounts log in'
const tls = 'which TLS clients may speak'
const clients = 'how clients connect, and how long mysqld waits for them'
const results = 'what a client’s own statements mean'
const unused = 'about storage engines and features that a cluster does not use'
const histories = 'histories nobody reads would take memory'

const logFile = {
  like: /^[A-Za-z0-9_-]{1,60}\.log$/,
  words: 'a name that ends in .log, without a folder: the data folder',
}

/** What Regent says of free settings where people say nothing. */
const ownDefaults: readonly Setting[] = [
  ownDefault('replica_parallel_workers', '4', 'the applier’s backlog is outage at a failover'),
  loose(ownDefault('replica_parallel_type', 'LOGICAL_CLOCK', 'needed for parallel appliers before 8.0.27')),
  {
    ...ownDefault('max_binlog_size', '268435456', 'only the last binary log is read to judge a tail'),
    only: { atLeast: 1_048_576 },
    watched: { to: '268435456' },
  },
  {
    ...ownDefault('max_connections', '500', 'the agent has an interface of its own beside them'),
    only: { atLeast: 10 },
  },
  ownDefault(
    'innodb_buffer_pool_size',
    '134217728',
    'modest; give it most of the memory of a machine that does nothing else',
  ),
  ownDefault('performance_schema_digests_size', '2000', 'statement statistics within modest memory'),
  ...['statements', 'stages', 'waits', 'transactions'].map((what) =>
    ownDefault(`performance_schema_events_${what}_history_long_size`, '100', histories),
  ),
]

/** Free, but only these values. */
const bounded: readonly Setting[] = [
  within('innodb_flush_method', { oneOf: ['fsync', 'O_DSYNC', 'O_DIRECT'] }, 'what is committed must be on the disk'),
  {
    ...within(
      'innodb_checksum_algorithm',
      { oneOf: ['crc32', 'strict_crc32'] },
      'a damaged page must be told from a whole one',
    ),
    watched: { to: 'crc32' },
  },
  {
    ...within('default_storage_engine', { oneOf: ['InnoDB'] }, 'others are not crash-safe, or not copied by CLONE'),
    watched: { to: 'InnoDB' },
    bindsAgents: { worst: 'MEMORY', session: 'default_storage_engine = InnoDB' },
  },
  {
    ...within(
      'binlog_group_commit_sync_delay',
      { atMost: 100_000 },
      'each commit waits so many microseconds, a marker too',
    ),
    watched: { to: '0' },
  },
  {
    ...within('replica_transaction_retries', { atLeast: 10 }, 'a replica that gives up at a deadlock is seeded again'),
    watched: { to: '10' },
  },
  {
    ...within(
      'max_allowed_packet',
      { atLeast: 2_097_152 },
      'statements of agents must fit in, and CLONE sends packets of 1 MiB and more',
    ),
    watched: { to: '67108864' },
    bindsAgents: { worst: '1024', exempt: 'put right by the first statement of each session' },
  },
  {
    ...within(
      'protocol_compression_algorithms',
      { like: /(^|,)\s*uncompressed\s*(,|$)/i, words: 'a list with uncompressed in it' },
      'agents and replicas do not compress',
    ),
    watched: { to: 'zlib,zstd,uncompressed' },
    bindsAgents: { worst: 'zstd', exempt: 'put right by sessions that are open, else by the next start of mysqld' },
  },
  within('thread_stack', { atLeast: 1_048_576 }, 'statements of agents must not end for want of a stack'),
  within('open_files_limit', { atLeast: 1_024 }, 'sessions, tables and binary logs each need some'),
  {
    ...within('innodb_max_purge_lag', { oneOf: ['0'] }, 'a primary that delays each write by seconds looks frozen'),
    watched: { to: '0' },
  },
  within('tls_version', { like: /TLSv1\.[23]/i, words: 'TLSv1.2, TLSv1.3 or both' }, 'replicas need TLS'),
  within('slow_query_log_file', logFile, 'mysqld writes to any file that it may write to'),
  within('general_log_file', logFile, 'mysqld writes to any file that it may write to'),
  fixed('0', within('lower_case_table_names', { oneOf: ['0', '1'] }, 'the data dictionary is made for one of them')),
  fixed(
    '16384',
    within(
      'innodb_page_size',
      { oneOf: ['4096', '8192', '16384', '32768', '65536', '4k', '8k', '16k', '32k', '64k'] },
      'tablespaces are made of pages of one size',
    ),
  ),
]

const people: readonly Setting[] = [
  ...free(
    'binlog_cache_size binlog_group_commit_sync_no_delay_count binlog_max_flush_queue_time ' +
      'binlog_row_event_max_size binlog_row_image binlog_row_metadata binlog_row_value_options ' +
      'binlog_rows_query_log_events binlog_stmt_cache_size binlog_transaction_compression ' +
      'binlog_transaction_compression_level_zstd binlog_transaction_dependency_history_size ' +
      'binlog_transaction_dependency_tracking transaction_write_set_extraction max_binlog_cache_size ' +
      'max_binlog_stmt_cache_size max_relay_log_size',
    written,
  ),
  ...free(
    'replica_allow_batching replica_checkpoint_group replica_checkpoint_period ' +
      'replica_compressed_protocol replica_pending_jobs_size_max replica_rows_search_algorithms ' +
      'rpl_read_size source_verify_checksum sync_relay_log sync_relay_log_info sync_source_info',
    'how a replica receives and applies what it acknowledges, which stays on its disk',
  ),
  ...free(
    'clone_autotune_concurrency clone_block_ddl clone_buffer_size clone_ddl_timeout ' +
      'clone_donor_timeout_after_network_failure clone_enable_compression clone_max_concurrency ' +
      'clone_max_data_bandwidth clone_max_network_bandwidth',
    'how fast a copy is made',
  ),
  ...free(
    'innodb_adaptive_flushing innodb_adaptive_flushing_lwm innodb_autoextend_increment ' +
      'innodb_doublewrite_batch_size innodb_doublewrite_files innodb_doublewrite_pages ' +
      'innodb_extend_and_initialize innodb_fast_shutdown innodb_fill_factor ' +
      'innodb_flush_log_at_timeout innodb_flush_neighbors innodb_flush_sync innodb_flushing_avg_loops ' +
      'innodb_fsync_threshold innodb_idle_flush_pct innodb_io_capacity innodb_io_capacity_max ' +
      'innodb_log_compressed_pages innodb_log_file_size innodb_log_files_in_group ' +
      'innodb_log_spin_cpu_abs_lwm innodb_log_spin_cpu_pct_hwm innodb_log_wait_for_flush_spin_hwm ' +
      'innodb_log_write_ahead_size innodb_log_writer_threads innodb_lru_scan_depth ' +
      'innodb_max_dirty_pages_pct innodb_max_dirty_pages_pct_lwm innodb_max_purge_lag_delay ' +
      'innodb_max_undo_log_size innodb_page_cleaners innodb_purge_batch_size ' +
      'innodb_purge_rseg_truncate_frequency innodb_purge_threads innodb_random_read_ahead ' +
      'innodb_read_ahead_threshold innodb_read_io_threads innodb_redo_log_capacity ' +
      'innodb_rollback_segments innodb_segment_reserve_factor innodb_undo_log_truncate ' +
      'innodb_undo_tablespaces innodb_use_fdatasync innodb_use_native_aio ' +
      'innodb_validate_tablespace_paths innodb_write_io_threads',
    'how InnoDB writes and reads its files',
  ),
  ...free(
    'innodb_adaptive_hash_index innodb_adaptive_hash_index_parts innodb_adaptive_max_sleep_delay ' +
      'innodb_autoinc_lock_mode innodb_change_buffer_max_size innodb_change_buffering ' +
      'innodb_commit_concurrency innodb_compression_failure_threshold_pct innodb_compression_level ' +
      'innodb_compression_pad_pct_max innodb_concurrency_tickets innodb_ddl_threads ' +
      'innodb_deadlock_detect innodb_default_row_format innodb_disable_sort_file_cache ' +
      'innodb_file_per_table innodb_native_foreign_keys innodb_old_blocks_pct innodb_old_blocks_time ' +
      'innodb_online_alter_log_max_size innodb_parallel_read_threads innodb_rollback_on_timeout ' +
      'innodb_spin_wait_delay innodb_spin_wait_pause_multiplier innodb_stats_auto_recalc ' +
      'innodb_stats_include_delete_marked innodb_stats_method innodb_stats_on_metadata ' +
      'innodb_stats_persistent innodb_stats_persistent_sample_pages ' +
      'innodb_stats_transient_sample_pages innodb_strict_mode innodb_sync_array_size ' +
      'innodb_sync_spin_loops innodb_table_locks innodb_thread_concurrency innodb_thread_sleep_delay',
    'how InnoDB works on rows and tables',
  ),
  ...free(
    'innodb_ft_aux_table innodb_ft_cache_size innodb_ft_enable_diag_print innodb_ft_enable_stopword ' +
      'innodb_ft_max_token_size innodb_ft_min_token_size innodb_ft_num_word_optimize ' +
      'innodb_ft_result_cache_limit innodb_ft_server_stopword_table innodb_ft_sort_pll_degree ' +
      'innodb_ft_total_cache_size innodb_ft_user_stopword_table innodb_optimize_fulltext_only ' +
      'ft_boolean_syntax ft_max_word_len ft_min_word_len ft_query_expansion_limit ft_stopword_file ' +
      'ngram ngram_token_size',
    'how a full-text index is made',
  ),
  ...free(
    'innodb_buffer_pool_chunk_size innodb_buffer_pool_dump_at_shutdown innodb_buffer_pool_dump_now ' +
      'innodb_buffer_pool_dump_pct innodb_buffer_pool_instances innodb_buffer_pool_load_abort ' +
      'innodb_buffer_pool_load_at_startup innodb_buffer_pool_load_now innodb_ddl_buffer_size ' +
      'innodb_dedicated_server innodb_log_buffer_size innodb_numa_interleave innodb_open_files ' +
      'innodb_sort_buffer_size bulk_insert_buffer_size connection_memory_chunk_size ' +
      'connection_memory_status_limit container_aware server_memory global_connection_memory_limit ' +
      'global_connection_memory_status_limit global_connection_memory_tracking ' +
      'histogram_generation_max_mem_size internal_tmp_mem_storage_engine join_buffer_size large_pages ' +
      'super_large_pages memlock max_heap_table_size net_buffer_length optimizer_trace_max_mem_size ' +
      'parser_max_mem_size preload_buffer_size query_alloc_block_size query_prealloc_size ' +
      'range_alloc_block_size range_optimizer_max_mem_size read_buffer_size read_rnd_buffer_size ' +
      'select_into_buffer_size set_operations_buffer_size sort_buffer_size temptable_max_mmap ' +
      'temptable_max_ram temptable_use_mmap tmp_table_size transaction_alloc_block_size ' +
      'transaction_prealloc_size big_tables',
    memory,
  ),
  ...free(
    'performance_schema_accounts_size performance_schema_error_size ' +
      'performance_schema_events_stages_history_size performance_schema_events_statements_history_size ' +
      'performance_schema_events_transactions_history_size ' +
      'performance_schema_events_waits_history_size performance_schema_hosts_size ' +
      'performance_schema_max_cond_classes performance_schema_max_cond_instances ' +
      'performance_schema_max_digest_length performance_schema_max_digest_sample_age ' +
      'performance_schema_max_file_classes performance_schema_max_file_handles ' +
      'performance_schema_max_file_instances performance_schema_max_index_stat ' +
      'performance_schema_max_logger_classes performance_schema_max_memory_classes ' +
      'performance_schema_max_meter_classes performance_schema_max_metric_classes ' +
      'performance_schema_max_mutex_classes performance_schema_max_mutex_instances ' +
      'performance_schema_max_prepared_statements_instances performance_schema_max_program_instances ' +
      'performance_schema_max_rwlock_classes performance_schema_max_rwlock_instances ' +
      'performance_schema_max_socket_classes performance_schema_max_socket_instances ' +
      'performance_schema_max_sql_text_length performance_schema_max_stage_classes ' +
      'performance_schema_max_statement_stack performance_schema_max_table_handles ' +
      'performance_schema_max_table_instances performance_schema_max_table_lock_stat ' +
      'performance_schema_session_connect_attrs_size performance_schema_show_processlist ' +
      'performance_schema_users_size performance_schema_logger performance_schema_meter',
    'how much people see of their statements; what the agent reads is kept whatever these say',
  ),
  ...free(
    'host_cache_size information_schema_stats_expiry max_digest_length max_prepared_stmt_count ' +
      'schema_definition_cache stored_program_cache stored_program_definition_cache ' +
      'table_definition_cache table_open_cache table_open_cache_instances table_open_cache_triggers ' +
      'tablespace_definition_cache thread_cache_size',
    caches,
  ),
  ...free(
    'eq_range_index_dive_limit max_length_for_sort_data max_seeks_for_key ' +
      'optimizer_max_subgraph_pairs optimizer_prune_level optimizer_search_depth optimizer_switch ' +
      'optimizer_trace optimizer_trace_features optimizer_trace_limit optimizer_trace_offset ' +
      'secondary_engine_cost_threshold enable_secondary_engine_statistics',
    optimizer,
  ),
  ...free(
    'general_log innodb_cmp_per_index_enabled innodb_monitor_disable innodb_monitor_enable ' +
      'innodb_monitor_reset innodb_monitor_reset_all innodb_print_all_deadlocks innodb_print_ddl_logs ' +
      'innodb_status_file innodb_status_output innodb_status_output_locks log_error_suppression_list ' +
      'log_isam log_output log_queries_not_using_indexes log_short_format log_slow_admin_statements ' +
      'log_slow_extra log_slow_replica_statements log_statements_unsafe_for_binlog ' +
      'log_throttle_queries_not_using_indexes log_timestamps long_query_time min_examined_row_limit ' +
      'slow_launch_time slow_query_log sql_log_off',
    logs,
  ),
  ...free(
    'end_markers_in_json explain_format explain_json_format_version lc_time_names max_error_count ' +
      'print_identified_with_as_hex profiling profiling_history_size session_track_schema ' +
      'session_track_state_change session_track_system_variables session_track_transaction_info ' +
      'show_create_table_verbosity show_gipk_in_create_table_and_information_schema show_old_temporals ' +
      'skip_show_database sql_notes sql_quote_show_create sql_warnings',
    shown,
  ),
  ...free(
    'activate_all_roles_on_login activate_mandatory_roles automatic_sp_privileges ' +
      'caching_sha2_password_digest_rounds caching_sha2_password_proxy_users check_proxy_users ' +
      'default_authentication_plugin disconnect_on_expired_password generated_random_password_length ' +
      'mandatory_roles mysql_native_password mysql_native_password_proxy_users partial_revokes ' +
      'password_require_current persist_only_admin_x509_subject ' +
      'persist_sensitive_variables_in_plaintext safe_user_create sha256_password_proxy_users',
    accounts,
  ),
  ...free(
    'ssl_cipher ssl_fips_mode ssl_session_cache_mode ssl_session_cache_timeout tls_certificates_enforced_validation tls_ciphersuites',
    tls,
  ),
  ...free('back_log connect_timeout net_retry_count port_open_timeout', clients),
  ...free(
    'auto_increment_increment auto_increment_offset block_encryption_mode ' +
      'character_set_client_handshake collation_server ' +
      'cte_max_recursion_depth default_collation_for_utf8mb4 default_week_format ' +
      'div_precision_increment enable_cascade_triggers explicit_defaults_for_timestamp ' +
      'foreign_key_checks local_infile log_bin_trust_function_creators ' +
      'max_points_in_geometry max_sort_length max_sp_recursion_depth old_alter_table ' +
      'regexp_stack_limit regexp_time_limit restrict_fk_on_non_standard_key select_into_disk_sync ' +
      'select_into_disk_sync_delay sql_buffer_result sql_generate_invisible_primary_key sysdate_is_now ' +
      'table_encryption_privilege_check unique_checks updatable_views_with_limit ' +
      'windowing_use_high_precision xa_detach_on_prepare',
    results,
  ),
  ...free(
    'allow_suspicious_udfs skip_external_locking archive avoid_temporal_upgrade blackhole ' +
      'check_table_functions concurrent_insert delay_key_write delayed_insert_limit ' +
      'delayed_insert_timeout delayed_queue_size external_table_secondary_storage_engine ' +
      'external_table_storage_engine federated flush flush_time innodb_api_bk_commit_interval ' +
      'innodb_api_disable_rowlock innodb_api_enable_binlog innodb_api_enable_mdl innodb_api_trx_level ' +
      'keep_files_on_create key_buffer_size key_cache_age_threshold key_cache_block_size ' +
      'key_cache_division_limit low_priority_updates max_delayed_threads max_insert_delayed_threads ' +
      'max_write_lock_count myisam_block_size myisam_data_pointer_size myisam_max_sort_file_size ' +
      'myisam_mmap_size myisam_recover_options myisam_sort_buffer_size myisam_stats_method ' +
      'myisam_use_mmap new old validate_user_plugins',
    unused,
  ),
]

export const freeForPeople: readonly Setting[] = [...ownDefaults, ...bounded, ...bindingAgents, ...people]
