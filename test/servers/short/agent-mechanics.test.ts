import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Connection } from 'mysql2/promise'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { replicationUser } from '#agents/ports/server.ts'
import { volumeLayout } from '#agents/instance/volume-layout.ts'
import { until, type BareInstance } from '#test/support/bare-instance.ts'
import { elapsed } from '#test/support/monotonic.ts'
import { SourceAndReplica } from '#test/support/source-and-replica.ts'
import { firstValue, queryWithin } from '#test/support/sql-session.ts'
import { expectBelow } from '#test/support/expect-below.ts'
import { patienceMs, probeMs } from '#test/support/patience.ts'

let servers: SourceAndReplica
let source: BareInstance
let replica: BareInstance

beforeAll(async () => {
  servers = await SourceAndReplica.create()
  ;({ source, replica } = servers)
  await servers.initialise()
  await servers.start()
})

afterAll(() => servers.remove())

describe('a source and its replica', () => {
  it('wait for each other’s acknowledgement, and name each other', async () => {
    await servers.openWithReplica()
    const client = await source.session('client', 'app')
    await client.query('CREATE TABLE t (id INT PRIMARY KEY)')
    await client.query('INSERT INTO t VALUES (1)')
    await source.server.writeMarker('0123456789abcdef', 1)
    const [from, to] = [await source.server.readState(), await replica.server.readState()]
    expect(from.semiSyncSource).toMatchObject({ enabled: true, acks: 1, waiting: 0, unacknowledged: 0 })
    expect(from.dumpThreads).toMatchObject([{ user: 'regent_r_1', serverUuid: to.uuid, semiSync: true }])
    expect(from.openGates).toEqual(['bare-1'])
    expect(from.executed).toBe(`${from.uuid}:1-3`)
    expect(to.channel).toMatchObject({
      sourceHost: source.config.host,
      sourceUuid: from.uuid,
      ioRunning: 'yes',
      sqlRunning: true,
      semiSync: true,
      filtered: false,
      ioError: '',
      sqlError: '',
    })
    expect(await replica.server.waitReceived(from.executed, patienceMs)).toBe(true)
    expect(await replica.server.waitExecuted(from.executed, patienceMs)).toBe(true)
    expect(await replica.server.readHolds()).toMatchObject({
      executed: from.executed,
      received: from.executed,
      owned: '',
    })
  })

  it('beat, so that a source that falls silent is noticed, and its receiver stops at once', async () => {
    await until(async () => ((await replica.server.readState()).channel?.silentMs ?? 9_999) < 700, 'a heartbeat came')
    process.kill(source.process.pid ?? 0, 'SIGSTOP')
    await until(async () => ((await replica.server.readState()).channel?.silentMs ?? 0) > 1_000, 'the silence is seen')
    await until(async () => ((await replica.server.readState()).channel?.silentMs ?? 0) > 2_500, 'the silence lasts')
    expect((await replica.server.readState()).channel?.ioRunning).toBe('yes')
    expectBelow(2_000, await elapsed(replica.server.stopReceiver()))
    process.kill(source.process.pid ?? 0, 'SIGCONT')
    await servers.follow()
    await until(
      async () => ((await replica.server.readState()).channel?.silentMs ?? 9_999) < 700,
      'a heartbeat came again',
    )
  })

  it('wait no longer than asked for what does not come', async () => {
    const missing = `${(await source.server.readState()).uuid}:1-1000`
    expectBelow(3_000, await elapsed(replica.server.waitExecuted(missing, 100)))
    expect(await replica.server.waitExecuted(missing, 100)).toBe(false)
    expect(await replica.server.waitReceived(missing, 100)).toBe(false)
  })

  it('keep received and unapplied transactions when the replica is pointed elsewhere', async () => {
    await replica.server.stopApplier()
    const client = await source.session('client', 'app')
    await client.query('INSERT INTO t VALUES (2), (3)')
    await replica.server.stopReceiver()
    const before = await replica.server.readHolds()
    expect(before.received).not.toBe(before.executed)
    await replica.server.pointTo({ ...source.sourceFor(replica), port: 3999 })
    const after = await replica.server.readState()
    expect(after.channel?.sourcePort).toBe(3999)
    expect(await replica.server.waitExecuted(before.received, patienceMs)).toBe(true)
    await servers.follow()
  })

  it('refuse to be pointed elsewhere rather than throw away what cannot be applied', async () => {
    const [client, root] = [await source.session('client', 'app'), await replica.session('regent', 'app')]
    await replica.server.open()
    await root.query('SET SESSION sql_log_bin = 0')
    await root.query('INSERT INTO t VALUES (4)')
    await client.query('INSERT INTO t VALUES (4)')
    await until(async () => (await replica.server.readState()).channel?.sqlError !== '', 'the applier stops')
    await replica.server.stopReceiver()
    const before = await replica.server.readHolds()
    await expect(replica.server.pointTo({ ...source.sourceFor(replica), port: 3999 })).rejects.toThrow(
      /1 received transaction cannot be applied, .*error\(s\) in the worker/s,
    )
    expect(await replica.server.readHolds()).toEqual(before)
    await root.query('DELETE FROM t WHERE id = 4')
    await replica.server.setReadOnly('closed')
    await servers.follow()
  })

  it('lose a filter that was set by hand', async () => {
    const admin = await replica.session('admin')
    await replica.server.stopApplier()
    await admin.query('CHANGE REPLICATION FILTER REPLICATE_IGNORE_DB = (app)')
    await replica.server.startApplier()
    expect((await replica.server.readState()).channel?.filtered).toBe(true)
    await replica.server.clearFilters()
    expect((await replica.server.readState()).channel).toMatchObject({ filtered: false, sqlRunning: true })
  })

  it('part when the gate is closed, and meet again when it is opened', async () => {
    const executed = (await source.server.readHolds()).executed
    await source.server.setGates([])
    expect(await source.server.readState()).toMatchObject({ dumpThreads: [], openGates: [] })
    await until(async () => (await replica.server.readState()).channel?.ioRunning !== 'yes', 'the replica notices')
    await replica.server.stopReceiver()
    await replica.server.startReceiver()
    await until(
      // ER_ACCOUNT_HAS_BEEN_LOCKED
      async () => (await replica.server.readState()).channel?.ioErrno === 3118,
      'the replica is refused',
    )
    await source.server.setGates([replica.name])
    await servers.follow()
    expect((await source.server.readHolds()).executed).toBe(executed)
  })

  it('meet again when somebody changed the replication account’s password, and for an instance that had none', async () => {
    const admin = await source.session('admin')
    await queryWithin(admin, 'SET SESSION sql_log_bin = 0', patienceMs)
    await queryWithin(admin, "ALTER USER 'regent_r_1'@'%' IDENTIFIED BY 'something else'", patienceMs)
    await source.server.setGates([replica.name, 'bare-12'])
    expect((await source.server.readState()).openGates).toEqual(['bare-1', 'bare-12'])
    await servers.follow()
    await source.server.setGates([replica.name])
    expect((await source.server.readState()).openGates).toEqual(['bare-1'])
  })

  it('have their gates set on a volume that is older than the table of fingerprints, which it then has', async () => {
    const admin = await source.session('admin')
    await admin.query('SET SESSION sql_log_bin = OFF')
    await admin.query('DROP TABLE regent.account')
    const executed = (await source.server.readState()).executed
    await source.server.setGates([replica.name])
    await source.server.setGates([replica.name])
    expect(
      await firstValue(admin, `SELECT COUNT(*) FROM regent.account WHERE user = '${replicationUser(replica.name)}'`),
    ).toBe('1')
    expect(await firstValue(admin, 'SELECT COUNT(*) FROM regent.marker')).toBe('32')
    expect(await source.server.readState()).toMatchObject({ openGates: ['bare-1'], executed })
    admin.destroy()
  })

  it('have an event run at the source only', async () => {
    const client = await source.session('client', 'app')
    await client.query(
      'CREATE EVENT e ON SCHEDULE EVERY 1 DAY STARTS NOW() + INTERVAL 1 DAY DO DELETE FROM t WHERE id < 0',
    )
    await replica.server.waitExecuted((await source.server.readHolds()).executed, patienceMs)
    const admin = await replica.session('admin')
    const event = "SELECT CONCAT(STATUS, ' ', DEFINER) FROM information_schema.EVENTS WHERE EVENT_NAME = 'e'"
    expect(await firstValue(admin, event)).toMatch(/SIDE_DISABLED client@%$/)
    const before = (await replica.server.readHolds()).executed
    await replica.server.setReadOnly('accounts')
    await replica.server.setEvents(true)
    expect(await firstValue(admin, 'SELECT @@event_scheduler')).toBe('ON')
    await replica.server.setEvents(false)
    await replica.server.setReadOnly('closed')
    expect(await firstValue(admin, event)).toBe('ENABLED client@%')
    expect((await replica.server.readHolds()).executed).toBe(before)
    expect(await firstValue(admin, 'SELECT @@event_scheduler')).toBe('OFF')
  })
})

/** A statement that was killed is there for a moment longer. */
async function untilNothingIsSet(admin: Connection): Promise<void> {
  const setting = "SELECT COUNT(*) FROM performance_schema.processlist WHERE INFO LIKE 'SET GLOBAL%'"
  await until(async () => (await firstValue(admin, setting)) === '0', 'no statement that sets anything hangs')
}

describe('a source whose acknowledgements have stopped', () => {
  it('can still be read, have its gates set, and be probed; what would hang is ended', async () => {
    await replica.server.stopReceiver()
    await source.server.killDumpThreads(() => false)
    const client = await source.session('client', 'app')
    const waiting = client.query('INSERT INTO t VALUES (100)')
    const counted = async () => (await source.server.readState()).semiSyncSource.waiting
    await until(async () => (await counted()) === 1, 'a session waits: its GTID is owned a moment before')
    expect(await source.server.waitingSessions()).toBe(1)
    expect(await source.server.probeWrite(probeMs)).toEqual({ result: 'ok', detail: '' })

    await expect(source.server.setReadOnly('closed', 300)).rejects.toMatchObject({ code: 'REGENT_SERVER_TIMEOUT' })
    const admin = await source.session('admin')
    await untilNothingIsSet(admin)
    expect(await firstValue(admin, 'SELECT @@global.super_read_only')).toBe('0')
    expectBelow(2_000, await elapsed(source.server.setGates([replica.name, 'bare-2'])))

    const former = source.anotherServerPort()
    const given = expect(former.writeMarker('aaaa', 1)).rejects.toMatchObject({ code: 'REGENT_SERVER_DOWN' })
    await until(async () => (await source.server.waitingSessions()) === 2, 'the marker of a former agent waits')
    former.disconnect()
    await given
    const marked = Promise.all([source.server.writeMarker('bbbb', 1), source.server.writeMarker('cccc', 2)])
    await until(async () => (await source.server.waitingSessions()) === 4, 'new markers wait beside it, not behind it')
    await servers.follow()
    await Promise.all([waiting, marked])
    expect(await source.server.waitingSessions()).toBe(0)
    expect((await source.server.readState()).semiSyncSource.unacknowledged).toBe(0)
  })
})

describe('a locked, crowded or closing server', () => {
  it('ends a change that waits for somebody’s table lock, and is still open', async () => {
    const [holder, admin] = [await source.session('client', 'app'), await source.session('admin')]
    await holder.query('LOCK TABLES t WRITE')
    await expect(source.server.setReadOnly('closed', 300)).rejects.toMatchObject({
      code: 'REGENT_SERVER_TIMEOUT',
      message: 'no answer within 300 ms: SET GLOBAL super_read_only = ON',
    })
    await untilNothingIsSet(admin)
    expect((await source.server.readState()).readOnly).toBe(false)
    await holder.query('UNLOCK TABLES')
  })

  it('says who holds a lock that no write gets through', async () => {
    const admin = await source.session('admin')
    await admin.query('FLUSH TABLES WITH READ LOCK')
    const { result, detail } = await source.server.probeWrite(probeMs).finally(() => admin.query('UNLOCK TABLES'))
    expect(result).toBe('locked')
    expect(String(detail)).toMatch(/session \d+ of admin@/)
    // Two locks of one session.
    expect(String(detail).match(/session/g)).toHaveLength(1)
    expect(await source.server.probeWrite(probeMs)).toEqual({ result: 'ok', detail: '' })
  })

  it('counts long statements and open transactions as busy, and nothing else', async () => {
    expect(await source.server.busySessions()).toBe(0)
    const [first, second] = [await source.session('client', 'app'), await source.session('client', 'app')]
    await first.query('BEGIN')
    await first.query('SELECT * FROM t FOR UPDATE')
    const sleeping = second.query('SELECT SLEEP(600)').catch(() => undefined)
    await until(async () => (await source.server.busySessions()) === 2, 'both are busy')
    await first.query('COMMIT')
    await first.query(`KILL QUERY ${second.threadId}`)
    await sleeping
    await until(async () => (await source.server.busySessions()) === 0, 'nobody is busy')
  })

  it('lets the agent in when connections are exhausted, and says that they are', async () => {
    const admin = await source.session('admin')
    // More than the sessions that the tests before have left open.
    await admin.query('SET GLOBAL max_connections = 60')
    const crowd: Connection[] = []
    await expect(
      (async () => {
        for (let count = 0; count < 80; count += 1) crowd.push(await source.session('client'))
      })(),
    ).rejects.toMatchObject({ errno: 1040 })
    // The place beyond the last is still that of the client which was refused, until its thread has ended.
    await until(
      async () =>
        source.session('admin').then(
          (session) => crowd.push(session) > 0,
          () => false,
        ),
      'an administrator is let in',
    )
    const late = source.anotherServerPort()
    expect((await late.readState()).readOnly).toBe(false)
    expect(await late.probeWrite(probeMs)).toMatchObject({ result: 'tooManyConnections' })
    late.disconnect()
    await admin.query('SET GLOBAL max_connections = 500')
    for (const session of crowd) session.destroy()
    await until(async () => (await source.server.probeWrite(probeMs)).result === 'ok', 'the crowd is gone')
  })

  it('ends every session of others, and neither its own nor its replicas’', async () => {
    const [admin, client] = [await source.session('admin'), await source.session('client', 'app')]
    await client.query('BEGIN')
    const { dumpThreads } = await source.server.readState()
    await source.server.setOffline(true)
    await source.server.killForeignSessions()
    await expect(admin.query('SELECT 1')).rejects.toThrow()
    await expect(client.query('COMMIT')).rejects.toThrow()
    expect((await source.server.readState()).dumpThreads).toEqual(dumpThreads)
    await replica.server.killForeignSessions()
    expect((await replica.server.readState()).channel).toMatchObject({ ioRunning: 'yes', sqlRunning: true })
    await source.server.writeMarker('bbbb', 2)
  })

  it('closes and opens again', async () => {
    await source.server.setReadOnly('closed')
    expect(await source.server.readState()).toMatchObject({ readOnly: true, superReadOnly: true })
    expect(await source.server.probeWrite(probeMs)).toEqual({ result: 'ok', detail: '' })
    await source.server.setReadOnly('accounts')
    expect(await source.server.readState()).toMatchObject({ readOnly: true, superReadOnly: false })
    await source.server.open()
    expect(await source.server.readState()).toMatchObject({ readOnly: false, superReadOnly: false })
  })

  it('reports managed settings that somebody persisted, and refuses tables that are not copied', async () => {
    const admin = await source.session('admin')
    await admin.query('SET PERSIST rpl_semi_sync_source_timeout = 1000')
    await admin.query('SET PERSIST long_query_time = 3')
    await admin.query('SET GLOBAL rpl_semi_sync_source_timeout = 3153600000000')
    expect((await source.server.readState()).persisted).toEqual(['rpl_semi_sync_source_timeout'])
    await expect(admin.query('CREATE TABLE app.m (id INT) ENGINE=MyISAM')).rejects.toMatchObject({ errno: 3161 })
  })
})

describe('a copy', () => {
  it('grows in a folder of its own with progress, and the server goes on', async () => {
    const seen: string[] = []
    const folder = volumeLayout(replica.config.volume).seedDir
    const admin = await replica.session('admin')
    // MiB a second: so little data is copied before anybody looks otherwise.
    await admin.query('SET GLOBAL clone_max_data_bandwidth = 20')
    await replica.server.setReadOnly('accounts')
    await replica.server.cloneInto(folder, source.sourceFor(replica), (stage, percent) =>
      seen.push(`${String(stage)} ${percent}`),
    )
    expect((await stat(join(folder, 'mysql.ibd'))).size).toBeGreaterThan(1_000_000)
    expect(seen.length).toBeGreaterThan(0)
    expect(seen.every((line) => /^[a-z ]+ \d+$/.test(line))).toBe(true)
    expect((await replica.server.readState()).channel?.ioRunning).toBe('yes')
    await admin.query('SET GLOBAL clone_max_data_bandwidth = 0')
  })

  it('that fails says why, without the password', async () => {
    const { password } = source.sourceFor(replica)
    const failed: unknown = await replica.server
      .cloneInto(volumeLayout(replica.config.volume).seedDir, source.sourceFor(replica), () => undefined)
      .catch((error: unknown) => error)
    expect(failed).toMatchObject({ code: 'REGENT_SERVER_ERROR' })
    expect(String(failed)).toContain('data.seed')
    expect(JSON.stringify(failed) + String(failed)).not.toContain(password)
  })

  it('is made of a server that forgets its source', async () => {
    await replica.server.forgetSource()
    expect((await replica.server.readState()).channel).toBeNull()
    await replica.server.forgetSource()
    await replica.server.stopReceiver()
  })
})
