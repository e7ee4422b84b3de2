/** By name, as a server has them. */
type Values = Readonly<Record<string, string>>

/** MySQL's own values, where the plugin was not loaded before: the owner of the server knew nothing of it. */
const byDefault = {
  rpl_semi_sync_source_timeout: '10000',
  rpl_semi_sync_source_wait_no_replica: 'ON',
  rpl_semi_sync_source_wait_point: 'AFTER_SYNC',
  rpl_semi_sync_source_wait_for_replica_count: '1',
  rpl_semi_sync_source_enabled: 'OFF',
  rpl_semi_sync_replica_enabled: 'OFF',
} as const

/** What agents set of semi-synchronous replication while they run. */
export const semiSyncNames = Object.keys(byDefault) as readonly (keyof typeof byDefault)[]

/** Which sides of semi-synchronous replication any server of the cluster had switched on. */
export interface Sides {
  readonly source: boolean
  readonly replica: boolean
}

export function sidesOf(servers: readonly Values[]): Sides {
  const isOn = (name: (typeof semiSyncNames)[number]) => servers.some((values) => values[name] === 'ON')
  return { source: isOn('rpl_semi_sync_source_enabled'), replica: isOn('rpl_semi_sync_replica_enabled') }
}

/**
 * What makes semi-synchronous replication at one server as it was before it was managed. The sides go by who is primary
 * now. A receiver tells its source that it acknowledges when it connects, and so connects anew. Pure.
 */
export function semiSyncBack(before: Values, sides: Sides, isOpen: boolean): readonly string[] {
  const isReplica = sides.replica && !isOpen
  const values: Values = {
    ...byDefault,
    ...before,
    rpl_semi_sync_source_enabled: sides.source && isOpen ? 'ON' : 'OFF',
    rpl_semi_sync_replica_enabled: isReplica ? 'ON' : 'OFF',
  }
  return [
    // What a write waits for is right before it waits.
    ...semiSyncNames.map((name) => `SET GLOBAL ${name} = ${values[name]}`),
    ...(isReplica ? ['STOP REPLICA IO_THREAD', 'START REPLICA IO_THREAD'] : []),
  ]
}
