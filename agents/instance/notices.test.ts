import { describe, expect, it } from 'vitest'
import { say } from '#common/sentence/sentence.ts'
import { Notices } from './notices.ts'

function said() {
  const clock = { nowMs: 0 }
  const log: string[] = []
  const notices = new Notices({ monotonicMs: () => clock.nowMs, wallMs: () => clock.nowMs }, (sentence) =>
    log.push(sentence),
  )
  return { clock, log, notices }
}

describe('A notice', () => {
  it('that is the same twice in a row is one within a minute, and said again after it with how often it was left out', () => {
    const { clock, log, notices } = said()
    for (clock.nowMs of [0, 500, 59_999, 60_000, 60_500]) notices.add('GatesSet', say`unlocked again`)
    notices.add('Opened', say`open again`)
    notices.add('GatesSet', say`unlocked again`)
    expect(log).toEqual([
      'unlocked again',
      'unlocked again (2 times more since this was last said)',
      'open again',
      'unlocked again (1 more of GatesSet left out)',
    ])
    expect(notices.list.map(({ id, code, sentence }) => `${id} ${code}: ${String(sentence)}`)).toEqual([
      '1 GatesSet: unlocked again',
      '2 GatesSet: unlocked again',
      '3 Opened: open again',
      '4 GatesSet: unlocked again',
    ])
  })

  it('is said thirty times a minute for each code at most, by turns with others too', () => {
    const { clock, log, notices } = said()
    for (let round = 0; round < 120; round += 1) {
      notices.add('GatesSet', say`unlocked again`)
      notices.add('Opened', say`open again`)
      clock.nowMs += 499
    }
    expect(log).toHaveLength(60)
    clock.nowMs = 60_000
    notices.add('GatesSet', say`unlocked again`)
    expect(log.at(-1)).toBe('unlocked again (90 more of GatesSet left out)')
  })

  it('of another code is said at once while one that has other words each time fills the log', () => {
    const { log, notices } = said()
    for (let id = 0; id < 500; id += 1) notices.add('GlobalLock', say`session ${id} was ended`)
    notices.add('Opened', say`open again`)
    expect(log).toHaveLength(31)
    expect(log.at(-1)).toBe('open again')
  })
})
