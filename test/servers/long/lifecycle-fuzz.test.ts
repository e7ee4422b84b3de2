import { access, mkdir, mkdtemp, readFile, rm } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { Unframer } from '#agents/lifecycle/streaming/frames.ts'
import { bash } from '#agents/lifecycle/testing.ts'
import { errorNames, type ActionResponse } from '#agents/lifecycle/wire/calls.ts'
import { callAction, LifecycleAgent, outputOf, postAction } from '#test/support/lifecycle-agent.ts'
import { freshSeeds } from '#test/support/draws.ts'
import { FaultySource, type Fault } from '#test/support/faulty-source.ts'
import { loadIn } from '#test/support/lifecycle-load.ts'

/** What was found once is found again; and `npm run test:all` looks at what no run looked at. */
const seeds: readonly (readonly [string, number])[] = [
  ['a fixed seed', 20_260_101],
  ...freshSeeds(1).map((fresh) => ['a fresh seed', fresh] as const),
]

const dumpBytes = 100_000
const actions = [
  bash('echo', 'echo -n "$TEXT"'),
  bash('dump', `head -c ${dumpBytes} /dev/zero`),
  bash('fails', 'head -c 1000 /dev/zero; exit 3'),
]
const bodyLimit = 4 * 1024 * 1024
/** A connection on which nothing more is sent is answered or closed at once; this is for a busy machine. */
const closedWithinMs = 60_000

let folder = ''
let agent: LifecycleAgent
let http: { readonly host: string; readonly port: number }
let streaming: { readonly host: string; readonly port: number }

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'regent-lifecycle-fuzz-'))
  agent = await LifecycleAgent.start({
    environment: {
      KB_AGENT_ACTION: JSON.stringify(actions),
      KB_AGENT_PROBE: 'null',
      KB_AGENT_STREAMING: 'dump,fails',
    },
    options: ['--open', '--port', '0', '--streaming-port', '0'],
  })
  http = await agent.address()
  streaming = await agent.address('streaming')
}, 150_000)

afterAll(async () => {
  await agent.end()
  await rm(folder, { recursive: true })
}, 60_000)

async function expectAlive(): Promise<void> {
  const answer = await callAction({ action: 'echo', parameters: { TEXT: 'alive' } }, { at: http })
  expect([outputOf(answer), agent.hasEnded, agent.errors]).toEqual(['alive', false, ''])
  await expect.poll(() => readFile(`/proc/${agent.pid}/task/${agent.pid}/children`, 'utf8'), patience).toBe('')
}
const patience = { timeout: 60_000 }

const wholeRequest = {
  action: 'echo',
  parameters: { TEXT: 'é"\\', OTHER: '1' },
  arguments: [['a'], []],
  timeoutSeconds: 5,
  retryPolicy: { maxRetries: 1, retryInterval: 1_000 },
  nonBlocking: false,
  rerun: true,
}

type Damage = (bytes: Buffer) => Buffer

/** One thing that happens to bytes on their way, or to a writer that is wrong. */
const damage: fc.Arbitrary<Damage> = fc.oneof(
  fc.tuple(fc.nat(), fc.integer({ min: 0, max: 7 })).map(([at, bit]): Damage => (bytes) => {
    const changed = Buffer.from(bytes)
    const place = at % Math.max(1, bytes.length)
    if (bytes.length > 0) changed[place] = (changed[place] ?? 0) ^ (1 << bit)
    return changed
  }),
  fc.nat().map(
    (at): Damage =>
      (bytes) =>
        bytes.subarray(0, at % (bytes.length + 1)),
  ),
  fc.tuple(fc.nat(), fc.uint8Array({ minLength: 1, maxLength: 40 })).map(([at, more]): Damage => (bytes) => {
    const place = at % (bytes.length + 1)
    return Buffer.concat([bytes.subarray(0, place), more, bytes.subarray(place)])
  }),
  fc.tuple(fc.nat(), fc.nat()).map(([a, b]): Damage => (bytes) => {
    const [from = 0, to = 0] = [a, b].map((at) => at % (bytes.length + 1)).sort((x, y) => x - y)
    return Buffer.concat([bytes.subarray(0, to), bytes.subarray(from)])
  }),
)
const damages = fc.array(damage, { minLength: 1, maxLength: 3 })
const damaged = (bytes: Buffer, list: readonly Damage[]) => list.reduce((now, one) => one(now), bytes)

const anyField = fc.oneof(fc.constant(null), fc.boolean(), fc.double(), fc.string(), fc.jsonValue({ maxDepth: 4 }))
const wrongTypes = fc
  .record(Object.fromEntries(Object.keys(wholeRequest).map((key) => [key, anyField])), { requiredKeys: [] })
  .map((fields) => Buffer.from(JSON.stringify({ ...wholeRequest, ...fields })))
const deep = fc
  .tuple(fc.constantFrom('[', '{"a":', '{"parameters":', '[{"x":'), fc.integer({ min: 1, max: 200_000 }))
  .map(([piece, depth]) => Buffer.from(piece.repeat(depth)))
const large = fc.integer({ min: 1, max: bodyLimit + 100_000 }).map((length) => {
  const body = Buffer.alloc(length, 'x')
  body.write('{"action":"echo","parameters":{"A":"')
  body.write('"}}', Math.max(0, length - 3))
  return body
})
const manyKeys = fc
  .integer({ min: 1, max: 20_000 })
  .map((keys) => Buffer.from(`{"action":"nobody",${Array.from({ length: keys }, (_, at) => `"k${at}":{}`).join()}}`))
const badUtf8 = fc
  .uint8Array({ minLength: 1, maxLength: 30 })
  .map((bytes) => Buffer.concat([Buffer.from('{"action":"echo","parameters":{"TEXT":"'), bytes, Buffer.from('"}}')]))
const mutated = damages.map((list) => damaged(Buffer.from(JSON.stringify(wholeRequest)), list))
const bodies = fc.oneof(
  { weight: 8, arbitrary: mutated },
  { weight: 4, arbitrary: wrongTypes },
  { weight: 2, arbitrary: badUtf8 },
  { weight: 1, arbitrary: deep },
  { weight: 1, arbitrary: manyKeys },
  { weight: 1, arbitrary: large },
)

interface Exchange {
  readonly received: Buffer
  /** How the connection ended: by its end, or broken. */
  readonly isReset: boolean
}

/** Writes these pieces, ends, and gives everything that came back until the connection was closed. */
function exchange(at: { readonly host: string; readonly port: number }, pieces: readonly Buffer[]): Promise<Exchange> {
  return new Promise((resolve, reject) => {
    const socket: Socket = connect({ ...at, noDelay: true })
    const chunks: Buffer[] = []
    let isReset = false
    socket.setTimeout(closedWithinMs, () => socket.destroy(new Error('nothing came, and nobody hung up')))
    socket.on('data', (chunk) => chunks.push(chunk))
    socket.on('error', (error: NodeJS.ErrnoException) => {
      isReset = true
      if (error.code !== 'ECONNRESET' && error.code !== 'EPIPE') reject(error)
    })
    socket.once('close', () => resolve({ received: Buffer.concat(chunks), isReset }))
    const write = (index: number): void => {
      const piece = pieces[index]
      if (socket.destroyed) return
      if (piece === undefined) socket.end()
      else socket.write(piece, () => setImmediate(write, index + 1))
    }
    socket.once('connect', () => write(0))
  })
}

/** Cuts bytes at these places. */
function cut(bytes: Buffer, places: readonly number[]): readonly Buffer[] {
  const sorted = places.map((place) => place % (bytes.length + 1)).sort((a, b) => a - b)
  return [0, ...sorted].map((from, index) => bytes.subarray(from, sorted[index] ?? bytes.length))
}
const cuts = fc.array(fc.nat(), { maxLength: 6 })

const known: readonly string[] = errorNames

describe.each(seeds)('Whatever is sent to a lifecycle agent, by %s', (_what, seed) => {
  beforeEach(() => console.info(`seed ${seed}`))

  it('as the body of a call is answered, with output or an error that callers know', async () => {
    await fc.assert(
      fc.asyncProperty(bodies, async (body) => {
        const { status, text } = await postAction(body, { at: http }).catch((error: NodeJS.ErrnoException) => {
          // A body that is too large is hung up on while it is being written.
          expect([body.length > bodyLimit, error.code]).toEqual([true, expect.stringMatching(/^(ECONNRESET|EPIPE)$/)])
          return { status: 413, text: '' }
        })
        expect(status).toBe(body.length > bodyLimit ? 413 : 200)
        if (status !== 200) return
        const { error, message = '' } = JSON.parse(text) as ActionResponse
        if (error !== undefined) expect([known.includes(error), message.endsWith(error)]).toEqual([true, true])
      }),
      { seed, numRuns: 400 },
    )
    await expectAlive()
  }, 300_000)

  it('as HTTP that is none is answered or hung up on', async () => {
    const body = JSON.stringify({ action: 'echo', parameters: { TEXT: 'x' } })
    const request = Buffer.from(
      `POST /v1.0/action HTTP/1.1\r\nHost: x\r\nUser-Agent: y\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`,
    )
    await fc.assert(
      fc.asyncProperty(damages, cuts, async (list, places) => {
        const { received } = await exchange(http, cut(damaged(request, list), places))
        if (received.length > 0) expect(received.subarray(0, 9).toString()).toBe('HTTP/1.1 ')
      }),
      { seed, numRuns: 300 },
    )
    await expectAlive()
  }, 300_000)

  it('as the request of a stream gives the whole stream, an error, or nothing', async () => {
    const framing = 'ab'.repeat(16)
    const names = fc.constantFrom('dump', 'dump', 'fails')
    await fc.assert(
      fc.asyncProperty(names, fc.boolean(), fc.option(damages), cuts, async (action, isFramed, list, places) => {
        const asked = { action, parameters: { A: '}{"' }, ...(isFramed && { framing }) }
        const request = Buffer.from(JSON.stringify(asked))
        const sent = list === null ? request : damaged(request, list)
        const { received, isReset } = await exchange(streaming, cut(sent, places))
        if (isReset) return
        const data = received.toString('latin1').startsWith('REGENT-STREAM/1 ') ? await dataIn(received) : received
        if (data === undefined) return
        expect([0, dumpBytes]).toContain(data.length)
        if (list === null) expect(data.length).toBe(dumpBytes)
      }),
      { seed, numRuns: 300 },
    )
    await expectAlive()
  }, 300_000)

  it('a load of another agent’s stream sees the end of its input only where every byte came', async () => {
    const source = await FaultySource.start()
    let count = 0
    try {
      await fc.assert(
        fc.asyncProperty(chunks, faults, cuts, async (parts, fault, places) => {
          const at = join(folder, `load-${seed}-${(count += 1)}`)
          await mkdir(at)
          const outcome = await loadIn(at, source.next({ parts, fault, places }))
          const isDone = await access(join(at, 'done')).then(
            () => true,
            () => false,
          )
          const whole = Buffer.concat(parts)
          if (fault.in !== 'bit' && fault.in !== 'preamble')
            expect(outcome.failure === undefined).toBe(fault.in === 'nothing')
          if (outcome.failure !== undefined) expect(isDone).toBe(false)
          else if (outcome.checked === 'all') expect(await readFile(join(at, 'data'))).toEqual(whole)
          // Without the preamble it is the stream of an agent that vouches for nothing, and the caller is told so.
          else expect([fault.in, isDone]).toEqual(['preamble', true])
          if (fault.in === 'nothing') expect(outcome).toEqual({ checked: 'all', bytes: whole.length })
          await rm(at, { recursive: true })
        }),
        { seed, numRuns: 250 },
      )
    } finally {
      await source.end()
    }
  }, 300_000)
})

const chunks = fc.array(
  fc.uint8Array({ minLength: 1, maxLength: 3_000 }).map((bytes) => Buffer.from(bytes)),
  { maxLength: 6 },
)

const faults: fc.Arbitrary<Fault> = fc.oneof(
  fc.constant<Fault>({ in: 'nothing' }),
  fc.tuple(fc.nat(), fc.constantFrom('ends', 'resets')).map(([at, then]): Fault => ({ in: 'length', at, then })),
  fc.tuple(fc.nat(), fc.integer({ min: 0, max: 7 })).map(([at, bit]): Fault => ({ in: 'bit', at, bit })),
  fc.integer({ min: 0, max: 40 }).map((at): Fault => ({ in: 'preamble', at })),
  fc.constantFrom<Fault>({ in: 'count', by: 1 }, { in: 'count', by: -1 }, { in: 'checksum' }, { in: 'code' }),
  fc.uint8Array({ minLength: 1, maxLength: 50 }).map((more): Fault => ({ in: 'after', more: Buffer.from(more) })),
  fc.constantFrom<Fault>({ in: 'frame', length: 0xffffffff }, { in: 'frame', length: 17 * 1024 * 1024 }),
)

/** The data of a framed stream, undefined where the stream says that it is not whole. */
async function dataIn(bytes: Buffer): Promise<Buffer | undefined> {
  const [, framing = ''] = /^REGENT-STREAM\/1 ([0-9a-f]*)\n/.exec(bytes.subarray(0, 100).toString('latin1')) ?? []
  const unframer = new Unframer(framing)
  const data: Buffer[] = []
  unframer.on('data', (chunk: Buffer) => data.push(chunk))
  return new Promise((resolve) => {
    unframer.once('error', () => resolve(undefined))
    unframer.once('end', () => resolve(Buffer.concat(data)))
    unframer.end(bytes)
  })
}
