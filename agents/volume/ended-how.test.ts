import { saying } from '#test/support/said-as-text.ts'
import { appendFile, mkdtemp, readFile, rename, rm, stat, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { binlogFile, dml, stop } from '#test/support/synthetic-binlog.ts'
import { endedHow, judgeEnding, type BinlogEvidence } from './ended-how.ts'
import { markErrorLog, noteFullFileSystem, reserveErrorLog, type ErrorLogEvidence, type Message } from './error-log.ts'

const log = (...seen: readonly Message[]): ErrorLogEvidence => ({
  kind: 'read',
  seen: new Set(seen),
  lastBinlog: 'binlog.000001',
  couldWrite: true,
})
const full = (...seen: readonly Message[]): ErrorLogEvidence => ({
  kind: 'read',
  seen: new Set(seen),
  lastBinlog: 'binlog.000001',
  couldWrite: false,
})
const missing: ErrorLogEvidence = { kind: 'missing', why: 'the error log is gone' }
const binlog = (changes: Partial<Extract<BinlogEvidence, { kind: 'read' }>> = {}): BinlogEvidence => ({
  kind: 'read',
  name: 'binlog.000002',
  inUse: true,
  stopIsLast: false,
  ...changes,
})
const old = (changes: Partial<Extract<BinlogEvidence, { kind: 'read' }>> = {}): BinlogEvidence =>
  binlog({ name: 'binlog.000001', ...changes })

describe('how a server ended', () => {
  it.each<[string, string, readonly [ErrorLogEvidence, BinlogEvidence], string]>([
    ['crashed', 'it was killed while it served', [log('starting', 'ready'), binlog()], 'no word of a shutdown'],
    [
      'crashed',
      'it was killed before it was ready, with a binlog of its own',
      [log('starting'), binlog()],
      'no word of a shutdown',
    ],
    [
      'crashed',
      'it was killed before it began a binlog, and the one that is there was closed by recovery',
      [log('starting'), old({ inUse: false })],
      'before it served anybody',
    ],
    ['crashed', 'it never even started', [log(), { kind: 'none' }], 'before it served anybody'],
    [
      'stopped',
      'it received SIGTERM and was killed at once',
      [log('starting', 'ready', 'receivedShutdown'), binlog()],
      'MY-013172',
    ],
    [
      'stopped',
      'it received RESTART',
      [log('starting', 'ready', 'receivedRestart'), binlog({ inUse: false, stopIsLast: true })],
      'MY-011086',
    ],
    ['stopped', 'it received SIGTERM before it was ready', [log('starting', 'receivedShutdown'), old()], 'MY-013172'],
    [
      'stopped',
      'its binlog was closed although the log is gone',
      [missing, binlog({ inUse: false })],
      'closed in order',
    ],
    [
      'stopped',
      'its binlog ends in a Stop event and the flag is still set',
      [log('starting', 'ready'), binlog({ stopIsLast: true })],
      'Stop event',
    ],
    [
      'stopped',
      'binlogs were reset since, so that the name is the same again',
      [log('starting', 'ready'), old({ inUse: false })],
      'closed in order',
    ],
    [
      'stopped',
      'its disk was full and what is there was closed',
      [full('starting'), old({ inUse: false })],
      'closed in order',
    ],
    ['unknown', 'its log is gone', [missing, binlog()], 'the error log is gone'],
    ['unknown', 'its disk was full', [full('starting', 'ready'), binlog()], 'full'],
    ['unknown', 'its log says nothing at all', [log(), binlog()], 'messages go elsewhere'],
    [
      'unknown',
      'its binlog cannot be read',
      [log('starting', 'ready'), { kind: 'unreadable', why: 'encrypted' }],
      'encrypted',
    ],
    [
      'unknown',
      'its binlog cannot be read and it was never ready',
      [log('starting'), { kind: 'unreadable', why: 'encrypted' }],
      'encrypted',
    ],
    ['unknown', 'it was ready and has no binlog', [log('starting', 'ready'), { kind: 'none' }], 'no binlog'],
  ])('is "%s" when %s', (how, _when, [logEvidence, binlogEvidence], sentence) => {
    expect(judgeEnding(logEvidence, binlogEvidence)).toEqual({
      how,
      sentence: saying(sentence),
    })
  })
})

describe('an error log', () => {
  let dataDir: string
  let place: { readonly dataDir: string; readonly errorLog: string; readonly errorLogMark: string }
  beforeEach(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'regent-ended-'))
    place = { dataDir, errorLog: join(dataDir, 'error.log'), errorLogMark: join(dataDir, 'mark') }
    await writeFile(place.errorLog, `an earlier life\n${shutdown}`)
    await writeFile(join(dataDir, 'binlog.000002'), binlogFile(dml(1)))
    await writeFile(join(dataDir, 'binlog.index'), './binlog.000001\n')
  })
  afterEach(() => rm(dataDir, { recursive: true }))

  const line = (code: string, text: string): string =>
    `2026-11-21T10:05:45.207880Z 0 [System] [${code}] [Server] ${text}\n`
  const shutdown = line('MY-013172', 'Received SHUTDOWN from user <via user signal>.')
  const started = line('MY-010116', 'mysqld starting as process 1') + line('MY-010931', 'ready for connections')

  /** A life that was marked, said this, and wrote binlog.000002. */
  async function lived(said: string): Promise<void> {
    await markErrorLog(place)
    await writeFile(join(dataDir, 'binlog.index'), './binlog.000001\n./binlog.000002\n')
    await appendFile(place.errorLog, said)
  }
  const how = async (): Promise<string> => (await endedHow(place)).how

  it('tells a crash from a shutdown, and only since the last start counts', async () => {
    await lived(started)
    expect(await how()).toBe('crashed')
    await appendFile(place.errorLog, shutdown)
    expect(await how()).toBe('stopped')
    await writeFile(join(dataDir, 'binlog.000003'), binlogFile([]))
    await markErrorLog(place)
    await writeFile(join(dataDir, 'binlog.index'), './binlog.000002\n./binlog.000003\n')
    await appendFile(place.errorLog, started)
    expect(await how()).toBe('crashed')
  })

  it.each([65_510, 65_520, 65_530, 131_000])('finds a message that begins %i bytes in', async (bytes) => {
    await lived(started.padEnd(bytes, 'x') + shutdown)
    expect(await how()).toBe('stopped')
  })

  it.each<[string, () => Promise<void>]>([
    ['is gone', () => rm(place.errorLog)],
    [
      'was rotated',
      async () =>
        rename(place.errorLog, `${place.errorLog}.1`).then(() => writeFile(place.errorLog, started.repeat(20))),
    ],
    ['was cut', () => truncate(place.errorLog, 3)],
    ['was not marked', () => rm(place.errorLogMark)],
    ['has a mark that was written half', () => truncate(place.errorLogMark, 40)],
    ['has a mark that is not ours', () => writeFile(place.errorLogMark, '{"version":2}')],
  ])('that %s proves no crash', async (_what, happens) => {
    await lived(started)
    await happens()
    expect(await how()).toBe('unknown')
  })

  it('has space reserved for its messages, so that a full disk does not hide them', async () => {
    await lived(started)
    expect(await reserveErrorLog(place.errorLog)).toBe(true)
    const { size, blocks } = await stat(place.errorLog)
    expect(blocks * 512 - size).toBeGreaterThan(128 * 1024)
    await noteFullFileSystem(place)
    expect(await how()).toBe('crashed')
  })

  it('that used up its reserve on a disk that was full proves no crash', async () => {
    await lived(started + 'x'.repeat(400_000))
    expect(await how()).toBe('crashed')
    await noteFullFileSystem(place)
    expect(await how()).toBe('unknown')
  })

  it('with a shutdown proves it however the disk was', async () => {
    await lived(started + shutdown + 'x'.repeat(400_000))
    await noteFullFileSystem(place)
    expect(await how()).toBe('stopped')
  })

  it('is created where there is none, and one that the disk cannot take rejects', async () => {
    await rm(place.errorLog)
    await markErrorLog(place)
    expect(await readFile(place.errorLog, 'utf8')).toBe('')
    await expect(markErrorLog({ ...place, errorLogMark: join(dataDir, 'no folder', 'mark') })).rejects.toThrow('ENOENT')
  })

  it('is not needed where the binlog was closed in order', async () => {
    await lived(started)
    await writeFile(join(dataDir, 'binlog.000002'), binlogFile([...dml(1), stop], { inUse: false }))
    await rm(place.errorLog)
    expect(await how()).toBe('stopped')
  })
})
