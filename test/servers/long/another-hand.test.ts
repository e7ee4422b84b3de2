import type { Connection } from 'mysql2/promise'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createMysqldProcess } from '#agents/mysqld/process.ts'
import { realWorld } from '#common/ports/real-world.ts'
import { BareInstance, until } from '#test/support/bare-instance.ts'
import { queryWithin } from '#test/support/sql-session.ts'

/** What somebody does to a server beside its agent, and what is left of it once the agent has started mysqld again. */
let bare: BareInstance
const rowOf = async (session: Connection, statement: string) => (await queryWithin(session, statement, 5_000))[0]

beforeAll(async () => {
  bare = await BareInstance.create('hand-0')
  await bare.process.initialise()
})

afterAll(async () => {
  await bare.remove()
})

/** mysqld of the same volume with options that win over the agent’s; killed when `work` is done. */
async function startedWith(options: readonly string[], work: (admin: Connection) => Promise<void>): Promise<void> {
  const other = createMysqldProcess(
    { ...bare.config, mysqld: ['sh', '-c', `exec "$@" ${options.join(' ')}`, 'sh', ...bare.config.mysqld] },
    realWorld,
  )
  await other.start()
  try {
    await until(
      async () =>
        bare.server.readState().then(
          () => true,
          () => false,
        ),
      'it answers',
    )
    await work(await bare.session('admin'))
  } finally {
    await other.kill()
    bare.server.disconnect()
  }
}

it('Tables that are not copied are named, and those of the server itself are not', async () => {
  await startedWith(['--disabled-storage-engines='], async (admin) => {
    await bare.server.setReadOnly('accounts')
    expect((await bare.server.readState()).foreignTables).toEqual([])
    await queryWithin(admin, 'SET SESSION sql_log_bin = OFF', 2_000)
    await queryWithin(admin, 'CREATE TABLE app.kept (id INT PRIMARY KEY) ENGINE=InnoDB', 5_000)
    await queryWithin(admin, 'CREATE TABLE app.m (id INT) ENGINE=MyISAM', 5_000)
    await queryWithin(admin, 'CREATE TABLE app.v (id INT NOT NULL) ENGINE=CSV', 5_000)
    await queryWithin(admin, 'CREATE VIEW app.w AS SELECT id FROM app.m', 5_000)
  })
  await bare.start()
  await until(async () => (await bare.server.readState()).foreignTables.length > 0, 'they are named')
  expect((await bare.server.readState()).foreignTables.toSorted()).toEqual(['app.m', 'app.v'])
  expect(await bare.server.readState()).toMatchObject({ superReadOnly: true, offlineMode: true, executed: '' })
})

it('A server that somebody persisted as open comes up closed when its mysqld was killed, and the settings are named', async () => {
  const admin = await bare.session('admin')
  for (const name of ['super_read_only', 'read_only', 'offline_mode'])
    await queryWithin(admin, `SET PERSIST ${name} = OFF`, 5_000)
  const open = { readOnly: false, superReadOnly: false, offlineMode: false }
  const persisted = ['offline_mode', 'read_only', 'super_read_only']
  expect(await bare.server.readState()).toMatchObject({ ...open, persisted })
  await bare.process.kill()
  bare.server.disconnect()
  await bare.start()
  expect(await bare.server.readState()).toMatchObject({
    readOnly: true,
    superReadOnly: true,
    offlineMode: true,
    persisted,
  })
  expect(await rowOf(await bare.session('admin'), 'SELECT @@global.persisted_globals_load AS loaded')).toEqual({
    loaded: 0,
  })
  await expect(bare.session('client')).rejects.toMatchObject({ errno: 3032 })
  await bare.process.kill()
  bare.server.disconnect()
  // What it would have been: the file is still there, and holds.
  await startedWith(['--persisted-globals-load=ON'], async () => {
    expect(await bare.server.readState()).toMatchObject({ ...open, persisted })
  })
})
