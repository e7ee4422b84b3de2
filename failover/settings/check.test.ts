import { describe, expect, it } from 'vitest'
import { changedFixedSettings, checkServerSettings } from './check.ts'
import { managedSettings } from './table.ts'

function check(settings: Readonly<Record<string, string>>, allowUnclassified: readonly string[] = []): void {
  checkServerSettings({ settings, allowUnclassified, where: 'serverSettings' })
}

describe('the settings of a server', () => {
  it.each(managedSettings.map((name) => [name] as const))('refuses to let %s be set by anybody else', (name) => {
    for (const spelling of [name, name.toUpperCase(), name.replaceAll('_', '-'), `loose_${name}`, `skip_${name}`]) {
      expect(() => check({ [spelling]: '1' }), spelling).toThrow(
        expect.objectContaining({ code: 'REGENT_BAD_REQUEST' }),
      )
    }
  })

  it.each([
    ['log_slave_updates'],
    ['skip-slave-start'],
    ['rpl_semi_sync_master_timeout'],
    ['skip-log-bin'],
    ['disable-log-bin'],
    ['replicate-do-db'],
    ['slave_skip_errors'],
    ['skip-networking'],
    ['skip-grant-tables'],
    ['server-id'],
    ['init-file'],
    ['initialize'],
    ['group_replication_of_a_newer_version'],
    ['relay_log_recov'],
    ['sync_binl'],
  ])('sees through the spelling %s', (name) => {
    expect(() => check({ [name]: '1' })).toThrow(/is not for you to set: .{10}/)
  })

  it.each([
    ['two lines', { long_query_time: '1\nread_only=OFF' }],
    ['another section', { '[mysqld': '1' }],
    ['an empty name', { '': '1' }],
    ['a value too long', { sql_mode: 'x'.repeat(5_000) }],
  ])('refuses %s', (_, extra) => {
    expect(() => check(extra)).toThrow(expect.objectContaining({ code: 'REGENT_BAD_REQUEST' }))
  })

  it.each([
    ['long_query_time', '1'],
    ['innodb_buffer_pool_size', '1G'],
    ['replica_parallel_workers', '1'],
    ['slave_parallel_workers', '1'],
    ['log_error_suppression_list', 'MY-010055'],
    ['max_connections', '1000'],
    ['default-time-zone', '+01:00'],
    ['loose_clone_max_data_bandwidth', '8'],
    ['skip-external-locking', '1'],
    ['skip_innodb_adaptive_hash_index', '1'],
    ['innodb_flush_method', 'o_direct'],
    ['max_allowed_packet', '128M'],
    ['general_log_file', 'queries.log'],
  ])('lets %s be set to %s', (name, value) => {
    expect(() => check({ [name]: value })).not.toThrow()
  })

  it.each([
    ['binlog_error_action', 'IGNORE_ERROR', /Regent manages binlog_error_action: a server that cannot write/],
    ['replica_exec_mode', 'IDEMPOTENT', /Regent manages replica_exec_mode/],
    ['relay_log_space_limit', '4096', /Regent manages relay_log_space_limit/],
    ['performance_schema', 'OFF', /Regent manages performance_schema/],
    ['innodb_log_group_home_dir', '/tmp', /innodb_log_group_home_dir is not for you to set: data, and what belongs to/],
    ['innodb_undo_directory', '/tmp', /stay on the volume/],
    ['innodb_doublewrite_dir', '/tmp', /stay on the volume/],
    ['innodb_data_home_dir', '/tmp', /stay on the volume/],
    ['innodb_temp_tablespaces_dir', '/tmp', /stay on the volume/],
    ['tmpdir', '/nowhere', /tmpdir is not for you to set/],
    ['innodb_flush_method', 'nosync', /is "nosync"; allowed is fsync, O_DSYNC, O_DIRECT: what is committed/],
    ['skip_innodb_flush_method', 'nosync', /write innodb_flush_method/],
    ['max_allowed_packet', '1M', /allowed is 2097152 or more/],
    ['max_allowed_packet', '1024', /allowed is 2097152 or more/],
    ['max_allowed_packet', 'many', /allowed is 2097152 or more/],
    ['slow_query_log_file', '/etc/passwd', /a name that ends in \.log/],
    ['tls_version', '', /tls_version is ""; allowed is TLSv1\.2, TLSv1\.3 or both/],
  ])('refuses %s = %s, and says why', (name, value, words) => {
    expect(() => check({ [name]: value })).toThrow(words)
  })

  it('refuses a setting that the table does not know, unless a person allows that one by its name', () => {
    const settings = { 'validate-password.policy': 'STRONG' }
    expect(() => check(settings)).toThrow(/a setting that Regent does not know.*allowUnclassified/)
    expect(() => check(settings, ['another_one'])).toThrow(/does not know/)
    expect(() => check(settings, ['validate_password.policy'])).not.toThrow()
  })

  it('lets nobody have by allowing a name what is refused, whatever the spelling', () => {
    for (const name of ['gtid_mode', 'sync_binl', 'skip-log-bin', 'innodb_undo_directory'])
      expect(() => check({ [name]: '0' }, [name]), name).toThrow(/is not for you to set/)
    expect(() => check({ innodb_flush_meth: 'nosync' }, ['innodb_flush_meth'])).toThrow(/write the whole name/)
  })

  it('refuses one setting in two spellings', () => {
    expect(() => check({ 'max-connections': '20', max_connections: '30' })).toThrow(
      /max-connections and max_connections are the same setting/,
    )
  })

  it('names the settings that data are made for, where they change', () => {
    expect(changedFixedSettings({ 'lower-case-table-names': '1' }, { lower_case_table_names: '1' })).toEqual([])
    expect(changedFixedSettings({ innodb_page_size: '65536' }, {})).toEqual([
      { name: 'innodb_page_size', now: '65536', was: '16384' },
    ])
    expect(changedFixedSettings({}, { lower_case_table_names: '1' })).toEqual([
      { name: 'lower_case_table_names', now: '0', was: '1' },
    ])
  })

  it('does not take a value in other words, nor the default that is said, for another', () => {
    expect(changedFixedSettings({ innodb_page_size: '32K' }, { 'innodb-page-size': '32768' })).toEqual([])
    expect(changedFixedSettings({ innodb_page_size: '16k', lower_case_table_names: '0' }, {})).toEqual([])
  })
})
