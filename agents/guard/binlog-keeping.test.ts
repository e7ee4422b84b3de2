import { describe, expect, it } from 'vitest'
import { gtids } from '#topology/testing.ts'
import {
  archiveOfBackups,
  dueBinlogs,
  keepingEveryMs,
  membersLacking,
  sentenceAboutForced,
  sentenceAboutHeld,
  type DueBinlog,
  type KeepingLimits,
} from './binlog-keeping.ts'
import type { BinlogFile } from '../ports/volume.ts'

const mib = 1_048_576
const limits: KeepingLimits = { keepBinlogsSeconds: 100, heldBinlogsBytes: 30 * mib, lowSpaceBytes: 10 * mib }
const nowMs = 1_000_000

/** Of 10 MiB each, oldest first; the ages in seconds. */
function files(...ages: readonly number[]): readonly BinlogFile[] {
  return ages.map((age, index) => ({
    name: `binlog.00000${index + 1}`,
    bytes: 10 * mib,
    writtenAtMs: nowMs - age * 1_000,
  }))
}

describe('binlogs that are due', () => {
  const cases: readonly (readonly [string, readonly BinlogFile[], number | null, readonly string[]])[] = [
    ['none where there is only the newest, however old', files(900), null, []],
    ['none that was written to lately', files(99, 50, 0), null, []],
    [
      'those that are old enough, held if somebody lacks them',
      files(300, 100, 50, 0).slice(1),
      null,
      ['binlog.000002 held'],
    ],
    [
      'the old ones by force while all take more than the limit, the rest held',
      files(300, 200, 150, 120, 0),
      null,
      ['binlog.000001 by limit', 'binlog.000002 by limit', 'binlog.000003 held', 'binlog.000004 held'],
    ],
    ['nothing young, although all take more than the limit', files(90, 80, 70, 60, 0), null, []],
    ['nothing young behind something old', files(300, 50, 40, 0).slice(1), null, []],
    [
      'as many as make room, young or old, where space is short',
      files(50, 40, 30, 0),
      25 * mib,
      ['binlog.000001 by space', 'binlog.000002 by space'],
    ],
    ['never the newest, however short space is', files(50, 0), 0, ['binlog.000001 by space']],
    ['nothing where there is enough space', files(50, 40, 0), 40 * mib, []],
  ]
  it.each(cases)('are %s', (_what, all, freeBytes, expected) => {
    const due = dueBinlogs(all, { wallMs: nowMs, freeBytes }, limits)
    expect(due.map(({ name, force }) => `${name} ${force === null ? 'held' : `by ${force}`}`)).toEqual(expected)
  })

  it('name the file behind them, up to which is purged', () => {
    expect(dueBinlogs(files(300, 0), { wallMs: nowMs, freeBytes: null }, limits)).toMatchObject([
      { name: 'binlog.000001', next: 'binlog.000002' },
    ])
  })

  it('are looked for each minute, and more often where they are kept for seconds only', () => {
    expect([259_200, 600, 1].map((keepBinlogsSeconds) => keepingEveryMs({ ...limits, keepBinlogsSeconds }))).toEqual([
      60_000, 6_000, 2_000,
    ])
  })
})

describe('members that lack what ends at transaction 50', () => {
  const cases: readonly (readonly [string, string | null, string, boolean])[] = [
    ['holds all of it', gtids('shop-0', 50), '', false],
    ['holds more', gtids('shop-0', 70), '', false],
    ['lacks the last of it', gtids('shop-0', 49), '', true],
    ['is empty', '', '', true],
    ['has not said what it holds', null, '', true],
    ['lacks some of it and nothing of what was purged', gtids('shop-0', 30), gtids('shop-0', 30), true],
    ['lacks what was purged: binlogs do not help it', gtids('shop-0', 29), gtids('shop-0', 30), false],
  ]
  it.each(cases)('one that %s', (_what, executed, purged, lacks) => {
    expect(membersLacking(gtids('shop-0', 50), purged, [{ instance: 'shop-2', executed }])).toHaveLength(lacks ? 1 : 0)
  })

  it('are joined by an archive that lacks anything of what is still here', () => {
    const archive = (last: number) => [{ instance: archiveOfBackups, executed: gtids('shop-0', last) }]
    const lacking = (last: number) => membersLacking(gtids('shop-0', 50), gtids('shop-0', 30), archive(last)).length
    expect([20, 49, 50].map(lacking)).toEqual([1, 1, 0])
  })
})

describe('what is said', () => {
  const due = (number: number, force: DueBinlog['force']): DueBinlog => ({
    name: `binlog.00000${number}`,
    next: `binlog.00000${number + 1}`,
    bytes: 10 * mib,
    writtenAtMs: 0,
    force,
  })
  const lacking = [{ instance: 'shop-2', executed: '' }]

  it('names the members for whom binlogs are held', () => {
    expect(String(sentenceAboutHeld(due(3, null), [...lacking, { instance: 'shop-1', executed: null }]))).toBe(
      'binlogs from binlog.000003 on are kept longer than asked for: shop-2 lacks some of what is in them; shop-1 has not said what it holds',
    )
  })

  it('names what was purged by force, whose it was, and why', () => {
    expect(String(sentenceAboutForced([due(1, 'limit'), due(2, 'limit')], lacking, limits))).toBe(
      'binlog.000001 to binlog.000002 (20.0 MiB) are purged, as more than 30.0 MiB of binlogs were there; who needed them is seeded again: shop-2 lacks some of what is in them',
    )
    expect(String(sentenceAboutForced([due(1, 'space')], lacking, limits))).toMatch(
      /^binlog.000001 \(10.0 MiB\) are purged, as the disk is nearly full; /,
    )
  })
})
