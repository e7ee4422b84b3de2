import { describe, expect, it } from 'vitest'
import type { ClientReply } from './messages.ts'
import { hasPassed, isWithout } from './see-through.ts'
import { aConfiguration, aMember, groupId } from './testing.ts'

const at = (message: bigint) => ({ group: groupId, message, node: 0 })
const state = (delivered: bigint, newest = delivered): ClientReply => ({
  kind: 'reply',
  answer: 'ok',
  newest: at(newest),
  delivered: at(delivered),
  eventHorizon: 10,
})

describe('A new configuration begins', () => {
  it.each([
    [50n, 60n, 60n, false],
    [50n, 61n, 61n, true],
    [50n, 61n, 62n, false],
    [50n, 40n, 40n, false],
    [0n, 2n ** 60n, 2n ** 60n, true],
  ])('after %i at %i, with %i as the newest: %s', (before, delivered, newest, expected) => {
    expect(hasPassed(state(before), state(delivered, newest))).toBe(expected)
  })
})

describe('A snapshot is without a member', () => {
  const [victim, other] = [aMember(1), aMember(2)] as const
  const snapshot = (...configurations: readonly ReturnType<typeof aConfiguration>[]) =>
    ({ kind: 'snapshot', logStart: at(0n), logEnd: at(0n), configurations }) as const
  const before = aConfiguration([victim, other], { start: at(10n) })
  const after = aConfiguration([other], { start: at(60n) })

  it('where the newest configuration has begun and has it not', () => {
    expect(isWithout(victim, snapshot(after, before), at(60n))).toBe(true)
    expect(isWithout(victim, snapshot(before, after), at(61n))).toBe(true)
  })

  it('but not before that begins, nor where an older one has it not, nor where there is none', () => {
    expect(isWithout(victim, snapshot(before, after), at(59n))).toBe(false)
    const back = aConfiguration([other, victim], { start: at(70n) })
    expect(isWithout(victim, snapshot(before, after, back), at(71n))).toBe(false)
    expect(isWithout(victim, snapshot(), at(71n))).toBe(false)
  })

  it('where only another incarnation is in it', () => {
    const back = aConfiguration([{ ...victim, incarnation: '2' }, other], { start: at(60n) })
    expect(isWithout(victim, snapshot(back), at(60n))).toBe(true)
  })
})
