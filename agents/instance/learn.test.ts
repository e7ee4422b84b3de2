import { say } from '#common/sentence/sentence.ts'
import { describe, expect, it } from 'vitest'
import {
  aServerState,
  primaryOfEpoch3,
  replicaOfEpoch3,
  ScriptedProcess,
  ScriptedServer,
  testParts,
} from '../testing.ts'
import { opened } from '../testing-passes.ts'
import { learn } from './learn.ts'
import { freshLife, lifeOf } from './life.ts'

const shown = ({ facts }: Awaited<ReturnType<typeof testParts>>) =>
  facts.list.map(({ fact, detail }) => `${fact} ${detail}`.trim())

async function anAgent(process = new ScriptedProcess()) {
  return testParts(new ScriptedServer(aServerState()), { process })
}

describe('What an agent learns', () => {
  it('is seen by whoever holds a part of what is known across a wait', async () => {
    const parts = await anAgent()
    const { course } = parts
    learn(parts, { fact: 'converged', revision: 12, done: true, sentence: say`follows shop-1` })
    expect(course.converged).toEqual({ revision: 12, done: true, sentence: 'follows shop-1' })
  })

  it('of one mysqld says nothing of the next one', async () => {
    const process = new ScriptedProcess()
    const parts = await anAgent(process)
    learn(parts, { fact: 'made', stage: opened })
    process.pid = 1_001
    learn(parts, { fact: 'endingRead', binlogSet: 'a', ending: { how: 'crashed', sentence: 'killed' } }, 1_000)
    expect(parts.course.binlogSet).toBe('a')
    expect(lifeOf(parts)).toEqual(freshLife(1_001))
    expect(parts.course.life.pid).toBe(1_000)
  })

  it('is that a report under a promise is not the last word where the receiver was kept, and mysqld died', async () => {
    const parts = await anAgent()
    const report = { epoch: 4, holds: 'a:1', executed: 'a:1', asPrimary: false }
    for (const receiverKept of [false, true]) {
      learn(parts, { fact: 'promised', isNew: true, receiverKept })
      learn(parts, { fact: 'reported', report })
      learn(parts, { fact: 'mysqldDied', asPrimary: false })
      expect(parts.course.promiseReport).toEqual(receiverKept ? null : report)
    }
  })

  it('is kept as a fact with what was found out', async () => {
    const parts = await anAgent()
    learn(parts, { fact: 'ordered', order: 'promise', atMs: 7 })
    learn(parts, { fact: 'promised', isNew: true, receiverKept: true })
    learn(parts, { fact: 'closedFor', lease: say`the lease ran out` })
    learn(parts, { fact: 'waitBegan', wait: 'switchingOff', until: Promise.resolve() })
    expect(shown(parts)).toEqual([
      'ordered order promise',
      'promised isNew, receiverKept',
      'closedFor lease the lease ran out',
      'waitBegan wait switchingOff',
    ])
  })

  it('is no news where it was known already, and the clock’s own ticks are none', async () => {
    const parts = await anAgent()
    for (const atMs of [1, 2]) {
      learn(parts, { fact: 'converged', done: false, sentence: say`connecting` })
      learn(parts, { fact: 'peerHeard', peer: 'shop-1', atMs })
      learn(parts, { fact: 'leaderHeard', atMs })
    }
    expect(shown(parts)).toEqual(['converged not done, sentence connecting'])
    expect(parts.contact.peersHeard.get('shop-1')).toBe(2)
  })

  it('is forgotten as a fact once two hundred others came, and a long text is cut', async () => {
    const parts = await anAgent()
    for (let at = 0; at < 210; at += 1) learn(parts, { fact: 'converged', sentence: say`${at}` })
    learn(parts, { fact: 'pointed', host: 'x'.repeat(1_000) })
    expect(shown(parts)).toHaveLength(200)
    expect(shown(parts)[0]).toBe('converged sentence 11')
    expect(shown(parts).at(-1)).toHaveLength('pointed host '.length + 201)
  })
})

describe('An assignment', () => {
  const told = { before: null, catchesUp: false, hadGtidsReset: false }

  it('that does not say what its source holds changes nothing of that within an epoch, and everything in a new one', async () => {
    const parts = await anAgent()
    const [silent, next] = [replicaOfEpoch3, { ...replicaOfEpoch3, epoch: 4 }]
    learn(parts, { ...told, fact: 'assigned', to: { ...silent, sourceHolds: 'a:1-5' }, catchesUp: true })
    learn(parts, { ...told, fact: 'assigned', to: silent, before: silent, catchesUp: true })
    expect(parts.told).toMatchObject({ sourceHolds: 'a:1-5', catchUpTo: 'a:1-5' })
    learn(parts, { ...told, fact: 'assigned', to: next, before: silent })
    expect(parts.told).toMatchObject({ sourceHolds: null, catchUpTo: null })
  })

  it('of a primary that goes on does not tell what is what, and a promotion does', async () => {
    const parts = await anAgent()
    const before = primaryOfEpoch3
    learn(parts, { ...told, fact: 'assigned', to: primaryOfEpoch3, before, hadGtidsReset: true })
    expect(parts.doubts.gtidsReset).toBe(true)
    learn(parts, { ...told, fact: 'assigned', to: primaryOfEpoch3, hadGtidsReset: true })
    expect(parts.doubts.gtidsReset).toBe(false)
  })
})
