import type { Cases } from './case.ts'
import { aDumpThreadOf, gtids } from '#topology/testing.ts'

export const durabilityCases: Cases = {
  acknowledgements: {
    'sessions wait and no acknowledging replica is connected': {
      views: { 'shop-0': { server: { dumpThreads: [], semiSyncSource: { waiting: 4 } } } },
      findings: [
        'LockedSemiSyncPrimary critical shop-0: at least 4 sessions of primary shop-0 wait for 1 acknowledgement, and no acknowledging replica is connected',
      ],
    },
    'sessions wait for two and only one acknowledging replica is connected': {
      views: {
        'shop-0': {
          server: {
            dumpThreads: [aDumpThreadOf('shop-1'), aDumpThreadOf('shop-2', { semiSync: false })],
            semiSyncSource: { acks: 2, waiting: 1 },
          },
        },
      },
      expected: { acks: 2 },
      findings: [
        'LockedSemiSyncPrimary critical shop-0: at least 1 session of primary shop-0 waits for 2 ' +
          'acknowledgements, and only 1 acknowledging replica is connected',
      ],
    },
    'sessions that wait while enough replicas are connected are no finding': {
      views: { 'shop-0': { server: { semiSyncSource: { waiting: 4 } } } },
      findings: [],
    },
    'a primary that takes writes does not wait for acknowledgements that the record asks for': {
      views: { 'shop-0': { server: { semiSyncSource: { enabled: false } } } },
      findings: [
        'PrimarySemiSyncMustBeSet critical shop-0: primary shop-0 takes writes and must wait for 1 acknowledgement of each: semi-sync is off',
      ],
    },
    'a primary waits for fewer acknowledgements than the record asks for': {
      views: { 'shop-0': { server: { semiSyncSource: { acks: 1 } } } },
      expected: { acks: 2 },
      findings: [
        'PrimarySemiSyncMustBeSet critical shop-0: primary shop-0 takes writes and must wait for 2 acknowledgements of each: it waits for 1',
      ],
    },
    'a primary may go on without acknowledgements since its time-out was changed': {
      views: { 'shop-0': { server: { semiSyncSource: { intact: false } } } },
      findings: [
        'PrimarySemiSyncMustBeSet critical shop-0: primary shop-0 takes writes and must wait for 1 ' +
          'acknowledgement of each: its time-out, wait point or wait_no_replica was changed, and it may go ' +
          'on without',
      ],
    },
    'a primary that is closed is not yet asked to wait': {
      views: { 'shop-0': { server: { offlineMode: true, semiSyncSource: { enabled: false } } } },
      findings: ['NoWritablePrimary critical shop-0: primary shop-0 takes no writes: offline_mode is on'],
    },
    'a counted replica receives and does not acknowledge': {
      views: { 'shop-1': { server: { channel: { semiSync: false } } } },
      findings: [
        'ReplicaSemiSyncMustBeSet warning shop-1: replica shop-1 is in the sync set and receives from ' +
          'primary shop-0, but acknowledges nothing: semi-sync of its receiver is not in force',
      ],
    },
    'a replica that has not heard yet that it counts, or is not connected, is not asked to acknowledge': {
      views: {
        'shop-1': {
          stored: {
            assignment: { epoch: 1, revision: 1, role: 'replica', counted: false, fenced: false, source: 'shop-0' },
          },
          server: { channel: { semiSync: false } },
        },
        'shop-2': { server: { channel: { ioRunning: 'connecting', semiSync: false } } },
      },
      findings: [
        'ReplicaNotReplicating warning shop-2: replica shop-2 does not replicate: its IO thread cannot connect',
      ],
    },
    'nobody is asked to acknowledge where nothing is waited for': {
      views: {
        'shop-0': { server: { semiSyncSource: { enabled: false } } },
        'shop-1': { server: { channel: { semiSync: false } } },
      },
      expected: { acks: 0 },
      findings: [
        'NotProtected warning shop-0: writes at primary shop-0 wait for no acknowledgement: a failover may lose them',
      ],
    },
    'fewer of the sync set are alive than a write needs': {
      views: { 'shop-1': { process: 'dead', processSinceMs: 50 } },
      expected: { syncSet: ['shop-1'] },
      findings: [
        'StrangerAcknowledges critical shop-0: primary shop-0 counts acknowledgements of ' +
          'regent_shop-2@127.24.1.3 (00000000-0000-0000-0000-000000000002), which is not in the sync set',
        'NotEnoughSyncReplicas critical shop-0: a write at primary shop-0 needs 1 acknowledgement: 0 of 1 sync replica (shop-1) are known to be alive',
        'ReplicaDead warning shop-1: replica shop-1 is dead: its mysqld is dead for 50 ms',
      ],
    },
    'an empty sync set stops every write': {
      views: { 'shop-0': { server: { dumpThreads: [] } } },
      expected: { syncSet: [] },
      findings: [
        'NotEnoughSyncReplicas critical shop-0: a write at primary shop-0 needs 1 acknowledgement: the sync set is empty',
      ],
    },
    'a stranger acknowledges': {
      views: {
        'shop-0': {
          server: {
            dumpThreads: [
              aDumpThreadOf('shop-1'),
              aDumpThreadOf('shop-2', { user: 'reporting', host: '10.9.9.9', serverUuid: '' }),
            ],
          },
        },
      },
      findings: [
        'StrangerAcknowledges critical shop-0: primary shop-0 counts acknowledgements of ' +
          'reporting@10.9.9.9 (no server_uuid announced), which is not in the sync set',
      ],
    },
    'an instance outside of the sync set acknowledges': {
      expected: { syncSet: ['shop-1'] },
      findings: [
        'StrangerAcknowledges critical shop-0: primary shop-0 counts acknowledgements of ' +
          'regent_shop-2@127.24.1.3 (00000000-0000-0000-0000-000000000002), which is not in the sync set',
      ],
    },
    'a member whose server_uuid is not known yet is known by its address': {
      views: { 'shop-2': { unheard: true } },
      findings: ['InstanceUnreachable warning shop-2: the agent of shop-2 was never heard by this manager'],
    },
    'commits went out without acknowledgement and the replicas lack some': {
      views: { 'shop-0': { server: { executed: gtids('shop-0', 110), semiSyncSource: { unacknowledged: 3 } } } },
      findings: [
        'UnacknowledgedCommits critical shop-0: primary shop-0 confirmed 3 commits to clients without ' +
          'the 1 acknowledgement a commit needs; 0 of 2 sync replicas hold all of its binlog',
      ],
    },
    'commits that went out without acknowledgement are forgotten once enough hold everything': {
      views: {
        'shop-0': { server: { semiSyncSource: { unacknowledged: 3 } } },
        'shop-2': { server: { executed: gtids('shop-0', 50), received: gtids('shop-0', 60) } },
      },
      findings: [],
    },
    'nothing is waited for: nothing is protected': {
      expected: { acks: 0, syncSet: ['shop-1', 'shop-2'] },
      findings: [
        'NotProtected warning shop-0: writes at primary shop-0 wait for no acknowledgement: a failover may lose them',
      ],
    },
    'a single instance is not protected': {
      expected: { acks: 0, syncSet: [] },
      shape: { instances: 1 },
      findings: ['NotProtected warning shop-0: shop-0 is the only instance: what it loses is lost'],
    },
    'a stop that nobody ordered left its mark, also on an agent that is silent now': {
      views: { 'shop-2': { reachable: false, stored: { unsettled: true } } },
      findings: [
        'UnsettledTail warning shop-2: shop-2 stopped without an order, or was changed by another hand, ' +
          'and may have acknowledged writes that no replica holds; its binlog belongs to any failover ' +
          'until that is settled',
        'InstanceUnreachable warning shop-2: the agent of shop-2 is unreachable; its server is still connected to the primary',
      ],
    },
    'a switchover ended sessions': {
      views: { 'shop-0': { stored: { unsettled: true, unsettledBy: 'switchover' } } },
      findings: [
        'UnsettledTail warning shop-0: shop-0 ended sessions that stood in the way of a switchover and ' +
          'may have acknowledged writes that no replica holds; its binlog belongs to any failover until ' +
          'that is settled',
      ],
    },
    'a volume went back in time and its agent does not know it': {
      views: { 'shop-1': { member: 'shop-1@volume-1~b', past: 'shop-1@volume-1' } },
      findings: [
        'VolumeFromThePast critical shop-1: the volume of shop-1 went back in time (a snapshot put ' +
          'back?): it is seeded again once another leads. To keep its data, where ' +
          'nobody leads: regent failover --accept-loss --to shop-1',
      ],
    },
    'a volume went back in time and has not been seeded since': {
      views: { 'shop-1': { stored: { fromThePast: true } } },
      findings: [
        'VolumeFromThePast warning shop-1: the volume of shop-1 went back in time; it is a new member and counts for nothing until it has been seeded again',
      ],
    },
    'the GTIDs of an instance were reset by hand': {
      views: { 'shop-1': { stored: { forgetful: true, fromThePast: true, gtidsReset: true } } },
      findings: [
        'GtidsReset critical shop-1: the GTIDs of shop-1 were reset by another hand (RESET BINARY LOGS ' +
          'AND GTIDS): nobody can tell what it holds, and it counts for nothing until seeded again',
      ],
    },
    'an instance was given GTIDs by hand': {
      views: { 'shop-1': { stored: { forgetful: true, fromThePast: true, gtidsReset: true, gtidsGiven: true } } },
      findings: [
        'GtidsReset critical shop-1: shop-1 was given GTIDs that it never executed by another hand (SET gtid_next, ' +
          'SET GLOBAL gtid_purged): nobody can tell what it holds, and it counts for nothing until seeded again',
      ],
    },
    'mysqld of an instance had no binary log': {
      views: { 'shop-1': { stored: { forgetful: true, fromThePast: true, gtidsReset: true, binlogOff: true } } },
      findings: [
        'BinlogOff critical shop-1: shop-1 ran without a binary log: what it committed has no GTID and ' +
          'is on no replica, and it counts for nothing until it has been seeded again',
      ],
    },
    'a machine crashed': {
      views: { 'shop-1': { stored: { forgetful: true } } },
      findings: [
        'ForgetfulReplica warning shop-1: the machine of shop-1 crashed, or its volume was cut off: it ' +
          'may have forgotten what it acknowledged and counts for nothing until it has caught up',
      ],
    },
  },
}
