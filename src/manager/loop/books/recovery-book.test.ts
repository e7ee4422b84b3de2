import { command, say } from '#common/sentence/sentence.ts'
import { describe, expect, it } from 'vitest'
import { decide } from '#failover/decide.ts'
import { aSituation, deadServer, shop0, shop1, switchoverIntent, type SituationOverrides } from '#failover/testing.ts'
import { noLoss, type Loss, type Recovery } from '#failover/protocol/notes.ts'
import { gtids } from '#topology/testing.ts'
import { virtualWorld } from '#common/ports/testing-world.ts'
import { RecoveryBook } from './recovery-book.ts'

it('The timeline of a recovery that does not end stays short: its beginning and its end are kept, and how many steps are left out between', () => {
  const { clock, random } = virtualWorld()
  const book = new RecoveryBook(clock, random)
  book.begin({ kind: 'failover', sentence: 'failing over', analysis: () => 'mysqld is dead', record: undefined })
  for (let step = 1; step <= 5_000; step += 1) book.note(`step ${step} ${'x'.repeat(1_000)}`)
  const timeline = book.end('abandoned')?.timeline ?? []
  const steps = timeline.map(({ what }) => what.split(' x')[0])
  expect(steps).toHaveLength(41)
  expect(steps.slice(18, 23)).toEqual(['step 19', 'step 20', '4961 steps left out', 'step 4982', 'step 4983'])
  expect(steps.at(-1)).toBe('ended: abandoned')
  expect(Math.max(...timeline.map(({ what }) => what.length))).toBe(200)
})

it('A short timeline is kept whole', () => {
  const { clock, random } = virtualWorld()
  const book = new RecoveryBook(clock, random)
  book.begin({ kind: 'switchover', sentence: 'switching over', analysis: () => '', record: undefined })
  for (let step = 1; step <= 40; step += 1) book.note(`step ${step}`)
  expect(book.end('succeeded')?.timeline).toHaveLength(41)
})

it.each([
  ['switchover', 'its hooks did not interrupt', 30],
  ['failover', 'was lost before its hooks ran', 60_030],
] as const)('A %s tells how long writes were interrupted, which %s', async (kind, _, outageMs) => {
  const world = virtualWorld()
  const book = new RecoveryBook(world.clock, world.random)
  const { record } = aSituation()
  book.begin({ kind, sentence: 'hooks run', analysis: () => '', record })
  await world.advance(60_000)
  book.committed({ kind: 'commit', next: { ...record, intent: switchoverIntent() }, why: say`hands over` })
  await world.advance(30)
  book.committed({ kind: 'commit', next: { ...record, epoch: 2, primary: shop1 }, why: say`handed over` })
  expect(book.end('succeeded')).toMatchObject({ outageMs })
})

it('An opening that lasts is a step of the recovery, once in an epoch', () => {
  const { clock, random } = virtualWorld()
  const book = new RecoveryBook(clock, random)
  const { record, snapshot } = aSituation({
    views: { 'shop-0': { openingMs: 2_400, server: { received: gtids('shop-0', 103) } } },
  })
  book.begin({ kind: 'failover', sentence: 'failing over', analysis: () => 'mysqld is dead', record })
  book.waits(record, aSituation({ views: { 'shop-0': { openingMs: 300 } } }).snapshot)
  for (let looks = 0; looks < 3; looks += 1) book.waits(record, snapshot)
  book.waits({ ...record, epoch: 2 }, snapshot)
  expect(book.end('succeeded')?.timeline.map(({ what }) => what)).toEqual([
    'waits: shop-0 is elected and applies 3 transactions before it takes writes, for 2 s',
    'ended: succeeded',
  ])
})

it('A group that is formed anew is a failover that succeeded, also with the primary of before', () => {
  const outcomeWith = (forming: boolean): string | undefined => {
    const { clock, random } = virtualWorld()
    const book = new RecoveryBook(clock, random)
    const situation = aSituation()
    const { record } = situation
    book.begin({ kind: 'failover', sentence: 'an outage', analysis: () => '', record: { ...record, epoch: 0 } })
    book.committed({
      kind: 'commit',
      next: { ...record, group: { name: 'the group', forming } },
      why: say`formed anew`,
    })
    return book.keep({ ...decide(situation), flow: null }, situation)?.outcome
  }
  expect([outcomeWith(true), outcomeWith(false)]).toEqual(['succeeded', 'abandoned'])
})

it('A change of the primary tells what was given up: nothing unless the commit says so', () => {
  const lossWith = (loss: Loss | undefined, kind: 'failover' | 'bootstrap' = 'failover', epoch = 2) => {
    const { clock, random } = virtualWorld()
    const book = new RecoveryBook(clock, random)
    const { record } = aSituation()
    book.begin({ kind, sentence: 'failing over', analysis: () => '', record })
    book.committed({ kind: 'commit', next: { ...record, epoch }, why: say`shop-1 leads`, ...(loss && { loss }) })
    book.committed({ kind: 'commit', next: { ...record, epoch }, why: say`shop-1 counts` })
    return book.end('succeeded')?.loss
  }
  expect(lossWith(undefined)).toEqual(noLoss)
  expect(lossWith({ transactions: 7, unheardSeconds: 6 })).toEqual({ transactions: 7, unheardSeconds: 6 })
  expect(lossWith(undefined, 'failover', 1)).toBeUndefined()
  expect(lossWith(undefined, 'bootstrap')).toBeUndefined()
})

it.each([say`${command('resume')} ends it`, say`shop-1 is gone`])(
  'A commit tells whether its sentence names a command: %s',
  (why) => {
    const { clock, random } = virtualWorld()
    const book = new RecoveryBook(clock, random)
    const { record } = aSituation()
    book.begin({ kind: 'switchover', sentence: 'switching over', analysis: () => '', record })
    book.committed({ kind: 'commit', next: record, why })
    expect(book.end('undone')).toMatchObject({ sentence: String(why), namesCommand: why.namesCommand })
  },
)

describe('A recovery that a manager began and did not end', () => {
  const orphan: Recovery = {
    ...{ id: 'orphan', kind: 'failover', startedWallMs: 1_000, analysis: 'mysqld is dead', sentence: 'failing over' },
    ...{ from: shop0, to: null, fromEpoch: 1, toEpoch: null, outcome: 'running' },
    timeline: [{ atMs: 0, what: 'noticed: failing over' }],
  }
  const kept = (given: SituationOverrides, of: Partial<Recovery> = {}) => {
    const { clock, random } = virtualWorld()
    const book = new RecoveryBook(clock, random)
    const situation = aSituation({ wallMs: 31_000, ...given, notes: { recoveries: [{ ...orphan, ...of }] } })
    return { book, ended: book.keep(decide(situation), situation) }
  }

  it('is gone on with by the next one', () => {
    const { book, ended } = kept({ nowMs: 5_000, views: { 'shop-0': deadServer } })
    expect(ended).toBeNull()
    expect(book.current).toMatchObject({ id: 'orphan', startedWallMs: 1_000, sentence: 'failing over' })
    expect(book.end('succeeded')?.timeline).toMatchObject([
      { atMs: 0, what: 'noticed: failing over' },
      { atMs: 30_000, what: 'another manager goes on with it' },
      { atMs: 30_000, what: 'ended: succeeded' },
    ])
  })

  it.each([
    ['failover', 0, { outcome: 'succeeded', to: shop0, toEpoch: 1 }],
    ['failover', 1, { outcome: 'abandoned', to: null, toEpoch: null }],
    ['switchover', 0, { outcome: 'succeeded', to: shop0, toEpoch: 1 }],
    ['switchover', 1, { outcome: 'undone', to: null, toEpoch: null }],
    ['restart', 1, { outcome: 'succeeded', to: null, toEpoch: null }],
  ] as const)('ends where the primary takes writes: a %s of epoch %i has %s', (kind, fromEpoch, end) => {
    const { book, ended } = kept({}, { kind, fromEpoch, from: fromEpoch === 0 ? shop1 : shop0 })
    const sentence = 'shop-0 takes writes in epoch 1; the manager that began this is gone'
    expect(ended).toMatchObject({ id: 'orphan', sentence, ...end })
    expect(book.current).toBeNull()
  })

  it('is shown, and filed, with nothing that belongs to this manager alone', () => {
    const { book } = kept({ nowMs: 5_000, views: { 'shop-0': deadServer } })
    expect(Object.keys(book.current ?? {}).toSorted()).toEqual(Object.keys(orphan).toSorted())
    const [own, situation] = [new RecoveryBook(virtualWorld().clock, virtualWorld().random), aSituation()]
    own.begin({ kind: 'failover', sentence: 'failing over', analysis: () => '', record: situation.record })
    expect(Object.keys(own.current ?? {}).toSorted()).toEqual(Object.keys(orphan).toSorted())
  })

  it('is forgotten where another manager has ended it', () => {
    const { book } = kept({ nowMs: 5_000, views: { 'shop-0': deadServer } })
    const other = aSituation({ notes: { recoveries: [{ ...orphan, outcome: 'succeeded' }] } })
    expect(book.keep(decide(other), other)).toBeNull()
    expect(book.current).toBeNull()
  })
})

describe('A recovery is the answer to', () => {
  const book = () => {
    const { clock, random } = virtualWorld()
    return new RecoveryBook(clock, random)
  }
  const failover = { kind: 'failover', id: 'asked', to: null, acceptLoss: false } as const
  const switchoverTo = (to: string) =>
    ({ kind: 'switchover', id: 'asked', to, deadlineWallMs: 9e15, reason: 'asked for' }) as const
  const dead = (given: SituationOverrides = {}) =>
    aSituation({ nowMs: 5_000, views: { 'shop-0': deadServer }, ...given })

  it('the failover that a person asked for, and not the restart that was under way', () => {
    const recoveries = book()
    recoveries.begin({ kind: 'restart', sentence: 'restarting shop-0', analysis: () => '', record: undefined })
    const situation = dead({ requests: [failover] })
    expect(recoveries.keep(decide(situation), situation)).toMatchObject({ kind: 'restart', requests: [] })
    expect(recoveries.end('succeeded')).toMatchObject({ kind: 'failover', requests: ['asked'] })
  })

  it('nobody, where nobody asked', () => {
    const recoveries = book()
    const situation = dead()
    recoveries.keep(decide(situation), situation)
    expect(recoveries.end('succeeded')).toMatchObject({ kind: 'failover', requests: [] })
  })

  it('the switchover in the record, and to no other one that waits meanwhile', () => {
    const recoveries = book()
    const situation = aSituation({
      requests: [switchoverTo('shop-2')],
      record: { intent: switchoverIntent({ request: 'a drain' }) },
    })
    recoveries.keep(decide(situation), situation)
    expect(recoveries.end('succeeded')).toMatchObject({ kind: 'switchover', requests: ['a drain'] })
  })

  it('the switchover that the decision begins', () => {
    const recoveries = book()
    const situation = aSituation({ requests: [switchoverTo('shop-1')] })
    recoveries.keep(decide(situation), situation)
    expect(recoveries.end('succeeded')).toMatchObject({ kind: 'switchover', requests: ['asked'] })
  })
})
