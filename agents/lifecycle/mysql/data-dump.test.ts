import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { describe, expect, it, onTestFinished } from 'vitest'
import { say } from '#common/sentence/sentence.ts'
import { RegentError } from '#common/errors/errors.ts'
import { realWorld } from '#common/ports/real-world.ts'
import { virtualWorld } from '#common/ports/testing-world.ts'
import type { StoredState } from '#agents/instance/stored-state.ts'
import type { Parts } from '#agents/instance/parts.ts'
import {
  aServerState,
  primaryOfEpoch3,
  replicaOfEpoch3,
  ScriptedProcess,
  ScriptedServer,
  testParts,
  watcherOf,
} from '#agents/testing.ts'
import { settable } from '#agents/testing-known.ts'
import { ProcessGroups } from '../actions/process-groups.ts'
import type { BuiltInAction } from '../built-in/built-in-action.ts'
import { unpack } from '../copy/unpack.ts'
import { createStreamingServer } from '../streaming/streaming-server.ts'
import { silentLog, testingPipes } from '../testing.ts'
import { dataDump, LeftoverCopy } from './data-dump.ts'

const closed = { readOnly: true, superReadOnly: true, offlineMode: false }
const open = { readOnly: false, superReadOnly: false, offlineMode: false }
const mebibyte = 1_048_576

/** A replica with a volume of its own whose server copies itself into two files. */
async function aReplica(stored: Partial<StoredState> = { promise: 3, assignment: replicaOfEpoch3 }) {
  const volume = await mkdtemp(join(tmpdir(), 'regent-dump-'))
  onTestFinished(() => rm(volume, { recursive: true, force: true }))
  const folder = join(volume, 'data.stream')
  const isPrimary = stored.assignment?.role === 'primary'
  const server = new ScriptedServer({ ...aServerState(), ...(isPrimary ? open : closed) })
  server.cloneLocal = async (to) => {
    server.calls.push('clone')
    await mkdir(to)
    await writeFile(join(to, 'mysql.ibd'), 'dictionary')
    await writeFile(join(to, 'ibdata1'), Buffer.alloc(3 * mebibyte))
  }
  const space = { dataBytes: 10 * mebibyte, freeBytes: 1_000 * mebibyte }
  const parts = await testParts(server, {
    process: new ScriptedProcess(),
    volume: {
      dataBytes: async () => space.dataBytes,
      probe: async () => ({ freeBytes: space.freeBytes, failure: null, detail: '' }),
      freshStreamFolder: async () => folder,
      hasStreamFolder: async () => existsSync(folder),
      dropStreamFolder: () => rm(folder, { recursive: true, force: true }),
    },
  })
  await parts.file.update(stored)
  await parts.observer.refresh()
  const stop = new AbortController()
  const { stream } = dataDump(parts)
  const begin = (deadlineMs: number | null = null) => {
    const dump = stream?.({}, { deadlineMs, signal: stop.signal })
    if (dump === undefined) throw new Error('it is no stream')
    return dump
  }
  return { parts, server, folder, space, stop, begin }
}

/** Everything, and how it ended. */
async function taken(dump: ReturnType<Awaited<ReturnType<typeof aReplica>>['begin']>) {
  const bytes = await buffer(Readable.from(dump.data)).catch(() => 'broken off')
  return { bytes, end: await dump.ended }
}

/** What is under way without a timer may go on. */
async function nextTurns(): Promise<void> {
  for (let turn = 0; turn < 100; turn++) await new Promise((resolve) => setImmediate(resolve))
}

/** A client that has asked for the stream over TCP, and reads nothing. */
async function aDeafClientOf(action: BuiltInAction) {
  const ending = new AbortController()
  const streams = createStreamingServer({
    actions: new Map(),
    streaming: new Set(),
    builtIn: new Map([[action.name, action]]),
    environment: {},
    world: { groups: new ProcessGroups(testingPipes), timers: realWorld.timers },
    token: undefined,
    signal: ending.signal,
    log: silentLog(),
  })
  streams.server.listen(0, '127.0.0.1')
  await once(streams.server, 'listening')
  const socket = connect((streams.server.address() as AddressInfo).port, '127.0.0.1')
  onTestFinished(async () => {
    socket.destroy()
    ending.abort()
    await streams.end()
  })
  socket.on('error', () => undefined)
  socket.write(JSON.stringify({ action: action.name }))
  return socket
}

/** A copy that is being made until the test lets the copy go on. */
function hold(server: ScriptedServer) {
  const [begun, end] = [Promise.withResolvers<undefined>(), Promise.withResolvers<undefined>()]
  const clone = server.cloneLocal
  server.cloneLocal = async (to, signal, progress) => {
    begun.resolve(undefined)
    signal.addEventListener('abort', () => end.reject(signal.reason as Error))
    await end.promise
    await clone(to, signal, progress)
  }
  return { begun: begun.promise, goOn: () => end.resolve(undefined) }
}

describe('dataDump', () => {
  it('streams a copy of the server, with what the server had executed before and after, and leaves nothing', async () => {
    const { begin, folder, server, parts } = await aReplica()
    const to = await mkdtemp(join(tmpdir(), 'regent-dumped-'))
    onTestFinished(() => rm(to, { recursive: true, force: true }))
    server.state = { ...server.state, executed: 'a:1-3' }
    const clone = server.cloneLocal
    server.cloneLocal = async (...call) => {
      await clone(...call)
      server.state = { ...server.state, executed: 'a:1-5' }
    }
    const dump = begin()
    expect(await unpack(dump.data as AsyncIterable<Buffer>, to, () => false)).toMatchObject({
      files: 2,
      bytes: 3 * mebibyte + 10,
      note: { instance: 'shop-0', cluster: 'shop', atLeast: 'a:1-3', atMost: 'a:1-5' },
    })
    expect(await dump.ended).toEqual({ ok: true })
    expect(existsSync(folder)).toBe(false)
    expect(parts.jobs.streamsCopy).toBe(false)
    expect(String(parts.notices.list[0]?.sentence)).toBe(
      'a copy of this server is made for a client of the streaming port',
    )
  })

  it('at the primary is made, and the log says that a replica would be better', async () => {
    const { begin, parts } = await aReplica({ promise: 3, assignment: primaryOfEpoch3 })
    expect((await taken(begin())).end).toEqual({ ok: true })
    expect(String(parts.notices.list[0]?.sentence)).toContain('this is the primary')
  })

  it('is made one at a time, and the next after the end of the first', async () => {
    const { begin, server, folder } = await aReplica()
    const held = hold(server)
    const first = begin()
    const all = taken(first)
    await held.begun
    expect((await taken(begin())).end).toEqual({
      ok: false,
      why: 'a copy of this server is being streamed already; ask again when it has ended: busy',
    })
    held.goOn()
    expect((await all).end).toEqual({ ok: true })
    expect(existsSync(folder)).toBe(false)
    expect((await taken(begin())).end).toEqual({ ok: true })
  })

  it.each<readonly [string, (parts: Parts, server: ScriptedServer) => unknown, string]>([
    [
      'no manager told what to be',
      ({ file }) => file.update({ assignment: null }),
      'no manager has told this instance',
    ],
    ['is seeded', ({ file }) => file.update({ seeding: true }), 'made anew as a copy'],
    ['has had a replication filter', ({ file }) => file.update({ filterSeen: true }), 'are in doubt'],
    ['was open for writes', ({ file }) => file.update({ opened: true }), 'are in doubt'],
    [
      'is made a copy beside',
      ({ copying }) =>
        (settable(copying).progress = { stage: say`copying`, percent: 1, donor: 'shop-1', movedAtMs: null }),
      'this instance is made anew as a copy of another one',
    ],
    [
      'whose pod ends',
      ({ pod }) => (settable(pod).termination = { sinceMs: 0, stopping: false }),
      'this pod is ending',
    ],
    [
      'that has a MyISAM table',
      (parts, server) => {
        server.state = { ...server.state, foreignTables: ['app.log'] }
        return parts.observer.refresh()
      },
      'tables that are not InnoDB, whose rows no CLONE copies: app.log',
    ],
  ])('is refused by an instance that %s', async (_what, change, why) => {
    const { begin, parts, server } = await aReplica()
    await change(parts, server)
    const { end } = await taken(begin())
    expect(end).toMatchObject({ ok: false, why: expect.stringMatching(/: preconditionFailed$/) as string })
    expect(end).toMatchObject({ why: expect.stringContaining(why) as string })
    expect(server.calls).not.toContain('clone')
    expect(parts.jobs.streamsCopy).toBe(false)
  })

  it('is refused where the volume would be left without what a server needs', async () => {
    const { begin, parts, space } = await aReplica()
    Object.assign(parts.config, { lowSpaceBytes: 64 * mebibyte })
    space.freeBytes = 266 * mebibyte
    expect((await taken(begin())).end).toMatchObject({
      why: 'no copy is made of shop-0: the volume has 266.0 MiB free; a copy takes 10.0 MiB for a while, and with what a server needs 267.0 MiB must be free: preconditionFailed',
    })
    space.freeBytes = 267 * mebibyte
    expect((await taken(begin())).end).toEqual({ ok: true })
  })

  it('goes by the space that there is when it begins, however little there was a moment before', async () => {
    const { begin, parts, server, space } = await aReplica()
    Object.assign(parts.config, { lowSpaceBytes: 64 * mebibyte })
    space.freeBytes = 20 * mebibyte
    await parts.observer.freeBytesNow()
    space.freeBytes = 1_000 * mebibyte
    const clone = server.cloneLocal
    server.cloneLocal = async (...asked) => {
      await parts.world.timers.sleep(200)
      await clone(...asked)
    }
    expect((await taken(begin())).end).toEqual({ ok: true })
  })

  it('is refused as busy while the server is copied by another instance', async () => {
    const { begin, server } = await aReplica()
    server.cloneLocal = async () => Promise.reject(new RegentError('REGENT_BUSY', say`another instance is being made`))
    expect((await taken(begin())).end).toEqual({ ok: false, why: 'another instance is being made: busy' })
  })

  it('says why the server made no copy', async () => {
    const { begin, server, folder } = await aReplica()
    server.cloneLocal = async (to) => {
      await mkdir(to)
      throw new RegentError('REGENT_SERVER_ERROR', say`error 1086`)
    }
    expect((await taken(begin())).end).toEqual({ ok: false, why: 'error 1086' })
    expect(existsSync(folder)).toBe(false)
  })

  it.each<readonly [string, (parts: Parts) => unknown, string]>([
    ['another epoch is promised', ({ file }) => file.update({ promise: 4 }), 'changing its primary'],
    ['it is to lead', ({ file }) => file.update({ assignment: primaryOfEpoch3 }), 'changing its primary'],
    ['it is to be seeded', ({ file }) => file.update({ seeding: true }), 'made anew'],
    ['its pod ends', ({ pod }) => (settable(pod).termination = { sinceMs: 0, stopping: false }), 'this pod is ending'],
  ])('ends while the copy is made when %s, and the server is let go', async (_what, change, why) => {
    const { begin, server, parts, folder } = await aReplica()
    const held = hold(server)
    const all = taken(begin())
    await held.begun
    await change(parts)
    expect(await all).toEqual({
      bytes: 'broken off',
      end: { ok: false, why: expect.stringContaining(why) as string },
    })
    expect(existsSync(folder)).toBe(false)
  })

  it('goes on when another epoch is promised once the copy is made', async () => {
    const { begin, parts } = await aReplica()
    const dump = begin()
    let isFirst = true
    for await (const chunk of dump.data) {
      expect(chunk.length).toBeGreaterThan(0)
      if (isFirst) await parts.file.update({ promise: 4 })
      isFirst = false
    }
    expect(await dump.ended).toEqual({ ok: true })
  })

  it.each(['while it is made', 'while it is sent', 'before it begins'])(
    'is removed when it is killed %s',
    async (when) => {
      const { begin, server, folder, parts } = await aReplica()
      const held = hold(server)
      const dump = begin()
      if (when === 'before it begins') dump.kill('the client went away')
      const reading = dump.data[Symbol.asyncIterator]()
      const first = reading.next().catch(() => undefined)
      if (when === 'while it is made') await held.begun
      if (when === 'while it is sent') {
        held.goOn()
        await first
        expect(existsSync(folder)).toBe(true)
      }
      dump.kill('the client went away')
      expect(await dump.ended).toEqual({ ok: false, why: 'the client went away' })
      expect([existsSync(folder), parts.jobs.streamsCopy]).toEqual([false, false])
    },
  )

  it('is removed when nobody takes the rest', async () => {
    const { begin, folder } = await aReplica()
    const dump = begin()
    for await (const chunk of dump.data) if (chunk.length > 0) break
    expect(await dump.ended).toEqual({ ok: false, why: 'nobody took the rest of it' })
    expect(existsSync(folder)).toBe(false)
  })

  it('ends where its client takes nothing for five minutes, and not where the client takes a little now and then', async () => {
    const { begin, parts, folder } = await aReplica()
    const world = virtualWorld()
    Object.assign(parts, { world })
    const dump = begin()
    const reading = dump.data[Symbol.asyncIterator]()
    for (let chunks = 0; chunks < 3; chunks++) {
      expect((await reading.next()).done).toBe(false)
      await nextTurns()
      await world.advance(299_000)
      expect(existsSync(folder)).toBe(true)
    }
    await world.advance(2_000)
    expect(await dump.ended).toEqual({ ok: false, why: 'the client took nothing for 300 s' })
    expect([existsSync(folder), parts.jobs.streamsCopy]).toEqual([false, false])
    expect(world.pending).toBe(0)
  })

  it('resets a client that reads nothing of a connection that stays open', async () => {
    const { parts, server, folder } = await aReplica()
    const world = virtualWorld()
    Object.assign(parts, { world })
    server.cloneLocal = async (to) => {
      await mkdir(to)
      // More than a connection holds for a client that does not read.
      await writeFile(join(to, 'ibdata1'), Buffer.alloc(32 * mebibyte))
    }
    const client = await aDeafClientOf(dataDump(parts))
    await expect.poll(() => existsSync(folder)).toBe(true)
    const minuteLater = async (): Promise<boolean> => {
      await world.advance(60_000)
      return existsSync(folder)
    }
    await expect.poll(minuteLater).toBe(false)
    await expect(buffer(client)).rejects.toThrow('ECONNRESET')
  })

  it('ends with the agent, and at its deadline', async () => {
    const [stopped, late] = [await aReplica(), await aReplica()]
    const [one, other] = [hold(stopped.server), hold(late.server)]
    const all = taken(stopped.begin())
    await one.begun
    stopped.stop.abort()
    expect((await all).end).toEqual({ ok: false, why: 'the agent is stopping' })
    const timed = taken(late.begin(20))
    await other.begun
    expect((await timed).end).toEqual({ ok: false, why: 'it took longer than 0.02 s' })
  })

  it('by HTTP is refused, and says where it is', async () => {
    const { parts } = await aReplica()
    const patience = { deadlineMs: null, signal: new AbortController().signal }
    expect(await dataDump(parts).run({}, patience)).toMatchObject({ error: 'badRequest' })
  })
})

describe('what an agent that died left of a copy', () => {
  it('is removed once the server has let go', async () => {
    const { parts, server, folder, begin } = await aReplica()
    await mkdir(folder)
    await watcherOf(parts, new LeftoverCopy(parts)).look()
    expect([existsSync(folder), server.calls]).toEqual([false, ['end clones']])
    // And by the next copy, whichever is first.
    await mkdir(folder)
    expect((await taken(begin())).end).toEqual({ ok: true })
  })

  it('is left alone while a copy is made, and looked for again', async () => {
    const { parts, server, folder, begin } = await aReplica()
    const held = hold(server)
    const leftover = watcherOf(parts, new LeftoverCopy(parts))
    const all = taken(begin())
    await held.begun
    await mkdir(folder)
    await leftover.look()
    expect(existsSync(folder)).toBe(true)
    await rm(folder, { recursive: true })
    held.goOn()
    await all
    await mkdir(folder)
    await leftover.look()
    expect(existsSync(folder)).toBe(false)
  })

  it('stays while the server does not let go, and is tried again', async () => {
    const { parts, server, folder } = await aReplica()
    await mkdir(folder)
    const leftover = watcherOf(parts, new LeftoverCopy(parts))
    server.endLocalClones = async () => Promise.reject(new Error('no answer'))
    await leftover.look()
    expect(existsSync(folder)).toBe(true)
    server.endLocalClones = async () => undefined
    await leftover.look()
    expect(existsSync(folder)).toBe(false)
  })
})
