import { gtids } from '#topology/testing.ts'
import { beforeAnyRecord, fresh, lost, type Cases } from './case.ts'

export const primaryCases: Cases = {
  'a primary that works': {
    'a healthy cluster has no findings': {
      findings: [],
    },
    'a cluster that has no primary yet says so': {
      views: {
        'shop-0': { ...fresh, server: { superReadOnly: true, readOnly: true } },
        'shop-1': { ...fresh, process: 'absent', processSinceMs: 80 },
        'shop-2': { ...fresh, server: { channel: null } },
      },
      expected: beforeAnyRecord,
      findings: [
        'NoWritablePrimary critical -: no primary is recorded yet for 3 instances',
        'ReplicaDead warning shop-1: instance shop-1 is dead: its mysqld is absent for 80 ms',
      ],
    },
    'two writable servers are one too many before there is a primary, too': {
      views: { 'shop-0': fresh, 'shop-1': { ...fresh, follows: null } },
      expected: beforeAnyRecord,
      shape: { instances: 2 },
      findings: [
        'NoWritablePrimary critical -: no primary is recorded yet for 2 instances',
        'TwoWritablePrimaries critical shop-0: 2 instances can be written to: shop-0, shop-1; no primary is recorded',
      ],
    },
    'one writable server before there is a primary is none too many': {
      views: { 'shop-0': fresh },
      expected: beforeAnyRecord,
      shape: { instances: 1 },
      findings: ['NoWritablePrimary critical -: no primary is recorded yet for 1 instance'],
    },
    'a primary that is read-only and offline takes no writes, and what its agent does about it is told': {
      views: {
        'shop-0': {
          server: { readOnly: true, superReadOnly: true, offlineMode: true },
          converged: { revision: 0, done: false, sentence: 'setting the gates' },
        },
      },
      findings: [
        'NoWritablePrimary critical shop-0: primary shop-0 takes no writes: read_only, super_read_only, offline_mode are on; its agent: setting the gates',
      ],
    },
    'a primary that was elected and applies what it had received says how much that is, and for how long it goes on': {
      views: {
        'shop-0': {
          openingMs: 8_400,
          server: { readOnly: true, superReadOnly: true, offlineMode: true, received: gtids('shop-0', 103) },
          converged: { revision: 0, done: false, sentence: 'applying 3 received transactions before opening' },
        },
      },
      findings: [
        'NoWritablePrimary critical shop-0: primary shop-0 takes no writes: it is elected and applies 3 transactions before it takes writes, for 8 s',
      ],
    },
    'an open primary replicates from somewhere outside': {
      views: { 'shop-0': { server: { channel: { sourceHost: '10.9.9.9', ioRunning: 'connecting' } } } },
      findings: [
        'PrimaryHasSource warning shop-0: primary shop-0 has a replication channel of its own, from ' +
          '10.9.9.9:3306, which is none of this cluster: what arrives there is written beside what its ' +
          'clients write',
      ],
    },
    'an open primary was pointed to one of its replicas': {
      views: { 'shop-0': { server: { channel: { sourceHost: '127.24.1.2' } } } },
      findings: [
        'PrimaryHasSource warning shop-0: primary shop-0 has a replication channel of its own, from ' +
          'shop-1: what arrives there is written beside what its clients write',
      ],
    },
    'the stopped channel that a new primary followed by is no finding': {
      views: { 'shop-0': { server: { channel: { sourceHost: '127.24.1.2', ioRunning: 'no', sqlRunning: false } } } },
      findings: [],
    },
    'a primary that lacks a part of what it was elected for stays closed, and nobody is errant by what it holds': {
      views: {
        'shop-0': {
          lacksElected: '00000000-0000-0000-0000-000000000000:91-100',
          server: {
            readOnly: true,
            superReadOnly: true,
            offlineMode: true,
            executed: '00000000-0000-0000-0000-000000000000:1-90',
          },
        },
        'shop-2': {
          server: { executed: '00000000-0000-0000-0000-000000000000:1-100,00000000-0000-0000-0000-000000000009:1' },
        },
      },
      findings: [
        'ElectedSetLost critical shop-0: primary shop-0 stays closed: it lacks 10 transactions of the ' +
          'set that it was elected for: 00000000-0000-0000-0000-000000000000:91-100',
      ],
    },
    'a primary that is only offline takes no writes': {
      views: { 'shop-0': { server: { offlineMode: true } } },
      findings: ['NoWritablePrimary critical shop-0: primary shop-0 takes no writes: offline_mode is on'],
    },
    'a primary that is starting takes no writes and is not dead, and its replicas are not blamed': {
      views: { 'shop-0': { process: 'starting', processSinceMs: 1200, server: null }, 'shop-1': lost, 'shop-2': lost },
      findings: [
        'NoWritablePrimary critical shop-0: primary shop-0 takes no writes: its mysqld is starting for 1200 ms',
      ],
    },
    'a primary that went silent a moment ago is not frozen yet': {
      views: { 'shop-0': { silentMs: 900, probe: 'stuck' } },
      findings: [],
    },
    'a replica that takes writes too is a second primary': {
      views: { 'shop-2': { server: { readOnly: false, superReadOnly: false } } },
      findings: [
        'TwoWritablePrimaries critical shop-2: 2 instances can be written to: shop-0, shop-2; only shop-0 may',
      ],
    },
    'a replica that takes writes is reported while nothing is heard of the primary': {
      views: { 'shop-0': { reachable: false }, 'shop-2': { server: { readOnly: false, superReadOnly: false } } },
      findings: [
        'TwoWritablePrimaries critical shop-2: 1 instance can be written to: shop-2; only shop-0 may',
        'PrimaryAgentUnreachable warning shop-0: the agent of primary shop-0 is unreachable, its server is not: shop-1 and shop-2 still receive from it',
      ],
    },
    'a writable server that is offline is no second primary': {
      views: { 'shop-2': { server: { readOnly: false, superReadOnly: false, offlineMode: true } } },
      findings: [],
    },
  },
  'a primary that died, by its own agent’s word': {
    'mysqld is dead': {
      views: {
        'shop-0': { process: 'dead', processSinceMs: 12, processNote: 'killed by signal 9' },
        'shop-1': lost,
        'shop-2': lost,
      },
      findings: [
        'DeadPrimary critical shop-0: primary shop-0 is dead: its own agent says its mysqld is dead for 12 ms (killed by signal 9); 2 of 2 replicas are alive',
      ],
    },
    'mysqld is exiting, although its replicas are still connected': {
      views: { 'shop-0': { process: 'exiting', processSinceMs: 3 } },
      findings: [
        'DeadPrimary critical shop-0: primary shop-0 is dead: its own agent says its mysqld is exiting for 3 ms; 2 of 2 replicas are alive',
      ],
    },
    'mysqld is absent': {
      views: { 'shop-0': { process: 'absent', processSinceMs: 40, processNote: 'its start gate is closed' } },
      findings: [
        'DeadPrimary critical shop-0: primary shop-0 is dead: its own agent says its mysqld is absent ' +
          'for 40 ms (its start gate is closed); 2 of 2 replicas are alive',
      ],
    },
    'a replica died too': {
      views: { 'shop-0': { process: 'dead', processSinceMs: 12 }, 'shop-2': { process: 'dead', processSinceMs: 15 } },
      findings: [
        'DeadPrimaryAndSomeReplicas critical shop-0: primary shop-0 is dead: its own agent says its mysqld is dead for 12 ms; 1 of 2 replicas is alive',
        'ReplicaDead warning shop-2: replica shop-2 is dead: its mysqld is dead for 15 ms',
      ],
    },
    'a replica’s agent is silent too': {
      views: { 'shop-0': { process: 'dead', processSinceMs: 12 }, 'shop-1': { reachable: false } },
      findings: [
        'DeadPrimaryAndSomeReplicas critical shop-0: primary shop-0 is dead: its own agent says its mysqld is dead for 12 ms; 1 of 2 replicas is alive',
        'InstanceUnreachable warning shop-1: the agent of shop-1 is unreachable; its process was running when last heard',
      ],
    },
    'every replica died or is unreachable': {
      views: {
        'shop-0': { process: 'dead', processSinceMs: 12 },
        'shop-1': { process: 'dead', processSinceMs: 15 },
        'shop-2': { reachable: false },
      },
      findings: [
        'DeadPrimaryAndReplicas critical shop-0: primary shop-0 is dead: its own agent says its mysqld is dead for 12 ms; 0 of 2 replicas are alive',
        'NotEnoughSyncReplicas critical shop-0: a write at primary shop-0 needs 1 acknowledgement: 0 of 2 sync replicas (shop-1, shop-2) are known to be alive',
        'ReplicaDead warning shop-1: replica shop-1 is dead: its mysqld is dead for 15 ms',
        'InstanceUnreachable warning shop-2: the agent of shop-2 is unreachable; its process was running when last heard',
      ],
    },
    'there are no replicas': {
      views: { 'shop-0': { process: 'dead', processSinceMs: 12 } },
      expected: { syncSet: [], acks: 0 },
      shape: { instances: 1 },
      findings: [
        'DeadPrimaryWithoutReplicas critical shop-0: primary shop-0 is dead: its own agent says its mysqld is dead for 12 ms; it has no replicas',
        'NotProtected warning shop-0: shop-0 is the only instance: what it loses is lost',
      ],
    },
  },
  'a primary that is frozen': {
    'its process is stopped': {
      views: { 'shop-0': { process: 'stopped', processSinceMs: 10, silentMs: 10 } },
      findings: ['FrozenPrimary critical shop-0: primary shop-0 is frozen: its mysqld is stopped for 10 ms'],
    },
    'neither probe nor admin interface answered for as long as the limit allows': {
      views: { 'shop-0': { probe: 'stuck', silentMs: 1200 } },
      findings: ['FrozenPrimary critical shop-0: primary shop-0 is frozen: its server has not answered for 1200 ms'],
    },
    'a full connection table is no freeze': {
      views: { 'shop-0': { probe: 'tooManyConnections', probeDetail: '151 of 151' } },
      findings: ['TooManyConnections critical shop-0: primary shop-0: all of its connections are taken (151 of 151)'],
    },
  },
  'a primary whose agent is silent': {
    'no replica receives from it any more: it is dead': {
      views: { 'shop-0': { reachable: false }, 'shop-1': lost, 'shop-2': { server: { channel: { ioRunning: 'no' } } } },
      findings: [
        'DeadPrimary critical shop-0: primary shop-0 is dead: its agent is unreachable, and no replica ' +
          'that can testify (shop-1, shop-2) receives from it; 2 of 2 replicas are alive',
      ],
    },
    'a connection whose source fell silent is no sign of life': {
      views: { 'shop-0': { reachable: false }, 'shop-1': { server: { channel: { silentMs: 1500 } } }, 'shop-2': lost },
      findings: [
        'DeadPrimary critical shop-0: primary shop-0 is dead: its agent is unreachable, and no replica ' +
          'that can testify (shop-1, shop-2) receives from it; 2 of 2 replicas are alive',
      ],
    },
    'one that was told to follow nobody is a witness': {
      views: {
        'shop-0': { unheard: true },
        'shop-1': { server: { channel: null }, stored: { promise: 2 } },
        'shop-2': { unheard: true },
      },
      findings: [
        'DeadPrimaryAndSomeReplicas critical shop-0: primary shop-0 is dead: its agent is unreachable, ' +
          'and no replica that can testify (shop-1) receives from it; 1 of 2 replicas is alive',
        'ReplicaNotReplicating warning shop-1: replica shop-1 does not replicate: it promised epoch 2 and follows nobody until that is decided',
        'InstanceUnreachable warning shop-2: the agent of shop-2 was never heard by this manager',
      ],
    },
    'one replica still receives from it: only the agent is lost': {
      views: { 'shop-0': { reachable: false }, 'shop-1': lost },
      findings: [
        'PrimaryAgentUnreachable warning shop-0: the agent of primary shop-0 is unreachable, its server is not: shop-2 still receives from it',
        'ReplicaNotReplicating warning shop-1: replica shop-1 does not replicate: its IO thread cannot connect: error connecting to source',
      ],
    },
    'what its own agent said before it fell silent counts no more': {
      views: { 'shop-0': { reachable: false, process: 'dead' } },
      findings: [
        'PrimaryAgentUnreachable warning shop-0: the agent of primary shop-0 is unreachable, its server is not: shop-1 and shop-2 still receive from it',
      ],
    },
    'no replica can testify: nobody knows': {
      views: {
        'shop-0': { reachable: false },
        'shop-1': { process: 'dead', processSinceMs: 900 },
        'shop-2': { reachable: false },
      },
      findings: [
        'UnreachablePrimary critical shop-0: nobody knows whether primary shop-0 is alive: its agent is unreachable and none of 2 replicas can testify',
        'NotEnoughSyncReplicas critical shop-0: a write at primary shop-0 needs 1 acknowledgement: 0 of 2 sync replicas (shop-1, shop-2) are known to be alive',
        'ReplicaDead warning shop-1: replica shop-1 is dead: its mysqld is dead for 900 ms',
        'InstanceUnreachable warning shop-2: the agent of shop-2 is unreachable; its process was running when last heard',
      ],
    },
    'a replica that receives from elsewhere is a witness against it': {
      views: { 'shop-0': { reachable: false }, 'shop-1': lost, 'shop-2': { follows: 'shop-1' } },
      findings: [
        'DeadPrimary critical shop-0: primary shop-0 is dead: its agent is unreachable, and no replica ' +
          'that can testify (shop-1, shop-2) receives from it; 2 of 2 replicas are alive',
        'WrongSource warning shop-2: replica shop-2 follows shop-1 instead of primary shop-0',
      ],
    },
    'the platform does not list it, and a replica receives from an address nobody knows': {
      views: { 'shop-0': { follows: 'shop-9' }, 'shop-1': { follows: 'shop-9' } },
      expected: { primary: 'shop-9' },
      shape: { instances: 2 },
      findings: [
        'PrimaryAgentUnreachable warning shop-9: the agent of primary shop-9 is unreachable, its server is not: shop-0 and shop-1 still receive from it',
      ],
    },
    'this manager reaches nobody: it judges nobody': {
      views: {
        'shop-0': { reachable: false, process: 'dead' },
        'shop-1': { reachable: false },
        'shop-2': { unheard: true },
      },
      expected: { paused: true },
      findings: [
        'ManagerIsolated critical -: this manager reaches none of 3 agents: it suspects itself and does nothing',
        'Paused warning -: automatic actions are paused: nothing fails over until they are resumed',
      ],
    },
  },
}
