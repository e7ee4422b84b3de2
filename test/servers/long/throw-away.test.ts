import { readdir, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import type { Connection, RowDataPacket } from 'mysql2/promise'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { bringUp, type RebuildTools } from '#agents/backup/rebuild/rebuild.ts'
import type { Reached } from '#agents/backup/rebuild/reached.ts'
import { throwAwayServers } from '#agents/throw-away/throw-away.ts'
import { volumeLayout } from '#agents/instance/volume-layout.ts'
import { eventTypes } from '#binlog/events.ts'
import { begunBy, isGtidEvent, type BegunTransaction } from '#binlog/gtid-event.ts'
import { segmentsOf } from '#binlog/segments.ts'
import type { Step } from '#backup/archive/chain.ts'
import { keyOf } from '#backup/objects/object-key.ts'
import { gtidsOf, type Piece } from '#backup/objects/piece-name.ts'
import type { Plan } from '#backup/restore/restore-plan.ts'
import { aManifest, aPiece } from '#backup/objects/testing.ts'
import { pieceObject } from '#backup/transfer/piece-object.ts'
import { realWorld } from '#common/ports/real-world.ts'
import { MemoryStore } from '#object-store/testing-store.ts'
import { parseGtidSet } from '#topology/gtid/gtid-set.ts'
import { BareInstance } from '#test/support/bare-instance.ts'

const deadlineMs = 600_000
const cluster = 'bare'
const store = new MemoryStore()
let source: BareInstance
let session: Connection
let copy = ''

beforeAll(async () => {
  source = await BareInstance.create('bare-0')
  await source.process.initialise()
  await source.start()
  await source.server.setReadOnly('accounts')
  await source.server.open()
  session = await source.session('admin', 'app')
  copy = join(source.config.volume, 'data.seed')
}, deadlineMs)

afterAll(() => source.remove())

const said = async (statement: string, by = session) => (await by.query<RowDataPacket[]>(statement))[0]
const executed = async (by = session) =>
  parseGtidSet(String((await said('select @@gtid_executed as g', by))[0]?.['g']).replace(/\s/g, ''))

/** A parallel applier may come to the end of such a transaction while another thread still puts its beginning aside. */
async function writeXa(writer: Connection, xid: string, id: number): Promise<void> {
  await writer.query(`xa start '${xid}'`)
  await writer.query(`insert into app.u (id) values (${id})`)
  await writer.query(`xa end '${xid}'`)
  await writer.query(`xa prepare '${xid}'`)
  await writer.query(`xa commit '${xid}'`)
}

/** Everything that the binlogs have, as pieces of a few transactions in the store. */
async function archived(): Promise<readonly Step[]> {
  const { dataDir } = volumeLayout(source.config.volume)
  const files = (await readdir(dataDir)).filter((name) => /^binlog\.\d+$/.test(name)).sort()
  const steps: Step[] = []
  for (const file of files) steps.push(...(await archivedFile(file, await readFile(join(dataDir, file)))))
  return steps
}

interface CutPiece {
  readonly piece: Piece
  readonly bytes: Buffer[]
}

async function archivedFile(file: string, content: Buffer): Promise<readonly Step[]> {
  let format = Buffer.alloc(0)
  const pieces: CutPiece[] = []
  for await (const { event, begins, bytes } of segmentsOf(Readable.from([content.subarray(4)]))) {
    if (event.type === eventTypes.formatDescription) format = Buffer.from(bytes)
    if (!isTransactional(event.type)) continue
    if (begins && isGtidEvent(event.type)) begin(pieces, file, begunBy(bytes), format)
    pieces.at(-1)?.bytes.push(Buffer.from(bytes))
  }
  for (const { piece, bytes } of pieces) {
    const raw = Buffer.concat(bytes)
    const object = pieceObject(
      { rawBytes: raw.length, content: Readable.from([raw]) },
      { ...aManifest(), cluster, piece },
      null,
    )
    await store.put(keyOf({ kind: 'piece', cluster, piece }), object)
  }
  return pieces.map(({ piece }) => ({ piece, gtids: gtidsOf(piece) }))
}

/** A transaction goes into the piece before it, or begins one. */
function begin(pieces: CutPiece[], file: string, begun: BegunTransaction, format: Buffer): void {
  const { source, number, committedMs } = begun
  const open = pieces.at(-1)
  const goesOn = open?.piece.source === source && Number(open.piece.to) + 1 === number && pieces.length % 3 > 0
  if (!goesOn) {
    const numbers = { source, from: number, to: number, firstMs: committedMs, lastMs: committedMs }
    pieces.push({ piece: aPiece({ ...numbers, sender: 'bare-0@a', file, offset: pieces.length }), bytes: [format] })
    return
  }
  const { piece, bytes } = open
  const [firstMs, lastMs] = [Math.min(piece.firstMs, committedMs), Math.max(piece.lastMs, committedMs)]
  pieces.splice(-1, 1, { piece: { ...piece, to: number, firstMs, lastMs }, bytes })
}

function isTransactional(type: number): boolean {
  const others: readonly number[] = [eventTypes.formatDescription, eventTypes.previousGtids, eventTypes.rotate]
  return !others.includes(type) && type !== eventTypes.stop
}

/** Brings the copy to what the plan says, and gives what it came to, and what `look` saw before its server ended. */
async function rebuilt(plan: Plan, look: readonly string[]) {
  const stages: string[] = []
  const tools: RebuildTools = {
    store,
    key: null,
    throwAway: throwAwayServers(source.config, realWorld),
    volume: {
      unpackInto: () => Promise.reject(new Error('the copy is there')),
      freshSeedFolder: () => Promise.reject(new Error('the copy is there')),
    },
    half: null,
    world: realWorld,
    own: true,
    spares: true,
    signal: new AbortController().signal,
    progress: (stage) => void stages.push(String(stage)),
  }
  let seen: { reached: Reached; rows: unknown[] } | undefined
  await bringUp(plan, copy, tools, async (server, reached) => {
    const rows: unknown[] = []
    for (const statement of look) rows.push(await server.query(statement))
    seen = { reached, rows }
  })
  return { ...seen, stages }
}

it(
  'a copy of a server is brought to what its archive has by a server of its own, beside that server',
  async () => {
    await session.query('create table app.t (id int primary key, v longblob)')
    await session.query("insert into app.t values (1, 'copied')")
    const { executed: copied } = await source.server.readHolds()
    await source.server.cloneLocal(copy, new AbortController().signal, () => undefined)

    await session.query("insert into app.t values (2, 'plain')")
    await session.query("set gtid_next = 'AUTOMATIC:stock'")
    await session.query("insert into app.t values (3, 'tagged')")
    await session.query("set gtid_next = 'AUTOMATIC'")
    await session.query("xa start 'a'")
    await session.query("insert into app.t values (4, 'xa')")
    await session.query("xa end 'a'")
    await session.query("xa prepare 'a'")
    await session.query('flush binary logs')
    await session.query("xa commit 'a'")
    await session.query('create table app.u like app.t')
    await session.query('alter table app.u add w int')
    await session.query("create user teller@'%' identified by 'x'")
    await session.query('create event app.e on schedule every 1 day do do 0')
    await session.query("insert into app.t values (5, repeat('x', 20 * 1024 * 1024))")
    const writers = await Promise.all(Array.from({ length: 4 }, () => source.session('admin', 'app')))
    await Promise.all(
      writers.map(async (writer, at) => {
        for (let row = 0; row < 50; row += 1) await writer.query(`insert into app.u (id) values (${at * 1_000 + row})`)
      }),
    )
    await Promise.all(
      writers.map(async (writer, at) => {
        for (let row = 0; row < 200; row += 1) await writeXa(writer, `${at}-${row}`, 10_000 + at * 1_000 + row)
      }),
    )
    await session.query("xa start 'b'")
    await session.query('insert into app.u (id) values (99999)')
    await session.query("xa end 'b'")
    await session.query("xa prepare 'b'")
    const before = await executed()
    await session.query('drop table app.t')
    const all = await executed()
    const dropped = all.subtract(before)

    const steps = (await archived())
      .map((step) => ({ ...step, gtids: step.gtids.subtract(parseGtidSet(copied)).subtract(dropped) }))
      .filter(({ gtids }) => !gtids.isEmpty())
    const backup = aManifest({ cluster, gtids: copied, mysqlVersion: '9.7.4' })
    const sums = 'select count(*) as n, sum(id) as s, sum(length(v)) as l from app.t'
    const { reached, rows, stages } = await rebuilt({ kind: 'plan', backup, steps, untilMs: null, gtids: before }, [
      'select @@gtid_executed as g, @@gtid_purged as p, @@log_bin as b, @@port as port, @@skip_networking as s',
      sums,
      'select count(*) as n from app.u',
      'xa recover',
      "select count(*) as n from mysql.user where user = 'teller'",
    ])
    expect(String(reached?.gtids)).toBe(String(before))
    expect(rows?.slice(1)).toEqual([
      [{ n: 5, s: '15', l: String(20 * 1024 * 1024 + 6 + 5 + 6 + 2) }],
      [{ n: 1_000 }],
      [expect.objectContaining({ data: 'b' })],
      [{ n: 1 }],
    ])
    expect(stages.some((stage) => stage.includes('transactions are replayed'))).toBe(true)
    expect((await readdir(copy)).filter((name) => name.startsWith('replayed'))).toEqual([])
    const run = await readdir(volumeLayout(source.config.volume).runDir)
    expect(run.filter((name) => name.startsWith('spare'))).toEqual([])

    // Its own server goes on on that.
    source.server.disconnect()
    await source.process.kill()
    const { dataDir } = volumeLayout(source.config.volume)
    await rm(dataDir, { recursive: true })
    await rename(copy, dataDir)
    await rm(join(dataDir, 'auto.cnf'), { force: true })
    await source.start()
    const { executed: holds } = await source.server.readHolds()
    expect(String(parseGtidSet(holds))).toBe(String(before))
    await source.server.setReadOnly('accounts')
    await source.server.open()
    const after = await source.session('admin', 'app')
    const [purged] = await said('select @@gtid_purged as g', after)
    expect(parseGtidSet(String(purged?.['g'])).equals(before)).toBe(true)
    expect(await said("select user from mysql.user where user like 'regent_throw%'", after)).toEqual([])
    await after.query("insert into app.t values (7, 'goes on')")
    expect((await executed(after)).subtract(before).count()).toBe(1)
  },
  deadlineMs,
)

it(
  'a throw-away server of mode group starts too; ends with its signal; and is ended by whoever comes next',
  async () => {
    await source.server.cloneLocal(copy, new AbortController().signal, () => undefined)
    const servers = throwAwayServers({ ...source.config, mode: 'group' }, realWorld)
    const stop = new AbortController()
    const first = await servers.start(copy, { signal: stop.signal, spares: false })
    expect(await first.query('select count(*) as n from app.u')).toEqual([{ n: 1_000 }])
    const sleeping = first.query('do sleep(600)')
    stop.abort(new Error('the agent is stopping'))
    await expect(sleeping).rejects.toThrow('the agent is stopping')

    const second = await servers.start(copy, { signal: new AbortController().signal, spares: true })
    await throwAwayServers(source.config, realWorld).endLeftover()
    await expect(second.query('do 0')).rejects.toThrow(/throw-away mysqld was ended by SIGKILL while it was asked/)
    await rm(copy, { recursive: true })
  },
  deadlineMs,
)
