import { describe, expect, it } from 'vitest'
import { aDumpThreadOf } from '../topology/testing.ts'
import { decide } from './decide.ts'
import { aSituation, deadServer, lostAgent, memberElsewhere, promised, shop1, shop2, type SituationOverrides } from './testing.ts'

const asked = { requests: [{ kind: 'failover', id: 'asked', to: null, acceptLoss: false }] } as const
const fencedPrimary = { notes: { fenced: [{ instance: 'shop-0', keepPrimary: true, wallMs: 0 }] } } as const
const deaf = { reachable: false } as const

const said: Readonly<Record<string, readonly [given: SituationOverrides, sentence: string]>> = {
  'a cluster that is well': [{}, 'no action: primary shop-0 is healthy, 2 of 2 replicas in the sync set'],
  'one that has two instances': [
    { shape: { instances: 2 } },
    'no action: primary shop-0 is healthy, 1 of 1 replica in the sync set; the loss of shop-1 would make writes wait',
  ],
  'one whose writes need both replicas': [
    { record: { acks: 2, acksWanted: 2 }, spec: { acks: 2 } },
    'no action: primary shop-0 is healthy, 2 of 2 replicas in the sync set; the loss of either shop-1 or shop-2 would make writes wait',
  ],
  'one whose writes need all of three replicas': [
    { shape: { instances: 4 }, record: { acks: 3, acksWanted: 3 }, spec: { acks: 3 } },
    'no action: primary shop-0 is healthy, 3 of 3 replicas in the sync set; the loss of any of shop-1, shop-2, shop-3 would make writes wait',
  ],
  'a member on a volume that is gone beside its successor, while paused': [
    { record: { syncSet: [shop1, shop2, memberElsewhere] }, notes: { paused: { reason: 'maintenance', wallMs: 0 } } },
    'paused: maintenance; no action: primary shop-0 is healthy, 2 of 2 replicas in the sync set',
  ],
  'a primary that a person fenced': [fencedPrimary, 'no action: primary shop-0 runs and is fenced by a person, 2 of 2 replicas in the sync set'],
  'a primary whose agent is lost': [
    { nowMs: 5_000, views: { 'shop-0': deaf } },
    'no action: the agent of shop-0 is unreachable but shop-1, shop-2 still hear its server: no failover, 2 of 2 replicas in the sync set',
  ],
  'a primary whose agent fell silent this moment': [{ nowMs: 1_000, views: { 'shop-0': deaf } }, 'no action: the agent of shop-0 is silent since just now, 2 of 2 replicas in the sync set'],
  'a dead primary whose agent and one replica are gone': [
    { nowMs: 60_000, views: { 'shop-0': lostAgent, 'shop-1': lostAgent, 'shop-2': { server: { channel: { ioRunning: 'connecting' } } } } },
    'no automatic failover: shop-0 is unreachable for this manager and for shop-2, and 2 members of the sync set must promise and 0 did; bring back shop-0, shop-1 or, giving up what only they may hold, use: regent failover --accept-loss',
  ],
  'the same, when a person asks for a failover': [
    { ...asked, nowMs: 60_000, views: { 'shop-0': lostAgent, 'shop-1': lostAgent, 'shop-2': { server: { channel: { ioRunning: 'connecting' } } } } },
    'no failover: shop-0 is unreachable for this manager and for shop-2, and 2 members of the sync set must promise and 0 did; bring back shop-0, shop-1 or, giving up what only they may hold, use: regent failover --accept-loss',
  ],
  'a dead primary whose writes needed no acknowledgement': [
    { views: { 'shop-0': deadServer }, record: { acks: 0, acksWanted: 0, syncSet: [] }, spec: { acks: 0 } },
    'restarting shop-0 in place: mysqld of shop-0 is dead, and writes needed no acknowledgement, so only the primary’s own agent can say what clients were told',
  ],
  'a primary that has stopped this moment': [
    { views: { 'shop-0': { process: 'stopped', processSinceMs: 0 } } },
    'no action: mysqld of shop-0 is stopped (SIGSTOP) since just now, frozen after 1200 ms, 2 of 2 replicas in the sync set',
  ],
  'a failover': [{ views: { 'shop-0': deadServer, 'shop-1': promised(), 'shop-2': promised() } }, 'failing over to shop-1, which holds everything acknowledged: mysqld of shop-0 is dead'],
}

describe('what is said of', () => {
  it.each(Object.entries(said))('%s', (_, [given, sentence]) => {
    const views = given.shape?.instances === 2 ? { 'shop-0': { server: { dumpThreads: [aDumpThreadOf('shop-1')] } } } : {}
    expect(decide(aSituation({ ...given, views: { ...views, ...given.views } })).sentence).toBe(sentence)
  })
})
