import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Connection } from 'mysql2/promise'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { GtidSet } from '#topology/gtid/gtid-set.ts'
import { readBinlogSet } from '#agents/binlog/set.ts'
import { readTrimPlan, trimTail, type TrimPlan } from '#agents/binlog/unacknowledged-tail.ts'
import { fingerprint, type Fingerprint } from '#test/support/fingerprint.ts'
import { eventually, LoneServer, removeTemplate, value } from '#test/support/lone-server.ts'
import { alone, histogram, irrevocable, together, type StatementCase } from '#test/support/statement-cases.ts'

let server: LoneServer

afterEach(async () => {
  await server.remove()
})
afterAll(removeTemplate)

interface Killed {
  readonly before: Fingerprint
  readonly uuid: string
  readonly held: GtidSet
  readonly plan: TrimPlan
}

/**
 * Runs every case's statement in a session of its own until it waits for an acknowledgement, kills the server, and
 * plans.
 */
async function killWhileWaiting(cases: readonly StatementCase[], root: Connection): Promise<Killed> {
  for (const { setup } of cases) await root.query(setup)
  const sessions = []
  for (const { session } of cases) {
    const connection = await server.connect()
    await connection.query(session ?? 'do 0')
    sessions.push(connection)
  }
  const before = await fingerprint(root, server.dataDir)
  const held = GtidSet.parse(before.executed)
  const uuid = await value(root, 'select @@server_uuid')
  await root.query('set global rpl_semi_sync_source_enabled = on')
  for (const [index, { name, statement }] of cases.entries()) {
    const answered = sessions[index]?.query(statement).then(
      () => 'it was acknowledged',
      (error: Error) => error.message,
    )
    await waitsFor(held, index + 1, name, answered)
  }
  await server.kill()
  return { before, uuid, held, plan: await readTrimPlan(server.dataDir, held) }
}

/**
 * The server names a transaction in `gtid_owned` a moment before that transaction is in the file: the file is asked.
 */
async function waitsFor(
  held: GtidSet,
  count: number,
  name: string,
  answered: Promise<string> | undefined,
): Promise<void> {
  let answer: string | undefined
  void answered?.then((text) => (answer = text))
  const inBinlog = async () =>
    GtidSet.parse((await readBinlogSet(server.dataDir)).set)
      .subtract(held)
      .count()
  await eventually(
    async () => answer !== undefined || (await inBinlog()) === count,
    async () => `${name} is not in the binlog`,
  )
  if (answer !== undefined) throw new Error(`${name}: ${answer}`)
}

async function trim(plan: TrimPlan): Promise<string> {
  if (plan.kind !== 'trim') throw new Error(`no plan to trim: ${JSON.stringify(plan)}`)
  return trimTail(plan, {
    dataDir: server.dataDir,
    archiveDir: join(server.folder, 'archive'),
    instance: 'shop-0',
    wallMs: 1,
  })
}

/** Everything is as it was before the statements, under a new server_uuid; gives a session. */
async function expectAsBefore({ before, uuid }: Killed): Promise<Connection> {
  const root = await server.start()
  const after = await fingerprint(root, server.dataDir)
  expect(after).toEqual(before)
  expect(await value(root, 'select @@server_uuid')).not.toBe(uuid)
  return root
}

describe('an unacknowledged tail', () => {
  it(`of ${together.length} kinds of statement, waiting at once, leaves no trace once it is cut off, and stays readable in the archive`, async () => {
    server = await LoneServer.create()
    const killed = await killWhileWaiting(together, await server.start())
    expect(killed.plan).toMatchObject({ kind: 'trim' })
    const everything = GtidSet.parse((await readBinlogSet(server.dataDir)).set)
    const missing = everything.subtract(killed.held)
    expect(missing.count()).toBe(together.length)
    expect(killed.plan).toMatchObject({ gtids: missing.toString() })
    const archive = await trim(killed.plan)
    expect((await readBinlogSet(server.dataDir)).set).toBe(killed.held.toString())
    const root = await expectAsBefore(killed)
    expect(
      GtidSet.parse(await value(root, 'select @@global.gtid_executed'))
        .subtract(killed.held)
        .isEmpty(),
    ).toBe(true)
    const printed = await server.mysqlbinlog(join(archive, 'binlog.000001'))
    expect(printed.match(/SET @@SESSION.GTID_NEXT= '[0-9a-f]{8}-/g)).toHaveLength(together.length)
    expect(printed).not.toContain('was not closed properly')
    expect(JSON.parse(await readFile(join(archive, 'description.json'), 'utf8'))).toMatchObject({
      kind: 'tail',
      instance: 'shop-0',
      gtids: missing.toString(),
    })
  })

  it.each(irrevocable)('with $name is not cut off, since nobody could take it back', async (irrevocableCase) => {
    server = await LoneServer.create()
    const { plan } = await killWhileWaiting([irrevocableCase], await server.start())
    expect(plan).toMatchObject({
      kind: 'refuse',
      reason: expect.stringContaining(irrevocableCase.reason ?? '') as string,
    })
  })

  it(`of one statement that cannot wait beside others leaves no trace: ${alone.map(({ name }) => name).join(', ')}`, async () => {
    server = await LoneServer.create()
    let root = await server.start()
    for (const statementCase of alone) {
      const killed = await killWhileWaiting([statementCase], root)
      expect(killed.plan, statementCase.name).toMatchObject({ kind: 'trim' })
      await trim(killed.plan)
      root = await expectAsBefore(killed)
    }
  })

  it('of ANALYZE … UPDATE HISTOGRAM leaves the histogram and nothing else', async () => {
    server = await LoneServer.create()
    const killed = await killWhileWaiting([histogram], await server.start())
    await trim(killed.plan)
    const after = await fingerprint(await server.start(), server.dataDir)
    expect(after.schema['histograms']).toHaveLength(1)
    expect({ ...after, schema: { ...after.schema, histograms: [] } }).toEqual(killed.before)
  })

  it('that is not cut off comes back when the server starts', async () => {
    server = await LoneServer.create()
    const killed = await killWhileWaiting(together.slice(2, 8), await server.start())
    const after = await fingerprint(await server.start(), server.dataDir)
    expect(GtidSet.parse(after.executed).subtract(killed.held).count()).toBe(6)
    expect(after.checksums).not.toEqual(killed.before.checksums)
  })

  it('that had been committed after all is seen in gtid_executed after the cut', async () => {
    server = await LoneServer.create()
    const root = await server.start()
    await root.query('create database app; create table app.t (id int primary key)')
    const held = GtidSet.parse(await value(root, 'select @@global.gtid_executed'))
    // Once its commit is in InnoDB's log on the disk; until then a crash takes even an acknowledged commit back to
    // prepared.
    await root.query('insert into app.t values (1); flush local engine logs')
    await server.kill()
    const plan = await readTrimPlan(server.dataDir, held)
    await trim(plan)
    const again = await server.start()
    const after = GtidSet.parse(await value(again, 'select @@global.gtid_executed'))
    expect(after.subtract(held).toString()).toBe((plan as { gtids: string }).gtids)
    expect(await value(again, 'select count(*) from app.t')).toBe('1')
  })

  it('that the primary holds is left alone', async () => {
    server = await LoneServer.create()
    await (await server.start()).query('create database app')
    await server.kill()
    const { set, lastFile } = await readBinlogSet(server.dataDir)
    const { size } = await stat(lastFile)
    expect(await readTrimPlan(server.dataDir, GtidSet.parse(set))).toEqual({ kind: 'nothing' })
    expect((await stat(lastFile)).size).toBe(size)
    expect(await readdir(server.dataDir)).toContain('auto.cnf')
  })
})
