import { join } from 'node:path'
import type { Connection } from 'mysql2/promise'
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import { lastBinlogFile } from '#agents/binlog/set.ts'
import { endedHow } from '#agents/volume/ended-how.ts'
import { markErrorLog, type ErrorLogPlace } from '#agents/volume/error-log.ts'
import { eventually, LoneServer, removeTemplate, value, waitingTransactions } from '#test/support/lone-server.ts'

let server: LoneServer
let place: ErrorLogPlace

beforeEach(async () => {
  server = await LoneServer.create()
  place = { dataDir: server.dataDir, errorLog: server.errorLog, errorLogMark: join(server.folder, 'error-log-mark') }
})
afterEach(() => server.remove())
afterAll(removeTemplate)

async function startMarked(): Promise<Connection> {
  await markErrorLog(place)
  return server.start()
}

const clients = 5

/** Sessions that wait for an acknowledgement nobody will give; resolves to what each of them is told. */
async function writeWithoutReplica(root: Connection): Promise<readonly Promise<string>[]> {
  await root.query(
    'create database app; create table app.t (id int primary key); set global rpl_semi_sync_source_enabled = on',
  )
  const sessions = await Promise.all(Array.from({ length: clients }, () => server.connect()))
  const answers = sessions.map((session, index) =>
    session.query(`insert into app.t values (${index})`).then(
      () => 'acknowledged',
      () => 'lost the connection',
    ),
  )
  await eventually(
    async () => (await waitingTransactions(root)) === clients,
    () => value(root, 'select @@global.gtid_owned'),
  )
  return answers
}

describe('a server’s files say', () => {
  it('that it crashed when it was killed, and waiting clients were told nothing', async () => {
    const answers = await writeWithoutReplica(await startMarked())
    await server.kill()
    expect(await Promise.all(answers)).toEqual(Array(clients).fill('lost the connection'))
    expect(await endedHow(place)).toMatchObject({ how: 'crashed' })
  })

  it('that it was stopped when SIGTERM came and SIGKILL before that was through, which told waiting clients OK and left the binlog in use', async () => {
    const answers = await writeWithoutReplica(await startMarked())
    server.signal('SIGTERM')
    expect(await Promise.race(answers)).toBe('acknowledged')
    await server.kill()
    expect(await endedHow(place)).toMatchObject({
      how: 'stopped',
      sentence: expect.stringContaining('MY-013172') as string,
    })
  })

  it.each<[string, (root: Connection) => Promise<unknown>, string]>([
    ['SIGTERM', async () => server.signal('SIGTERM'), 'MY-013172'],
    ['SHUTDOWN', (root) => root.query('shutdown'), 'MY-013172'],
    ['RESTART', (root) => root.query('restart'), 'MY-011086'],
  ])('that it was stopped after %s, also without its error log', async (_how, end, message) => {
    await end(await startMarked())
    await server.ended()
    expect(await endedHow(place)).toMatchObject({
      how: 'stopped',
      sentence: expect.stringContaining(message) as string,
    })
    expect(await endedHow({ ...place, errorLog: join(server.folder, 'gone') })).toMatchObject({
      how: 'stopped',
      sentence: expect.stringContaining('closed in order') as string,
    })
  })

  it('that it crashed, whatever its life before, when it was killed before it began a binlog', async () => {
    await (await startMarked()).query('shutdown')
    await server.ended()
    expect(await endedHow(place)).toMatchObject({ how: 'stopped' })
    const closed = await lastBinlogFile(server.dataDir)
    await markErrorLog(place)
    const starting = server.start()
    await Promise.all([expect(starting).rejects.toThrow('mysqld has ended'), server.kill()])
    expect(await lastBinlogFile(server.dataDir)).toBe(closed)
    expect(await endedHow(place)).toMatchObject({ how: 'crashed' })
  })
})
