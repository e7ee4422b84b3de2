import { describe, expect, it } from 'vitest'
import { HungServerWatch } from './hung-server.ts'
import type { Parts } from '../instance/parts.ts'
import {
  aServerState,
  primaryOfEpoch3,
  replicaOfEpoch3,
  ScriptedProcess,
  ScriptedServer,
  testParts,
} from '../testing.ts'
import { settable } from '../testing-known.ts'

const gib = 1024 ** 3

/** An agent whose server answers nothing; a test says for how long, and what time it is. */
async function silent(
  silentMs: number,
  assignment: Parts['file']['current']['assignment'] = replicaOfEpoch3,
  freeBytes: number | null = 10 * gib,
) {
  const process = new ScriptedProcess()
  const fixed = await testParts(new ScriptedServer(aServerState()), { process })
  const time = { nowMs: 1_000_000, silentMs }
  const clock = { ...fixed.world.clock, monotonicMs: () => time.nowMs }
  const observer = {
    get silentMs() {
      return time.silentMs
    },
    freeBytes,
  } as Parts['observer']
  const parts: Parts = {
    ...fixed,
    config: { ...fixed.config, lowSpaceBytes: gib },
    world: { ...fixed.world, clock },
    observer,
  }
  await parts.file.update({ promise: 3, revision: 10, assignment })
  return { parts, process, time, watch: new HungServerWatch(parts) }
}

describe('a server that runs and answers nothing', () => {
  it('is ended where it is a replica, and it is said', async () => {
    const { parts, process, watch } = await silent(30_000)
    await watch.look()
    expect(process.state).toBe('dead')
    expect(parts.notices.list.at(-1)).toMatchObject({
      code: 'HungServer',
      sentence: 'mysqld has answered nothing for 30 s and is started again',
    })
  })

  it('is named and left to a person where only SQL reaches its host', async () => {
    const { parts, process, watch } = await silent(30_000)
    Object.assign(process, { isClosedBySql: true })
    await watch.look()
    await watch.look()
    expect(process.state).toBe('running')
    expect(parts.notices.list.map(({ sentence }) => String(sentence))).toEqual([
      'mysqld has answered nothing for 30 s, and only SQL reaches its host: end mysqld there by hand',
    ])
  })

  it('is left alone for half a minute', async () => {
    const { process, watch } = await silent(29_999)
    await watch.look()
    expect(process.state).toBe('running')
  })

  it('is left alone where it is a primary', async () => {
    const { process, watch } = await silent(60_000, primaryOfEpoch3)
    await watch.look()
    expect(process.state).toBe('running')
  })

  it('is ended where it is a primary that nobody can take over from, and whose manager allowed it to start again', async () => {
    const { parts, process, watch } = await silent(60_000, primaryOfEpoch3)
    settable(parts).told.mayRestart = true
    await watch.look()
    expect(process.state).toBe('dead')
  })

  it('is left alone while its disk is full: it waits, and could not start', async () => {
    const { process, watch } = await silent(60_000, replicaOfEpoch3, gib - 1)
    await watch.look()
    expect(process.state).toBe('running')
  })

  it.each([
    ['a replica', replicaOfEpoch3],
    ['a primary that its manager did not allow to start again', primaryOfEpoch3],
  ])('is left alone while it is stopped: who did that has a reason (%s)', async (_, assignment) => {
    const { process, watch } = await silent(60_000, assignment)
    process.state = 'stopped'
    await watch.look()
    expect(process.state).toBe('stopped')
  })

  it('is ended while it is stopped as soon as it counts as frozen, where it is a primary that is to start again', async () => {
    const { parts, process, time, watch } = await silent(0, primaryOfEpoch3)
    settable(parts).told.mayRestart = true
    Object.assign(process, { state: 'stopped', changedAtMs: time.nowMs })
    time.nowMs += 1_199
    await watch.look()
    expect(process.state).toBe('stopped')
    time.nowMs += 1
    await watch.look()
    expect(process.state).toBe('dead')
  })

  it('is ended again no sooner than five minutes later', async () => {
    const { process, time, watch } = await silent(30_000)
    await watch.look()
    process.state = 'running'
    time.nowMs += 299_999
    await watch.look()
    expect(process.state).toBe('running')
    time.nowMs += 1
    await watch.look()
    expect(process.state).toBe('dead')
  })
})
