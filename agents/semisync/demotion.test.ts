import { describe, expect, it } from 'vitest'
import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import { orderVersion } from '#failover/protocol/message.ts'
import type { DemoteOrder } from '#failover/protocol/order.ts'
import type { DumpThread } from '#topology/snapshot/observation.ts'
import { memberOf, type ServerOverrides } from '#topology/testing.ts'
import { demote } from './demotion.ts'
import { aServerState, ScriptedServer, testParts } from '../testing.ts'
import { patienceMs } from '#test/support/patience.ts'

const order: DemoteOrder = {
  version: orderVersion,
  cluster: 'shop',
  member: memberOf('shop-0'),
  epoch: 4,
  revision: 11,
  graceMs: 0,
  deadlineMs: patienceMs,
}
const source = '11111111-1111-1111-1111-111111111111'
const replica: DumpThread = { threadId: 20, user: 'regent_r_1', host: '127.24.1.2', serverUuid: '', semiSync: true }
const waits: ServerOverrides = { dumpThreads: [replica], semiSyncSource: { enabled: true, acks: 1 } }
const acknowledged = aServerState(waits)
const timedOut = (): Promise<never> =>
  Promise.reject(new RegentError('REGENT_SERVER_TIMEOUT', say`no answer within 300 ms`))

/** The first attempt to close it for writes passes its deadline, and then something is different. */
function hangingOnce(server: ScriptedServer, afterwards: () => void): ScriptedServer {
  const close = server.setReadOnly
  server.setReadOnly = (to, deadlineMs) => {
    if (to !== 'closed') return close(to, deadlineMs)
    server.setReadOnly = close
    afterwards()
    return timedOut()
  }
  return server
}

describe('demotion', () => {
  it('that is delivered twice neither fails nor opens again what has promised', async () => {
    const server = new ScriptedServer(acknowledged)
    const parts = await testParts(server)
    await demote(parts, order)
    const { promiseReport } = parts.course
    server.calls.splice(0)
    server.state = aServerState({ dumpThreads: [], semiSyncSource: { enabled: true, acks: 1 } })
    await demote(parts, order)
    expect(server.calls).toEqual([])
    expect(parts.course.promiseReport).toBe(promiseReport)
  })

  it('is refused while the primary applies what it was elected with, and changes nothing', async () => {
    const server = new ScriptedServer({ ...acknowledged, executed: `${source}:1-9`, received: `${source}:5-11` })
    const parts = await testParts(server)
    await expect(demote(parts, order)).rejects.toThrow(
      'demotion refused: this primary still applies 2 transactions that it was elected with',
    )
    expect(server.calls).toEqual([])
    expect(parts.file.current.promise).toBeLessThan(order.epoch)
  })

  it('reports all that the server holds, also what it received and has not applied', async () => {
    const server = new ScriptedServer({ ...acknowledged, executed: `${source}:1-9` })
    const parts = await testParts(server)
    const close = server.setReadOnly
    server.setReadOnly = async (to, deadlineMs) => {
      await close(to, deadlineMs)
      server.state = { ...server.state, received: `${source}:10-11` }
    }
    await demote(parts, order)
    expect(parts.course.promiseReport).toMatchObject({ holds: `${source}:1-11`, executed: `${source}:1-9` })
  })

  it('ends the sessions whose lock stands in its way', async () => {
    const server = hangingOnce(new ScriptedServer(acknowledged), () => undefined)
    const parts = await testParts(server)
    await demote(parts, order)
    expect(server.calls.slice(0, 2)).toEqual(['killForeignSessions', 'readOnly closed'])
    expect(parts.file.current).toMatchObject({ promise: 4, unsettled: true })
  })

  it('kills nobody and opens again when acknowledgements stopped while it closed the server', async () => {
    const server = new ScriptedServer(acknowledged)
    const parts = await testParts(
      hangingOnce(
        server,
        () =>
          (server.state = aServerState({ dumpThreads: [], semiSyncSource: { enabled: true, acks: 1, waiting: 1 } })),
      ),
    )
    await expect(demote(parts, order)).rejects.toThrow('0 replicas can give one')
    expect(server.calls).toEqual(['open'])
    expect(parts.file.current.promise).toBe(0)
  })

  it.each<[string, ServerOverrides, string[]]>([
    ['fenced', { readOnly: true, superReadOnly: true, offlineMode: true }, []],
    ['until a marker of its own is acknowledged', { readOnly: true, offlineMode: true }, ['readOnly accounts']],
  ])('that fails opens no server that was closed before: %s', async (_, closed, putBack) => {
    const server = new ScriptedServer(aServerState({ ...waits, ...closed }))
    const parts = await testParts(Object.assign(server, { killForeignSessions: () => timedOut() }))
    await expect(demote(parts, order)).rejects.toThrow('no answer within 300 ms')
    expect(server.calls).toEqual(['readOnly closed', 'offline on', ...putBack])
    expect(parts.file.current.promise).toBe(0)
  })

  it('ends the sessions in its way as soon as no other waits for an acknowledgement', async () => {
    const server = hangingOnce(new ScriptedServer(acknowledged), () => (server.waiting = 1))
    const parts = await testParts(server)
    let looks = 0
    Object.assign(server, {
      waitingSessions: async () => ((looks += 1) === 4 ? (server.waiting = 0) : server.waiting),
    })
    await demote(parts, order)
    expect(server.calls.slice(0, 2)).toEqual(['killForeignSessions', 'readOnly closed'])
  })

  it('kills nobody while a session waits for an acknowledgement that does not come from replicas that are connected', async () => {
    const server = new ScriptedServer(acknowledged)
    const parts = await testParts(hangingOnce(server, () => (server.waiting = 1)))
    await expect(demote(parts, order)).rejects.toThrow('must not be killed')
    expect(server.calls).toEqual(['open'])
  })

  it('tells routers as soon as no writes are taken, and ends what they leave', async () => {
    const server = new ScriptedServer(acknowledged)
    const parts = await testParts(server)
    server.foreignSessions = async () => {
      server.calls.push('look')
      expect(parts.observer.server?.superReadOnly).toBe(true)
      return 0
    }
    const close = server.setReadOnly
    server.setReadOnly = async (to, deadlineMs) => {
      await close(to, deadlineMs)
      server.state = { ...server.state, superReadOnly: true }
    }
    await demote({ ...parts, routers: () => 1 }, order)
    expect(server.calls).toEqual(['readOnly closed', 'look', 'offline on', 'killForeignSessions'])
  })

  it('leaves the server closed and offline, and only then ends the sessions of others, so that nobody comes back', async () => {
    const server = new ScriptedServer(acknowledged)
    const parts = await testParts(server)
    await demote(parts, order)
    expect(server.calls).toEqual(['readOnly closed', 'offline on', 'killForeignSessions'])
    expect(parts.course.promiseReport).toMatchObject({ epoch: 4, asPrimary: true })
  })
})

/**
 * Somebody's statement runs for so long, on a clock of its own; resolves to the millisecond at which writes were
 * stopped.
 */
async function stoppedWritesAt(busyMs: number, more: Partial<DemoteOrder>): Promise<number> {
  let [nowMs, closedAtMs] = [0, NaN]
  const server = Object.assign(new ScriptedServer(acknowledged), {
    busySessions: async () => (nowMs < busyMs ? 1 : 0),
    setReadOnly: async () => void (closedAtMs = nowMs),
  })
  const parts = await testParts(server)
  const world = {
    ...parts.world,
    clock: { ...parts.world.clock, monotonicMs: () => nowMs },
    timers: { ...parts.world.timers, sleep: async (ms: number) => void (nowMs += ms) },
  }
  await demote({ ...parts, world }, { ...order, ...more })
  expect(server.calls).toEqual(['offline on', 'killForeignSessions'])
  return closedAtMs
}

describe('the grace of a demotion', () => {
  it('ends with the last statement that runs, and writes are taken until then', async () => {
    expect(await stoppedWritesAt(60, { graceMs: 200 })).toBe(60)
  })

  it('is not waited for where nothing runs', async () => {
    expect(await stoppedWritesAt(0, { graceMs: 200 })).toBe(0)
  })

  it('ends with its time where a statement does not, and the statement with it', async () => {
    expect(await stoppedWritesAt(Infinity, { graceMs: 200 })).toBe(200)
  })

  it('takes no more than half of the time for the demotion', async () => {
    expect(await stoppedWritesAt(Infinity, { graceMs: 200, deadlineMs: 120 })).toBe(60)
  })

  it('is none where none is given', async () => {
    expect(await stoppedWritesAt(Infinity, { graceMs: 0 })).toBe(0)
  })
})
