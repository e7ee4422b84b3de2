import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { binlogFile, ddl, dml, gtid, query, stop, uuid } from '#test/support/synthetic-binlog.ts'
import type { BinlogTransaction } from '../ports/volume.ts'
import { readRange, visitTransactions } from './transactions.ts'

const events = [...dml(1, 40, 1_000), ...ddl(2), ...dml(3, 70_000, 3_000)]
const whole = binlogFile(events)
let folder = ''
let path = ''

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'regent-transactions-'))
  path = join(folder, 'binlog.000001')
})
afterAll(() => rm(folder, { recursive: true }))

async function seen(content: Buffer, from = 0, last = Infinity): Promise<BinlogTransaction[]> {
  await writeFile(path, content)
  const found: BinlogTransaction[] = []
  await visitTransactions(path, from, (transaction) => (found.push(transaction), transaction.number < last))
  return found
}

describe('the whole transactions of a binlog file', () => {
  it('are shown in their order, with their times', async () => {
    const found = await seen(whole)
    expect(found.map(({ source, number, committedMs }) => [source, number, committedMs])).toEqual([
      [uuid, 1, 1_000],
      [uuid, 2, 1_795_255_602_000],
      [uuid, 3, 3_000],
    ])
    expect(found.map(({ end }) => end).slice(0, 2)).toEqual(found.map(({ offset }) => offset).slice(1))
    expect(found[2]?.end).toBe(whole.length)
  })

  it('are shown from a place on, and until that is enough', async () => {
    const [, second] = await seen(whole)
    expect((await seen(whole, second?.offset)).map(({ number }) => number)).toEqual([2, 3])
    expect((await seen(whole, 0, 2)).map(({ number }) => number)).toEqual([1, 2])
    expect(await seen(whole, whole.length)).toEqual([])
  })

  it('have nothing of one that is being written', async () => {
    expect((await seen(whole.subarray(0, -10))).map(({ number }) => number)).toEqual([1, 2])
    const begun = binlogFile([...dml(1), gtid(2), query('BEGIN')])
    expect((await seen(begun)).map(({ number }) => number)).toEqual([1])
    expect((await seen(binlogFile([...dml(1), stop]))).map(({ number }) => number)).toEqual([1])
  })
})

async function read(range: { readonly offset: number; readonly end: number }): Promise<Buffer> {
  const { rawBytes, content } = await readRange(path, range)
  const chunks: Buffer[] = []
  for await (const chunk of content) chunks.push(chunk)
  expect(Buffer.concat(chunks).length).toBe(rawBytes)
  return Buffer.concat(chunks)
}

it('A part of a binlog file comes behind the beginning of that file, as of one that was closed', async () => {
  const found = await seen(whole)
  const [offset, end] = [found[1]?.offset ?? 0, found[2]?.end ?? 0]
  const bytes = await read({ offset, end })
  const closed = binlogFile([], { inUse: false })
  const head = bytes.length - (end - offset)
  expect(bytes.subarray(0, head).equals(closed.subarray(4, 4 + head))).toBe(true)
  expect(bytes.subarray(head).equals(whole.subarray(offset, end))).toBe(true)
  await expect(read({ offset, end: end + 5 })).rejects.toThrow('became shorter')
})
