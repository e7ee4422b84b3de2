import { describe, expect, it } from 'vitest'
import { passwordFor } from '#common/mysql/account-password.ts'
import { ScriptedClient } from '#controller-runtime/testing-kube-client.ts'
import { virtualWorld } from '#common/ports/testing-world.ts'
import { secrets, secretsOf, textIn } from '#kube/secrets/secrets.ts'
import { aCluster } from '#kube/testing.ts'
import type { Request } from '#failover/judge/situation.ts'
import { aSituation } from '#failover/testing.ts'
import { rotatePasswords } from './rotate-passwords.ts'

const key = (name: string) => ({ namespace: 'shops', name })
const asking = (value: string) => aCluster({}, { annotations: { 'regent.dev/rotate-passwords': value } })
const users = ['client', 'admin'] as const
const hour = 3_600_000

/** The Secrets of a cluster, and what its servers accept: two generations at most, as MySQL does it. */
async function rig(made = aCluster()) {
  const world = virtualWorld()
  const client = new ScriptedClient()
  for (const secret of secretsOf(made, new Map(), world.random)) await client.create(secrets, secret)
  const told: string[] = []
  const mysql = { generation: '', old: undefined as string | undefined, writable: true, obeys: true }
  let requests: readonly Request[] = []
  const server = () => ({
    passwords: users.map((user) => ({ user, generation: mysql.generation, keepsOld: mysql.old !== undefined })),
  })
  const loop = {
    input: () =>
      aSituation({
        requests,
        views: {
          'shop-0': { server: { ...server(), ...(mysql.writable ? {} : { dumpThreads: [] }) } },
          'shop-1': { server: server() },
          'shop-2': { server: server() },
        },
      }),
    addRequest: (request: Request) => void (requests = [...requests, request]),
    dropRequest: (id: string) => void (requests = requests.filter((one) => one.id !== id)),
  }
  const passwords = (_key: object, what: string, note: string) =>
    void (told.at(-1) !== `${what}: ${note}` && told.push(`${what}: ${note}`))
  const parts = {
    client,
    objects: { client, world, managerNamespace: 'regent', disabled: new Set<never>() },
    events: { passwords },
  }
  /** What the loop makes of the request. */
  const obey = () => {
    const [request] = requests
    if (request?.kind !== 'passwords' || !mysql.obeys || !mysql.writable) return
    if (request.generation !== mysql.generation)
      Object.assign(mysql, { old: mysql.generation, generation: request.generation })
    else if (request.old === 'discarded') mysql.old = undefined
  }
  const accepted = async () => [mysql.generation, mysql.old].filter((generation) => generation !== undefined)
  const found = async () => {
    const internal = await client.get(secrets, key('shop-internal'))
    const secret = textIn(internal, 'account-secret') ?? ''
    const shown = await Promise.all(
      users.map(async (user) => textIn(await client.get(secrets, key(`shop-${user}`)), 'password')),
    )
    return { internal, secret, shown }
  }
  return {
    world,
    client,
    told,
    mysql,
    found,
    requests: () => requests,
    /** One run of it, by a manager that knows nothing but what is stored. */
    step: async (cluster = asking('1')) => {
      const waitMs = await rotatePasswords(parts, cluster, loop, new AbortController().signal)
      obey()
      return waitMs
    },
    /** A manager dies: what only it knew is gone. */
    dies: () => void (requests = []),
    /** Every password in a Secret is one that MySQL accepts. */
    isRight: async () => {
      const { secret, shown } = await found()
      const right = await accepted()
      return users.every((user, index) =>
        right.some((generation) => passwordFor(secret, user, generation) === shown[index]),
      )
    },
  }
}

type Rig = Awaited<ReturnType<typeof rig>>

async function run(one: Rig, times = 6, cluster = asking('1')): Promise<void> {
  for (let time = 0; time < times; time++) {
    await one.step(cluster)
    expect(await one.isRight()).toBe(true)
  }
}

describe('a rotation of passwords', () => {
  it('changes MySQL first, then the Secrets, and ends the old passwords an hour later', async () => {
    const one = await rig()
    const { shown: before } = await one.found()
    await run(one)
    const { shown, internal } = await one.found()
    expect(shown).toHaveLength(2)
    expect(shown.filter((password) => before.includes(password))).toEqual([])
    expect(internal?.metadata.annotations).toMatchObject({
      'regent.dev/rotate-passwords': '1',
      'regent.dev/old-passwords-until': '2026-01-01T01:00:00.000Z',
    })
    expect(one.mysql.old).toBe('')
    await one.world.advance(hour - 1)
    await run(one)
    expect(one.mysql.old).toBe('')
    await one.world.advance(1)
    await run(one)
    expect(one.mysql.old).toBeUndefined()
    expect((await one.found()).internal?.metadata.annotations).toEqual({ 'regent.dev/rotate-passwords': '1' })
    expect(one.told.map((line) => line.replace(/:.*/, ''))).toEqual(['Began', 'Waits', 'Changed', 'Waits', 'Ended'])
    expect(one.requests()).toEqual([])
    expect(await one.step()).toBe(600_000)
  })

  it('is done once for each value', async () => {
    const one = await rig()
    await run(one)
    await one.world.advance(hour)
    await run(one)
    const { shown } = await one.found()
    await run(one)
    expect((await one.found()).shown).toEqual(shown)
    await run(one, 6, asking('2'))
    expect((await one.found()).shown).not.toEqual(shown)
  })

  it('waits for the hour of the one before, and says so', async () => {
    const one = await rig()
    await run(one)
    const { shown } = await one.found()
    await run(one, 6, asking('2'))
    expect((await one.found()).shown).toEqual(shown)
    expect(one.told.at(-1)).toBe(
      'Waits: the passwords before are accepted until 2026-01-01T01:00:00.000Z, and MySQL keeps no more than two',
    )
    await one.world.advance(hour)
    await run(one, 8, asking('2'))
    expect((await one.found()).shown).not.toEqual(shown)
  })

  it('waits while the cluster takes no writes, says so, and is done later by itself', async () => {
    const one = await rig()
    const { shown } = await one.found()
    one.mysql.writable = false
    await run(one)
    expect(one.told.at(-1)).toBe('Waits: the cluster takes no writes now')
    expect((await one.found()).shown).toEqual(shown)
    one.mysql.writable = true
    await run(one)
    expect((await one.found()).shown).not.toEqual(shown)
  })

  it('shows nothing that MySQL has not', async () => {
    const one = await rig()
    const { shown } = await one.found()
    one.mysql.obeys = false
    await run(one)
    expect((await one.found()).shown).toEqual(shown)
    expect(one.requests()).toMatchObject([{ kind: 'passwords', old: 'kept' }])
  })

  it('is not asked for by nothing, nor by what a new cluster says from the start', async () => {
    for (const cluster of [aCluster(), asking('1')]) {
      const one = await rig(cluster)
      const { shown } = await one.found()
      await run(one, 3, cluster)
      expect((await one.found()).shown).toEqual(shown)
      expect(one.told).toEqual([])
    }
  })

  it('brings MySQL to what the Secrets show where it has something else: on new volumes under old Secrets, or after a failover that lost the change', async () => {
    const one = await rig()
    await run(one)
    await one.world.advance(hour)
    await run(one)
    const { generation } = one.mysql
    Object.assign(one.mysql, { generation: '', old: undefined })
    expect(await one.step()).toBeLessThanOrEqual(600_000)
    expect(one.mysql).toMatchObject({ generation, old: '' })
    expect(await one.isRight()).toBe(true)
  })

  it('names no password in what it tells', async () => {
    const one = await rig()
    const { shown: before, secret } = await one.found()
    await run(one)
    const { shown } = await one.found()
    for (const hidden of [secret, ...before, ...shown]) expect(one.told.join()).not.toContain(hidden)
  })
})

describe('a manager that dies at any request of a rotation', () => {
  it('leaves Secrets that are right, and the next one carries it on to its end', async () => {
    const whole = await rig()
    await run(whole)
    await whole.world.advance(hour)
    await run(whole)
    const calls = whole.client.calls.length
    for (let deadly = 4; deadly <= calls; deadly++) {
      const one = await rig()
      one.client.before = (_verb, call) => {
        if (call === deadly) throw new Error('the manager died')
      }
      const dying = async () => {
        await one.step().catch(() => one.dies())
        one.client.before = (_verb, call) => {
          if (call === deadly) throw new Error('the manager died')
        }
      }
      for (let time = 0; time < 8; time++) await dying()
      expect(one.mysql.old).toBe('')
      await one.world.advance(hour)
      for (let time = 0; time < 4; time++) await dying()
      one.client.before = () => undefined
      expect(await one.isRight()).toBe(true)
      expect(one.mysql).toMatchObject({ old: undefined, generation: expect.stringMatching(/^[0-9a-f]{32}$/) as string })
      expect((await one.found()).internal?.metadata.annotations).toEqual({ 'regent.dev/rotate-passwords': '1' })
    }
  })

  it('takes nothing back when it wakes up and another has gone on: its write is refused', async () => {
    const one = await rig()
    await one.step()
    one.client.before = async (verb) => {
      if (verb !== 'patch') return
      one.client.before = () => undefined
      await one.client.patch(secrets, key('shop-internal'), { metadata: { labels: { changed: 'meanwhile' } } })
    }
    await one.step()
    await expect(one.step()).rejects.toMatchObject({ status: 409 })
    expect(await one.isRight()).toBe(true)
  })
})
