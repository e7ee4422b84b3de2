import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createConnection } from 'mysql2/promise'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { until } from '#test/support/bare-instance.ts'
import { standIn, unmodified, type Answered } from '#test/support/orchestrator-commands.ts'
import { WatchedTrees } from '#test/support/watched-trees.ts'

const program = unmodified ?? standIn

interface Recovery {
  readonly UID: string
  readonly IsSuccessful: boolean
  readonly IsActive: boolean
  readonly SuccessorKey: unknown
  readonly LostReplicas: readonly unknown[]
  readonly AnalysisEntry: { readonly Analysis: string; readonly Description: string }
}

/** `shop`: 1 and 2 below 0, 3 and 4 below 2. `old`: without GTIDs. */
describe('The root of a tree that Regent only watches', () => {
  let trees: WatchedTrees
  beforeAll(async () => {
    trees = await WatchedTrees.start({ shop: [null, 0, 0, 2, 2] })
    await trees.adopt('shop', trees.listen)
    await until(async () => (await ask('-c all-instances')).stdout.split('\n').length === 5, 'all servers are seen')
  })
  afterAll(async () => trees.end())

  const ask = async (words: string): Promise<Answered> => {
    const parts = words.split(' ').map((word) => (/^shop-\d$/.test(word) ? trees.key(word) : word))
    const { code, stdout, stderr } = await trees.client(program)(...parts)
    return { code, stdout: trees.named(stdout), stderr: trees.named(stderr) }
  }
  const links = async (): Promise<string> => (await trees.links('shop')).join(' ')
  const isOpen = async (name: string): Promise<boolean> => {
    const [row] = await trees.at(name).sql('SELECT @@read_only + @@super_read_only AS closed')
    return Number(row?.['closed']) === 0
  }
  const newest = async (): Promise<Recovery> => {
    const [first] = (await trees.ask('audit-recovery')) as unknown as readonly Recovery[]
    if (first === undefined) throw new Error('there is no recovery')
    return first
  }
  const dies = async (name: string): Promise<void> => {
    await trees.at(name).signal('SIGKILL')
    await until(
      async () => (await ask('-c replication-analysis')).stdout.includes(`${name} (cluster ${name}): DeadMaster`),
      `the death of ${name} is seen`,
    )
  }

  it('hands over only where the account may, and says what is lacking', async () => {
    const { code, stderr } = await ask('-c graceful-master-takeover -i shop -d shop-1')
    expect([code, stderr]).toEqual([1, expect.stringMatching(/account regent may not do that at shop-\d .*grant/)])
    expect(await isOpen('shop-0')).toBe(true)
    await trees.allow()
  })

  it('hands over while clients write, and nothing that was taken is lost', async () => {
    await trees.at('shop-0').sql("CREATE USER app IDENTIFIED BY 'writes'", 'GRANT INSERT, SELECT ON t.* TO app')
    await trees.spreads('shop-0', 'shop-1')
    const taken: string[] = []
    const writing = new AbortController()
    const writes = Promise.all(
      ['shop-0', 'shop-1'].map(async (name) => {
        const { host, port } = trees.at(name)
        const app = await createConnection({ host, port, user: 'app', password: 'writes' })
        for (let nth = 0; !writing.signal.aborted; nth += 1)
          await app
            .query(`INSERT INTO t.t (word) VALUES ('${name}-${nth}')`)
            .then(() => taken.push(`${name}-${nth}`))
            .catch(async () => app.ping())
        app.destroy()
      }),
    )
    await until(async () => taken.length > 20, 'clients write')
    const done = await ask('-c graceful-master-takeover-auto -i shop -d shop-1')
    await until(async () => taken.some((word) => word.startsWith('shop-1')), 'clients write at the other one')
    writing.abort()
    await writes
    expect(done).toMatchObject({ code: 0, stdout: 'shop-1' })
    expect(await links()).toBe('shop-0<shop-1 shop-2<shop-1 shop-3<shop-2 shop-4<shop-2')
    expect([await isOpen('shop-0'), await isOpen('shop-1')]).toEqual([false, true])
    await trees.spreads('shop-1', 'shop-0', 'shop-2', 'shop-3', 'shop-4')
    for (const name of ['shop-0', 'shop-1', 'shop-4']) {
      const rows = await trees.at(name).sql('SELECT word FROM t.t')
      const words = new Set(rows.map(({ word }) => word))
      expect([name, taken.filter((word) => !words.has(word))]).toEqual([name, []])
    }
    expect(await newest()).toMatchObject({ IsSuccessful: true, AnalysisEntry: { Analysis: 'DeadMaster' } })
    expect((await ask('-c which-cluster-master -i shop')).stdout).toBe('shop-1')
    expect(await ask('-c graceful-master-takeover-auto -i shop -d shop-0')).toMatchObject({ stdout: 'shop-0' })
    expect(await links()).toBe('shop-1<shop-0 shop-2<shop-0 shop-3<shop-2 shop-4<shop-2')
  })

  it('takes writes again where the other one cannot get everything', async () => {
    await using locks = await trees.at('shop-1').session()
    await locks.query('LOCK TABLES t.t READ')
    await trees.at('shop-0').sql(`INSERT INTO t.t (word) VALUES ('waits')`)
    const { code, stderr } = await ask('-c graceful-master-takeover-auto -i shop -d shop-1')
    expect([code, stderr]).toEqual([1, expect.stringMatching(/shop-1 .*did not catch up within/)])
    await locks.query('UNLOCK TABLES')
    expect([await isOpen('shop-0'), await isOpen('shop-1')]).toEqual([true, false])
    expect(await newest()).toMatchObject({ IsSuccessful: false, SuccessorKey: null })
    await trees.spreads('shop-0', 'shop-1', 'shop-2', 'shop-3', 'shop-4')
  })

  it('takes writes again when the manager dies before another one leads', async () => {
    // Who has just caught up lags, by what was applied last.
    await until(async () => {
      await trees.spreads('shop-0', 'shop-1')
      return /shop-1 +\[0s,ok/.test((await ask('-c topology -i shop')).stdout)
    }, 'nobody lags')
    await using locks = await trees.at('shop-1').session()
    await locks.query('LOCK TABLES t.t READ')
    await trees.at('shop-0').sql(`INSERT INTO t.t (word) VALUES ('waits')`)
    const asked = ask('-c graceful-master-takeover-auto -i shop -d shop-1')
    const closed = until(async () => !(await isOpen('shop-0')), 'the root is closed').then(() => 'the root is closed')
    expect(await Promise.race([asked, closed])).toBe('the root is closed')
    await trees.killManager()
    expect(await asked).toMatchObject({ code: 1 })
    expect((await trees.regent('adopt', 'start')).code).toBe(0)
    await until(async () => isOpen('shop-0'), 'the root takes writes again')
    await locks.query('UNLOCK TABLES')
    await trees.spreads('shop-0', 'shop-1', 'shop-2', 'shop-3', 'shop-4')
    expect(await newest()).toMatchObject({ IsSuccessful: false, IsActive: false })
  })

  it('is not recovered where what may be lost is not accepted, nor while anybody hears it', async () => {
    expect((await ask('-c recover -i shop-0')).stderr).toBe('Recovery not attempted')
    await dies('shop-0')
    const { code, stderr } = await ask('-c recover -i shop-0')
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/what it wrote since is not known, .*force-master-failover/),
    ])
    expect(await isOpen('shop-1')).toBe(false)
    await trees.at('shop-0').start()
    await trees.at('shop-0').sql('SET GLOBAL read_only = OFF')
    // From 8.4 on a receiver gives up after ten attempts.
    for (const name of ['shop-1', 'shop-2']) await trees.at(name).sql('START REPLICA')
    await trees.spreads('shop-0', 'shop-1', 'shop-2', 'shop-3', 'shop-4')
  })

  it('is followed by the most advanced server, two tiers down, with all that it alone has', async () => {
    // One replica gets nothing any more, the one in the middle dies with the root.
    await trees.at('shop-1').sql('STOP REPLICA')
    await trees.at('shop-4').sql('STOP REPLICA')
    await trees.spreads('shop-0', 'shop-2', 'shop-3')
    await trees.at('shop-1').sql('START REPLICA SQL_THREAD')
    await trees.at('shop-4').sql('START REPLICA SQL_THREAD')
    await trees.at('shop-0').signal('SIGKILL')
    await trees.at('shop-1').sql('START REPLICA')
    await trees.at('shop-2').signal('SIGKILL')
    await until(
      async () => (await ask('-c replication-analysis')).stdout.includes('shop-0 (cluster shop-0): DeadMasterAndSome'),
      'the death is seen',
    )
    const [held] = await trees.at('shop-3').sql('SELECT COUNT(*) AS rows_ FROM t.t')
    const [fewer] = await trees.at('shop-1').sql('SELECT COUNT(*) AS rows_ FROM t.t')
    expect(Number(held?.['rows_'])).toBeGreaterThan(Number(fewer?.['rows_']))
    expect(await ask('-c force-master-failover -i shop')).toMatchObject({ code: 0, stdout: 'shop-3' })
    expect(await links()).toBe('shop-1<shop-3 shop-4<shop-3')
    await trees.spreads('shop-3', 'shop-1', 'shop-4')
    expect(await trees.at('shop-1').sql('SELECT COUNT(*) AS rows_ FROM t.t')).toEqual([
      { rows_: Number(held?.['rows_']) + 1 },
    ])
    expect(await newest()).toMatchObject({ IsSuccessful: true, LostReplicas: [] })
    expect((await ask('-c downtimed -i shop')).stdout).toBe('shop-0')
  })

  it('is said to have led in the list of recoveries, with each step', async () => {
    const { UID } = await newest()
    const steps = (await trees.ask(`audit-recovery-steps/${UID}`)) as unknown as readonly { readonly Message: string }[]
    const said = steps.map(({ Message }) => Message)
    expect(said[1]).toBe('nobody receives from the lost server any more, and what was received is applied')
    expect(said[2]).toMatch(/what it wrote since is not known/)
    expect(said.at(-1)).toMatch(/ leads$/)
  })
  it('leads where its manager died just then, and the next one makes the others follow', async () => {
    await trees.killManager()
    await trees.at('shop-3').signal('SIGKILL')
    const steps = [
      { do: 'lead', at: 'shop-1' },
      { do: 'stop', at: 'shop-4' },
      { do: 'follow', at: 'shop-4', source: { instance: 'shop-1' }, from: 'gtids' },
      { do: 'start', at: 'shop-4' },
    ]
    await mkdir(join(trees.home, '_adopted', 'trees'), { recursive: true })
    await writeFile(join(trees.home, '_adopted', 'trees', 'shop.json'), JSON.stringify({ version: 1, steps }))
    expect((await trees.regent('adopt', 'start')).code).toBe(0)
    await until(async () => isOpen('shop-1'), 'the one that was chosen leads')
    await until(async () => (await links()) === 'shop-4<shop-1', 'the other one follows')
    await trees.spreads('shop-1', 'shop-4')
  })
})
