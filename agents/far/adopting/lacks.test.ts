import { describe, expect, it } from 'vitest'
import { hindrancesOf } from './lacks.ts'
import type { Looked } from './look.ts'

const fit = {
  gtid_mode: 'ON',
  enforce_gtid_consistency: 'ON',
  log_bin: 'ON',
  log_replica_updates: 'ON',
  binlog_format: 'ROW',
  persisted_globals_load: 'ON',
}
const access = { host: '10.0.0.1', port: 3306, user: 'keeper', password: '' }

function server(ordinal: number, changed: Partial<Looked> = {}, variables: Partial<typeof fit> = {}): Looked {
  return {
    access: { ...access, instance: `shop-${ordinal}` },
    uuid: `uuid-${ordinal}`,
    version: '9.7.4',
    serverId: String(100 + ordinal),
    variables: new Map(Object.entries({ ...fit, ...variables })),
    persisted: {},
    grants: ['GRANT ALL PRIVILEGES ON *.* TO `keeper`@`%` WITH GRANT OPTION'],
    executed: '',
    isOpen: ordinal === 0,
    source: ordinal === 0 ? null : { uuid: 'uuid-0', autoPosition: true, running: true },
    channels: ordinal === 0 ? 0 : 1,
    places: { dataDir: '', pidFile: '', binlogIndex: '', relayLogBase: '', relayLogIndex: '', errorLog: '' },
    ...changed,
  }
}

const said = (...servers: readonly Looked[]): readonly string[] =>
  hindrancesOf(servers).map(({ instance, what }) => `${instance}: ${what}`)

describe('Servers', () => {
  it('that are fit lack nothing', () => {
    expect(said(server(0), server(1), server(2))).toEqual([])
  })

  it.each<[string, Looked, string]>([
    ['without GTIDs', server(1, {}, { gtid_mode: 'OFF' }), 'shop-1: gtid_mode is OFF, not ON'],
    [
      'that log nothing they apply',
      server(1, {}, { log_replica_updates: 'OFF' }),
      'shop-1: log_replica_updates is OFF, not ON',
    ],
    ['of an old version', server(1, { version: '8.0.36' }), 'shop-1: MySQL 8.0.36 is watched only'],
    ['of MariaDB', server(1, { version: '11.8.2-MariaDB' }), 'shop-1: MySQL 11.8.2-MariaDB is watched only'],
    ['with a number twice', server(1, { serverId: '100' }), 'shop-1: server_id is 100, as that of shop-0'],
    ['with a uuid twice', server(1, { uuid: 'uuid-0' }), 'shop-1: server_uuid is uuid-0, as that of shop-0'],
    ['of two sources', server(1, { channels: 2 }), 'shop-1: 2 replication channels'],
    [
      'that follow by position',
      server(1, { source: { uuid: 'uuid-0', autoPosition: false, running: true } }),
      'shop-1: it follows by file and position',
    ],
    [
      'that follow somebody else',
      server(1, { source: { uuid: 'uuid-9', autoPosition: true, running: true } }),
      'shop-1: it does not follow shop-0, the server that takes writes',
    ],
    [
      'that do not follow at this moment',
      server(1, { source: { uuid: 'uuid-0', autoPosition: true, running: false } }),
      'shop-1: it does not follow shop-0, the server that takes writes',
    ],
    [
      'that take writes, two of them',
      server(1, { isOpen: true, source: null }),
      'shop-0, shop-1: more than one server takes writes',
    ],
  ])('%s cannot be managed', (_, other, what) => {
    expect(said(server(0), other, server(2))).toContain(what)
  })

  it('of which none takes writes cannot be managed', () => {
    expect(said(server(1), server(2))).toContain('nobody: no server takes writes')
  })

  it('whose account lacks a privilege cannot be managed, and the grant is told for that account', () => {
    const grants = [
      'GRANT SELECT, SUPER ON *.* TO `keeper`@`10.%`',
      'GRANT BACKUP_ADMIN,SYSTEM_USER ON *.* TO `keeper`@`10.%`',
    ]
    const [found] = hindrancesOf([server(0, { grants })])
    expect(found?.what).toMatch(/^account keeper lacks INSERT, .*CONNECTION_ADMIN.*, GRANT OPTION$/)
    expect(found?.what).not.toMatch(/SELECT|SUPER|BACKUP_ADMIN|SYSTEM_USER/)
    expect(found?.remedy).toEqual(['GRANT ALL PRIVILEGES ON *.* TO `keeper`@`10.%` WITH GRANT OPTION;'])
  })
})
