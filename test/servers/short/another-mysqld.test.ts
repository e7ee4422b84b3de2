import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createSqlServer } from '#agents/sql/server.ts'
import { realWorld } from '#common/ports/real-world.ts'
import { BareInstance, secret } from '#test/support/bare-instance.ts'
import { probeMs } from '#test/support/patience.ts'

let there: BareInstance

beforeAll(async () => {
  there = await BareInstance.create('shop-0')
  await there.process.initialise()
  await there.start()
})

afterAll(() => there.remove())

it('A server of a copied folder, with the same addresses and passwords, is not taken for its own: nothing is read there or changed', async () => {
  const volume = join(there.config.volume, 'copied')
  const copy = createSqlServer({ ...there.config, volume }, { world: realWorld, secret, queryDeadlineMs: 2_000 })
  const sockets = `its socket is ${there.config.volume}/run/mysqld.sock, that of this instance ${volume}/run/mysqld.sock`
  await expect(copy.readState()).rejects.toMatchObject({
    code: 'REGENT_SERVER_DOWN',
    message: expect.stringContaining(sockets) as string,
  })
  expect(await there.server.probeWrite(probeMs)).toMatchObject({ result: 'ok' })
  const { offlineMode } = await there.server.readState()
  await expect(copy.setOffline(!offlineMode)).rejects.toMatchObject({ code: 'REGENT_SERVER_DOWN' })
  expect(await copy.probeWrite(probeMs)).toMatchObject({
    result: 'unknown',
    detail: expect.stringContaining(sockets) as string,
  })
  expect(await there.server.readState()).toMatchObject({ offlineMode })
  copy.disconnect()
})
