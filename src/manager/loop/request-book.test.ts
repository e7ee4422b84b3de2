import { say } from '#common/sentence/sentence.ts'
import { describe, expect, it } from 'vitest'
import type { Action } from '#failover/protocol/decision.ts'
import type { Request } from '#failover/judge/situation.ts'
import { fetchKey, type FetchOrder } from '#failover/protocol/order.ts'
import { aRecord, fetchIntent, shop0, shop1, switchoverIntent } from '#failover/testing.ts'
import { memberOf } from '#topology/testing.ts'
import type { Timers } from '#common/ports/ports.ts'
import type { OrderOutcome } from './order-desk.ts'
import { RequestBook } from './request-book.ts'

const switchover = { id: 'one', kind: 'switchover' } as Request
const failover = { id: 'two', kind: 'failover' } as Request
const [from, to] = [
  aRecord({ intent: switchoverIntent({ request: 'one' }) }),
  aRecord({ intent: null, primary: shop1, epoch: 9 }),
]

function aBook(): RequestBook {
  const book = new RequestBook({ timers: {} as never, memberAt: () => undefined, wake: () => undefined })
  book.add(switchover)
  book.add(failover)
  return book
}

const refused = (action: Partial<Action>) => ({ action, error: 'no answer', timedOut: true }) as OrderOutcome

describe('The book of requests', () => {
  it('drops a switchover whose intent a commit ends, and every failover once another primary is committed', () => {
    const book = aBook()
    book.committed({ before: from, action: { kind: 'commit', why: say``, next: { ...from, intent: null } } })
    expect(book.open).toEqual([failover])
    expect(book.asksForFailover).toBe(true)
    book.committed({ before: from, action: { kind: 'commit', why: say``, next: to } })
    expect(book.open).toEqual([])
  })

  it('fails the switchover that a refused step served, by its id, until that switchover is dropped', () => {
    const book = aBook()
    book.orderFailed(refused({ kind: 'assign', to: 'shop-2' }), from)
    expect(book.failed.size).toBe(0)
    book.orderFailed(refused({ kind: 'demote', to: 'shop-0' }), from)
    expect([...book.failed]).toEqual([['one', { why: 'no answer', timedOut: true }]])
    book.drop('one')
    expect(book.failed.size).toBe(0)
  })

  it('leaves out a fetch that failed for a while, or until one of the two was away and is back', () => {
    const later: (() => void)[] = []
    const timers = { after: (_: number, run: () => void) => later.push(run) } as unknown as Timers
    const book = new RequestBook({ timers, memberAt: memberOf, wake: () => undefined })
    const fails = (): void => {
      const order = { member: shop1, from: { instance: 'shop-0' } } as FetchOrder
      book.orderFailed(refused({ kind: 'fetch', order } as never), aRecord({ intent: fetchIntent() }))
    }
    book.lost('shop-0')
    fails()
    expect([...book.failed.keys()]).toEqual([fetchKey(shop1, shop0)])
    book.heard('shop-1')
    book.lost('shop-2')
    book.heard('shop-2')
    expect(book.failed.size).toBe(1)
    book.heard('shop-0')
    expect(book.failed.size).toBe(0)
    fails()
    book.heard('shop-0')
    expect(book.failed.size).toBe(1)
    later.at(-1)?.()
    expect(book.failed.size).toBe(0)
  })
})
