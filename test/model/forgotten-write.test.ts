import { expect, it } from 'vitest'
import { Checker } from './checks.ts'
import type { AgentFlaws } from './flaws.ts'
import { killMysqld, type Instance } from './instance.ts'
import { converge } from './model-agent.ts'
import { ModelWorld } from './model-world.ts'

interface Played {
  readonly violation: string | undefined
  readonly forgetful: boolean
  readonly remembersLater: boolean
}

/**
 * Too rare for random schedules: shop-1 alone acknowledges a write, and forgets it. Its agent is heard, and told what
 * the primary holds by what the manager heard of the primary before that write. The primary dies before shop-1 has
 * received the write again.
 * @param forget takes everything that `replica` holds beyond `before` away from it
 */
function playForgottenWrite(
  forget: (world: ModelWorld, replica: Instance) => void,
  flaws: Partial<AgentFlaws> = {},
): Played {
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
  const deliverAll = (): void => {
    for (const letter of world.letters.splice(0)) world.deliver(letter)
  }
  converge(world, replica)
  world.write(primary)
  world.receiveOne(replica)
  world.countAcknowledgements(primary)
  expect(world.acknowledged).toBe(primary.held)
  forget(world, replica)
  expect(replica.disk.forgetful).toBe(true)
  for (let turns = 0; turns < 5; turns += 1) {
    manager.look(replica.name)
    manager.act()
    deliverAll()
    world.asAgent(replica, () => converge(world, replica))
  }
  const { forgetful } = replica.disk
  const remembersLater = !forgetful || remembers(world, replica)
  if (forgetful) return { violation: undefined, forgetful, remembersLater }
  killMysqld(primary)
  primary.agentUp = false
  for (let turns = 0; turns < 8; turns += 1) {
    manager.lookAtAll()
    manager.act()
    deliverAll()
    world.nowMs += 1_500
  }
  return { violation: new Checker(world).violation(), forgetful, remembersLater }
}

/** The primary says more, and the replica receives the write again. */
function remembers(world: ModelWorld, replica: Instance): boolean {
  for (let turns = 0; turns < 10; turns += 1) {
    world.managers[0]?.lookAtAll()
    world.managers[0]?.act()
    for (const letter of world.letters.splice(0)) world.deliver(letter)
    for (const instance of world.instances) world.asAgent(instance, () => converge(world, instance))
    if (turns === 5) world.receiveOne(replica)
    if (turns < 5 && !replica.disk.forgetful) throw new Error('it remembers without the write')
  }
  return !replica.disk.forgetful
}

const ways: readonly (readonly [how: string, forget: (world: ModelWorld, replica: Instance) => void])[] = [
  [
    'its machine crashed',
    (world, replica) => {
      world.crashMachine(replica, replica.held & ~(world.named('shop-2')?.held ?? 0))
      world.startAgent(replica)
      world.asAgent(replica, () => converge(world, replica))
    },
  ],
  [
    'a hand threw it away with more that its agent had seen, but not with this',
    (world, replica) => {
      const seen = world.ledger.add('00000000-0000-0000-0000-00000000000f')
      replica.memory.seenToHold = (replica.memory.seenToHold ?? 0) | seen
      replica.held = world.named('shop-2')?.held ?? 0
      replica.committed = replica.held
      converge(world, replica)
      // It was received again already.
      replica.memory.thrownAway = 0
    },
  ],
]

it.each(ways)(
  'a replica that forgot a write catches up with what the primary said after it had heard of that: %s',
  (_, forget) => {
    expect(playForgottenWrite(forget)).toEqual({ violation: undefined, forgetful: true, remembersLater: true })
  },
)

it.each(ways)('with what the primary had said before, an acknowledged write would be lost: %s', (_, forget) => {
  const { violation, forgetful } = playForgottenWrite(forget, { saysItBefore: true })
  expect(forgetful).toBe(false)
  expect(violation).toMatch(/^S1: acknowledged .* is missing from the primary of the record/)
})
