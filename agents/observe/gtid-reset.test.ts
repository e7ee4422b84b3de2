import { saying } from '#test/support/said-as-text.ts'
import { describe, expect, it } from 'vitest'
import type { ReplicaAssignment } from '#failover/protocol/assignment.ts'
import type { ServerState } from '#topology/snapshot/observation.ts'
import { gtids, uuidOf } from '#topology/testing.ts'
import { holdsText, ObservationBuilder } from './observation.ts'
import { GtidResetWatch } from './gtid-reset.ts'
import { Lease } from '../guard/lease.ts'
import { holdsOf } from '#topology/snapshot/holdings.ts'
import { lifeOf } from '../instance/life.ts'
import type { Parts } from '../instance/parts.ts'
import { summaryOf } from '../instance/stored-state.ts'
import {
  aServerState,
  primaryOfEpoch3,
  replicaOfEpoch3,
  ScriptedProcess,
  ScriptedServer,
  testParts,
} from '../testing.ts'
import { changeLife, settable } from '../testing-known.ts'
import { passAsReplica } from '../testing-passes.ts'

const before = gtids('shop-1', 50)
const replica: ReplicaAssignment = { ...replicaOfEpoch3, counted: true }

/** An agent that has seen its server hold something. */
async function watched(assignment: ReplicaAssignment | typeof primaryOfEpoch3) {
  const server = new ScriptedServer(aServerState({ executed: before, received: '' }))
  const process = new ScriptedProcess()
  const parts = await testParts(server, { process })
  await parts.file.update({ promise: 3, revision: 10, assignment })
  const watch = new GtidResetWatch(parts)
  const sees = async (executed: string, more: Partial<ServerState> = {}): Promise<void> => {
    server.state = { ...server.state, ...more, executed }
    await parts.observer.refresh()
    watch.look()
    await parts.file.update({})
  }
  await sees(before)
  const shown = (agent: Parts) => new ObservationBuilder(agent, new Lease(agent, () => undefined), '0').build()
  return { parts, process, server, watch, sees, shown }
}

describe('GTIDs that are gone while the server runs', () => {
  it('make a replica count for nothing, on its disk as well, and stop it until it is seeded again', async () => {
    const { parts, server, sees, shown } = await watched(replica)
    settable(parts).course.binlogSet = before
    await sees(gtids('shop-1', 3))
    expect(parts.course.binlogSet).toBeNull()
    expect(shown(parts).stored).toMatchObject({ forgetful: true, fromThePast: true, gtidsReset: true })
    expect(summaryOf(parts.file.current)).toMatchObject({ forgetful: true, fromThePast: true, gtidsReset: true })
    expect(parts.notices.list).toMatchObject([{ code: 'GtidsReset', sentence: saying('47 of them are gone') }])
    await passAsReplica(parts, replica, aServerState({ channel: { ioRunning: 'yes' }, offlineMode: false }))
    expect(server.calls).toEqual(['readOnly closed', 'stopReceiver', 'offline on'])
    expect(parts.course.converged).toMatchObject({
      done: false,
      sentence: 'the GTIDs were reset by another hand, and it waits to be seeded again',
    })
  })

  it('are shown at once: nobody goes by what the replica holds while that is written', async () => {
    const { parts, server, watch, shown } = await watched(replica)
    server.state = { ...server.state, executed: gtids('shop-1', 3) }
    await parts.observer.refresh()
    watch.look()
    expect(parts.file.current.gtidsReset).toBe(false)
    expect(shown(parts).stored).toMatchObject({ forgetful: true, fromThePast: true, gtidsReset: true })
  })

  it('are found by whoever made ready to lead: what was ready is ready no more', async () => {
    const { parts, sees } = await watched(replica)
    changeLife(parts, { stage: { is: 'prepared', epoch: 4, executed: before } })
    await sees(gtids('shop-1', 60))
    expect(lifeOf(parts).stage.is).toBe('prepared')
    await sees('')
    expect(lifeOf(parts).stage.is).toBe('closed')
  })

  it('end a primary: it would issue again what its replicas skip', async () => {
    const { parts, process, sees } = await watched(primaryOfEpoch3)
    await sees('')
    await expect.poll(() => process.state).toBe('dead')
    expect(parts.file.current.gtidsReset).toBe(true)
  })

  it('are found as well where mysqld was started again since', async () => {
    const { parts, process, sees } = await watched(replica)
    process.pid = 1_001
    await sees('')
    expect(parts.file.current.gtidsReset).toBe(true)
  })

  it('are not seen in a set that grows, nor in another server', async () => {
    const { parts, process, server, sees } = await watched(replica)
    await sees(gtids('shop-1', 60))
    process.pid = 1_001
    await sees(gtids('shop-1', 61))
    server.state = { ...server.state, uuid: uuidOf('shop-2') }
    await sees('')
    expect(parts.file.current.gtidsReset).toBe(false)
    expect(parts.notices.list).toEqual([])
  })
})

describe('GTIDs that were reset between two looks, and are all there again', () => {
  it('end a primary that gave them anew: its replicas skip those', async () => {
    const { parts, process, sees } = await watched(primaryOfEpoch3)
    await sees(gtids('shop-1', 60), { binlogNumber: 7 })
    await sees(gtids('shop-1', 70), { binlogNumber: 1 })
    expect(parts.notices.list).toMatchObject([{ code: 'GtidsReset', sentence: saying('60 of them are gone') }])
    await expect.poll(() => process.state).toBe('dead')
    expect(parts.file.current.gtidsReset).toBe(true)
  })

  it('have a replica seeded again that executed others by the same names', async () => {
    const { parts, sees } = await watched(replica)
    await sees(before, { binlogNumber: 7 })
    await sees(before, { binlogNumber: 1, purged: gtids('shop-1', 49) })
    expect(parts.file.current.gtidsReset).toBe(true)
  })

  it('are no reason for doubt where a hand put back exactly those', async () => {
    const { parts, process, sees } = await watched(primaryOfEpoch3)
    await sees(before, { binlogNumber: 7 })
    await sees(gtids('shop-1', 60), { binlogNumber: 1, purged: before })
    expect(parts.file.current.gtidsReset).toBe(false)
    expect(process.state).toBe('running')
  })

  it('are not seen where mysqld was started again, under another name of its binary logs', async () => {
    const { parts, process, sees } = await watched(replica)
    await sees(before, { binlogNumber: 7 })
    process.pid = 1_001
    await sees(before, { binlogNumber: 1 })
    expect(parts.file.current.gtidsReset).toBe(false)
  })
})

describe('GTIDs that a hand gave to a server, which never executed them (SET GLOBAL gtid_purged)', () => {
  it('have a replica seeded again: it would skip what its primary sends by these names', async () => {
    const { parts, sees, shown } = await watched(replica)
    await sees(gtids('shop-1', 55), { purged: gtids('shop-1', 55) })
    expect(shown(parts).stored).toMatchObject({ forgetful: true, fromThePast: true, gtidsReset: true })
    expect(parts.notices.list).toMatchObject([
      { code: 'GtidsReset', sentence: saying('5 GTIDs that it never executed were given to it by another hand') },
    ])
  })

  it('do not end a primary: its replicas that lack them are found', async () => {
    const { parts, process, sees } = await watched(primaryOfEpoch3)
    await sees(gtids('shop-1', 55), { purged: gtids('shop-1', 55) })
    expect(parts.file.current.gtidsReset).toBe(false)
    expect(process.state).toBe('running')
  })

  it('are none where a hand purged at once what was just executed: another binary log has begun', async () => {
    const { parts, sees } = await watched(replica)
    await sees(before, { binlogNumber: 7 })
    await sees(gtids('shop-1', 55), { binlogNumber: 8, purged: gtids('shop-1', 55) })
    expect(parts.file.current.gtidsReset).toBe(false)
    expect(parts.notices.list).toEqual([])
  })

  it('are none where binary logs were purged, or a server that starts reads its tables', async () => {
    const { parts, process, sees } = await watched(replica)
    await sees(gtids('shop-1', 60), { purged: before })
    process.pid = 1_001
    await sees(gtids('shop-1', 70), { purged: gtids('shop-1', 70) })
    await sees(gtids('shop-1', 80), { purged: gtids('shop-1', 70) })
    expect(parts.file.current.gtidsReset).toBe(false)
    expect(parts.notices.list).toEqual([])
  })
})

describe('a server without a binary log', () => {
  it('is ended as primary, once, and it is on disk that its GTIDs do not tell what it holds', async () => {
    const { parts, process, server, sees } = await watched(primaryOfEpoch3)
    server.state = { ...server.state, binlogNumber: 0 }
    await sees(before)
    await expect.poll(() => process.state).toBe('dead')
    expect(parts.file.current).toMatchObject({ gtidsReset: true, binlogOff: true, unsettled: true })
    expect(parts.notices.list).toMatchObject([
      {
        code: 'BinlogOff',
        sentence: saying('a replica that holds everything acknowledged'),
      },
    ])
  })

  it('counts for nothing as a replica, and stops until it is seeded again', async () => {
    const { parts, server, sees, shown } = await watched(replica)
    server.state = { ...server.state, binlogNumber: 0 }
    await sees(before)
    await sees(before)
    expect(parts.notices.list).toHaveLength(1)
    expect(shown(parts).stored).toMatchObject({ forgetful: true, fromThePast: true, gtidsReset: true, binlogOff: true })
    await passAsReplica(parts, replica, aServerState({ channel: { ioRunning: 'yes' }, offlineMode: false }))
    expect(String(parts.course.converged.sentence)).toBe('ran without a binary log and waits to be seeded again')
  })
})

describe('what an instance holds', () => {
  it.each<readonly [string, string | null]>([
    ['its server alone says', null],
    ['its files say as well', gtids('shop-1', 70)],
  ])('is the same to the manager and to its agent, where %s', async (_, binlogSet) => {
    const { parts, shown } = await watched(replica)
    settable(parts).course.binlogSet = binlogSet
    expect(holdsText(parts)).toBe(holdsOf(shown(parts)).toString())
  })

  it('is unknown while nothing was seen of it', async () => {
    expect(holdsText(await testParts(new ScriptedServer(aServerState())))).toBeNull()
  })
})
