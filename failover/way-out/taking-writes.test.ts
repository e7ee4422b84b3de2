import { saying } from '#test/support/said-as-text.ts'
import { describe, expect, it } from 'vitest'
import { aGroupSituation } from '../group/testing-group.ts'
import { aSituation, deadServer, lostAgent } from '../testing.ts'
import { takingWrites } from './taking-writes.ts'

/** Long after the primary was last heard (1,000), by a wall clock at 00:16:40 UTC. */
const later = { nowMs: 61_000 }

describe('Whether a cluster takes writes', () => {
  it('is known from the primary’s own agent', () => {
    expect(takingWrites(aSituation())).toEqual({ kind: 'yes' })
    expect(takingWrites(aSituation({ views: { 'shop-0': deadServer } }))).toEqual({ kind: 'no' })
    expect(takingWrites(aGroupSituation())).toEqual({ kind: 'yes' })
  })

  it('is not known while that agent is silent and replicas hear its server: what was known last, of when, and what they hear is said', () => {
    expect(takingWrites(aSituation({ ...later, views: { 'shop-0': lostAgent } }))).toEqual({
      kind: 'unknown',
      isLikely: true,
      sentence:
        'whether shop-0 takes writes is not known: the agent of shop-0 is unreachable but shop-1 and shop-2 still hear its server; when its agent was heard last, at 00:15:40 UTC, it took writes. Its agent has to come back: its log and its machine say why it is away',
    })
  })

  it('… nor while a group has its server ONLINE', () => {
    expect(takingWrites(aGroupSituation({ ...later, views: { 'shop-0': lostAgent } }))).toMatchObject({
      kind: 'unknown',
      isLikely: true,
      sentence: saying(
        'the agent of shop-0 is unreachable but the group has its server as primary, by shop-1 and shop-2; when its agent',
      ),
    })
  })

  it('… nor where nobody can testify; it is no sign of writes that it was closed before, or never heard', () => {
    const all = { 'shop-0': lostAgent, 'shop-1': lostAgent, 'shop-2': lostAgent }
    expect(takingWrites(aSituation({ ...later, views: all }))).toMatchObject({ kind: 'unknown', isLikely: false })
    const closed = { ...lostAgent, server: { readOnly: true } }
    expect(takingWrites(aSituation({ ...later, views: { 'shop-0': closed } }))).toMatchObject({
      kind: 'unknown',
      isLikely: false,
      sentence: saying('at 00:15:40 UTC, it took none'),
    })
    expect(takingWrites(aSituation({ ...later, views: { 'shop-0': { unheard: true } } }))).toMatchObject({
      kind: 'unknown',
      isLikely: false,
      sentence: saying('this manager never heard its agent'),
    })
  })

  it('is known where the others have lost its server too, or the group has another primary', () => {
    const deaf = { server: { channel: { ioRunning: 'connecting', silentMs: null } } } as const
    expect(
      takingWrites(aSituation({ ...later, views: { 'shop-0': lostAgent, 'shop-1': deaf, 'shop-2': deaf } })),
    ).toEqual({ kind: 'no' })
    const without = { primary: null, members: { 'shop-1': 'ONLINE', 'shop-2': 'ONLINE' } } as const
    expect(
      takingWrites(
        aGroupSituation({
          ...later,
          views: { 'shop-0': lostAgent },
          sees: { 'shop-1': without, 'shop-2': without },
        }),
      ),
    ).toEqual({ kind: 'no' })
  })
})
