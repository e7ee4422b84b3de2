import { describe, expect, it } from 'vitest'
import type { BackupsSeen, BackupSeen } from '#topology/snapshot/copies.ts'
import { gtids, type ViewOverrides } from '#topology/testing.ts'
import { decide } from '#failover/decide.ts'
import { aGroupSituation } from '#failover/group/testing-group.ts'
import type { BackupSettings } from '#failover/protocol/backup-settings.ts'
import { backupTaskOf, backupTaskText } from '#failover/protocol/backup-task.ts'
import { aBackup, aSituation, deadServer, lostAgent, type SituationOverrides } from '#failover/testing.ts'

const at = (text: string) => Date.parse(`2026-11-${text}Z`)
/** Thursday, in the morning. */
const nowMs = at('26T08:07:30')
const settings = aBackup({ schedule: '0 3 * * *' })
const told = (given: BackupSettings | undefined) => backupTaskText(backupTaskOf(given))
const seen: BackupsSeen = {
  ...{ whole: 1, leftovers: 0, newest: null, verified: null, answers: true, sentence: '', lookedAgoMs: 30_000 },
  begun: { name: '20261126T030000Z', whole: true },
}
const none: BackupsSeen = { ...seen, whole: 0, begun: null }
const unfinished = (name: string): BackupsSeen => ({ ...seen, begun: { name, whole: false } })
const own = (stage: BackupSeen['stage'], name: string, sentence = '') => ({
  backup: { name, stage, rawBytes: 0, storedBytes: 0, sentence },
})

/** A newest backup that is older than the key. */
const refusedOf = (name: string): BackupsSeen => ({
  ...seen,
  begun: { name, whole: true },
  newest: {
    ...{ name, endedAtMs: at('26T03:05:00'), rawBytes: 1, storedBytes: 1 },
    refused: `backup ${name} is not encrypted, and a key is given`,
  },
})

interface Given extends SituationOverrides {
  readonly backups?: BackupsSeen | undefined
  readonly backup?: BackupSettings
}

function decided({ backups, backup = settings, views = {}, ...given }: Given = {}) {
  const all: Record<string, ViewOverrides> = { 'shop-0': {}, 'shop-1': {}, 'shop-2': {}, ...views }
  const backupTask = told(backup)
  const shown = Object.entries(all).map(([name, view]) => [
    name,
    { backupTask, ...(name === 'shop-0' && backups !== undefined ? { backups } : {}), ...view },
  ])
  const situation = aSituation({
    ...{ wallMs: nowMs, nowMs: 700_000, leadsSinceMs: 699_000, ...given },
    spec: { ...given.spec, backup },
    views: Object.fromEntries(shown) as Record<string, ViewOverrides>,
  })
  const { actions, reasons, revisitMs } = decide(situation)
  const said = actions.flatMap((action) =>
    action.kind === 'say' && action.word === 'backUp' ? [`${action.to} ${action.said.name}`] : [],
  )
  return { said, why: reasons.at(-1) ?? '', revisitMs, actions }
}

const stopped = 'mysqld ended'

describe('A backup is begun', () => {
  it.each<[string, Given, string, string]>([
    [
      'the first one, as soon as the cluster is whole',
      { backups: none },
      'shop-2 20261126T080000Z',
      'the first backup is due',
    ],
    [
      'the first one, of a cluster that does not become whole, after a while',
      { backups: none, views: { 'shop-1': lostAgent }, leadsSinceMs: 100_000 },
      'shop-2 20261126T080000Z',
      'the first backup is due',
    ],
    [
      'when the schedule says so, by a name that is made of that moment',
      { backups: seen, wallMs: at('27T03:00:00') },
      'shop-2 20261127T030000Z',
      'a backup is due since 2026-11-27T03:00:00Z: shop-2 is told to make backup 20261127T030000Z',
    ],
    [
      'before its schedule, where only a backup ends a hole in the archive',
      {
        backups: seen,
        views: { 'shop-0': { binlogArchive: { behindMs: 3_000, lacks: gtids('shop-0', 7), hole: 'so', trouble: '' } } },
      },
      'shop-2 20261126T080000Z',
      'a backup is due now, before its schedule, since the archive lacks 7 transactions',
    ],
    [
      'before its schedule, where no restore takes the newest one with the key of the store',
      { backups: refusedOf('20261126T030000Z') },
      'shop-2 20261126T080000Z',
      'a backup is due now, before its schedule, since no restore takes the newest one: backup 20261126T030000Z is not encrypted, and a key is given',
    ],
    [
      'a moment later by the same name',
      { backups: seen, wallMs: at('27T03:09:59') },
      'shop-2 20261127T030000Z',
      'a backup is due since 2026-11-27T03:00:00Z',
    ],
    [
      'once for all runs that were missed, by the name of its own time',
      { backups: seen, wallMs: at('29T12:34:56') },
      'shop-2 20261129T123000Z',
      'a backup is due since 2026-11-27T03:00:00Z',
    ],
    [
      'by the clock of the time zone',
      { backups: seen, wallMs: at('27T02:00:00'), backup: { ...settings, timeZone: 'Europe/Berlin' } },
      'shop-2 20261127T020000Z',
      'a backup is due since 2026-11-27T02:00:00Z',
    ],
    [
      'again ten minutes after one that failed, by another name',
      {
        ...{ backups: seen, wallMs: at('27T03:10:00') },
        views: { 'shop-1': own('failed', '20261127T030000Z', 'the disk is full') },
      },
      'shop-2 20261127T031000Z',
      'a backup is due since backup 20261127T030000Z did not become whole: the disk is full',
    ],
    [
      'again where a run in the store was left without a manifest',
      { backups: unfinished('20261126T030000Z') },
      'shop-2 20261126T080000Z',
      'a backup is due since backup 20261126T030000Z did not become whole',
    ],
    [
      'although an instance that is silent was seen to make one',
      {
        backups: unfinished('20261126T030000Z'),
        views: { 'shop-2': { ...lostAgent, ...own('sends', '20261126T030000Z') } },
      },
      'shop-1 20261126T080000Z',
      'did not become whole',
    ],
    [
      'of the primary where no replica can be copied',
      { backups: seen, wallMs: at('27T03:00:00'), views: { 'shop-1': deadServer, 'shop-2': deadServer } },
      'shop-0 20261127T030000Z',
      'shop-0 is told to make backup 20261127T030000Z, which is the primary, since no replica can be copied',
    ],
  ])('%s', (_, given, said, why) => {
    const found = decided(given)
    expect(found.said).toEqual([said])
    expect(found.why).toContain(why)
  })
})

it('No backup after the other is made where no restore takes the newest one, and the schedule goes on', () => {
  const young = decided({ backups: refusedOf('20261126T080000Z') })
  expect(young.said).toEqual([])
  expect(young.why).toContain('a backup is due at 2026-11-26T09:00:00Z, before its schedule, since no restore takes')
  const backup = { ...settings, schedule: '30 8 * * *' }
  const scheduled = decided({ backups: refusedOf('20261126T080000Z'), backup })
  expect(scheduled.why).toContain('no backup is due: the next one is at 2026-11-26T08:30:00Z')
  // Another one was made meanwhile, which nobody has looked at.
  const made = decided({
    backups: refusedOf('20261126T030000Z'),
    views: { 'shop-2': own('done', '20261126T080000Z') },
  })
  expect(made.why).toContain('no backup is due: the next one is at')
})

it('In mode group a backup is begun in the same way', () => {
  const backupTask = told(settings)
  const views = { 'shop-0': { backupTask, backups: none }, 'shop-1': { backupTask }, 'shop-2': { backupTask } }
  const situation = aGroupSituation({ wallMs: nowMs, spec: { backup: settings }, views })
  expect(decide(situation).actions).toEqual([
    expect.objectContaining({ kind: 'say', to: 'shop-2', word: 'backUp' }) as unknown,
  ])
})

describe('No backup is begun', () => {
  const due = { backups: seen, wallMs: at('27T03:00:00') }
  it.each<[string, Given, string]>([
    ['before one is due', { backups: seen }, 'no backup is due: the next one is at 2026-11-27T03:00:00Z'],
    [
      'where one was begun by hand since then',
      { backups: seen, views: { 'shop-1': own('done', '20261126T075900Z') } },
      'the next one is at 2026-11-27T03:00:00Z',
    ],
    [
      'while one is made',
      { ...due, views: { 'shop-1': own('copies', '20261127T025900Z') } },
      'no other backup is begun: shop-1 makes backup 20261127T025900Z',
    ],
    [
      'within ten minutes after one that failed',
      {
        backups: seen,
        wallMs: at('27T03:09:00'),
        views: { 'shop-1': own('failed', '20261127T030000Z', 'it is full') },
      },
      'backup 20261127T030000Z did not become whole: it is full; the next try is at 2026-11-27T03:10:00Z',
    ],
    [
      'before the store was looked at',
      { ...due, backups: undefined },
      'shop-0 has not looked at the store of backups yet',
    ],
    [
      'while the store does not answer',
      { ...due, backups: { ...seen, answers: false, sentence: 'no route to host' } },
      'no backup is begun: shop-0 cannot see the store of backups: no route to host',
    ],
    [
      'while a look hangs',
      { ...due, backups: { ...seen, lookedAgoMs: 600_000 } },
      'no backup is begun: shop-0 last saw the store of backups 10 min ago',
    ],
    [
      'by agents that are older than this',
      { ...due, views: { 'shop-0': { backupTask: undefined } as unknown as ViewOverrides } },
      'the agent of shop-0 is older than this',
    ],
    [
      'by a schedule that cannot be read',
      { ...due, backup: { ...settings, schedule: 'daily' } },
      'no backup is begun: backup.schedule is "daily": write five fields',
    ],
    [
      'after one of a time that is still to come',
      { backups: unfinished('20270101T000000Z') },
      'backup 20270101T000000Z has a time that is still to come by the clock of this manager',
    ],
    [
      'while the cluster is paused',
      { ...due, notes: { paused: { reason: 'maintenance', wallMs: 0 } } },
      'a backup is due since 2026-11-27T03:00:00Z, and waits: the cluster is paused: maintenance',
    ],
    [
      'while an instance is seeded',
      { ...due, views: { 'shop-1': { seedingProgress: { stage: 'copying', percent: 1, donor: 'shop-0' } } } },
      'and waits: shop-1 is made anew as a copy',
    ],
    [
      'while an order to be seeded is under way',
      { ...due, inFlight: new Map([['shop-1', { order: 'reseed', sinceMs: 0 }]]) },
      'and waits: shop-1 is made anew as a copy',
    ],
    ['while the size changes', { ...due, notes: { instances: 4 } }, 'and waits: the cluster changes its size'],
    [
      'of a new cluster that is not whole yet',
      { backups: none, views: { 'shop-1': lostAgent } },
      'the first backup is due, and waits: shop-1 is not what it is assigned to be yet',
    ],
    [
      'where nobody can be copied',
      {
        ...due,
        notes: {
          downtimes: ['shop-0', 'shop-1', 'shop-2'].map((instance) => ({
            ...{ instance, untilWallMs: 9e15, reason: 'disks', owner: '' },
          })),
        },
      },
      'and waits: no instance can be copied now: shop-0 is in downtime',
    ],
    [
      'during a failover',
      { ...due, views: { 'shop-0': { ...deadServer, backups: seen } } },
      'a backup is due since 2026-11-27T03:00:00Z, and waits: a failover is under way',
    ],
    [
      'while the agent of the primary is silent',
      { ...due, views: { 'shop-0': { ...lostAgent, processNote: stopped } } },
      'no backup is begun: the agent of shop-0 is silent, which looks at the store of backups',
    ],
  ])('%s, and it is said why', (_, given, why) => {
    const found = decided(given)
    expect(found.said).toEqual([])
    expect(found.why).toContain(why)
  })

  it('without a schedule, and nothing is said', () => {
    expect(decided({ backups: none, backup: aBackup() })).toMatchObject({ said: [], why: '' })
  })

  it('before its time, at which the cluster is looked at again', () => {
    expect(decided({ backups: seen, wallMs: at('27T02:59:30') }).revisitMs).toBe(30_000)
    expect(decided({ backups: seen }).revisitMs).toBe(3_600_000)
  })
})

describe('What the spec says of backups', () => {
  const words = (given: Given) =>
    decided(given).actions.flatMap((action) => (action.kind === 'say' && action.word === 'backups' ? [action] : []))

  it('is told to each agent that was told something else', () => {
    const views = { 'shop-1': { backupTask: 'other' }, 'shop-2': { backupTask: '' } }
    const found = words({ views })
    expect(found.map(({ to }) => to)).toEqual(['shop-1', 'shop-2'])
    expect(found[0]?.said.task).toEqual({
      store: settings.store,
      retention: settings.retention,
      archive: settings.archive,
      heartbeat: settings.heartbeat,
    })
  })

  it('is not told to agents that do not know the word, or cannot be heard', () => {
    const unknown = { backupTask: undefined } as unknown as ViewOverrides
    expect(words({ views: { 'shop-1': unknown, 'shop-2': { ...lostAgent, backupTask: 'other' } } })).toEqual([])
  })

  it('is told with the word that the store is used to whoever does not know, once anybody does', () => {
    const shown = (knowsStore: boolean | undefined, backupTask = told(settings)) =>
      ({ knowsStore, backupTask }) as object
    const used = (views: Record<string, object>) => words({ views }).map(({ to, said }) => `${to} ${said.used}`)
    expect(used({ 'shop-0': shown(false), 'shop-1': shown(false), 'shop-2': shown(undefined) })).toEqual([])
    expect(used({ 'shop-0': shown(false), 'shop-1': shown(true), 'shop-2': shown(undefined) })).toEqual(['shop-0 true'])
    expect(used({ 'shop-0': shown(true), 'shop-1': shown(true), 'shop-2': shown(false) })).toEqual(['shop-2 true'])
    const ofAnother = { 'shop-0': shown(false), 'shop-1': shown(true, 'other'), 'shop-2': shown(false) }
    expect(used(ofAnother)).toEqual(['shop-1 undefined'])
    expect(used({ 'shop-0': shown(false), 'shop-1': { ...lostAgent, ...shown(true) } })).toEqual([])
  })

  it('is taken back where the spec says nothing any more', () => {
    const views = { 'shop-1': { backupTask: 'other' } }
    const [action, ...others] = decide(aSituation({ views })).actions
    expect(action).toMatchObject({ kind: 'say', to: 'shop-1', word: 'backups', said: { cluster: 'shop' } })
    expect([action && 'said' in action && 'task' in action.said, others]).toEqual([false, []])
  })
})

describe('A cluster without a store of backups', () => {
  it('is decided on as if there were no backups at all', () => {
    for (const given of [
      {},
      { views: { 'shop-0': deadServer } },
      { views: { 'shop-0': lostAgent, 'shop-1': deadServer } },
      { notes: { paused: { reason: 'maintenance', wallMs: 0 } } },
      { shape: { instances: 4 } },
    ] satisfies SituationOverrides[]) {
      const plain = decide(aSituation(given))
      const names = Array.from({ length: given.shape?.instances ?? 3 }, (_, ordinal) => `shop-${ordinal}`)
      const views: Record<string, ViewOverrides> = given.views ?? {}
      const newer = Object.fromEntries(names.map((name) => [name, { ...views[name], backupTask: '' }]))
      expect(decide(aSituation({ ...given, views: newer }))).toEqual(plain)
      expect(plain.actions.filter(({ kind }) => kind === 'say')).toEqual([])
    }
  })
})
