import { say } from '#common/sentence/sentence.ts'
import { describe, expect, it } from 'vitest'
import type { LeavingAnswer, LeavingRequest } from '#failover/protocol/word.ts'
import {
  primaryOfEpoch3,
  replicaOfEpoch3,
  ScriptedProcess,
  ScriptedServer,
  aServerState,
  testParts,
} from '#agents/testing.ts'
import { settable } from '#agents/testing-known.ts'
import type { Parts } from '#agents/instance/parts.ts'
import type { ActionResult } from '../wire/calls.ts'
import { membershipActions } from './join-and-leave.ts'
import { provisionActions } from './provision.ts'
import { switchover } from './switchover.ts'

const peers = ['shop-0', 'shop-1'].map((instance, number) => ({
  instance,
  host: `127.24.1.${number + 1}`,
  port: 3306,
  agent: `127.24.1.${number + 1}:9400`,
}))

async function agent(assignment: 'primary' | 'replica' = 'replica', more: Partial<Parts> = {}): Promise<Parts> {
  const parts = await testParts(new ScriptedServer(aServerState()), { process: new ScriptedProcess() })
  const assigned = assignment === 'primary' ? primaryOfEpoch3 : { ...replicaOfEpoch3, counted: true }
  await parts.file.update({ promise: 3, assignment: { ...assigned, peers } })
  await parts.observer.refresh()
  return { ...parts, ...more }
}

async function call(
  parts: Parts,
  name: string,
  given: Readonly<Record<string, string>> = {},
  deadlineMs = 1_000,
): Promise<string> {
  const all = [...membershipActions(parts), ...provisionActions(parts), switchover(parts)]
  const action = all.find((one) => one.name === name)
  const result: ActionResult | undefined = await action?.run(given, {
    deadlineMs,
    signal: new AbortController().signal,
  })
  if (result === undefined) throw new Error(`${name} is not there`)
  return result.ok ? `said ${result.output.toString()}` : result.message
}

/** A peer that is asked, and answers in turn. */
function peerSaying(...answers: readonly LeavingAnswer[]) {
  const asked: (readonly [string, LeavingRequest])[] = []
  const transport: Parts['transport'] = {
    post: async (address, _route, body) => {
      asked.push([address, body as LeavingRequest])
      const answer = answers[asked.length - 1] ?? answers.at(-1)
      if (answer === undefined) throw new Error('connection refused')
      return answer
    },
  }
  return { asked, transport }
}

describe('memberLeave', () => {
  it('is done once the instance is out and its mysqld stopped; the wish is said again meanwhile', async () => {
    const parts = await agent()
    const left = call(parts, 'memberLeave', {}, 5_000)
    expect(parts.pod.leavesUntilMs).toBeGreaterThan(parts.world.clock.monotonicMs())
    settable(parts).pod.hasLeft = true
    ;(parts.process as ScriptedProcess).state = 'dead'
    expect(await left).toBe('said shop-0: it has left, and its mysqld is stopped')
  })

  it('says where the instance stands when its time is over', async () => {
    const parts = await agent()
    settable(parts).course.converged = {
      revision: 1,
      done: false,
      sentence: say`mysqld stops once the instance is out of the sync set`,
    }
    expect(await call(parts, 'memberLeave')).toMatch(/^shop-0 has not left: .*sync set: timedOut$/)
  })

  it('of another instance is done by the agent of that instance', async () => {
    const { asked, transport } = peerSaying({ done: false, sentence: 'waits' }, { done: true, sentence: 'it has left' })
    const parts = await agent('primary', { transport })
    expect(await call(parts, 'memberLeave', { KB_LEAVE_MEMBER_POD_NAME: 'shop-1' }, 5_000)).toBe(
      'said shop-1: it has left',
    )
    const request = { version: 1, cluster: 'shop', instance: 'shop-1', leaves: true }
    expect(asked).toEqual([
      ['127.24.1.2:9400', request],
      ['127.24.1.2:9400', request],
    ])
    expect(parts.pod.leavesUntilMs).toBe(-Infinity)
  })

  it('fails where that agent does not answer', async () => {
    const parts = await agent('primary', peerSaying())
    expect(await call(parts, 'memberLeave', { KB_LEAVE_MEMBER_POD_NAME: 'shop-1' })).toBe(
      'the agent of shop-1 does not answer: connection refused: failed',
    )
  })

  it('of somebody unknown, or of the only instance, is refused and changes nothing', async () => {
    const parts = await agent('primary')
    expect(await call(parts, 'memberLeave', { KB_LEAVE_MEMBER_POD_NAME: 'shop-7' })).toBe(
      'KB_LEAVE_MEMBER_POD_NAME: there is no instance shop-7; known here are shop-0, shop-1: preconditionFailed',
    )
    await parts.file.update({ assignment: { ...primaryOfEpoch3, peers: peers.slice(0, 1) } })
    expect(await call(parts, 'memberLeave')).toMatch(/only instance of its cluster.*: preconditionFailed$/)
    expect(parts.pod.leavesUntilMs).toBe(-Infinity)
  })
})

describe('memberJoin', () => {
  it('is done where the instance counts, and takes a memberLeave back', async () => {
    const parts = await agent()
    settable(parts).pod.hasLeft = true
    settable(parts).course.converged = { revision: 1, done: true, sentence: say`follows shop-1` }
    expect(await call(parts, 'memberJoin')).toBe('said shop-0: it is a member that counts')
    expect(parts.pod.hasLeft).toBe(false)
  })

  it('says why the instance does not count yet', async () => {
    const parts = await agent()
    settable(parts).course.converged = { revision: 1, done: false, sentence: say`copying from shop-1, 40 %` }
    expect(await call(parts, 'memberJoin')).toBe('shop-0 has not joined: copying from shop-1, 40 %: timedOut')
    await parts.file.update({ assignment: { ...replicaOfEpoch3, counted: false, peers } })
    settable(parts).course.converged = { revision: 1, done: true, sentence: say`follows shop-1` }
    expect(await call(parts, 'memberJoin')).toMatch(/it follows, and does not count yet: timedOut$/)
  })
})

describe('postProvision and preTerminate', () => {
  it('wait for what the record wants, and have on disk what was received', async () => {
    let synced = 0
    const parts = await agent()
    const volume = { ...parts.volume, syncRelayLogs: async () => void (synced += 1) }
    expect(await call({ ...parts, volume }, 'postProvision', {}, 300)).toMatch(/: timedOut$/)
    settable(parts).course.converged = { revision: 1, done: true, sentence: say`follows shop-1` }
    const state = { readOnly: true, superReadOnly: true, offlineMode: false }
    ;(parts.server as ScriptedServer).readState = async () => aServerState(state)
    parts.observer.outdate()
    expect(await call({ ...parts, volume }, 'postProvision')).toBe('said ')
    expect(synced).toBe(0)
    expect(await call({ ...parts, volume }, 'preTerminate')).toMatch(/^said nothing is registered elsewhere/)
    expect(synced).toBe(1)
  })
})

describe('switchover', () => {
  it('is asked of the manager that leads, and its answer is the answer', async () => {
    const parts = await agent('primary')
    const given = { KB_SWITCHOVER_CURRENT_NAME: 'shop-0', KB_SWITCHOVER_CANDIDATE_NAME: 'shop-1' }
    for (const [outcome, said] of [
      ['done', 'said shop-1 leads'],
      ['refused', 'shop-1 leads: preconditionFailed'],
      ['timedOut', 'shop-1 leads: timedOut'],
    ] as const) {
      const called = call(parts, 'switchover', given)
      const [ask] = parts.asks.shown
      expect(ask).toMatchObject({ wants: 'switchover', from: 'shop-0', to: 'shop-1' })
      parts.asks.answer(ask?.id ?? '', { outcome, sentence: 'shop-1 leads' })
      expect(await called).toBe(said)
    }
  })

  it('that no manager answers is timedOut', async () => {
    const given = { KB_SWITCHOVER_CURRENT_NAME: 'shop-0' }
    expect(await call(await agent('primary'), 'switchover', given, 50)).toMatch(
      /no manager of Regent that leads.*: timedOut$/,
    )
  })

  it('of an instance that is not the primary is nothing to do; of nobody it is refused', async () => {
    const parts = await agent()
    expect(await call(parts, 'switchover', { KB_SWITCHOVER_ROLE: 'secondary' })).toBe('said ')
    expect(await call(parts, 'switchover')).toMatch(/: badRequest$/)
    expect(parts.asks.shown).toEqual([])
  })
})
