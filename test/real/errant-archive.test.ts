import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Connection } from 'mysql2/promise'
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import { archiveErrant } from '../../agents/errant-archive.ts'
import { LoneServer, removeTemplate, value } from '../support/lone-server.ts'

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

const archive = (gtids: string): Promise<string> => archiveErrant({ dataDir: server.dataDir, archiveDir: join(server.folder, 'archive'), instance: 'shop-1', gtids, wallMs: 1 })

describe('errant transactions of a running server', () => {
  it('are archived from all its binlogs, whatever their form, and nothing else is', async () => {
    await root.query("insert into app.t values (3, 'kept'); insert into app.t values (4, 'errant'); flush binary logs; insert into app.t values (5, 'kept')")
    await root.query("set binlog_transaction_compression = on; insert into app.t values (6, repeat('errant', 10000)); set binlog_transaction_compression = off")
    await root.query("flush binary logs; set gtid_next = 'AUTOMATIC:hand'; insert into app.t values (7, repeat('errant', 500000)); set gtid_next = 'AUTOMATIC'")
    await root.query("flush binary logs; insert into app.t values (8, 'kept')")
    const folder = await archive(`${uuid}:4:6:hand:1`)
    const files = (await readdir(folder)).filter((name) => name !== 'description.json').sort()
    expect(files).toEqual(['binlog.000001', 'binlog.000002', 'binlog.000003'])
    const printed = await server.mysqlbinlog(...files.map((file) => join(folder, file)))
    expect(printed.match(/SET @@SESSION.GTID_NEXT= '[0-9a-f]{8}-.*'/g)).toEqual([`${uuid}:4`, `${uuid}:6`, `${uuid}:hand:1`].map((gtid) => `SET @@SESSION.GTID_NEXT= '${gtid}'`))
    expect(printed).toContain("@2='errant'")
    expect(printed).not.toContain("@2='kept'")
  })

  it('asked for twice are archived once', async () => {
    expect(await archive(`${uuid}:1-2`)).toBe(await archive(`${uuid}:1-2`))
    expect(await readdir(join(server.folder, 'archive'))).toHaveLength(1)
  })

  it('that are not in the binlogs any more, or never were, are named and nothing is archived', async () => {
    await root.query('flush binary logs; insert into app.t values (3, null)')
    await root.query("purge binary logs to 'binlog.000002'")
    await expect(archive(`${uuid}:2-3:77`)).rejects.toThrow(
      expect.objectContaining({ code: 'REGENT_REFUSED', message: expect.stringContaining(`shop-1: ${uuid}:2:77 cannot be archived: not in its binlogs (2 of 3`) as string }),
    )
    await expect(readdir(join(server.folder, 'archive'))).rejects.toThrow('ENOENT')
  })
})
