import { describe, expect, it } from 'vitest'
import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import { atFirst, reduce, speaks, type LoopEvent, type LoopState, type Todo } from './loop-state.ts'

/** What follows from each event in turn, and where the loop is then. */
function after(before: LoopState, ...events: readonly LoopEvent[]) {
  const todo: (readonly Todo[])[] = []
  const state = events.reduce((state, event) => {
    const reduced = reduce(state, event)
    todo.push(reduced.todo)
    return reduced.state
  }, before)
  return { state, todo }
}

const told = (leads: boolean): LoopEvent => ({ event: 'told', leads })
const readFor = (word: number): LoopEvent => ({ event: 'readForWord', word, nowMs: 7 })
const [woken, begun, ended] = [{ event: 'woken' }, { event: 'turnBegan' }, { event: 'turnEnded' }] as const
const away: LoopEvent = { event: 'storeSaid', store: 'no answer' }
const back: LoopEvent = { event: 'storeSaid', store: '' }
const unreadable: LoopEvent = { event: 'unreadable', error: new Error('no record') }
const newer: LoopEvent = { event: 'heardNewer' }
const ledAgain = [told(true), readFor(3)]

const { state: leading } = after(atFirst, told(true), readFor(1), begun, ended)
const { state: deciding } = after(leading, woken, begun)

describe('A manager that is told to lead', () => {
  it('leads once it has read everything, and decides at once', () => {
    expect(after(atFirst, told(true), readFor(1))).toMatchObject({
      state: { leads: true, leadsSinceMs: 7, turn: 'due' },
      todo: [[], ['turn']],
    })
  })

  it.each<[what: string, events: readonly LoopEvent[], leads: boolean]>([
    ['no more before it has read', [told(true), told(false), readFor(1)], false],
    ['again while it reads: the later word counts', [told(true), told(true), readFor(1)], false],
    ['again while it reads, and has read for that', [told(true), told(true), readFor(1), readFor(2)], true],
    ['no more and again: what it read before may be old', [told(true), told(false), told(true), readFor(1)], false],
    ['no more', [told(true), readFor(1), told(false)], false],
    ['the same twice', [told(true), readFor(1), told(true)], true],
  ])('and %s', (_, events, leads) => {
    const { state } = after(atFirst, ...events)
    expect([state.leads, speaks(state)]).toEqual([leads, leads])
  })

  it('keeps since when it leads, and decides, where it is told that once more', () => {
    expect(after(leading, told(true))).toMatchObject({ state: { leadsSinceMs: 7 }, todo: [['turn']] })
  })
})

describe('Turns', () => {
  it.each<[what: string, before: LoopState, events: readonly LoopEvent[], then: unknown]>([
    ['are taken once for all that wakes before they begin', leading, [woken, woken], ['due', [['turn'], []]]],
    ['never overlap: what wakes in the midst of one is for the next', deciding, [woken, woken], ['woken', [[], []]]],
    ['are followed by one for what woke meanwhile', deciding, [woken, ended], ['due', [[], ['turn']]]],
    ['are followed by none where nothing woke', deciding, [ended], ['none', [[]]]],
    ['are not taken by who does not lead', atFirst, [woken], ['none', [[]]]],
    [
      'that are due when leadership goes decide nothing',
      leading,
      [woken, told(false), begun],
      ['none', [['turn'], [], []]],
    ],
    [
      'in the midst of which leadership goes are the last',
      deciding,
      [woken, told(false), ended],
      ['none', [[], [], []]],
    ],
    [
      'are taken again once leadership is back',
      deciding,
      [told(false), ended, ...ledAgain],
      ['due', [[], [], [], ['turn']]],
    ],
    [
      'go on when leadership came back meanwhile',
      deciding,
      [told(false), ...ledAgain, ended],
      ['due', [[], [], [], ['turn']]],
    ],
  ])('%s', (_, before, events, then) => {
    const { state, todo } = after(before, ...events)
    expect([state.turn, todo]).toEqual(then)
  })
})

describe('Trouble with the store', () => {
  it.each<[what: string, before: LoopState, events: readonly LoopEvent[], todo: unknown]>([
    ['wakes as it comes and as it goes', leading, [away, begun, ended, back], [['turn'], [], [], ['turn']]],
    ['wakes not for another reason alone', { ...leading, trouble: { ...leading.trouble, store: 'x' } }, [away], [[]]],
    ['wakes after the turn in which a commit was refused', deciding, [refused('no'), ended], [[], ['turn']]],
    [
      'has the record looked at, where that could not be read and the store is back',
      leading,
      [unreadable, back],
      [['turn'], ['look']],
    ],
  ])('%s', (_, before, events, todo) => {
    expect(after(before, ...events).todo).toEqual(todo)
  })

  it('is said also by a manager that lost its claim, or cannot take it up, and no more by one that was told so', () => {
    const says = (...events: readonly LoopEvent[]) => speaks(after(atFirst, ...events).state)
    expect(says(away, told(false))).toBe(true)
    expect(says(told(true), unreadable)).toBe(true)
    expect(says(told(true), unreadable, told(false))).toBe(false)
    expect(says(unreadable)).toBe(false)
  })

  it('is each kind’s own: a store that answers disproves no record that cannot be read', () => {
    const { state } = after(leading, unreadable, refused('not allowed'), back)
    expect(state.trouble).toMatchObject({ store: '', reading: 'no record', committing: 'not allowed' })
    expect(after(state, { event: 'read' }, { event: 'nothingToCommit' }).state.trouble).toEqual(atFirst.trouble)
    expect(after(state, { event: 'storeTakes' }).state.trouble).toEqual(atFirst.trouble)
  })

  it('is of a commit only while this manager leads', () => {
    expect(after(deciding, told(false), refused('not the leader')).state.trouble).toEqual(atFirst.trouble)
  })

  it.each(['REGENT_STORE_DAMAGED', 'REGENT_NEWER_VERSION'] as const)('is damage where it is %s', (code) => {
    const error = new RegentError(code, say`shop-record is no record`)
    expect(after(leading, { event: 'unreadable', error }).state.trouble.isDamaged).toBe(true)
  })
})

describe('A newer record that an agent was told of', () => {
  it.each<[who: string, before: LoopState, todo: readonly Todo[]]>([
    ['is looked up at once by a leader', leading, ['look']],
    ['is looked up a while later by who follows: a leader’s commit is not to wait', atFirst, ['look later']],
    ['waits for the turn that may have written it', deciding, []],
  ])('%s', (_, before, todo) => {
    expect(after(before, newer).todo).toEqual([todo])
  })
})

function refused(why: string): LoopEvent {
  return { event: 'refused', error: new Error(why) }
}
