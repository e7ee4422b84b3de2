import { describe, expect, it } from 'vitest'
import { gtids, uuidOf, type ViewOverrides } from '#topology/testing.ts'
import { decide } from '../decide.ts'
import { errantKind } from '../judge/data/errant.ts'
import { liveView } from '../judge/situation.ts'
import { aSituation, ordersOf, shop2 } from '../testing.ts'

const own = gtids('shop-0', 100)
const flushed = gtids('shop-2', 3)
/** shop-0 was asked, and lacks these of shop-2. */
const asked = (lacks: string, more: ViewOverrides = {}): ViewOverrides => ({
  errantTold: '',
  compared: { question: 1, lacks: { 'shop-2': { as: `${shop2} ${uuidOf('shop-2')}`, gtids: lacks } } },
  ...more,
})
const replica = (errant: string, more: ViewOverrides = {}): ViewOverrides => ({
  server: { executed: `${own},${errant}` },
  errantTold: errant,
  ...more,
})
const judged = (of: string, changesNothing: boolean) => ({ errantJudged: { of, changesNothing } })
const situation = (view: ViewOverrides, primary = asked(flushed)) =>
  aSituation({ views: { 'shop-0': primary, 'shop-2': view } })

describe('Errant transactions are', () => {
  const many = gtids('shop-2', 1_001)
  const abroad = gtids('shop-9', 1)
  const cases: Readonly<Record<string, readonly [kind: string, view: ViewOverrides, primary?: ViewOverrides]>> = {
    'none where the primary has them': ['none', replica(flushed), asked('')],
    'unjudged before its agent has read the binlogs': ['unjudged', replica(flushed)],
    'unjudged where more have come since': ['unjudged', replica(flushed, judged(gtids('shop-2', 2), true))],
    'harmless where they changed no data': ['harmless', replica(flushed, judged(flushed, true))],
    'harmful where they did': ['harmful', replica(flushed, judged(flushed, false))],
    'harmful where some of them did, whatever came since': [
      'harmful',
      replica(flushed, judged(gtids('shop-2', 2), false)),
    ],
    'harmful where another server issued them: it may hold something else': [
      'harmful',
      replica(abroad, judged(abroad, true)),
      asked(abroad),
    ],
    'harmful where they are too many': ['harmful', replica(many, judged(many, true)), asked(many)],
    'harmful where the agent of the primary is older': [
      'harmful',
      replica(flushed, judged(flushed, true)),
      { compared: asked(flushed).compared ?? { question: 0, lacks: {} } },
    ],
  }
  it.each(Object.entries(cases))('%s', (_, [kind, view, primary]) => {
    const given = situation(view, primary)
    const seen = liveView(given.snapshot, shop2)
    expect(seen && errantKind(given, seen)).toBe(kind)
  })
})

describe('What changed no data', () => {
  it('becomes empty transactions at the primary: the replica stays in the sync set, and nothing is copied', () => {
    const decision = decide(situation(replica(flushed, judged(flushed, true))))
    expect(decision.sentence).toBe(
      `shop-2 has 3 errant transactions that changed no data (FLUSH, ANALYZE or OPTIMIZE: ${flushed}): shop-0 writes empty ones in their place, and nothing is copied`,
    )
    expect(decision.actions).toMatchObject([
      { kind: 'empty', to: 'shop-0', order: { epoch: 1, revision: 1, of: 'shop-2', gtids: flushed } },
    ])
  })

  it('is waited for as long as nobody has read the binlogs: nothing is done to the replica', () => {
    const decision = decide(situation(replica(flushed)))
    expect(ordersOf(decision)).toEqual([])
    expect(decision.actions.filter(({ kind }) => kind === 'commit')).toEqual([])
  })
})
