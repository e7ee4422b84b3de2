import { describe, expect, it } from 'vitest'
import type { BackupSeen, BackupsSeen } from '#topology/snapshot/copies.ts'
import { courseOf, givenUpMs, isUnspoken, longestSilenceMs, verifiedBy, type CourseInput } from './backup-course.ts'
import type { MySQLBackup } from './mysql-backup.ts'

const run = '20261126T031209Z'
const object: MySQLBackup = {
  ...{ apiVersion: 'regent.dev/v1alpha1', kind: 'MySQLBackup', metadata: { name: 'b', namespace: 'shops' } },
  spec: { cluster: 'shop' },
  status: { phase: 'Running', backup: run, instance: 'shop-2', startedAt: '2026-11-26T03:12:09Z' },
}
const seen = (said: Partial<BackupSeen>): BackupSeen => ({
  ...{ name: run, stage: 'sends', rawBytes: 3_145_728, storedBytes: 1_048_576, sentence: '' },
  ...said,
})
const store = (newest: string): BackupsSeen => ({
  ...{ whole: 1, leftovers: 0, begun: null, verified: null, answers: true, sentence: '', lookedAgoMs: 5 },
  newest: { name: newest, endedAtMs: Date.UTC(2026, 10, 26, 3, 20), rawBytes: 2_097_152, storedBytes: 1_048_576 },
})
const course = (said: Partial<CourseInput>) =>
  courseOf({ object, instances: [], silentMs: 0, wallMs: Date.UTC(2026, 10, 26, 4), ...said })
const from = (backup?: BackupSeen, reachable = true) => [{ name: 'shop-2', reachable, ...(backup && { backup }) }]

describe('A run of a backup', () => {
  it.each([
    ['Running', { stage: 'copies' }, 'the data are copied'],
    ['Running', { stage: 'sends' }, '3.0 MiB of data are in the store'],
    ['Succeeded', { stage: 'done' }, 'is made'],
    ['Failed', { stage: 'failed', sentence: 'the store is full' }, 'the store is full'],
  ] as const)('is %s as its agent says: %j', (phase, said, message) => {
    const { status, asks } = course({ instances: from(seen(said)) })
    expect([status.phase, asks, status.message]).toEqual([phase, false, expect.stringContaining(message)])
    expect(status).toMatchObject({ size: '3.0 MiB', stored: '1.0 MiB', instance: 'shop-2' })
    expect(status.completedAt).toBe(phase === 'Running' ? undefined : '2026-11-26T04:00:00Z')
  })

  it('is spoken of by nobody once its agent is silent, whatever that agent said last; its end stays said', () => {
    const silent = (silentMs: number, stage: BackupSeen['stage']) =>
      course({ silentMs, instances: from(seen({ stage }), false) }).status.phase
    expect(silent(longestSilenceMs - 1, 'sends')).toBe('Running')
    expect(silent(longestSilenceMs, 'copies')).toBe('Unknown')
    expect(silent(givenUpMs, 'sends')).toBe('Failed')
    expect([silent(givenUpMs, 'done'), silent(0, 'failed')]).toEqual(['Succeeded', 'Failed'])
    expect(course({ instances: from(seen({}), false), store: store(run) }).status.phase).toBe('Succeeded')
  })

  it('is asked for again of an agent that answers and knows nothing of it', () => {
    expect(course({ instances: from() })).toMatchObject({ asks: true, status: { phase: 'Running' } })
  })

  it('is asked for of nobody who does not answer, or has begun another one since', () => {
    expect(course({ instances: from(undefined, false) }).asks).toBe(false)
    expect(course({ instances: from(seen({ name: 'another' })) }).asks).toBe(false)
    const observed = { ...object, spec: { cluster: 'shop', backup: run } }
    expect(course({ object: observed, instances: from() }).asks).toBe(false)
  })

  it('is Unknown once nobody has spoken of it for minutes, and Failed after an hour: it never runs for ever', () => {
    const silent = (silentMs: number) => course({ silentMs }).status
    expect(silent(longestSilenceMs - 1).phase).toBe('Running')
    expect(silent(longestSilenceMs)).toMatchObject({
      phase: 'Unknown',
      message: expect.stringContaining('nobody speaks of this run') as string,
    })
    expect(silent(givenUpMs).phase).toBe('Failed')
  })

  it('shows when it began, when it ended and how long that took, as its agent, or the store, says', () => {
    const startedAtMs = Date.UTC(2026, 10, 26, 3, 12, 10)
    const runs = course({ instances: from(seen({ startedAtMs })) }).status
    expect([runs.startedAt, runs.seconds, runs.completedAt]).toEqual(['2026-11-26T03:12:10Z', undefined, undefined])
    const took = { startedAt: '2026-11-26T03:12:10Z', completedAt: '2026-11-26T03:13:33Z', seconds: 83.4, took: '83 s' }
    expect(course({ instances: from(seen({ stage: 'done', startedAtMs, tookMs: 83_400 })) }).status).toMatchObject(took)
    const whole = store(run)
    const newest = whole.newest && { ...whole.newest, startedAtMs, tookMs: 83_400 }
    expect(course({ store: { ...whole, newest } }).status).toMatchObject(took)
    // Of an agent of the version before.
    const older = whole.newest && { ...whole.newest, tookMs: 83_400 }
    expect(course({ store: { ...whole, newest: older } }).status).toMatchObject({
      ...{ seconds: 83.4, startedAt: '2026-11-26T03:12:09Z', completedAt: '2026-11-26T03:20:00Z' },
    })
  })

  it('shows what its rehearsal checked and compared', () => {
    const proof = { name: run, verifiedAtMs: Date.UTC(2026, 10, 27), restoreMs: 83_460 }
    const compared = { tables: 12, rows: 3_400, compared: 11, replica: 'shop-1', notCompared: 'for no reason' }
    expect(verifiedBy(object, { ...store(run), verified: { ...proof, ...compared } })).toMatchObject(compared)
    const { compared: _none, ...alone } = compared
    expect(verifiedBy(object, { ...store(run), verified: { ...proof, ...alone } })).not.toHaveProperty('compared')
  })

  it('shows what it holds as its agent, or the store, says', () => {
    const gtids = '400 transactions'
    expect(course({ instances: from(seen({ stage: 'done', gtids })) }).status.gtids).toBe(gtids)
    const whole = store(run)
    const newest = whole.newest && { ...whole.newest, gtids: 'uuid:1-9' }
    expect(course({ store: { ...whole, newest } }).status.gtids).toBe('uuid:1-9')
    expect(course({ store: whole }).status.gtids).toBeUndefined()
  })

  it('has succeeded where it is whole in the store, whoever saw its end', () => {
    expect(course({ silentMs: givenUpMs, store: store(run) }).status).toMatchObject({
      phase: 'Succeeded',
      size: '2.0 MiB',
      completedAt: '2026-11-26T03:20:00Z',
    })
    expect(course({ store: { ...store(run), answers: false } }).status.phase).toBe('Running')
  })

  it('has succeeded where the store is asked for it and has it, though a newer backup is there', () => {
    const newer = store('20261126T040000Z')
    const stored = { ...(newer.newest ?? expect.fail('no backup')), name: run }
    for (const silentMs of [longestSilenceMs, givenUpMs])
      expect(course({ silentMs, store: newer, stored }).status).toMatchObject({ phase: 'Succeeded', size: '2.0 MiB' })
    expect(course({ silentMs: givenUpMs, store: newer }).status.phase).toBe('Failed')
  })

  it('is looked up in the store once nobody has spoken of it for minutes', () => {
    const isUnheard = (said: Partial<CourseInput>) =>
      isUnspoken({ object, instances: [], silentMs: longestSilenceMs, wallMs: 0, ...said })
    expect([isUnheard({}), isUnheard({ store: store('another') })]).toEqual([true, true])
    expect(isUnheard({ silentMs: longestSilenceMs - 1 })).toBe(false)
    expect(isUnheard({ instances: from(seen({})) })).toBe(false)
    expect(isUnheard({ store: store(run) })).toBe(false)
  })

  it('is verified once somebody has restored it, and stays so', () => {
    const verified = { name: run, verifiedAtMs: Date.UTC(2026, 10, 27), restoreMs: 83_460 }
    const told = verifiedBy(object, { ...store(run), verified })
    expect(told).toEqual({ at: '2026-11-27T00:00:00Z', restoreSeconds: 83.5 })
    const later = { ...object, status: { ...object.status, verified: told } } as MySQLBackup
    expect(verifiedBy(later, store('another'))).toEqual(told)
  })
})
