import { describe, expect, it } from 'vitest'
import { dangersIn, parseInfo, rewriteRunning, type RedisFacts } from './redis-safety.ts'

const safe: RedisFacts = {
  config: {
    appendonly: 'yes',
    appendfsync: 'always',
    'no-appendfsync-on-rewrite': 'no',
    'maxmemory-policy': 'noeviction',
  },
  info: { role: 'master', connected_slaves: '0', redis_mode: 'standalone', cluster_enabled: '0' },
  sentinels: 0,
}

describe('The dangers in a Redis', () => {
  it('are none when it keeps what it confirms and nothing can take its place', () => {
    expect(dangersIn(safe)).toEqual([])
  })

  it('are all named at once', () => {
    const config = {
      appendonly: 'no',
      appendfsync: 'everysec',
      'no-appendfsync-on-rewrite': 'yes',
      'maxmemory-policy': 'allkeys-lfu',
    }
    const info = {
      role: 'slave',
      master_host: '10.0.0.9',
      master_port: '6379',
      connected_slaves: '2',
      redis_mode: 'cluster',
      cluster_enabled: '1',
    }
    const dangers = dangersIn({ config, info, sentinels: 3 })
    expect(dangers).toHaveLength(8)
    expect(dangers[0]).toBe(
      'appendonly is "no", so a restart would lose the records: CONFIG SET appendonly yes, and "appendonly yes" in redis.conf',
    )
    expect(dangers.join('\n')).toContain('it is a replica of 10.0.0.9:6379')
    expect(dangers.join('\n')).toContain('2 replicas are connected')
  })

  it.each(['appendonly', 'appendfsync', 'no-appendfsync-on-rewrite', 'maxmemory-policy'])(
    'include not to know %s',
    (name) => {
      expect(dangersIn({ ...safe, config: { ...safe.config, [name]: undefined } })).toEqual([
        expect.stringContaining(`${name} is unknown`),
      ])
    },
  )

  it('include not to know the role', () => {
    expect(dangersIn({ ...safe, info: {} })).toHaveLength(1)
  })
})

describe('The INFO of a Redis', () => {
  it('is read line by line, values with colons whole', () => {
    expect(
      parseInfo('# Server\r\nrun_id:ab12\r\nmonotonic_clock:POSIX: fine\r\n\r\n# Replication\r\nrole:master\r\n'),
    ).toEqual({
      run_id: 'ab12',
      monotonic_clock: 'POSIX: fine',
      role: 'master',
    })
  })

  it('tells whether the append-only file is being rewritten or about to be', () => {
    expect(rewriteRunning({ aof_rewrite_in_progress: '1' })).toBe(true)
    expect(rewriteRunning({ aof_rewrite_in_progress: '0', aof_rewrite_scheduled: '1' })).toBe(true)
    expect(rewriteRunning({ aof_rewrite_in_progress: '0', aof_rewrite_scheduled: '0' })).toBe(false)
  })
})
