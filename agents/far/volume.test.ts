import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import { realWorld } from '#common/ports/real-world.ts'
import { binlogFile } from '#test/support/synthetic-binlog.ts'
import { quietVolume } from '../testing.ts'
import { Mirror } from './mirror.ts'
import { ShellHere } from './testing-shell.ts'
import { createFarVolume } from './volume.ts'

let home = ''
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'regent-far-volume-'))
})
afterEach(() => rm(home, { recursive: true }))

const nextUuid = '4f1c2b1e-0000-4000-8000-000000000001'

function volumeBy(shell: ShellHere, more: { readonly start?: undefined } = {}) {
  const places = {
    ...{ dataDir: home, pidFile: '', binlogIndex: join(home, 'binlog.index'), errorLog: '' },
    relayLogBase: join(home, 'relay'),
    relayLogIndex: join(home, 'relay.index'),
  }
  return createFarVolume(places, {
    ...{ ...realWorld, shell, near: quietVolume, folder: join(home, 'mirror') },
    mirror: new Mirror(join(home, 'mirror'), places, { ...realWorld, shell }),
    endedHow: () => Promise.resolve({ how: 'unknown', sentence: '' }),
    freeBytes: () => 0,
    start: 'start-mysqld',
    renewUuid: () => Promise.resolve(nextUuid),
    ...more,
  })
}

const file = binlogFile([])
/** The first event, behind the magic number: its length stands in its head. */
const head = file.subarray(4, 4 + file.readUInt32LE(4 + 9))

async function* tail() {
  yield { head }
  yield { bytes: Buffer.alloc(1_000, 2) }
  yield { bytes: Buffer.alloc(500, 3) }
  yield { head }
  yield { bytes: Buffer.alloc(10, 5) }
}

it('A tail is written in parts, each where it belongs, also where an attempt was cut in its middle', async () => {
  const whole = volumeBy(new ShellHere())
  const first = await whole.writeTail(tail())
  const written = await readFile(first)
  const shell = new ShellHere()
  shell.during = () => {
    if (shell.ran.length === 2) shell.fails.push(new RegentError('REGENT_SSH_DOWN', say`cut`))
  }
  expect(await volumeBy(shell).writeTail(tail())).toBe(first)
  expect(await readFile(first)).toEqual(written)
  expect(written.subarray(-1_500)).toEqual(Buffer.concat([Buffer.alloc(1_000, 2), Buffer.alloc(500, 3)]))
  const names = (await readFile(join(home, 'relay-regent_tail.index'), 'utf8')).trim().split('\n')
  expect(names).toEqual([first, first.replace('000001', '000002')])
})

it('What an agent holds of a dead server is not known while its relay logs cannot be read', async () => {
  const shell = new ShellHere()
  shell.failure = new RegentError('REGENT_SSH_DOWN', say`the connection was lost`)
  await expect(volumeBy(shell).readBinlogSet()).rejects.toThrow('the connection was lost')
})

it('A copy over the data gives the server another server_uuid from its next start on, and keeps the file its owner’s', async () => {
  await writeFile(join(home, 'auto.cnf'), '[auto]\nserver-uuid=00000000-0000-4000-8000-000000000000\n')
  const before = await stat(join(home, 'auto.cnf'))
  await volumeBy(new ShellHere()).readyForCopyOver?.()
  expect(await readFile(join(home, 'auto.cnf'), 'utf8')).toBe(`[auto]\nserver-uuid=${nextUuid}\n`)
  expect(await stat(join(home, 'auto.cnf'))).toMatchObject({ ino: before.ino })
})

it('A copy over the data is refused where nothing would start mysqld afterwards', async () => {
  const shell = new ShellHere()
  await expect(volumeBy(shell, { start: undefined }).readyForCopyOver?.()).rejects.toThrow('has no start command')
  expect(shell.ran).toEqual([])
})
