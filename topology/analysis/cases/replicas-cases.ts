import { say } from '#common/sentence/sentence.ts'
import { lost, type Cases } from './case.ts'
import { gtids, uuidOf } from '#topology/testing.ts'

export const replicasCases: Cases = {
  replicas: {
    'one cannot connect': {
      views: { 'shop-1': lost },
      findings: [
        'ReplicaNotReplicating warning shop-1: replica shop-1 does not replicate: its IO thread cannot connect: error connecting to source',
      ],
    },
    'one stopped applying': {
      views: {
        'shop-1': { server: { channel: { sqlRunning: false, sqlError: 'Duplicate entry', backlogTransactions: 12 } } },
      },
      findings: [
        'ReplicaNotReplicating warning shop-1: replica shop-1 does not replicate: its SQL thread is stopped with 12 transactions to apply: Duplicate entry',
      ],
    },
    'one stopped receiving and applying, and its long error is cut': {
      views: {
        'shop-1': {
          server: { channel: { ioRunning: 'no', ioError: 'x'.repeat(500), sqlRunning: false, backlogTransactions: 1 } },
        },
      },
      findings: [
        'ReplicaNotReplicating warning shop-1: replica shop-1 does not replicate: its IO thread is ' +
          `stopped: ${'x'.repeat(199)}…; ` +
          'its SQL thread is stopped with 1 transaction to apply',
      ],
    },
    'one was passed over': {
      expected: {
        passedOver: new Map([['shop-1', say`was passed over: it has received what came after 2 transactions`]]),
      },
      findings: [
        'ReplicaPassedOver warning shop-1: replica shop-1 was passed over: it has received what came ' +
          'after 2 transactions; it does not count until it was seeded again',
      ],
    },
    'one was passed over and is seeded': {
      views: { 'shop-1': { stored: { seeding: true } } },
      expected: { passedOver: new Map([['shop-1', say`was passed over`]]) },
      findings: [],
    },
    'one follows nobody': {
      views: { 'shop-1': { server: { channel: null } } },
      findings: ['ReplicaNotReplicating warning shop-1: replica shop-1 does not replicate: it follows nobody'],
    },
    'one is starting, one is frozen': {
      views: {
        'shop-1': { process: 'starting', processSinceMs: 70, server: null },
        'shop-2': { process: 'stopped', processSinceMs: 5000 },
      },
      findings: [
        'NotEnoughSyncReplicas critical shop-0: a write at primary shop-0 needs 1 acknowledgement: 0 of 2 sync replicas (shop-1, shop-2) are known to be alive',
        'AllReplicasNotReplicating critical shop-0: none of 2 replicas replicates from primary shop-0; every write waits for 1 acknowledgement',
        'ReplicaNotReplicating warning shop-1: replica shop-1 does not replicate: its mysqld is starting for 70 ms',
        'ReplicaNotReplicating warning shop-2: replica shop-2 does not replicate: its mysqld is stopped for 5000 ms',
      ],
    },
    'one does not answer': {
      views: { 'shop-1': { silentMs: 2000, probe: 'stuck' } },
      findings: [
        'ReplicaNotReplicating warning shop-1: replica shop-1 does not replicate: its server has not answered for 2000 ms',
      ],
    },
    'one is dead and being seeded': {
      views: { 'shop-1': { process: 'absent', processSinceMs: 900, seedingProgress: { stage: 'clone', percent: 40 } } },
      findings: [
        'ReplicaDead warning shop-1: replica shop-1 is dead: its mysqld is absent for 900 ms; it is being seeded: clone, 40 %',
      ],
    },
    'one could not be seeded, and is from another donor': {
      views: {
        'shop-1': {
          server: null,
          seedingProgress: { stage: 'file copy', percent: 40, donor: 'shop-0' },
          seedingFailures: [{ donor: 'shop-2', times: 2, error: 'Access denied', agoMs: 900 }],
        },
      },
      findings: [
        'ReplicaNotReplicating warning shop-1: replica shop-1 does not replicate: its mysqld runs for 60 ' +
          's and has not answered yet; it is being seeded from shop-0: file copy, 40 %',
        'SeedingFailed warning shop-1: shop-1 could not be seeded from shop-2 (2 failures): Access denied',
      ],
    },
    'one could not be seeded once, and follows and counts since, as what was wrong with it was mended': {
      views: { 'shop-1': { seedingFailures: [{ donor: 'shop-0', times: 1, error: 'Access denied', agoMs: 900 }] } },
      findings: [],
    },
    'one’s agent is silent, its server still connected': {
      views: { 'shop-1': { reachable: false } },
      findings: [
        'InstanceUnreachable warning shop-1: the agent of shop-1 is unreachable; its server is still connected to the primary',
      ],
    },
    'every replica’s agent is silent while the primary serves them: only their agents are missing': {
      views: { 'shop-1': { reachable: false }, 'shop-2': { reachable: false } },
      findings: [
        'NotEnoughSyncReplicas warning shop-0: a write at primary shop-0 needs 1 acknowledgement: 0 of 2 sync replicas (shop-1, shop-2) are known to be alive',
        'InstanceUnreachable warning shop-1: the agent of shop-1 is unreachable; its server is still connected to the primary',
        'InstanceUnreachable warning shop-2: the agent of shop-2 is unreachable; its server is still connected to the primary',
      ],
    },
    'every replica’s agent is silent and sessions wait: their connections are leftovers': {
      views: {
        'shop-0': { server: { semiSyncSource: { waiting: 2 } } },
        'shop-1': { reachable: false },
        'shop-2': { reachable: false },
      },
      findings: [
        'NotEnoughSyncReplicas critical shop-0: a write at primary shop-0 needs 1 acknowledgement: 0 of 2 sync replicas (shop-1, shop-2) are known to be alive',
        'InstanceUnreachable warning shop-1: the agent of shop-1 is unreachable; its server is still connected to the primary',
        'InstanceUnreachable warning shop-2: the agent of shop-2 is unreachable; its server is still connected to the primary',
      ],
    },
    'one’s agent was never heard, another’s server is gone from the primary too': {
      views: {
        'shop-0': { server: { dumpThreads: [] } },
        'shop-1': { unheard: true },
        'shop-2': { reachable: false, process: 'stopped' },
      },
      findings: [
        'NotEnoughSyncReplicas critical shop-0: a write at primary shop-0 needs 1 acknowledgement: 0 of 2 sync replicas (shop-1, shop-2) are known to be alive',
        'AllReplicasNotReplicating critical shop-0: none of 2 replicas replicates from primary shop-0; every write waits for 1 acknowledgement',
        'InstanceUnreachable warning shop-1: the agent of shop-1 was never heard by this manager',
        'InstanceUnreachable warning shop-2: the agent of shop-2 is unreachable; its process was stopped when last heard',
      ],
    },
    'none replicates': {
      views: { 'shop-1': lost, 'shop-2': { process: 'dead', processSinceMs: 8 } },
      findings: [
        'AllReplicasNotReplicating critical shop-0: none of 2 replicas replicates from primary shop-0; every write waits for 1 acknowledgement',
        'ReplicaNotReplicating warning shop-1: replica shop-1 does not replicate: its IO thread cannot connect: error connecting to source',
        'ReplicaDead warning shop-2: replica shop-2 is dead: its mysqld is dead for 8 ms',
      ],
    },
    'strangers may acknowledge as they like where nothing is waited for': {
      views: { 'shop-0': { server: { semiSyncSource: { enabled: false } } } },
      expected: { acks: 0, syncSet: [] },
      findings: [
        'NotProtected warning shop-0: writes at primary shop-0 wait for no acknowledgement: a failover may lose them',
      ],
    },
    'none replicates and nothing waits for them': {
      views: { 'shop-0': { server: { semiSyncSource: { enabled: false } } }, 'shop-1': lost },
      expected: { acks: 0, syncSet: [] },
      shape: { instances: 2 },
      findings: [
        'NotProtected warning shop-0: writes at primary shop-0 wait for no acknowledgement: a failover may lose them',
        'AllReplicasNotReplicating warning shop-0: none of 1 replica replicates from primary shop-0',
        'ReplicaNotReplicating warning shop-1: replica shop-1 does not replicate: its IO thread cannot connect: error connecting to source',
      ],
    },
    'one cannot start its own mysqld to be seeded: no donor is blamed': {
      views: {
        'shop-1': {
          process: 'dead',
          processSinceMs: 20,
          processNote: '',
          server: null,
          stored: { seeding: true },
          seedingFailures: [{ donor: 'shop-1', times: 3, error: 'its own mysqld ended while it started', agoMs: 900 }],
        },
      },
      findings: [
        'ReplicaDead warning shop-1: replica shop-1 is dead: its mysqld is dead for 20 ms',
        'SeedingFailed warning shop-1: shop-1 could not be seeded (3 failures): its own mysqld ended while it started',
      ],
    },
    'one is far behind': {
      views: { 'shop-1': { server: { channel: { lagSeconds: 31.4, backlogTransactions: 812 } } } },
      findings: [
        'ReplicaLagging warning shop-1: replica shop-1 is 31 s behind with 812 transactions to apply; 30 s are allowed',
      ],
    },
    'one has much to apply and applies nothing at this moment': {
      views: { 'shop-1': { server: { channel: { lagSeconds: null, backlogTransactions: 9_104 } } } },
      findings: [
        'ReplicaLagging warning shop-1: replica shop-1 is behind with 9104 transactions to apply; 1000 transactions are allowed',
      ],
    },
    'one that applies a large backlog within a second is no finding': {
      views: { 'shop-1': { server: { channel: { lagSeconds: 0.4, backlogTransactions: 9_104 } } } },
      findings: [],
    },
    'one as far behind as is allowed is no finding': {
      views: { 'shop-1': { server: { channel: { lagSeconds: 30 } } } },
      findings: [],
    },
    'one follows a stranger, one follows another replica': {
      views: { 'shop-1': { server: { channel: { sourceHost: '10.9.9.9' } } }, 'shop-2': { follows: 'shop-1' } },
      findings: [
        'AllReplicasNotReplicating critical shop-0: none of 2 replicas replicates from primary shop-0; every write waits for 1 acknowledgement',
        'WrongSource warning shop-1: replica shop-1 follows 10.9.9.9:3306, which is none of this cluster, instead of primary shop-0',
        'WrongSource warning shop-2: replica shop-2 follows shop-1 instead of primary shop-0',
      ],
    },
    'one still follows the primary of the last epoch': {
      views: { 'shop-2': { follows: 'shop-0' } },
      expected: { primary: 'shop-1', epoch: 2, syncSet: ['shop-0', 'shop-2'] },
      shape: { primary: 'shop-1' },
      findings: [
        'WrongSource warning shop-2: replica shop-2 follows shop-0 instead of primary shop-1; it was last told whom to follow in epoch 1, now is 2',
      ],
    },
    'one has transactions the primary has not': {
      views: { 'shop-1': { server: { executed: `${gtids('shop-0', 100)},${gtids('shop-1', 3)}` } } },
      findings: [
        'ErrantTransactions warning shop-1: replica shop-1 has 3 transactions that primary shop-0 has not: 00000000-0000-0000-0000-000000000001:1-3',
      ],
    },
    'many errant transactions are counted and cut short': {
      views: {
        'shop-1': {
          server: {
            executed: Array.from({ length: 100 }, (_, index) => `${uuidOf('shop-1')}:${2 * index + 1}`).join(','),
          },
        },
      },
      findings: [
        'ErrantTransactions warning shop-1: replica shop-1 has 100 transactions that primary shop-0 has ' +
          'not: 00000000-0000-0000-0000-000000000001:1:3:5:7:9:11:13:15:17:19:21:23:25:27:29:31:33:35:37:39:41:43:45:47:49' +
          ':51:53:55:57:59:61:63:65:67:69:71:73:75:77:79:81:83:85:87:89:91:93:95:97:99:101:103:105:107:1…',
      ],
    },
    'received and not applied is held all the same': {
      views: { 'shop-2': { server: { received: `${gtids('shop-0', 100)},${gtids('shop-1', 2)}` } } },
      findings: [
        'ErrantTransactions warning shop-2: replica shop-2 has 2 transactions that primary shop-0 has not: 00000000-0000-0000-0000-000000000001:1-2',
      ],
    },
    'the primary’s own newer transactions are not errant': {
      views: { 'shop-1': { server: { executed: gtids('shop-0', 105) } } },
      findings: [],
    },
    'what waits at the primary for an acknowledgement is not errant': {
      views: {
        'shop-0': {
          server: { executed: `${gtids('shop-0', 99)},${gtids('shop-1', 1)}`, owned: `${uuidOf('shop-1')}:2` },
        },
        'shop-1': { server: { executed: gtids('shop-1', 2) } },
      },
      findings: [],
    },
    'what is being seeded holds nothing that could be errant': {
      views: { 'shop-1': { server: { executed: gtids('shop-1', 3) }, stored: { seeding: true } } },
      findings: [],
    },
  },
}
