import { describe, expect, test } from 'vitest'
import type { GroupCode } from '#topology/analysis/analysis.ts'
import { allOnline, outsideGroup, type GroupShape } from '#topology/testing-group.ts'
import { gtids, type ViewOverrides } from '#topology/testing.ts'
import { analyse } from '../decide.ts'
import { deadServer, lostAgent } from '../testing.ts'
import { aGroupSituation, groupRecord, nobodyIn, revision, type GroupSituation } from './testing-group.ts'

function findingsOf(given: GroupSituation): readonly string[] {
  return analyse(aGroupSituation(given)).map(
    ({ code, severity, instance, sentence }) => `${code} ${severity} ${instance ?? '-'}: ${sentence}`,
  )
}

/** Each member has this view. */
const all = (shape: GroupShape): Readonly<Record<string, GroupShape>> => ({
  'shop-0': shape,
  'shop-1': shape,
  'shop-2': shape,
})
const isOut: ViewOverrides = {
  converged: { revision, done: false, sentence: 'joins the group' },
}
const without1 = { members: { 'shop-0': 'ONLINE', 'shop-2': 'ONLINE' } } as const
const with1 = (state: 'RECOVERING' | 'UNREACHABLE' | 'ERROR') => all({ members: { ...allOnline, 'shop-1': state } })
/** shop-1 was made primary without shop-0. */
const led1 = {
  'shop-0': outsideGroup(),
  'shop-1': { members: { 'shop-1': 'ONLINE', 'shop-2': 'ONLINE' }, primary: 'shop-1' },
  'shop-2': { members: { 'shop-1': 'ONLINE', 'shop-2': 'ONLINE' }, primary: 'shop-1' },
} as const
const opened1 = { 'shop-1': { server: { readOnly: false, superReadOnly: false } } } as const
const lost = { members: { 'shop-0': 'ONLINE', 'shop-1': 'UNREACHABLE', 'shop-2': 'UNREACHABLE' } } as const

const cases: Readonly<Record<string, { readonly given: GroupSituation; readonly findings: readonly string[] }>> = {
  'all is well': { given: {}, findings: [] },
  'a member is not in the view': {
    given: { sees: { ...all(without1), 'shop-1': outsideGroup() }, views: { 'shop-1': isOut } },
    findings: ['GroupMemberMissing warning shop-1: shop-1 is missing in the group: its agent: joins the group'],
  },
  'a member that is down is expected to be': {
    given: {
      sees: all(without1),
      views: { 'shop-1': deadServer },
      notes: {
        downtimes: [{ instance: 'shop-1', untilWallMs: 2_000_000, reason: 'a new disk', owner: '' }],
      },
    },
    findings: [
      'GroupMemberMissing info shop-1: shop-1 is missing in the group: its mysqld is dead for 12 ms (expected: downtime until 1970-01-01 00:33:20 UTC: a new disk)',
    ],
  },
  'a member died and the group has not noticed': {
    given: { views: { 'shop-1': deadServer } },
    findings: [
      'GroupMemberMissing warning shop-1: shop-1 is missing in the group: its mysqld is dead for 12 ms; the group has not expelled it yet',
    ],
  },
  'a member that is to leave may be missing': {
    given: { sees: all(without1), record: { leaving: ['shop-1@volume-1'] } },
    findings: [],
  },
  'the account of the group is wrong at a member': {
    given: { sees: { 'shop-1': { accountTrouble: 'is locked' } } },
    findings: [
      'GroupAccountWrong warning shop-1: account regent_group of shop-1 is locked: by that account members log in to each other, and nobody joins through shop-1 until it is put right',
    ],
  },
  'a member recovers': {
    given: { sees: with1('RECOVERING'), views: { 'shop-1': { server: { executed: gtids('shop-0', 60) } } } },
    findings: [
      'GroupMemberRecovering warning shop-1: shop-1 recovers from another member: it lacks 40 transactions of primary shop-0, and clients are kept out until it has them',
    ],
  },
  'a member recovers and cannot go on': {
    given: {
      sees: {
        ...with1('RECOVERING'),
        'shop-1': { members: { ...allOnline, 'shop-1': 'RECOVERING' }, error: 'Access denied' },
      },
      views: { 'shop-0': lostAgent },
    },
    findings: [
      'PrimaryAgentUnreachable warning shop-0: the agent of primary shop-0 is unreachable; the rest of the group hears its server',
      'GroupMemberRecovering warning shop-1: shop-1 recovers from another member: how far it is nobody says; Access denied',
    ],
  },
  'the group does not hear a member that its agent hears': {
    given: { sees: { ...with1('UNREACHABLE'), 'shop-1': outsideGroup() } },
    findings: [
      'GroupMemberUnreachable warning shop-1: the rest of the group does not hear shop-1 and expels it unless that ends: its own agent hears its server',
    ],
  },
  'the group does not hear its primary, nor does anybody': {
    given: {
      sees: {
        'shop-1': { members: { ...allOnline, 'shop-0': 'UNREACHABLE' } },
        'shop-2': { members: { ...allOnline, 'shop-0': 'UNREACHABLE' } },
      },
      views: { 'shop-0': lostAgent },
    },
    findings: [
      'NoWritablePrimary critical -: the group has no primary now, 2 of 3 members online: shop-0 is unreachable',
      'GroupMemberUnreachable warning shop-0: the rest of the group does not hear shop-0 and expels it unless that ends: its agent is unreachable as well',
    ],
  },
  'a member runs a lower version than the group': {
    given: {
      sees: { ...all(without1), 'shop-1': outsideGroup() },
      views: { 'shop-1': { server: { version: '9.6.0' } } },
    },
    findings: [
      'GroupMemberMissing warning shop-1: shop-1 is missing in the group, blocked by version: it runs MySQL 9.6.0, and no member runs less than 9.7.4. A lower version does not join a higher group: update shop-1',
      'MixedVersions warning shop-1: shop-1 runs MySQL 9.6 and follows primary shop-0 of 9.7: MySQL does not support an older replica of a newer source; update shop-1',
    ],
  },
  'a member left with an error': {
    given: { sees: { ...all(without1), 'shop-1': outsideGroup({ state: 'ERROR', error: 'Duplicate entry' }) } },
    findings: ['GroupMemberError warning shop-1: shop-1 left the group with an error: Duplicate entry'],
  },
  'a member was expelled and holds what the group has not': {
    given: {
      sees: { ...all(without1), 'shop-1': outsideGroup({ state: 'ERROR' }) },
      views: { 'shop-1': { server: { executed: `${gtids('shop-0', 100)},${gtids('shop-1', 2)}` } } },
    },
    findings: [
      'GroupMemberError warning shop-1: shop-1 left the group with an error: it was expelled, or lost its majority for long',
      `ErrantTransactions warning shop-1: replica shop-1 has 2 transactions that primary shop-0 has not: ${gtids('shop-1', 2)}`,
    ],
  },
  'the primary died': {
    given: { views: { 'shop-0': deadServer } },
    findings: [
      'DeadPrimary critical shop-0: primary shop-0 is dead: its mysqld is dead for 12 ms; the other 2 members elect another one once it is expelled',
    ],
  },
  'the primary of two died: the other one is no majority': {
    given: {
      notes: { instances: 2 },
      record: { syncSet: ['shop-1@volume-1'] },
      sees: all({ members: { 'shop-0': 'ONLINE', 'shop-1': 'ONLINE' } }),
      views: { 'shop-0': deadServer, 'shop-2': lostAgent },
    },
    findings: [
      'DeadPrimary critical shop-0: primary shop-0 is dead: its mysqld is dead for 12 ms; the other member is no majority, and can elect nobody without it',
      'InstanceUnreachable warning shop-2: the agent of shop-2 is unreachable; it is missing in the group',
      'GroupEvenSize warning -: when one of 2 members is lost the other is no majority, and writes wait for a person or for that member: use 3',
    ],
  },
  'the primary is frozen': {
    given: { views: { 'shop-0': { process: 'stopped', processSinceMs: 1_300 } } },
    findings: [
      'FrozenPrimary critical shop-0: primary shop-0 is frozen: its mysqld is stopped for 1300 ms; the other 2 members elect another one once it is expelled',
    ],
  },
  'the primary is closed': {
    given: {
      views: {
        'shop-0': {
          server: { readOnly: true, superReadOnly: true, offlineMode: true },
          converged: { revision, done: false, sentence: 'closed: its lease ran out' },
        },
      },
    },
    findings: [
      'NoWritablePrimary critical shop-0: primary shop-0 takes no writes: read_only, super_read_only, offline_mode are on; its agent: closed: its lease ran out',
    ],
  },
  'a secondary takes writes': {
    given: { views: { 'shop-2': { server: { readOnly: false, superReadOnly: false } } } },
    findings: ['TwoWritablePrimaries critical shop-2: 2 instances can be written to: shop-0, shop-2; only shop-0 may'],
  },
  'the primary died, and the record has not followed the group yet': {
    given: { sees: led1, views: { 'shop-0': deadServer, ...opened1 } },
    findings: [
      'DeadPrimary critical shop-0: primary shop-0 is dead: its mysqld is dead for 12 ms; the group made shop-1 primary in its place',
    ],
  },
  'the primary died, and the new one, which comes before that one, is still closed': {
    given: {
      record: { epoch: 2, primary: 'shop-1@volume-1', syncSet: ['shop-0@volume-0', 'shop-2@volume-2'] },
      sees: { ...all(without1), 'shop-1': outsideGroup() },
      views: {
        'shop-0': {
          server: { readOnly: true, superReadOnly: true },
          converged: { revision, done: false, sentence: 'elected by the group: it applies what it received' },
        },
        'shop-1': deadServer,
      },
    },
    findings: [
      'DeadPrimary critical shop-1: primary shop-1 is dead: its mysqld is dead for 12 ms; the group made shop-0 primary in its place',
      'NoWritablePrimary critical shop-0: primary shop-0 takes no writes: read_only, super_read_only are on; its agent: elected by the group: it applies what it received',
    ],
  },
  'the primary froze, and the record has not followed the group yet': {
    given: { sees: led1, views: { 'shop-0': { process: 'stopped', processSinceMs: 1_300 }, ...opened1 } },
    findings: [
      'FrozenPrimary critical shop-0: primary shop-0 is frozen: its mysqld is stopped for 1300 ms; the group made shop-1 primary in its place',
    ],
  },
  'the machine of the primary is gone, and the record has not followed the group yet': {
    given: { sees: led1, views: { 'shop-0': lostAgent, ...opened1 } },
    findings: [
      'UnreachablePrimary critical shop-0: primary shop-0 was lost: its agent is unreachable; the group made shop-1 primary in its place',
    ],
  },
  'the group chose another primary while the first one serves': {
    given: {
      sees: all({ members: allOnline, primary: 'shop-1' }),
      views: { 'shop-0': { server: { readOnly: true, superReadOnly: true } }, ...opened1 },
    },
    findings: [],
  },
  'a secondary has much to apply': {
    given: { sees: { 'shop-2': { applying: 2_500 } } },
    findings: [
      'ReplicaLagging warning shop-2: shop-2 has 2500 transactions to apply; 1000 transactions are allowed, and from 25000 on the group slows its writers down',
    ],
  },
  'a secondary applies one large transaction for long': {
    given: { sees: { 'shop-1': { applying: 1, lagSeconds: 9.9 }, 'shop-2': { applying: 1, lagSeconds: 40.2 } } },
    findings: ['ReplicaLagging warning shop-2: shop-2 is 40 s behind with 1 transaction to apply; 30 s are allowed'],
  },
  'an agent is silent, and the group hears its server': {
    given: { views: { 'shop-2': lostAgent } },
    findings: [
      'InstanceUnreachable warning shop-2: the agent of shop-2 is unreachable; the rest of the group hears its server',
    ],
  },
  'there is no majority': {
    given: { sees: { 'shop-0': lost }, views: { 'shop-1': deadServer, 'shop-2': lostAgent } },
    findings: [
      'GroupNoQuorum critical -: no majority: the group does not reach shop-1 and shop-2, and writes wait',
      'GroupMemberMissing warning shop-1: shop-1 is missing in the group: its mysqld is dead for 12 ms',
      'InstanceUnreachable warning shop-2: the agent of shop-2 is unreachable',
    ],
  },
  'nobody is in the group': {
    given: { sees: nobodyIn },
    findings: ['GroupOutage critical -: no instance is in the group'],
  },
  'nobody who answers is in the group': {
    given: { sees: nobodyIn, views: { 'shop-2': lostAgent } },
    findings: [
      'GroupUncertain critical -: nobody who answers is in the group; silent: shop-2',
      'InstanceUnreachable warning shop-2: the agent of shop-2 is unreachable',
    ],
  },
  'there are two groups': {
    given: {
      sees: {
        'shop-0': { members: { 'shop-0': 'ONLINE' } },
        'shop-1': { members: { 'shop-1': 'ONLINE', 'shop-2': 'ONLINE' }, primary: 'shop-1' },
        'shop-2': { members: { 'shop-1': 'ONLINE', 'shop-2': 'ONLINE' }, primary: 'shop-1' },
      },
    },
    findings: [
      'GroupSplitBrain critical -: two groups: shop-1 and shop-2, and shop-0. Nothing is done; a person decides whose writes count: regent failover --accept-loss --to <instance>',
    ],
  },
  'another hand formed a group of one member': {
    given: {
      sees: {
        'shop-0': { members: { 'shop-0': 'ONLINE', 'shop-2': 'ONLINE' } },
        'shop-1': { viewId: '17329999999999999:1', members: { 'shop-1': 'ONLINE' }, primary: 'shop-1' },
        'shop-2': { members: { 'shop-0': 'ONLINE', 'shop-2': 'ONLINE' } },
      },
    },
    findings: [
      'GroupFork critical shop-1: shop-1 is in a group that another hand formed (group_replication_bootstrap_group): it leaves that, and joins the others again as a copy of one of them',
    ],
  },
  'the group is not formed yet': {
    given: {
      sees: nobodyIn,
      record: { syncSet: [], ...groupRecord(true) },
      views: { 'shop-0': { converged: { revision, done: false, sentence: 'forms the group' } } },
    },
    findings: ['NoWritablePrimary critical shop-0: shop-0 is to form the group: forms the group'],
  },
  'a fourth member costs more than it gives': {
    given: { notes: { instances: 4 } },
    findings: [
      'GroupEvenSize warning -: 4 members outlive the loss of 1 at once, no more than 3 do, and each write waits for one more of them: use 3 or 5',
    ],
  },
  'two members are worse than one that is alone': {
    given: { notes: { instances: 2 } },
    findings: [
      'GroupEvenSize warning -: when one of 2 members is lost the other is no majority, and writes wait for a person or for that member: use 3',
    ],
  },
  'people paused it and fenced a member, and a disk is full': {
    given: {
      notes: {
        paused: { reason: 'maintenance', wallMs: 0 },
        fenced: [{ instance: 'shop-2', keepPrimary: false, wallMs: 0 }],
      },
      views: { 'shop-1': { probe: 'diskFull', freeBytes: 0 } },
    },
    findings: [
      'Fenced warning shop-2: shop-2 is fenced by a person: it takes no connections until it is unfenced',
      'Paused warning -: automatic actions are paused (maintenance): nobody is admitted, and no group is formed anew, until they are resumed; the group elects by itself',
      'DiskFull warning shop-1: replica shop-1: its disk is full; 0.0 MiB are free',
    ],
  },
  'a machine crashed, and files have high numbers': {
    given: { views: { 'shop-1': { stored: { forgetful: true }, server: { binlogNumber: 950_000 } } } },
    findings: [
      'ForgetfulReplica warning shop-1: the machine of shop-1 crashed, or its volume was cut off: it may have forgotten what it had received, and gets that from the group',
    ],
  },
  'this manager reaches nobody': {
    given: { views: { 'shop-0': lostAgent, 'shop-1': lostAgent, 'shop-2': lostAgent } },
    findings: [
      'ManagerIsolated critical -: this manager reaches none of 3 agents: it suspects itself and does nothing',
    ],
  },
}

describe('What is found where', () => {
  test.each(Object.entries(cases))('%s', (_title, { given, findings }) => {
    expect(findingsOf(given)).toEqual(findings)
  })
})

test('before any record somebody is to be primary, and a record that was lost is rebuilt', () => {
  const findings = analyse({ ...aGroupSituation({ sees: nobodyIn }), record: undefined })
  expect(findings.map(({ code, sentence }) => `${code}: ${sentence}`)).toEqual([
    'NoWritablePrimary: no primary is recorded yet for 3 instances',
    ...['shop-0', 'shop-1', 'shop-2'].map(
      (name) =>
        `RecordLost: no record is there, and ${name} acted on one (epoch 1, revision 5): the record is rebuilt once all known members have answered`,
    ),
  ])
})

test('every code of a group appears', () => {
  const codes: Readonly<Record<GroupCode, true>> = {
    GroupMemberMissing: true,
    GroupMemberRecovering: true,
    GroupMemberUnreachable: true,
    GroupMemberError: true,
    GroupAccountWrong: true,
    GroupNoQuorum: true,
    GroupOutage: true,
    GroupUncertain: true,
    GroupSplitBrain: true,
    GroupFork: true,
    GroupEvenSize: true,
  }
  const found = Object.values(cases).flatMap(({ findings }) => findings.map((line) => line.split(' ')[0]))
  expect(new Set(found.filter((code) => code?.startsWith('Group')))).toEqual(new Set(Object.keys(codes)))
})
