import { describe, expect, test } from 'vitest'
import { realWorld } from '#common/ports/real-world.ts'
import { deadServer } from '#failover/testing.ts'
import { shopRecovery } from '#manager/api/testing.ts'
import { knownShop, orchestratorOver, watchedShop } from './testing.ts'
import { pathsOf, routes } from './routes/table.ts'

const switchedOver = { recoveries: [shopRecovery] }

describe('What clients rest upon', () => {
  test('A look at any address is answered at once, without a body', async () => {
    const { app } = await orchestratorOver([knownShop()])
    for (const url of ['/', '/api', '/api/', '/api/forget/shop-1/3306', '/web/clusters']) {
      const answer = await app.inject({ method: 'HEAD', url })
      expect([answer.statusCode, answer.body]).toEqual([200, ''])
    }
  })

  test('Only a manager that leads says OK to leader-check, and takes what changes something', async () => {
    const led = await orchestratorOver([knownShop()])
    expect(await led.get('leader-check')).toEqual({ status: 200, body: 'OK' })
    const other = await orchestratorOver([knownShop()], { leads: false })
    expect(await other.get('leader-check')).toEqual({ status: 404, body: 'Not leader' })
    expect(await other.get('leader-check/503')).toEqual({ status: 503, body: 'Not leader' })
    expect(await other.get('routed-leader-check')).toMatchObject({ status: 404 })
    expect(await other.get('health')).toMatchObject({ body: { Code: 'OK', Details: { IsActiveNode: false } } })
    expect(await other.get('graceful-master-takeover-auto/shop')).toMatchObject({
      status: 500,
      body: { Code: 'ERROR' },
    })
    expect(await other.get('which')).toMatchObject({ status: 404, body: { Code: 'ERROR', Details: null } })
    expect(other.asked).toEqual([])
  })

  test('Slashes at the end and line feeds at the end of a text change nothing', async () => {
    const { get, asked } = await orchestratorOver([knownShop()])
    expect(await get('downtimed/')).toEqual({ status: 200, body: [] })
    expect(await get('begin-downtime/shop-1/3306/me%0A/new%20disk%2F2%0A/10m')).toMatchObject({
      body: { Code: 'OK', Details: { Hostname: 'shop-1', Port: 3306 } },
    })
    expect(asked).toEqual([
      {
        cluster: 'shop',
        operation: 'downtime',
        request: { instance: 'shop-1', forMs: 600_000, reason: 'new disk/2', owner: 'me', dryRun: false },
      },
    ])
  })

  test('Older words and newer ones are the same routes', async () => {
    const { get } = await orchestratorOver([knownShop()])
    for (const word of ['slave', 'replica'])
      expect(await get(`start-${word}/shop-1/3306`)).toMatchObject({ body: { Code: 'OK' } })
    expect(routes.flatMap(pathsOf)).not.toContain('slavetion-analysis')
    expect(new Set(routes.flatMap(pathsOf)).size).toBe(routes.flatMap(pathsOf).length)
  })

  test('What is refused is an error without details, and without a quote that xargs would stumble over', async () => {
    const { get } = await orchestratorOver([knownShop()])
    const refusals = [
      'instance/nobody/3306',
      'relocate/shop-1/3306/shop-2/3306',
      'make-co-master/shop-1/3306',
      'disable-semi-sync-master/shop-0/3306',
      'set-writeable/shop-1/3306',
      'stop-slave/shop-1/3306',
      'forget/shop-0/3306',
      'register-candidate/shop-1/3306/must',
      'register-candidate/shop-1/3306/always',
      'ack-all-recoveries?comment=',
      'raft-state',
      'graceful-master-takeover/shop',
      'cluster/nobody%22',
    ]
    for (const path of refusals) {
      const { status, body } = await get(path)
      expect([path, status, body.Code, body.Details]).toEqual([path, 500, 'ERROR', null])
      expect(body.Message).not.toMatch(/["\\\n]/)
    }
  })
})

describe('Of clusters of one name in two namespaces', () => {
  const both = [
    { ...knownShop(), name: 'dev.shop' },
    { ...knownShop(), name: 'prod.shop' },
  ]

  test.each(['graceful-master-takeover-auto/shop-0', 'begin-downtime/shop-1/3306/me/disk', 'forget/shop-2/3306'])(
    '%s is refused, which could be about either',
    async (path) => {
      const { get, asked, said } = await orchestratorOver(both, switchedOver)
      expect(await get(path)).toMatchObject({
        status: 500,
        body: { Code: 'ERROR', Details: null, Message: expect.stringContaining('dev.shop and prod.shop') as string },
      })
      expect([asked, said.get('dev.shop')]).toEqual([[], {}])
    },
  )

  test('A cluster is named with its namespace, and without one where no other has that name', async () => {
    const { get, asked } = await orchestratorOver(both, switchedOver)
    await get('graceful-master-takeover-auto/prod.shop')
    expect(asked.map(({ cluster }) => cluster)).toEqual(['prod.shop'])
    expect((await get('cluster-info/shop')).body).toMatchObject({ Code: 'ERROR' })
    const alone = await orchestratorOver(both.slice(0, 1))
    expect((await alone.get('cluster-info/shop')).body).toMatchObject({ ClusterAlias: 'dev.shop' })
  })
})

test.each([
  ['managed', knownShop],
  ['watched', watchedShop],
] as const)(
  'A master of a %s cluster that is read-only is no master to write to, and one of its cluster',
  async (_, shop) => {
    const closed = shop({ views: { 'shop-0': { server: { readOnly: true } } } })
    const { get } = await orchestratorOver([closed, { ...knownShop(), name: 'other' }], { hostNames: 'address' })
    expect((await get('masters')).body).toMatchObject([{ SuggestedClusterAlias: 'other' }])
    expect((await get('submit-masters-to-kv-stores')).body.Details).toMatchObject([
      { Key: 'mysql/master/other' },
      {},
      {},
      {},
      {},
    ])
    expect((await get('master/shop')).body).toMatchObject({ InstanceAlias: 'shop-0', ReadOnly: true })
    expect((await get('clusters-info')).body).toHaveLength(2)
  },
)

describe('A cluster whose record is not read yet, or of which nobody is followed', () => {
  const { record: _, ...unread } = knownShop()
  const watched = watchedShop()

  test.each([
    { ...unread, record: undefined },
    { ...watched, ...(watched.watched && { watched: { ...watched.watched, primary: null } }) },
  ])('has no master, and the masters of others are listed', async (known) => {
    const other = { ...knownShop(), name: 'other' }
    const { get, asked } = await orchestratorOver([known, other], { hostNames: 'address' })
    expect((await get('instance/shop-1/3306')).status).toBe(500)
    const alone = await orchestratorOver([known])
    expect((await alone.get('cluster/shop')).body).toHaveLength(3)
    expect(await alone.get('master/shop')).toMatchObject({
      status: 500,
      body: { Code: 'ERROR', Message: expect.stringMatching(/^No masters found for/) as string, Details: null },
    })
    expect((await alone.get('masters')).body).toEqual([])
    expect((await get('masters')).body).toMatchObject([{ SuggestedClusterAlias: 'other' }])
    expect((await alone.get('submit-masters-to-kv-stores')).body.Details).toEqual([])
    expect((await alone.get('graceful-master-takeover-auto/shop')).body.Message).toMatch(
      /^Cannot deduce cluster master for/,
    )
    expect(asked).toEqual([])
  })
})

describe('What is asked becomes an operation of Regent', () => {
  test('A takeover is a switchover from the primary that was meant', async () => {
    const { get, asked } = await orchestratorOver([knownShop()], switchedOver)
    expect(await get('graceful-master-takeover-auto/shop')).toMatchObject({
      body: { Code: 'OK', Details: { SuccessorKey: { Hostname: 'shop-1' } } },
    })
    await get('graceful-master-takeover/shop/shop-2/3306')
    await get('take-master/shop-2/3306')
    await get('force-master-failover/shop')
    expect(asked.map(({ operation, request }) => [operation, request])).toMatchObject([
      ['switchover', { from: 'shop-0', to: undefined }],
      ['switchover', { from: 'shop-0', to: 'shop-2' }],
      ['switchover', { from: 'shop-0', to: 'shop-2' }],
      ['switchover', { from: 'shop-0', reason: expect.stringContaining('force-master-failover') as string }],
    ])
  })

  test('take-master tells of the server once that one follows nobody any more', async () => {
    const clusters = [knownShop()]
    const sleep = async () => {
      clusters[0] = knownShop({ record: { primary: 'shop-1@volume1' }, shape: { primary: 'shop-1' } })
    }
    const { get } = await orchestratorOver(clusters, { timers: { ...realWorld.timers, sleep } })
    expect((await get('take-master/shop-1/3306')).body).toMatchObject({
      Code: 'OK',
      Details: { Key: { Hostname: 'shop-1', Port: 3306 }, MasterKey: { Hostname: '', Port: 0 } },
    })
  })

  test('A takeover to one that does not follow the primary, or must not lead, is refused before it begins', async () => {
    const { get, asked } = await orchestratorOver([
      knownShop({
        views: { 'shop-2': { follows: 'shop-1' } },
        spec: { policies: { 'shop-1': { promotion: 'never', priority: 0 } } },
      }),
    ])
    expect((await get('graceful-master-takeover/shop/shop-2/3306')).body.Message).toContain(
      'must be directly replicating from the master shop-0:3306',
    )
    expect((await get('graceful-master-takeover-auto/shop/shop-1/3306')).body.Message).toContain('promotion rule')
    expect(asked).toEqual([])
  })

  test('A failover is forced only where the primary does not answer, and never gives up writes', async () => {
    const { get, asked } = await orchestratorOver([knownShop({ views: { 'shop-0': deadServer } })])
    expect(await get('force-master-failover/shop')).toMatchObject({
      status: 500,
      body: { Code: 'ERROR', Details: null },
    })
    expect(asked).toMatchObject([{ operation: 'failover', request: { acceptLoss: false } }])
  })

  test('A recovery is attempted only where orchestrator would see a dead master', async () => {
    const well = await orchestratorOver([knownShop()])
    expect(await well.get('recover/shop-0/3306')).toMatchObject({
      body: { Message: 'Recovery not attempted', Details: { Hostname: 'shop-0' } },
    })
    expect(well.asked).toEqual([])
    const stands = { server: { channel: { ioRunning: 'no' as const } } }
    const dead = await orchestratorOver([
      knownShop({ views: { 'shop-0': deadServer, 'shop-1': stands, 'shop-2': stands } }),
    ])
    await dead.get('recover/shop-0/3306/shop-2/3306')
    expect(dead.asked).toMatchObject([{ operation: 'failover', request: { to: 'shop-2', acceptLoss: false } }])
  })

  test('Global recoveries are pauses of all clusters', async () => {
    const { get, asked } = await orchestratorOver([knownShop()])
    expect((await get('check-global-recoveries')).body.Details).toBe('enabled')
    await get('disable-global-recoveries')
    await get('enable-global-recoveries')
    expect(asked.map(({ operation }) => operation)).toEqual(['pause', 'resume'])
    const paused = { reason: '', wallMs: 1 }
    const off = await orchestratorOver([knownShop({ notes: { paused } })])
    expect((await off.get('check-global-recoveries')).body.Details).toBe('disabled')
  })
})

describe('Global recoveries', () => {
  const paused = (reason: string) => ({ paused: { reason, wallMs: 1 } })
  const named = (name: string, notes: object) => ({ ...knownShop({ notes }), name })
  const hidden = { annotations: { hidden: ['shop-0', 'shop-1', 'shop-2'] } }

  test('are paused and resumed in a cluster that was forgotten, too', async () => {
    const { get, asked } = await orchestratorOver([named('shop', {}), named('old', hidden)])
    await get('disable-global-recoveries')
    await get('enable-global-recoveries')
    expect(asked.map(({ cluster, operation }) => `${operation} ${cluster}`)).toEqual([
      'pause shop',
      'pause old',
      'resume shop',
      'resume old',
    ])
    const on = await orchestratorOver([named('shop', paused('me')), named('old', hidden)])
    expect((await on.get('check-global-recoveries')).body.Details).toBe('enabled')
  })

  test('leave a cluster alone that somebody paused for another reason', async () => {
    const mine = named('mine', paused('asked for with regent pause'))
    const theirs = named('theirs', paused('disable-global-recoveries by 10.0.0.9'))
    const { get, asked } = await orchestratorOver([mine, theirs])
    await get('disable-global-recoveries')
    expect(asked.splice(0)).toEqual([])
    expect((await get('enable-global-recoveries')).body).toMatchObject({
      Code: 'OK',
      Message: 'Globally enabled recoveries; still paused: mine (asked for with regent pause)',
      Details: 'enabled',
    })
    expect(asked).toMatchObject([{ cluster: 'theirs', operation: 'resume' }])
  })

  test('are paused wherever that can be, and where not is told', async () => {
    const { get, asked } = await orchestratorOver([named('one', {}), named('broken', {}), named('two', {})])
    expect(await get('disable-global-recoveries')).toMatchObject({
      status: 500,
      body: {
        Code: 'ERROR',
        Details: null,
        Message: expect.stringMatching(/^not done for broken: the store/) as string,
      },
    })
    expect(asked.map(({ cluster }) => cluster)).toEqual(['one', 'two'])
  })
})

describe('What is said of a cluster stays said', () => {
  test('Tags are given, found and taken away', async () => {
    const { get, said } = await orchestratorOver([knownShop()])
    await get('tag/shop-1/3306?tag=role%3Dreport%0A')
    expect(said.get('shop')).toEqual({ tags: { 'shop-1': { role: 'report' } } })
    expect((await get('tags/shop-1/3306')).body).toEqual(['role=report'])
    expect((await get('tag-value/shop-1/3306?tag=role')).body).toBe('report')
    expect((await get('tagged/?tag=role=report,~new')).body).toEqual([{ Hostname: 'shop-1', Port: 3306 }])
    expect((await get('untag/shop-1/3306?tag=role')).body.Details).toHaveLength(1)
    expect(said.get('shop')).toEqual({})
  })

  test('An alias names the cluster, and that of another cluster is refused', async () => {
    const other = { ...knownShop(), name: 'other' }
    const { get } = await orchestratorOver([knownShop(), other])
    expect((await get('set-cluster-alias/shop?alias=tills')).body.Message).toMatch(/now has alias 'tills'/)
    expect((await get('cluster-info/tills')).body).toMatchObject({ ClusterAlias: 'tills' })
    expect(await get('set-cluster-alias/tills?alias=other')).toMatchObject({ status: 500 })
  })

  test('Keys and values of a master are those that orchestrator has', async () => {
    const { get } = await orchestratorOver([knownShop()])
    for (const path of ['submit-masters-to-kv-stores/shop', 'submit-masters-to-kv-stores/'])
      expect((await get(path)).body.Details).toEqual([
        { Key: 'mysql/master/shop', Value: 'shop-0:3306' },
        { Key: 'mysql/master/shop/hostname', Value: 'shop-0' },
        { Key: 'mysql/master/shop/port', Value: '3306' },
        { Key: 'mysql/master/shop/ipv4', Value: '127.24.1.1' },
        { Key: 'mysql/master/shop/ipv6', Value: '' },
      ])
  })

  test('A candidate is one for an hour, and a rule that leaves nobody is refused', async () => {
    const never = { promotion: 'never' as const, priority: 0 }
    const { get, said } = await orchestratorOver([
      knownShop({ spec: { policies: { 'shop-0': never, 'shop-1': never } } }),
    ])
    expect((await get('register-candidate/shop-2/3306/must_not')).body.Message).toMatch(/^no instance of shop could/)
    await get('register-candidate/shop-1/3306/prefer_not')
    expect(said.get('shop')?.promotions).toEqual({
      'shop-1': { promotion: 'neutral', priority: -1_000, untilWallMs: 4_600_000 },
    })
  })

  test('A forgotten server is not listed until it is discovered, and one that is needed is not forgotten', async () => {
    const { get } = await orchestratorOver([knownShop()])
    expect((await get('forget/shop-0/3306')).body.Message).toContain('call graceful-master-takeover-auto first')
    expect((await get('forget/shop-2/3306')).body).toMatchObject({
      Code: 'OK',
      Message: 'Instance forgotten: shop-2:3306',
    })
    expect((await get('instance/shop-2/3306')).body).toMatchObject({ Code: 'ERROR' })
    expect((await get('forget/shop-1/3306')).body.Message).toMatch(
      /^without shop-1:3306 and shop-2, forgotten before, only 0 replicas would be left, and a write of shop waits for 1/,
    )
    expect((await get('discover/shop-2/3306')).body).toMatchObject({
      Code: 'OK',
      Details: { Key: { Hostname: 'shop-2' } },
    })
    expect((await get('all-instances')).body).toHaveLength(3)
    const pair = await orchestratorOver([knownShop({ shape: { instances: 2 } })])
    expect((await pair.get('forget/shop-1/3306')).body.Message).toMatch(/only 0 replicas would be left/)
  })

  test('Who forgets a server twice, or one that is gone, forgets no other whose name begins so', async () => {
    const { get, said } = await orchestratorOver([knownShop({ shape: { instances: 11 } })])
    expect((await get('forget/shop-1/3306')).body).toMatchObject({ Code: 'OK' })
    for (const path of ['forget/shop-1/3306', 'forget/hop-10/3306', 'instance/shop-1/3306', 'end-downtime/shop-1/3306'])
      expect([path, (await get(path)).body]).toMatchObject([path, { Code: 'ERROR', Details: null }])
    expect((await get('master/shop-1')).body).toMatchObject({ Code: 'ERROR' })
    expect(said.get('shop')?.hidden).toEqual(['shop-1'])
  })

  test('A recovery that is not kept is not said to be acknowledged', async () => {
    const { get, said } = await orchestratorOver([knownShop()], switchedOver)
    for (const path of ['ack-recovery/12?comment=seen', 'ack-recovery/uid/r2?comment=seen'])
      expect((await get(path)).body).toMatchObject({
        Code: 'ERROR',
        Message: expect.stringMatching(/^Cannot read recovery: (12|r2)/) as string,
        Details: null,
      })
    expect((await get('ack-all-recoveries?comment=seen')).body.Code).toBe('OK')
    expect(Object.keys(said.get('shop')?.acknowledged ?? {})).toEqual(['r1'])
  })

  test('Recoveries are acknowledged with a comment', async () => {
    const { get, said } = await orchestratorOver([knownShop()], switchedOver)
    expect((await get('ack-recovery/cluster/shop?comment=seen%0A')).body).toMatchObject({
      Code: 'OK',
      Details: 'shop-0:3306',
    })
    expect(said.get('shop')?.acknowledged).toMatchObject({ r1: { comment: 'seen' } })
    expect((await get('audit-recovery')).body).toMatchObject([{ UID: 'r1', Acknowledged: true }])
    expect((await get('audit-recovery/1')).body).toEqual([])
    expect((await get('audit-recovery?unacknowledged=true')).body).toEqual([])
    const unread = await orchestratorOver([knownShop()], switchedOver)
    expect((await unread.get('audit-recovery?unacknowledged=true')).body).toHaveLength(1)
    expect((await get('audit-recovery-steps/r1')).body).toHaveLength(2)
  })
})

describe('Who may ask', () => {
  const credentials = { login: 'ann:secret-of-ann-12', token: 'token-0123456789abcdef' }
  const basic = (login: string) => ({ authorization: `Basic ${Buffer.from(login).toString('base64')}` })

  test.each([
    [basic('ann:secret-of-ann-12'), 200],
    [{ authorization: 'Bearer token-0123456789abcdef' }, 200],
    [basic('ann:secret-of-ann-1'), 401],
    [basic('ann'), 401],
    [{ authorization: 'Bearer token-0123456789abcdee' }, 401],
    [{ authorization: 'Basic ' }, 401],
    [{}, 401],
  ])('%j is answered with %i, a look too', async (headers, status) => {
    const { app } = await orchestratorOver([knownShop()], { credentials: async () => credentials })
    expect((await app.inject({ method: 'HEAD', url: '/api', headers })).statusCode).toBe(status)
    const answer = await app.inject({ method: 'GET', url: '/api/clusters', headers })
    expect(answer.statusCode).toBe(status)
    if (status === 401) expect(JSON.parse(answer.body)).toMatchObject({ Code: 'ERROR', Message: 'Unauthorized' })
  })

  test('The name that a caller gives is kept as one short line, like any reason', async () => {
    const { app, asked } = await orchestratorOver([knownShop()])
    const headers = basic(`ann\r\nroot\u001b[2J${'n'.repeat(5_000)}:x`)
    await app.inject({ method: 'GET', url: '/api/graceful-master-takeover-auto/shop', headers })
    await app.inject({ method: 'GET', url: '/api/disable-global-recoveries', headers })
    const reasons = asked.map(({ request }) => (request as { readonly reason: string }).reason)
    expect(reasons).toHaveLength(2)
    for (const reason of reasons) expect(reason).toMatch(/^[\w-]+ by ann {2}root \[2Jn{80,}$/)
    for (const reason of reasons) expect(reason.length).toBeLessThanOrEqual(200)
  })

  test('Where nothing may be changed everything may be read', async () => {
    const { get, asked, said } = await orchestratorOver([knownShop()], { readOnly: true })
    expect((await get('clusters')).body).toEqual(['shop-0:3306'])
    for (const { path } of routes.filter(({ changes }) => changes === true)) {
      const url = path.replaceAll(/:(\w+)/g, (_, name: string) => (/port$/i.test(name) ? '3306' : 'shop-1'))
      expect((await get(url)).body).toMatchObject({ Code: 'ERROR', Message: 'Unauthorized' })
    }
    expect([asked, said.get('shop')]).toEqual([[], {}])
  })
})
