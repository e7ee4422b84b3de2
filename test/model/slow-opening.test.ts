import { describe, expect, it } from 'vitest'
import { instanceOf } from '../../topology/snapshot/member.ts'
import { Checker } from './checks.ts'
import { goOn } from './events.ts'
import { isHeldBack, killMysqld, type Instance } from './instance.ts'
import { ModelWorld } from './model-world.ts'

/**
 * Too rare for random schedules: a write is received by both replicas and applied by neither; the primary dies, shop-1
 * is elected, and its applier does not get on.
 */
function afterAnElection() {
  const world = new ModelWorld({ instances: 3, acks: null, managers: 1, durability: 'strict', never: null, without: 0 })
  const checker = new Checker(world)
  const [manager] = world.managers
  const [first, second, third] = world.instances
  if (!manager || !first || !second || !third) throw new Error('the world is smaller than asked for')
  second.delayed = third.delayed = true
  world.write(first)
  for (const replica of [second, third]) world.receiveOne(replica)
  world.countAcknowledgements(first)
  killMysqld(first)
  /** Lets all go on until this instance leads, or for a while. */
  const goOnUntil = (leads: Instance): string | undefined => {
    for (let rounds = 0; rounds < 30 && instanceOf(world.record.primary) !== leads.name; rounds += 1) {
      goOn(world, manager, 1)
      const broken = checker.violation()
      if (broken !== undefined) return broken
    }
    return undefined
  }
  expect(goOnUntil(second)).toBeUndefined()
  expect(instanceOf(world.record.primary)).toBe('shop-1')
  expect(second.server.open).toBe(false)
  return { world, manager, second, third, goOnUntil }
}

describe('an elected primary whose applier does not get on', () => {
  it('is waited for while nobody else has applied more, however long', () => {
    const { world, manager, third, goOnUntil } = afterAnElection()
    expect(isHeldBack(third)).toBe(true)
    expect(goOnUntil(third)).toBeUndefined()
    expect(instanceOf(world.record.primary)).toBe('shop-1')
    expect(manager.lastSentence).toContain('shop-1 is elected and applies 1 transaction before it takes writes')
    expect(manager.lastSentence).toContain('shop-2 has 1 transaction to apply itself')
  })

  it('gives way to a member that has applied everything, which opens with all that was acknowledged', () => {
    const { world, manager, third, goOnUntil } = afterAnElection()
    third.committed = third.held
    third.delayed = false
    expect(goOnUntil(third)).toBeUndefined()
    expect(instanceOf(world.record.primary)).toBe('shop-2')
    goOn(world, manager, 10)
    expect(new Checker(world).violation()).toBeUndefined()
    expect(third.server.open).toBe(true)
    expect(world.acknowledged & ~third.committed).toBe(0)
  })
})
