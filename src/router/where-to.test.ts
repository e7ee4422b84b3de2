import { describe, expect, it } from 'vitest'
import type { AgentWord } from './agent-word.ts'
import { isOfOthers, whereTo, type Known, type KnownInstance } from './where-to.ts'

const settings = { reads: { maxLagMs: 1_000, fallback: 'none' } } as const

const replica: AgentWord = {
  epoch: 3,
  role: 'replica',
  promise: 3,
  closed: false,
  seeding: false,
  server: 'answers',
  readOnly: true,
  offline: false,
  follows: true,
  isWhole: true,
  applyLagMs: 0,
  lagMs: 0,
  appliedUpToMs: undefined,
  heartbeat: undefined,
  group: null,
}
const primary: AgentWord = { ...replica, role: 'primary', readOnly: false, follows: false }

function instances(...words: readonly (AgentWord | null)[]): readonly KnownInstance[] {
  return words.map((word, at) => ({ name: `shop-${at}`, host: `10.0.0.${at}`, port: 3306, word, isGone: false }))
}

type Given = Omit<Known, 'highest'> & Partial<Known>

function led(known: Given): readonly [string | null, string | null, string] {
  const { write, keepSessionsOf, sentence } = whereTo({ highest: 0, ...known }, settings)
  return [write?.name ?? null, keepSessionsOf, String(sentence)]
}

const record = { epoch: 3, primary: 'shop-0' }
/** The primary of epoch 3 was passed over while it was frozen, and says what it said before. */
const old = { ...primary }
const next: AgentWord = { ...primary, epoch: 4, promise: 4 }
const promised: AgentWord = { ...replica, promise: 4 }

describe('writes', () => {
  it.each<readonly [string, Given, string | null, string | null, RegExp]>([
    [
      'go to the primary of the record',
      { instances: instances(primary, replica, replica), record },
      'shop-0',
      'shop-0',
      /primary of epoch 3 by the manager$/,
    ],
    [
      'go there also when only its own agent is heard',
      { instances: instances(primary, null, null), record },
      'shop-0',
      'shop-0',
      /by the manager/,
    ],
    [
      'follow a majority of agents without a manager',
      { instances: instances(primary, replica, null), record: null },
      'shop-0',
      'shop-0',
      /by 2 agents$/,
    ],
    [
      'wait with a minority and without a manager',
      { instances: instances(primary, null, null), record: null },
      null,
      null,
      /no manager answers, and of 3 agents 1 are heard/,
    ],
    [
      'follow the higher epoch of agents over the record of a manager that is behind',
      { instances: instances(old, next, promised), record },
      'shop-1',
      'shop-1',
      /shop-1 is the primary of epoch 4 by 2 agents/,
    ],
    [
      'of two that disagree go to the higher epoch',
      { instances: instances(old, next, promised), record: null },
      'shop-1',
      'shop-1',
      /epoch 4/,
    ],
    [
      'stay where the record says while a higher epoch has no majority',
      { instances: instances(primary, next, replica), record },
      'shop-0',
      'shop-0',
      /epoch 3/,
    ],
    [
      'go to nobody whom the manager does not name when no majority confirms',
      { instances: instances(primary, next, replica), record: null },
      null,
      null,
      /no majority/,
    ],
    [
      'wait for the agent of the new primary, and leave the old one',
      { instances: instances(old, promised, promised), record: { epoch: 4, primary: 'shop-1' } },
      null,
      '',
      /does not confirm/,
    ],
    [
      'leave a primary whose agent promised a newer epoch',
      { instances: instances({ ...primary, promise: 4 }, replica, replica), record },
      null,
      '',
      /promised epoch 4/,
    ],
    [
      'without a manager leave a primary whom a majority renounced',
      { instances: instances(primary, promised, promised), record: null },
      null,
      null,
      /no majority/,
    ],
    [
      'leave a server that is dead',
      { instances: instances({ ...primary, server: 'gone' }, replica, replica), record },
      null,
      '',
      /does not run/,
    ],
    [
      'leave a server that is read-only',
      { instances: instances({ ...primary, readOnly: true }, replica, replica), record },
      null,
      '',
      /takes no writes/,
    ],
    [
      'leave a server that refuses clients',
      { instances: instances({ ...primary, offline: true }, replica, replica), record },
      null,
      '',
      /takes no writes/,
    ],
    [
      'leave a primary that is fenced',
      { instances: instances({ ...primary, closed: true }, replica, replica), record },
      null,
      '',
      /takes no writes/,
    ],
    [
      'wait at a server that is silent, whose sessions stay',
      { instances: instances({ ...primary, server: 'unsure' }, replica, replica), record },
      null,
      'shop-0',
      /does not answer/,
    ],
    [
      'wait for an agent that is not heard, and the sessions stay',
      { instances: instances(null, replica, replica), record },
      null,
      'shop-0',
      /is not heard/,
    ],
    [
      'wait where the primary is no instance any more',
      { instances: instances(replica, replica), record: { epoch: 3, primary: 'shop-2' } },
      null,
      '',
      /not there any more/,
    ],
    [
      'wait where a manager with an old record and the old primary are all that is reached',
      { instances: instances(old, null, null), record, highest: 4 },
      null,
      null,
      /shop-0 is the primary of epoch 3 by the manager, and this router knows of epoch 4 already$/,
    ],
    [
      'wait where a majority that missed a failover confirms the old primary',
      { instances: instances(old, replica, null), record: null, highest: 4 },
      null,
      null,
      /by 2 agents, and this router knows of epoch 4 already$/,
    ],
    [
      'go on in the highest epoch that was known',
      { instances: instances(primary, replica, replica), record, highest: 3 },
      'shop-0',
      'shop-0',
      /by the manager$/,
    ],
    [
      'wait before the first primary',
      { instances: instances(null, null, null), record: null },
      null,
      null,
      /0 are heard/,
    ],
  ])('%s', (_, known, ...expected) => {
    const [write, kept, sentence] = expected
    expect(led(known)).toEqual([write, kept, expect.stringMatching(sentence)])
  })

  it('in a group follow the view of a majority of the members, whatever the record says', () => {
    const member = (uuid: string, of: string | null, word: AgentWord): AgentWord => ({
      ...word,
      group: { uuid, primary: of },
    })
    const elected = member('b', 'b', { ...replica, readOnly: false })
    const known = (...words: readonly AgentWord[]) => led({ instances: instances(...words), record })
    const gone = { ...primary, server: 'gone' } as const
    expect(known(gone, elected, member('c', 'b', replica))[0]).toBe('shop-1')
    // One that lost its majority still calls itself primary.
    expect(known(gone, elected, member('c', null, replica))[0]).toBeNull()
    expect(known(member('a', 'a', primary), elected, member('c', 'b', replica))[0]).toBe('shop-1')
    const view = { instances: instances(gone, elected, member('c', 'b', replica)), record, highest: 9 }
    expect(led(view)[0], 'the group knows better than any record').toBe('shop-1')
    expect(whereTo(view, settings).epoch, 'and has no epoch to remember').toBe(0)
  })

  it('say by which epoch they are led, also where they wait', () => {
    const epochOf = (known: Given) => whereTo({ highest: 0, ...known }, settings).epoch
    expect(epochOf({ instances: instances(old, null, null), record: { epoch: 4, primary: 'shop-1' } })).toBe(4)
    expect(epochOf({ instances: instances(old, next, promised), record })).toBe(4)
    expect(epochOf({ instances: instances(null, null), record: null })).toBe(0)
  })

  it('an epoch that none of all agents promised is not of their volumes', () => {
    expect(isOfOthers(4, instances(primary, replica))).toBe(true)
    expect(isOfOthers(3, instances(primary, replica))).toBe(false)
    expect(isOfOthers(4, instances(primary, promised)), 'one is enough').toBe(false)
    expect(isOfOthers(4, instances(primary, null)), 'that one may know better').toBe(false)
    expect(isOfOthers(4, [])).toBe(false)
  })
})

describe('reads', () => {
  const readsOf = (
    second: AgentWord | null,
    fallback: 'primary' | 'none' = 'none',
    first: AgentWord | null = primary,
  ) =>
    whereTo(
      { instances: instances(first, second), record, highest: 0 },
      { reads: { maxLagMs: 1_000, fallback } },
    ).reads.map(({ state, weight }) => (state === 'open' ? weight : state))

  it.each<readonly [string, AgentWord | null, number | 'kept' | 'shut']>([
    ['go to a replica', replica, 100],
    ['go less to one that is half as late as may be', { ...replica, lagMs: 800 }, 50],
    ['go to no replica that is late, whose sessions stay', { ...replica, lagMs: 1_001 }, 'kept'],
    ['go to no replica that does not follow, whose sessions stay', { ...replica, follows: false }, 'kept'],
    ['go to nobody who is not heard, and the sessions stay', null, 'kept'],
    ['end at one that is seeded', { ...replica, seeding: true }, 'shut'],
    ['end at one that is fenced', { ...replica, closed: true }, 'shut'],
    ['end at one that refuses clients', { ...replica, offline: true }, 'shut'],
    ['end at one that is dead', { ...replica, server: 'gone' }, 'shut'],
    ['end at one that was told nothing', { ...replica, role: null }, 'shut'],
  ])('%s', (_, word, state) => {
    expect(readsOf(word)).toEqual(['kept', state])
  })

  it('go to the primary only where that is wanted and nobody else is left', () => {
    expect(readsOf(replica, 'primary')).toEqual(['kept', 100])
    expect(readsOf({ ...replica, lagMs: 2_000 }, 'primary')).toEqual([100, 'kept'])
  })

  it('count what the heartbeat of the primary shows', () => {
    const beating = { ...primary, heartbeat: { atMs: 50_000, everyMs: 100 } }
    expect(readsOf({ ...replica, appliedUpToMs: 49_000 - 500 }, 'none', beating)[1]).toBe('kept')
    expect(readsOf({ ...replica, appliedUpToMs: 49_900 }, 'none', beating)[1]).toBe(100)
  })

  it('go on at replicas that do not follow while there is no primary: nothing newer was acknowledged', () => {
    expect(readsOf({ ...replica, follows: false }, 'none', { ...primary, server: 'gone' })).toEqual(['shut', 100])
  })

  it.each([
    ['is dead', { ...primary, server: 'gone' } as const],
    ['does not answer', { ...primary, server: 'unsure' } as const],
    ['has an agent that is not heard', null],
  ])('go to none that is late with what has arrived, though the primary %s', (_, word) => {
    const late = { ...replica, follows: false, lagMs: 600_000, applyLagMs: 600_000 }
    expect(readsOf(late, 'none', word)[1]).toBe('kept')
    expect(readsOf({ ...late, applyLagMs: 0 }, 'none', word)[1]).toBe(100)
  })

  it('go to none that applies late on purpose, or in part, or nothing, though there is no primary', () => {
    const odd = { ...replica, follows: false, isWhole: false }
    expect(readsOf(odd, 'none', { ...primary, server: 'gone' })).toEqual(['shut', 'kept'])
  })
})
