import { describe, expect, it } from 'vitest'
import type { BackupsSeen, RehearsalSeen } from '#topology/snapshot/copies.ts'
import type { ViewOverrides } from '#topology/testing.ts'
import { decide } from '#failover/decide.ts'
import { backupTaskOf, backupTaskText } from '#failover/protocol/backup-task.ts'
import { aBackup, aSituation, type SituationOverrides } from '#failover/testing.ts'

const at = (text: string) => Date.parse(`2026-11-${text}Z`)
/** Thursday. */
const nowMs = at('26T08:07:30')
const settings = aBackup({ rehearsal: { schedule: '0 4 * * 0' } })
const seen: BackupsSeen = {
  ...{ whole: 1, leftovers: 0, newest: null, verified: null, answers: true, sentence: '', lookedAgoMs: 30_000 },
  begun: { name: '20261126T030000Z', whole: true },
}
const verifiedAt = (ms: number): BackupsSeen => ({
  ...seen,
  verified: { name: '20261120T030000Z', verifiedAtMs: ms, restoreMs: 60_000 },
})
const failed = (name: string): RehearsalSeen => ({ name, stage: 'failed', sentence: 'a table is broken' })

interface Given extends SituationOverrides {
  readonly backups?: BackupsSeen
  readonly schedule?: string | null
}

function decided({ backups = seen, schedule = '0 4 * * 0', views = {}, ...given }: Given = {}) {
  const backup = { ...settings, rehearsal: { schedule } }
  const backupTask = backupTaskText(backupTaskOf(backup))
  const all: Record<string, ViewOverrides> = { 'shop-0': {}, 'shop-1': {}, 'shop-2': {}, ...views }
  const shown = Object.entries(all).map(([name, view]) => [
    name,
    { backupTask, ...(name === 'shop-0' ? { backups } : {}), ...view },
  ])
  const { actions, reasons } = decide(
    aSituation({
      ...{ wallMs: nowMs, ...given },
      spec: { backup },
      views: Object.fromEntries(shown) as Record<string, ViewOverrides>,
    }),
  )
  const said = actions.flatMap((action) =>
    action.kind === 'say' && action.word === 'rehearse' ? [`${action.to} ${action.said.name}`] : [],
  )
  return { said, why: reasons.map(String).join('\n') }
}

describe('A restore is rehearsed', () => {
  it('as soon as the first backup is there, at the replica that hurts least', () => {
    const { said, why } = decided()
    expect(said).toEqual(['shop-2 20261126T080000Z'])
    expect(why).toContain('a rehearsal is due: shop-2 is told to restore the newest backup, and to remove that again')
  })

  it('under one name in each of ten minutes, whoever says that', () => {
    expect(decided({ wallMs: nowMs + 100_000 }).said).toEqual(decided().said)
  })

  it('again by the schedule, since the last one that is known', () => {
    expect(decided({ backups: verifiedAt(at('22T05:00:00')) }).said).toEqual([])
    expect(decided({ backups: verifiedAt(at('22T03:00:00')) }).said).toEqual(['shop-2 20261126T080000Z'])
    expect(
      decided({ views: { 'shop-1': { rehearsal: { ...failed('20261126T050000Z'), stage: 'done' } } } }).said,
    ).toEqual([])
  })

  it('a day later where one failed, and that is told until then', () => {
    const young = decided({ views: { 'shop-1': { rehearsal: failed('20261126T050000Z') } } })
    expect(young.said).toEqual([])
    expect(young.why).toContain('the last rehearsal failed: a table is broken')
    const old = decided({
      backups: verifiedAt(at('22T05:00:00')),
      views: { 'shop-1': { rehearsal: failed('20261125T050000Z') } },
    })
    expect(old.said).toEqual(['shop-2 20261126T080000Z'])
  })

  it('as soon as there is a newer backup where one failed and none is verified', () => {
    const views = { 'shop-1': { rehearsal: failed('20261126T050000Z') } }
    const newest = { name: '20261126T060000Z', endedAtMs: at('26T06:05:00'), rawBytes: 1, storedBytes: 1 }
    expect(decided({ views, backups: { ...seen, newest } }).said).toEqual(['shop-2 20261126T080000Z'])
    for (const backups of [
      { ...seen, newest: { ...newest, endedAtMs: at('26T05:05:00') } },
      { ...seen, newest: { ...newest, refused: 'backup 20261126T060000Z is not encrypted, and a key is given' } },
      { ...verifiedAt(at('22T05:00:00')), newest },
    ])
      expect(decided({ views, backups }).said).toEqual([])
  })

  it('not while the last one has a time that is still to come, which is told: a clock was wrong', () => {
    expect(decided({ backups: verifiedAt(nowMs + 30_000) }).why).not.toContain('rehearsal')
    const { said, why } = decided({ backups: verifiedAt(at('28T05:00:00')) })
    expect(said).toEqual([])
    expect(why).toContain(
      'no rehearsal is begun: the last one was at 2026-11-28T05:00:00Z, still to come by the clock of this manager; set the clocks right, and rehearse once by hand',
    )
  })

  it.each<[string, Given, string]>([
    [
      'a rehearsal',
      { views: { 'shop-1': { rehearsal: { name: '20261110T050000Z', stage: 'checks', sentence: '' } } } },
      'waits: shop-1 rehearses already',
    ],
    [
      'a backup',
      {
        views: {
          'shop-1': { backup: { name: '20261126T080000Z', stage: 'sends', rawBytes: 0, storedBytes: 0, sentence: '' } },
        },
      },
      'waits: shop-1 makes backup 20261126T080000Z',
    ],
    [
      'what the cluster needs',
      { notes: { paused: { reason: 'works on the network', owner: '' } } as never },
      'waits: the cluster is paused: works on the network',
    ],
  ])('not beside %s', (_, given, why) => {
    expect(decided(given).said).toEqual([])
    expect(decided(given).why).toContain(why)
  })

  it('never where that is asked for, where there is no backup, and where the store does not answer', () => {
    expect(decided({ schedule: null }).said).toEqual([])
    expect(decided({ backups: { ...seen, whole: 0 } }).said).toEqual([])
    expect(decided({ backups: { ...seen, answers: false } }).said).toEqual([])
  })
})
