import { rm } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { readProcessStat } from '#common/process/process-stat.ts'
import { readBook, remoteAgentsProcess } from '#local/processes/process-book.ts'
import { killProcess } from '#local/processes/process-identity.ts'
import type { TestCluster } from '#test/support/cluster.ts'
import { monotonicMs } from '#test/support/monotonic.ts'
import { Strangers } from '#test/support/strangers.ts'
import { stopWriters, Writer } from '#test/support/writer.ts'

describe('Servers of somebody else, after what ran on the manager’s machine has ended', () => {
  let strangers: Strangers
  let cluster: TestCluster

  beforeAll(async () => {
    strangers = await Strangers.start()
    cluster = await strangers.manage()
    await cluster.whole()
  })
  afterAll(async () => {
    await stopWriters()
    await strangers.end()
  })

  /** Of `supervisor`, and of processes by their names. */
  async function kill(...names: readonly string[]): Promise<void> {
    const { supervisor, processes } = await readBook(cluster.layout)
    for (const name of names) {
      const identity = name === 'supervisor' ? supervisor : processes[name]
      if (identity === null || identity === undefined) throw new Error(`no ${name} runs`)
      await killProcess(identity)
    }
  }

  /** A machine without any MySQL. */
  async function broughtBack(): Promise<void> {
    vi.stubEnv('REGENT_MYSQLD', '/nowhere/mysqld')
    onTestFinished(() => void vi.unstubAllEnvs())
    const ran = await cluster.regent('local', 'up', 'shop')
    expect(ran, ran.stderr).toMatchObject({ code: 0 })
    expect(ran.stdout).toContain('shop is up and takes writes')
    vi.unstubAllEnvs()
    await cluster.whole()
  }

  async function failsOver(table: string): Promise<void> {
    const writer = await Writer.start(cluster, { table })
    const dead = strangers.hostOf(await cluster.primary())
    const killedMs = monotonicMs()
    await dead.kill()
    await writer.next(killedMs, { notBy: dead.address })
    await cluster.whole()
    expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
  }

  it('are managed again by local up after local down, on a machine that has no mysqld', async () => {
    expect(await cluster.regent('local', 'down', 'shop')).toMatchObject({ code: 0 })
    await broughtBack()
    await failsOver('after_down')
  })

  it('are managed again by local up after the supervisor was killed: agents and manager are taken over', async () => {
    const before = await readBook(cluster.layout)
    await kill('supervisor')
    const status = await cluster.status()
    expect(status).toMatchObject({ state: 'unsupervised', supervisorPid: null })
    const agents = before.processes[remoteAgentsProcess]
    expect(status.instances.map(({ agentPid }) => agentPid)).toEqual([agents?.pid, agents?.pid, agents?.pid])
    await broughtBack()
    expect((await readBook(cluster.layout)).processes).toEqual(before.processes)
    await failsOver('after_supervisor')
  })

  it('are managed again by local up after the supervisor and the manager were killed', async () => {
    await kill('supervisor', 'manager')
    expect(await cluster.status()).toMatchObject({ state: 'unsupervised' })
    await broughtBack()
  })

  it('are managed again by local up after everything was killed at once, and write on meanwhile', async () => {
    const writer = await Writer.start(cluster, { table: 'after_boot' })
    await kill('supervisor', 'manager', remoteAgentsProcess)
    const killedMs = monotonicMs()
    await writer.next(killedMs)
    await broughtBack()
    expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
    await failsOver('after_boot_too')
  })

  it('that were started meanwhile are closed, the primary too, until local up has them serve again', async () => {
    const primary = strangers.hostOf(await cluster.primary())
    await kill('supervisor', 'manager', remoteAgentsProcess)
    const pid = await primary.pid()
    await primary.kill()
    // mysqld takes a zombie for one that has its socket.
    await cluster.until('nothing is left of it', async () => readProcessStat(pid) === undefined)
    await primary.start()
    const asked = 'SELECT @@global.super_read_only AS closed, @@global.offline_mode AS offline'
    expect(await primary.sql(asked)).toEqual([{ closed: 1, offline: 1 }])
    await broughtBack()
  })

  it('are managed from another machine by the hosts file, once the first one is lost with all that was in its folder', async () => {
    await kill('supervisor', 'manager', remoteAgentsProcess)
    await cluster.letGo()
    await rm(cluster.layout.dir, { recursive: true })
    cluster = await strangers.manage()
    await cluster.whole()
    const dead = await cluster.primary()
    await strangers.hostOf(dead).kill()
    await cluster.waitFor('another one leads', ({ primary, writable }) => writable && primary !== dead)
    await cluster.whole()
    await cluster.letGo()
    expect(await strangers.regent('adopt', 'watch', 'shop')).toMatchObject({ code: 0 })
    const persisted = `SELECT VARIABLE_NAME AS name FROM performance_schema.persisted_variables
      WHERE VARIABLE_VALUE = 'ON' AND VARIABLE_NAME IN ('super_read_only', 'offline_mode', 'skip_replica_start')`
    for (const host of strangers.hosts) expect(await host.sql(persisted)).toHaveLength(3)
  })
})
