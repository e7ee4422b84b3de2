import { existsSync } from 'node:fs'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { volumeLayout } from '#agents/instance/volume-layout.ts'
import { HeldProxy } from '#test/support/held-proxy.ts'
import { reconfigureAgents, startWorker, streamingPort, type WorkerEnd } from '#test/support/lifecycle-agents.ts'
import { LoneServer, value } from '#test/support/lone-server.ts'
import { SmallDisk } from '#test/support/small-disk.ts'
import { withCluster } from '#test/support/with-cluster.ts'
import { Writer } from '#test/support/writer.ts'

const scratch = await mkdtemp(join(tmpdir(), 'regent-copy-disk-'))
const whyNot = await SmallDisk.whyNot(scratch)
await rm(scratch, { recursive: true, force: true })
if (whyNot !== undefined) console.warn(`copy-full-disk.test.ts is skipped: ${whyNot}`)

const mebibyte = 1_048_576
const lowSpaceBytes = 64 * mebibyte
/** The instance that has a disk of its own, as a replica. */
const small = 'shop-2'

// Without root nobody can make a disk that is full.
describe.skipIf(whyNot !== undefined)('A disk that is full', () => {
  const shop = withCluster({ spec: { lowSpaceBytes } })
  let disk: SmallDisk
  let folder = ''
  let tokenFile = ''
  let streamDir = ''
  let source: { readonly host: string; readonly port: number }

  beforeAll(async () => {
    const cluster = shop.current
    folder = await mkdtemp(join(tmpdir(), 'regent-copy-disk-'))
    tokenFile = join(folder, 'token')
    await writeFile(tokenFile, 'token-of-the-copy-streams-of-this-test', { mode: 0o600 })
    await cluster.whole()
    if ((await cluster.primary()) === small)
      expect(await cluster.switchover({ to: 'shop-1' })).toMatchObject({ done: true })
    const primary = await cluster.primary()
    await cluster.sql(primary, 'create table app.bulk (id int primary key, body longblob)', { user: 'client' })
    for (let row = 0; row < 20; row++)
      await cluster.sql(primary, `insert into app.bulk values (${row}, repeat('regent', 175000))`, { user: 'client' })
    await cluster.whole()
    const { volume, host } = await cluster.instance(small)
    await cluster.fault(small, 'kill')
    await cluster.waitFor(`${small} is gone`, ({ instances }) =>
      instances.some(({ name, reachable }) => name === small && !reachable),
    )
    disk = await SmallDisk.create(volume, 900)
    await cluster.fault(small, 'start')
    await cluster.whole()
    await reconfigureAgents(cluster, [small], { lifecycle: { tokenFile } })
    streamDir = volumeLayout(volume).streamDir
    source = { host, port: streamingPort }
  }, 240_000)

  afterAll(async () => {
    await shop.current.regent('local', 'down', 'shop')
    await disk.remove()
    await rm(folder, { recursive: true, force: true })
  }, 60_000)

  /** A server whose disk was full looks again after a minute. */
  const wakesMs = 110_000

  /** Begins a copy of the small instance, and waits until its server is at work on the copy. */
  async function beginCopy() {
    const cluster = shop.current
    // The least that there is: a mebibyte a second.
    await cluster.sql(small, 'set global clone_max_data_bandwidth = 1')
    const dataDir = join(await mkdtemp(join(folder, 'target-')), 'data')
    const worker = startWorker(source, { dataDir, tokenFile })
    await cluster.until(`${small} copies itself`, async () => existsSync(join(streamDir, 'ibdata1')))
    return worker
  }

  async function expectGoingOn(before: { readonly pid: number | null; readonly primary: string }): Promise<void> {
    const cluster = shop.current
    await cluster.until('nothing of the copy is left', async () => !existsSync(streamDir), wakesMs)
    expect(await cluster.value(small, 'select count(*) from app.bulk')).toBe('20')
    await disk.makeRoom()
    await cluster.sql(small, 'set global clone_max_data_bandwidth = 0')
    const written = await cluster.value(before.primary, 'select max(number) from app.writes')
    await cluster.until(
      `${small} has caught up`,
      async () => Number(await cluster.value(small, 'select max(number) from app.writes')) >= Number(written),
      wakesMs,
    )
    await cluster.whole(3, wakesMs)
    expect((await cluster.instance(small)).pid).toBe(before.pid)
    expect(await cluster.primary()).toBe(before.primary)
  }

  async function copied(): Promise<WorkerEnd> {
    return startWorker(source, { dataDir: join(await mkdtemp(join(folder, 'target-')), 'data'), tokenFile }).end
  }

  async function now() {
    const cluster = shop.current
    return { pid: (await cluster.instance(small)).pid, primary: await cluster.primary() }
  }

  it('where a copy is loaded fails the load, which leaves nothing that a server starts on, and succeeds with space', async () => {
    const target = await SmallDisk.create(join(folder, 'target'), 600)
    onTestFinished(() => target.remove())
    const dataDir = join(folder, 'target', 'data')
    const proxy = await HeldProxy.start(source, 20 * mebibyte)
    onTestFinished(() => proxy.end())
    const first = startWorker({ host: '127.0.0.1', port: proxy.port }, { dataDir, tokenFile })
    await Promise.race([proxy.held, first.end])
    await target.fillUntil(0)
    proxy.goOn()
    const { code, output } = await first.end
    const why = /dataLoad failed: \d+ bytes had come when no space was left for \S+: ENOSPC/
    expect([code, output]).toEqual([1, expect.stringMatching(why)])
    expect(await readdir(join(dataDir, 'regent-load.partial'))).toEqual(['unfinished.txt'])
    expect(await readFile(join(dataDir, 'regent-load.partial', 'unfinished.txt'), 'utf8')).toContain(
      'no space was left',
    )
    await shop.current.until('nothing of the copy is left', async () => !existsSync(streamDir))
    await target.makeRoom()
    // Not for want of space.
    const server = await LoneServer.over(dataDir, await shop.current.login('admin'))
    onTestFinished(() => server.remove())
    await expect(server.start()).rejects.toThrow('mysqld has ended')

    await target.fillUntil(0)
    const second = await startWorker(source, { dataDir, tokenFile }).end
    expect([second.code, second.output]).toEqual([1, expect.stringContaining('ENOSPC')])
    expect(existsSync(join(dataDir, 'mysql.ibd'))).toBe(false)
    await target.makeRoom()
    expect(await startWorker(source, { dataDir, tokenFile }).end).toMatchObject({ code: 0 })
    expect(await readdir(dataDir)).not.toContain('regent-load.partial')
    const session = await server.start('--skip-replica-start', '--super-read-only=ON')
    expect(await value(session, 'select count(*) from app.bulk')).toBe('20')
  })

  it('nearly, while a server copies itself, ends the copy, and not the server', async () => {
    const before = await now()
    const writer = await Writer.start(shop.current)
    const worker = await beginCopy()
    await disk.fillUntil(100)
    const { code, output } = await worker.end
    expect([code, output]).toEqual([
      1,
      expect.stringMatching(
        /dataLoad failed: the source failed: [\d.]+ MiB are free on the volume, which its server needs/,
      ),
    ])
    await expectGoingOn(before)
    expect(await copied()).toMatchObject({ code: 0 })
    await writer.next()
    expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
  }, 240_000)

  it('to the last block, with no guard, while a server copies itself, fails the copy, and not the server', async () => {
    const cluster = shop.current
    await reconfigureAgents(cluster, [small], { lowSpaceBytes: 0 })
    const before = await now()
    const writer = await Writer.start(cluster)
    const worker = await beginCopy()
    await disk.fillUntil(0)
    const { code, output } = await worker.end
    expect([code, output]).toEqual([1, expect.stringMatching(/dataLoad failed: the source failed: .*space/)])
    await expectGoingOn(before)
    // Only where the space ended while InnoDB noted what changed.
    const next = await copied()
    if (next.code !== 0) {
      expect(next.output).toContain('mysqld gives none until it is started again')
      await cluster.fault(small, 'kill-mysqld')
      await cluster.otherMysqld(small, before.pid)
      await cluster.whole(3, wakesMs)
      expect(await copied()).toMatchObject({ code: 0 })
    }
    await writer.next()
    expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
  }, 240_000)
})
