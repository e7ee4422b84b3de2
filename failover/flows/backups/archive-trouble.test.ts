import { describe, expect, it } from 'vitest'
import type { BinlogArchiveSeen } from '#topology/snapshot/binlog-archive.ts'
import { decide } from '#failover/decide.ts'
import { aBackup, aSituation, lostAgent } from '#failover/testing.ts'
import { archiveTrouble } from './archive-trouble.ts'

const well: BinlogArchiveSeen = { behindMs: 3_000, hole: '', trouble: '' }
const situation = (seen: BinlogArchiveSeen | undefined, everySeconds = 5) =>
  aSituation({
    spec: { backup: aBackup({ archive: { everySeconds } }) },
    views: { 'shop-0': seen === undefined ? {} : { binlogArchive: seen } },
  })
const said = (seen: BinlogArchiveSeen | undefined, everySeconds?: number) =>
  String(archiveTrouble(situation(seen, everySeconds)))

describe('Of the archive of binlogs is told', () => {
  it.each<[string, BinlogArchiveSeen | undefined, string]>([
    ['nothing while all is well', well, ''],
    ['nothing before its primary has begun', undefined, ''],
    ['nothing where a store was slow for a moment', { ...well, behindMs: 50_000 }, ''],
    [
      'how far that is behind',
      { ...well, behindMs: 90_000 },
      'the archive of backups is 90 s behind shop-0: so much would be lost with the whole cluster',
    ],
    [
      'why nothing is shipped, before anything else',
      { behindMs: 90_000, hole: 'the archive lacks some', trouble: 'the store is full' },
      'binlogs of shop-0 are not shipped to the archive of backups: the store is full',
    ],
    ['where there is a hole', { ...well, hole: 'the archive lacks some' }, 'the archive lacks some'],
  ])('%s', (_, seen, sentence) => expect(said(seen)).toBe(sentence))

  it('nothing where none is asked for', () => expect(said({ ...well, trouble: 'away' }, 0)).toBe(''))

  it('later than several turns, where turns are rare', () => {
    expect(said({ ...well, behindMs: 1_700_000 }, 300)).toBe('')
    expect(said({ ...well, behindMs: 1_900_000 }, 300)).toContain('behind shop-0')
  })

  it('nothing by a primary that is not heard', () =>
    expect(
      String(
        archiveTrouble(
          aSituation({
            spec: { backup: aBackup({}) },
            views: { 'shop-0': { ...lostAgent, binlogArchive: { ...well, trouble: 'away' } } },
          }),
        ),
      ),
    ).toBe(''))

  it('among the reasons of what is decided', () => {
    const reasons = decide(situation({ ...well, trouble: 'the store is full' })).reasons.map(String)
    expect(reasons.join('\n')).toContain(
      'binlogs of shop-0 are not shipped to the archive of backups: the store is full',
    )
  })
})
