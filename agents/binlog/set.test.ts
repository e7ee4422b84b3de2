import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { binlogFile, dml, uuid } from '#test/support/synthetic-binlog.ts'
import { binlogFiles, readBinlogSet, relayLogFiles } from './set.ts'

/** A data folder with one binlog, and these lists of files. */
async function aFolder(lists: Readonly<Record<string, string>>): Promise<string> {
  const dataDir = await mkdtemp(join(tmpdir(), 'regent-binlogs-'))
  onTestFinished(() => rm(dataDir, { recursive: true }))
  await writeFile(join(dataDir, 'binlog.000007'), binlogFile(dml(4)))
  for (const [name, text] of Object.entries(lists)) await writeFile(join(dataDir, name), text)
  return dataDir
}

describe('A mysqld that was killed while it put another list of its binlogs in place', () => {
  it('left the next list beside, by which its binlogs are read', async () => {
    const dataDir = await aFolder({ 'binlog.index_crash_safe': './binlog.000007\n' })
    expect(await binlogFiles(dataDir)).toEqual([join(dataDir, 'binlog.000007')])
    expect((await readBinlogSet(dataDir)).set).toBe(`${uuid}:4`)
  })

  it('left that of its relay logs too: what it had received is not nothing', async () => {
    const dataDir = await aFolder({ 'relay-bin.index_crash_safe': './relay-bin.000002\n' })
    expect(await relayLogFiles(dataDir)).toEqual([join(dataDir, 'relay-bin.000002')])
  })

  it('has a list of before that nobody reads, where its own is there', async () => {
    const dataDir = await aFolder({
      'binlog.index': './binlog.000007\n',
      'binlog.index_crash_safe': './binlog.000006\n',
    })
    expect(await binlogFiles(dataDir)).toEqual([join(dataDir, 'binlog.000007')])
  })
})

describe('A folder without any list', () => {
  it('has no binlog to be read, and no relay log', async () => {
    const dataDir = await aFolder({})
    await expect(binlogFiles(dataDir)).rejects.toMatchObject({ code: 'ENOENT' })
    expect(await relayLogFiles(dataDir)).toEqual([])
  })
})
