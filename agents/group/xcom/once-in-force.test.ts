import { expect, it } from 'vitest'
import { realWorld } from '#common/ports/real-world.ts'
import type { XcomLine } from './line.ts'
import { removalTimings, removeDeadMember } from './removal.ts'
import { aConfiguration, aMember, groupId } from './testing.ts'

const victim = aMember(1)
const others = [aMember(2), aMember(3), aMember(4), aMember(5)]
const before = aConfiguration([victim, ...others])
const at = (message: bigint) => ({ group: groupId, message, node: 0 })
const after = aConfiguration(others, { start: at(61n) })

/** A line to a member that carries the removal out as soon as it is asked. */
class PlayedLine implements XcomLine {
  readonly address: string
  readonly isOpen = true
  removals = 0
  delivered = 50n

  constructor(address: string) {
    this.address = address
  }

  async state(): ReturnType<XcomLine['state']> {
    const delivered = at(this.delivered)
    return { kind: 'reply', answer: 'ok', newest: delivered, delivered, eventHorizon: 10 }
  }

  async snapshot(): ReturnType<XcomLine['snapshot']> {
    return { kind: 'snapshot', logStart: at(0n), logEnd: at(61n), configurations: [before, after] }
  }

  async remove(): ReturnType<XcomLine['remove']> {
    this.removals += 1
    this.delivered = 61n
    return 'ok'
  }

  close(): void {}
}

/** One of the others, and how it behaves once the removal is in force at the rest. */
async function removeBy(late: PlayedLine, inForce: PromiseWithResolvers<void>): Promise<void> {
  const lines = [late, ...others.slice(1).map(({ address }) => new PlayedLine(address))]
  const through = { connections: lines, asked: [], open: () => Promise.reject(new Error('no more')) }
  const group = { id: groupId, configuration: before, versions: ['9.7.4'], singleLeader: false }
  const timings = { ...removalTimings, askAgainMs: 0, allMs: 500 }
  const removal = removeDeadMember({ group, victim, through }, realWorld, timings)
  await expect.poll(() => lines.slice(1).map(({ removals }) => removals)).toEqual([1, 1, 1])
  await realWorld.timers.sleep(50)
  inForce.resolve()
  expect(await removal).toMatchObject({ removed: 'accepted' })
}

it('A member that answers only once the removal is in force elsewhere is not asked: another one may be there by then', async () => {
  const inForce = Promise.withResolvers<void>()
  const late = new PlayedLine(others[0]?.address ?? '')
  const state = late.state.bind(late)
  late.state = () => inForce.promise.then(state)
  await removeBy(late, inForce)
  expect(late.removals).toBe(0)
})

it('A member that takes long is not asked again once the removal is in force elsewhere', async () => {
  const inForce = Promise.withResolvers<void>()
  const late = new PlayedLine(others[0]?.address ?? '')
  const state = late.state.bind(late)
  late.state = () => (late.removals === 0 ? state() : inForce.promise.then(state))
  late.remove = async () => ((late.removals += 1), 'ok')
  await removeBy(late, inForce)
  expect(late.removals).toBe(1)
})

it('Nobody is asked by an agent that stood still meanwhile: who was silent may be back', async () => {
  const lines = others.map(({ address }) => new PlayedLine(address))
  const last = lines[2]
  let laterMs = 0
  for (const line of lines) {
    const state = line.state.bind(line)
    line.state = async () => {
      // The others are no majority without this one.
      if (line === last) laterMs = 2 * removalTimings.stateMs + 1
      return state()
    }
  }
  const clock = { ...realWorld.clock, monotonicMs: () => realWorld.clock.monotonicMs() + laterMs }
  const through = { connections: lines, asked: [], open: () => Promise.reject(new Error('no more')) }
  const group = { id: groupId, configuration: before, versions: ['9.7.4'], singleLeader: false }
  const removal = await removeDeadMember({ group, victim, through }, { ...realWorld, clock })
  expect(removal).toMatchObject({ removed: 'refused', reason: 'stoodStill' })
  expect(lines.map(({ removals }) => removals)).toEqual([0, 0, 0, 0])
})
