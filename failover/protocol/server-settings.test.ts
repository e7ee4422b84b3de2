import { describe, expect, it } from 'vitest'
import { checkServerSettings, managedSettings } from './server-settings.ts'

describe('the settings of a server', () => {
  it.each(managedSettings.map((name) => [name] as const))('refuses to let %s be set by anybody else', (name) => {
    for (const spelling of [name, name.toUpperCase(), name.replaceAll('_', '-'), `loose_${name}`, `skip_${name}`]) {
      expect(() => checkServerSettings({ [spelling]: '1' }), spelling).toThrow(
        expect.objectContaining({ code: 'REGENT_BAD_REQUEST' }),
      )
    }
  })

  it.each([
    ['log_slave_updates'],
    ['skip-slave-start'],
    ['rpl_semi_sync_master_timeout'],
    ['relay_log_recov'],
    ['sync_binl'],
    ['skip-log-bin'],
    ['disable-log-bin'],
    ['replicate-do-db'],
    ['slave_skip_errors'],
    ['skip-networking'],
    ['skip-grant-tables'],
    ['server-id'],
    ['init-file'],
    ['initialize'],
  ])('sees through the spelling %s', (name) => {
    expect(() => checkServerSettings({ [name]: '1' })).toThrow(/is not for you to set: .{10}/)
  })

  it.each([
    ['two lines', { long_query_time: '1\nread_only=OFF' }],
    ['another section', { '[mysqld': '1' }],
    ['an empty name', { '': '1' }],
    ['a value too long', { sql_mode: 'x'.repeat(5_000) }],
  ])('refuses %s', (_, extra) => {
    expect(() => checkServerSettings(extra)).toThrow(expect.objectContaining({ code: 'REGENT_BAD_REQUEST' }))
  })

  it.each([
    ['long_query_time'],
    ['innodb_buffer_pool_size'],
    ['replica_parallel_workers'],
    ['log_error_suppression_list'],
    ['max_connections'],
    ['performance_schema'],
  ])('lets %s be set', (name) => {
    expect(() => checkServerSettings({ [name]: '1' })).not.toThrow()
  })
})
