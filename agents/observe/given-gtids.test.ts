import { describe, expect, it } from 'vitest'
import { saying } from '#test/support/said-as-text.ts'
import type { BinlogPlace, ServerState } from '#topology/snapshot/observation.ts'
import { gtids, uuidOf } from '#topology/testing.ts'
import type { BegunUnderOthers, BinlogPart } from '../ports/volume.ts'
import { Semisync } from '../semisync/semisync.ts'
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
import { GivenGtidsWatch } from './given-gtids.ts'

const uuid = uuidOf('shop-0')
const replica = { ...replicaOfEpoch3, counted: true }
const place = (position: number, file = 7): BinlogPlace => ({ file, position })

/** A replica that follows, and whose binlogs say what a test puts into them. */
async function following() {
  const server = new ScriptedServer(aServerState({ binlogNumber: 7, binlogPosition: 100, superReadOnly: true }))
  const asked: BinlogPart[] = []
  const binlog: { begun: string; end: BinlogPlace | null } = { begun: '', end: null }
  const volume = {
    begunUnderOthers: async (part: BinlogPart): Promise<BegunUnderOthers> => {
      asked.push(part)
      return { gtids: binlog.begun, end: binlog.end ?? part.to }
    },
  }
  const parts = await testParts(server, { process: new ScriptedProcess(), volume })
  await parts.file.update({ promise: 3, revision: 10, assignment: replica })
  const follow = () => changeLife(parts, { stage: { is: 'following', step: 'started', as: '', sinceMs: 0 } })
  follow()
  let watch = new GivenGtidsWatch(parts)
  const sees = async (binlogPosition: number, state: Partial<ServerState> = {}): Promise<void> => {
    server.state = { ...server.state, binlogPosition, ...state }
    await parts.observer.refresh()
    if (watch.while()) await watch.look()
  }
  const agentStarts = (): void => void (watch = new GivenGtidsWatch(parts))
  return { parts, server, asked, binlog, follow, sees, agentStarts }
}

describe('A transaction that began at a replica by the name of another server', () => {
  it('has the replica count for nothing, and stop until it is seeded again', async () => {
    const { parts, server, binlog, sees } = await following()
    await sees(100)
    binlog.begun = gtids('shop-1', 51)
    await sees(200)
    expect(parts.file.current).toMatchObject({ gtidsReset: true, gtidsGiven: true })
    expect(parts.notices.list).toMatchObject([
      { code: 'GtidsReset', sentence: saying('51 transactions began here by the name of another server') },
    ])
    await passAsReplica(parts, replica, aServerState({ channel: { ioRunning: 'yes' }, offlineMode: false }))
    expect(server.calls).toEqual(['readOnly closed', 'stopReceiver', 'offline on'])
    expect(String(parts.course.converged.sentence)).toBe(
      'has the GTIDs that a hand gave it, never executed them, and waits to be seeded again',
    )
  })

  it('is looked for once in each part of the binlogs, and nothing is read while nothing is new', async () => {
    const { asked, sees } = await following()
    await sees(100)
    await sees(200)
    await sees(200)
    await sees(40, { binlogNumber: 8 })
    expect(asked).toEqual([
      { uuid, from: place(100), to: place(200) },
      { uuid, from: place(200), to: place(40, 8) },
    ])
  })

  it('is looked for up to where the binlogs were read, if that is not all', async () => {
    const { asked, binlog, sees } = await following()
    await sees(100)
    binlog.end = place(150)
    await sees(200)
    await sees(200)
    expect(asked.map(({ from }) => from)).toMatchObject([place(100), place(150)])
  })

  it('is found as well where no agent ran: how far was read is on disk, file by file', async () => {
    const { parts, asked, sees, agentStarts } = await following()
    await sees(100)
    await sees(40, { binlogNumber: 8 })
    await sees(90)
    agentStarts()
    await sees(95)
    expect(parts.file.current.binlogJudged).toEqual({ uuid, ...place(40, 8) })
    expect(asked.at(-1)).toMatchObject({ from: place(40, 8), to: place(95, 8) })
  })

  it('is looked for from the first binlog on after a reset: their names begin anew', async () => {
    const { asked, sees } = await following()
    await sees(100)
    await sees(40, { binlogNumber: 1 })
    expect(asked).toMatchObject([{ from: place(0, 0), to: place(40, 1) }])
  })
})

describe('No doubt is', () => {
  it('what began before the server was closed and made to follow', async () => {
    const { parts, asked, follow, sees } = await following()
    changeLife(parts, { stage: { is: 'closed' } })
    await sees(100)
    follow()
    await sees(120, { superReadOnly: false })
    expect(parts.file.current.binlogJudged).toBeNull()
    await sees(200, { superReadOnly: true })
    expect(parts.file.current.binlogJudged).toEqual({ uuid, ...place(200) })
    expect(asked).toEqual([])
  })

  it('what a look showed that began before', async () => {
    const { parts, sees } = await following()
    changeLife(parts, {
      stage: { is: 'following', step: 'started', as: '', sinceMs: parts.world.clock.monotonicMs() + 60_000 },
    })
    await sees(100)
    expect(parts.file.current.binlogJudged).toBeNull()
  })

  it('what it began as primary, also once it is a replica again: that is how harmless errant transactions are cured', async () => {
    const { parts, asked, binlog, follow, sees } = await following()
    await sees(100)
    await parts.file.update({ assignment: primaryOfEpoch3, ...new Semisync(parts).marksOfPrimary() })
    binlog.begun = `${uuidOf('shop-2')}:1`
    await sees(200)
    await parts.file.update({ assignment: replica })
    follow()
    await sees(200)
    binlog.begun = ''
    await sees(300)
    expect(asked.map(({ from }) => from)).toMatchObject([place(200)])
    expect(parts.file.current.gtidsReset).toBe(false)
  })

  it('what a primary begins whose place was stored late', async () => {
    const { parts, asked, sees } = await following()
    await sees(100)
    await parts.file.update({ assignment: primaryOfEpoch3 })
    await sees(200)
    expect(parts.file.current.binlogJudged).toBeNull()
    expect(asked).toEqual([])
  })

  it('what is in the binlogs of another server: it was copied, or its tail was cut', async () => {
    const { parts, asked, sees } = await following()
    await sees(100)
    await sees(500, { uuid: uuidOf('shop-2') })
    expect(asked).toEqual([])
    expect(parts.file.current.binlogJudged).toEqual({ uuid: uuidOf('shop-2'), ...place(500) })
  })

  it('looked for in a group, which counts what its members begin', async () => {
    const { parts, sees } = await following()
    settable(parts).config.mode = 'group'
    await sees(100)
    expect(parts.file.current.binlogJudged).toBeNull()
  })
})
