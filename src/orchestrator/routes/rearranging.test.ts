import { expect, test } from 'vitest'
import type { KnownCluster } from '#manager/clusters/cluster-service.ts'
import { orchestratorOver, watchedShop } from '../testing.ts'
import type { Hands } from '../trees/hands.ts'
import type { Change } from '../trees/step.ts'

/** A tree whose looks take so many turns each, and where `follow` makes the one server follow the other. */
async function slowTree(turnsOfLooks: readonly number[]) {
  const clusters: KnownCluster[] = [watchedShop()]
  const follows: Record<string, string> = {}
  const done: string[] = []
  let looks = 0
  const wait = async (turns: number): Promise<void> => {
    for (let turn = 0; turn < turns; turn += 1) await new Promise((resolve) => setImmediate(resolve))
  }
  const hands: Hands = {
    async lookNow() {
      // Who has looked knows what was so then, however long others took to answer.
      const seen = watchedShop({ views: viewsOf(follows) })
      await wait(turnsOfLooks[looks++] ?? 1)
      clusters[0] = seen
    },
    async carryOut(_, { steps }: Change) {
      for (const step of steps) {
        if (step.do !== 'follow' || !('instance' in step.source)) continue
        follows[step.at] = step.source.instance
        done.push(`${step.at} below ${step.source.instance}`)
      }
    },
    begin: () => expect.fail('no recovery'),
    discover: async () => undefined,
  }
  return { ...(await orchestratorOver(clusters, { hands })), done }
}

function viewsOf(follows: Readonly<Record<string, string>>) {
  return Object.fromEntries(Object.entries(follows).map(([name, source]) => [name, { follows: source }]))
}

test('Two who move a server below each other at once make no ring, however long the looks of one of them take', async () => {
  const { get, done } = await slowTree([1, 60, 1, 1])
  const [one, other] = await Promise.all([
    get('relocate/shop-1/3306/shop-2/3306'),
    get('relocate/shop-2/3306/shop-1/3306'),
  ])
  expect(done).toEqual(['shop-1 below shop-2'])
  expect(one.body.Code).toBe('OK')
  expect(other.body).toMatchObject({ Code: 'ERROR', Message: 'relocate: shop-1:3306 is a descendant of shop-2:3306' })
})

test('A request that waited for its turn is done at no server that has got the name meanwhile', async () => {
  const known = watchedShop()
  const [first, second, third] = known.snapshot.instances
  if (first === undefined || second === undefined || third === undefined) throw new Error('there are three')
  const clusters: KnownCluster[] = [known]
  const done: string[] = []
  const hands: Hands = {
    // Whoever adopts anew leaves out the second server: the third has its name now.
    async lookNow() {
      const instances = [first, { ...third, name: second.name }]
      clusters[0] = { ...known, snapshot: { instances } }
    },
    carryOut: async (_, { steps }: Change) => void done.push(...steps.map(({ at }) => at)),
    begin: () => expect.fail('no recovery'),
    discover: async () => undefined,
  }
  const { get } = await orchestratorOver(clusters, { hands, hostNames: 'address' })
  expect((await get(`reset-replica/${second.host}/3306`)).body).toMatchObject({
    Code: 'ERROR',
    Message: 'shop-1 is another server since shop was adopted anew',
  })
  expect(done).toEqual([])
})

/** Four servers, three of which follow the first; a person changes the tree while the first change takes its time. */
async function changedMeanwhile(changed: Readonly<Record<string, string>>) {
  const follows: Record<string, string> = {}
  const done: string[] = []
  let nowMs = 2_000
  const looked = () => watchedShop({ shape: { instances: 4 }, views: viewsOf(follows), nowMs })
  const clusters: KnownCluster[] = [looked()]
  const hands: Hands = {
    async lookNow() {
      clusters[0] = looked()
    },
    async carryOut(_, { steps }: Change) {
      for (const step of steps)
        if (step.do === 'follow' && 'instance' in step.source) {
          follows[step.at] = step.source.instance
          done.push(`${step.at} below ${step.source.instance}`)
        }
      if (done.length > 1) return
      Object.assign(follows, changed)
      nowMs += 15_000
      clusters[0] = { ...looked() }
    },
    begin: () => expect.fail('no recovery'),
    discover: async () => undefined,
  }
  return { ...(await orchestratorOver(clusters, { hands })), done }
}

test('Who moves replicas one after the other makes no ring with what a person has moved meanwhile', async () => {
  const { get, done } = await changedMeanwhile({ 'shop-1': 'shop-3' })
  expect((await get('relocate-replicas/shop-0/3306/shop-1/3306')).body.Message).toBe(
    'Relocated 1 replicas of shop-0:3306 below shop-1:3306; 1 errors: [relocate-replicas: shop-1:3306 is a descendant of shop-3:3306]',
  )
  expect(done).toEqual(['shop-2 below shop-1'])
})

test('A replica that a person has moved elsewhere meanwhile stays there', async () => {
  const { get, done } = await changedMeanwhile({ 'shop-3': 'shop-2' })
  expect((await get('relocate-replicas/shop-0/3306/shop-1/3306')).body.Message).toBe(
    'Relocated 1 replicas of shop-0:3306 below shop-1:3306; 1 errors: [shop-3:3306 does not replicate from shop-0:3306 any more]',
  )
  expect(done).toEqual(['shop-2 below shop-1'])
})

test('Only those replicas are moved that a pattern means, and who is not moved hinders nobody', async () => {
  const { get, done } = await changedMeanwhile({})
  expect((await get('relocate-replicas/shop-0/3306/shop-1/3306?pattern=shop-3')).body).toMatchObject({
    Message: 'Relocated 1 replicas of shop-0:3306 below shop-1:3306; 0 errors: []',
    Details: [{ Key: { Hostname: 'shop-3' } }],
  })
  expect(done).toEqual(['shop-3 below shop-1'])
  for (const path of [
    'move-up-replicas/shop-1/3306',
    'repoint-replicas/shop-1/3306',
    'relocate-replicas/shop-1/3306/shop-0/3306',
  ])
    expect([path, (await get(`${path}?pattern=nobody`)).body]).toMatchObject([path, { Code: 'OK', Details: [] }])
  expect((await get('relocate-replicas/shop-1/3306/shop-0/3306?pattern=(a%2B)%2B')).body).toMatchObject({
    Code: 'ERROR',
  })
  expect(done).toEqual(['shop-3 below shop-1'])
})

test('A replica that is to be stopped nicely has applied what it received', async () => {
  const clusters: KnownCluster[] = [watchedShop()]
  const done: string[] = []
  const hands: Hands = {
    lookNow: async () => undefined,
    carryOut: async (_, { steps }: Change) => void done.push(...steps.map((step) => `${step.do} ${step.at}`)),
    begin: () => expect.fail('no recovery'),
    discover: async () => undefined,
  }
  const { get } = await orchestratorOver(clusters, { hands })
  expect((await get('stop-replica-nice/shop-1/3306')).body.Message).toBe('Replica stopped nicely: shop-1:3306')
  expect(done).toEqual(['stopReceiving shop-1', 'drain shop-1', 'stop shop-1'])
})

test('A server that answered no look since the request is not planned with: it follows another one by now, perhaps', async () => {
  const lookedAt = (askedMs: number): KnownCluster => {
    const known = watchedShop({ nowMs: 2_000 })
    const { 'shop-2': late, ...others } = known.watched?.servers ?? {}
    if (known.watched === undefined || late === undefined) throw new Error('shop-2 is not watched')
    return { ...known, watched: { ...known.watched, servers: { ...others, 'shop-2': { ...late, askedMs } } } }
  }
  const done: string[] = []
  const hands: Hands = {
    lookNow: async () => undefined,
    carryOut: async (_, { steps }: Change) => void done.push(...steps.map(({ at }) => at)),
    begin: () => expect.fail('no recovery'),
    discover: async () => undefined,
  }
  const late = await orchestratorOver([lookedAt(1_900)], { hands })
  for (const path of ['relocate/shop-1/3306/shop-2/3306', 'relocate/shop-2/3306/shop-1/3306'])
    expect((await late.get(path)).body.Message).toBe('shop-2:3306: not recently checked')
  expect(done).toEqual([])
  const fresh = await orchestratorOver([lookedAt(2_000)], { hands })
  expect((await fresh.get('relocate/shop-1/3306/shop-2/3306')).body.Code).toBe('OK')
})
