import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { get } from 'node:http'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it, onTestFinished } from 'vitest'
import { readProcessStat } from '#common/process/process-stat.ts'
import { entryOf } from '#local/logs/log-tail.ts'
import type { OperationResult } from '#api-contract/operation-result.ts'
import type { ExplainView } from '#api-contract/explain-view.ts'
import { runRegent, type Ran } from '#test/support/cluster.ts'
import { logOf } from '#test/support/instance-files.ts'
import { monotonicMs } from '#test/support/monotonic.ts'
import { withCluster } from '#test/support/with-cluster.ts'
import { Writer } from '#test/support/writer.ts'
import { expectBelow } from '#test/support/expect-below.ts'

const bin = join(import.meta.dirname, '../..', '..', 'bin', 'regent')
const shop = withCluster()

/** Runs it and gives what it said; throws where it failed. */
async function said(...words: readonly string[]): Promise<string> {
  const ran = await runRegent(shop.current.home, words, { deadlineMs: 180_000 })
  if (ran.code !== 0) throw new Error(`regent ${words.join(' ')} ended with ${ran.code}: ${ran.stderr}`)
  return ran.stdout
}

function started(...words: readonly string[]) {
  const child = spawn(bin, words, {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, REGENT_HOME: shop.current.home },
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const text = { out: '' }
  child.stdout.setEncoding('utf8').on('data', (part: string) => (text.out += part))
  return { child, text, ended: once(child, 'close') as Promise<[number | null, NodeJS.Signals | null]> }
}

const stopped = (pid: number | null): Promise<boolean> =>
  shop.current.until(`process ${pid} is stopped`, async () => readProcessStat(pid ?? 0)?.state === 'T')
const refused = (code: number, ...words: readonly string[]): Partial<Ran> => ({
  code,
  stdout: '',
  stderr: expect.stringMatching(new RegExp(words.join('[^]*'))) as string,
})
const nothingLost = { lost: [], duplicated: [], differing: [] }

it('"local fault" breaks and mends one instance, and says what it did to which process', async () => {
  const cluster = shop.current
  await cluster.whole()
  const writer = await Writer.start(cluster)
  const { pid } = await cluster.instance('shop-1')
  expect(await said('local', 'fault', 'shop-1', 'kill-mysqld')).toBe(`killed mysqld of shop-1, pid ${pid}\n`)
  await cluster.otherMysqld('shop-1', pid)
  await cluster.whole()
  const now = await cluster.instance('shop-1')
  expect(JSON.parse(await said('local', 'fault', 'shop-1', 'freeze-mysqld', '-o', 'json'))).toEqual({
    formatVersion: 1,
    instance: 'shop-1',
    fault: 'freeze-mysqld',
    sentence: `froze mysqld of shop-1, pid ${now.pid}`,
  })
  await stopped(now.pid)
  expect(await said('local', 'fault', 'shop-1', 'thaw-mysqld')).toBe(`thawed mysqld of shop-1, pid ${now.pid}\n`)
  await cluster.whole()
  expect((await cluster.instance('shop-1')).pid).toBe(now.pid)
  expect(await said('local', 'fault', 'shop-1', 'freeze-agent')).toBe(
    `froze the agent of shop-1, pid ${now.agentPid}\n`,
  )
  await stopped(now.agentPid)
  expect(await said('local', 'fault', 'shop-1', 'thaw-agent')).toBe(`thawed the agent of shop-1, pid ${now.agentPid}\n`)
  await cluster.whole()
  expect(await writer.check()).toMatchObject({ ...nothingLost, instances: 3 })
})

it('What "local fault" kills stays down until it is told to start it, and a fault that nothing is there for is refused', async () => {
  const cluster = shop.current
  const before = await cluster.whole()
  const writer = await Writer.start(cluster)
  const replica = (await cluster.replicas())[0] ?? ''
  const { pid, agentPid } = await cluster.instance(replica)
  onTestFinished(() => cluster.fault(replica, 'start').then(() => undefined))
  expect(await said('local', 'fault', replica, 'kill')).toBe(
    `killed agent (pid ${agentPid}) and mysqld (pid ${pid}) of ${replica}; it stays down until "regent local fault ${replica} start"\n`,
  )
  expect(await cluster.instance(replica)).toMatchObject({ pid: null, agentPid: null })
  await cluster.waitFor(`${replica} is gone`, ({ instances }) =>
    instances.some(({ name, reachable }) => name === replica && !reachable),
  )
  for (const [fault, what] of [
    ['kill-agent', `the agent of ${replica}`],
    ['freeze-agent', `the agent of ${replica}`],
    ['kill-mysqld', `mysqld of ${replica}`],
    ['thaw-mysqld', `mysqld of ${replica}`],
  ] as const) {
    expect(await cluster.regent('local', 'fault', replica, fault)).toMatchObject(
      refused(1, `${what} does not run`, 'REGENT_REFUSED'),
    )
  }
  expect(await cluster.regent('local', 'fault', 'shop-9', 'kill')).toMatchObject(
    refused(1, 'cluster shop has no instance "shop-9"; it has shop-0, shop-1, shop-2', 'REGENT_NOT_FOUND'),
  )
  expect(await cluster.instance(replica)).toMatchObject({ pid: null, agentPid: null })
  expect(await said('local', 'fault', replica, 'start')).toBe(
    `started the agent of ${replica}, which starts its mysqld as its promise allows\n`,
  )
  expect((await cluster.whole()).primary).toBe(before.primary)
  expect(await writer.check()).toMatchObject({ ...nothingLost, instances: 3 })
})

it('"explain" says in one sentence how it is, what is wrong and what the record says, and the same as JSON', async () => {
  const cluster = shop.current
  const view = await cluster.whole()
  const { sentence, record } = await cluster.explain()
  const text = await said('explain')
  expect(text).toContain(`shop: ${sentence}\n`)
  expect(text).toContain(
    `\nthe record:\n  epoch ${record?.epoch}, revision ${record?.revision}, primary ${record?.primary}\n  sync set: ${record?.syncSet.join(', ')}; a write needs 1 of them\n`,
  )
  const replica = view.syncSet[0] ?? ''
  onTestFinished(() => cluster.fault(replica, 'start').then(() => undefined))
  await cluster.fault(replica, 'kill')
  const gone = await cluster.until('it is explained', async () => {
    const seen = JSON.parse(await said('explain', 'shop', '-o', 'json')) as ExplainView
    return seen.analyses.some(({ sentence }) => sentence.includes(replica)) && seen
  })
  expect(gone.record?.primary).toBe(record?.primary)
  const finding = gone.analyses.find(({ sentence }) => sentence.includes(replica))
  expect(await said('explain', 'shop')).toMatch(
    new RegExp(`\\nwhat is seen:\\n(?:  .*\\n)*  ${finding?.code}  .*${replica}`),
  )
  expect(await cluster.regent('explain', 'mall')).toMatchObject(refused(1, 'mall', 'REGENT_NOT_FOUND'))
  await cluster.fault(replica, 'start')
  await cluster.whole()
  expect(await said('explain')).not.toContain(`${finding?.code}  `)
})

it('"local sql --on" runs statements as admin on the instance that is named, whatever its role, and leaves no file behind', async () => {
  const cluster = shop.current
  await cluster.whole()
  for (const name of ['shop-0', 'shop-1', 'shop-2']) {
    const { child, text, ended } = started('local', 'sql', '--on', name)
    child.stdin.end('SELECT CURRENT_USER(), @@server_uuid;')
    expect(await ended).toEqual([0, null])
    expect(text.out).toMatch(new RegExp(`^admin@%\\s+${await cluster.value(name, 'SELECT @@server_uuid')}$`, 'm'))
  }
  const { child, ended } = started('local', 'sql', 'shop', '--on', 'shop-1')
  child.stdin.end('SELECT nonsense;')
  expect(await ended).toEqual([1, null])
  expect(await cluster.regent('local', 'sql', '--on', 'shop-9')).toMatchObject(
    refused(1, 'cluster shop has no instance "shop-9"; it has shop-0, shop-1, shop-2', 'REGENT_NOT_FOUND'),
  )
  expect((await readdir(cluster.layout.run)).filter((entry) => entry.startsWith('sql-'))).toEqual([])
})

const linesOf = (text: string): readonly string[] => text.split('\n').filter((line) => line !== '')

it('"local logs" prints the end of one log, or of all of them in the order of time', async () => {
  const cluster = shop.current
  await cluster.whole()
  const own = linesOf(await logOf(cluster, 'supervisor')).slice(-3)
  expect(own).toHaveLength(3)
  for (const words of [['supervisor'], ['shop', 'supervisor']])
    expect(linesOf(await said('local', 'logs', ...words, '-n', '3'))).toEqual(own)
  expect(linesOf(await said('local', 'logs', 'shop-1', '-n', '1'))).toEqual(
    linesOf(await logOf(cluster, 'shop-1')).slice(-1),
  )
  expect(await said('local', 'logs', 'shop', '-n', '0')).toBe('')
  const all = linesOf(await said('local', 'logs', 'shop', '-n', '4'))
  const times = all.map((line) => entryOf(line)?.wallMs ?? NaN)
  expect(times).toEqual(times.toSorted((a, b) => a - b))
  const processes = ['supervisor', 'shop-0', 'shop-1', 'shop-2', 'manager']
  for (const name of processes) {
    const log = linesOf(await logOf(cluster, name))
    expect(all.filter((line) => log.includes(line)).length).toBeGreaterThan(0)
  }
  expect(await cluster.regent('local', 'logs', 'shop', 'shop-9')).toMatchObject(
    refused(1, `cluster shop has no process "shop-9"; it has ${processes.join(', ')}`, 'REGENT_NOT_FOUND'),
  )
})

it.each([
  ['SIGINT', [0, null]],
  ['SIGTERM', [null, 'SIGTERM']],
] as const)('"local logs -f" goes on with what every process writes, until %s', async (signal, ending) => {
  const cluster = shop.current
  await cluster.whole()
  const { child, text, ended } = started('local', 'logs', 'shop', '-f', '-n', '1')
  await cluster.until('it begins with what was there', async () => linesOf(text.out).length > 0)
  const to = (await cluster.replicas())[0] ?? ''
  const was = await cluster.primary()
  await cluster.switchover({ to })
  await cluster.whole()
  for (const name of ['manager', was, to]) {
    const last = linesOf(await logOf(cluster, name)).at(-1) ?? ''
    await cluster.until(`the last line of ${name} is shown`, async () => linesOf(text.out).includes(last))
  }
  expect(child.exitCode).toBeNull()
  child.kill(signal)
  expect(await ended).toEqual(ending)
})

it('"local scale" grows and shrinks the cluster under load, and a dry run only says how', async () => {
  const cluster = shop.current
  await cluster.whole()
  const writer = await Writer.start(cluster)
  expect(await said('local', 'scale', 'shop', '4', '--dry-run')).toMatch(/^dry run: .+\n(?: {2}.+\n)+$/)
  expect((await cluster.view()).instances).toHaveLength(3)
  expect(await said('local', 'scale', '4')).toMatch(/^.*\b4\b.*\n/)
  expect((await cluster.whole(4)).instances.map(({ name }) => name)).toEqual(['shop-0', 'shop-1', 'shop-2', 'shop-3'])
  expect((await cluster.instance('shop-3')).pid).toBeGreaterThan(1)
  const result = JSON.parse(await said('local', 'scale', 'shop', '3', '-o', 'json')) as OperationResult
  expect(result).toMatchObject({ done: true, dryRun: false })
  await cluster.whole(3)
  expect((await cluster.status()).instances.map(({ name }) => name)).toEqual(['shop-0', 'shop-1', 'shop-2'])
  expect(await cluster.regent('local', 'scale', 'mall', '3')).toMatchObject(refused(1, 'mall', 'REGENT_NOT_FOUND'))
  expect(await writer.check()).toMatchObject({ ...nothingLost, instances: 3 })
}, 240_000)

interface Probed {
  readonly instance: string
  readonly path: '/live' | '/ready'
  readonly status: number | undefined
  readonly atMs: number
}

/**
 * What every agent answers to those who have no token, asked again and again while `work` goes on and once more after
 * it.
 */
async function probedDuring(work: () => Promise<unknown>): Promise<readonly Probed[]> {
  const { instances } = await shop.current.status()
  const found: Probed[] = []
  const ask = (name: string, path: Probed['path'], at: { host: string; port: number }) =>
    new Promise<void>((resolve, reject) => {
      const atMs = monotonicMs()
      get({ ...at, path, agent: false }, (response) => {
        found.push({ instance: name, path, status: response.resume().statusCode, atMs })
        resolve()
      }).on('error', reject)
    })
  const round = () =>
    Promise.all(
      instances.flatMap(({ name, host, agentPort: port }) =>
        (['/live', '/ready'] as const).map((path) => ask(name, path, { host, port })),
      ),
    )
  const over = new AbortController()
  const asking = (async () => {
    while (!over.signal.aborted) await round().then(() => sleep(10))
    await round()
  })()
  await work().finally(() => over.abort())
  await asking
  return found
}

const statusesOf = (found: readonly Probed[], path: Probed['path'], ...names: readonly string[]) =>
  found.filter((one) => one.path === path && names.includes(one.instance)).map(({ status }) => status)

async function allReady(): Promise<void> {
  await shop.current.whole()
  await shop.current.until('everybody is ready', async () =>
    (await probedDuring(async () => undefined)).every(({ status }) => status === 200),
  )
}

it('The agents of the primary and of replicas that follow it are ready; one whose mysqld died is not until that follows again, and it is live all the while', async () => {
  const cluster = shop.current
  await allReady()
  const writer = await Writer.start(cluster)
  const [victim = '', other = ''] = await cluster.replicas()
  const { pid } = await cluster.instance(victim)
  const found = await probedDuring(async () => {
    await cluster.fault(victim, 'kill-mysqld')
    await cluster.otherMysqld(victim, pid)
    await cluster.whole()
  })
  expect(new Set(statusesOf(found, '/ready', victim))).toEqual(new Set([200, 503]))
  expect(new Set(statusesOf(found, '/ready', await cluster.primary(), other))).toEqual(new Set([200]))
  expect(new Set(statusesOf(found, '/live', ...(await cluster.replicas()), await cluster.primary()))).toEqual(
    new Set([200]),
  )
  await allReady()
  expect(await writer.check()).toMatchObject({ ...nothingLost, instances: 3 })
})

it('A primary whose mysqld died is not ready at once, and its replicas stay ready while one of them takes over and the other is told whom to follow', async () => {
  const cluster = shop.current
  await allReady()
  const writer = await Writer.start(cluster)
  const [dead, replicas] = [await cluster.primary(), await cluster.replicas()]
  let diedMs = NaN
  const found = await probedDuring(async () => {
    diedMs = await cluster.fault(dead, 'kill-mysqld')
    await writer.outageSince(diedMs)
    await cluster.whole()
  })
  // Without a moment of grace they would not be, and from five seconds on they need not be.
  const within = found.filter(({ atMs }) => atMs < diedMs + 4_000)
  expect(new Set(statusesOf(within, '/ready', ...replicas))).toEqual(new Set([200]))
  const first = found.find(({ instance, path, status }) => instance === dead && path === '/ready' && status === 503)
  expectBelow(2_000, (first?.atMs ?? Infinity) - diedMs)
  expect(new Set(statusesOf(found, '/live', dead, ...replicas))).toEqual(new Set([200]))
  await allReady()
  expect(await writer.check()).toMatchObject({ ...nothingLost, instances: 3 })
})
