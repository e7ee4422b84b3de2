import { describe, expect, it } from 'vitest'
import { LockedOutWatch } from './locked-out.ts'
import type { Assignment } from '#failover/protocol/assignment.ts'
import {
  aServerState,
  primaryOfEpoch3,
  replicaOfEpoch3,
  ScriptedProcess,
  ScriptedServer,
  testParts,
  watcherOf,
} from '../testing.ts'

/** An agent that has heard nothing of its server since the server started. */
async function unheard(assignment: Assignment, refusal: string) {
  const [server, process] = [new ScriptedServer(aServerState()), new ScriptedProcess()]
  const fixed = await testParts(server, { process })
  const time = { nowMs: 1_000_000 }
  const parts = { ...fixed, world: { ...fixed.world, clock: { ...fixed.world.clock, monotonicMs: () => time.nowMs } } }
  await parts.file.update({ promise: 3, revision: 10, assignment })
  server.refusal = refusal
  const watch = watcherOf(parts, new LockedOutWatch(parts))
  const after = async (ms: number) => {
    time.nowMs += ms
    await watch.look()
  }
  return { parts, server, process, watch, after }
}

describe('A server that refuses its own agent', () => {
  it.each([
    ['replica', replicaOfEpoch3, 2_000],
    ['primary', primaryOfEpoch3, 8_000],
  ] as const)('as a %s is ended after a while, and started with its accounts', async (_role, assignment, ms) => {
    const { parts, process, after } = await unheard(assignment, 'Access denied (1045)')
    await after(0)
    await after(ms - 1)
    expect(process.state).toBe('running')
    await after(1)
    expect([process.state, process.startsWithAccounts]).toEqual(['dead', true])
    expect(String(parts.notices.list.at(-1)?.sentence)).toBe(
      'mysqld refuses its own agent (Access denied (1045)): it is ended, and started again with that account, and with its own settings',
    )
  })

  it('goes on where it is far: no start gives that account back, and what does is said, once a minute', async () => {
    const { parts, process, after } = await unheard(primaryOfEpoch3, 'Access denied (1045)')
    const places = { dataDir: '', pidFile: '', binlogIndex: '', relayLogBase: '', relayLogIndex: '', errorLog: '' }
    const far = { agentHost: '', user: 'keeper', passwordFile: '', serverUuid: '', places }
    Object.assign(parts.config, { far })
    await after(0)
    for (let seconds = 0; seconds < 20; seconds += 1) await after(1_000)
    expect([process.state, process.startsWithAccounts]).toEqual(['running', false])
    expect(parts.notices.list.map(({ sentence }) => String(sentence))).toEqual([
      'mysqld refuses its own agent (Access denied (1045)): give account keeper back to it, or its password file the password',
    ])
  })

  it('is left alone for a minute where that did not help', async () => {
    const { process, after } = await unheard(replicaOfEpoch3, 'Access denied (1045)')
    await after(0)
    await after(2_000)
    process.state = 'running'
    for (let seconds = 0; seconds < 59; seconds += 1) await after(1_000)
    expect(process.state).toBe('running')
    await after(1_000)
    expect(process.state).toBe('dead')
  })

  it('is left alone where a session is open, or where it says nothing', async () => {
    const open = await unheard(replicaOfEpoch3, 'Access denied (1045)')
    await open.parts.observer.refresh()
    const silent = await unheard(replicaOfEpoch3, '')
    for (const { after, process } of [open, silent]) {
      await after(0)
      await after(60_000)
      expect(process.state).toBe('running')
    }
  })
})
