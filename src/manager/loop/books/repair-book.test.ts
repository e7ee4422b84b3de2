import { describe, expect, it } from 'vitest'
import { say, type Heard } from '#common/sentence/sentence.ts'
import { decide } from '#failover/decide.ts'
import { aSituation, shop1 } from '#failover/testing.ts'
import type { Recovery } from '#failover/protocol/notes.ts'
import type { Random } from '#common/ports/ports.ts'
import type { ViewOverrides } from '#topology/testing.ts'
import { RepairBook } from './repair-book.ts'
import { filed } from './repair-codes.ts'

const notice = (id: number, code: string, sentence: string) => ({ id, wallMs: 0, code, sentence })
const errant = notice(1, 'ErrantArchived', '2 errant transactions archived in archive/1')
const seeded = notice(2, 'Seeded', 'this instance was seeded from shop-2')
const copying = (stage: Heard): ViewOverrides => ({
  seedingProgress: { stage, percent: 1, donor: 'shop-2' },
  notices: [errant],
  stored: { seeding: true },
})

let ids = 0
const random: Random = { hex: () => `id-${ids++}`, uuid: () => '' }

/** What is filed as an instance looks like that, one look after the other, a second between. */
function filedFor(...looks: readonly ViewOverrides[]): {
  readonly ended: readonly Recovery[]
  readonly book: RepairBook
} {
  const book = new RepairBook(random)
  const ended = looks.flatMap((view, at) => {
    const situation = aSituation({ views: { 'shop-1': view }, nowMs: 1_100 + at * 1_000, wallMs: at * 1_000 })
    return book.keep(situation, decide(situation))
  })
  return { ended, book }
}

const told = ({ timeline }: Recovery) => timeline.map(({ atMs, what }) => `${atMs} ${what}`)

it('A seeding is a repair: with its cause, what was archived and where, each step, and how it ended', () => {
  const { ended } = filedFor({}, copying('copying'), copying('swapping'), { notices: [errant, seeded] }, {})
  expect(ended).toMatchObject([
    { kind: 'repair', outcome: 'succeeded', from: shop1, to: shop1, fromEpoch: 1, toEpoch: null },
  ])
  expect(ended.map(told)).toEqual([
    [`0 ${errant.sentence}`, '0 copying: copying', '1000 copying: swapping', `2000 ${seeded.sentence}`],
  ])
})

it('A step that only came further is told once', () => {
  const here = (megabytes: number) => copying(say`${megabytes} of 9 MB are here`)
  const { book } = filedFor({}, here(1), here(8))
  expect(book.running.map(told)).toEqual([[`0 ${errant.sentence}`, '0 copying: 1 of 9 MB are here']])
})

it('A mysqld that ended is one too, with how it ended, and is shown while it goes on', () => {
  const dead: ViewOverrides = { process: 'dead', processNote: 'killed by SIGKILL', server: null }
  const closed = { done: false, revision: 1, sentence: 'starting' }
  const { ended, book } = filedFor({}, dead, { mysqldPid: 77, converged: closed })
  expect(ended).toEqual([])
  expect(book.running.map(told)).toEqual([['0 mysqld ended: killed by SIGKILL', '1000 mysqld runs again (pid 77)']])
  expect(book.running).toMatchObject([{ outcome: 'running', analysis: 'mysqld ended: killed by SIGKILL' }])
})

it('What an agent put right is one, and what it only noticed, or said before this manager listened, is none', () => {
  const right = notice(3, 'SettingPutRight', 'sync_binlog was 0 and is 1 again')
  const { ended } = filedFor(
    { notices: [seeded] },
    { notices: [seeded, right] },
    { notices: [seeded, right, notice(4, 'GlobalLock', 'a lock')] },
  )
  expect(ended.map(told)).toEqual([['0 sync_binlog was 0 and is 1 again']])
})

describe('A repair that a manager began and did not end', () => {
  const orphan: Recovery = {
    ...{ id: 'orphan', kind: 'repair', startedWallMs: 1_000, analysis: errant.sentence, sentence: errant.sentence },
    ...{ from: shop1, to: shop1, fromEpoch: 1, toEpoch: null, outcome: 'running' },
    timeline: [{ atMs: 0, what: errant.sentence }],
  }
  const looked = (view: ViewOverrides, of: Partial<Recovery> = {}) => {
    const book = new RepairBook(random)
    const notes = { recoveries: [{ ...orphan, ...of }] }
    const situation = aSituation({ views: { 'shop-1': view }, notes, nowMs: 60_000, wallMs: 31_000 })
    return { book, ended: book.keep(situation, decide(situation)) }
  }

  it('is taken up by the next one while its instance is not right, with its beginning and its steps', () => {
    const { book, ended } = looked(copying('copying'))
    expect(ended).toEqual([])
    expect(book.running).toMatchObject([{ id: 'orphan', startedWallMs: 1_000, analysis: errant.sentence }])
    expect(book.running.map(told)).toEqual([
      [`0 ${errant.sentence}`, '30000 another manager goes on with it', '30000 copying: copying'],
    ])
  })

  it('is ended by the next one where its instance is right again', () => {
    const { book, ended } = looked({})
    expect(ended).toMatchObject([{ id: 'orphan', outcome: 'succeeded', sentence: 'shop-1 is in order again' }])
    expect(book.running).toEqual([])
  })

  it('is given up where its instance is gone, and so is one of this manager', () => {
    const gone = { outcome: 'abandoned', sentence: 'shop-7 is no instance of the cluster any more' }
    expect(looked({}, { from: 'shop-7@volume-7' }).ended).toMatchObject([gone])
    const book = new RepairBook(random)
    const situation = (instances: number) => {
      const whole = aSituation({
        views: { 'shop-2': { seedingProgress: { stage: 'x', percent: 1, donor: 'shop-1' } } },
      })
      const { snapshot } = whole
      return { ...whole, snapshot: { ...snapshot, instances: snapshot.instances.slice(0, instances) } }
    }
    const keep = (instances: number) => book.keep(situation(instances), decide(situation(3)))
    expect(keep(3)).toEqual([])
    expect(keep(2)).toMatchObject([{ outcome: 'abandoned', sentence: gone.sentence.replace('shop-7', 'shop-2') }])
  })

  it('is forgotten where another manager has ended it', () => {
    const book = new RepairBook(random)
    const seen = (recoveries: readonly Recovery[]) =>
      aSituation({ views: { 'shop-1': copying('copying') }, notes: { recoveries } })
    book.keep(seen([]), decide(seen([])))
    const [mine] = book.running
    const ended = seen([{ ...mine!, outcome: 'succeeded' }])
    expect(book.keep(ended, { actions: [], sentence: '' })).toEqual([])
    expect(book.running).toEqual([])
  })
})

it('One that ended takes the place of itself as it began', () => {
  const one = (id: string, outcome: Recovery['outcome']) => ({ id, kind: 'repair', outcome }) as Recovery
  const before = [one('b', 'running'), one('a', 'running')]
  expect(filed(one('a', 'succeeded'), before).map(({ id, outcome }) => `${id} ${outcome}`)).toEqual([
    'a succeeded',
    'b running',
  ])
})

it('Repairs drive no failover out of what is kept', () => {
  const one = (id: string, kind: Recovery['kind']) => ({ id, kind }) as Recovery
  let all: readonly Recovery[] = [one('failover', 'failover')]
  for (let at = 0; at < 100; at += 1) all = filed(one(`${at}`, 'repair'), all)
  expect(all.map(({ id }) => id)).toEqual([...Array.from({ length: 20 }, (_, at) => `${99 - at}`), 'failover'])
})
