import { expect, it } from 'vitest'
import { renderAgents } from './agents-explained.ts'

const watch = { name: 'locks', everyMs: 250, rests: false, last: null, underWayMs: null, failure: '' }
const last = { agoMs: 12_000, tookMs: 3 }

it('What agents look after is a line each, with the last look and what came of it', () => {
  const watches = [
    { ...watch, last },
    { ...watch, name: 'binlogs', everyMs: 60_000, rests: true },
    { ...watch, name: 'needs', last, failure: 'no answer', rests: true },
    { ...watch, name: 'views', underWayMs: 61_000, failure: 'no answer' },
  ]
  expect(renderAgents([{ instance: 'shop-0', failure: '', watches, facts: [] }])).toEqual([
    'agent   looks after  every   last look            which is',
    'shop-0  locks        250 ms  12 s ago, took 3 ms  fine',
    'shop-0  binlogs      60 s    none yet             at rest',
    'shop-0  needs        250 ms  12 s ago, took 3 ms  failed: no answer',
    'shop-0  views        250 ms  none yet             under way for 61 s',
  ])
})

it('What agents have learnt is a line each: the newest ten of each, the newest last', () => {
  const facts = Array.from({ length: 12 }, (_, at) => ({
    ...{ agoMs: (32 - at) * 1_000, fact: 'ordered', detail: `order ${at}` },
  }))
  const lines = renderAgents([{ instance: 'shop-0', failure: '', watches: [{ ...watch, last }], facts }])
  expect(lines.slice(2, 5)).toEqual(['', 'agent   learnt    fact     which is', 'shop-0  30 s ago  ordered  order 2'])
  expect(lines.at(-1)).toBe('shop-0  21 s ago  ordered  order 11')
})

it('An agent that did not answer is named with the reason', () => {
  expect(renderAgents([{ instance: 'shop-1', failure: 'no answer within 2000 ms', watches: [], facts: [] }])).toEqual([
    'shop-1 says nothing of itself: no answer within 2000 ms',
  ])
})
