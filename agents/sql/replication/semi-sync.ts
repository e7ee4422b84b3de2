import type { Sql } from '../connections/statements.ts'
import { hundredYearsMs } from '#failover/settings/managed.ts'

/** Switching the source's side on or off takes about a second while a replica is connected. */
const switchMs = 5_000

export async function setSemiSyncReplica(sql: Sql, on: boolean): Promise<void> {
  await sql.change(`SET GLOBAL rpl_semi_sync_replica_enabled = ${on ? 'ON' : 'OFF'}`)
}

/**
 * In one statement, in this order: what a write waits for is right before it waits. Setting what is set already takes
 * no time.
 */
export async function setSemiSyncSource(sql: Sql, acks: number): Promise<void> {
  const waitsFor = [
    `GLOBAL rpl_semi_sync_source_timeout = ${hundredYearsMs}`,
    'GLOBAL rpl_semi_sync_source_wait_no_replica = ON',
    'GLOBAL rpl_semi_sync_source_wait_point = AFTER_SYNC',
    `GLOBAL rpl_semi_sync_source_wait_for_replica_count = ${acks}`,
    'GLOBAL rpl_semi_sync_source_enabled = ON',
  ]
  await sql.change(acks > 0 ? `SET ${waitsFor.join(', ')}` : 'SET GLOBAL rpl_semi_sync_source_enabled = OFF', switchMs)
}
