import { readdir, readFile, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Connection } from 'mysql2/promise'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createMysqldProcess } from '../../agents/mysqld-process.ts'
import { replicationUser } from '../../agents/server-port.ts'
import { volumeLayout } from '../../agents/volume-layout.ts'
import { passwordFor } from '../../src/common/account-password.ts'
import { realWorld } from '../../src/common/real-world.ts'
import { BareInstance, secret, until } from '../support/bare-instance.ts'
import { queryWithin } from '../support/sql-session.ts'

let source: BareInstance
let replica: BareInstance
const value = async (session: Connection, statement: string): Promise<string> =>
  String(Object.values((await queryWithin(session, statement, 2_000))[0] ?? {})[0])
const elapsed = async (work: Promise<unknown>): Promise<number> => {
  const began = performance.now()
  await work.catch(() => undefined)
  return performance.now() - began
}

beforeAll(async () => {
  source = await BareInstance.create('bare-0', '127.24.211.1')
  replica = await BareInstance.create('bare-1', '127.24.211.2')
  await Promise.all([source.process.initialise(), replica.process.initialise()])
})

afterAll(async () => {
  await source.remove()
  await replica.remove()
})

/** Opens `source` for writes that wait for one acknowledgement, and lets `replica` follow and acknowledge. */
async function openWithReplica(): Promise<void> {
  await source.server.setReadOnly('accounts')
  await source.server.setGates([replica.name])
  await source.server.setSemiSyncSource(1)
  await source.server.open()
  await follow()
}

async function follow(): Promise<void> {
  await replica.server.stopReceiver()
  await replica.server.setSemiSyncReplica(true)
  await replica.server.pointTo(source.sourceFor(replica))
  await replica.server.startApplier()
  await replica.server.startReceiver()
  await until(async () => (await replica.server.readState()).channel?.semiSync === true, 'the replica acknowledges')
  await until(
    async () => (await source.server.readState()).dumpThreads.some((thread) => thread.semiSync),
    'the source counts it',
  )
}

describe('a new server', () => {
  it('has data, and was never initialised by halves', async () => {
    expect(await source.process.isEmpty()).toBe(false)
    expect(source.process.state).toBe('absent')
    await expect(source.process.initialise()).rejects.toMatchObject({ code: 'REGENT_REFUSED' })
    expect((await readdir(source.config.volume)).toSorted()).toEqual(['agent', 'data', 'run'])
  })

  it('leaves no password in a file', async () => {
    const { runDir } = volumeLayout(source.config.volume)
    for (const name of await readdir(runDir)) {
      const text = await readFile(join(runDir, name), 'latin1')
      expect(text).not.toContain(passwordFor(secret, 'regent'))
    }
  })

  it('starts closed: read-only, offline, semi-sync off, following nobody, with an empty GTID set', async () => {
    await Promise.all([source.start(), replica.start()])
    for (const { server } of [source, replica]) {
      expect(await server.readState()).toMatchObject({
        readOnly: true,
        superReadOnly: true,
        offlineMode: true,
        executed: '',
        owned: '',
        purged: '',
        received: '',
        channel: null,
        dumpThreads: [],
        semiSyncSource: { enabled: false, waiting: 0 },
        foreignTables: [],
        persisted: [],
        binlogNumber: 1,
      })
    }
  })

  it('runs without its agent’s terminal and without a supervisor to restart it', async () => {
    const { pid } = source.process
    const words = (await readFile(`/proc/${pid}/stat`, 'utf8')).split(') ')[1]?.split(' ') ?? []
    expect(words[3]).toBe(String(pid))
    expect(await readFile(`/proc/${pid}/environ`, 'utf8')).not.toContain('MYSQLD_PARENT_PID')
    expect(await readFile(`/proc/${pid}/environ`, 'utf8')).toContain(
      `SSL_CERT_FILE=${process.env['SSL_CERT_FILE'] ?? '/dev/null'}`,
    )
    expect(await readFile(`/proc/${pid}/cmdline`, 'utf8')).not.toContain(passwordFor(secret, 'regent'))
  })

  it('refuses clients while it is offline, and root always', async () => {
    await expect(source.session('client')).rejects.toMatchObject({ errno: 3032 })
    const admin = await source.session('admin')
    expect(
      await value(
        admin,
        "SELECT COUNT(*) FROM mysql.user WHERE user = 'root' OR (authentication_string = '' AND account_locked = 'N')",
      ),
    ).toBe('0')
  })

  it('has an admin who cannot touch Regent’s own account', async () => {
    const admin = await source.session('admin')
    await source.server.setReadOnly('accounts')
    await expect(admin.query("ALTER USER 'regent'@'localhost' ACCOUNT LOCK")).rejects.toMatchObject({ errno: 1227 })
    await source.server.setReadOnly('closed')
  })

  it('is read in milliseconds rather than seconds', async () => {
    const took: number[] = []
    for (let turn = 0; turn < 40; turn += 1) took.push(await elapsed(source.server.readState()))
    expect(took.toSorted((a, b) => a - b)[4]).toBeLessThan(200)
  })
})

describe('a source and its replica', () => {
  it('wait for each other’s acknowledgement, and name each other', async () => {
    await openWithReplica()
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
      sourceHost: '127.24.211.1',
      sourceUuid: from.uuid,
      ioRunning: 'yes',
      sqlRunning: true,
      semiSync: true,
      filtered: false,
      ioError: '',
      sqlError: '',
    })
    expect(await replica.server.waitReceived(from.executed, 2_000)).toBe(true)
    expect(await replica.server.waitExecuted(from.executed, 2_000)).toBe(true)
    expect(await replica.server.readHolds()).toEqual({ executed: from.executed, received: from.executed, owned: '' })
  })

  it('beat, so that a source that falls silent is noticed, and its receiver stops at once', async () => {
    await until(async () => ((await replica.server.readState()).channel?.silentMs ?? 9_999) < 700, 'a heartbeat came')
    process.kill(source.process.pid ?? 0, 'SIGSTOP')
    await until(async () => ((await replica.server.readState()).channel?.silentMs ?? 0) > 1_000, 'the silence is seen')
    await until(async () => ((await replica.server.readState()).channel?.silentMs ?? 0) > 2_500, 'the silence lasts')
    expect((await replica.server.readState()).channel?.ioRunning).toBe('yes')
    expect(await elapsed(replica.server.stopReceiver())).toBeLessThan(2_000)
    process.kill(source.process.pid ?? 0, 'SIGCONT')
    await follow()
    await until(
      async () => ((await replica.server.readState()).channel?.silentMs ?? 9_999) < 700,
      'a heartbeat came again',
    )
  })

  it('wait no longer than asked for what does not come', async () => {
    const missing = `${(await source.server.readState()).uuid}:1-1000`
    expect(await elapsed(replica.server.waitExecuted(missing, 100))).toBeLessThan(3_000)
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
    expect(await replica.server.waitExecuted(before.received, 2_000)).toBe(true)
    await follow()
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
      /1 received transactions cannot be applied, .*error\(s\) in the worker/s,
    )
    expect(await replica.server.readHolds()).toEqual(before)
    await root.query('DELETE FROM t WHERE id = 4')
    await replica.server.setReadOnly('closed')
    await follow()
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
      async () => /Access denied|locked/.test((await replica.server.readState()).channel?.ioError ?? ''),
      'the replica is refused',
    )
    await source.server.setGates([replica.name])
    await follow()
    expect((await source.server.readHolds()).executed).toBe(executed)
  })

  it('meet again when somebody changed the replication account’s password, and for an instance that had none', async () => {
    const admin = await source.session('admin')
    await queryWithin(admin, 'SET SESSION sql_log_bin = 0', 1_000)
    await queryWithin(admin, "ALTER USER 'regent_r_1'@'%' IDENTIFIED BY 'something else'", 1_000)
    await source.server.setGates([replica.name, 'bare-12'])
    expect((await source.server.readState()).openGates).toEqual(['bare-1', 'bare-12'])
    await follow()
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
      await value(admin, `SELECT COUNT(*) FROM regent.account WHERE user = '${replicationUser(replica.name)}'`),
    ).toBe('1')
    expect(await value(admin, 'SELECT COUNT(*) FROM regent.marker')).toBe('32')
    expect(await source.server.readState()).toMatchObject({ openGates: ['bare-1'], executed })
    admin.destroy()
  })

  it('have an event run at the source only', async () => {
    const client = await source.session('client', 'app')
    await client.query(
      'CREATE EVENT e ON SCHEDULE EVERY 1 DAY STARTS NOW() + INTERVAL 1 DAY DO DELETE FROM t WHERE id < 0',
    )
    await replica.server.waitExecuted((await source.server.readHolds()).executed, 2_000)
    const admin = await replica.session('admin')
    const event = "SELECT CONCAT(STATUS, ' ', DEFINER) FROM information_schema.EVENTS WHERE EVENT_NAME = 'e'"
    expect(await value(admin, event)).toMatch(/SIDE_DISABLED client@%$/)
    const before = (await replica.server.readHolds()).executed
    await replica.server.setReadOnly('accounts')
    await replica.server.setEvents(true)
    expect(await value(admin, 'SELECT @@event_scheduler')).toBe('ON')
    await replica.server.setEvents(false)
    await replica.server.setReadOnly('closed')
    expect(await value(admin, event)).toBe('ENABLED client@%')
    expect((await replica.server.readHolds()).executed).toBe(before)
    expect(await value(admin, 'SELECT @@event_scheduler')).toBe('OFF')
  })
})

describe('a source whose acknowledgements have stopped', () => {
  it('can still be read, have its gates set, and be probed; what would hang is ended', async () => {
    await replica.server.stopReceiver()
    await source.server.killDumpThreads(() => false)
    const client = await source.session('client', 'app')
    const waiting = client.query('INSERT INTO t VALUES (100)')
    await until(async () => (await source.server.waitingSessions()) === 1, 'a session waits')
    expect((await source.server.readState()).semiSyncSource).toMatchObject({ waiting: 1 })
    expect(await source.server.probeWrite(500)).toEqual({ result: 'ok', detail: '' })

    await expect(source.server.setReadOnly('closed', 300)).rejects.toMatchObject({ code: 'REGENT_SERVER_TIMEOUT' })
    const admin = await source.session('admin')
    expect(
      await value(admin, "SELECT COUNT(*) FROM performance_schema.processlist WHERE INFO LIKE 'SET GLOBAL%'"),
    ).toBe('0')
    expect(await value(admin, 'SELECT @@global.super_read_only')).toBe('0')
    expect(await elapsed(source.server.setGates([replica.name, 'bare-2']))).toBeLessThan(2_000)

    const former = source.anotherServerPort()
    const given = expect(former.writeMarker('aaaa', 1)).rejects.toMatchObject({ code: 'REGENT_SERVER_DOWN' })
    await until(async () => (await source.server.waitingSessions()) === 2, 'the marker of a former agent waits')
    former.disconnect()
    await given
    const marked = Promise.all([source.server.writeMarker('bbbb', 1), source.server.writeMarker('cccc', 2)])
    await until(async () => (await source.server.waitingSessions()) === 4, 'new markers wait beside it, not behind it')
    await follow()
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
    expect(
      await value(admin, "SELECT COUNT(*) FROM performance_schema.processlist WHERE INFO LIKE 'SET GLOBAL%'"),
    ).toBe('0')
    expect((await source.server.readState()).readOnly).toBe(false)
    await holder.query('UNLOCK TABLES')
  })

  it('says who holds a lock that no write gets through', async () => {
    const admin = await source.session('admin')
    await admin.query('FLUSH TABLES WITH READ LOCK')
    expect(await source.server.probeWrite(300)).toMatchObject({
      result: 'locked',
      detail: expect.stringMatching(/session \d+ of admin@/) as string,
    })
    await admin.query('UNLOCK TABLES')
    expect(await source.server.probeWrite(500)).toEqual({ result: 'ok', detail: '' })
  })

  it('counts long statements and open transactions as busy, and nothing else', async () => {
    expect(await source.server.busySessions()).toBe(0)
    const [first, second] = [await source.session('client', 'app'), await source.session('client', 'app')]
    await first.query('BEGIN')
    await first.query('SELECT * FROM t FOR UPDATE')
    const sleeping = second.query('SELECT SLEEP(2)')
    await until(async () => (await source.server.busySessions()) === 2, 'both are busy')
    await first.query('COMMIT')
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
    expect(await late.probeWrite(500)).toMatchObject({ result: 'tooManyConnections' })
    late.disconnect()
    await admin.query('SET GLOBAL max_connections = 500')
    for (const session of crowd) session.destroy()
    await until(async () => (await source.server.probeWrite(500)).result === 'ok', 'the crowd is gone')
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
    expect(await source.server.probeWrite(500)).toEqual({ result: 'ok', detail: '' })
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
    await replica.server.setReadOnly('accounts')
    await replica.server.cloneInto(folder, source.sourceFor(replica), (stage, percent) =>
      seen.push(`${stage} ${percent}`),
    )
    expect((await stat(join(folder, 'mysql.ibd'))).size).toBeGreaterThan(1_000_000)
    expect(seen.length).toBeGreaterThan(0)
    expect(seen.every((line) => /^[a-z ]+ \d+$/.test(line))).toBe(true)
    expect((await replica.server.readState()).channel?.ioRunning).toBe('yes')
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

describe('the process', () => {
  it('is found again by the next agent', async () => {
    const next = createMysqldProcess(source.config, realWorld)
    await next.adopt()
    expect(next).toMatchObject({ state: 'running', pid: source.process.pid, note: '' })
  })

  it('is found also when the agent died before it could write down which it is', async () => {
    const { pidFile } = volumeLayout(source.config.volume)
    await rm(pidFile)
    const next = createMysqldProcess(source.config, realWorld)
    await next.adopt()
    expect(next).toMatchObject({ state: 'running', pid: source.process.pid })
    expect(await readFile(pidFile, 'utf8')).toContain(`"pid":${source.process.pid}`)
    const other = createMysqldProcess({ ...source.config, volume: join(source.config.volume, 'other') }, realWorld)
    await other.adopt()
    expect(other).toMatchObject({ state: 'absent', pid: null })
  })

  it('is seen stopped and continued; its server is silent meanwhile and nothing hangs', async () => {
    const pid = source.process.pid ?? 0
    process.kill(pid, 'SIGSTOP')
    const began = performance.now()
    await until(() => source.process.state === 'stopped', 'it is seen')
    expect(performance.now() - began).toBeLessThan(2_000)
    expect(await elapsed(source.server.readState())).toBeLessThan(5_000)
    await expect(source.server.readState()).rejects.toMatchObject({ code: 'REGENT_SERVER_TIMEOUT' })
    expect(await elapsed(source.server.setOffline(false))).toBeLessThan(8_000)
    expect((await source.server.probeWrite(300)).result).toBe('stuck')
    process.kill(pid, 'SIGCONT')
    await until(() => source.process.state === 'running', 'it runs again')
    await until(
      async () =>
        source.server.readState().then(
          () => true,
          () => false,
        ),
      'it answers again',
    )
  })

  it('is gone when it was killed, says so at once, and starts closed again', async () => {
    const { pid } = source.process
    const before = await source.server.readState()
    await source.process.kill()
    expect(source.process.state).toBe('dead')
    await until(() => source.process.note === `mysqld ${pid} was ended by SIGKILL`, 'how it ended is told')
    await expect(source.server.readState()).rejects.toMatchObject({ code: 'REGENT_SERVER_DOWN' })
    expect((await source.server.probeWrite(300)).result).toBe('unknown')
    const late = createMysqldProcess(source.config, realWorld)
    await late.adopt()
    expect(late).toMatchObject({ state: 'dead', pid })
    await source.start()
    expect(source.process.pid).not.toBe(pid)
    expect(await source.server.readState()).toMatchObject({
      uuid: before.uuid,
      executed: before.executed,
      superReadOnly: true,
      offlineMode: true,
      semiSyncSource: { enabled: false },
      openGates: before.openGates,
    })
  })

  it('that cannot start says why', async () => {
    const wrong = createMysqldProcess(
      { ...source.config, serverSettings: { innodb_page_size: '65536' }, instance: 'bare-0' },
      realWorld,
    )
    await source.process.kill()
    await wrong.start()
    await until(() => wrong.state === 'dead' && wrong.note.includes('[ERROR]'), 'the reason is told')
    expect(wrong.note).toMatch(/ended with status 1 before it was up: \[ERROR\]/)
    await expect(
      createMysqldProcess({ ...source.config, mysqld: ['/nowhere/mysqld'] }, realWorld).start(),
    ).rejects.toMatchObject({ code: 'REGENT_MYSQL_MISSING' })
  })
})
