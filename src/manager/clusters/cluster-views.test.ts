import { expect, it } from 'vitest'
import { aGroupSituation } from '#failover/group/testing-group.ts'
import { decide } from '#failover/decide.ts'
import { aSituation, deadServer } from '#failover/testing.ts'
import { agentsField, clusterView } from './cluster-views.ts'

it('An instance in downtime is shown with until when, by whom and why, and with what is wrong all the same', () => {
  const downtime = { untilWallMs: 1_060_000, reason: 'new disk', owner: 'ann' }
  const shown = (wallMs: number) => {
    const situation = aSituation({
      views: { 'shop-2': deadServer },
      notes: { downtimes: [{ instance: 'shop-2', ...downtime }] },
      wallMs,
    })
    return clusterView(situation, decide(situation)).instances
  }
  const [, other, expected] = shown(1_000_000)
  expect(other).not.toHaveProperty('downtime')
  expect(expected?.downtime).toEqual(downtime)
  expect(expected?.problems[0]?.sentence).toMatch(
    /^replica shop-2 is dead: .*\(expected: downtime until 1970-01-01 00:17:40 UTC by ann: new disk\)$/,
  )
  const [, , unexpected] = shown(1_060_000)
  expect(unexpected).not.toHaveProperty('downtime')
  expect(unexpected?.problems[0]?.sentence).toMatch(/^replica shop-2 is dead: [^(]*$/)
})

it('What stands in the way of an agent is said, and nothing of those that are done', () => {
  const sentence = 'mysqld is down, and nobody starts it'
  const waiting = { 'shop-2': { ...deadServer, converged: { revision: 1, done: false, sentence } } }
  expect(agentsField(aSituation({ views: waiting }))).toEqual({ agents: [`shop-2: ${sentence}`] })
  expect(agentsField(aSituation({}))).toEqual({})
})

it('A member of a replication group acknowledges while it is heard and ONLINE', () => {
  const shown = (views: Parameters<typeof aGroupSituation>[0]) => {
    const situation = aGroupSituation(views)
    return clusterView(situation, decide(situation)).instances.map((row) => row.acknowledging)
  }
  const recovering = { members: { 'shop-0': 'ONLINE', 'shop-1': 'ONLINE', 'shop-2': 'RECOVERING' } } as const
  const all = { 'shop-0': recovering, 'shop-1': recovering, 'shop-2': recovering }
  expect(shown({})).toEqual([true, true, true])
  expect(shown({ sees: all })).toEqual([true, true, false])
  expect(shown({ views: { 'shop-1': { reachable: false } } })).toEqual([true, false, true])
})

it('A member that applies one large transaction for long is behind, by so many seconds, and the cluster is not whole', () => {
  const shown = (lagSeconds: number) => {
    const situation = aGroupSituation({ sees: { 'shop-1': { applying: 1, lagSeconds } } })
    const { instances, whole, problems } = clusterView(situation, decide(situation))
    const row = instances[1]
    const codes = row?.problems.map(({ code }) => code)
    return [row?.behind, row?.lagSeconds, whole, problems.map(({ code, instance }) => `${code} ${instance}`), codes]
  }
  expect(shown(2)).toEqual([false, 2, true, [], []])
  expect(shown(40.2)).toEqual([true, 40.2, false, ['ReplicaLagging shop-1'], ['ReplicaLagging']])
})

it('A replica shows how far it is behind the heartbeat of its primary, also while nothing is to be applied', () => {
  const shown = (appliedUpToMs: number | undefined, lagSeconds: number | null, heartbeat = true) => {
    const channel = { lagSeconds, ...(appliedUpToMs === undefined ? {} : { appliedUpToMs }) }
    const situation = aSituation({
      views: {
        'shop-0': heartbeat ? { heartbeat: { atMs: 1_000_000, everyMs: 1_000 } } : {},
        'shop-1': { server: { channel } },
      },
    })
    const [primary, replica] = clusterView(situation, decide(situation)).instances
    return [primary?.lagSeconds, replica?.lagSeconds]
  }
  expect(shown(1_000_001, null)).toEqual([null, 0])
  expect(shown(940_000, null)).toEqual([null, 60])
  // What is being applied tells as well, and the larger of both is the truth.
  expect(shown(940_000, 70)).toEqual([null, 70])
  expect(shown(940_000, 0.3)).toEqual([null, 60])
  expect([shown(undefined, 3), shown(940_000, null, false)]).toEqual([
    [null, 3],
    [null, null],
  ])
})

it('Where the primary’s agent alone is silent it is not known whether writes are taken, and the cluster is not whole', () => {
  for (const situation of [
    aSituation({ nowMs: 61_000, views: { 'shop-0': { reachable: false } } }),
    aGroupSituation({ nowMs: 61_000, views: { 'shop-0': { reachable: false } } }),
  ])
    expect(clusterView(situation, decide(situation))).toMatchObject({
      writable: null,
      writableUnknown: { likely: true },
      whole: false,
      problems: [{ code: 'PrimaryAgentUnreachable', instance: 'shop-0', since: '1970-01-01T00:16:40.000Z' }],
    })
})

it('A rehearsal that failed is shown until a backup was verified since, and no longer', () => {
  const shown = (verifiedAtMs: number | null) => {
    const verified = verifiedAtMs === null ? null : { name: '20261126T031209Z', verifiedAtMs, restoreMs: 1 }
    const seen = { whole: 1, leftovers: 0, begun: null, newest: null, answers: true, sentence: '', lookedAgoMs: 5 }
    const rehearsal = { name: '20261129T040000Z', stage: 'failed' as const, sentence: 'memory ran out' }
    const situation = aSituation({ views: { 'shop-0': { backups: { ...seen, verified } }, 'shop-2': { rehearsal } } })
    return clusterView(situation, decide(situation)).instances[2]?.rehearsal?.stage
  }
  expect([null, Date.UTC(2026, 10, 29, 3, 59), Date.UTC(2026, 10, 29, 4, 1)].map(shown)).toEqual([
    ...['failed', 'failed', undefined],
  ])
})
