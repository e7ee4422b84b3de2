import { expect, it } from 'vitest'
import { words } from '#failover/protocol/word.ts'
import { askAgents } from './ask-agents.ts'

const watch = { name: 'locks', everyMs: 250, rests: false, last: null, underWayMs: null, failure: '' }

const fact = { agoMs: 300, fact: 'ordered', detail: 'order promise' }

const run = { agoMs: 300, kind: 'backup', name: 'a', sentence: 'backup a: the data are copied' }

it('Every agent is asked what it looks after and has learnt, and who does not answer holds up no other', async () => {
  const asked: unknown[] = []
  const post = async (...request: unknown[]): Promise<unknown> => {
    asked.push(request)
    if (request[0] === 'b:1') throw new Error('no answer within 2000 ms')
    return { watches: [watch], ...(request[0] === 'c:1' ? {} : { facts: [fact], runs: [run] }) }
  }
  const agents = await askAgents({ post }, 'shop', [
    { name: 'shop-0', agent: 'a:1' },
    { name: 'shop-1', agent: 'b:1' },
    { name: 'shop-2', agent: '' },
    { name: 'shop-3', agent: 'c:1' },
  ])
  expect(agents).toEqual([
    { instance: 'shop-0', failure: '', watches: [watch], facts: [fact], runs: [run] },
    { instance: 'shop-1', failure: 'no answer within 2000 ms', watches: [], facts: [] },
    { instance: 'shop-2', failure: 'the agent has no address yet', watches: [], facts: [] },
    // Of the version before.
    { instance: 'shop-3', failure: '', watches: [watch], facts: [] },
  ])
  const question = [words.watches.route, { version: 1, cluster: 'shop' }, 2_000]
  expect(asked).toEqual([
    ['a:1', ...question],
    ['b:1', ...question],
    ['c:1', ...question],
  ])
})
