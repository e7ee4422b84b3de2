import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { binlogFile, dml, previousGtids, rows, stop, uuid } from '#test/support/synthetic-binlog.ts'
import { eventTypes } from '#binlog/events.ts'
import { scanBinlog, stopScan, type BinlogScan } from './file.ts'
import { readBinlogHead, readBinlogSet, readFileSets } from './set.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'regent-binlog-'))
})
afterAll(() => rm(folder, { recursive: true }))

async function scan(
  bytes: Buffer,
  verify = true,
): Promise<BinlogScan & { readonly types: readonly number[]; readonly lengths: readonly number[] }> {
  const path = join(folder, 'binlog.000001')
  await writeFile(path, bytes)
  const types: number[] = []
  const lengths: number[] = []
  const result = await scanBinlog(
    path,
    (event) => {
      types.push(event.type)
      lengths.push(event.body.length)
    },
    { verify },
  )
  return { ...result, types, lengths }
}

const unreadable = (message: string): unknown =>
  expect.objectContaining({ code: 'REGENT_BINLOG_UNREADABLE', message: expect.stringContaining(message) as string })
const { formatDescription, previousGtids: previousGtidsType, gtid, query, tableMap, writeRows, xid } = eventTypes
const transaction = [gtid, query, tableMap, writeRows, xid]

describe('a binlog file', () => {
  it.each([true, false])('with checksums %s is read event by event', async (checksums) => {
    const bytes = binlogFile([...dml(1), ...dml(2), stop], { checksums, version: '8.0.40-log' })
    const result = await scan(bytes)
    expect(result.types).toEqual([
      formatDescription,
      previousGtidsType,
      ...transaction,
      ...transaction,
      eventTypes.stop,
    ])
    expect(result).toMatchObject({
      checksums,
      serverVersion: '8.0.40-log',
      end: bytes.length,
      size: bytes.length,
      lastType: eventTypes.stop,
    })
  })

  it.each([true, false])('whose in-use flag is %s says so, and passes its checksum', async (inUse) => {
    expect(await scan(binlogFile([], { inUse }))).toMatchObject({
      inUse,
      types: [formatDescription, previousGtidsType],
    })
  })

  it('ends, wherever a crash cut its last event, where that event begins', async () => {
    const whole = binlogFile(dml(1))
    const bytes = binlogFile([...dml(1), rows(30)])
    for (let length = whole.length; length < bytes.length; length += 1) {
      expect(await scan(bytes.subarray(0, length)), `cut at ${length}`).toMatchObject({
        end: whole.length,
        size: length,
        types: [formatDescription, previousGtidsType, ...transaction],
      })
    }
  })

  it('ends where only zeros follow, as a power cut leaves it', async () => {
    const bytes = binlogFile(dml(1))
    expect(await scan(Buffer.concat([bytes, Buffer.alloc(3_000_000)]))).toMatchObject({
      end: bytes.length,
      lastType: xid,
    })
  })

  it('whose last event fails its checksum ends before it', async () => {
    const whole = binlogFile(dml(1)).length
    const bytes = binlogFile([...dml(1), rows()])
    bytes.writeUInt8(255, bytes.length - 10)
    expect(await scan(bytes)).toMatchObject({ end: whole })
  })

  it.each([1, 9, 30])(
    'that is damaged with events behind (byte %i of an event) is refused, not read half',
    async (at) => {
      const bytes = binlogFile([...dml(1), ...dml(2)])
      const damaged = binlogFile(dml(1)).length + at
      bytes.writeUInt8(bytes.readUInt8(damaged) ^ 255, damaged)
      await expect(scan(bytes)).rejects.toThrow(unreadable('is damaged at byte'))
    },
  )

  it.each([
    ['fd62696e00', 'is encrypted'],
    ['ffffffff00', 'is not a binlog: it begins with "ffffffff"'],
    ['', 'is not a binlog: it begins with ""'],
    ['fe62696e00', 'does not begin with a whole Format_description event'],
  ])('that begins with "%s" is refused: %s', async (hex, message) => {
    await expect(scan(Buffer.from(hex, 'hex'))).rejects.toThrow(unreadable(message))
  })

  it('of a format or with a checksum algorithm that is not known is refused', async () => {
    const format = binlogFile([], { checksums: false })
    format.writeUInt16LE(5, 23)
    await expect(scan(format)).rejects.toThrow(unreadable('binlog format 5'))
    const algorithm = binlogFile([], { checksums: false })
    algorithm.writeUInt8(2, 4 + 19 + 99)
    await expect(scan(algorithm)).rejects.toThrow(unreadable('checksum algorithm 2'))
  })

  it.each([true, false])(
    'with an event of many megabytes gives only its beginning, and goes on behind it (verified: %s)',
    async (verify) => {
      const result = await scan(binlogFile([...dml(1, 5_000_000), ...dml(2)]), verify)
      expect(result.types).toEqual([formatDescription, previousGtidsType, ...transaction, ...transaction])
      expect(result.lengths[5]).toBeLessThanOrEqual(65_536)
    },
  )

  it('whose large event fails its checksum is refused when more follows', async () => {
    const bytes = binlogFile([...dml(1, 5_000_000), ...dml(2)])
    bytes.writeUInt8(0, 3_000_000)
    await expect(scan(bytes)).rejects.toThrow(unreadable('is damaged'))
  })

  it('stops being read when the visitor has seen enough', async () => {
    const path = join(folder, 'binlog.000001')
    await writeFile(path, binlogFile([...dml(1), ...dml(2)]))
    const seen: number[] = []
    await scanBinlog(path, (event) => {
      seen.push(event.type)
      return event.type === gtid ? stopScan : undefined
    })
    expect(seen).toEqual([formatDescription, previousGtidsType, gtid])
  })

  it('is left when the signal is aborted', async () => {
    const path = join(folder, 'binlog.000001')
    await writeFile(path, binlogFile(dml(1, 5_000_000)))
    await expect(
      scanBinlog(path, () => undefined, { signal: AbortSignal.abort(new Error('no time')) }),
    ).rejects.toThrow('no time')
  })
})

describe('the set in the binlogs', () => {
  const setOf = async (bytes: Buffer): Promise<string> => {
    await writeFile(join(folder, 'binlog.000007'), bytes)
    await writeFile(join(folder, 'binlog.index'), './binlog.000006\n./binlog.000007\n')
    return (await readBinlogSet(folder)).set
  }

  it('is what the last file says was before it and what is in it', async () => {
    expect(await setOf(binlogFile([...dml(4), ...dml(5), ...dml(9)], { previous: previousGtids([[1, 3]]) }))).toBe(
      `${uuid}:1-5:9`,
    )
  })

  it('has what was received and not applied, as a promoted replica that died early', async () => {
    await writeFile(
      join(folder, 'relay-bin.000002'),
      binlogFile([...dml(5), ...dml(6), ...dml(7).slice(0, 3)], { previous: previousGtids([[1, 4]]) }),
    )
    await writeFile(join(folder, 'relay-bin.index'), './relay-bin.000002\n')
    expect(await setOf(binlogFile(dml(4), { previous: previousGtids([[1, 3]]) }))).toBe(`${uuid}:1-6`)
  })

  it('is not spoilt by a relay log that a power cut left empty', async () => {
    await writeFile(join(folder, 'relay-bin.000001'), '')
    await writeFile(join(folder, 'relay-bin.index'), './relay-bin.000001\n')
    expect(await setOf(binlogFile(dml(4)))).toBe(`${uuid}:4`)
  })

  it('leaves out a transaction that the file ends within', async () => {
    expect(await setOf(binlogFile([...dml(4), ...dml(5).slice(0, 4)]))).toBe(`${uuid}:4`)
  })

  it('may have a hundred thousand gaps', async () => {
    const intervals = Array.from({ length: 100_000 }, (_, index) => [index * 3 + 1, index * 3 + 1] as const)
    await setOf(binlogFile(dml(2), { previous: previousGtids(intervals) }))
    const { previous, own } = await readFileSets(join(folder, 'binlog.000007'))
    expect([previous.count(), own.count()]).toEqual([100_000, 1])
  })

  it('cannot be read without a Previous_gtids event', async () => {
    const bytes = binlogFile([])
    await expect(setOf(bytes.subarray(0, bytes.length - 5))).rejects.toThrow(unreadable('no Previous_gtids event'))
    await expect(readBinlogHead(join(folder, 'binlog.000007'))).rejects.toThrow(unreadable('no Previous_gtids event'))
  })

  it('cannot be read where the index lists no file', async () => {
    await writeFile(join(folder, 'binlog.index'), '')
    await expect(readBinlogSet(folder)).rejects.toThrow(unreadable('lists no file'))
  })
})
