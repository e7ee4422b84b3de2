import { describe, expect, it } from 'vitest'
import { backupAsDonor, type BackupsSeen, type SeedingFailure } from '#topology/snapshot/copies.ts'
import { gtids, type ViewOverrides } from '#topology/testing.ts'
import type { Decision } from '#failover/protocol/decision.ts'
import type { ReseedOrder } from '#failover/protocol/order.ts'
import { decide } from '#failover/decide.ts'
import { aBackup, aSituation, deadServer, shop1, type SituationOverrides } from '#failover/testing.ts'
import { originFor } from './seed-origin.ts'
import { liveViews } from '../situation.ts'

const gibibyte = 1_073_741_824
const newest: NonNullable<BackupsSeen['newest']> = {
  name: '20261126T031209Z',
  endedAtMs: 1,
  rawBytes: gibibyte,
  storedBytes: 1,
  gtids: gtids('shop-0', 90),
}
const seen: BackupsSeen = {
  whole: 1,
  leftovers: 0,
  begun: null,
  newest,
  verified: null,
  answers: true,
  sentence: '',
  lookedAgoMs: 1,
}
const ships = { behindMs: 100, hole: '', trouble: '' }
const backup = aBackup()
const myisam: ViewOverrides = { server: { foreignTables: ['app.legacy'] } }
const failed = (donor: string, times: number, agoMs = 500): SeedingFailure => ({ donor, times, error: 'no', agoMs })
const copying = (donor: string): ViewOverrides => ({ seedingProgress: { stage: 'half', percent: 50, donor } })

interface Given extends SituationOverrides {
  readonly primary?: ViewOverrides
  readonly seeded?: ViewOverrides
}

/** `shop-2` began to be seeded; `shop-1`, which follows, and the primary `shop-0` could give, and there is a backup. */
function decisionFor({ primary = {}, seeded, views, record, ...given }: Given): Decision {
  return decide(
    aSituation({
      spec: { backup },
      ...given,
      record: { syncSet: [shop1], acks: 1, acksWanted: 1, ...record },
      views: {
        'shop-0': { backups: seen, binlogArchive: ships, ...primary },
        ...views,
        'shop-2': {
          process: 'dead',
          server: null,
          stored: { seeding: true },
          seedsFromBackup: true,
          ...seeded,
        },
      },
    }),
  )
}

const orderOf = ({ actions }: Decision): ReseedOrder | undefined =>
  actions.flatMap((action) => (action.kind === 'reseed' ? [action.order] : []))[0]

const nobodyGives: Given = { primary: myisam, views: { 'shop-1': myisam } }
const began = 'shop-2 began a seeding that has not ended'
const noCopy = 'shop-0 has tables that are not InnoDB (app.legacy), and a copy would have none of their rows'

describe('an instance is seeded', () => {
  it('from a donor as long as one can give', () => {
    expect(orderOf(decisionFor({}))).toMatchObject({ donor: { instance: 'shop-1' } })
    expect(orderOf(decisionFor({}))).not.toHaveProperty('backup')
  })

  it('from the backup where nobody can give, and it is said why', () => {
    const purged = gtids('shop-0', 80)
    const decision = decisionFor({ ...nobodyGives, primary: { server: { ...myisam.server, purged } } })
    expect(decision.sentence).toBe(
      `${began}; ${noCopy}: it is archived and seeded again from backup 20261126T031209Z and the archive`,
    )
    const { store } = backup
    expect(orderOf(decision)).toMatchObject({ source: { instance: 'shop-0' }, backup: { store, of: 'shop', purged } })
  })

  it('from the backup in the folder of its cluster, where that has another name', () => {
    const spec = { backup: aBackup({ store: { address: '/backups', folder: 'prod.shop' } }) }
    expect(orderOf(decisionFor({ ...nobodyGives, spec }))).toMatchObject({ backup: { of: 'prod.shop' } })
  })

  it('from the backup once each of those who could give has failed three times', () => {
    const after = (...failures: readonly SeedingFailure[]) => decisionFor({ seeded: { seedingFailures: failures } })
    expect(orderOf(after(failed('shop-1', 3, 9_000), failed('shop-0', 3, 9_000)))).toHaveProperty('backup')
    expect(orderOf(after(failed('shop-1', 3, 9_000), failed('shop-0', 2, 9_000)))).not.toHaveProperty('backup')
  })

  it('from a donor again while the backup that failed waits', () => {
    const seedingFailures = [failed('shop-1', 3, 60_000), failed('shop-0', 3, 50_000), failed(backupAsDonor, 2)]
    expect(orderOf(decisionFor({ seeded: { seedingFailures } }))).toMatchObject({ donor: { instance: 'shop-1' } })
    const later = seedingFailures.with(2, failed(backupAsDonor, 2, 2_000))
    expect(orderOf(decisionFor({ seeded: { seedingFailures: later } }))).toHaveProperty('backup')
  })

  it('from the backup again after a pause, where that failed and nobody can give', () => {
    const after = (agoMs: number) =>
      decisionFor({ ...nobodyGives, seeded: { seedingFailures: [failed(backupAsDonor, 2, agoMs)] } })
    expect(after(500)).toMatchObject({ blocked: true, revisitMs: 1_500, actions: [] })
    expect(after(500).sentence).toBe(
      `${began}; 2 copies of a backup failed (no); a backup is tried again 2 s after it failed`,
    )
    expect(orderOf(after(2_000))).toHaveProperty('backup')
  })

  it('to the end from what that was begun with', () => {
    const decision = decisionFor({ seeded: copying(backupAsDonor) })
    expect([decision.sentence, decision.actions]).toEqual(['shop-2 is seeded from a backup (half)', []])
  })

  it('from the backup while an empty one would have much to apply, and waits for that', () => {
    const empty: ViewOverrides = {
      process: 'running',
      server: { executed: '', received: '', channel: null },
      stored: {
        seeding: false,
        assignment: { epoch: 1, revision: 1, role: 'replica', counted: false, fenced: false, source: 'shop-0' },
      },
    }
    const decision = decisionFor({ ...nobodyGives, seeded: empty, spec: { backup, cloneAboveTransactions: 50 } })
    expect(decision.sentence).toContain('shop-2 is empty and lacks 100 transactions')
    expect(orderOf(decision)).toHaveProperty('backup')
  })
})

describe('the only donor, that is the primary,', () => {
  const large = { ...newest, rawBytes: 11 * gibibyte }
  const alone = (more: Partial<typeof newest> = {}, given: Given = {}): Decision =>
    decisionFor({
      ...given,
      primary: { backups: { ...seen, newest: { ...large, ...more } }, ...given.primary },
      views: { 'shop-1': myisam, ...given.views },
    })

  it('is spared a copy of much data by a fresh backup', () => {
    expect(orderOf(alone())).toHaveProperty('backup')
    expect(alone().sentence).toContain(
      'only the primary shop-0 could be copied, and a copy of 11264.0 MiB would slow its writes down: it is',
    )
  })

  const copied: Readonly<Record<string, Decision>> = {
    'where the data are no more than are copied in a minute': alone({ rawBytes: 10 * gibibyte }),
    'where more was written since than an empty one would apply': alone(
      {},
      { spec: { backup, cloneAboveTransactions: 9 } },
    ),
    'where nobody knows how much was written since': alone({ gtids: '2000 transactions' }),
    'where there is no backup': alone({}, { spec: {} }),
  }
  it.each(Object.entries(copied))('is copied %s', (_, decision) => {
    expect(orderOf(decision)).toMatchObject({ donor: { instance: 'shop-0' } })
    expect(orderOf(decision)).not.toHaveProperty('backup')
  })

  it('is copied to the end where that was begun', () => {
    const decision = alone({}, { seeded: copying('shop-0') })
    expect([decision.sentence, decision.actions]).toEqual(['shop-2 is seeded from shop-0 (half)', []])
  })

  it('is copied where its writes wait for a replica', () => {
    const origin = (replica: ViewOverrides) => {
      const situation = aSituation({
        spec: { backup },
        record: { syncSet: [shop1], acks: 1, acksWanted: 1 },
        views: {
          'shop-0': { backups: { ...seen, newest: large }, binlogArchive: ships },
          'shop-1': replica,
          'shop-2': { seedsFromBackup: true },
        },
      })
      const [primary, , view] = liveViews(situation.snapshot)
      return originFor(situation, view!, primary!)
    }
    expect(origin(myisam)).toMatchObject({ donor: null, backup: { name: newest.name } })
    expect(origin({ ...myisam, ...deadServer })).toMatchObject({ donor: { view: { name: 'shop-0' } }, backup: null })
  })
})

describe('nothing is begun, and it is said why,', () => {
  const cases: Readonly<Record<string, readonly [Given, why: string]>> = {
    'where no backups are made': [{ spec: {} }, 'none are made of this cluster'],
    'where its agent is too old': [
      { seeded: { seedsFromBackup: undefined as never } },
      'the agent of shop-2 is older than that, or can open no store',
    ],
    'before the store was looked at': [
      { primary: { backups: undefined as never } },
      'shop-0 has not looked at the store yet',
    ],
    'where the store does not answer': [
      { primary: { backups: { ...seen, answers: false, sentence: 'it is away' } } },
      'the store cannot be looked at (it is away)',
    ],
    'where there is no backup': [
      { primary: { backups: { ...seen, newest: null } } },
      'the store has none that is whole',
    ],
    'where the primary’s binlogs begin behind the backup, and the archive has a hole': [
      { primary: { binlogArchive: { ...ships, hole: 'a hole' }, server: { purged: gtids('shop-0', 92) } } },
      '20261126T031209Z is too old: it lacks 2 transactions that the primary has in no binlog any more, and the archive does not have those either',
    ],
    '… and there is no archive': [
      { primary: { binlogArchive: undefined as never, server: { purged: gtids('shop-0', 91) } } },
      '20261126T031209Z is too old: it lacks 1 transaction that the primary has in no binlog any more, and the archive is not there',
    ],
  }
  it.each(Object.entries(cases))('%s', (_, [given, why]) => {
    const primary = { ...given.primary, server: { ...myisam.server, ...given.primary?.server } }
    const decision = decisionFor({ ...nobodyGives, ...given, primary })
    expect(decision.sentence).toBe(
      `${began}; it is not seeded: ${noCopy}. Convert them first; nor from a backup: ${why}`,
    )
    expect(decision).toMatchObject({ blocked: true, actions: [] })
  })

  it('but where the primary’s binlogs begin behind the backup and the archive has that', () => {
    const primary = { server: { ...myisam.server, purged: gtids('shop-0', 92) } }
    expect(orderOf(decisionFor({ ...nobodyGives, primary }))).toHaveProperty('backup')
  })

  it('but where the archive has a hole that the backup is newer than', () => {
    const primary = {
      binlogArchive: { ...ships, hole: 'a hole' },
      server: { ...myisam.server, purged: gtids('shop-0', 90) },
    }
    expect(orderOf(decisionFor({ ...nobodyGives, primary }))).toHaveProperty('backup')
  })
})
