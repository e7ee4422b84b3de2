import { describe, expect, it } from 'vitest'
import { aRecord } from '#failover/testing.ts'
import { aSnapshot, gtids, uuidOf, type ViewOverrides } from '#topology/testing.ts'
import { HoleWatch } from './hole-watch.ts'

/** The primary has executed so many transactions, of 10 bytes each. */
const primaryAt = (last: number): ViewOverrides => ({
  server: { executed: gtids('shop-0', last), binlogNumber: 1, binlogPosition: last * 10 },
})
const replica = (executed: string, read: number | null, more: ViewOverrides = {}): ViewOverrides => ({
  ...more,
  server: {
    executed,
    received: '',
    channel: { hasRead: read === null ? null : { file: 1, position: read * 10 } },
    ...more.server,
  },
})
const withoutThe41st = (last: number): string => `${uuidOf('shop-0')}:1-40:42-${last}`

/** What is said of shop-1 after one look after the other, at these times. */
function saidAfter(...looks: readonly (readonly [atMs: number, primary: ViewOverrides, replica: ViewOverrides])[]) {
  const watch = new HoleWatch()
  return looks.map(([atMs, leads, follows]) => {
    watch.track(aRecord(), aSnapshot({ 'shop-0': leads, 'shop-1': follows }), atMs)
    return watch.passedOver.get('shop-1')
  })
}

describe('Of a replica', () => {
  it('nothing is known before it has read as far as its primary was seen', () => {
    expect(
      saidAfter(
        [0, primaryAt(100), replica(gtids('shop-0', 90), null)],
        [40, primaryAt(100), replica(gtids('shop-0', 90), 90)],
        [80, primaryAt(100), replica(gtids('shop-0', 100), 100)],
      ),
    ).toEqual([undefined, undefined, ''])
  })

  it('that is always behind the newest look under load it is known by the look that was kept', () => {
    expect(
      saidAfter(
        [0, primaryAt(100), replica(gtids('shop-0', 90), 80)],
        [500, primaryAt(200), replica(gtids('shop-0', 190), 180)],
        [1_000, primaryAt(300), replica(gtids('shop-0', 290), 280)],
      ),
    ).toEqual([undefined, '', ''])
  })

  it('it stays known that it has a hole, also while another look is waited for', () => {
    expect(
      saidAfter(
        [0, primaryAt(100), replica(withoutThe41st(100), 100)],
        [4_000, primaryAt(200), replica(withoutThe41st(190), 190)],
      ),
    ).toEqual([`${uuidOf('shop-0')}:41`, `${uuidOf('shop-0')}:41`])
  })

  it('a hole is gone once it was sent after all, and nothing is known of another server, volume or source', () => {
    const holed = [0, primaryAt(100), replica(withoutThe41st(100), 100)] as const
    const next = (more: ViewOverrides) => [500, primaryAt(200), replica(withoutThe41st(100), 110, more)] as const
    expect(saidAfter(holed, [500, primaryAt(200), replica(gtids('shop-0', 110), null)])[1]).toBe('')
    expect(saidAfter(holed, next({}))[1]).toBe(`${uuidOf('shop-0')}:41`)
    expect(saidAfter(holed, next({ member: 'shop-1@another' }))[1]).toBe(`${uuidOf('shop-0')}:41`)
    const copied = { server: { uuid: uuidOf('shop-9'), channel: { hasRead: null } } }
    expect(saidAfter(holed, next(copied))[1]).toBeUndefined()
    const elsewhere: ViewOverrides = { server: { ...primaryAt(200).server, uuid: uuidOf('shop-5') } }
    expect(saidAfter(holed, [500, elsewhere, replica(withoutThe41st(100), 110)])[1]).toBeUndefined()
  })

  it('nothing new is known while the primary is not heard, or its agent is older', () => {
    const before = [0, primaryAt(100), replica(gtids('shop-0', 100), 100)] as const
    expect(saidAfter(before, [500, { server: null }, replica(gtids('shop-0', 100), 100)])[1]).toBe('')
    expect(saidAfter([0, {}, replica(gtids('shop-0', 100), 100)])).toEqual([undefined])
  })
})
