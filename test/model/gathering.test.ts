import { describe, expect, it } from 'vitest'
import { Checker } from './checks.ts'
import type { AgentFlaws } from './flaws.ts'
import { killMysqld } from './instance.ts'
import { converge } from './model-agent.ts'
import type { ModelManager } from './model-manager.ts'
import { ModelWorld } from './model-world.ts'

/**
 * Too rare for random schedules: a switchover in which shop-2 was gathered by shop-1, which leads now. shop-2 has not
 * heard of the new epoch, and has promised it with its receiver running.
 */
function switchOverGathering(flaws: Partial<AgentFlaws>) {
  const world = new ModelWorld({
    instances: 3,
    acks: null,
    managers: 2,
    durability: 'strict',
    never: null,
    without: 0,
    flaws,
  })
  const [first, second] = world.managers
  const [old, candidate, gathered] = world.instances
  if (!first || !second || !old || !candidate || !gathered) throw new Error('the world is smaller than asked for')
  const play = (manager: ModelManager, isLate: (to: string) => boolean = () => false): void => {
    for (const instance of world.instances) world.asAgent(instance, () => converge(world, instance))
    for (let again = true; again;) again = world.instances.map((replica) => world.receiveOne(replica)).includes(true)
    for (const instance of world.instances) world.countAcknowledgements(instance)
    manager.lookAtAll()
    manager.act()
    for (const letter of world.letters.splice(0)) if (!isLate(letter.to)) world.deliver(letter)
    world.nowMs += 100
  }
  first.requests = [
    { kind: 'switchover', id: 'request-1', to: 'shop-1', deadlineWallMs: world.nowMs + 10_000, reason: 'asked for' },
  ]
  for (let turns = 0; turns < 20 && world.record.epoch === 1; turns += 1) play(first)
  expect(gathered.memory.receiverKept).toBe(true)
  for (let turns = 0; turns < 3; turns += 1) play(first, (to) => to === 'shop-2')
  const failOver = (): void => {
    for (let turns = 0; turns < 40 && world.record.epoch < 3; turns += 1) play(second)
    expect(world.record.epoch).toBe(3)
  }
  const violation = (): string | undefined => new Checker(world).violation()
  return { world, second, old, candidate, gathered, play, failOver, violation }
}

/** A person has a manager fail over that does not reach shop-1, which goes on taking writes. */
function playPromiseOfAnotherManager(flaws: Partial<AgentFlaws> = {}): string | undefined {
  const { world, second, candidate, gathered, play, failOver, violation } = switchOverGathering(flaws)
  second.cutFrom.add('shop-1')
  second.requests = [{ kind: 'failover', id: 'request-2', to: null, acceptLoss: false }]
  for (let turns = 0; turns < 5 && gathered.disk.promise < 3; turns += 1) play(second)
  second.lookAtAll()
  world.write(candidate)
  world.receiveOne(gathered)
  world.countAcknowledgements(candidate)
  second.act()
  failOver()
  return violation()
}

/** shop-2 acknowledges a write, its machine loses power, and the new primary dies. */
function playPowerCut(flaws: Partial<AgentFlaws> = {}): string | undefined {
  const { world, second, old, candidate, gathered, failOver, violation, play } = switchOverGathering(flaws)
  old.isolated = true
  const write = -1 << world.ledger.size
  world.write(candidate)
  world.receiveOne(gathered)
  world.countAcknowledgements(candidate)
  expect(world.acknowledged & write).not.toBe(0)
  world.crashMachine(gathered, write)
  // Whatever its disk says: its relay log grew after it was synced.
  gathered.held &= ~write
  gathered.committed &= ~write
  killMysqld(candidate)
  world.killAgent(candidate)
  world.startAgent(gathered)
  old.isolated = false
  if (flaws.callsKeptOrderly === true) failOver()
  else for (let turns = 0; turns < 40; turns += 1) play(second)
  return violation()
}

describe('a gathered member', () => {
  it('acknowledges nothing more to its candidate once it promised at a failover', () => {
    expect(playPromiseOfAnotherManager()).toBeUndefined()
  })

  it('would lose a write if its receiver went on then', () => {
    expect(playPromiseOfAnotherManager({ keepsReceiver: true })).toMatch(/^S[123]: /)
  })

  it('is forgetful after a power cut', () => {
    expect(playPowerCut()).toBeUndefined()
  })

  it('would lose a write if its promise counted as an orderly stop', () => {
    expect(playPowerCut({ callsKeptOrderly: true })).toMatch(/^S[123]: /)
  })
})
