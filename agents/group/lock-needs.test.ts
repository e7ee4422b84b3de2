import { say } from '#common/sentence/sentence.ts'
import { describe, expect, it } from 'vitest'
import type { Assignment } from '#failover/protocol/assignment.ts'
import { groupName, inGroup, type GroupShape } from '#topology/testing-group.ts'
import type { ServerOverrides } from '#topology/testing.ts'
import { LockWatch } from '../guard/lock-watch.ts'
import type { Parts } from '../instance/parts.ts'
import type { Blocker } from '../ports/server.ts'
import { aServerState, replicaOfEpoch3, ScriptedServer, testParts } from '../testing.ts'
import { settable } from '../testing-known.ts'
import { GroupLockNeeds } from './lock-needs.ts'

const dump: Blocker = {
  session: 12,
  user: 'admin',
  host: '10.0.0.7',
  lock: 'a lock on app.orders',
  waits: false,
  seconds: 4,
  commits: false,
  mayCommit: true,
  behind: 'the applier',
}
const closed: ServerOverrides = { readOnly: true, superReadOnly: true, offlineMode: false }
const open: ServerOverrides = { readOnly: false, superReadOnly: false, offlineMode: false }

/** shop-0, whom its record calls a secondary, and the dump is in the way of its applier. */
async function after(sees: GroupShape, server: ServerOverrides, change: (parts: Parts) => void = () => undefined) {
  const scripted = new ScriptedServer(aServerState(inGroup('shop-0', sees, server)))
  const fixed = await testParts(scripted)
  let nowMs = 1_000_000
  const clock = { ...fixed.world.clock, monotonicMs: () => nowMs }
  const parts: Parts = { ...fixed, world: { ...fixed.world, clock } }
  const group = { name: groupName, does: 'join', consistency: 'BEFORE_ON_PRIMARY_FAILOVER' } as const
  const assignment: Assignment = { ...replicaOfEpoch3, group }
  await parts.file.update({ promise: 3, revision: 10, assignment })
  await parts.observer.refresh()
  scripted.blocking = [dump]
  change(parts)
  const watch = new LockWatch(parts, new GroupLockNeeds(parts))
  for (const ms of [0, parts.timings.lockGraceMs]) {
    nowMs += ms
    await watch.look()
  }
  const ended = scripted.calls.filter((call) => call.startsWith('end session'))
  return { ended, named: parts.guards.lockedBy, said: parts.notices.list.map(({ sentence }) => String(sentence)) }
}

describe('A client that holds up what a member applies', () => {
  it('is named, and ended after a grace, once the group has made that member primary', async () => {
    const { ended, named, said } = await after({ applying: 3 }, closed)
    expect(ended).toEqual(['end session 12'])
    expect(String(named)).toContain(
      'session 12 of admin@10.0.0.7 holds a lock on app.orders for 4 s; the applier waits behind it',
    )
    expect(said.at(-1)).toContain(
      'the new primary needs that lock to apply what clients were told is written: its session is ended',
    )
  })

  it.each<[string, GroupShape, ServerOverrides, ((parts: Parts) => void)?]>([
    ['at a secondary: that applies later', { primary: 'shop-1', applying: 3 }, closed],
    ['at a primary that is open', { applying: 3 }, open],
    ['at a primary that has applied everything', {}, closed],
    ['without a majority', { applying: 3, members: { 'shop-0': 'ONLINE', 'shop-1': 'UNREACHABLE' } }, closed],
    [
      'at a primary that a guard closed',
      { applying: 3 },
      closed,
      (parts) => void (settable(parts).guards.closed.space = say`low`),
    ],
  ])('is left alone %s', async (_, sees, server, change) => {
    expect(await after(sees, server, change)).toMatchObject({ ended: [], said: [] })
  })
})
