import { describe, expect, test } from 'vitest'
import { deadServer, lostAgent, type SituationOverrides } from '#failover/testing.ts'
import { aGroupState } from '#topology/testing-group.ts'
import { gtids, uuidOf, type ViewOverrides } from '#topology/testing.ts'
import { fleetOf } from '../fleet/fleet.ts'
import type { Watched, WatchedServer } from '#manager/clusters/watched.ts'
import { knownShop, watchedShop } from '../testing.ts'
import { analysesOf, analysisEntry } from './replication-analysis.ts'

const halted: ViewOverrides = { server: { channel: { ioRunning: 'no', sqlRunning: false } } }
const cannotConnect: ViewOverrides = {
  server: { channel: { ioRunning: 'connecting', ioError: "Error connecting to source 'regent_shop-1@127.24.1.1'" } },
}
const lagging: ViewOverrides = { server: { channel: { backlogTransactions: 9, lagSeconds: 60 } } }
const silent: ViewOverrides = { silentMs: 60_000 }
const below = (source: string): ViewOverrides => ({ follows: source })
const chain = { 'shop-2': below('shop-1') }

function codesIn(overrides: SituationOverrides): readonly string[] {
  return analysesOf(fleetOf([knownShop(overrides)], 'name')).flatMap((entry) => [
    ...(entry.Analysis === 'NoProblem' ? [] : [`${entry.AnalyzedInstanceKey.Hostname} ${entry.Analysis}`]),
    ...entry.StructureAnalysis.map((warning) => `${entry.AnalyzedInstanceKey.Hostname} ${warning}`),
  ])
}

/** What looks show otherwise of servers of a watched tree; the entry is that of its root. */
function warningsWith(seen: Readonly<Record<string, Partial<WatchedServer>>>, views: SituationOverrides['views'] = {}) {
  const known = watchedShop({ views })
  const servers = Object.entries(known.watched?.servers ?? {}).map(([name, one]) => [name, { ...one, ...seen[name] }])
  const watched = known.watched && { ...known.watched, servers: Object.fromEntries(servers) as Watched['servers'] }
  const fleet = fleetOf([{ ...known, ...(watched && { watched }) }], 'name')
  const entries = fleet.flatMap((cluster) => cluster.servers.map(analysisEntry))
  return {
    entry: entries[0],
    warnings: entries.flatMap(({ AnalyzedInstanceKey: { Hostname }, StructureAnalysis }) =>
      StructureAnalysis.map((warning) => `${Hostname} ${warning}`),
    ),
  }
}

const alone = { shape: { instances: 1 } }
const pair = { shape: { instances: 2 } }

/** What agents see, and what orchestrator would call that. */
const table: readonly (readonly [string, SituationOverrides, readonly string[]])[] = [
  ['all is well', {}, []],
  [
    'a primary without replicas is dead',
    { ...alone, views: { 'shop-0': deadServer } },
    ['shop-0 DeadMasterWithoutReplicas'],
  ],
  [
    'a primary is dead, and all replicas stand',
    { views: { 'shop-0': deadServer, 'shop-1': halted, 'shop-2': cannotConnect } },
    ['shop-0 DeadMaster', 'shop-2 FirstTierReplicaFailingToConnectToMaster'],
  ],
  [
    'everybody is lost',
    { views: { 'shop-0': lostAgent, 'shop-1': lostAgent, 'shop-2': lostAgent } },
    ['shop-0 DeadMasterAndReplicas'],
  ],
  [
    'a primary and a replica are lost, and the other one stands',
    { views: { 'shop-0': lostAgent, 'shop-1': lostAgent, 'shop-2': halted } },
    ['shop-0 DeadMasterAndSomeReplicas'],
  ],
  ['a primary is lost, and replicas replicate', { views: { 'shop-0': lostAgent } }, ['shop-0 UnreachableMaster']],
  [
    'a primary is lost, and all replicas lag',
    { views: { 'shop-0': lostAgent, 'shop-1': lagging, 'shop-2': lagging } },
    ['shop-0 UnreachableMasterWithLaggingReplicas'],
  ],
  [
    'a primary does not answer its agent, and a replica fails to connect',
    { views: { 'shop-0': silent, 'shop-1': cannotConnect } },
    ['shop-0 UnreachableMaster', 'shop-1 FirstTierReplicaFailingToConnectToMaster'],
  ],
  ['a primary does not answer its agent, and replicas replicate', { views: { 'shop-0': silent } }, []],
  [
    'writes wait for more replicas than acknowledge',
    { views: { 'shop-0': { server: { semiSyncSource: { acks: 3 } } } } },
    ['shop-0 LockedSemiSyncMaster'],
  ],
  [
    'a primary is read-only',
    { views: { 'shop-0': { server: { readOnly: true } } } },
    ['shop-0 NoWriteableMasterStructureWarning', 'shop-0 NoWriteableMasterStructureWarning'],
  ],
  ['the only replica stands', { ...pair, views: { 'shop-1': halted } }, ['shop-0 MasterSingleReplicaNotReplicating']],
  ['the only replica is lost', { ...pair, views: { 'shop-1': lostAgent } }, ['shop-0 MasterSingleReplicaDead']],
  ['all replicas stand', { views: { 'shop-1': halted, 'shop-2': halted } }, ['shop-0 AllMasterReplicasNotReplicating']],
  [
    'one replica stands and one is lost',
    { views: { 'shop-1': halted, 'shop-2': lostAgent } },
    ['shop-0 AllMasterReplicasNotReplicatingOrDead'],
  ],
  [
    'a replica in the middle is dead, and its only replica fails to connect',
    { views: { 'shop-1': lostAgent, 'shop-2': { ...chain['shop-2'], ...cannotConnect } } },
    ['shop-0 MasterSingleReplicaDead', 'shop-1 DeadIntermediateMasterWithSingleReplicaFailingToConnect'],
  ],
  [
    'a replica in the middle is dead, and its only replica stands',
    { views: { 'shop-1': lostAgent, 'shop-2': { ...chain['shop-2'], ...halted } } },
    ['shop-0 MasterSingleReplicaDead', 'shop-1 DeadIntermediateMasterWithSingleReplica'],
  ],
  [
    'a replica in the middle is lost, and its replica replicates',
    { views: { 'shop-1': lostAgent, ...chain } },
    ['shop-0 MasterSingleReplicaDead', 'shop-1 UnreachableIntermediateMaster'],
  ],
  [
    'a replica in the middle and its replica are lost',
    { views: { 'shop-1': lostAgent, 'shop-2': { ...chain['shop-2'], ...lostAgent } } },
    ['shop-0 MasterSingleReplicaDead', 'shop-1 DeadIntermediateMasterAndReplicas'],
  ],
  [
    'the replica of one in the middle stands',
    { views: { 'shop-2': { ...chain['shop-2'], ...halted } } },
    ['shop-1 AllIntermediateMasterReplicasNotReplicating'],
  ],
  [
    'two follow each other, and one of them is lost',
    { views: { 'shop-0': { follows: 'shop-1', ...lostAgent }, 'shop-1': halted, 'shop-2': halted } },
    ['shop-0 DeadCoMaster', 'shop-1 AllCoMasterReplicasNotReplicating'],
  ],
  [
    'a member of a group is lost that does not lead, and the server that replicates from it stands',
    {
      views: {
        'shop-0': { server: { group: aGroupState('shop-0') } },
        'shop-1': { follows: null, server: { readOnly: true, group: aGroupState('shop-1') }, ...lostAgent },
        'shop-2': { ...chain['shop-2'], ...halted },
      },
    },
    ['shop-1 DeadReplicationGroupMemberWithReplicas'],
  ],
  [
    'two follow each other, and everybody is lost',
    { views: { 'shop-0': { follows: 'shop-1', ...lostAgent }, 'shop-1': lostAgent, 'shop-2': lostAgent } },
    ['shop-0 DeadIntermediateMasterAndReplicas', 'shop-1 DeadIntermediateMasterAndReplicas'],
  ],
  [
    'a replica of one in the middle has what nobody else has',
    {
      views: {
        'shop-2': { ...chain['shop-2'], server: { executed: `${gtids('shop-0', 100)},${uuidOf('shop-2')}:1` } },
      },
    },
    ['shop-1 ErrantGTIDStructureWarning'],
  ],
  [
    'replicas are of two series',
    { views: { 'shop-1': { server: { version: '8.4.1' } } } },
    ['shop-0 MultipleMajorVersionsLoggingReplicasStructureWarning'],
  ],
  [
    'no replica writes a binary log',
    { views: { 'shop-1': { stored: { binlogOff: true } }, 'shop-2': { stored: { binlogOff: true } } } },
    ['shop-0 NoLoggingReplicasStructureWarning'],
  ],
]

describe('The analysis in orchestrator’s words', () => {
  test.each(table)('%s', (_, overrides, codes) => {
    expect(codesIn(overrides)).toEqual(codes)
  })

  test('What is all about replicas in downtime is excused', () => {
    const instances = ['shop-1', 'shop-2']
    const notes = {
      downtimes: instances.map((instance) => ({ instance, untilWallMs: 2_000_000, reason: 'new disks', owner: 'ann' })),
    }
    const views = { 'shop-1': halted, 'shop-2': halted }
    const [entry] = analysesOf(fleetOf([knownShop({ views, notes })], 'name'))
    expect(entry).toMatchObject({ Analysis: 'AllMasterReplicasNotReplicating', SkippableDueToDowntime: true })
    const [loud] = analysesOf(fleetOf([knownShop({ views })], 'name'))
    expect(loud).toMatchObject({ SkippableDueToDowntime: false })
  })

  test('A watched source that lacks acknowledgements is locked once somebody waits', () => {
    const withWaiting = (waiting: number) => {
      const known = watchedShop()
      const server = known.watched?.servers['shop-0']
      if (server === undefined || known.watched === undefined) throw new Error('shop-0 is not watched')
      const semiSync = {
        isThere: true,
        isOn: true,
        isReplicaOn: false,
        acks: 2,
        clients: 1,
        waiting,
        timeoutMs: 10_000,
      }
      const more = {
        uptimeSeconds: 1,
        versionComment: '',
        rowImage: 'FULL',
        purged: '',
        encrypted: false,
        semiSync,
      }
      const servers = { ...known.watched.servers, 'shop-0': { ...server, more } }
      return analysesOf(fleetOf([{ ...known, watched: { ...known.watched, servers } }], 'name'))[0]?.Analysis
    }
    expect([0, 1].map(withWaiting)).toEqual(['LockedSemiSyncMasterHypothesis', 'LockedSemiSyncMaster'])
  })

  test.each([
    [{ gtidMode: 'OFF_PERMISSIVE' }, ['shop-1 DifferentGTIDModesStructureWarning']],
    [{ binlogFormat: 'STATEMENT' }, []],
  ] as const)('%j at a watched replica of one in the middle is told of, where orchestrator does', (seen, warnings) => {
    expect(warningsWith({ 'shop-2': seen }, { 'shop-2': below('shop-1') }).warnings).toEqual(warnings)
  })

  test('A tree has no support for a failover where one of its replicas goes by places', () => {
    const place = { file: 'binlog.000007', position: 1_000 }
    const channel = { sourceHost: '127.24.1.1', sourcePort: 3306, delaySeconds: 0, read: place, applied: place }
    const byPlaces = { channel: { ...channel, autoPosition: false } }
    const { warnings, entry } = warningsWith({ 'shop-2': byPlaces })
    expect(warnings).toEqual(['shop-0 NoFailoverSupportStructureWarning'])
    expect(entry).toMatchObject({ OracleGTIDImmediateTopology: false })
    expect(warningsWith({}).entry).toMatchObject({ OracleGTIDImmediateTopology: true })
    expect(warningsWith({ 'shop-1': { binlogFormat: 'STATEMENT' } }).entry).toMatchObject({
      CountLoggingReplicas: 2,
      CountStatementBasedLoggingReplicas: 1,
      CountMixedBasedLoggingReplicas: 0,
      CountRowBasedLoggingReplicas: 1,
    })
  })

  test('A server that was detached is a master of its own, and nobody recovers a watched cluster automatically', () => {
    const known = watchedShop({
      views: { 'shop-1': { server: { channel: { sourceHost: '//127.24.1.1', sourceUuid: '' } } } },
    })
    const [, detached] = fleetOf([known], 'name')[0]?.servers ?? []
    expect(detached?.instance).toMatchObject({ IsDetachedMaster: true, MasterKey: { Hostname: '//127.24.1.1' } })
    const entry = detached && analysisEntry(detached)
    expect(entry).toMatchObject({ IsMaster: true, ClusterDetails: { HasAutomatedMasterRecovery: false } })
  })
})
