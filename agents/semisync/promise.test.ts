import { say } from '#common/sentence/sentence.ts'
import { describe, expect, it } from 'vitest'
import { orderVersion } from '#failover/protocol/message.ts'
import type { PromiseOrder } from '#failover/protocol/order.ts'
import { memberOf } from '#topology/testing.ts'
import type { Parts } from '../instance/parts.ts'
import { aServerState, replicaOfEpoch3, ScriptedServer, testParts } from '../testing.ts'
import { settable } from '../testing-known.ts'
import { givePromise, rememberStop, stopUnderPromise } from '../testing-passes.ts'

const assignment = { ...replicaOfEpoch3, counted: true }
const order: PromiseOrder = {
  version: orderVersion,
  cluster: 'shop',
  member: memberOf('shop-0'),
  epoch: 4,
  revision: 11,
  after: '',
  waitMs: 0,
}

/** A replica that was gathered by shop-1 and follows it. */
async function gathered(): Promise<{ parts: Parts; server: ScriptedServer }> {
  const server = new ScriptedServer(aServerState())
  const parts = await testParts(server)
  await parts.file.update({ promise: 3, revision: 10, assignment, stoppedInOrder: false })
  settable(parts).course.converged = { revision: 10, done: true, sentence: say`follows shop-1` }
  return { parts, server }
}

/** With what the next pass of the agent adds. */
async function promise(parts: Parts, given: PromiseOrder): Promise<void> {
  await givePromise(parts, given)
  await rememberStop(parts)
}

describe('a promise', () => {
  it('stops the receiver, whomever it follows, and what it received is safe from a crash of the machine', async () => {
    const { parts, server } = await gathered()
    await promise(parts, order)
    expect(server.calls).toEqual(['stopReceiver', 'semiSyncReplica off'])
    expect(parts.file.current).toMatchObject({ promise: 4, revision: 11, stoppedInOrder: true })
    expect(parts.course.promiseReport).toMatchObject({ epoch: 4, asPrimary: false })
  })

  it('at a switchover leaves a receiver alone that follows the candidate already, which is no orderly stop', async () => {
    const { parts, server } = await gathered()
    await promise(parts, { ...order, keepReceiverFrom: 'shop-1' })
    expect(server.calls).toEqual([])
    expect(parts.file.current).toMatchObject({ promise: 4, stoppedInOrder: false })
    expect(parts.course.promiseReport).toMatchObject({ epoch: 4, asPrimary: false })
  })

  it.each([
    [
      'another',
      (parts: Parts) => void (settable(parts).course.converged = { revision: 10, done: true, sentence: '' }),
      'shop-2',
    ],
    [
      'the candidate only in its orders',
      (parts: Parts) =>
        void (settable(parts).course.converged = { revision: 9, done: true, sentence: say`follows shop-2` }),
      'shop-1',
    ],
    [
      'the candidate, and is just connecting',
      (parts: Parts) =>
        void (settable(parts).course.converged = { revision: 10, done: false, sentence: say`connecting` }),
      'shop-1',
    ],
  ])('at a switchover stops a receiver that follows %s', async (_, arrange, candidate) => {
    const { parts, server } = await gathered()
    arrange(parts)
    await promise(parts, { ...order, keepReceiverFrom: candidate })
    expect(server.calls).toContain('stopReceiver')
    expect(parts.file.current.stoppedInOrder).toBe(true)
  })

  it.each([4, 5])(
    'of a failover (epoch %i) stops a receiver that went on at a switchover, and reports anew',
    async (epoch) => {
      const { parts, server } = await gathered()
      await promise(parts, { ...order, keepReceiverFrom: 'shop-1' })
      const before = parts.course.promiseReport
      await promise(parts, { ...order, epoch, revision: 12 })
      expect(server.calls).toEqual(['stopReceiver', 'semiSyncReplica off'])
      expect(parts.file.current.stoppedInOrder).toBe(true)
      expect(parts.course.promiseReport).not.toBe(before)
    },
  )

  it('stops a receiver that went on, when the agent starts again', async () => {
    const { parts, server } = await gathered()
    await promise(parts, { ...order, keepReceiverFrom: 'shop-1' })
    const restarted = { ...parts, course: { ...parts.course, promiseReport: null, receiverKept: false } }
    await stopUnderPromise(restarted)
    expect(server.calls).toContain('stopReceiver')
  })
})
