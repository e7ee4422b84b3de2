import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { describe, expect, it, onTestFinished } from 'vitest'
import { eventTypes } from '#binlog/events.ts'
import { begunBy, isGtidEvent } from '#binlog/gtid-event.ts'
import { segmentsOf } from '#binlog/segments.ts'
import type { Step } from '#backup/archive/chain.ts'
import { gtidsOf, type Piece } from '#backup/objects/piece-name.ts'
import { aPiece, startMs } from '#backup/objects/testing.ts'
import { replayedOf } from '#backup/restore/replayed.ts'
import { parseGtidSet } from '#topology/gtid/gtid-set.ts'
import { binlogFile, dml, uuid } from '#test/support/synthetic-binlog.ts'
import { relayBatches, type RelayBatch } from './relay-batches.ts'

const piece = (from: number, to: number, given: Partial<Piece> = {}) =>
  aPiece({ source: uuid, from, to, preceding: from - 1, offset: from * 100, ...given })

const stepOf = (of: Piece, gtids = gtidsOf(of)): Step => ({ piece: of, gtids })

/** A piece holds its transactions; one a second, and the first one at the start. */
async function* read({ from, to }: Piece, serverId = 1) {
  const numbers = Array.from({ length: Number(to) - Number(from) + 1 }, (_, at) => Number(from) + at)
  const events = numbers.flatMap((number) => dml(number, 200, startMs + number * 1_000))
  const content = binlogFile(events.map((event) => ({ ...event, serverId })))
  for await (const segment of segmentsOf(Readable.from([content.subarray(4)])))
    if (segment.event.type !== eventTypes.previousGtids) yield segment
}

interface Written {
  readonly batches: readonly RelayBatch[]
  /** By file, the numbers of the transactions in it. */
  readonly files: Readonly<Record<string, readonly (number | bigint)[]>>
}

async function written(steps: readonly Step[], untilMs: number | null = null, longestBytes?: number): Promise<Written> {
  const folder = await mkdtemp(join(tmpdir(), 'regent-relay-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const batches: RelayBatch[] = []
  for await (const batch of relayBatches(replayedOf({ steps, untilMs }, read), folder, longestBytes))
    batches.push(batch)
  const files: Record<string, (number | bigint)[]> = {}
  for (const name of (await readdir(folder)).sort()) {
    if (name.endsWith('.index')) continue
    files[name] = []
    const content = await readFile(join(folder, name))
    expect(content.toString('hex', 0, 4)).toBe('fe62696e')
    const types: number[] = []
    for await (const { event, begins, bytes } of segmentsOf(Readable.from([content.subarray(4)]))) {
      if (begins) types.push(event.type)
      if (begins && isGtidEvent(event.type)) files[name]?.push(begunBy(bytes).number)
    }
    expect(types.slice(0, 2)).toEqual([eventTypes.formatDescription, eventTypes.previousGtids])
    const index = await readFile(join(folder, `${name.slice(0, -7)}.index`), 'utf8')
    expect(index).toContain(`./${name}\n`)
  }
  return { batches, files }
}

describe('What is replayed is written as relay logs', () => {
  it('in one file as long as the pieces are of one binlog file', async () => {
    const { batches, files } = await written([stepOf(piece(1, 3)), stepOf(piece(4, 5))])
    expect(files).toEqual({ 'replayed-batch1.000001': [1, 2, 3, 4, 5] })
    expect(batches).toEqual([
      {
        channel: 'batch1',
        firstFile: 'replayed-batch1.000001',
        gtids: parseGtidSet(`${uuid}:1-5`),
        lastMs: startMs + 5_000,
      },
    ])
  })

  it('in another file wherever the binlog file or the sender is another, or its place is earlier', async () => {
    const steps = [
      piece(1, 2),
      piece(3, 3, { file: 'binlog.000002' }),
      piece(4, 4, { file: 'binlog.000002', sender: 'shop-1@b' }),
      piece(5, 5, { file: 'binlog.000002', sender: 'shop-1@b', offset: 4 }),
    ].map((of) => stepOf(of))
    expect((await written(steps)).files).toEqual({
      'replayed-batch1.000001': [1, 2],
      'replayed-batch1.000002': [3],
      'replayed-batch1.000003': [4],
      'replayed-batch1.000004': [5],
    })
  })

  it('without what the step does not name', async () => {
    const steps = [stepOf(piece(1, 5), parseGtidSet(`${uuid}:2:4-5`)), stepOf(piece(6, 6), parseGtidSet(''))]
    const { batches, files } = await written(steps)
    expect(files).toEqual({ 'replayed-batch1.000001': [2, 4, 5] })
    expect(String(batches[0]?.gtids)).toBe(`${uuid}:2:4-5`)
  })

  it('up to the first transaction that was committed later than asked for', async () => {
    const steps = [stepOf(piece(1, 3)), stepOf(piece(4, 6)), stepOf(piece(7, 8))]
    expect((await written(steps, startMs + 5_000)).files).toEqual({ 'replayed-batch1.000001': [1, 2, 3, 4, 5] })
    expect(await written(steps, startMs)).toEqual({ batches: [], files: {} })
  })

  it('in batches of whole pieces, each with a channel of its own', async () => {
    const { batches, files } = await written([stepOf(piece(1, 2)), stepOf(piece(3, 4)), stepOf(piece(5, 5))], null, 700)
    expect(files).toEqual({
      'replayed-batch1.000001': [1, 2],
      'replayed-batch2.000001': [3, 4],
      'replayed-batch3.000001': [5],
    })
    expect(batches.map(({ channel, gtids }) => [channel, String(gtids)])).toEqual([
      ['batch1', `${uuid}:1-2`],
      ['batch2', `${uuid}:3-4`],
      ['batch3', `${uuid}:5`],
    ])
  })

  it('and nothing is given of a piece that does not end well', async () => {
    const broken = async function* (of: Piece) {
      yield* read(of)
      throw new Error('its sum is another')
    }
    const folder = await mkdtemp(join(tmpdir(), 'regent-relay-'))
    onTestFinished(() => rm(folder, { recursive: true, force: true }))
    const batches = relayBatches(replayedOf({ steps: [stepOf(piece(1, 2))], untilMs: startMs + 1_000 }, broken), folder)
    await expect(batches.next()).rejects.toThrow('its sum is another')
  })
})
