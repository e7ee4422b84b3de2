import { spawn, type ChildProcess } from 'node:child_process'
import { appendFile, mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { readProcessStat } from '#common/process/process-stat.ts'
import { binlogFile, dml } from '#test/support/synthetic-binlog.ts'
import { FarEnding } from './ending.ts'
import { ShellHere } from './testing-shell.ts'

describe('A far mysqld', () => {
  let home = ''
  let child: ChildProcess
  const log = () => join(home, 'error.log')
  const said = (code: string, words: string) =>
    appendFile(log(), `2026-01-01T10:00:00Z 0 [System] [${code}] [Server] ${words}\n`)
  const starts = (pid: number) => said('MY-010116', `mysqld (mysqld 9.7.4) starting as process ${pid}`)
  const stops = () => said('MY-013172', 'Received SHUTDOWN from user root.')
  const ending = () =>
    new FarEnding(
      {
        dataDir: home,
        pidFile: '',
        binlogIndex: join(home, 'binlog.index'),
        relayLogBase: '',
        relayLogIndex: '',
        errorLog: log(),
      },
      new ShellHere(),
      join(home, 'mark.json'),
    )
  const life = () => ({ pid: child.pid ?? 0, startTicks: readProcessStat(child.pid ?? 0)?.startTicks ?? 0 })

  beforeEach(async () => {
    home = await mkdtemp(join(tmpdir(), 'regent-ending-'))
    await writeFile(join(home, 'binlog.000001'), binlogFile([...dml(1)]))
    await writeFile(join(home, 'binlog.index'), './binlog.000001\n')
    child = spawn('sleep', ['600'])
    await starts(1)
    await stops()
    await starts(child.pid ?? 0)
  })
  afterEach(async () => {
    child.kill('SIGKILL')
    await rm(home, { recursive: true })
  })

  it('crashed where its part of the error log has no word of a shutdown', async () => {
    const taken = life()
    await ending().mark(taken)
    expect(await ending().look(taken)).toMatchObject({ how: 'crashed' })
  })

  it('was stopped where a word of that is followed by the start of another one', async () => {
    const taken = life()
    await ending().mark(taken)
    await stops()
    await starts(77)
    await said('MY-010931', 'mysqld: ready for connections.')
    expect(await ending().look(taken)).toMatchObject({ how: 'stopped' })
  })

  it('was stopped also where it was being shut down already when it was taken', async () => {
    await stops()
    const taken = life()
    await ending().mark(taken)
    expect(await ending().look(taken)).toMatchObject({ how: 'stopped' })
  })

  it('ended nobody knows how where its error log is another file, or another process was marked, or none', async () => {
    const taken = life()
    expect(await ending().look(taken)).toMatchObject({ how: 'unknown' })
    await ending().mark(taken)
    expect(await ending().look({ ...taken, startTicks: taken.startTicks + 1 })).toMatchObject({ how: 'unknown' })
    await rename(log(), `${log()}.1`)
    await starts(taken.pid)
    expect(await ending().look(taken)).toMatchObject({ how: 'unknown' })
  })

  it('has its newest binlog in the next index, where it died while it replaced the one before', async () => {
    const taken = life()
    await ending().mark(taken)
    await rename(join(home, 'binlog.index'), join(home, 'binlog.index_crash_safe'))
    await writeFile(join(home, 'binlog.000001'), binlogFile([...dml(1)], { inUse: false }))
    expect(await ending().look(taken)).toMatchObject({ how: 'stopped' })
  })

  it('is not marked by a process that has its number by now', async () => {
    const taken = life()
    await ending().mark(taken)
    await ending().mark({ ...taken, startTicks: taken.startTicks + 1 })
    expect(await ending().look(taken)).toMatchObject({ how: 'unknown' })
  })
})
