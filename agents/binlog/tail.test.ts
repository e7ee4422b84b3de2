import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { GtidSet } from '#topology/gtid/gtid-set.ts'
import { binlogFile, dml, gtid, previousGtids, rows, uuid } from '#test/support/synthetic-binlog.ts'
import type { RelayLogPart } from '../ports/volume.ts'
import { readFileSets } from './set.ts'
import { findTail, readTail, writeTail } from './tail.ts'

const set = (numbers: string): GtidSet => GtidSet.parse(`${uuid}:${numbers}`)

describe('The tail of a dead server', () => {
  let folder = ''
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'regent-tail-'))
    const files = {
      'binlog.000001': binlogFile([...dml(1), ...dml(2)], { inUse: false }),
      'binlog.000002': binlogFile([...dml(3), ...dml(4), ...dml(5)], { previous: previousGtids([[1, 2]]) }),
    }
    for (const [name, bytes] of Object.entries(files)) await writeFile(join(folder, name), bytes)
    await writeFile(join(folder, 'binlog.index'), './binlog.000001\n./binlog.000002\n')
  })
  afterEach(() => rm(folder, { recursive: true }))

  async function* partsOf(wanted: GtidSet): AsyncGenerator<RelayLogPart, void, void> {
    for (const { name, head, ranges } of (await findTail(folder, wanted)).files) {
      yield { head }
      for (const { offset, end } of ranges) yield { bytes: await readTail(folder, name, offset, end) }
    }
  }

  it('is what is wanted of it, in the order of its files, with what is in none of them missing', async () => {
    const found = await findTail(folder, set('2-9'))
    expect(found).toMatchObject({
      files: [{ name: 'binlog.000001' }, { name: 'binlog.000002' }],
      gtids: set('2-5').toString(),
      halfWrittenBytes: 0,
    })
    expect(found.files.map(({ ranges }) => ranges.length)).toEqual([1, 1])
  })

  it('is written elsewhere as relay logs that hold exactly that', async () => {
    const other = await mkdtemp(join(tmpdir(), 'regent-tail-'))
    try {
      const first = await writeTail(other, partsOf(set('2:4')))
      expect(first).toBe('relay-bin-regent_tail.000001')
      expect((await readdir(other)).toSorted()).toEqual([
        'relay-bin-regent_tail.000001',
        'relay-bin-regent_tail.000002',
        'relay-bin-regent_tail.index',
      ])
      const held = await Promise.all(
        ['000001', '000002'].map((number) =>
          readFileSets(join(other, `relay-bin-regent_tail.${number}`), { isRelayLog: true }),
        ),
      )
      expect(held.map(({ own }) => own.toString())).toEqual([set('2').toString(), set('4').toString()])
    } finally {
      await rm(other, { recursive: true })
    }
  })

  it('leaves a transaction out that was being written, whole events of it and a part of one, and says how long that is', async () => {
    const last = join(folder, 'binlog.000002')
    const whole = await readFile(last)
    const torn = binlogFile([...dml(3), ...dml(4), ...dml(5), gtid(6), rows()], { previous: previousGtids([[1, 2]]) })
    for (const cutBytes of [0, 3, 30]) {
      await writeFile(last, torn.subarray(0, torn.length - cutBytes))
      const found = await findTail(folder, set('4-6'))
      expect(found).toMatchObject({
        gtids: set('4-5').toString(),
        halfWrittenBytes: torn.length - cutBytes - whole.length,
      })
    }
  })

  it('has first what was received and not applied before it was primary', async () => {
    const received = binlogFile([...dml(7)], { previous: previousGtids([]) })
    await writeFile(join(folder, 'relay-bin.000003'), received)
    await writeFile(join(folder, 'relay-bin.index'), './relay-bin.000003\n')
    expect((await findTail(folder, set('5:7'))).files.map(({ name }) => name)).toEqual([
      'relay-bin.000003',
      'binlog.000002',
    ])
  })

  it('is nothing else of the data folder', async () => {
    await writeFile(join(folder, 'private_key.pem'), 'secret')
    await expect(readTail(folder, 'private_key.pem', 0, 6)).rejects.toMatchObject({ code: 'REGENT_REFUSED' })
    await expect(readTail(folder, '../private_key.pem', 0, 6)).rejects.toMatchObject({ code: 'REGENT_REFUSED' })
  })
})
