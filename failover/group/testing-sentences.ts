import { gtids, type ViewOverrides } from '#topology/testing.ts'
import { outsideGroup, viewId, type GroupShape } from '#topology/testing-group.ts'
import type { Situation } from '../judge/situation.ts'
import { deadServer, lostAgent, promised, shop1, shop2, switchoverIntent } from '../testing.ts'
import { aGroupSituation, groupRecord, nobodyIn, revision, type GroupSituation } from './testing-group.ts'

/** Situations of a replication group for tests of the wording alone, as `testing-sentence-corpus.ts` has them. */
const names = ['shop-0', 'shop-1', 'shop-2']
const seenByAll = (shape: GroupShape) => Object.fromEntries(names.map((name) => [name, shape]))
const two: GroupShape = { members: { 'shop-0': 'ONLINE', 'shop-1': 'ONLINE' } }
const alone: GroupShape = { members: { 'shop-0': 'ONLINE' } }
const without0: GroupShape = {
  members: { 'shop-1': 'ONLINE', 'shop-2': 'ONLINE' },
  primary: 'shop-1',
  viewId: viewId(6),
}
const oneRecovers: GroupShape = { members: { 'shop-0': 'ONLINE', 'shop-1': 'ONLINE', 'shop-2': 'RECOVERING' } }
const unreachable: GroupShape = { members: { 'shop-0': 'ONLINE', 'shop-1': 'UNREACHABLE', 'shop-2': 'UNREACHABLE' } }
const formedSince: GroupShape = { ...alone, viewId: '17321234567890000:1' }

const groups: Readonly<Record<string, GroupSituation['sees']>> = {
  'all online': {},
  'one missing': { ...seenByAll(two), 'shop-2': outsideGroup() },
  'the primary outside': { ...seenByAll(without0), 'shop-0': outsideGroup() },
  'another one elected': seenByAll({ primary: 'shop-1', viewId: viewId(6) }),
  'nobody elected yet': seenByAll({ primary: null }),
  'one recovering': seenByAll(oneRecovers),
  'no majority': { 'shop-0': unreachable, 'shop-1': outsideGroup(), 'shop-2': outsideGroup() },
  'two groups': { 'shop-0': formedSince, 'shop-1': without0, 'shop-2': without0 },
  'two primaries': seenByAll({ writers: ['shop-0', 'shop-1'] }),
  'nobody in the group': nobodyIn,
  'one that failed': {
    ...seenByAll(two),
    'shop-2': outsideGroup({ error: 'duplicate key', applierError: 'duplicate key' }),
  },
  'one behind': { 'shop-1': { applying: 20_000, lagSeconds: 40.2 } },
  'another version': seenByAll({ versions: { 'shop-2': '9.6.0' } }),
}

const closed: ViewOverrides = { converged: { revision, done: false, sentence: 'closed: low space' } }
const errant: ViewOverrides = { server: { executed: `${gtids('shop-0', 100)},${gtids('shop-1', 1)}` } }
const views: Readonly<Record<string, Readonly<Record<string, ViewOverrides>>>> = {
  'all well': {},
  'a silent primary': { 'shop-0': lostAgent },
  'a dead primary': { 'shop-0': deadServer },
  'a dead primary and a silent member': { 'shop-0': deadServer, 'shop-1': lostAgent },
  'two silent members': { 'shop-1': lostAgent, 'shop-2': lostAgent },
  'a primary that is closed': { 'shop-0': closed },
  'one that promised': { 'shop-2': promised() },
  'all that promised': Object.fromEntries(names.map((name) => [name, promised()])),
  'promises that differ': { 'shop-0': promised(99), 'shop-1': promised(100), 'shop-2': promised(98) },
  'an errant member': { 'shop-1': errant },
  'one that was never told': { 'shop-2': { stored: { revision: 0, assignment: null } } },
  'a volume that went back in time': { 'shop-2': { past: 'shop-2@volume-2' } },
}

const accept = { kind: 'failover', id: 'asked', to: null, acceptLoss: true } as const
const clusters: Readonly<Record<string, GroupSituation>> = {
  'as by default': {},
  paused: { notes: { paused: { reason: 'maintenance', wallMs: 0 } } },
  'asked to fail over': { requests: [{ ...accept, acceptLoss: false }] },
  'asked to fail over with loss': { requests: [accept] },
  'in a switchover': { record: { intent: switchoverIntent() } },
  'with its primary fenced': { notes: { fenced: [{ instance: 'shop-0', keepPrimary: true, wallMs: 0 }] } },
  'whose group is being formed': { record: { ...groupRecord(true), syncSet: [] } },
  'of two groups, and a person chose': {
    record: { group: { ...groupRecord(false).group!, parted: true } },
    requests: [{ ...accept, to: 'shop-1' }],
  },
  'of two groups, and nobody chose': { record: { group: { ...groupRecord(false).group!, parted: true } } },
  'whose replicas may hold other rows': {
    record: { syncSet: [], doubted: { since: 1, members: [shop1, shop2] } },
  },
  'scaled to two': { notes: { instances: 2 } },
}

export function groupSituations(): readonly Situation[] {
  return Object.values(groups).flatMap((sees = {}) =>
    Object.values(views).flatMap((seen) =>
      Object.values(clusters).map((cluster) => aGroupSituation({ ...cluster, nowMs: 60_000, sees, views: seen })),
    ),
  )
}
