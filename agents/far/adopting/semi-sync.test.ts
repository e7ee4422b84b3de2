import { expect, it } from 'vitest'
import { semiSyncBack, sidesOf } from './semi-sync.ts'

const source = { rpl_semi_sync_source_enabled: 'ON', rpl_semi_sync_source_timeout: '7777' }
const replica = { rpl_semi_sync_replica_enabled: 'ON' }
const sides = sidesOf([source, replica, {}])

it('The sides that a cluster had on are those of the primary and of the replicas of now', () => {
  expect(sides).toEqual({ source: true, replica: true })
  const primary = semiSyncBack(replica, sides, true)
  expect(primary).toContain('SET GLOBAL rpl_semi_sync_source_enabled = ON')
  expect(primary).toContain('SET GLOBAL rpl_semi_sync_replica_enabled = OFF')
  const other = semiSyncBack(source, sides, false)
  expect(other).toContain('SET GLOBAL rpl_semi_sync_source_timeout = 7777')
  expect(other).toContain('SET GLOBAL rpl_semi_sync_source_enabled = OFF')
  expect(other.slice(-3)).toEqual([
    'SET GLOBAL rpl_semi_sync_replica_enabled = ON',
    'STOP REPLICA IO_THREAD',
    'START REPLICA IO_THREAD',
  ])
})

it('A cluster that had none of this has none again, and no write waits for ever', () => {
  expect(semiSyncBack({}, sidesOf([{}, {}]), true)).toEqual([
    'SET GLOBAL rpl_semi_sync_source_timeout = 10000',
    'SET GLOBAL rpl_semi_sync_source_wait_no_replica = ON',
    'SET GLOBAL rpl_semi_sync_source_wait_point = AFTER_SYNC',
    'SET GLOBAL rpl_semi_sync_source_wait_for_replica_count = 1',
    'SET GLOBAL rpl_semi_sync_source_enabled = OFF',
    'SET GLOBAL rpl_semi_sync_replica_enabled = OFF',
  ])
})
