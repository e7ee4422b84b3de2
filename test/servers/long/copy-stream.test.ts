import { existsSync } from 'node:fs'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { volumeLayout } from '#agents/instance/volume-layout.ts'
import type { LoadedNote } from '#agents/lifecycle/worker/load-folder.ts'
import { parseGtidSet } from '#topology/gtid/gtid-set.ts'
import type { TestCluster } from '#test/support/cluster.ts'
import { HeldProxy } from '#test/support/held-proxy.ts'
import { logOf } from '#test/support/instance-files.ts'
import { expectBeginningOfHistory } from '#test/support/copied-history.ts'
import { reconfigureAgents, startAgent, startWorker, streamingPort } from '#test/support/lifecycle-agents.ts'
import { LoneServer, value } from '#test/support/lone-server.ts'
import { withCluster } from '#test/support/with-cluster.ts'
import { Writer } from '#test/support/writer.ts'

const shop = withCluster()
const mebibyte = 1_048_576

/** Of the token and what is loaded. */
let folder = ''
let tokenFile = ''

beforeAll(async () => {
  const cluster = shop.current
  await cluster.whole()
  folder = await mkdtemp(join(tmpdir(), 'regent-copies-'))
  tokenFile = join(folder, 'token')
  await writeFile(tokenFile, 'token-of-the-copy-streams-of-this-test', { mode: 0o600 })
  await reconfigureAgents(cluster, await namesOf(cluster), { lifecycle: { tokenFile } })
  const primary = await cluster.primary()
  await cluster.sql(primary, 'create table app.bulk (id int primary key auto_increment, body longblob)', {
    user: 'client',
  })
  for (let row = 0; row < 20; row++)
    await cluster.sql(primary, `insert into app.bulk (body) values (concat(${row}, repeat('regent', 175000)))`, {
      user: 'client',
    })
  await cluster.whole()
}, 240_000)

afterAll(async () => {
  if (folder !== '') await rm(folder, { recursive: true, force: true })
})

async function namesOf(cluster: TestCluster): Promise<readonly string[]> {
  return (await cluster.status()).instances.map(({ name }) => name)
}

async function sourceAt(name: string): Promise<{ readonly host: string; readonly port: number }> {
  return { host: (await shop.current.instance(name)).host, port: streamingPort }
}

async function aTarget(): Promise<string> {
  return join(await mkdtemp(join(folder, 'target-')), 'data')
}

async function streamFolderOf(name: string): Promise<string> {
  return volumeLayout((await shop.current.instance(name)).volume).streamDir
}

/** Its agent streams nothing, and nothing is left of what it streamed. */
async function untilQuiet(name: string): Promise<void> {
  const stream = await streamFolderOf(name)
  await shop.current.until(`${name} has no copy of itself`, async () => !existsSync(stream))
  expect(
    await shop.current.value(
      name,
      "select count(*) from performance_schema.threads where processlist_info like 'clone local%'",
    ),
  ).toBe('0')
}

/** A server of its own on what was loaded, for as long as the test runs. */
async function serverOn(dataDir: string) {
  const server = await LoneServer.over(dataDir, await shop.current.login('admin'))
  onTestFinished(() => server.remove())
  return server.start('--skip-replica-start', '--super-read-only=ON')
}

/** No server starts on the folder, which shows why. */
async function expectUnusable(dataDir: string): Promise<void> {
  expect(await readFile(join(dataDir, 'regent-load.partial', 'unfinished.txt'), 'utf8')).toContain('not usable')
  const server = await LoneServer.over(dataDir, await shop.current.login('admin'))
  onTestFinished(() => server.remove())
  await expect(server.start()).rejects.toThrow('mysqld has ended')
}

/** Copies go slowly at this server; the test has as long as it wants. */
async function slowDown(name: string): Promise<void> {
  const cluster = shop.current
  // The least that there is: a mebibyte a second.
  await cluster.sql(name, 'set global clone_max_data_bandwidth = 1')
  onTestFinished(async () => void (await cluster.sql(name, 'set global clone_max_data_bandwidth = 0')))
}

/** Waits until the server copies itself. */
async function untilCloning(name: string): Promise<void> {
  const stream = await streamFolderOf(name)
  await shop.current.until(`${name} copies itself`, async () => existsSync(join(stream, 'ibdata1')))
}

it.each(['a replica', 'the primary'])(
  'A copy of %s of a cluster that is written to starts as a server with a beginning of the history, and all of its rows',
  async (which) => {
    const cluster = shop.current
    const writer = await Writer.start(cluster)
    const primary = await cluster.primary()
    const [replica = ''] = await cluster.replicas()
    const name = which === 'the primary' ? primary : replica
    const dataDir = await aTarget()
    const worker = startWorker(await sourceAt(name), { dataDir, tokenFile })
    const { code, output } = await worker.end
    expect([code, output]).toEqual([0, expect.stringContaining('each checked against the source')])
    await writer.next()
    const note = JSON.parse(await readFile(join(dataDir, 'regent-loaded.json'), 'utf8')) as LoadedNote
    expect(note).toMatchObject({ task: 'load-1', isVerified: true })
    expect(await readdir(dataDir)).not.toContain('auto.cnf')
    const session = await serverOn(dataDir)
    const executed = parseGtidSet(await value(session, 'select @@global.gtid_executed'))
    const now = parseGtidSet(await cluster.value(primary, 'select @@global.gtid_executed'))
    expectBeginningOfHistory(executed, note, now)
    expect(now.subtract(executed).isEmpty()).toBe(false)
    const bulk = 'select count(*), sum(crc32(body)), sum(length(body)) from app.bulk'
    expect((await session.query(bulk))[0]).toEqual(await cluster.sql(primary, bulk))
    const last = await value(session, 'select max(number) from app.writes')
    const rows = `select count(*), sum(id), sum(number) from app.writes where number <= ${last}`
    expect((await session.query(rows))[0]).toEqual(await cluster.sql(primary, rows))
    const uuids = await Promise.all((await namesOf(cluster)).map((one) => cluster.value(one, 'select @@server_uuid')))
    expect(uuids).not.toContain(await value(session, 'select @@server_uuid'))
    await untilQuiet(name)
    const log = await logOf(cluster, name)
    expect(log).toContain('the copy was made in')
    expect(log.includes('this is the primary')).toBe(which === 'the primary')
    expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
    // The worker is started again, as the kubelet does: the task is known to be done.
    await session.end()
    const again = await startWorker(await sourceAt(name), { dataDir, tokenFile }).end
    expect([again.code, again.output]).toEqual([0, expect.stringContaining('nothing was done again')])
    const other = await startWorker(await sourceAt(name), { dataDir, tokenFile, task: 'load-2' }).end
    expect([other.code, other.output]).toEqual([1, expect.stringContaining('has data already')])
  },
)

it('A worker that is killed in the middle leaves a folder that no server starts on, and its next run begins from nothing', async () => {
  const cluster = shop.current
  const [name = ''] = await cluster.replicas()
  const source = await sourceAt(name)
  const proxy = await HeldProxy.start(source, 20 * mebibyte)
  onTestFinished(() => proxy.end())
  const dataDir = await aTarget()
  const worker = startWorker({ host: '127.0.0.1', port: proxy.port }, { dataDir, tokenFile })
  await proxy.held
  await cluster.until('a part of the copy is there', async () =>
    existsSync(join(dataDir, 'regent-load.partial', 'data', 'app')),
  )
  worker.process.kill('SIGKILL')
  await worker.end
  await untilQuiet(name)
  await expectUnusable(dataDir)
  expect(await startWorker(source, { dataDir, tokenFile }).end).toMatchObject({ code: 0 })
  expect(await readdir(dataDir)).not.toContain('regent-load.partial')
  expect(await value(await serverOn(dataDir), 'select count(*) from app.bulk')).toBe('20')
})

it('A stream that is cut in the middle fails the worker, and nothing of it is kept at either end', async () => {
  const [name = ''] = await shop.current.replicas()
  const proxy = await HeldProxy.start(await sourceAt(name), 20 * mebibyte)
  onTestFinished(() => proxy.end())
  const dataDir = await aTarget()
  const worker = startWorker({ host: '127.0.0.1', port: proxy.port }, { dataDir, tokenFile })
  await proxy.held
  proxy.cut()
  const { code, output } = await worker.end
  expect([code, output]).toEqual([
    1,
    expect.stringMatching(/dataLoad failed: the (stream|connection) broke off after \d+ bytes/),
  ])
  expect(await readdir(join(dataDir, 'regent-load.partial'))).toEqual(['unfinished.txt'])
  await expectUnusable(dataDir)
  await untilQuiet(name)
})

it('An agent that dies while its server copies itself, or while the copy is sent, has all of the copy removed by the next', async () => {
  const cluster = shop.current
  const [name = ''] = await cluster.replicas()
  const source = await sourceAt(name)
  const stream = await streamFolderOf(name)
  const dataDir = await aTarget()
  await slowDown(name)
  const first = startWorker(source, { dataDir, tokenFile })
  await untilCloning(name)
  await cluster.fault(name, 'kill-agent')
  expect((await first.end).code).toBe(1)
  expect(existsSync(stream)).toBe(true)
  await startAgent(cluster, name)
  await untilQuiet(name)

  await cluster.sql(name, 'set global clone_max_data_bandwidth = 0')
  const proxy = await HeldProxy.start(source, 20 * mebibyte)
  onTestFinished(() => proxy.end())
  const second = startWorker({ host: '127.0.0.1', port: proxy.port }, { dataDir, tokenFile })
  await proxy.held
  await cluster.fault(name, 'kill-agent')
  proxy.goOn()
  expect((await second.end).code).toBe(1)
  expect(existsSync(stream)).toBe(true)
  await startAgent(cluster, name)
  await untilQuiet(name)
  await cluster.whole()
  expect(await startWorker(source, { dataDir, tokenFile }).end).toMatchObject({ code: 0 })
})

it('A second copy at the same time is refused, and the first goes on', async () => {
  const [name = ''] = await shop.current.replicas()
  const source = await sourceAt(name)
  const proxy = await HeldProxy.start(source, 20 * mebibyte)
  onTestFinished(() => proxy.end())
  const [one, other] = [await aTarget(), await aTarget()]
  const first = startWorker({ host: '127.0.0.1', port: proxy.port }, { dataDir: one, tokenFile })
  await proxy.held
  const second = await startWorker(source, { dataDir: other, tokenFile }).end
  expect([second.code, second.output]).toEqual([
    1,
    expect.stringContaining('the source failed: a copy of this server is being streamed already'),
  ])
  proxy.goOn()
  expect(await first.end).toMatchObject({ code: 0 })
  await untilQuiet(name)
})

it('A replica that is copied can become the primary: the copy is given up', async () => {
  const cluster = shop.current
  const [name = ''] = await cluster.replicas()
  const writer = await Writer.start(cluster)
  await slowDown(name)
  const worker = startWorker(await sourceAt(name), { dataDir: await aTarget(), tokenFile })
  await untilCloning(name)
  expect(await cluster.switchover({ to: name })).toMatchObject({ done: true })
  const { code, output } = await worker.end
  expect([code, output]).toEqual([1, expect.stringContaining('the cluster is changing its primary')])
  await writer.next()
  await cluster.whole()
  await untilQuiet(name)
  expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
})

it('Nobody without the token gets a byte', async () => {
  const [name = ''] = await shop.current.replicas()
  const wrong = join(folder, 'wrong')
  await writeFile(wrong, 'another-token-than-that-of-the-agents', { mode: 0o600 })
  const { code, output } = await startWorker(await sourceAt(name), { dataDir: await aTarget(), tokenFile: wrong }).end
  expect([code, output]).toEqual([1, expect.stringContaining('without a byte')])
})

it('An instance whose volume is short of space makes no copy', async () => {
  const cluster = shop.current
  const [name = ''] = await cluster.replicas()
  // The volume is that of this machine: what is left of it is made to be too little.
  await reconfigureAgents(cluster, [name], { lowSpaceBytes: 1_000_000_000_000 })
  const { code, output } = await startWorker(await sourceAt(name), { dataDir: await aTarget(), tokenFile }).end
  expect([code, output]).toEqual([1, expect.stringMatching(/the volume has [\d.]+ MiB free; a copy takes/)])
  await reconfigureAgents(cluster, [name], { lowSpaceBytes: 67_108_864 })
})
