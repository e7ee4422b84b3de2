import { readdir, readFile, rm, stat, truncate } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readGoodSettings } from '#agents/mysqld/good-settings.ts'
import { createMysqldProcess } from '#agents/mysqld/process.ts'
import { volumeLayout } from '#agents/instance/volume-layout.ts'
import { passwordFor } from '#common/mysql/account-password.ts'
import { realWorld } from '#common/ports/real-world.ts'
import { BareInstance, secret, until } from '#test/support/bare-instance.ts'
import { elapsed } from '#test/support/monotonic.ts'
import { SourceAndReplica } from '#test/support/source-and-replica.ts'
import { firstValue } from '#test/support/sql-session.ts'
import { expectBelow } from '#test/support/expect-below.ts'
import { probeMs } from '#test/support/patience.ts'

let servers: SourceAndReplica
let source: BareInstance
let replica: BareInstance

beforeAll(async () => {
  servers = await SourceAndReplica.create()
  ;({ source, replica } = servers)
  await servers.initialise()
})

afterAll(() => servers.remove())

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
    await servers.start()
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
      await firstValue(
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
    expectBelow(200, took.toSorted((a, b) => a - b)[4])
  })
})

describe('the process', () => {
  // A server that is killed has gates and transactions then, and must have them when it starts again.
  beforeAll(async () => {
    await servers.openWithReplica()
    const client = await source.session('client', 'app')
    await client.query('CREATE TABLE t (id INT PRIMARY KEY)')
    await client.query('INSERT INTO t VALUES (1)')
    expect(await source.server.probeWrite(probeMs)).toEqual({ result: 'ok', detail: '' })
  })

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
    expectBelow(2_000, performance.now() - began)
    expectBelow(5_000, await elapsed(source.server.readState()))
    await expect(source.server.readState()).rejects.toMatchObject({ code: 'REGENT_SERVER_TIMEOUT' })
    expectBelow(8_000, await elapsed(source.server.setOffline(false)))
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
    await until(() => String(source.process.note) === `mysqld ${pid} was ended by SIGKILL`, 'how it ended is told')
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

  it('that finds a key of its own empty, as a loss of power leaves it, makes new ones', async () => {
    await source.process.kill()
    const keys = ['private_key.pem', 'server-key.pem'].map((name) => join(source.config.volume, 'data', name))
    for (const path of keys) await truncate(path)
    await source.start()
    for (const path of keys) expect((await stat(path)).size).toBeGreaterThan(0)
  })

  it('that does not come up with settings that it takes says why, and comes up with those of before', async () => {
    const serverSettings = { default_time_zone: 'Nowhere/Land', long_query_time: '3' }
    const wrong = createMysqldProcess({ ...source.config, serverSettings, instance: 'bare-0' }, realWorld)
    await wrong.adopt()
    await wrong.kill()
    await wrong.start()
    // The kernel shows that the process is gone before it tells a parent how the child ended.
    const isTold = () => wrong.state === 'dead' && String(wrong.note).includes('[ERROR]') && wrong.startFailed !== ''
    await until(isTold, 'the reason is told')
    const since =
      'changed since the last good start: long_query_time 3, was by default, time_zone Nowhere/Land, was by default'
    expect(String(wrong.note)).toMatch(/ended (?:with status 1 )?before it was up: \[ERROR\] \[MY-\d+\]/)
    expect(String(wrong.note)).toContain(since)
    expect(wrong.startFailed).toContain(since)
    await wrong.start()
    await until(() => wrong.state === 'running', 'it is up with those of before')
    await until(() => wrong.settingsRolledBack === true, 'that is told')
    const isNoted = async () => (await readGoodSettings(volumeLayout(source.config.volume)))?.refused !== undefined
    await until(isNoted, 'that is on the volume')
    expect(wrong.settingsRefused).toContain(since)
    expect(wrong.startFailed).toBe('')
    await wrong.kill()
    // Whoever comes next on this volume does not try them again, and says so; other settings are tried.
    const next = createMysqldProcess({ ...source.config, serverSettings, instance: 'bare-0' }, realWorld)
    await next.adopt()
    expect([next.settingsRolledBack, next.settingsRefused]).toEqual([true, wrong.settingsRefused])
    await next.start()
    await until(() => next.state === 'running', 'it is up')
    await next.kill()
    const other = createMysqldProcess({ ...source.config, serverSettings: { long_query_time: '4' } }, realWorld)
    await other.adopt()
    await other.start()
    await until(() => other.state === 'running', 'it is up with others')
    expect([other.settingsRolledBack, other.settingsRefused]).toEqual([false, ''])
    await other.kill()
  })

  it('is not started with a setting that its data was not made for', async () => {
    const serverSettings = { lower_case_table_names: '1' }
    const wrong = createMysqldProcess({ ...source.config, serverSettings, instance: 'bare-0' }, realWorld)
    await expect(wrong.start()).rejects.toMatchObject({
      code: 'REGENT_SETTINGS_REFUSED',
      message: expect.stringContaining('the data was made with lower_case_table_names 0, and 1 is another') as string,
    })
    expect(wrong.settingsRefused).toContain('that is chosen before a cluster is made')
    await expect(
      createMysqldProcess({ ...source.config, mysqld: ['/nowhere/mysqld'] }, realWorld).start(),
    ).rejects.toMatchObject({ code: 'REGENT_MYSQL_MISSING' })
  })
})
