import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { binlogFile, dml, gtid, query, uuid, xid, type SyntheticEvent } from '#test/support/synthetic-binlog.ts'
import type { BinlogPlace } from '#topology/snapshot/observation.ts'
import { begunUnderOthers } from './begun-under-others.ts'

const here = '1cb8e8f7-e593-11f1-9151-02fc00000002'

let dataDir = ''
beforeEach(async () => (dataDir = await mkdtemp(join(tmpdir(), 'regent-begun-under-others-'))))
afterEach(() => rm(dataDir, { recursive: true }))

async function write(...files: readonly Buffer[]): Promise<void> {
  await writeFile(join(dataDir, 'binlog.index'), files.map((_, at) => `./binlog.00000${at + 1}\n`).join(''))
  for (const [at, file] of files.entries()) await writeFile(join(dataDir, `binlog.00000${at + 1}`), file)
}

const skipped = (number: number) => [gtid(number), query('BEGIN'), xid]
const elsewhere = (events: readonly SyntheticEvent[]) => events.map((event) => ({ ...event, serverId: 2 }))
const place = (file: number, events: readonly SyntheticEvent[] = []): BinlogPlace => ({
  file,
  position: binlogFile(events).length,
})

it('What began here by the name of another server is found between two places, and nothing that was applied for others', async () => {
  const first = [...skipped(1), ...elsewhere(dml(2))]
  const second = [...elsewhere(dml(4)), ...skipped(5)]
  await write(binlogFile([...first, ...skipped(3)]), binlogFile([...second, ...skipped(6)]))
  const from = place(1, first)
  const to = place(2, second)
  const found = await begunUnderOthers(dataDir, { uuid: here, from, to })
  expect(found).toEqual({ gtids: `${uuid}:3:5`, end: to })
  expect((await begunUnderOthers(dataDir, { uuid: here, from: { file: 0, position: 0 }, to })).gtids).toBe(
    `${uuid}:1:3:5`,
  )
})

it('What began here by the name of this server itself is left out', async () => {
  await write(binlogFile([...dml(1), ...skipped(2)]))
  expect((await begunUnderOthers(dataDir, { uuid, from: place(1), to: place(1, dml(1)) })).gtids).toBe('')
  const to = place(1, [...dml(1), ...skipped(2)])
  expect((await begunUnderOthers(dataDir, { uuid: uuid.toUpperCase(), from: place(1), to })).gtids).toBe('')
})

it('So much is read at once, up to a transaction, and the rest from there on', async () => {
  const all = [...elsewhere(dml(1)), ...elsewhere(dml(2)), ...skipped(3)]
  await write(binlogFile(all))
  const to = place(1, all)
  const second = place(1, elsewhere(dml(1)))
  const part = { uuid: here, from: place(1), to }
  const limit = second.position - part.from.position
  expect(await begunUnderOthers(dataDir, part, limit)).toEqual({ gtids: '', end: second })
  expect((await begunUnderOthers(dataDir, { ...part, from: second }, limit)).end).toEqual(place(1, all.slice(0, 10)))
  expect((await begunUnderOthers(dataDir, { ...part, from: second })).gtids).toBe(`${uuid}:3`)
})

it('A file that was purged is passed over', async () => {
  await write(binlogFile(skipped(1)), binlogFile(skipped(2)))
  await rm(join(dataDir, 'binlog.000001'))
  const to = place(2, skipped(2))
  expect(await begunUnderOthers(dataDir, { uuid: here, from: place(1), to })).toEqual({ gtids: `${uuid}:2`, end: to })
})
