import { expect, it } from 'vitest'
import { outsideGroup } from '#topology/testing-group.ts'
import { decide } from '../decide.ts'
import { committed, promised } from '../testing.ts'
import { aGroupSituation } from './testing-group.ts'

const nobodyIn = { 'shop-0': outsideGroup(), 'shop-1': outsideGroup(), 'shop-2': outsideGroup() }
const names = [committedName(false), committedName(true)]

function committedName(isLoss: boolean): string | undefined {
  const requests = isLoss ? [{ kind: 'failover', id: 'f', to: null, acceptLoss: true } as const] : []
  const views = { 'shop-0': promised(), 'shop-1': promised(), 'shop-2': isLoss ? { reachable: false } : promised() }
  return committed(decide(aGroupSituation({ sees: nobodyIn, views, requests, nowMs: 10_000 }))).group?.name
}

it('a group that is formed anew has the name that it had: what all hold goes on in it', () => {
  expect(names[0]).toBe(aGroupSituation().record.group?.name)
})

it('a group that is formed without what somebody may hold has another name: else its next transactions would be taken for those given up', () => {
  expect(names[1]).not.toBe(names[0])
  expect(names[1]).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/)
})
