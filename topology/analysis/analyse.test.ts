import { describe, expect, test } from 'vitest'
import { analyse } from './analyse.ts'
import { findingsOf, type Cases } from './cases/case.ts'
import { durabilityCases } from './cases/durability-cases.ts'
import { primaryCases } from './cases/primary-cases.ts'
import { replicasCases } from './cases/replicas-cases.ts'
import { serversCases } from './cases/servers-cases.ts'
import { standingCases } from './cases/standing-cases.ts'
import type { ReplicationCode } from './analysis.ts'
import { aSnapshot } from '../testing.ts'

const cases: Cases = { ...primaryCases, ...durabilityCases, ...replicasCases, ...serversCases, ...standingCases }

describe.each(Object.entries(cases))('%s', (_, group) => {
  test.each(Object.entries(group))('%s', (_title, { findings, ...given }) => {
    expect(findingsOf(given)).toEqual(findings)
  })
})

test('every code there is appears in the tables', () => {
  const codes: Readonly<Record<ReplicationCode, true>> = {
    DeadPrimary: true,
    GtidsReset: true,
    BinlogOff: true,
    UnreachablePrimary: true,
    DeadPrimaryAndSomeReplicas: true,
    DeadPrimaryAndReplicas: true,
    DeadPrimaryWithoutReplicas: true,
    FrozenPrimary: true,
    PrimaryAgentUnreachable: true,
    AllReplicasNotReplicating: true,
    LockedSemiSyncPrimary: true,
    NotEnoughSyncReplicas: true,
    PrimarySemiSyncMustBeSet: true,
    ReplicaSemiSyncMustBeSet: true,
    NoWritablePrimary: true,
    ElectedSetLost: true,
    TwoWritablePrimaries: true,
    PrimaryHasSource: true,
    ErrantTransactions: true,
    ReplicaNotReplicating: true,
    ReplicaLagging: true,
    ReplicaDelayed: true,
    ReplicaDead: true,
    SeedingFailed: true,
    InstanceUnreachable: true,
    UnsettledTail: true,
    ForgetfulReplica: true,
    VolumeFromThePast: true,
    StrangerAcknowledges: true,
    UnacknowledgedCommits: true,
    WrongSource: true,
    ReplicationFilter: true,
    OpenedByHand: true,
    ForeignTables: true,
    PersistedVariables: true,
    SettingsChanged: true,
    SettingsRefused: true,
    MysqldDoesNotStart: true,
    NotReadyForFailover: true,
    ChannelOptionsChanged: true,
    DiskFull: true,
    LowSpace: true,
    ReadOnlyFilesystem: true,
    TooManyConnections: true,
    GlobalLock: true,
    BinlogNumberHigh: true,
    MixedVersions: true,
    UnclassifiedSettings: true,
    RecordFromThePast: true,
    RecordLost: true,
    RecordOfAnotherHistory: true,
    NotesDamaged: true,
    NotProtected: true,
    Paused: true,
    Fenced: true,
    ReplicaPassedOver: true,
    ManagerIsolated: true,
  }
  const lines = Object.values(cases).flatMap((group) => Object.values(group).flatMap(({ findings }) => findings))
  expect(new Set(lines.map((line) => line.split(' ')[0]))).toEqual(new Set(Object.keys(codes)))
})

test('the worst comes first', () => {
  const snapshot = aSnapshot({
    'shop-0': { probe: 'diskFull', server: { foreignTables: ['app.log'] } },
    'shop-1': { process: 'dead' },
  })
  const expected = {
    primary: 'shop-0',
    epoch: 1,
    revision: 1,
    syncSet: ['shop-1', 'shop-2'],
    acks: 1,
    fenced: [],
    paused: true,
  }
  const findings = analyse(snapshot, expected, { frozenMs: 1_200, maxLagSeconds: 30 })
  expect(findings.map(({ code, severity }) => [code, severity])).toEqual([
    ['DiskFull', 'critical'],
    ['Paused', 'warning'],
    ['ReplicaDead', 'warning'],
    ['ForeignTables', 'warning'],
  ])
})
