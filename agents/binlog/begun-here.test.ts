import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { binlogFile, dml, gtid, query, type SyntheticEvent } from '#test/support/synthetic-binlog.ts'
import { begunHere } from './begun-here.ts'

let dataDir = ''
beforeEach(async () => (dataDir = await mkdtemp(join(tmpdir(), 'regent-begun-here-'))))
afterEach(() => rm(dataDir, { recursive: true }))

async function write(...files: readonly Buffer[]): Promise<void> {
  await writeFile(join(dataDir, 'binlog.index'), files.map((_, at) => `./binlog.00000${at + 1}\n`).join(''))
  for (const [at, file] of files.entries()) await writeFile(join(dataDir, `binlog.00000${at + 1}`), file)
}

const flush = (number: number) => [gtid(number), query('FLUSH STATUS')]
const elsewhere = (events: readonly SyntheticEvent[]) => events.map((event) => ({ ...event, serverId: 2 }))

it('What began at this server itself is counted behind a place, whatever was applied for others, and what of it changed data', async () => {
  const first = [...dml(1), ...elsewhere(dml(2))]
  await write(binlogFile([...first, ...flush(3), ...elsewhere(flush(4))]), binlogFile([...dml(5), gtid(6)]))
  const { length: position } = binlogFile(first)
  expect(await begunHere(dataDir, { file: 1, position: 4 })).toEqual({ all: 3, changing: 2 })
  expect(await begunHere(dataDir, { file: 1, position })).toEqual({ all: 2, changing: 1 })
  expect(await begunHere(dataDir, { file: 2, position: 4 })).toEqual({ all: 1, changing: 1 })
})

it('FLUSH alone has changed nothing', async () => {
  await write(binlogFile([...flush(1), ...elsewhere(dml(2)), ...flush(3)]))
  expect(await begunHere(dataDir, { file: 1, position: 4 })).toEqual({ all: 2, changing: 0 })
})
