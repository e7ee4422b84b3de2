import { describe, expect, it } from 'vitest'
import { decide } from '#failover/decide.ts'
import { aBackup, aSituation, lostAgent } from '#failover/testing.ts'
import type { BinlogArchiveSeen, HoleClosingSeen } from '#topology/snapshot/binlog-archive.ts'
import { gtids, type ViewOverrides } from '#topology/testing.ts'
import { closeHoles, whyLostToArchive } from './closing-holes.ts'

const backup = aBackup({})
/** Of the hundred transactions of shop-0 the archive lacks five. */
const some = (range: string) => gtids('shop-0', 100).replace(/1-100$/, range)
const five = some('41-45')
const holed: BinlogArchiveSeen = { behindMs: 3_000, lacks: five, hole: 'the archive lacks some', trouble: '' }
const purged = (last: number): ViewOverrides => ({ closesHoles: true, server: { purged: gtids('shop-0', last) } })
const closing = (stage: HoleClosingSeen['stage'], agoMs: number, sentence = ''): ViewOverrides => ({
  ...purged(40),
  closesHole: { stage, gtids: five, sentence, agoMs },
})

function given(views: Readonly<Record<string, ViewOverrides>>, seen: BinlogArchiveSeen = holed) {
  const situation = aSituation({
    spec: { backup },
    views: { 'shop-0': { binlogArchive: seen, ...purged(60) }, 'shop-1': purged(60), 'shop-2': purged(60), ...views },
  })
  const { actions, reason } = closeHoles(situation, backup)
  const told = actions.map(({ to, said }) => `${to} ${said.gtids}`)
  return { situation, told, reason: String(reason), lost: String(whyLostToArchive(situation)) }
}

describe('What the archive lacks', () => {
  it('is shipped by the replica whose binlogs hold most of that', () => {
    const { told, reason, lost } = given({ 'shop-1': purged(42), 'shop-2': purged(40) })
    expect(told).toEqual([`shop-2 ${five}`])
    expect(reason).toBe(
      `the binlogs of shop-2 hold 5 transactions (${five}) that the archive lacks: it is told to ship them`,
    )
    expect(lost).toBe('')
  })

  it('is shipped as far as somebody holds that, and the rest is lost to the archive', () => {
    const { told, lost } = given({ 'shop-1': purged(42) })
    expect(told).toEqual([`shop-1 ${some('43-45')}`])
    expect(lost).toBe(
      `the archive lacks 2 transactions (${some('41-42')}), which no binlog holds any more: only a backup ends that hole`,
    )
  })

  it.each<[string, Readonly<Record<string, ViewOverrides>>, string]>([
    ['nobody holds it', {}, ''],
    ['its holder is not heard', { 'shop-1': { ...purged(40), ...lostAgent } }, ''],
    ['its holder has an older agent', { 'shop-1': { server: { purged: gtids('shop-0', 40) } } }, ''],
    ['its holder ships', { 'shop-1': closing('ships', 5_000) }, `shop-1 ships what the archive lacks (5`],
    ['its holder has just shipped', { 'shop-1': closing('done', 5_000) }, ''],
    [
      'its holder has just failed',
      { 'shop-1': closing('failed', 5_000, 'the store is full') },
      `shop-1 could not ship 5 transactions (${five}) that the archive lacks: the store is full; that is tried again`,
    ],
  ])('is not asked for where %s', (_, views, sentence) => {
    const { told, reason } = given(views)
    expect(told).toEqual([])
    expect(reason).toContain(sentence)
  })

  it('is asked for again after a while, and of another one at once', () => {
    expect(given({ 'shop-1': closing('failed', 61_000) }).told).toEqual([`shop-1 ${five}`])
    expect(given({ 'shop-1': closing('failed', 5_000), 'shop-2': purged(40) }).told).toEqual([`shop-2 ${five}`])
  })

  it('is not asked of a replica that has another history', () => {
    const errant = { ...purged(40), server: { purged: gtids('shop-0', 40), executed: gtids('shop-1', 1) } }
    expect(given({ 'shop-1': errant }).told).toEqual([])
  })

  it('is nothing where the store is away, and no reason for a backup where the newest one holds that', () => {
    const views = { 'shop-1': purged(40) }
    expect(given(views, { ...holed, trouble: 'away' }).told).toEqual([])
    expect(given({}, { ...holed, trouble: 'away' }).lost).toBe('')
    expect(given({}, { ...holed, hole: '' }).lost).toBe('')
    expect(given(views, { ...holed, hole: '' }).told).toEqual([`shop-1 ${five}`])
  })

  it('is among the reasons of what is decided, and a word in its actions', () => {
    const { actions, reasons } = decide(given({ 'shop-1': purged(40) }).situation)
    expect(actions.map((action) => (action.kind === 'say' ? action.word : ''))).toContain('closeHole')
    expect(reasons.join('\n')).toContain('the binlogs of shop-1 hold 5 transactions')
  })
})
