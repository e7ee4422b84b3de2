import { mkdir, mkdtemp, open, readdir, readFile, rename, rm, writeFile, type FileHandle } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import { realWorld } from '#common/ports/real-world.ts'
import { GtidSet } from '#topology/gtid/gtid-set.ts'
import {
  binlogFile,
  dml,
  eventBytes,
  previousGtids,
  query,
  rows,
  stop,
  uuid,
  type SyntheticEvent,
} from '#test/support/synthetic-binlog.ts'
import { readBinlogSet } from '../binlog/set.ts'
import { findTail, readTail } from '../binlog/tail.ts'
import { Mirror } from './mirror.ts'
import { pieceScript } from './scripts.ts'
import { ShellHere } from './testing-shell.ts'

type Write = readonly [bytes: Buffer, at?: number, length?: number, position?: number]

const cut = () => new RegentError('REGENT_SSH_DOWN', say`cut`)

describe('The mirror of a far server', () => {
  let [home, host, here] = ['', '', '']
  let shell = new ShellHere()
  const places = () => ({ dataDir: host, binlogIndex: join(host, 'mysql-bin.index') })
  let mirror = new Mirror('', places(), { ...realWorld, shell })
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
    mirror = new Mirror(here, places(), { ...realWorld, shell })
  })
  afterEach(() => {
    vi.restoreAllMocks()
    return rm(home, { recursive: true })
  })

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

  it('has the logs of the next index, where the server died while it replaced the one before', async () => {
    await rename(join(host, 'mysql-bin.index'), join(host, 'mysql-bin.index_crash_safe'))
    await writeFile(join(host, 'relay.000001'), binlogFile(dml(9), { inUse: false }))
    await writeFile(join(host, 'relay.index_crash_safe'), './relay.000001\n')
    await mirror.bring([binlogs(), relayLogs()], newestOnly)
    expect((await readBinlogSet(here)).set).toBe(`${uuid}:1-4:9`)
  })

  it('has relay logs that lie in another folder by the names of binlogs', async () => {
    await mkdir(join(host, 'relay'))
    await writeFile(join(host, 'relay', 'mysql-bin.000002'), binlogFile(dml(9), { inUse: false }))
    await writeFile(join(host, 'relay.index'), './relay/mysql-bin.000002\n')
    await mirror.bring([binlogs(), relayLogs()], newestOnly)
    expect((await readBinlogSet(here)).set).toBe(`${uuid}:1-4:9`)
  })

  it('has all of a log where the disk here takes a part of a write, and is not there once that takes nothing', async () => {
    const handle = await open(join(home, 'any'), 'w')
    const disk = Object.getPrototypeOf(handle) as FileHandle
    await handle.close()
    const write = Reflect.get(disk, 'write') as (...given: unknown[]) => Promise<{ bytesWritten: number }>
    let left = Infinity
    vi.spyOn(disk, 'write').mockImplementation(async function (this: FileHandle, ...given: Write) {
      const [bytes, at = 0, length = bytes.length, position] = given
      if (left <= 0) throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' })
      const part = Math.min(left, Math.ceil(length / 2))
      left -= part
      return write.call(this, bytes, at, part, position)
    } as never)
    await mirror.bring([binlogs()], newestOnly)
    const name = 'mysql-bin.000002'
    expect(await readFile(join(here, name))).toEqual(await readFile(join(host, name)))
    left = 20
    await expect(mirror.bring([binlogs()], wants('1'))).rejects.toThrow('no space left')
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
      shell.fails.push(new RegentError('REGENT_HOST_KEY', say`another key`))
    }
    await expect(mirror.bring([binlogs()], newestOnly)).rejects.toThrow('another key')
    expect(asked).toBe(1)
  })

  describe('that has seen the newest log grow', () => {
    const all = [3, 4, 5, 6, 7]
    /** Behind what tells that the file is the same one. */
    const large = (number: number): number => (number === 3 ? 5_000 : 40)
    const bytesOf = (
      numbers: readonly number[],
      extra: readonly SyntheticEvent[] = [],
      inUse = true,
      previous: readonly (readonly [number, number])[] = [[1, 2]],
    ): Buffer =>
      binlogFile([...numbers.flatMap((number) => dml(number, large(number))), ...extra], {
        ...{ previous: previousGtids(previous), inUse },
      })
    const write = (bytes: Buffer) => writeFile(join(host, 'mysql-bin.000002'), bytes)
    /** Looks at a server that has written these, after the file. */
    const look = (last: number, owned = ''): void => {
      const binlogPosition = bytesOf(all.filter((number) => number <= last)).length
      mirror.see({ binlogNumber: 2, binlogPosition, executed: `${uuid}:1-${last}`, owned })
    }
    const names = async () => (await index()).split('\n').flatMap((line) => (line === '' ? [] : line.slice(2)))
    const setIn = async () => (await readBinlogSet(here)).set

    beforeEach(async () => {
      await write(bytesOf(all))
      look(3)
      await mirror.noteHead()
      for (const last of [4, 5, 6]) look(last)
    })

    it('reads what came since it knows what was before, and shows the same as if it had read all', async () => {
      const before = pieces()
      await mirror.bring([binlogs(), relayLogs()], newestOnly)
      expect(pieces() - before).toBe(2)
      const at = bytesOf([3, 4, 5]).length
      expect(await names()).toEqual([`from-${at}-of-mysql-bin.000002`])
      expect(await setIn()).toBe(`${uuid}:1-7`)
      const wanted = GtidSet.parse(`${uuid}:7`)
      const {
        files: [file],
        gtids,
      } = await findTail(here, wanted)
      expect(gtids).toBe(`${uuid}:7`)
      const [{ offset, end } = { offset: 0, end: 0 }] = file?.ranges ?? []
      const whole = await readFile(join(host, 'mysql-bin.000002'))
      expect(await readTail(here, file?.name ?? '', offset, end)).toEqual(whole.subarray(bytesOf([3, 4, 5, 6]).length))
    })

    it('reads more for somebody who lacks more, from an earlier place or all of it', async () => {
      await mirror.bring([binlogs()], newestOnly)
      await mirror.bring([binlogs()], wants('6'))
      expect(await names()).toEqual([`from-${bytesOf([3, 4]).length}-of-mysql-bin.000002`])
      expect(await setIn()).toBe(`${uuid}:1-7`)
      const before = pieces()
      await mirror.bring([binlogs()], newestOnly)
      expect(pieces()).toBe(before)
      await mirror.bring([binlogs()], wants('3'))
      expect(await names()).toEqual(['mysql-bin.000002'])
      await mirror.bring([binlogs()], wants('2'))
      expect(await names()).toEqual(['mysql-bin.000001', 'mysql-bin.000002'])
      expect(await readdir(here)).not.toContainEqual(expect.stringMatching(/^from-/))
    })

    it('reads as much where the server has closed the file since', async () => {
      await write(bytesOf(all, [stop], false))
      await mirror.bring([binlogs()], newestOnly)
      expect(await names()).toEqual([expect.stringMatching(/^from-/)])
      expect(await setIn()).toBe(`${uuid}:1-7`)
    })

    it('leaves out what was half written when the server died', async () => {
      const torn = bytesOf([...all, 8])
      await write(torn.subarray(0, torn.length - 10))
      await mirror.bring([binlogs()], newestOnly)
      expect(await names()).toEqual([expect.stringMatching(/^from-/)])
      expect(await setIn()).toBe(`${uuid}:1-7`)
    })

    it.each<[string, () => Buffer]>([
      ['has another beginning', () => bytesOf(all, [], true, [[1, 1]])],
      ['is shorter than what was seen of it', () => bytesOf([3, 4, 5])],
      ['ends in the middle of what was seen', () => bytesOf(all).subarray(0, bytesOf([3, 4, 5, 6]).length - 9)],
      ['has nothing where a transaction began', () => withZeros(bytesOf(all), bytesOf([3, 4, 5]).length)],
      [
        'is damaged between two places that were seen',
        () => withZeros(bytesOf(all), bytesOf([3, 4, 5, 6]).length - 40),
      ],
      ['has its transactions at other places', () => bytesOf([3, 4, 5], [query('FLUSH LOGS'), ...dml(6), ...dml(7)])],
    ])('reads all of it where it %s', async (_, other) => {
      await write(other())
      await mirror.bring([binlogs()], newestOnly)
      expect(await names()).toEqual(['mysql-bin.000002'])
      expect(await readFile(join(here, 'mysql-bin.000002'))).toEqual(other())
    })

    it.each<[string, () => Buffer, RegExp]>([
      ['nothing', () => Buffer.alloc(0), /^from-/],
      [
        'the beginning of a transaction',
        () => bytesOf(all, dml(8)).subarray(bytesOf(all).length).subarray(0, 40),
        /^from-/,
      ],
      ['the middle of a transaction', () => bytesOf(all, [rows()]).subarray(bytesOf(all).length), /^mysql-bin/],
      ['what was written for another place', () => eventBytes(stop, 0, true), /^mysql-bin/],
    ])('finds %s behind all that it has seen', async (_, behind, name) => {
      look(7)
      look(7)
      await write(Buffer.concat([bytesOf(all), behind()]))
      await mirror.bring([binlogs()], newestOnly)
      expect(await names()).toEqual([expect.stringMatching(name)])
      expect(await setIn()).toBe(`${uuid}:1-7`)
    })

    it('reads all of it where it has not seen how it begins', async () => {
      mirror = new Mirror(here, places(), { ...realWorld, shell })
      shell.failure = cut()
      for (const last of [4, 5, 6]) look(last)
      await expect(mirror.noteHead()).rejects.toThrow('cut')
      shell.failure = null
      await mirror.bring([binlogs()], newestOnly)
      expect(await names()).toEqual(['mysql-bin.000002'])
    })

    it('reads relay logs of the same number as they are', async () => {
      await writeFile(join(host, 'relay.000002'), bytesOf(all))
      await writeFile(join(host, 'relay.index'), './relay.000002\n')
      await mirror.bring([relayLogs(), binlogs()], newestOnly)
      expect(await readFile(join(here, 'relay-bin.index'), 'utf8')).toBe('./received-relay.000002\n')
      expect(await names()).toEqual([expect.stringMatching(/^from-/)])
    })
  })
})

function withZeros(bytes: Buffer, at: number): Buffer {
  return Buffer.from(bytes).fill(0, at, at + 20)
}
