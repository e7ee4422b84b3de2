import type { Shape } from '../families.ts'
import { handMoments } from './hands.ts'
import { groupMoments } from './moments.ts'
import { removalMoments, unheardMoments } from './removal-moments.ts'

const falls = [
  'the primary falls, and others are struck at their steps',
  'the primary falls, and so does the elected one',
]
const askedFor = 'a switchover is asked for'
const struck = 'a switchover is asked for, and others are struck at their steps'
const outages = ['everybody loses power', 'all servers are killed', 'a majority loses power']
const splits = ['the group is split', 'a member is cut off from the others']
const mode = 'group'

/** Faults that befall one replication group, and the groups where that matters. */
export const groupFamilies = {
  /** Everything that may befall a group. */
  group: {
    mode,
    kinds: [
      ...[...falls, ...outages, ...splits, askedFor, struck],
      ...['mysqld is killed', 'the agent dies', 'agent and mysqld die', 'the machine crashes', 'mysqld freezes'],
      ...['the agent freezes', 'the machine is paused', 'a stranger stops mysqld', 'a manager dies'],
      ...['a manager freezes', 'the applier stands still', 'the network is cut', 'the network is slow'],
      ...['no manager reaches the primary, and somebody dies at a disk write', 'the agent dies at a disk write'],
      ...['both managers believe that they lead', 'requests reach the store late', 'somebody else writes the record'],
      ...['answers of the store are late or lost', 'somebody is struck at a step', 'the manager is struck at a step'],
      ...['the volume is lost', 'the volume goes back in time', 'the volume is mounted again', 'a clock drifts'],
      ...['a failover is asked for', 'a failover with loss is asked for', 'the cluster is paused for a while'],
      ...['somebody is fenced for a while', 'the cluster is scaled', 'an instance is replaced'],
      ...['a pod is told to end', 'the primary is cut off for longer than a lease'],
      ...Object.keys(groupMoments),
    ],
    instances: [1, 2, 3, 3, 3, 3, 3, 4, 5],
  },
  groupFailovers: { mode, kinds: [...falls, 'mysqld is killed', 'the machine crashes'], instances: [3, 3, 5] },
  groupOutages: {
    mode,
    kinds: [
      ...outages,
      ...outages,
      'the agent dies',
      'the agent dies at a disk write',
      'the manager is struck at a step',
    ],
    instances: [2, 3, 3, 4, 5],
    lastsMs: 12_000,
  },
  groupSplits: { mode, kinds: [...splits, ...splits, 'a manager dies'], instances: [3, 3, 4, 5], lastsMs: 25_000 },
  groupSwitchovers: { mode, kinds: [struck, askedFor, 'the network is slow'], instances: [3, 3, 5] },
  groupMembers: {
    mode,
    kinds: [
      'the cluster is scaled',
      'an instance is replaced',
      'a pod is told to end',
      'the volume is lost',
      ...outages,
    ],
    instances: [3, 3, 4],
    lastsMs: 12_000,
  },
  groupVolumes: {
    mode,
    kinds: ['the volume goes back in time', 'the volume is lost', 'the agent dies', ...outages, ...falls],
    instances: [3, 3, 4],
    lastsMs: 12_000,
  },
  groupForming: {
    mode,
    kinds: [
      'all servers are killed while the primary lags',
      'all servers are killed, and the one that forms the group dies',
      'nobody hears anybody until one promises',
    ],
    instances: [3, 3, 4, 5],
    lastsMs: 20_000,
  },
  groupClosed: {
    mode,
    kinds: ['the elected one lags and is closed for a while', 'a member comes back and is not told'],
    instances: [3, 3, 4, 5],
    lastsMs: 24_000,
  },
  groupWitnesses: {
    mode,
    kinds: [
      ...['a member is unheard by some and by every manager', 'all agents stand still', 'the machine is paused'],
      ...['a member is cut off from the others', 'the primary is cut off for longer than a lease', 'mysqld is killed'],
      ...['the machine crashes', 'the network is slow'],
    ],
    instances: [2, 3, 3, 4, 5],
    lastsMs: 12_000,
  },
  /** Groups that another hand forms. */
  groupForks: {
    mode,
    kinds: ['another hand forms the group again', 'mysqld is killed', 'the agent dies', 'a stranger stops mysqld'],
    instances: [3, 3, 4, 5],
    lastsMs: 12_000,
  },
  /** People let others write than the primary. */
  groupHands: {
    mode,
    kinds: [...Object.keys(handMoments), ...Object.keys(handMoments), ...falls, 'the agent dies', 'a manager dies'],
    instances: [3, 3, 4, 5],
    lastsMs: 12_000,
  },
  /** Members that have left, and do not know so. */
  groupLeavers: {
    mode,
    kinds: ['a member is taken away, comes back and is not told', ...Object.keys(unheardMoments)],
    instances: [3, 4, 5],
    lastsMs: 24_000,
  },
  groupLostRecords: {
    mode,
    kinds: [
      ...['the record is lost', 'the record is lost', 'the record is lost', askedFor, 'a manager dies'],
      ...[...falls, ...outages, ...splits, 'the agent dies', 'both managers believe that they lead'],
    ],
    instances: [1, 2, 3, 3, 3, 4, 5],
    lastsMs: 12_000,
  },
  /** Members that are removed, and may be there again. */
  groupRemovals: {
    mode,
    kinds: [...Object.keys(removalMoments), 'mysqld is killed', 'the network is slow'],
    instances: [3, 4, 5, 5],
    lastsMs: 20_000,
  },
} as const satisfies Readonly<Record<string, Shape>>
