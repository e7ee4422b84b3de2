import { beforeEach, describe, expect, it } from 'vitest'
import { virtualWorld, type VirtualWorld } from '#common/ports/testing-world.ts'
import type { XcomLine } from './line.ts'
import { GroupMembership, membershipTimings } from './member-connections.ts'
import type { ClientReply } from './messages.ts'
import { aConfiguration, aMember, groupId } from './testing.ts'

const { beatMs } = membershipTimings
const member = aMember(1)
const at = { group: groupId, message: 50n, node: 0 }
const reply: ClientReply = { kind: 'reply', answer: 'ok', newest: at, delivered: at, eventHorizon: 10 }

let world: VirtualWorld
/** So long this agent stood still: its clock went on, and none of its timers ran. */
let stoodStillMs: number
let answers: boolean
let membership: GroupMembership

function line(address: string): XcomLine {
  return {
    address,
    isOpen: true,
    state: () => (answers ? Promise.resolve(reply) : new Promise(() => undefined)),
    snapshot: async () => ({ kind: 'snapshot', logStart: at, logEnd: at, configurations: [aConfiguration([member])] }),
    remove: async () => 'ok',
    close: () => undefined,
  }
}

beforeEach(async () => {
  world = virtualWorld()
  stoodStillMs = 0
  answers = true
  const clock = { ...world.clock, monotonicMs: () => world.clock.monotonicMs() + stoodStillMs }
  membership = new GroupMembership({ open: async (address) => line(address), clock, timers: world.timers })
  await membership.refresh([member.address], { versions: ['9.7.4'], singleLeader: false })
  await world.advance(10 * beatMs)
})

const silentMs = () => membership.silence.get(member.address)

describe('The silence of a member', () => {
  it('is the time since the oldest question that has no answer', async () => {
    expect(silentMs()).toBe(0)
    answers = false
    await world.advance(10 * beatMs)
    expect(silentMs()).toBeGreaterThanOrEqual(9 * beatMs)
  })

  it('does not count while this agent stood still: neither before its next question nor after', async () => {
    answers = false
    await world.advance(beatMs)
    stoodStillMs = 20_000
    expect(silentMs()).toBe(0)
    await world.advance(2 * beatMs)
    expect(silentMs()).toBeLessThanOrEqual(2 * beatMs)
  })
})
