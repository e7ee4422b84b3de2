import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Connection } from 'mysql2/promise'
import { rowOf } from '#failover/settings/table.ts'
import { LoneServer, removeTemplate, rows } from '#test/support/lone-server.ts'

let server: LoneServer
let session: Connection

beforeAll(async () => {
  server = await LoneServer.create()
  const plugins = ['semisync_replica.so', 'mysql_clone.so', 'group_replication.so']
  session = await server.start(...plugins.map((plugin) => `--plugin-load-add=${plugin}`))
})

afterAll(async () => {
  session?.destroy()
  await server?.remove()
  await removeTemplate()
})

it('The table of settings knows every variable of the server and of the plugins that Regent loads', async () => {
  const found = await rows<{ name: string }>(
    session,
    'SELECT VARIABLE_NAME AS name FROM performance_schema.variables_info ORDER BY name',
  )
  expect(found.length).toBeGreaterThan(600)
  expect(found.map(({ name }) => name).filter((name) => rowOf(name) === undefined)).toEqual([])
})
