import { saying } from '#test/support/said-as-text.ts'
import { describe, expect, it } from 'vitest'
import { orderVersion } from '#failover/protocol/message.ts'
import type { PasswordsOrder } from '#failover/protocol/order.ts'
import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import type { Timer } from '#common/ports/ports.ts'
import { memberOf } from '#topology/testing.ts'
import { beginPasswords } from './change-passwords.ts'
import { aServerState, primaryOfEpoch3, ScriptedServer, testParts } from '../testing.ts'

const order: PasswordsOrder = {
  version: orderVersion,
  cluster: 'shop',
  member: memberOf('shop-0'),
  epoch: 3,
  revision: 10,
  generation: 'a2',
  old: 'kept',
}
const settled = () => new Promise((resolve) => setTimeout(resolve, 20))

/** shop-0 leads epoch 3. Its timers run when a test says so. */
async function aPrimary() {
  const server = new ScriptedServer(aServerState())
  const parts = await testParts(server)
  await parts.file.update({ promise: 3, revision: 10, assignment: primaryOfEpoch3 })
  const due = new Set<() => void>()
  const after = (_ms: number, task: () => void): Timer => (due.add(task), { cancel: () => void due.delete(task) })
  const timersRun = () => {
    for (const task of [...due]) {
      due.delete(task)
      task()
    }
  }
  return { server, timersRun, parts: { ...parts, world: { ...parts.world, timers: { ...parts.world.timers, after } } } }
}

describe('other passwords', () => {
  it('are set right after a marker was acknowledged, and that is told', async () => {
    const { server, parts } = await aPrimary()
    beginPasswords(parts, order)
    await settled()
    expect(server.calls).toEqual(['marker 2', 'passwords a2 kept'])
    expect(parts.notices.list.map(({ code }) => code)).toEqual(['PasswordsChanged'])
    expect(parts.jobs.changesPasswords).toBe(false)
  })

  it('are set once, however often that is ordered meanwhile', async () => {
    const { server, parts } = await aPrimary()
    for (let time = 0; time < 3; time++) beginPasswords(parts, order)
    await settled()
    expect(server.calls).toEqual(['marker 2', 'passwords a2 kept'])
  })

  it.each([
    ['promised another epoch', { promise: 4 }],
    ['leads another one', { promise: 4, assignment: { ...primaryOfEpoch3, epoch: 4 } }],
  ])('are not set where it has %s until the marker was acknowledged', async (_, change) => {
    const { server, parts } = await aPrimary()
    const acknowledged = Promise.withResolvers<void>()
    server.writeMarker = () => acknowledged.promise
    beginPasswords(parts, order)
    await parts.file.update(change)
    acknowledged.resolve()
    await settled()
    expect(server.calls).toEqual([])
  })

  it('that MySQL refuses are told, and may be ordered again', async () => {
    const { server, parts } = await aPrimary()
    server.setPasswords = () =>
      Promise.reject(new RegentError('REGENT_SERVER_ERROR', say`ALTER USER …: Lock wait timeout exceeded`))
    beginPasswords(parts, order)
    await settled()
    expect(parts.notices.list.map(({ sentence }) => sentence)).toEqual([saying('Lock wait timeout exceeded')])
    expect(parts.jobs.changesPasswords).toBe(false)
  })
})

describe('a change of passwords that is not acknowledged', () => {
  async function waiting() {
    const primary = await aPrimary()
    const answer = Promise.withResolvers<void>()
    primary.server.setPasswords = () => answer.promise
    beginPasswords(primary.parts, order)
    await settled()
    return { ...primary, answer }
  }

  it('lets nobody log in: its server is killed after a while', async () => {
    const { parts, timersRun } = await waiting()
    timersRun()
    expect(parts.process.state).toBe('running')
    timersRun()
    expect(parts.process.state).toBe('dead')
    expect(parts.notices.list.map(({ code }) => code)).toEqual(['AccountChangeKilled'])
  })

  it('on a machine that slept is acknowledged before its server would be killed', async () => {
    const { parts, timersRun, answer } = await waiting()
    timersRun()
    answer.resolve()
    await settled()
    timersRun()
    expect(parts.process.state).toBe('running')
  })

  it('kills no server that has another role since, or is another one', async () => {
    const { parts, timersRun } = await waiting()
    timersRun()
    await parts.file.update({ promise: 4 })
    timersRun()
    expect(parts.process.state).toBe('running')
  })
})
