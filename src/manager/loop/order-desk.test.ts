import { expect, it } from 'vitest'
import { orderVersion } from '#failover/protocol/message.ts'
import { defaultTimings } from '#failover/protocol/timings.ts'
import { memberOf } from '#topology/testing.ts'
import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import { realWorld } from '#common/ports/real-world.ts'
import type { OrderAction } from '#failover/protocol/decision.ts'
import { OrderDesk } from './order-desk.ts'

const common = { version: orderVersion, cluster: 'shop', member: memberOf('shop-1'), epoch: 1, revision: 1 } as const
const endpoint = { instance: 'shop-0', host: '127.24.1.1', port: 3306, agent: '127.24.1.1:9400' }
const reseed: OrderAction = {
  kind: 'reseed',
  to: 'shop-1',
  order: { ...common, donor: endpoint, source: endpoint, destroys: '', sourceHolds: '', peers: [] },
}
const promise: OrderAction = { kind: 'promise', to: 'shop-1', order: { ...common, epoch: 2, after: '', waitMs: 0 } }

function deskOfSilence() {
  const transport = { post: () => new Promise<never>(() => undefined) }
  return new OrderDesk(
    { world: realWorld, transport, timings: defaultTimings },
    () => 'agent',
    () => undefined,
  )
}

it('The same order is not sent twice while it is under way, another one is', () => {
  const desk = deskOfSilence()
  expect([desk.send(promise), desk.send(promise), desk.send(reseed)]).toEqual([true, false, true])
})

it('What an earlier run of an agent was told is under way no more, and its late answer says nothing', async () => {
  const answers: ((value: never) => void)[] = []
  const transport = { post: () => new Promise<never>((resolve) => answers.push(resolve)) }
  const outcomes: unknown[] = []
  const desk = new OrderDesk(
    { world: realWorld, transport, timings: defaultTimings },
    () => 'agent',
    (outcome) => outcomes.push(outcome),
  )
  desk.heard({ instance: 'shop-1', agentRun: 'a' })
  desk.send(reseed)
  desk.heard({ instance: 'shop-1', agentRun: 'a' })
  desk.heard({ instance: 'shop-10', agentRun: 'x' })
  desk.heard({ instance: 'shop-10', agentRun: 'y' })
  expect([...desk.inFlight.keys()]).toEqual(['shop-1'])
  desk.heard({ instance: 'shop-1', agentRun: 'b' })
  expect([...desk.inFlight.keys()]).toEqual([])
  expect(desk.send(reseed)).toBe(true)
  answers[0]?.({} as never)
  await new Promise((resolve) => setImmediate(resolve))
  expect(outcomes).toEqual([])
  expect([...desk.inFlight.keys()]).toEqual(['shop-1'])
})

it('Of several orders on their way to an instance, that it is to be seeded counts, whatever was sent after it', () => {
  const desk = deskOfSilence()
  desk.send(reseed)
  desk.send(promise)
  expect(desk.inFlight.get('shop-1')?.order).toBe('reseed')
})

it('The answer to a salvage is awaited for long: its agent gives up by itself what does not go on', () => {
  const waits: number[] = []
  const transport = {
    post: (...[, , , deadlineMs]: readonly [unknown, unknown, unknown, number]) => {
      waits.push(deadlineMs)
      return new Promise<never>(() => undefined)
    },
  }
  const desk = new OrderDesk(
    { world: realWorld, transport, timings: defaultTimings },
    () => 'agent',
    () => undefined,
  )
  const order = { ...common, from: endpoint, until: '', deadlineMs: 60_000 }
  desk.send({ kind: 'fetch', to: 'shop-1', order })
  desk.send({ kind: 'fetch', to: 'shop-2', order: { ...order, salvage: memberOf('shop-0') } })
  const [fetch = 0, salvage = 0] = waits
  expect(fetch).toBe(60_000 + defaultTimings.orderDeadlineMs)
  expect(salvage).toBeGreaterThan(10 * fetch)
})

it('Who refuses to be seeded again with the same code is counted, whatever the words, until it obeys', async () => {
  const answers = [
    new RegentError('REGENT_ORDER_NOT_ALLOWED', say`it holds 3, the order destroys 4`),
    new RegentError('REGENT_ORDER_NOT_ALLOWED', say`shop-0 is no donor`),
    new Error('mysqld is dead'),
    undefined,
  ]
  const transport = {
    post: async () => {
      const refusal = answers.shift()
      if (refusal !== undefined) throw refusal
      return {}
    },
  }
  const seen: (number | undefined)[] = []
  for (const revision of [1, 2, 3, 4]) {
    const order = { ...reseed, order: { ...reseed.order, revision } } as OrderAction
    await new Promise<void>((resolve) => {
      answered = resolve
      desk(transport).send(order)
    })
    seen.push(counting?.refused.get('shop-1')?.times)
  }
  expect(seen).toEqual([1, 2, 1, undefined])
})

let counting: OrderDesk | undefined
let answered: () => void = () => undefined

function desk(transport: { post: () => Promise<unknown> }): OrderDesk {
  counting ??= new OrderDesk(
    { world: realWorld, transport, timings: defaultTimings },
    () => 'agent',
    () => answered(),
  )
  return counting
}
