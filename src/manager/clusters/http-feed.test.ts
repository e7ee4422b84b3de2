import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it, onTestFinished, test, vi } from 'vitest'
import { createAgentServer } from '#agents/http.ts'
import { observationVersion, type Observation } from '#topology/snapshot/observation.ts'
import { anObservation } from '#topology/testing.ts'
import { patienceMs } from '#test/support/patience.ts'
import { createHttpFeed, parseObservation } from './http-feed.ts'

const shop1 = { cluster: 'shop', instance: 'shop-1' } as const

test('an agent that is killed in the middle of its stream is lost, and asked again', async () => {
  let asked = 0
  const server = createServer((request, response) => {
    asked += 1
    response.writeHead(200).write('{"version":1,')
    setTimeout(() => request.socket.resetAndDestroy(), 5)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const losses: string[] = []
  const twice = new Promise<void>((resolve) => {
    const stop = createHttpFeed({ token: 'token' }).follow(
      `127.0.0.1:${(server.address() as AddressInfo).port}`,
      shop1,
      {
        heard: () => undefined,
        alive: () => undefined,
        lost: (why) => void (losses.push(why) === 2 && resolve()),
      },
    )
    onTestFinished(stop)
  })
  await twice
  expect(asked).toBe(2)
  expect(losses).toHaveLength(2)
})

test('an agent that is newer than its manager is lost, with a sentence that says so, and nothing of it is heard', async () => {
  const server = createServer(
    (_, response) =>
      void response.writeHead(200).write(`\n${JSON.stringify(newer)}\n${JSON.stringify(anObservation())}\n`),
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const [heard, alive, lost] = [vi.fn(), vi.fn(), vi.fn()]
  onTestFinished(
    createHttpFeed({ token: 'token' }).follow(`127.0.0.1:${(server.address() as AddressInfo).port}`, shop1, {
      heard,
      alive,
      lost,
    }),
  )
  await vi.waitFor(() => expect(lost.mock.calls.length).toBeGreaterThan(1))
  expect(lost).toHaveBeenCalledWith(newerSentence)
  expect(alive).toHaveBeenCalled()
  expect(heard).not.toHaveBeenCalled()
})

test('an agent whose line has no end is lost before the line fills the memory of the manager', async () => {
  const server = createServer((_, response) => {
    response.writeHead(200)
    const more = (): unknown => response.write('1'.repeat(1_048_576), () => void (response.destroyed || more()))
    more()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const lost = vi.fn()
  const address = `127.0.0.1:${(server.address() as AddressInfo).port}`
  onTestFinished(createHttpFeed({ token: 'token' }).follow(address, shop1, { heard: vi.fn(), alive: vi.fn(), lost }))
  await vi.waitFor(() => expect(lost).toHaveBeenCalled(), patienceMs)
  expect(lost).toHaveBeenCalledWith(`${address} sent a line longer than 16777216 characters`)
})

/** Whom the manager of shop expects at that address, and who answers. */
async function strangersWord(
  says: Partial<Observation>,
): Promise<{ readonly lost: readonly unknown[]; readonly heard: number; readonly address: string }> {
  const handlers = {
    observation: () => ({ ...anObservation(), ...says }),
    subscribe: () => () => undefined,
    orders: new Map(),
    isLive: () => true,
    isReady: () => true,
    metrics: () => '',
  }
  const server = createAgentServer(handlers, { token: 'token' })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const address = `127.0.0.1:${(server.address() as AddressInfo).port}`
  const [heard, lost, strange] = [vi.fn(), vi.fn(), vi.fn()]
  onTestFinished(createHttpFeed({ token: 'token' }).follow(address, shop1, { heard, alive: vi.fn(), lost, strange }))
  await vi.waitFor(() => expect(lost.mock.calls.length + heard.mock.calls.length).toBeGreaterThan(0))
  expect(strange.mock.calls.map(([error]) => (error as Error).message).slice(0, 1)).toEqual(lost.mock.calls[0] ?? [])
  return { lost: lost.mock.calls[0] ?? [], heard: heard.mock.calls.length, address }
}

test.each([
  ['another cluster', { cluster: 'warehouse' }, 'shop-1 of cluster warehouse'],
  ['another instance', { instance: 'shop-2' }, 'shop-2 of cluster shop'],
])(
  'nothing is taken of the agent of %s that answers with the same token, and both names are said',
  async (_, says, who) => {
    const { lost, heard, address } = await strangersWord(says)
    expect(lost).toEqual([
      `the agent at ${address} is that of ${who}, not of shop-1 of cluster shop: nothing that it says is taken`,
    ])
    expect(heard).toBe(0)
  },
)

test('the agent that is expected there is heard', async () => {
  expect(await strangersWord({})).toMatchObject({ lost: [], heard: 1 })
})

const newer = { version: observationVersion + 1, instance: 'shop-1', shape: 'another' }
const newerSentence = `the agent of shop-1 sends version ${observationVersion + 1}, this manager understands up to ${observationVersion}`

describe('an observation', () => {
  it('is read as the agent wrote it', () => {
    const observation = anObservation()
    expect(parseObservation(JSON.stringify(observation))).toEqual(observation)
  })

  it('of an older agent is read, also with what a later one does not say any more', () => {
    const older = { ...anObservation(), version: observationVersion - 1, formerly: 'said' }
    expect(parseObservation(JSON.stringify(older))).toEqual(older)
  })

  it('of a newer agent is refused with a sentence', () => {
    expect(() => parseObservation(JSON.stringify(newer))).toThrow(
      expect.objectContaining({ code: 'REGENT_NEWER_VERSION', message: newerSentence }) as Error,
    )
  })

  it.each(['null', '7', '"observation"', '[]', '{}', '{"version":"1"}', '{"version":null,"instance":"shop-1"}'])(
    'is not %s',
    (line) => {
      expect(() => parseObservation(line)).toThrow(
        expect.objectContaining({
          code: 'REGENT_BAD_REQUEST',
          message: 'an agent sent something that is no observation',
        }) as Error,
      )
    },
  )

  it.each(['', 'observation', '{"version":1,', 'HTTP/1.1 200 OK'])('is JSON, and not %j', (line) => {
    expect(() => parseObservation(line)).toThrow(
      expect.objectContaining({
        code: 'REGENT_BAD_REQUEST',
        message: expect.stringMatching(/^an agent sent a line that is not JSON: ./) as string,
      }) as Error,
    )
  })
})

it('The agent of an instance that has an address of IPv6 is looked for there', async () => {
  const lost = Promise.withResolvers<string>()
  const stop = createHttpFeed({ token: 't' }).follow(
    '[::1]:1',
    { cluster: 'shop', instance: 'shop-0' },
    { heard: () => undefined, alive: () => undefined, lost: lost.resolve },
  )
  onTestFinished(stop)
  // Refused, or no address of this machine: either way it was tried.
  expect(await lost.promise).toMatch(/^\[::1\]:1: .*::1:1/)
})

it('A machine that refuses is told apart from one that answers nobody', async () => {
  // No connection goes to a group of machines: Linux has no way there.
  const [refusing, silent] = ['127.0.0.1:1', '224.0.0.1:9400']
  const heardOf = (address: string) => {
    const { promise, resolve } = Promise.withResolvers<readonly string[]>()
    const said: string[] = []
    const stop = createHttpFeed({ token: 't' }).follow(
      address,
      { cluster: 'shop', instance: 'shop-0' },
      {
        heard: () => undefined,
        alive: () => undefined,
        unreached: () => said.push('unreached'),
        lost: () => (said.push('lost'), resolve(said.slice())),
      },
    )
    onTestFinished(stop)
    return promise
  }
  expect(await heardOf(refusing)).toEqual(['lost'])
  expect(await heardOf(silent)).toEqual(['unreached', 'lost'])
})
