import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { RegentError } from '#common/errors/errors.ts'
import { realWorld } from '#common/ports/real-world.ts'
import { GtidSet } from '#topology/gtid/gtid-set.ts'
import { binlogFile, dml, previousGtids, uuid } from '#test/support/synthetic-binlog.ts'
import { Mirror } from './mirror.ts'
import { pieceScript } from './scripts.ts'
import { ShellHere } from './testing-shell.ts'

const cut = () => new RegentError('REGENT_SSH_DOWN', 'cut')

describe('The mirror of a far server', () => {
  let [home, host, here] = ['', '', '']
  let shell = new ShellHere()
  let mirror = new Mirror('', '', { ...realWorld, shell })
  const binlogs = () => ({ remoteIndex: join(host, 'mysql-bin.index'), localIndex: 'binlog.index' })
  const relayLogs = () => ({ remoteIndex: join(host, 'relay.index'), localIndex: 'relay-bin.index' })
  const wants = (numbers: string) => (before: GtidSet) =>
    !GtidSet.parse(`${uuid}:${numbers}`).intersect(before).isEmpty()
  const newestOnly = () => false
  const index = () => readFile(join(here, 'binlog.index'), 'utf8')
  const pieces = () => shell.ran.filter((script) => script === pieceScript).length

  beforeEach(async () => {
    home = await mkdtemp(join(tmpdir(), 'regent-mirror-'))
    ;[host, here] = [join(home, 'host'), join(home, 'here')]
    await mkdir(host)
    await writeFile(join(host, 'mysql-bin.000001'), binlogFile([...dml(1), ...dml(2)], { inUse: false }))
    const second = binlogFile([...dml(3), ...dml(4)], { previous: previousGtids([[1, 2]]) })
    await writeFile(join(host, 'mysql-bin.000002'), second)
    await writeFile(join(host, 'mysql-bin.index'), './mysql-bin.000001\n./mysql-bin.000002\n')
    shell = new ShellHere()
    mirror = new Mirror(here, host, { ...realWorld, shell })
  })
  afterEach(() => rm(home, { recursive: true }))

  it('has the newest log, and older ones for as long as they may have what is wanted', async () => {
    await mirror.bring([binlogs()], wants('3'))
    expect(await index()).toBe('./mysql-bin.000002\n')
    await mirror.bring([binlogs()], wants('2-3'))
    expect(await index()).toBe('./mysql-bin.000001\n./mysql-bin.000002\n')
    const name = 'mysql-bin.000001'
    expect(await readFile(join(here, name))).toEqual(await readFile(join(host, name)))
  })

  it('keeps what came for others in its index, for somebody may be reading there', async () => {
    await mirror.bring([binlogs()], wants('1'))
    await mirror.bring([binlogs()], newestOnly)
    expect(await index()).toBe('./mysql-bin.000001\n./mysql-bin.000002\n')
  })

  it('reads nothing again that the host shows as it was', async () => {
    await mirror.bring([binlogs()], newestOnly)
    const before = pieces()
    await mirror.bring([binlogs()], newestOnly)
    expect(pieces()).toBe(before)
  })

  it('reads a log anew that has another content under its name', async () => {
    await mirror.bring([binlogs()], newestOnly)
    const other = binlogFile([...dml(7), ...dml(8), ...dml(9)], { previous: previousGtids([[1, 6]]) })
    await writeFile(join(host, 'mysql-bin.000002'), other)
    await mirror.bring([binlogs()], newestOnly)
    expect(await readFile(join(here, 'mysql-bin.000002'))).toEqual(other)
  })

  it('has no relay logs of a server that never was a replica', async () => {
    await mirror.bring([binlogs(), relayLogs()], newestOnly)
    expect(await readFile(join(here, 'relay-bin.index'), 'utf8')).toBe('')
  })

  it('is not there where relay logs are, and cannot be read', async () => {
    await mkdir(join(host, 'relay.index'))
    await expect(mirror.bring([binlogs(), relayLogs()], newestOnly)).rejects.toThrow(/answered/)
    expect(await readdir(here)).not.toContain('relay-bin.index')
  })

  it('is not there where a log is gone that the index names between others', async () => {
    await writeFile(join(host, 'mysql-bin.index'), './mysql-bin.000001\n./mysql-bin.000009\n./mysql-bin.000002\n')
    await expect(mirror.bring([binlogs()], wants('1'))).rejects.toThrow('mysql-bin.000009 is gone from the host')
  })

  it('goes on where the connection was cut', async () => {
    let isCut = false
    shell.during = (script) => {
      if (script !== pieceScript || isCut) return
      isCut = true
      shell.fails.push(cut())
    }
    await mirror.bring([binlogs()], newestOnly)
    expect(isCut).toBe(true)
    const name = 'mysql-bin.000002'
    expect(await readFile(join(here, name))).toEqual(await readFile(join(host, name)))
  })

  it('does not ask again a host whose key is another one', async () => {
    let asked = 0
    shell.during = (script) => {
      if (script !== pieceScript) return
      asked += 1
      shell.fails.push(new RegentError('REGENT_HOST_KEY', 'another key'))
    }
    await expect(mirror.bring([binlogs()], newestOnly)).rejects.toThrow('another key')
    expect(asked).toBe(1)
  })
})
