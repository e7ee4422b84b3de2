import { expect, it } from 'vitest'
import { Checker } from './checks.ts'
import type { AgentFlaws } from './flaws.ts'
import { killMysqld } from './instance.ts'
import { converge } from './model-agent.ts'
import { ModelWorld } from './model-world.ts'

/**
 * Too rare for random schedules: shop-1 alone acknowledges a write, and a hand throws it away before it is applied. The
 * primary dies, and shop-1 and shop-2 are asked to promise.
 */
function playThrownAway(flaws: Partial<AgentFlaws> = {}): {
  readonly violation: string | undefined
  readonly forgetful: boolean
  readonly epoch: number
} {
  const world = new ModelWorld({
    instances: 3,
    acks: null,
    managers: 1,
    durability: 'strict',
    never: null,
    without: 0,
    flaws,
  })
  const [manager] = world.managers
  const [primary, replica] = world.instances
  if (!manager || !primary || !replica) throw new Error('the world is smaller than asked for')
  replica.delayed = true
  world.write(primary)
  world.receiveOne(replica)
  world.countAcknowledgements(primary)
  expect(world.acknowledged).toBe(primary.held)
  converge(world, replica)
  world.throwAway(replica)
  expect(replica.held).not.toBe(primary.held)
  killMysqld(primary)
  primary.agentUp = false
  for (let turns = 0; turns < 8; turns += 1) {
    manager.lookAtAll()
    manager.act()
    for (const letter of world.letters.splice(0)) world.deliver(letter)
    world.nowMs += 1_500
  }
  return { violation: new Checker(world).violation(), forgetful: replica.disk.forgetful, epoch: world.record.epoch }
}

it('a replica whose received writes were thrown away does not count, and nobody leads without them', () => {
  expect(playThrownAway()).toEqual({ violation: undefined, forgetful: true, epoch: 1 })
})

it('were it silent about that, an acknowledged write would be lost', () => {
  const { violation, forgetful } = playThrownAway({ hidesThrownAway: true })
  expect(forgetful).toBe(false)
  expect(violation).toMatch(/^S1: acknowledged .* is missing from the primary of the record/)
})
