import { expect, it } from 'vitest'
import type { Sql } from '../connections/statements.ts'
import { ReplicationSql } from './replication.ts'

const set = '3e11fa47-71ca-11e1-9e33-c80aa9429562:1-9'

/** A server whose applier has gone on at each of these looks; each look takes a second. */
function applying(looks: readonly string[]) {
  let at = 0
  const read = async (statement: string) => {
    if (!statement.includes('WAIT_FOR_EXECUTED_GTID_SET')) return [{ changed: looks[at] ?? looks.at(-1) }]
    at += 1
    return [{ late: at > looks.length ? '0' : '1' }]
  }
  const countdown = (ms: number) => {
    const until = at + ms / 1_000
    return () => Math.max(1, (until - at) * 1_000)
  }
  return new ReplicationSql({ read, countdown } as unknown as Sql, { encrypts: false })
}

it('An applier is waited for as long as it goes on, however long that takes', async () => {
  const slow = Array.from({ length: 100 }, (_, at) => String(Math.floor(at / 3)))
  expect(await applying(slow).waitApplied(set, 5_000)).toBe(true)
})

it('An applier that does not go on is given up', async () => {
  expect(await applying(['1', '2', ...Array.from({ length: 10 }, () => '3')]).waitApplied(set, 5_000)).toBe(false)
})
