import { saying } from '#test/support/said-as-text.ts'
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { gtids } from '#topology/testing.ts'
import { dueArchives, pruneArchives } from './archive-keeping.ts'
import { archivesOf, archiveVersion, listArchives, removeArchive, writeArchive } from '../binlog/archive.ts'
import { aServerState, replicaOfEpoch3, ScriptedProcess, ScriptedServer, testParts } from '../testing.ts'
import { settable } from '../testing-known.ts'
import { passWhileDown } from '../testing-passes.ts'

let archiveDir: string
beforeEach(async () => {
  archiveDir = join(await mkdtemp(join(tmpdir(), 'archives-')), 'archive')
})
afterEach(() => rm(join(archiveDir, '..'), { recursive: true }))

/** An archive made at `wallMs`, of about a kilobyte more than its description. */
async function made(kind: 'tail' | 'errant', wallMs: number): Promise<string> {
  const path = join(archiveDir, '..', 'binlog.000001')
  await writeFile(path, Buffer.alloc(1_000, wallMs))
  return writeArchive(archiveDir, [{ path, headEnd: 100, ranges: [{ offset: 100, end: 1_000 }] }], {
    version: archiveVersion,
    kind,
    instance: 'shop-0',
    gtids: '',
    wallMs,
    reason: 'a test',
  })
}

/** An agent that lets its archives take so many bytes. */
async function agentWith(archiveBytes: number, process = new ScriptedProcess()) {
  const parts = await testParts(new ScriptedServer(aServerState()), {
    process,
    volume: { listArchives: () => listArchives(archiveDir), removeArchive },
  })
  return { ...parts, config: { ...parts.config, archiveBytes } }
}

describe('archives', () => {
  it('are removed, the oldest first, until the rest takes no more than allowed', async () => {
    const [second, first, third] = [await made('errant', 2), await made('tail', 1), await made('tail', 3)]
    const [{ bytes } = { bytes: 0 }] = await listArchives(archiveDir)
    expect(bytes).toBeGreaterThan(1_000)
    const parts = await agentWith(2.5 * bytes)
    await pruneArchives(parts, [third])
    expect((await listArchives(archiveDir)).map(({ folder }) => folder)).toEqual([second, third])
    expect(await readdir(archiveDir)).toHaveLength(2)
    expect(parts.notices.list).toMatchObject([
      {
        code: 'ArchivesPruned',
        sentence: saying(`the oldest archives (${basename(first)}; 0.0 MiB) are removed`),
      },
    ])
  })

  it('are named, a few of many', async () => {
    for (let wallMs = 1; wallMs <= 8; wallMs += 1) await made('tail', wallMs)
    const parts = await agentWith(0)
    await pruneArchives(parts, [])
    expect(await readdir(archiveDir)).toHaveLength(1)
    expect(String(parts.notices.list[0]?.sentence)).toMatch(
      /^the oldest archives \((tail-shop-0-[0-9a-f]{16}(, | )){5}and 2 more; /,
    )
  })

  it('stay as long as there is room, and nothing is said', async () => {
    await made('errant', 1)
    await made('errant', 2)
    const parts = await agentWith(1_000_000)
    await pruneArchives(parts, [])
    expect(await readdir(archiveDir)).toHaveLength(2)
    expect(parts.notices.list).toEqual([])
  })

  it('that were made just now stay, whatever they take and whatever the clock said; so does the newest of those that are there', async () => {
    const [justMade, old, newest] = [await made('errant', 1), await made('errant', 2), await made('tail', 3)]
    await pruneArchives(await agentWith(0), [justMade])
    expect((await listArchives(archiveDir)).map(({ folder }) => folder)).toEqual([justMade, newest])
    expect(await archivesOf(archiveDir, 'shop-0')).toHaveLength(2)
    expect(await readdir(archiveDir)).not.toContain(basename(old))
  })

  it('are told from what a person put beside them', async () => {
    await made('errant', 5)
    const strange = ['notes', 'errant-shop-0-0123456789abcdef']
    for (const name of strange) await mkdir(join(archiveDir, name))
    await pruneArchives(await agentWith(0), [])
    expect(await readdir(archiveDir)).toEqual(expect.arrayContaining(strange))
  })

  it('that cannot be removed are named, and nobody is held up', async () => {
    await made('errant', 1)
    await made('errant', 2)
    const parts = await agentWith(0)
    parts.volume.removeArchive = async () => Promise.reject(new Error('EROFS: read-only file system'))
    await pruneArchives(parts, [])
    expect(parts.notices.list).toMatchObject([
      { code: 'ArchivesNotPruned', sentence: 'old archives could not be removed: EROFS: read-only file system' },
    ])
  })

  it('make room also for the tail that is cut off before mysqld starts', async () => {
    const process = new ScriptedProcess()
    process.state = 'dead'
    const parts = await agentWith(0, process)
    await parts.file.update({ mayHaveTail: true, promise: 3, assignment: replicaOfEpoch3 })
    settable(parts).told.sourceHolds = gtids('shop-1', 5)
    parts.volume.readBinlogSet = async () => gtids('shop-0', 2)
    parts.volume.judgeTail = async () => ({ kind: 'trim', gtids: gtids('shop-0', 2), sentence: '' })
    parts.volume.trimTail = () => made('tail', 2)
    await made('errant', 1)
    await passWhileDown(parts)
    expect((await readdir(archiveDir)).map((name) => name.slice(0, 11))).toEqual(['tail-shop-0'])
    expect(process.state).toBe('running')
  })

  it('are none where nothing was ever archived', async () => {
    const parts = await agentWith(0)
    await pruneArchives(parts, [])
    expect(parts.notices.list).toEqual([])
  })

  it('of which one must stay let the next one go', () => {
    const sizes = ['a', 'b', 'c'].map((folder) => ({ folder, bytes: 10 }))
    expect(dueArchives(sizes, 20, ['a']).map(({ folder }) => folder)).toEqual(['b'])
  })
})
