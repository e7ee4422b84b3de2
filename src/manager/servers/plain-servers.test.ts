import { once } from 'node:events'
import { connect } from 'node:net'
import { Readable } from 'node:stream'
import { Worker } from 'node:worker_threads'
import { Counter, Registry } from 'prom-client'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createLogger } from '#common/log/logger.ts'
import { realWorld } from '#common/ports/real-world.ts'
import { virtualWorld } from '#common/ports/testing-world.ts'
import { healthServer, type HealthCheck } from './health.ts'
import { metricsServer } from './metrics-server.ts'
import { plainServer, type PlainServer, type PlainServerParts } from './plain.ts'
import { profilingServer } from './profiling.ts'

const address = { host: '127.0.0.1', port: 0 }
const logged: string[] = []
const log = createLogger({ level: 'info', name: 'test', destination: { write: (line) => void logged.push(line) } })

/** Runs until the test ends. */
async function started(server: PlainServer): Promise<{ readonly url: string; readonly stop: () => Promise<void> }> {
  const end = new AbortController()
  const running = server.run(end.signal)
  const stop = (): Promise<void> => (end.abort(), running)
  onTestFinished(stop)
  const { host, port } = await server.ready()
  return { url: `http://${host}:${port}`, stop }
}

async function get(
  url: string,
  options: RequestInit = {},
): Promise<{ readonly status: number; readonly text: string; readonly headers: Headers }> {
  const answer = await fetch(url, options)
  return { status: answer.status, text: await answer.text(), headers: answer.headers }
}

const serving = (routes: PlainServerParts['routes']) =>
  plainServer({ name: 'pages', address, option: '--pages-port', routes, log })

describe('a plain server', () => {
  test('answers what it has, and says what there is for anything else', async () => {
    const { url } = await started(
      serving({
        '/a': async ({ query }) => ({ body: `a ${query.get('b')}\n` }),
        '/stream': async () => ({ body: Readable.from(['one ', 'two']) }),
      }),
    )
    expect(await get(`${url}/a?b=1`)).toMatchObject({ status: 200, text: 'a 1\n' })
    expect(await get(`${url}/stream`)).toMatchObject({ status: 200, text: 'one two' })
    const missing = await get(`${url}/b`)
    expect([missing.status, JSON.parse(missing.text)]).toEqual([
      404,
      expect.objectContaining({ code: 'REGENT_NOT_FOUND', detail: 'there is no /b; there are /a, /stream' }),
    ])
    const posted = await get(`${url}/a`, { method: 'POST' })
    expect([posted.status, posted.headers.get('allow')]).toEqual([405, 'GET'])
  })

  test('keeps what failed unexpectedly for the log', async () => {
    const { url } = await started(serving({ '/a': async () => Promise.reject(new Error('hunter2')) }))
    const failed = await get(`${url}/a`)
    expect([failed.status, failed.text.includes('hunter2'), logged.at(-1)?.includes('hunter2')]).toEqual([
      500,
      false,
      true,
    ])
  })

  test('names the option that changes its address where that is taken', async () => {
    const { url } = await started(serving({}))
    const second = plainServer({
      name: 'second',
      address: { ...address, port: Number(new URL(url).port) },
      option: '--pages-port',
      routes: {},
      log,
    })
    await expect(second.run(new AbortController().signal)).rejects.toMatchObject({
      code: 'REGENT_ADDRESS_IN_USE',
      message: expect.stringContaining('(--pages-port) is taken') as string,
    })
    await expect(second.ready()).rejects.toMatchObject({ code: 'REGENT_ADDRESS_IN_USE' })
  })

  test('ends though somebody is connected and says nothing, or waits for an answer', async () => {
    const { url, stop } = await started(serving({ '/never': () => new Promise(() => undefined) }))
    const socket = connect(Number(new URL(url).port), '127.0.0.1').on('error', () => undefined)
    await new Promise((resolve) => socket.once('connect', resolve))
    const waiting = fetch(`${url}/never`).catch(() => 'cut')
    await new Promise((resolve) => setTimeout(resolve, 50))
    await stop()
    expect(await waiting).toBe('cut')
    await expect(fetch(url)).rejects.toThrow()
  })

  test('ends at once where it is told to before it listens', async () => {
    await serving({}).run(AbortSignal.abort())
  })
})

describe('the health server', () => {
  const check = (name: string, answer: HealthCheck['check']): HealthCheck => ({ name, check: answer })
  const well = check('informers', () => undefined)
  const server = (alive: readonly HealthCheck[], ready: readonly HealthCheck[], timers = realWorld.timers) =>
    started(healthServer({ address, alive, ready, timers, log }))

  test('says yes while every check does, each of its two pages with checks of its own', async () => {
    const { url } = await server([], [well, check('webhook', () => 'has no certificate yet')])
    expect(await get(`${url}/healthz`)).toMatchObject({ status: 200, text: 'ok\n' })
    expect(await get(`${url}/readyz`)).toMatchObject({
      status: 503,
      text: 'informers: ok\nwebhook: has no certificate yet\nfailed\n',
    })
  })

  test('names a check that throws', async () => {
    const { url } = await server([check('store', () => Promise.reject(new Error('does not answer'))), well], [])
    expect(await get(`${url}/healthz`)).toMatchObject({
      status: 503,
      text: 'store: does not answer\ninformers: ok\nfailed\n',
    })
  })

  test('names a check that hangs, before the kubelet gives up waiting', async () => {
    const world = virtualWorld()
    const { url } = await server([check('store', () => new Promise(() => undefined))], [], world.timers)
    const asked = get(`${url}/healthz`)
    while (world.pending === 0) await world.settle()
    await world.advance(999)
    expect(await asked).toMatchObject({ status: 503, text: 'store: no answer after 800 ms\nfailed\n' })
  })
})

test('the metrics server shows what every registry holds, as Prometheus reads it', async () => {
  const registries = [new Registry(), new Registry()]
  for (const [at, registry] of registries.entries())
    new Counter({ name: `things_${at}_total`, help: 'Things.', registers: [registry] }).inc(at + 1)
  const { url } = await started(metricsServer({ address, registries, log }))
  const { text, headers } = await get(`${url}/metrics`)
  expect(text.split('\n').filter((line) => !line.startsWith('#') && line !== '')).toEqual([
    'things_0_total 1',
    'things_1_total 2',
  ])
  expect(headers.get('content-type')).toContain('version=0.0.4')
})

describe('the profiling server', () => {
  test('gives a CPU profile of as many seconds as asked for, and one at a time', async () => {
    const world = virtualWorld()
    const { url } = await started(profilingServer({ address, world, log }))
    const asked = get(`${url}/debug/profile?seconds=7`)
    while (world.pending === 0) await world.settle()
    const second = await get(`${url}/debug/heap`)
    expect([second.status, second.text]).toEqual([
      409,
      expect.stringContaining('a CPU profile is being taken already') as string,
    ])
    await world.advance(6_999)
    expect(world.pending).toBe(1)
    await world.advance(1)
    const { text, headers } = await asked
    const profile = JSON.parse(text) as {
      readonly nodes: readonly unknown[]
      readonly samples: readonly number[]
      readonly timeDeltas: readonly number[]
    }
    expect(profile.nodes.length).toBeGreaterThan(0)
    expect(profile.samples.length).toBe(profile.timeDeltas.length)
    expect(headers.get('content-disposition')).toBe(
      'attachment; filename="regent-manager-2026-01-01T00-00-07.000Z.cpuprofile"',
    )
  })

  test('gives up a profile whose reader went away, and takes the next', async () => {
    const world = virtualWorld()
    const { url } = await started(profilingServer({ address, world, log }))
    const reader = new AbortController()
    const asked = fetch(`${url}/debug/profile`, { signal: reader.signal }).catch(() => 'gone')
    while (world.pending === 0) await world.settle()
    reader.abort()
    expect(await asked).toBe('gone')
    while (world.pending > 0) await world.settle()
    const next = get(`${url}/debug/profile?seconds=1`)
    while (world.pending === 0) await world.settle()
    await world.advance(1_000)
    expect((await next).status).toBe(200)
  })

  test.each(['0', '61', 'ten', '1.5', ''])('refuses a profile of "%s" seconds', async (seconds) => {
    const { url } = await started(profilingServer({ address, world: virtualWorld(), log }))
    expect(await get(`${url}/debug/profile?seconds=${seconds}`)).toMatchObject({
      status: 400,
      text: expect.stringContaining('allowed is an integer from 1 to 60') as string,
    })
  })

  test('gives a heap snapshot, and then the next', async () => {
    const url = await inThreadOfItsOwn()
    for (const text of [(await get(`${url}/debug/heap`)).text, (await get(`${url}/debug/heap`)).text]) {
      expect(text.slice(0, 20)).toMatch(/^\{"snapshot":\{"meta"/)
      expect(text.trimEnd().at(-1)).toBe('}')
    }
  })
})

/** The profiling server where the heap is small: that of the test's own process takes seconds. */
async function inThreadOfItsOwn(): Promise<string> {
  const code = `
    const { parentPort } = require('node:worker_threads')
    const quiet = { info() {}, warn() {}, error() {} }
    void import(${JSON.stringify(new URL('./profiling.ts', import.meta.url).href)}).then(async ({ profilingServer }) => {
      const server = profilingServer({ address: ${JSON.stringify(address)}, world: { clock: { wallMs: () => 0 } }, log: quiet })
      void server.run(new AbortController().signal)
      parentPort.postMessage((await server.ready()).port)
    })`
  const worker = new Worker(code, { eval: true })
  onTestFinished(async () => void (await worker.terminate()))
  const [port] = (await once(worker, 'message')) as [number]
  return `http://127.0.0.1:${port}`
}
