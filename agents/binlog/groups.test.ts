import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { zstdCompressSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  anonymousGtid,
  binlogFile,
  ddl,
  ddlVariables,
  dml,
  gtid,
  payload,
  query,
  rows,
  stop,
  uuid,
  xaPrepare,
  xid,
  type SyntheticEvent,
} from '#test/support/synthetic-binlog.ts'
import { scanBinlog } from './file.ts'
import { endingOfPayload, GroupFold, type GroupEnding, type TransactionGroup } from './groups.ts'
import { whyNotTrimmable } from './trimmable.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'regent-groups-'))
})
afterAll(() => rm(folder, { recursive: true }))

async function groupsOf(events: readonly SyntheticEvent[]): Promise<readonly TransactionGroup[]> {
  const path = join(folder, 'binlog.000001')
  await writeFile(path, binlogFile(events))
  const groups: TransactionGroup[] = []
  const fold = new GroupFold((group) => void groups.push(group))
  await scanBinlog(path, (event) => fold.add(event))
  fold.finish()
  return Promise.all(groups.map(async (group) => ({ ...group, ending: await endingOfPayload(path, group.ending) })))
}

const endingOf = async (...events: readonly SyntheticEvent[]): Promise<GroupEnding | undefined> =>
  (await groupsOf([gtid(1), ...events]))[0]?.ending
const other = (type: number): SyntheticEvent => ({ type, body: Buffer.alloc(8) })
const [begin, commit] = [query('BEGIN'), query('COMMIT')]

describe('the transactions of a binlog', () => {
  it('reach from one GTID event to the next, without what stands between them', async () => {
    const length = (events: readonly SyntheticEvent[]): number => binlogFile(events).length
    const groups = await groupsOf([...dml(1), ...ddl(2), anonymousGtid, begin, rows(), xid, stop])
    expect(groups.map(({ gtid: id, offset, end }) => [id?.source, id?.number, offset, end])).toEqual([
      [uuid, 1, length([]), length(dml(1))],
      [uuid, 2, length(dml(1)), length([...dml(1), ...ddl(2)])],
      [
        undefined,
        undefined,
        length([...dml(1), ...ddl(2)]),
        length([...dml(1), ...ddl(2), anonymousGtid, begin, rows(), xid]),
      ],
    ])
  })

  it.each<[string, string, boolean, readonly SyntheticEvent[]]>([
    ['InnoDB rows', 'xid', true, [begin, rows(), xid]],
    [
      'rows with savepoints and statements',
      'xid',
      true,
      [begin, query('SAVEPOINT s'), rows(), query('insert into t values (1)'), xid],
    ],
    ['XA PREPARE', 'xaPrepare', true, [query("XA START X'01',X'',1"), rows(), query("XA END X'01',X'',1"), xaPrepare]],
    ['XA COMMIT', 'statement', true, [query("XA COMMIT X'01',X'',1")]],
    ['XA ROLLBACK', 'statement', true, [query("XA ROLLBACK X'01',X'',1")]],
    ['atomic DDL', 'statement', true, [query('drop table t', ddlVariables)]],
    ['long atomic CREATE', 'statement', true, [query(`create procedure p() ${'x'.repeat(9_000)}`, ddlVariables)]],
    ['ANALYZE', 'statement', true, [query('analyze table t')]],
    ['OPTIMIZE behind comments', 'statement', true, [query('/* a */ -- b\n # c\n OPTIMIZE TABLE t')]],
    ['FLUSH', 'statement', true, [query('flush\nprivileges')]],
    ['compressed InnoDB rows', 'xid', true, [payload([begin, rows(), xid])]],
    ['compressed rows of megabytes', 'xid', true, [payload([begin, rows(3_000_000), rows(100_000), xid])]],
    ['rows of another engine', 'commitStatement', false, [begin, rows(), commit]],
    ['rows of another engine, rolled back', 'rollbackStatement', false, [begin, rows(), query('ROLLBACK')]],
    ['compressed rows of another engine', 'commitStatement', false, [payload([begin, rows(), commit])]],
    ['DDL without an Xid', 'statement', false, [query('alter table t engine = MyISAM')]],
    ['a comment that the server executes', 'statement', false, [query('/*!80000 drop table t */ analyze table t')]],
    ['a table named like a harmless statement', 'statement', false, [query('drop table analyze_me')]],
    ['DISCARD TABLESPACE', 'statement', false, [query('alter table t\nDiscard tablespace', ddlVariables)]],
    [
      'IMPORT of a partition',
      'statement',
      false,
      [query('alter table t import partition p /**/ tablespace', ddlVariables)],
    ],
    [
      'long DDL whose end is not seen',
      'statement',
      false,
      [query(`alter table t ${' '.repeat(5_000)} discard tablespace`, ddlVariables)],
    ],
    ['an event type that is not known', 'notUnderstood', false, [begin, other(99), xid]],
    ['a Group Replication view change', 'notUnderstood', false, [begin, other(37), xid]],
    ['an incident', 'notUnderstood', false, [other(26)]],
    ['an Xid outside a transaction', 'notUnderstood', false, [xid]],
    ['an XA_PREPARE outside a transaction', 'notUnderstood', false, [xaPrepare]],
    ['events behind the end', 'notUnderstood', false, [begin, xid, rows()]],
    [
      'two statements',
      'notUnderstood',
      false,
      [query('drop table t', ddlVariables), query('drop table u', ddlVariables)],
    ],
    [
      'a compressed transaction that is cut off',
      'notUnderstood',
      false,
      [payload([], zstdCompressSync(Buffer.from(binlogFile([begin, rows()]).subarray(4, -3))))],
    ],
    ['a compressed transaction that is damaged', 'notUnderstood', false, [payload([], Buffer.from('not zstd at all'))]],
    ['rows without an end', 'incomplete', true, [begin, rows()]],
    ['nothing', 'incomplete', true, []],
  ])('of %s end as %s, and may be cut off: %s', async (_what, kind, isTrimmable, events) => {
    const ending = await endingOf(...events)
    expect(ending).toMatchObject({ kind })
    expect(ending && whyNotTrimmable(ending) === undefined).toBe(isTrimmable)
  })

  it('that cannot be cut off say why, without a word of their values', async () => {
    const ending = await endingOf(query("SET PASSWORD FOR 'anna'@'%' = 'secret'"))
    expect(ending && whyNotTrimmable(ending)).toBe(
      'it is a statement without an Xid (SET PASSWORD …): what it did cannot be taken back',
    )
  })
})
