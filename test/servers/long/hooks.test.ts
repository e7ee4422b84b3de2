import { createHmac } from 'node:crypto'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { HookDocument } from '#failover/protocol/hook-document.ts'
import type { HookRun, Recovery } from '#failover/protocol/notes.ts'
import { pidsOf, startManager } from '#test/support/dying-manager.ts'
import { withCluster } from '#test/support/with-cluster.ts'
import { Writer } from '#test/support/writer.ts'

const secret = 'a-secret-of-the-receiver'

interface Received {
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: string
  readonly status: number
}

let folder = ''
let receiver: Server
const received: Received[] = []
/** Answers before that are 503. */
let refusals = 0

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'regent-hooks-'))
  await writeFile(join(folder, 'secret'), secret, { mode: 0o600 })
  await writeFile(join(folder, 'runs'), '')
  receiver = createServer((request, response) => {
    let body = ''
    request.setEncoding('utf8').on('data', (part: string) => (body += part))
    request.on('end', () => {
      const status = refusals-- > 0 ? 503 : 204
      received.push({ headers: request.headers, body, status })
      response.writeHead(status).end()
    })
  })
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
})

afterAll(async () => {
  receiver.close()
  await rm(folder, { recursive: true })
})

/** Writes what it is told, as JSON and as environment, on a line of its own. */
const tells = (name: string) =>
  `printf '%s %s %s %s %s %s\\n' ${name} "$REGENT_KEY" {failedHost}:{failedPort} {successorHost}:{successorPort} "$ORC_SUCCESSOR_ALIAS" {failureType} >> ${join(folder, 'runs')}`

const shop = withCluster(() => {
  const webhook = {
    url: `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/regent?token=never-shown`,
    secretFile: join(folder, 'secret'),
  }
  return {
    spec: {
      hooks: {
        detected: [{ shell: tells('detected') }],
        beforeFailover: [{ shell: tells('beforeFailover') }, { command: ['sh', '-c', 'cat > "$0"/told', folder] }],
        afterFailover: [{ shell: tells('afterFailover') }, { webhook }],
        beforeSwitchover: [
          { shell: `test ! -e ${join(folder, 'stop')} || { echo 'not today'; exit 3; }`, onFailure: 'stop' },
        ],
        afterSwitchover: [
          {
            shell: `${tells('afterSwitchover')}; while test -e ${join(folder, 'hang')}; do sleep 0.1; done`,
            timeoutMs: 60_000,
          },
          { webhook },
        ],
        failed: [{ shell: tells('failed') }],
      },
    },
  }
})

const runs = async (): Promise<readonly string[]> =>
  (await readFile(join(folder, 'runs'), 'utf8')).split('\n').filter((line) => line !== '')

async function runsOf(recovery: Pick<Recovery, 'id'> | string): Promise<readonly HookRun[]> {
  const id = typeof recovery === 'string' ? recovery : recovery.id
  return (await shop.current.recoveries()).find((one) => one.id === id)?.hooks?.runs ?? []
}

/** All hooks of the newest recovery have ended. */
function allEnded(kind: Recovery['kind'], epoch: number): Promise<Recovery> {
  return shop.current.until(`the hooks of the ${kind} have ended`, async () => {
    // No manager may answer at this moment.
    const [newest] = await shop.current.recoveries().catch(() => [])
    const states = (newest?.hooks?.runs ?? []).map(({ state }) => state)
    const isOver = states.length > 0 && states.every((state) => state !== 'due' && state !== 'running')
    return newest?.kind === kind && newest.fromEpoch === epoch && newest.outcome !== 'running' && isOver && newest
  })
}

const stateOf = ({ hooks }: Recovery): readonly string[] =>
  (hooks?.runs ?? []).map(({ moment, state }) => `${moment} ${state}`)

/** As a receiver checks them. */
function headersOf(letter: Received | undefined) {
  const { headers = {}, body = '' } = letter ?? {}
  const [, seconds = '', signature] = /^t=(\d+),v1=(.*)$/.exec(String(headers['regent-signature'])) ?? []
  const expected = createHmac('sha256', secret).update(`${seconds}.${body}`).digest('hex')
  return { key: headers['idempotency-key'], isSigned: signature === expected }
}

describe('Hooks', () => {
  it('run around a failover by a kill of mysqld, as command and as signed webhook, which is sent again where it is refused', async () => {
    const cluster = shop.current
    const { primary, epoch } = await cluster.whole()
    const from = primary ?? ''
    const writer = await Writer.start(cluster)
    refusals = 1
    process.kill((await pidsOf(cluster)).mysqld(from), 'SIGKILL')
    const recovery = await allEnded('failover', epoch)
    expect(recovery.outcome).toBe('succeeded')
    expect(stateOf(recovery)).toEqual([
      'detected succeeded',
      'beforeFailover succeeded',
      'beforeFailover succeeded',
      'afterFailover succeeded',
      'afterFailover succeeded',
    ])
    const to = await cluster.primary()
    const lines = (await runs()).map((line) => line.split(' '))
    expect(lines.map(([moment]) => moment).toSorted()).toEqual(['afterFailover', 'beforeFailover', 'detected'])
    const [, key, failed, successor, alias, type] = lines.find(([moment]) => moment === 'afterFailover') ?? []
    const row = (name: string) => cluster.instance(name).then(({ host, port }) => `${host}:${port}`)
    expect({ key, failed, successor, alias, type }).toEqual({
      key: `${recovery.id}.afterFailover.0`,
      failed: await row(from),
      successor: await row(to),
      alias: to,
      type: 'DeadMaster',
    })
    const told = JSON.parse(await readFile(join(folder, 'told'), 'utf8')) as HookDocument
    expect(told).toMatchObject({ version: 1, test: false, moment: 'beforeFailover', cluster: 'shop', automatic: true })
    expect(told.failed?.instance).toBe(from)

    const [refused, taken] = received
    expect([refused?.status, taken?.status]).toEqual([503, 204])
    expect(headersOf(taken)).toEqual({ key: `${recovery.id}.afterFailover.1`, isSigned: true })
    expect(headersOf(refused)).toEqual(headersOf(taken))
    expect(JSON.parse(taken?.body ?? '')).toMatchObject({
      moment: 'afterFailover',
      successor: { instance: to },
      recovery: { id: recovery.id, kind: 'failover', outcome: 'succeeded', failureType: 'DeadPrimary' },
    })
    const waits = recovery.timeline.filter(({ what }) => /hook sh? of beforeFailover|promise|committed/.test(what))
    expect(waits.findIndex(({ what }) => what.startsWith('promise'))).toBeGreaterThan(
      waits.findLastIndex(({ what }) => what.includes('beforeFailover succeeded')),
    )
    await cluster.whole()
    expect(await writer.check()).toMatchObject({ lost: [], instances: 3 })
  })

  it('are shown by regent recoveries, without what nobody may see', async () => {
    const cluster = shop.current
    const [newest] = await cluster.recoveries()
    const { stdout } = await cluster.regent('recoveries', 'shop', newest?.id ?? '')
    expect(stdout).toMatch(/afterFailover +webhook of 127\.0\.0\.1:\d+ +succeeded/)
    expect(stdout).toContain('hook webhook of 127.0.0.1')
    const log = await cluster.regent('local', 'logs', 'shop', 'manager')
    expect(log.stdout).toContain('hook printf of afterFailover succeeded')
    for (const text of [stdout, log.stdout, JSON.stringify(await cluster.recoveries())]) {
      expect(text).not.toContain(secret)
      expect(text).not.toContain('never-shown')
    }
  })

  it('stop a switchover, which says why, and run around the next one', async () => {
    const cluster = shop.current
    const { primary, epoch } = await cluster.whole()
    await writeFile(join(folder, 'stop'), '')
    await expect(cluster.switchover()).rejects.toMatchObject({
      code: 'REGENT_REFUSED',
      message: expect.stringContaining('hook test stopped it: exit 3: not today') as string,
    })
    await rm(join(folder, 'stop'))
    expect(await cluster.whole()).toMatchObject({ primary, epoch })
    await cluster.until('it failed', async () => (await runs()).some((line) => line.startsWith('failed ')))
    expect(await cluster.switchover()).toMatchObject({ done: true })
    const recovery = await allEnded('switchover', epoch)
    expect(stateOf(recovery)).toEqual([
      'beforeSwitchover succeeded',
      'afterSwitchover succeeded',
      'afterSwitchover succeeded',
    ])
  })

  it('never run a second time, where the manager is killed while one runs, and the rest of them still runs', async () => {
    const cluster = shop.current
    const { epoch } = await cluster.whole()
    const pids = await pidsOf(cluster)
    const [before, receivedBefore] = [await runs(), received.length]
    await writeFile(join(folder, 'hang'), '')
    expect(await cluster.switchover()).toMatchObject({ done: true })
    const begun = async () => (await runs()).slice(before.length).filter((line) => line.startsWith('afterSwitchover '))
    await cluster.until('the hook has begun', async () => (await begun()).length > 0)
    process.kill(pids.manager, 'SIGKILL')
    await startManager(cluster, pids.manager)
    const recovery = await allEnded('switchover', epoch)
    await rm(join(folder, 'hang'))
    expect(await begun()).toHaveLength(1)
    expect(received.length).toBe(receivedBefore + 1)
    const [first, second] = (await runsOf(recovery)).filter(({ moment }) => moment === 'afterSwitchover')
    expect(first).toMatchObject({
      state: 'unknown',
      said: 'begun by a manager that is gone; nobody knows how it ended',
    })
    expect(second).toMatchObject({ state: 'succeeded' })
    expect(recovery.timeline.map(({ what }) => what).join('\n')).toMatch(/begun by a manager that is gone/)
  })

  it('are tried with an example by regent hooks test, which fails where one of them does', async () => {
    const cluster = shop.current
    const { epoch } = await cluster.whole()
    const before = received.length
    const tried = await cluster.regent('hooks', 'test', 'shop', '--moment', 'afterSwitchover')
    expect(tried.stdout).toMatch(/2 of 2 hooks succeeded\n +afterSwitchover\.0 printf: succeeded: exit 0\n/)
    expect(tried.code).toBe(0)
    expect(JSON.parse(received[before]?.body ?? '')).toMatchObject({ test: true, moment: 'afterSwitchover' })
    await writeFile(join(folder, 'stop'), '')
    const failed = await cluster.regent('hooks', 'test', 'shop', '--moment', 'beforeSwitchover')
    expect(failed.stdout).toContain('beforeSwitchover.0 test: failed: exit 3: not today')
    expect(failed.code).not.toBe(0)
    expect(await cluster.view()).toMatchObject({ epoch })
  })

  it('are changed by local up while the cluster runs: the manager runs on and takes them', async () => {
    const cluster = shop.current
    const before = await cluster.status()
    const spec = JSON.parse(await readFile(cluster.layout.spec, 'utf8')) as object
    const file = join(folder, 'changed.yaml')
    await writeFile(file, JSON.stringify({ ...spec, hooks: { afterSwitchover: [{ shell: tells('changed') }] } }))
    const ran = await cluster.regent('local', 'up', 'shop', '--config', file)
    expect(ran, ran.stderr).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('the manager takes the hooks of the file within seconds') as string,
    })
    await cluster.until('the manager has them', async () =>
      (await cluster.regent('hooks', 'test', 'shop')).stdout.includes('1 of 1 hooks succeeded'),
    )
    const { epoch } = await cluster.whole()
    const told = (await runs()).length
    expect(await cluster.switchover()).toMatchObject({ done: true })
    expect(stateOf(await allEnded('switchover', epoch))).toEqual(['afterSwitchover succeeded'])
    expect((await runs()).slice(told)).toEqual([expect.stringMatching(/^changed /)])
    expect((await cluster.status()).managerPid).toBe(before.managerPid)
  })
})
