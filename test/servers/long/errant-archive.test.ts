import { randomBytes } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Connection } from 'mysql2/promise'
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import { GtidSet } from '#topology/gtid/gtid-set.ts'
import { archiveErrant } from '#agents/binlog/errant-archive.ts'
import { readTrimPlan, trimTail } from '#agents/binlog/unacknowledged-tail.ts'
import { ownAddress } from '#test/support/own-address.ts'
import { eventually, LoneServer, removeTemplate, value } from '#test/support/lone-server.ts'

let server: LoneServer
let root: Connection
let uuid: string

beforeEach(async () => {
  server = await LoneServer.create()
  root = await server.start()
  uuid = await value(root, 'select @@server_uuid')
  await root.query('create database app; create table app.t (id int primary key, v longtext)')
})
afterEach(() => server.remove())
afterAll(removeTemplate)

const archive = async (gtids: string): Promise<string> =>
  (
    await archiveErrant({
      dataDir: server.dataDir,
      archiveDir: join(server.folder, 'archive'),
      instance: 'shop-1',
      gtids,
      wallMs: 1,
    })
  ).join(', ')

describe('errant transactions of a running server', () => {
  it('are archived from all its binlogs, whatever their form, and nothing else is', async () => {
    await root.query(
      "insert into app.t values (3, 'kept'); insert into app.t values (4, 'errant'); flush binary logs; insert into app.t values (5, 'kept')",
    )
    await root.query(
      "set binlog_transaction_compression = on; insert into app.t values (6, repeat('errant', 10000)); set binlog_transaction_compression = off",
    )
    await root.query(
      "flush binary logs; set gtid_next = 'AUTOMATIC:hand'; insert into app.t values (7, repeat('errant', 500000)); set gtid_next = 'AUTOMATIC'",
    )
    await root.query("flush binary logs; insert into app.t values (8, 'kept')")
    const folder = await archive(`${uuid}:4:6:hand:1`)
    const files = (await readdir(folder)).filter((name) => name !== 'description.json').sort()
    expect(files).toEqual(['binlog.000001', 'binlog.000002', 'binlog.000003'])
    const printed = await server.mysqlbinlog(...files.map((file) => join(folder, file)))
    expect(printed.match(/SET @@SESSION.GTID_NEXT= '[0-9a-f]{8}-.*'/g)).toEqual(
      [`${uuid}:4`, `${uuid}:6`, `${uuid}:hand:1`].map((gtid) => `SET @@SESSION.GTID_NEXT= '${gtid}'`),
    )
    expect(printed).toContain("@2='errant'")
    expect(printed).not.toContain("@2='kept'")
  })

  it('asked for twice are archived once', async () => {
    expect(await archive(`${uuid}:1-2`)).toBe(await archive(`${uuid}:1-2`))
    expect(await readdir(join(server.folder, 'archive'))).toHaveLength(1)
  })

  it('that were cut off as a tail and yet had been committed are found in the tail’s archive', async () => {
    await root.query("insert into app.t values (3, 'committed'); flush local engine logs")
    await server.kill()
    const plan = await readTrimPlan(server.dataDir, GtidSet.parse(`${uuid}:1-2`))
    if (plan.kind !== 'trim') throw new Error(JSON.stringify(plan))
    const tail = await trimTail(plan, {
      dataDir: server.dataDir,
      archiveDir: join(server.folder, 'archive'),
      instance: 'shop-1',
      wallMs: 1,
    })
    root = await server.start()
    expect(await value(root, 'select @@global.gtid_executed')).toBe(`${uuid}:1-3`)
    expect(await archive(`${uuid}:3`)).toBe(tail)
    expect(await archive(`${uuid}:2-3`)).toMatch(new RegExp(`/errant-shop-1-[0-9a-f]{16}, ${tail}$`))
  })

  it('that were received and never applied are archived from the relay log', async () => {
    const replica = await LoneServer.create()
    const { host, release } = await ownAddress()
    try {
      const password = randomBytes(12).toString('hex')
      await root.query(`create user puller identified by '${password}'; grant replication slave on *.* to puller`)
      await server.kill()
      root = await server.start('--skip-networking=OFF', `--bind-address=${host}`, '--port=3306')
      const session = await replica.start('--server-id=2', '--relay-log=relay-bin')
      await session.query(
        `change replication source to source_host = '${host}', source_user = 'puller', source_password = '${password}', source_auto_position = 1, get_source_public_key = 1`,
      )
      await session.query('start replica io_thread')
      await root.query("insert into app.t values (5, 'received'); insert into app.t values (6, 'received too')")
      const wanted = `${uuid}:5-6`
      const received = 'from performance_schema.replication_connection_status'
      await eventually(
        async () =>
          (await value(session, `select gtid_subset('${wanted}', received_transaction_set) ${received}`)) === '1',
        () => value(session, `select concat(received_transaction_set, ' ', last_error_message) ${received}`),
      )
      expect(await value(session, 'select @@global.gtid_executed')).not.toContain(uuid)
      const [folder = ''] = await archiveErrant({
        dataDir: replica.dataDir,
        archiveDir: join(replica.folder, 'archive'),
        instance: 'shop-2',
        gtids: wanted,
        wallMs: 1,
      })
      const [file = ''] = (await readdir(folder)).filter((name) => name.startsWith('relay-bin'))
      const printed = await replica.mysqlbinlog(join(folder, file))
      expect(printed.match(/GTID_NEXT= '[0-9a-f]{8}-.*'/g)).toEqual([
        `GTID_NEXT= '${uuid}:5'`,
        `GTID_NEXT= '${uuid}:6'`,
      ])
      expect(printed).toContain("@2='received too'")
    } finally {
      release()
      await replica.remove()
    }
  })

  it('that are not in the binlogs any more, or never were, are named and nothing is archived', async () => {
    await root.query('flush binary logs; insert into app.t values (3, null)')
    await root.query("purge binary logs to 'binlog.000002'")
    await expect(archive(`${uuid}:2-3:77`)).rejects.toThrow(
      expect.objectContaining({
        code: 'REGENT_REFUSED',
        message: expect.stringContaining(
          `shop-1: ${uuid}:2:77 cannot be archived: not in its binlogs (2 of 3`,
        ) as string,
      }),
    )
    await expect(readdir(join(server.folder, 'archive'))).rejects.toThrow('ENOENT')
  })
})
