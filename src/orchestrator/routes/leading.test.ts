import { describe, expect, test } from 'vitest'
import { deadServer, lostAgent } from '#failover/testing.ts'
import type { ViewOverrides } from '#topology/testing.ts'
import { shopRecovery } from '#manager/api/testing.ts'
import type { KnownCluster } from '#manager/clusters/cluster-service.ts'
import type { Death, RecoveryEnded } from '#manager/clusters/watched.ts'
import { orchestratorOver, watchedShop } from '../testing.ts'
import type { Hands } from '../trees/hands.ts'
import type { Change } from '../trees/step.ts'

const death: Death = { words: 'nobody listens there', loss: 'what it wrote since is not known', isLossAccepted: false }
const lost: ViewOverrides = { server: { channel: { ioRunning: 'connecting', ioError: 'error connecting to source' } } }
const gaveUp: ViewOverrides = { server: { channel: { ioRunning: 'no', ioError: 'error connecting to source' } } }

/** A tree whose root is dead, by what replicas say; `alive`: from a look on the root answers again. */
async function deadRoot(
  known: Partial<Death> | null,
  { alive = Infinity, refuses = '', root = deadServer, replica = lost } = {},
) {
  const dead = watchedShop({ views: { 'shop-0': root, 'shop-1': replica, 'shop-2': lost } })
  const clusters: KnownCluster[] = []
  const withDeath = (one: KnownCluster): KnownCluster => ({
    ...one,
    ...(one.watched && {
      watched: {
        ...one.watched,
        death: known === null ? null : { ...death, ...known },
        doubt: known === null ? 'shop-1 still shows a connection' : '',
      },
    }),
  })
  clusters.push(withDeath(dead))
  const done: string[] = []
  const ended: RecoveryEnded[] = []
  let looks = 0
  const note = ({ steps, undo = [] }: Change): readonly string[] => {
    const words = (steps.length > 0 ? steps : undo).map((step) => `${step.do} ${step.at.slice(5)}`)
    const isRefused = refuses !== '' && words.includes(refuses)
    if (isRefused && steps.length > 0) throw new Error(`${refuses} was refused`)
    // What only puts right is done at each server for itself.
    done.push(words.filter((one) => one !== refuses).join(', '))
    return isRefused ? [`shop-1: ${refuses} was refused`] : []
  }
  const hands: Hands = {
    async lookNow() {
      looks += 1
      if (looks >= alive) clusters[0] = withDeath(watchedShop({ views: { 'shop-1': lost, 'shop-2': lost } }))
    },
    carryOut: async (_, change) => void note(change),
    begin: () => ({
      id: shopRecovery.id,
      carryOut: async (change) => note(change),
      tell: () => undefined,
      end: (one) => void ended.push(one),
    }),
    discover: async () => undefined,
  }
  const { get, asked } = await orchestratorOver(clusters, { hands, recoveries: [shopRecovery] })
  return { get, asked, done, ended }
}

describe('The root of a tree that is only watched', () => {
  test('is not led instead of while nothing proves that it is lost, however a person asks', async () => {
    const { get, done } = await deadRoot(null)
    for (const path of ['force-master-failover/shop', 'force-master-takeover/shop/shop-1/3306'])
      expect((await get(path)).body.Message).toMatch(/^shop-0:3306 may be alive: shop-1 still shows a connection/)
    expect(done).toEqual([])
  })

  test('is judged by those replicas that can be asked: one that cannot try again hinders nobody', async () => {
    const { get } = await deadRoot(null, { replica: gaveUp, refuses: 'startReceiving 1' })
    expect((await get('force-master-failover/shop')).body.Message).toMatch(/^shop-0:3306 may be alive/)
  })

  test('is recovered only where its owner accepts what may be lost; who forces accepts that', async () => {
    const kept = await deadRoot({})
    expect((await kept.get('recover/shop-0/3306')).body).toMatchObject({
      Message: expect.stringMatching(
        /^Recovery not attempted: what it wrote since is not known, and failover.acceptLoss/,
      ) as string,
      Details: { Hostname: 'shop-0' },
    })
    expect([kept.done, kept.ended]).toEqual([[], []])
    const accepted = await deadRoot({ isLossAccepted: true })
    expect((await accepted.get('recover/shop-0/3306')).body).toMatchObject({
      Code: 'OK',
      Details: { Hostname: 'shop-1' },
    })
    const forced = await deadRoot({})
    expect((await forced.get('force-master-failover/shop')).body).toMatchObject({ Code: 'OK', Details: { UID: 'r1' } })
    for (const { done, ended, asked } of [accepted, forced]) {
      expect(done).toEqual([
        'stopReceiving 1, stopReceiving 2, drain 1, drain 2',
        'absent 0, lead 1, stop 2, follow 2, start 2',
      ])
      expect(ended).toMatchObject([{ outcome: 'succeeded', to: 'shop-1', lost: [] }])
      expect(asked).toMatchObject([
        { operation: 'downtime', request: { instance: 'shop-0', reason: 'lost-in-recovery' } },
      ])
    }
  })

  test('that answers again in the middle keeps its place, and its replicas receive again', async () => {
    const { get, done, ended } = await deadRoot({}, { alive: 2 })
    expect((await get('force-master-failover/shop')).body.Message).toBe('shop-0:3306 answers again')
    expect(done.at(-1)).toBe('startReceiving 1, startReceiving 2')
    expect(ended).toMatchObject([{ outcome: 'undone', to: null, sentence: 'shop-0:3306 answers again' }])
  })

  test('that answers again keeps its place, and why that is so is told though a replica stays deaf', async () => {
    const { get, done } = await deadRoot({}, { alive: 2, refuses: 'startReceiving 1' })
    expect((await get('force-master-failover/shop')).body.Message).toBe(
      'shop-0:3306 answers again; shop-1: startReceiving 1 was refused',
    )
    expect(done.at(-1)).toBe('startReceiving 2')
  })

  test('is told of where a step fails, and the recovery has an end', async () => {
    const { get, ended } = await deadRoot({}, { refuses: 'lead 1' })
    expect((await get('force-master-failover/shop')).body.Message).toBe('lead 1 was refused')
    expect(ended).toMatchObject([{ outcome: 'undone' }])
  })

  test('hands over to a direct child alone', async () => {
    const { get } = await deadRoot({})
    expect((await get('force-master-takeover/shop/shop-0/3306')).body.Message).toBe(
      'You may only promote a direct child of the master shop-0:3306. The master of shop-0:3306 is :0.',
    )
    expect((await get('graceful-master-takeover-auto/shop')).body.Message).toMatch(/last check invalid|auto-detect/)
  })
})

describe('Of a pair that follows each other, one is lost', () => {
  const root: ViewOverrides = { follows: 'shop-1', ...lostAgent }

  test('and the other one is not opened while nothing proves that: too many connections are no death', async () => {
    const { get, done } = await deadRoot(null, { root })
    expect((await get('recover/shop-0/3306')).body).toMatchObject({
      Code: 'ERROR',
      Message: expect.stringMatching(
        /^Recovery not attempted: shop-0:3306 may be alive: shop-1 still shows a connection/,
      ) as string,
    })
    expect(done).toEqual([])
  })

  test('and the other one leads alone; the lost one calls nobody until a person has looked there', async () => {
    const { get, done, ended, asked } = await deadRoot({}, { root })
    expect((await get('recover/shop-0/3306')).body).toMatchObject({ Code: 'OK', Details: { Hostname: 'shop-1' } })
    expect(done).toEqual([
      'drain 1, covers 1, absent 0, stop 1, follow 1, start 1, absent 0, readOnly 1',
      'drain 2, stop 2, follow 2, start 2',
    ])
    expect(ended).toMatchObject([{ outcome: 'succeeded', to: 'shop-1', lost: [] }])
    expect(asked).toMatchObject([
      { operation: 'downtime', request: { instance: 'shop-0', reason: 'lost-in-recovery' } },
    ])
  })
})

test('A co-master that was opened leads, and that is told, also where no replica could be moved below it', async () => {
  const root: ViewOverrides = { follows: 'shop-1', ...lostAgent }
  const { get, ended, asked } = await deadRoot({}, { root, refuses: 'follow 2' })
  expect((await get('recover/shop-0/3306')).body).toMatchObject({ Code: 'OK', Details: { Hostname: 'shop-1' } })
  expect(ended).toMatchObject([{ outcome: 'succeeded', to: 'shop-1', lost: ['shop-2'] }])
  expect(asked.map(({ request }) => (request as { instance: string }).instance)).toEqual(['shop-0', 'shop-2'])
})

describe('A pair that follows each other, in a tree that is only watched', () => {
  test.each([
    'graceful-master-takeover/shop/shop-2/3306',
    'graceful-master-takeover-auto/shop',
    'force-master-takeover/shop/shop-2/3306',
    'force-master-failover/shop',
  ])('has no master that %s could be about: the other one may take writes, too', async (path) => {
    const done: Change[] = []
    const hands: Hands = {
      lookNow: async () => undefined,
      carryOut: async (_, change) => void done.push(change),
      begin: () => ({
        id: shopRecovery.id,
        async carryOut(change) {
          done.push(change)
          return []
        },
        tell: () => undefined,
        end: () => undefined,
      }),
      discover: async () => undefined,
    }
    const pair = watchedShop({ views: { 'shop-0': { follows: 'shop-1' } } })
    const { get } = await orchestratorOver([pair], { hands, recoveries: [shopRecovery] })
    expect((await get('instance/shop-0/3306')).body).toMatchObject({ IsCoMaster: true })
    expect(await get(path)).toMatchObject({
      status: 500,
      body: {
        Code: 'ERROR',
        Message: expect.stringMatching(/^Cannot deduce cluster master for shop-0:3306/) as string,
      },
    })
    expect(done).toEqual([])
  })
})
