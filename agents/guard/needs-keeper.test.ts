import { describe, expect, it } from 'vitest'
import { NeedsKeeper } from './needs-keeper.ts'
import type { Assignment } from '#failover/protocol/assignment.ts'
import type { ServerOverrides } from '#topology/testing.ts'
import { aServerState, primaryOfEpoch3, replicaOfEpoch3, ScriptedServer, testParts, watcherOf } from '../testing.ts'
import { changeLife } from '../testing-known.ts'
import { opened } from '../testing-passes.ts'

const table = { what: 'table regent.marker', for: 'the proof', cure: 'its agent puts that right' }
const account = { what: 'account regent@localhost', for: 'everything', cure: 'its agent puts that right' }
const closed: ServerOverrides = { readOnly: true, superReadOnly: true, semiSyncSource: { enabled: false } }

/** An agent whose server lacks both until something is supplied. */
async function lacking(assignment: Assignment, state: ServerOverrides = {}) {
  const server = new ScriptedServer(aServerState(state))
  const fixed = await testParts(server)
  const time = { nowMs: 1_000_000 }
  const parts = { ...fixed, world: { ...fixed.world, clock: { ...fixed.world.clock, monotonicMs: () => time.nowMs } } }
  await parts.file.update({ promise: 3, revision: 10, assignment })
  await parts.observer.refresh()
  if (assignment.role === 'primary') changeLife(parts, { stage: opened })
  server.lacking = [table, account]
  const done = { schemas: 0 }
  const keeper = watcherOf(
    parts,
    new NeedsKeeper(parts, { alone: (task) => task(), schemaIsNew: () => void (done.schemas += 1) }),
  )
  const supplied = () => void (server.lacking = [])
  return { parts, server, keeper, time, done, supplied }
}

describe('what failovers rest upon and was taken away', () => {
  it('is put right at an open primary: accounts here, and the schema everywhere by its binary log', async () => {
    const on = await lacking(primaryOfEpoch3)
    on.server.supplyEverywhere = async () => (on.supplied(), void on.server.calls.push('supply everywhere'))
    await on.keeper.look()
    expect(on.server.calls).toEqual(['supply accounts', 'supply everywhere'])
    expect(String(on.parts.notices.list.at(-1)?.sentence)).toBe(
      'table regent.marker and account regent@localhost are as Regent needs them again (by another hand, or on a volume that is older)',
    )
    expect(on.parts.guards.lacks).toEqual([])
    expect(on.done.schemas).toBe(1)
  })

  it('is put right at a replica without its binary log, and the replica is closed again, whatever happens', async () => {
    const on = await lacking(replicaOfEpoch3, closed)
    await on.keeper.look()
    expect(on.server.calls).toEqual(['readOnly accounts', 'supply all', 'readOnly closed'])
    on.server.calls.length = 0
    on.time.nowMs += 9_999
    await on.keeper.look()
    expect(on.server.calls).toEqual([])
    on.time.nowMs += 1
    on.server.supply = async () => Promise.reject(new Error('locked'))
    await on.keeper.look()
    expect(on.server.calls).toEqual(['readOnly accounts', 'readOnly closed'])
    expect(String(on.parts.notices.list.at(-1)?.sentence)).toContain('could not be put right: locked')
  })

  it('stays as it is under a promise, and where what is written meanwhile might be acknowledged', async () => {
    const promised = await lacking(replicaOfEpoch3, closed)
    await promised.parts.file.update({ promise: 4 })
    const demoted = await lacking(primaryOfEpoch3, { ...closed, semiSyncSource: { enabled: true } })
    for (const { keeper, server } of [promised, demoted]) {
      await keeper.look()
      expect(server.calls).toEqual([])
    }
    expect(demoted.parts.guards.lacks).toEqual([table, account])
  })

  it('is only said where nobody but a person, or the next start, can put it right', async () => {
    const on = await lacking(replicaOfEpoch3, closed)
    on.server.lacking = [{ ...table, cure: 'the next start does' }]
    await on.keeper.look()
    expect(on.server.calls).toEqual([])
    expect(on.parts.guards.lacks).toEqual(on.server.lacking)
  })

  it('is looked at every three seconds, and at once where the applier has stopped', async () => {
    const on = await lacking(replicaOfEpoch3, closed)
    on.supplied()
    let looks = 0
    Object.assign(on.server, { lacks: async () => ((looks += 1), []) })
    await on.keeper.look()
    await on.keeper.look()
    expect(looks).toBe(1)
    on.time.nowMs += 3_000
    await on.keeper.look()
    expect(looks).toBe(2)
    on.server.state = aServerState({ ...closed, channel: { sqlError: 'no table' } })
    await on.parts.observer.refresh()
    await on.keeper.look()
    expect(looks).toBe(3)
  })
})
