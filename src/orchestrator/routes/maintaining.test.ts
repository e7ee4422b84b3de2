import { expect, test } from 'vitest'
import type { KnownCluster } from '#manager/clusters/cluster-service.ts'
import { knownShop, orchestratorOver, watchedShop } from '../testing.ts'
import type { Hands } from '../trees/hands.ts'
import type { Change } from '../trees/step.ts'

const held = (key: string, reason: string): string =>
  `Cannot begin maintenance for instance: ${key}; maintenance reason: ${reason}`

const refusedBegin = (key: string, reason: string) => ({
  Code: 'ERROR',
  Message: held(key, reason),
  Details: null,
})

/** A cluster whose clock the test sets. */
async function atTime(known: () => KnownCluster, wallMs = 1_000_000_000.25) {
  const clusters: KnownCluster[] = [known()]
  const set = (now: number): void => void (clusters[0] = { ...known(), wallMs: now })
  set(wallMs)
  const done: string[] = []
  const carryOut = async ({ steps }: Change): Promise<readonly string[]> => {
    done.push(...steps.map((step) => `${step.do} ${step.at}`))
    return []
  }
  const hands: Hands = {
    lookNow: async () => undefined,
    carryOut: async (_, change) => void (await carryOut(change)),
    begin: () => ({ id: 'r1', carryOut, tell: () => undefined, end: () => undefined }),
    discover: async () => undefined,
  }
  return { ...(await orchestratorOver(clusters, { hands })), set, done }
}

test.each([
  ['manages', knownShop],
  ['only watches', watchedShop],
])('Maintenance is a lock where Regent %s: a second one is refused until it is ended', async (_, known) => {
  const { get, asked } = await atTime(known)
  const key = { Hostname: 'shop-1', Port: 3306 }
  expect((await get('begin-maintenance/shop-1/3306/ann/new%20disk')).body).toEqual({
    Code: 'OK',
    Message: 'Maintenance begun: shop-1:3306',
    Details: key,
  })
  for (const owner of ['bob', 'ann'])
    expect(await get(`begin-maintenance/shop-1/3306/${owner}/other`)).toEqual({
      status: 500,
      body: refusedBegin('shop-1:3306', 'other'),
    })
  expect((await get('in-maintenance/shop-1/3306')).body).toMatchObject({ Message: 'true', Details: 'shop-1:3306' })
  expect((await get('in-maintenance/shop-2/3306')).body).toMatchObject({ Message: 'false', Details: '' })
  expect((await get('begin-maintenance/shop-2/3306/bob/other')).body.Code).toBe('OK')
  expect((await get('end-maintenance/shop-1/3306')).body).toEqual({
    Code: 'OK',
    Message: 'Maintenance ended: shop-1:3306',
    Details: key,
  })
  expect((await get('begin-maintenance/shop-1/3306/bob/other')).body.Code).toBe('OK')
  // A downtime of somebody else's is neither begun nor ended by that.
  expect(asked).toEqual([])
})

test('A maintenance ends by itself after ten minutes, and is listed until then', async () => {
  const { get, set, said } = await atTime(knownShop, Date.UTC(2026, 10, 28, 12))
  await get('begin-maintenance/shop-1/3306/ann/disk%0A')
  set(Date.UTC(2026, 10, 28, 12, 9, 59))
  const id = Date.UTC(2026, 10, 28, 12)
  expect((await get('maintenance')).body).toEqual([
    {
      MaintenanceId: id,
      Key: { Hostname: 'shop-1', Port: 3306 },
      BeginTimestamp: '2026-11-28 12:00:00',
      SecondsElapsed: 599,
      IsActive: true,
      Owner: 'ann',
      Reason: 'disk',
    },
  ])
  set(Date.UTC(2026, 10, 28, 12, 10))
  expect((await get('maintenance')).body).toEqual([])
  expect((await get('in-maintenance/shop-1/3306')).body.Message).toBe('false')
  expect((await get('begin-maintenance/shop-1/3306/bob/disk')).body.Code).toBe('OK')
  await get('end-maintenance/shop-1/3306')
  expect(said.get('shop')).toEqual({})
})

test('A maintenance is ended by its number, which no other one has, and a number of nobody ends nothing', async () => {
  const { get } = await atTime(knownShop)
  await get('begin-maintenance/shop-1/3306/ann/disk')
  await get('begin-maintenance/shop-2/3306/ann/disk')
  const list = async () => (await get('maintenance')).body as unknown as { readonly MaintenanceId: number }[]
  const [one, other] = (await list()).map(({ MaintenanceId }) => MaintenanceId)
  expect(other).toBeGreaterThan(one ?? Infinity)
  expect((await get(`end-maintenance/${one}`)).body).toEqual({
    Code: 'OK',
    Message: `Maintenance ended: ${one}`,
    Details: one,
  })
  expect((await list()).map(({ MaintenanceId }) => MaintenanceId)).toEqual([other])
  expect((await get('end-maintenance/1')).body.Code).toBe('OK')
  expect((await get('end-maintenance/shop-2')).body.Code).toBe('ERROR')
  expect(await list()).toHaveLength(1)
})

test.each([
  ['relocate/shop-1/3306/shop-2/3306', 'shop-1', 'move below shop-2:3306'],
  ['move-below-gtid/shop-1/3306/shop-2/3306', 'shop-1', 'move below shop-2:3306'],
  ['repoint/shop-1/3306/shop-0/3306', 'shop-1', 'repoint'],
  ['reset-replica/shop-1/3306', 'shop-1', 'reset replica'],
  ['detach-replica/shop-1/3306', 'shop-1', 'detach-replica-master-host'],
  ['make-co-master/shop-1/3306', 'shop-0', 'shop-1:3306 turns into co-master of this'],
])('%s is refused while somebody has %s in maintenance, and done afterwards', async (path, locked, reason) => {
  const { get, done } = await atTime(watchedShop)
  await get(`begin-maintenance/${locked}/3306/ann/disk`)
  expect((await get(path)).body).toMatchObject({
    Code: 'ERROR',
    Message: `Cannot begin maintenance on ${locked}:3306: ${held(`${locked}:3306`, reason)}`,
  })
  expect(done).toEqual([])
  await get(`end-maintenance/${locked}/3306`)
  expect((await get(path)).body.Code).toBe('OK')
  expect(done).not.toEqual([])
})

test('Replication is stopped and a server closed where somebody has it in maintenance, as orchestrator does that', async () => {
  const { get } = await atTime(watchedShop)
  await get('begin-maintenance/shop-1/3306/ann/disk')
  for (const path of ['stop-replica/shop-1/3306', 'set-read-only/shop-1/3306'])
    expect([path, (await get(path)).body.Code]).toEqual([path, 'OK'])
})

test('A replica in maintenance is left where it is, and hinders none of the others', async () => {
  const { get, done } = await atTime(() => watchedShop({ shape: { instances: 4 } }))
  await get('begin-maintenance/shop-2/3306/ann/disk')
  const why = `Cannot begin maintenance on shop-2:3306: ${held('shop-2:3306', 'move below shop-1:3306')}`
  expect((await get('relocate-replicas/shop-0/3306/shop-1/3306')).body.Message).toBe(
    `Relocated 1 replicas of shop-0:3306 below shop-1:3306; 1 errors: [${why}]`,
  )
  expect(done.filter((step) => step.endsWith('shop-2'))).toEqual([])
})

test('A takeover is refused where a sibling in maintenance would have to move, before anything is done', async () => {
  const { get, done } = await atTime(watchedShop)
  await get('begin-maintenance/shop-2/3306/ann/disk')
  const { body } = await get('graceful-master-takeover/shop/shop-1/3306')
  expect(body.Code).toBe('ERROR')
  expect(body.Message).toContain(
    `Desginated instance shop-1:3306 cannot take over all of its siblings. Error: Cannot begin maintenance on shop-2:3306: ${held('shop-2:3306', 'move below shop-1:3306')}`,
  )
  expect(done).toEqual([])
})

test('What is in maintenance is not analysed, and not recovered', async () => {
  const dead = () => watchedShop({ views: { 'shop-0': { reachable: false } } })
  const { get, done } = await atTime(dead)
  const codes = async () =>
    ((await get('replication-analysis')).body.Details as { AnalyzedInstanceKey: { Hostname: string } }[]).map(
      ({ AnalyzedInstanceKey: { Hostname } }) => Hostname,
    )
  expect(await codes()).toContain('shop-0')
  await get('begin-maintenance/shop-0/3306/ann/disk')
  expect(await codes()).not.toContain('shop-0')
  expect((await get('recover/shop-0/3306')).body).toMatchObject({ Code: 'ERROR', Message: 'Recovery not attempted' })
  expect(done).toEqual([])
})

test('Whoever wants a maintenance waits for the change that is under way', async () => {
  const ends: (() => void)[] = []
  const hands: Hands = {
    lookNow: async () => undefined,
    carryOut: async () => new Promise<void>((resolve) => ends.push(resolve)),
    begin: () => expect.fail('no recovery'),
    discover: async () => undefined,
  }
  const { get, said } = await orchestratorOver([watchedShop()], { hands })
  const moved = get('relocate/shop-1/3306/shop-2/3306')
  await expect.poll(() => ends).toHaveLength(1)
  const begun = get('begin-maintenance/shop-1/3306/ann/disk')
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve))
  expect(said.get('shop')).toEqual({})
  ends[0]?.()
  expect((await moved).body.Code).toBe('OK')
  expect((await begun).body.Code).toBe('OK')
})
