import { expect, it } from 'vitest'
import { decide } from '#failover/decide.ts'
import { aSituation, shop1 } from '#failover/testing.ts'
import type { Recovery } from '#failover/protocol/notes.ts'
import type { ViewOverrides } from '#topology/testing.ts'
import { RepairBook } from './repair-book.ts'
import { filed } from './repair-codes.ts'

const notice = (id: number, code: string, sentence: string) => ({ id, wallMs: 0, code, sentence })
const errant = notice(1, 'ErrantArchived', 'archived in archive/1: 2 errant transactions')
const seeded = notice(2, 'Seeded', 'seeded from shop-2')
const copying = (stage: string): ViewOverrides => ({
  seedingProgress: { stage, percent: 1, donor: 'shop-2' },
  notices: [errant],
  stored: { seeding: true },
})

/** What is filed as an instance looks like that, one look after the other, a second between. */
function filedFor(...looks: readonly ViewOverrides[]): {
  readonly ended: readonly Recovery[]
  readonly book: RepairBook
} {
  let ids = 0
  const book = new RepairBook({ hex: () => `id-${ids++}`, below: () => 0 } as unknown as ConstructorParameters<
    typeof RepairBook
  >[0])
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
    [`0 ${errant.sentence}`, '0 copying: copying', '1000 copying: swapping', '2000 seeded from shop-2'],
  ])
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

it('Repairs drive no failover out of what is kept', () => {
  const one = (id: string, kind: Recovery['kind']) => ({ id, kind }) as Recovery
  let all: readonly Recovery[] = [one('failover', 'failover')]
  for (let at = 0; at < 100; at += 1) all = filed(one(`${at}`, 'repair'), all)
  expect(all.map(({ id }) => id)).toEqual([...Array.from({ length: 20 }, (_, at) => `${99 - at}`), 'failover'])
})
