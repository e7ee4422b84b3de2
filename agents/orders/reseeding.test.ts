import { describe, expect, it } from 'vitest'
import { say } from '#common/sentence/sentence.ts'
import { orderVersion, type Endpoint } from '#failover/protocol/message.ts'
import type { ReseedOrder } from '#failover/protocol/order.ts'
import { gtids, memberOf, uuidOf } from '#topology/testing.ts'
import { Seeding } from './reseeding.ts'
import type { TellProgress } from '../ports/server.ts'
import { aServerState, ScriptedServer, testParts } from '../testing.ts'
import { stopUnderPromise } from '../testing-passes.ts'

const primary: Endpoint = { instance: 'shop-1', host: '127.24.1.2', port: 3306, agent: '127.24.1.2:9000' }
const common = gtids('shop-1', 5)
const own = (from: number, to = from) => `${uuidOf('shop-0')}:${from}${to === from ? '' : `-${to}`}`
const order: ReseedOrder = {
  version: orderVersion,
  cluster: 'shop',
  member: memberOf('shop-0'),
  epoch: 3,
  revision: 10,
  donor: primary,
  source: primary,
  destroys: `${own(1, 2)},${common}`,
  sourceHolds: common,
  peers: [],
}

const converger = { alone: <Result>(task: () => Promise<Result>) => task(), wake: () => undefined }

/** A seeding whose copy ends when the test says so. */
async function seedingOf(holds: string) {
  const server = new ScriptedServer(aServerState({ executed: holds }))
  let copied = (): void => undefined
  let refused: (why: Error) => void = () => undefined
  server.cloneInto = () =>
    new Promise((resolve, reject) => {
      copied = resolve
      refused = reject
    })
  const archived: string[] = []
  const swapIn = async (): Promise<void> => void (server.state = aServerState({ executed: common }))
  const parts = await testParts(server, {
    volume: { archiveErrant: async (set) => [`archive ${archived.push(set)}`], swapIn },
  })
  const seeding = new Seeding(parts, converger)
  const ended = async (): Promise<void> => {
    copied()
    while (parts.copying.progress !== null) await parts.world.timers.sleep(1)
  }
  const fails = async (why: string): Promise<void> => {
    await parts.world.timers.sleep(5)
    refused(new Error(why))
    while (parts.copying.progress !== null) await parts.world.timers.sleep(1)
  }
  return { server, parts, seeding, archived, ended, fails }
}

describe('a seeding', () => {
  it('shows how far the copy is, each time that is another figure', async () => {
    const { server, parts } = await seedingOf(`${own(1, 3)},${common}`)
    server.cloneInto = async (_folder, _donor, progress) => {
      for (const percent of [0, 0, 40, 40, 90]) progress(say`file copy`, percent)
      return new Promise(() => undefined)
    }
    const shown: string[] = []
    const changed = () =>
      void shown.push(`${String(parts.copying.progress?.stage)} ${parts.copying.progress?.percent ?? ''}`)
    await new Seeding({ ...parts, changed }, converger).begin(order)
    await expect.poll(() => shown).toEqual(['copying 0', 'file copy 0', 'file copy 40', 'file copy 90'])
  })

  it('leaves a donor from which nothing comes for long once another one is named, and no donor otherwise', async () => {
    const { server, parts, seeding } = await seedingOf(common)
    let tells: TellProgress | undefined
    server.cloneInto = (_folder, _donor, progress, signal) =>
      new Promise((_, reject) => {
        tells = progress
        signal?.addEventListener('abort', () => reject(signal.reason as Error))
      })
    const another = { ...order, donor: { ...primary, instance: 'shop-2' } }
    await seeding.begin(order)
    await expect.poll(() => tells).toBeDefined()
    const goesOn = async (by: ReseedOrder, stillMs: number): Promise<boolean> => {
      tells?.(say`file copy`, 40, stillMs)
      await seeding.begin(by)
      await parts.world.timers.sleep(5)
      return parts.copying.progress !== null
    }
    expect(await goesOn(another, 29_000)).toBe(true)
    expect(await goesOn(order, 31_000)).toBe(true)
    expect(await goesOn(another, 31_000)).toBe(false)
    expect(parts.copying.failures.get('shop-1')).toMatchObject({
      times: 1,
      error: 'nothing came from shop-1 for 31 s, and nobody hears its agent',
    })
  })

  it('is of the epoch of its order: by that a manager knows what it is a copy of', async () => {
    const { seeding, ended, parts } = await seedingOf(common)
    await seeding.begin(order)
    await parts.world.timers.sleep(5)
    await ended()
    expect(parts.file.current.copiedEpoch).toBe(3)
  })

  it('over the data themselves archives first, and is believed once the server has it whole', async () => {
    const { server, parts } = await seedingOf(`${own(1, 3)},${common}`)
    const readyForCopyOver = async () => void server.calls.push('ready')
    const archiveErrant = async () => [`archive ${server.calls.push('archived')}`]
    server.cloneOver = async () => {
      server.calls.push('clone over')
      server.state = aServerState({ executed: common })
      return 'now'
    }
    const volume = { ...parts.volume, readyForCopyOver, archiveErrant }
    let isWhole = false
    server.requireCopied = async () => {
      expect(parts.file.current.seeding).toBe(true)
      if (!isWhole) throw new Error('the copy is not whole')
    }
    const seeding = new Seeding({ ...parts, volume }, converger)
    await seeding.begin(order)
    await expect.poll(() => parts.copying.progress).toBe(null)
    expect(parts.file.current.seeding).toBe(true)
    expect(server.calls.filter((call) => ['archived', 'ready', 'clone over'].includes(call))).toEqual([
      ...['archived', 'ready', 'clone over'],
    ])
    isWhole = true
    await seeding.begin(order)
    await expect.poll(() => parts.file.current.seeding).toBe(false)
  })

  it('says that it has ended, and that it has failed, also where nothing else is new', async () => {
    for (const how of ['ends', 'fails'] as const) {
      const { parts, server } = await seedingOf(common)
      server.cloneInto = () => (how === 'ends' ? Promise.resolve() : Promise.reject(new Error('no donor')))
      const shown: unknown[] = []
      const changed = () => void shown.push(parts.copying.progress?.stage ?? how)
      await new Seeding({ ...parts, changed }, converger).begin(order)
      await expect.poll(() => shown.at(-1)).toBe(how)
    }
  })

  it('archives also what was written after the order was given, and while the copy was made', async () => {
    const { server, seeding, archived, ended, parts } = await seedingOf(`${own(1, 3)},${common}`)
    await seeding.begin(order)
    server.state = aServerState({ executed: `${own(1, 4)},${common}` })
    await parts.world.timers.sleep(5)
    await ended()
    expect(archived).toEqual([own(1, 3), own(4)])
    expect(parts.file.current.seeding).toBe(false)
  })

  it.each([
    ['2 errant transactions archived in archive 1', own(1, 2), `${own(1, 2)},${common}`],
    ['1 transaction that shop-1 was not seen to hold archived in archive 1', '', gtids('shop-1', 6)],
    [
      '2 errant transactions and 1 transaction that shop-1 was not seen to hold archived in archive 1',
      own(1, 2),
      `${own(1, 2)},${gtids('shop-1', 6)}`,
    ],
  ])('calls errant only what is proven to be: %s', async (says, errant, holds) => {
    const { seeding, parts } = await seedingOf(holds)
    await seeding.begin({ ...order, destroys: common, errant })
    expect(parts.notices.list.map(({ sentence }) => String(sentence))).toContain(says)
  })

  it('stops receiving before what is here is looked at, and archived', async () => {
    const { server, parts } = await seedingOf(`${own(1, 3)},${common}`)
    const readHolds = server.readHolds.bind(server)
    server.readHolds = async () => (server.calls.push('readHolds'), readHolds())
    const archiveErrant = async () => [`archive ${server.calls.push('archived')}`]
    await new Seeding({ ...parts, volume: { ...parts.volume, archiveErrant } }, converger).begin(order)
    expect(server.calls.slice(0, 3)).toEqual(['stopReceiver', 'readHolds', 'archived'])
  })

  it('archives nothing when what is here is the source’s', async () => {
    const { seeding, archived, ended, parts } = await seedingOf(common)
    await seeding.begin({ ...order, destroys: common })
    await parts.world.timers.sleep(5)
    await ended()
    expect(archived).toEqual([])
  })

  it('that begins again takes a copy that holds what was here: that may have come from the source meanwhile', async () => {
    const { seeding, ended, parts } = await seedingOf(common)
    await parts.file.update({ seeding: true })
    await seeding.begin({ ...order, destroys: common, sourceHolds: gtids('shop-1', 4) })
    await parts.world.timers.sleep(5)
    await ended()
    expect(parts.file.current.seeding).toBe(false)
  })

  it('waits for the first start on the copy, which recovers what was written meanwhile: another copy would end in the same', async () => {
    const { server, parts } = await seedingOf(common)
    server.cloneInto = async () => undefined
    const answers = server.readState
    let waitedMs = 0
    const recovers = () => (waitedMs < 120_000 ? Promise.reject(new Error('it recovers')) : answers())
    const start = async () => {
      Object.assign(parts.process, { state: 'running' })
      server.readState = recovers
    }
    Object.assign(parts.process, { start })
    const timers = { ...parts.world.timers, sleep: async (ms: number) => void (waitedMs += ms) }
    await new Seeding({ ...parts, world: { ...parts.world, timers } }, converger).begin({ ...order, destroys: common })
    await expect.poll(() => parts.copying.progress).toBe(null)
    expect(parts.copying.failures.size).toBe(0)
    expect(parts.file.current.seeding).toBe(false)
  })

  it('that fails is counted with its donor and why, until one succeeds', async () => {
    const { seeding, ended, fails, parts } = await seedingOf(common)
    for (const why of ['Access denied', 'plugin not loaded']) {
      await seeding.begin({ ...order, destroys: common })
      await fails(why)
    }
    expect([...parts.copying.failures]).toMatchObject([['shop-1', { times: 2, error: 'plugin not loaded' }]])
    expect(parts.notices.list.at(-1)).toMatchObject({
      code: 'SeedingFailed',
      sentence: 'seeding from shop-1 failed: plugin not loaded',
    })
    expect(parts.file.current.seeding).toBe(true)
    await seeding.begin({ ...order, destroys: common })
    await parts.world.timers.sleep(5)
    await ended()
    expect(parts.copying.failures.size).toBe(0)
  })

  describe('of an instance whose own mysqld fails blames no donor', () => {
    type Seeded = Awaited<ReturnType<typeof seedingOf>>
    const dies = ({ parts: { process } }: Seeded): void =>
      void Object.assign(process, { state: 'dead', start: async () => undefined })
    const cases: Readonly<Record<string, readonly [run: (seeded: Seeded) => Promise<void>, says: string]>> = {
      'before it copies': [
        async (seeded) => {
          dies(seeded)
          await expect(seeded.seeding.begin(order)).rejects.toThrow('its own mysqld ended while it started')
        },
        'its own mysqld ended while it started',
      ],
      'because it cannot be started': [
        async ({ parts, seeding }) => {
          Object.assign(parts.process, {
            state: 'dead',
            start: async () => Promise.reject(new Error('spawn mysqld ENOENT')),
          })
          await expect(seeding.begin(order)).rejects.toThrow('spawn mysqld ENOENT')
        },
        'its own mysqld did not start: spawn mysqld ENOENT',
      ],
      'while it copies': [
        async (seeded) => {
          await seeded.seeding.begin(order)
          dies(seeded)
          await seeded.fails('Lost connection to MySQL server during query')
        },
        'its own mysqld ended while it copied',
      ],
      'on the copy': [
        async (seeded) => {
          await seeded.seeding.begin(order)
          Object.assign(seeded.parts.process, { start: async () => undefined })
          await seeded.parts.world.timers.sleep(5)
          await seeded.ended()
        },
        'its own mysqld ended while it started',
      ],
    }
    it.each(Object.entries(cases))('%s', async (_, [run, says]) => {
      const seeded = await seedingOf(common)
      await run(seeded)
      expect([...seeded.parts.copying.failures]).toMatchObject([['shop-0', { times: 1, error: says }]])
    })
  })

  it('removes the oldest archives once it ended, and keeps all it made, those of an attempt that failed too', async () => {
    const { seeding, ended, fails, parts } = await seedingOf(`${own(1, 2)},${common}`)
    const removed: string[] = []
    Object.assign(parts.config, { archiveBytes: 1 })
    parts.volume.listArchives = async () =>
      ['old', 'archive 1', 'older than its name', 'archive 2'].map((folder) => ({ folder, bytes: 10 }))
    parts.volume.removeArchive = async (folder) => void removed.push(folder)
    await seeding.begin(order)
    await fails('Access denied')
    expect(removed).toEqual([])
    await seeding.begin(order)
    await parts.world.timers.sleep(5)
    await ended()
    await parts.world.timers.sleep(5)
    expect(removed).toEqual(['old', 'older than its name'])
  })

  it('promises that it holds nothing, and says what it holds once it ended', async () => {
    const { seeding, ended, parts } = await seedingOf(`${own(1, 2)},${common}`)
    await seeding.begin(order)
    await parts.file.update({ promise: 4 })
    await stopUnderPromise(parts)
    expect(parts.course.promiseReport).toMatchObject({ epoch: 4, holds: '' })
    await parts.world.timers.sleep(5)
    await ended()
    await stopUnderPromise(parts)
    expect(parts.course.promiseReport).toMatchObject({ epoch: 4, holds: common })
  })
})
