import { saying } from '#test/support/said-as-text.ts'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { binlogFile, dml, uuid } from '#test/support/synthetic-binlog.ts'
import { gtids } from '#topology/testing.ts'
import { readBinlogSet } from './set.ts'
import { PurgedNote, readPurgedNote, writePurgedNote } from './purged-note.ts'
import {
  aServerState,
  primaryOfEpoch3,
  replicaOfEpoch3,
  ScriptedProcess,
  ScriptedServer,
  testParts,
} from '../testing.ts'
import { settable } from '../testing-known.ts'
import { readTrimPlan } from './unacknowledged-tail.ts'
import { GtidSet } from '#topology/gtid/gtid-set.ts'
import { givePromise, passWhileDown } from '../testing-passes.ts'

const copied = gtids('shop-1', 50)
const folders: string[] = []
afterAll(() => Promise.all(folders.map((folder) => rm(folder, { recursive: true }))))

/** The data folder of a server that was seeded by a copy and has written since. */
async function copyWith(purged: string): Promise<string> {
  const dataDir = await mkdtemp(join(tmpdir(), 'regent-purged-'))
  folders.push(dataDir)
  await writeFile(join(dataDir, 'binlog.000001'), binlogFile(dml(4)))
  await writeFile(join(dataDir, 'binlog.index'), './binlog.000001\n')
  if (purged !== '') await writePurgedNote(dataDir, purged)
  return dataDir
}

describe('what a server executed and no binlog of it names', () => {
  it('belongs to what it holds when it is dead', async () => {
    expect(
      GtidSet.parse((await readBinlogSet(await copyWith(copied))).set).equals(GtidSet.parse(`${uuid}:4,${copied}`)),
    ).toBe(true)
    expect((await readBinlogSet(await copyWith(''))).set).toBe(`${uuid}:4`)
  })

  it('lets nothing be cut off where the new primary lacks it', async () => {
    expect(await readTrimPlan(await copyWith(copied), GtidSet.empty)).toMatchObject({
      kind: 'refuse',
      reason: expect.stringContaining(`${copied} is in a binlog older than binlog.000001, or was copied`) as string,
    })
    expect(await readTrimPlan(await copyWith(copied), GtidSet.parse(copied))).toMatchObject({
      kind: 'trim',
      gtids: `${uuid}:4`,
    })
  })

  it('is noted anew, and what is left of a note that was being written counts for nothing', async () => {
    const dataDir = await copyWith(copied)
    await writeFile(join(dataDir, 'regent-purged-gtids.new'), 'half a')
    expect((await readPurgedNote(dataDir)).toString()).toBe(copied)
    await writePurgedNote(dataDir, gtids('shop-1', 60))
    expect((await readPurgedNote(dataDir)).toString()).toBe(gtids('shop-1', 60))
    expect((await readdir(dataDir)).filter((name) => name.startsWith('regent'))).toEqual(['regent-purged-gtids'])
  })

  it('that cannot be read is no reason to believe that there is nothing', async () => {
    const dataDir = await copyWith('')
    await writeFile(join(dataDir, 'regent-purged-gtids'), 'x')
    await expect(readBinlogSet(dataDir)).rejects.toMatchObject({ code: 'REGENT_BINLOG_UNREADABLE' })
  })

  it('is noted when it is seen, when it is another, and for each server', async () => {
    const noted: string[] = []
    const server = new ScriptedServer(aServerState({ purged: copied }))
    const process = new ScriptedProcess()
    const parts = await testParts(server, { process, volume: { notePurged: async (seen) => void noted.push(seen) } })
    const note = new PurgedNote(parts)
    const look = async (): Promise<void> => {
      await parts.observer.refresh()
      note.look()
      await new Promise(setImmediate)
    }
    note.look()
    await look()
    await look()
    expect(noted).toEqual([copied])
    server.state = { ...server.state, purged: '' }
    await look()
    process.pid = 1_001
    await look()
    expect(noted).toEqual([copied, '', ''])
  })

  it('is noted with the next look where the disk did not take it', async () => {
    const answers = ['fails', 'takes it']
    const parts = await testParts(new ScriptedServer(aServerState({ purged: copied })), {
      volume: {
        notePurged: async () =>
          answers.shift() === 'fails' ? Promise.reject(new Error('ENOSPC: no space left')) : undefined,
      },
    })
    const note = new PurgedNote(parts)
    await parts.observer.refresh()
    note.look()
    await expect.poll(() => parts.notices.list).toMatchObject([{ code: 'PurgedNotNoted', sentence: saying('ENOSPC') }])
    note.look()
    await expect.poll(() => answers).toEqual([])
  })

  it('is reported by a primary that promises, as its server said before it was killed, and as it was noted', async () => {
    const parts = await testParts(new ScriptedServer(aServerState({ purged: gtids('shop-1', 60) })), {
      volume: { readBinlogSet: async () => copied },
    })
    await parts.file.update({ promise: 3, revision: 10, assignment: primaryOfEpoch3 })
    await parts.observer.refresh()
    await givePromise(parts, { ...primaryOfEpoch3, epoch: 4, revision: 11, after: '', waitMs: 0 })
    expect(parts.process.state).toBe('dead')
    expect(parts.course.promiseReport).toMatchObject({ epoch: 4, asPrimary: true, holds: gtids('shop-1', 60) })
  })

  it('does not keep a server down whose tail is archived', async () => {
    const process = new ScriptedProcess()
    process.state = 'dead'
    const archived: string[] = []
    const tail = gtids('shop-0', 3)
    const parts = await testParts(new ScriptedServer(aServerState()), {
      process,
      volume: {
        readBinlogSet: async () => `${tail},${copied}`,
        readPurged: async () => copied,
        archiveErrant: async (seen) => [`archive-${archived.push(seen)}`],
      },
    })
    await parts.file.update({ mayHaveTail: true, unsettled: true, promise: 3, assignment: replicaOfEpoch3 })
    settable(parts).told.sourceHolds = gtids('shop-2', 5)
    await passWhileDown(parts)
    expect([process.state, archived]).toEqual(['running', [tail]])
  })
})
