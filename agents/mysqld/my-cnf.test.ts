import { describe, expect, it } from 'vitest'
import { serverSettings } from '#failover/settings/table.ts'
import { renderServerConfig } from './my-cnf.ts'
import { anAgentConfig } from '../testing.ts'

const config = anAgentConfig()

describe('the server’s configuration', () => {
  it('starts a server closed, without replication and without semi-sync', () => {
    const lines = renderServerConfig(config).split('\n')
    for (const line of [
      'super_read_only=ON',
      'read_only=ON',
      'offline_mode=ON',
      'skip_replica_start=ON',
      'event_scheduler=OFF',
      'persisted_globals_load=OFF',
      'loose_rpl_semi_sync_source_enabled=OFF',
      'loose_rpl_semi_sync_replica_enabled=OFF',
    ]) {
      expect(lines).toContain(line)
    }
  })

  it('follows the agent’s configuration', () => {
    const lines = renderServerConfig(config, 35).split('\n')
    expect(lines).toEqual(
      expect.arrayContaining([
        'server_id=35',
        'bind_address=127.24.1.3',
        'admin_port=3307',
        'datadir=/var/lib/regent/data',
        'character_sets_dir=/usr/share/mysql/charsets',
      ]),
    )
    expect(lines.some((line) => line.startsWith('plugin_dir='))).toBe(false)
  })

  it('listens at every address of its pod', () => {
    const pod = { ...config, host: 'fd00::7', otherHosts: ['10.0.0.7'] }
    for (const mode of ['semisync', 'group'] as const) {
      const lines = renderServerConfig({ ...pod, mode }).split('\n')
      expect(lines).toEqual(
        expect.arrayContaining(['bind_address=fd00::7,10.0.0.7', 'admin_address=fd00::7', 'report_host=fd00::7']),
      )
    }
  })

  it('refuses clients without TLS where that is asked for, and nowhere else', () => {
    expect(renderServerConfig({ ...config, clientTls: { required: true } }).split('\n')).toContain(
      'require_secure_transport=ON',
    )
    for (const other of [config, { ...config, clientTls: { required: false } }])
      expect(renderServerConfig(other).split('\n')).toContain('require_secure_transport=OFF')
  })

  it('has one reason for every line', () => {
    const lines = renderServerConfig(config).trim().split('\n').slice(2)
    expect(lines.filter((_, index) => index % 2 === 0).every((line) => line.startsWith('# '))).toBe(true)
    expect(lines.filter((_, index) => index % 2 === 1).every((line) => /^[a-z_]+=/.test(line))).toBe(true)
    expect(new Set(serverSettings.map(({ name }) => name)).size).toBe(serverSettings.length)
  })

  it('takes other settings, and says the managed ones last', () => {
    const lines = renderServerConfig({
      ...config,
      serverSettings: {
        'innodb-buffer-pool-size': '1G',
        long_query_time: '2',
        init_connect: 'SET NAMES "utf8mb4" # all',
      },
    }).split('\n')
    expect(lines).toContain('innodb-buffer-pool-size=1G')
    expect(lines).not.toContain('innodb_buffer_pool_size=134217728')
    expect(lines).toContain('init_connect="SET NAMES \\"utf8mb4\\" # all"')
    expect(lines.indexOf('long_query_time=2')).toBeLessThan(lines.indexOf('gtid_mode=ON'))
  })
})
