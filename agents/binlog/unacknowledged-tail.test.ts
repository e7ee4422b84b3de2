import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { GtidSet } from '#topology/gtid/gtid-set.ts'
import {
  binlogFile,
  ddl,
  dml,
  gtid,
  previousGtids,
  query,
  rows,
  uuid,
  type SyntheticEvent,
} from '#test/support/synthetic-binlog.ts'
import type { GroupEnding } from './groups.ts'
import { longestTail, planTrim, readTrimPlan, trimTail, type LastBinlog, type TrimPlan } from './unacknowledged-tail.ts'

const set = (numbers: string): GtidSet => GtidSet.parse(numbers === '' ? '' : `${uuid}:${numbers}`)

describe('the plan for a tail', () => {
  const plain: GroupEnding = { kind: 'xid' }
  const group = (number: number, ending: GroupEnding = plain) => ({
    gtid: { source: uuid, number },
    serverId: 1,
    offset: number * 100,
    end: number * 100 + 100,
    ending,
  })
  const last = (changes: Partial<LastBinlog> = {}): LastBinlog => ({
    file: '/data/binlog.000003',
    size: 900,
    serverVersion: '9.7.4',
    headEnd: 200,
    previous: set('1-3'),
    anonymous: 0,
    groups: [group(4), group(5), group(6)],
    ...changes,
  })
  const withEnding = (ending: GroupEnding): LastBinlog => last({ groups: [group(4), group(5), group(6, ending)] })

  it.each<[string, string, TrimPlan['kind'], Partial<Record<string, unknown>>]>([
    ['1-6', 'everything is held', 'nothing', {}],
    ['1-9', 'more than everything is held', 'nothing', {}],
    [
      '1-5',
      'the last one is missing',
      'trim',
      { offset: 600, end: 700, gtids: `${uuid}:6`, file: '/data/binlog.000003', size: 900, headEnd: 200 },
    ],
    ['1-3', 'all of the file is missing', 'trim', { offset: 400, end: 700, gtids: `${uuid}:4-6` }],
    [
      '1-4:6',
      'one in the middle is missing',
      'refuse',
      { reason: expect.stringContaining(`${uuid}:6 comes after the first missing transaction`), gtids: `${uuid}:5` },
    ],
    [
      '1-2:4-5',
      'one of an earlier file is missing, and the last',
      'refuse',
      { reason: expect.stringContaining(`${uuid}:3 is in a binlog older than binlog.000003`), gtids: `${uuid}:3:6` },
    ],
    ['1-2:4-6', 'one of an earlier file is missing', 'refuse', { gtids: `${uuid}:3` }],
    ['', 'nothing is held', 'refuse', { gtids: `${uuid}:1-6` }],
  ])('where the primary holds "%s" (%s) is to %s', (held, _what, kind, expected) => {
    expect(planTrim(last(), set(held))).toMatchObject({ kind, ...expected })
  })

  it.each<[string, LastBinlog, string]>([
    [
      'a table that is not transactional',
      withEnding({ kind: 'commitStatement' }),
      `${uuid}:6 in binlog.000003 cannot be cut off: it ends in a COMMIT or ROLLBACK statement`,
    ],
    [
      'what is not understood',
      withEnding({ kind: 'notUnderstood', what: 'event type 99' }),
      'it is not understood (event type 99)',
    ],
    [
      'what was not decompressed',
      withEnding({ kind: 'payload', bodyOffset: 0, head: Buffer.alloc(0) }),
      'it is compressed',
    ],
    [
      'a version on which it is not proven',
      last({ serverVersion: '9.70.1' }),
      'cutting is proven for MySQL 9.7; binlog.000003 was written by 9.70.1',
    ],
    ['transactions without a GTID', last({ anonymous: 2 }), 'binlog.000003 has 2 transactions without a GTID'],
  ])('is a refusal that says so for %s', (_what, binlog, reason) => {
    expect(planTrim(binlog, set('1-5'))).toMatchObject({
      kind: 'refuse',
      reason: expect.stringContaining(reason) as string,
    })
  })

  it('does not mind what it could not cut as long as it is held', () => {
    expect(
      planTrim(
        last({ groups: [group(4), group(5, { kind: 'commitStatement' }), group(6)], serverVersion: '8.0.40' }),
        set('1-6'),
      ),
    ).toEqual({ kind: 'nothing' })
  })

  it('leaves to the server what the file ends within', () => {
    expect(planTrim(withEnding({ kind: 'incomplete' }), set('1-5'))).toEqual({ kind: 'nothing' })
    expect(planTrim(withEnding({ kind: 'incomplete' }), set('1-4'))).toMatchObject({
      kind: 'trim',
      offset: 500,
      end: 600,
      gtids: `${uuid}:5`,
    })
  })
})

describe('a tail on the disk', () => {
  let volume: string
  let dataDir: string
  let file: string
  beforeEach(async () => {
    volume = await mkdtemp(join(tmpdir(), 'regent-tail-'))
    dataDir = volume
    file = join(dataDir, 'binlog.000002')
  })
  afterEach(() => rm(volume, { recursive: true }))

  const place = () => ({ dataDir, archiveDir: join(volume, 'archive'), instance: 'shop-0', wallMs: 1_795_255_602_000 })

  async function write(events: readonly SyntheticEvent[]): Promise<Buffer> {
    const bytes = binlogFile(events, { previous: previousGtids([[1, 3]]) })
    await writeFile(join(dataDir, 'binlog.index'), './binlog.000001\n./binlog.000002\n')
    await writeFile(file, bytes)
    await writeFile(join(dataDir, 'auto.cnf'), `[auto]\nserver-uuid=${uuid}\n`)
    return bytes
  }

  async function planned(held = '1-4'): Promise<Extract<TrimPlan, { kind: 'trim' }>> {
    const plan = await readTrimPlan(dataDir, set(held))
    if (plan.kind !== 'trim') throw new Error(JSON.stringify(plan))
    return plan
  }

  it('is archived with the file’s beginning, then cut off, and the server takes a new server_uuid', async () => {
    const bytes = await write([...dml(4), ...dml(5), ...ddl(6), gtid(7), query('BEGIN')])
    const kept = binlogFile(dml(4), { previous: previousGtids([[1, 3]]) })
    const head = binlogFile([], { previous: previousGtids([[1, 3]]) }).length
    const whole = binlogFile([...dml(4), ...dml(5), ...ddl(6)], { previous: previousGtids([[1, 3]]) }).length
    const archive = await trimTail(await planned(), place())
    expect((await readFile(file)).equals(kept)).toBe(true)
    expect(await readdir(dataDir)).not.toContain('auto.cnf')
    const archived = await readFile(join(archive, 'binlog.000002'))
    const expected = Buffer.concat([bytes.subarray(0, head), bytes.subarray(kept.length, whole)])
    expected.writeUInt16LE(0, 4 + 17)
    expect(archived.equals(expected)).toBe(true)
    expect(JSON.parse(await readFile(join(archive, 'description.json'), 'utf8'))).toEqual({
      version: 1,
      kind: 'tail',
      instance: 'shop-0',
      gtids: `${uuid}:5-6`,
      wallMs: 1_795_255_602_000,
      reason: expect.stringContaining('never acknowledged') as string,
      files: [{ file: 'binlog.000002', ranges: [{ offset: kept.length, end: whole }] }],
    })
    expect(await readTrimPlan(dataDir, set('1-4'))).toEqual({ kind: 'nothing' })
  })

  it.each([
    ['while it was archived', async () => writeFile(join(volume, 'archive', 'tail-shop-0.partial'), 'half')],
    ['after it was archived', async () => undefined],
    ['after the server_uuid was forgotten', async () => rm(join(dataDir, 'auto.cnf'))],
  ])('is cut off all the same by whoever comes after one that died %s, and archived once', async (_when, died) => {
    const bytes = await write([...dml(4), ...dml(5)])
    const first = await trimTail(await planned(), place())
    await writeFile(file, bytes)
    await writeFile(join(dataDir, 'auto.cnf'), '')
    await died()
    expect(await trimTail(await planned(), place())).toBe(first)
    expect(await readdir(join(volume, 'archive'))).toHaveLength(1)
    expect(await readdir(dataDir)).not.toContain('auto.cnf')
    expect((await stat(file)).size).toBe(binlogFile(dml(4), { previous: previousGtids([[1, 3]]) }).length)
  })

  it('is not cut off when it cannot be archived', async () => {
    const bytes = await write([...dml(4), ...dml(5)])
    await writeFile(join(volume, 'archive'), 'in the way')
    await expect(trimTail(await planned(), place())).rejects.toThrow('EEXIST')
    expect((await stat(file)).size).toBe(bytes.length)
    expect(await readdir(dataDir)).toContain('auto.cnf')
  })

  it('is not cut off when the file changed after the plan was made', async () => {
    await write([...dml(4), ...dml(5)])
    const plan = await planned()
    const bytes = await write([...dml(4), ...dml(5), ...dml(6)])
    await expect(trimTail(plan, place())).rejects.toThrow(expect.objectContaining({ code: 'REGENT_REFUSED' }))
    expect((await stat(file)).size).toBe(bytes.length)
  })

  it('in a binlog that cannot be read is kept, with the reason', async () => {
    await write([])
    await writeFile(file, Buffer.from('fd62696e0000', 'hex'))
    expect(await readTrimPlan(dataDir, set('1-3'))).toEqual({
      kind: 'refuse',
      reason: `${file} is encrypted`,
      gtids: '',
    })
  })

  it('is refused where more is missing than ever waits for an acknowledgement, and where something held comes after it; all that is missing is told', async () => {
    await write(Array.from({ length: longestTail + 1 }, (_, index) => dml(index + 4)).flat())
    expect(await readTrimPlan(dataDir, set('1-3'))).toMatchObject({
      kind: 'refuse',
      gtids: `${uuid}:4-${longestTail + 4}`,
      reason: expect.stringContaining(`the primary lacks ${longestTail + 1} transactions of binlog.000002`) as string,
    })
    expect(await readTrimPlan(dataDir, set('1-4'))).toMatchObject({ kind: 'trim' })
    expect(await readTrimPlan(dataDir, set('1-6:8-20'))).toMatchObject({
      kind: 'refuse',
      gtids: `${uuid}:7:21-${longestTail + 4}`,
      reason: expect.stringContaining(`${uuid}:8 comes after the first missing`) as string,
    })
  })

  it('is refused for a write to another engine among thousands of others', async () => {
    const many = Array.from({ length: 2_000 }, (_, index) => dml(index + 4)).flat()
    await write([...many, gtid(2_004), query('BEGIN'), rows(), query('COMMIT')])
    expect(await readTrimPlan(dataDir, set('1-1999'))).toMatchObject({
      kind: 'refuse',
      gtids: `${uuid}:2000-2004`,
      reason: expect.stringContaining(':2004 ') as string,
    })
  })
})
