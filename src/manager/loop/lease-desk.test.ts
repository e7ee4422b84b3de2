import { expect, it } from 'vitest'
import { aRecord, fetchIntent } from '#failover/testing.ts'
import { defaultTimings } from '#failover/protocol/timings.ts'
import type { Observation } from '#topology/snapshot/observation.ts'
import { anObservation } from '#topology/testing.ts'
import type { Transport } from '#common/ports/ports.ts'
import type { Store } from '#store/store.ts'
import { LeaseDesk } from './lease-desk.ts'

/** The primary asks. */
const asks = (more: Partial<Observation> = {}): Observation => ({
  ...anObservation({
    instance: 'shop-0',
    stored: { assignment: { epoch: 1, revision: 1, role: 'primary', counted: false, fenced: false, source: null } },
  }),
  lease: { question: 4, remainingMs: 900 },
  ...more,
})

/** What is posted when `observation` is heard while `forgetful` wait to be told. */
async function confirmed(
  observations: readonly Observation[],
  forgetful: Readonly<Record<string, string>> = {},
  record = aRecord(),
): Promise<readonly unknown[]> {
  const bodies: unknown[] = []
  const post = async (...[, , body]: Parameters<Transport['post']>) => bodies.push(body)
  const store = { readRecord: async () => record } as unknown as Store
  const desk = new LeaseDesk(
    { store, transport: { post }, timings: defaultTimings, failed: (what) => expect.fail(what) },
    { addressOf: () => '127.24.1.1:9400', forgetful },
  )
  for (const observation of observations) await desk.confirm(observation)
  return bodies
}

it('A primary that asks is told that its epoch goes on, once for each question', async () => {
  const [confirmation, ...more] = await confirmed([asks(), asks()])
  expect(confirmation).toMatchObject({ cluster: 'shop', epoch: 1, question: 4 })
  expect(more).toEqual([])
})

it('An older agent hears with it of the replicas that are forgetful, where that agent knows the word', async () => {
  const forgetful = { 'shop-1': 'run-1.0' }
  expect(await confirmed([asks({ heardForgetful: {} })], forgetful)).toMatchObject([{ forgetful }])
  // A newer one hears of them unasked.
  expect((await confirmed([asks({ heardForgetful: {}, takesWord: true })], forgetful))[0]).not.toHaveProperty(
    'forgetful',
  )
  // An older agent refuses a word that it does not know, and with it its lease.
  expect((await confirmed([asks()], forgetful))[0]).not.toHaveProperty('forgetful')
  expect((await confirmed([asks({ heardForgetful: {} })]))[0]).not.toHaveProperty('forgetful')
})

it('Who is primary in the record no more is told nothing', async () => {
  expect(await confirmed([asks({ member: 'shop-1@another' })])).toEqual([])
})

it('A primary whose successor is to fetch is told nothing: a manager may wait for the end of that lease', async () => {
  expect(await confirmed([asks()], {}, aRecord({ intent: fetchIntent() }))).toEqual([])
})
