import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createSqlServer } from '#agents/sql/server.ts'
import { createVolume } from '#agents/volume/volume.ts'
import { realWorld } from '#common/ports/real-world.ts'
import { parseGtidSet } from '#topology/gtid/gtid-set.ts'
import { BareInstance, secret } from '#test/support/bare-instance.ts'
import { patienceMs, probeMs } from '#test/support/patience.ts'

let instance: BareInstance

beforeAll(async () => {
  instance = await BareInstance.create('bare-0')
  await instance.process.initialise()
  await instance.start()
})

afterAll(() => instance.remove())

const executed = async () => parseGtidSet((await instance.server.readState()).executed)

it('The binlog of a server tells which transactions changed no data', async () => {
  const { server, config } = instance
  const admin = await instance.session('admin')
  await admin.query('set global super_read_only = off, global read_only = off, global offline_mode = off')
  const { uuid } = await server.readState()
  await admin.query('create table app.some (id int primary key)')
  const before = await executed()
  for (const statement of [
    'flush slow logs',
    'FLUSH STATUS',
    'flush tables',
    'flush optimizer_costs',
    'analyze table app.some',
    'optimize table app.some',
    '/* by hand */ flush engine logs',
  ])
    await admin.query(statement)
  const harmless = (await executed()).subtract(before)
  expect(harmless.count()).toBe(7)
  await admin.query('insert into app.some values (1)')
  await admin.query("xa start 'x'")
  await admin.query('insert into app.some values (2)')
  await admin.query("xa end 'x'")
  await admin.query("xa prepare 'x'")
  await admin.query("xa commit 'x'")
  await admin.query('flush binary logs')
  const all = parseGtidSet(`${uuid}:1-1000`)
  const found = await createVolume(config, Date.now).withoutEffect(all.toString())
  expect(found).toBe(harmless.toString())
})

it('An empty transaction has the GTID that it was given, is in the binlog, and nothing happens where the server has it', async () => {
  const { server, config } = instance
  const gtid = '0f0e19f0-0000-4000-8000-00000000b0b0:5'
  await server.writeEmpty(gtid)
  await server.writeEmpty(gtid)
  expect((await executed()).contains(parseGtidSet(gtid))).toBe(true)
  expect(parseGtidSet(await createVolume(config, Date.now).readBinlogSet()).contains(parseGtidSet(gtid))).toBe(true)
  const own = await executed()
  const client = await instance.session('client')
  await client.query('insert into app.some values (3)')
  const { uuid } = await server.readState()
  expect((await executed()).subtract(own).toString()).toMatch(new RegExp(`^${uuid}:\\d+$`))
})

it('A binlog is followed by a new one where it is large, and by none where it is not', async () => {
  const newest = async () => (await instance.server.readState()).binlogNumber
  const before = await newest()
  await instance.server.beginBinlogAfter(1_000_000)
  expect(await newest()).toBe(before)
  await instance.server.beginBinlogAfter(100)
  expect(await newest()).toBe(before + 1)
})

it('A server of a copied folder, with the same addresses and passwords, is not taken for its own: nothing is read there or changed', async () => {
  const { server, config } = instance
  const volume = join(config.volume, 'copied')
  const copy = createSqlServer({ ...config, volume }, { world: realWorld, secret, queryDeadlineMs: patienceMs })
  const sockets = `its socket is ${config.volume}/run/mysqld.sock, that of this instance ${volume}/run/mysqld.sock`
  await expect(copy.readState()).rejects.toMatchObject({
    code: 'REGENT_SERVER_DOWN',
    message: expect.stringContaining(sockets) as string,
  })
  expect(await server.probeWrite(probeMs)).toMatchObject({ result: 'ok' })
  const { offlineMode } = await server.readState()
  await expect(copy.setOffline(!offlineMode)).rejects.toMatchObject({ code: 'REGENT_SERVER_DOWN' })
  expect(await copy.probeWrite(probeMs)).toMatchObject({
    result: 'unknown',
    detail: expect.stringContaining(sockets) as string,
  })
  expect(await server.readState()).toMatchObject({ offlineMode })
  copy.disconnect()
})
