import { expect, it } from 'vitest'
import { Checker } from './checks.ts'
import type { AgentFlaws } from './flaws.ts'
import { killMysqld } from './instance.ts'
import { converge } from './model-agent.ts'
import { ModelWorld } from './model-world.ts'

/**
 * Too rare for random schedules: shop-1 is told what the primary holds, and that order arrives once more later.
 * Meanwhile shop-1 alone acknowledges a write, and its machine crashes with it. The order arrives, and the primary dies
 * before shop-1 has received the write again.
 */
function playLateAssignment(flaws: Partial<AgentFlaws> = {}): {
  violation: string | undefined
  forgetful: boolean
  epoch: number
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
  const turn = (): void => {
    manager.lookAtAll()
    manager.act()
  }
  const deliverAll = (): void => {
    for (const letter of world.letters.splice(0)) world.deliver(letter)
  }
  const crash = (lost: number): void => {
    world.crashMachine(replica, lost)
    world.startAgent(replica)
    world.asAgent(replica, () => converge(world, replica))
  }
  crash(0)
  let late = world.letters[0]
  const isWhole = (): boolean =>
    !replica.disk.forgetful &&
    world.record.syncSet.length === 2 &&
    world.record.leaving.length === 0 &&
    replica.server.channel?.semiSync === true
  for (let turns = 0; turns < 30 && !isWhole(); turns += 1) {
    turn()
    late = world.letters.find(({ to, sent }) => to === replica.name && sent.kind === 'assign') ?? late
    deliverAll()
    for (const instance of world.instances) world.asAgent(instance, () => converge(world, instance))
  }
  if (late === undefined || !isWhole()) throw new Error('shop-1 was not told again')
  world.write(primary)
  world.receiveOne(replica)
  world.countAcknowledgements(primary)
  expect(world.acknowledged).toBe(primary.held)
  crash(primary.held & ~(world.named('shop-2')?.held ?? 0))
  expect(replica.disk.forgetful).toBe(true)
  world.deliver(late)
  const { forgetful } = replica.disk
  killMysqld(primary)
  primary.agentUp = false
  for (let turns = 0; turns < 8; turns += 1) {
    turn()
    deliverAll()
    world.nowMs += 1_500
  }
  return { violation: new Checker(world).violation(), forgetful, epoch: world.record.epoch }
}

it('an assignment from before a crash, that arrives after it, lets nobody remember, and nobody leads without the write that was forgotten', () => {
  expect(playLateAssignment()).toEqual({ violation: undefined, forgetful: true, epoch: 1 })
})

it('assignments are bound to the start of the agent, and what they say of the primary to what was forgotten: with neither an acknowledged write is lost', () => {
  expect(playLateAssignment({ obeysForEarlierRuns: true })).toMatchObject({ violation: undefined, forgetful: true })
  expect(playLateAssignment({ catchesUpWithAnything: true })).toMatchObject({ violation: undefined, forgetful: true })
  const { violation, forgetful } = playLateAssignment({ obeysForEarlierRuns: true, catchesUpWithAnything: true })
  expect(forgetful).toBe(false)
  expect(violation).toMatch(/^S1: acknowledged .* is missing from the primary of the record/)
})
