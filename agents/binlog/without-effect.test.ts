import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import {
  binlogFile,
  ddl,
  dml,
  gtid,
  previousGtids,
  query,
  uuid,
  type SyntheticEvent,
} from '#test/support/synthetic-binlog.ts'
import { GtidSet } from '#topology/gtid/gtid-set.ts'
import { withoutEffect } from './without-effect.ts'

let dataDir = ''
beforeEach(async () => (dataDir = await mkdtemp(join(tmpdir(), 'regent-without-effect-'))))
afterEach(() => rm(dataDir, { recursive: true }))

async function write(...files: readonly (readonly [before: number, events: readonly SyntheticEvent[]])[]) {
  await writeFile(join(dataDir, 'binlog.index'), files.map((_, at) => `./binlog.00000${at + 1}\n`).join(''))
  for (const [at, [before, events]] of files.entries()) {
    const previous = previousGtids(before === 0 ? [] : [[1, before]])
    await writeFile(join(dataDir, `binlog.00000${at + 1}`), binlogFile(events, { previous }))
  }
}

const found = async (numbers: string) => (await withoutEffect(dataDir, GtidSet.parse(`${uuid}:${numbers}`))).toString()
const statement = (number: number, text: string) => [gtid(number), query(text)]

it('FLUSH, ANALYZE and OPTIMIZE change no data, with comments and in any case; whatever else does', async () => {
  await write([
    0,
    [
      ...statement(1, 'FLUSH SLOW LOGS'),
      ...statement(2, '/* by cron */ analyze table app.t'),
      ...statement(3, 'OPTIMIZE TABLE app.t'),
      ...dml(4),
      ...ddl(5),
      ...ddl(6, 'create table flush (id int)'),
      ...statement(7, '/*!80000 FLUSH */ STATUS'),
      ...statement(8, "XA COMMIT X'01',X'',1"),
      gtid(9),
      query('BEGIN'),
      query('FLUSH STATUS'),
      query('COMMIT'),
    ],
  ])
  expect(await found('1-9')).toBe(`${uuid}:1-3`)
  expect(await found('2')).toBe(`${uuid}:2`)
})

it('They are found in whatever file they are, and not where they are in none, or not whole', async () => {
  await write(
    [0, [...statement(1, 'FLUSH STATUS'), ...dml(2)]],
    [2, [...statement(3, 'FLUSH STATUS')]],
    [3, [...statement(4, 'FLUSH STATUS'), gtid(5)]],
  )
  expect(await found('1:3-9')).toBe(`${uuid}:1:3-4`)
})
