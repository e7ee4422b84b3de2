import { expect, test } from 'vitest'
import { lostAgent } from '#failover/testing.ts'
import { gtids, uuidOf } from '#topology/testing.ts'
import { knownShop, watchedShop } from '../testing.ts'
import { fleetOf } from './fleet.ts'
import { clusterOfHint, serverAt } from './hints.ts'
import { recoveryDocument, recoverySteps } from './recovery.ts'
import { topologyText } from './topology-text.ts'
import { shopRecovery } from '#manager/api/testing.ts'

const fleet = (overrides: Parameters<typeof knownShop>[0] = {}, names: 'name' | 'address' = 'name') =>
  fleetOf([knownShop(overrides)], names)

test('A primary and a replica are shown as orchestrator shows them', () => {
  const [shop] = fleet()
  const [primary, replica] = shop?.servers.map(({ instance }) => instance) ?? []
  expect(primary).toMatchObject({
    Key: { Hostname: 'shop-0', Port: 3306 },
    MasterKey: { Hostname: '', Port: 0 },
    ClusterName: 'shop-0:3306',
    ReadOnly: false,
    ServerUUID: uuidOf('shop-0'),
    Version: '9.7.4',
    ReplicationIOThreadState: -1,
    ReplicationSQLThreadRuning: false,
    SecondsBehindMaster: { Int64: 0, Valid: true },
    Replicas: [
      { Hostname: 'shop-1', Port: 3306 },
      { Hostname: 'shop-2', Port: 3306 },
    ],
    SemiSyncMasterEnabled: true,
    SemiSyncMasterClients: 2,
    IsLastCheckValid: true,
    PromotionRule: 'neutral',
    Problems: [],
  })
  expect(replica).toMatchObject({
    MasterKey: { Hostname: 'shop-0', Port: 3306 },
    MasterUUID: uuidOf('shop-0'),
    AncestryUUID: `${uuidOf('shop-0')},${uuidOf('shop-1')}`,
    ReadOnly: true,
    ReplicationDepth: 1,
    ReplicationIOThreadState: 1,
    Slave_SQL_Running: true,
    SemiSyncReplicaStatus: true,
    ExecutedGtidSet: gtids('shop-0', 100),
    UsingOracleGTID: true,
  })
})

test('Servers are called by their address, or by the name of the instance', () => {
  expect(fleet({}, 'address')[0]?.servers[1]?.instance.Key).toEqual({ Hostname: '127.24.1.2', Port: 3306 })
  expect(fleet({}, 'name')[0]?.servers[1]?.instance.Key).toEqual({ Hostname: 'shop-1', Port: 3306 })
})

test('What is wrong with a server has orchestrator’s words', () => {
  const shop = fleet({
    views: {
      'shop-0': lostAgent,
      'shop-1': { server: { channel: { ioRunning: 'no', lagSeconds: 30 } } },
    },
  })[0]
  expect(shop?.servers.map(({ instance }) => instance.Problems)).toEqual([
    ['last_check_invalid'],
    ['not_replicating', 'replication_lag'],
    [],
  ])
})

test('The tree is drawn with a line for each server, the columns below each other', () => {
  const [shop] = fleet({
    views: { 'shop-1': { server: { channel: { ioRunning: 'no' } } }, 'shop-2': { follows: 'shop-1', ...lostAgent } },
    notes: {
      downtimes: [{ instance: 'shop-1', untilWallMs: 2_000_000, reason: 'r', owner: '' }],
      annotations: { tags: { 'shop-0': { role: 'shop', old: '' } } },
    },
  })
  if (shop === undefined) throw new Error('there is no cluster')
  expect(topologyText(shop, 'plain').split('\n')).toEqual([
    'shop-0:3306     [0s,ok,9.7.4,rw,ROW,>>,GTID,semi:master]',
    '- shop-1:3306   [null,nonreplicating,9.7.4,ro,ROW,>>,GTID,semi:replica,downtimed]',
    '  - shop-2:3306 [unknown,invalid,9.7.4,ro,ROW,>>,GTID,semi:replica]',
  ])
  expect(topologyText(shop, 'tags').split('\n')[0]).toMatch(/semi:master\] \[old,role=shop\]$/)
  expect(topologyText(shop, 'tabulated').split('\n')[1]).toBe(
    '- shop-1:3306  |   null|nonreplicating|9.7.4|ro|ROW|>>,GTID,semi:replica,downtimed',
  )
})

test('A replica that is delayed on purpose does not lag', () => {
  const known = watchedShop({
    views: { 'shop-1': { server: { channel: { lagSeconds: 600, backlogTransactions: 9 } } } },
  })
  const statuses = (delaySeconds: number) => {
    const servers = { ...known.watched?.servers }
    const delayed = servers['shop-1']
    if (known.watched === undefined || !delayed?.channel) throw new Error('shop-1 is not watched')
    servers['shop-1'] = { ...delayed, channel: { ...delayed.channel, delaySeconds } }
    const [shop] = fleetOf([{ ...known, watched: { ...known.watched, servers } }], 'name')
    const lines = shop === undefined ? [] : topologyText(shop, 'tabulated').split('\n')
    return lines.map((line) => line.split('|')[2]?.trim())
  }
  expect(statuses(0)).toEqual(['ok', 'lag', 'ok'])
  expect(statuses(600)).toEqual(['ok', 'ok', 'ok'])
})

test('Co-masters are drawn beside each other, each with its replicas, as orchestrator draws them', () => {
  const [shop] = fleet({
    shape: { instances: 4 },
    views: { 'shop-0': { follows: 'shop-2' }, 'shop-3': { follows: 'shop-2' } },
  })
  const lines = shop === undefined ? [] : topologyText(shop, 'tabulated').split('\n')
  expect(lines.map((line) => line.split('|')[0]?.trimEnd())).toEqual([
    '+ shop-0:3306',
    '  + shop-1:3306',
    '+ shop-2:3306',
    '  + shop-3:3306',
  ])
})

test.each(['shop-0:3306', 'shop', 'shop-2', 'shop-2:3306', 'hop-1', 'SHOP-1', 'Shop-2:3306'])(
  'The hint %s names the cluster',
  (hint) => {
    expect(clusterOfHint(fleet(), hint).name).toBe('shop')
  },
)

test.each(['', 'hop', '-1', 'nobody', 'shop-1:3307', '127.24.1.9', 'shop-11'])(
  'The hint "%s" names no cluster',
  (hint) => {
    expect(() => clusterOfHint(fleet(), hint)).toThrow('Unable to determine cluster name')
  },
)

test('A server is found by its name whatever its port, and not by another port', () => {
  const own = fleetOf(
    [knownShop()].map((one) => ({
      ...one,
      snapshot: { instances: one.snapshot.instances.map((view) => ({ ...view, port: 10_001 })) },
    })),
    'name',
  )
  expect(serverAt(own, { host: 'shop-1', port: '3306' }).name).toBe('shop-1')
  expect(serverAt(own, { host: 'shop-1', port: '10001' }).name).toBe('shop-1')
  expect(() => serverAt(own, { host: 'shop-1', port: '10002' })).toThrow('Cannot read instance: shop-1:10002')
  expect(() => serverAt(own, { host: 'shop-1', port: '99999' })).toThrow('Cannot read instance')
})

test('A server is found by its address whatever servers are called, and by names of the platform’s network', () => {
  const atHost = (host: string) => ({ 'shop-1.pods': { instance: 'shop-1' }, writes: 'primary' as const })[host]
  const own = fleetOf([{ ...knownShop(), atHost }], 'name')
  const found = (host: string, port = '3306') => serverAt(own, { host, port }, 'exact').name
  expect(found('127.24.1.2')).toBe('shop-1')
  expect(() => found('127.24.1.2', '3307')).toThrow('Cannot read instance')
  expect(found('shop-1.pods')).toBe('shop-1')
  expect(found('writes')).toBe('shop-0')
  expect(clusterOfHint(own, 'writes').name).toBe('shop')
  expect(() => found('writes', '3307')).toThrow('Cannot read instance')
})

test('A server that is hidden is not listed unless it leads, and a cluster goes with the last of its servers', () => {
  const hidden = (names: readonly string[]) =>
    fleet({ notes: { annotations: { hidden: names } } }).map(({ servers }) => servers.map(({ name }) => name))
  expect(hidden(['shop-1'])).toEqual([['shop-0', 'shop-2']])
  expect(hidden(['shop-0', 'shop-1'])).toEqual([['shop-0', 'shop-2']])
  expect(hidden(['shop-0', 'shop-1', 'shop-2'])).toEqual([])
})

test('A failover is a recovery of a dead master, with its successor, steps and who has read of it', () => {
  const acknowledged = { r1: { wallMs: 1_700_000_060_000, by: 'ann', comment: 'seen' } }
  const [shop] = fleet({ notes: { annotations: { acknowledged } } })
  if (shop === undefined) throw new Error('there is no cluster')
  expect(recoveryDocument(shopRecovery, shop)).toMatchObject({
    UID: 'r1',
    AnalysisEntry: { AnalyzedInstanceKey: { Hostname: 'shop-0' }, Analysis: 'DeadMaster' },
    SuccessorKey: { Hostname: 'shop-1', Port: 3306 },
    SuccessorAlias: 'shop-1',
    IsSuccessful: true,
    AllErrors: [],
    RecoveryStartTimestamp: '2023-11-14 22:13:20',
    Acknowledged: true,
    AcknowledgedAt: '2023-11-14 22:14:20',
    AcknowledgedBy: 'ann',
  })
  const undone = { ...shopRecovery, outcome: 'undone' as const }
  expect(recoveryDocument(undone, shop)).toMatchObject({ SuccessorKey: null, AllErrors: ['shop-0 died'] })
  expect(recoverySteps(shopRecovery).map(({ Message }) => Message)).toEqual(['noticed', 'committed'])
})
