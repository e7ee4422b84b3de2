import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { runEpisode } from '#test/support/episode.ts'
import { monotonicMs } from '#test/support/monotonic.ts'
import { Writer } from '#test/support/writer.ts'
import { expectBelow } from '#test/support/expect-below.ts'
import { patienceMs } from '#test/support/patience.ts'
import type { SharedCluster } from '#test/support/with-cluster.ts'

interface Refusal {
  readonly errno?: number
  readonly code?: string
  readonly message: string
}

/** The server’s number, or `cut` where a connection was ended; anything else, as a time-out, in its own words. */
function whyRefused({ errno = 0, code = '', message }: Refusal): string | number {
  if (['PROTOCOL_CONNECTION_LOST', 'ECONNRESET', 'EPIPE'].includes(code)) return 'cut'
  return errno > 0 ? errno : message
}

/** Changes of primary that somebody asks for. */
export function switchovers(shop: SharedCluster): void {
  it('A switchover moves the primary, pauses writes for a moment, and loses none', async () => {
    const cluster = shop.current
    await cluster.whole()
    const writer = await Writer.start(cluster)
    const episode = await runEpisode(cluster, writer, 'switchover')
    expect(episode.to).not.toBe(episode.from)
    expectBelow(2_000, episode.outageMs)
    expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
  })

  it('The command line switches over to the instance that is named', async () => {
    const cluster = shop.current
    const [to = ''] = await cluster.replicas()
    const ran = await cluster.regent('switchover', 'shop', '--to', to, '-o', 'json')
    expect(ran).toMatchObject({ code: 0, stderr: '' })
    expect(JSON.parse(ran.stdout)).toMatchObject({ done: true, dryRun: false })
    expect((await cluster.whole()).primary).toBe(to)
  })

  it('A dry run says each step and changes nothing', async () => {
    const cluster = shop.current
    const before = await cluster.explain()
    const result = await cluster.switchover({ dryRun: true })
    expect(result).toMatchObject({ done: false, dryRun: true })
    expect(result.plan?.join('\n')).toMatch(/intent[^]*stops taking writes[^]*commit[^]*opens/)
    expect((await cluster.explain()).record).toEqual(before.record)
  })

  it('A switchover to the primary, or to nobody there is, is refused with the reason', async () => {
    const cluster = shop.current
    const primary = await cluster.primary()
    await expect(cluster.switchover({ to: primary })).rejects.toMatchObject({
      code: 'REGENT_REFUSED',
      message: expect.stringContaining(`${primary} is the primary already`) as string,
    })
    await expect(cluster.switchover({ to: 'shop-7' })).rejects.toMatchObject({
      message: expect.stringContaining('shop-7') as string,
    })
  })

  it('A transaction or a table lock in the way gets its grace and is then killed', async () => {
    const cluster = shop.current
    const from = await cluster.primary()
    await cluster.sql(from, 'create table app.locked (id int primary key)', { user: 'client' })
    const [idle, locking] = [await cluster.session(from, 'client'), await cluster.session(from, 'client')]
    await idle.query('start transaction')
    await idle.query('insert into app.locked values (1)')
    await locking.query('lock tables app.writes write')
    const result = await cluster.switchover()
    expect(result.done).toBe(true)
    await expect(idle.query('commit')).rejects.toThrow()
    await expect(locking.query('unlock tables')).rejects.toThrow()
    await cluster.whole()
    expect(await cluster.value(await cluster.primary(), 'select count(*) from app.locked')).toBe('0')
  })

  it('A client that logs in again on the demoted primary is refused at once until that follows, and then cannot write', async () => {
    const cluster = shop.current
    const from = await cluster.primary()
    const refusals: { readonly at: 'login' | 'statement'; readonly why: string | number; readonly ms: number }[] = []
    const switched = cluster.switchover()
    let over = false
    void switched.finally(() => (over = true)).catch(() => undefined)
    for (
      const untilMs = monotonicMs() + patienceMs;
      (!over || refusals.at(-1)?.why !== 1290) && monotonicMs() < untilMs;
    ) {
      const atMs = monotonicMs()
      const refused = (at: 'login' | 'statement') => (error: Refusal) =>
        void refusals.push({ at, why: whyRefused(error), ms: monotonicMs() - atMs })
      const session = await cluster.session(from, 'client', 10_000).catch(refused('login'))
      await session
        ?.query('insert into app.locked values (2)')
        .then(() => session.query('delete from app.locked').catch(() => undefined), refused('statement'))
      session?.destroy()
    }
    expect(await switched).toMatchObject({ done: true })
    expect(refusals).toContainEqual(expect.objectContaining({ at: 'login', why: 3032 }))
    expect(refusals.at(-1)).toMatchObject({ at: 'statement', why: 1290 })
    expect(refusals.filter(({ why }) => ![3032, 1290, 'cut'].includes(why))).toEqual([])
    expect(refusals.filter(({ ms }) => ms >= 2_000)).toEqual([])
    await cluster.whole()
    await expect(cluster.sql(from, 'insert into app.locked values (3)', { user: 'client' })).rejects.toMatchObject({
      errno: 1290,
    })
  })

  it('A switchover past its deadline is undone, says why, and the old primary takes writes again', async () => {
    const cluster = shop.current
    const before = await cluster.view()
    const [to = ''] = await cluster.replicas()
    const writer = await Writer.start(cluster)
    // Not noticed yet when the switchover begins; its promise never comes.
    await cluster.fault(to, 'freeze-agent')
    const asked = cluster.switchover({ to, timeoutMs: 800 }).catch((error: unknown) => error)
    await writer.next(monotonicMs() + 1_500)
    expect(await asked).toMatchObject({
      code: expect.stringMatching(/REGENT_TIMED_OUT|REGENT_REFUSED/) as string,
      message: expect.stringContaining('undone') as string,
    })
    await cluster.fault(to, 'thaw-agent')
    await cluster.whole()
    expect(await cluster.primary()).toBe(before.primary)
    expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
    const [recovery] = await cluster.recoveries()
    expect(recovery).toMatchObject({ kind: 'switchover', outcome: 'undone' })
  })

  it('A lock that somebody holds at the candidate is broken rather than waited for', async () => {
    const cluster = shop.current
    const [to = ''] = await cluster.replicas()
    const writer = await Writer.start(cluster)
    const lock = await cluster.session(to)
    await lock.query('flush tables with read lock')
    await sleep(300)
    const atMs = monotonicMs()
    await cluster.switchover({ to, timeoutMs: 60_000 })
    await writer.next()
    expectBelow(5_000, writer.longestPause(atMs).pauseMs)
    lock.destroy()
    await cluster.whole()
    expect(await cluster.primary()).toBe(to)
    expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
  })

  it('Scheduled events run at the new primary and nowhere else', async () => {
    const cluster = shop.current
    const before = await cluster.primary()
    const as = { user: 'client' } as const
    await cluster.sql(before, 'create table app.ticks (id int auto_increment primary key, server char(36))', as)
    await cluster.sql(
      before,
      'create event app.tick on schedule every 1 second do insert into app.ticks (server) values (@@server_uuid)',
      as,
    )
    await cluster.until('it runs', async () => (await cluster.value(before, 'select count(*) from app.ticks')) !== '0')
    await cluster.switchover()
    await cluster.whole()
    const primary = await cluster.primary()
    const uuid = await cluster.value(primary, 'select @@server_uuid')
    const last = await cluster.value(primary, `select coalesce(max(id), 0) from app.ticks where server <> '${uuid}'`)
    await cluster.until(
      'it runs at the new primary',
      async () => Number(await cluster.value(primary, `select count(*) from app.ticks where server = '${uuid}'`)) >= 2,
    )
    expect(await cluster.value(primary, `select coalesce(max(id), 0) from app.ticks where server <> '${uuid}'`)).toBe(
      last,
    )
    for (const { name } of (await cluster.view()).instances) {
      const status = await cluster.value(name, "select status from information_schema.events where event_name = 'tick'")
      expect(
        name === primary
          ? status === 'ENABLED'
          : status !== 'ENABLED' || (await cluster.value(name, 'select @@global.event_scheduler')) !== 'ON',
      ).toBe(true)
    }
    await cluster.sql(primary, 'drop event app.tick', as)
  })
}
