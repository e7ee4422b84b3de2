import { spawn, type ChildProcess } from 'node:child_process'
import { mkdir, mkdtemp, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { realWorld } from '#common/ports/real-world.ts'
import { volumeLayout, type VolumeLayout } from '../instance/volume-layout.ts'
import { anAgentConfig } from '../testing.ts'
import { defaultsArgument } from './command.ts'
import { findServerOn } from './other-server.ts'
import { createMysqldProcess } from './process.ts'

let folder: string
let layout: VolumeLayout
/** A real process; what the kernel would say of its lock, of its folder and of its command line stands in files. */
let other: ChildProcess
const proc = () => join(folder, 'proc')

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'regent-other-'))
  layout = volumeLayout(join(folder, 'volume'))
  await mkdir(layout.dataDir, { recursive: true })
  await writeFile(join(layout.dataDir, 'ibdata1'), 'a tablespace')
  other = spawn('sleep', ['60'], { stdio: 'ignore' })
  await mkdir(join(proc(), String(other.pid)), { recursive: true })
})
afterEach(async () => {
  other.kill('SIGKILL')
  await rm(folder, { recursive: true })
})

interface Seen {
  readonly program?: readonly string[]
  readonly words?: readonly string[]
  readonly device?: string
  readonly kind?: string
  readonly inodeOff?: number
  readonly cwd?: string
}

async function holdsLock({
  program = ['mysqld'],
  words = [],
  device,
  kind = 'POSIX  ADVISORY  WRITE',
  inodeOff = 0,
  cwd,
}: Seen = {}) {
  const { dev, ino } = await stat(join(layout.dataDir, 'ibdata1'))
  // Devices of disks have small numbers.
  const its = [(dev >> 8) & 0xfff, dev & 0xff].map((number) => number.toString(16).padStart(2, '0')).join(':')
  const line = `2: ${kind} ${other.pid} ${device ?? its}:${ino + inodeOff} 0 EOF`
  await writeFile(join(proc(), 'locks'), `1: FLOCK  ADVISORY  WRITE 1 00:19:1 0 EOF\n${line}\n`)
  const files = join(proc(), String(other.pid))
  await writeFile(join(files, 'cmdline'), [...program, ...words, ''].join('\0'))
  await symlink(cwd ?? '/', join(files, 'cwd'))
}

const here = () => createMysqldProcess(anAgentConfig({ volume: layout.volume }), { ...realWorld, proc: proc() })

it('Finds nobody where nobody has locked the data, or the kernel does not tell', async () => {
  expect(await findServerOn(layout, proc())).toBeUndefined()
  await holdsLock()
  await rm(layout.dataDir, { recursive: true })
  expect(await findServerOn(layout, proc())).toBeUndefined()
})

it.each([
  ['the agent’s settings alone', () => [defaultsArgument(layout)], true],
  ['the agent’s settings and a user', () => [defaultsArgument(layout), '--user=root'], true],
  ['the agent’s settings and others', () => [defaultsArgument(layout), '--super-read-only=OFF'], false],
  ['settings of its own', () => [`--datadir=${layout.dataDir}`], false],
])('Finds a mysqld with %s', async (_, words, startedClosed) => {
  await holdsLock({ words: words() })
  expect(await findServerOn(layout, proc())).toMatchObject({ pid: other.pid, startedClosed })
})

it('Finds a mysqld behind the loader of its libraries', async () => {
  const program = ['/opt/ld-linux-x86-64.so.2', '--library-path', '/opt/lib', '/opt/sbin/mysqld']
  await holdsLock({ program, words: [defaultsArgument(layout)] })
  expect(await findServerOn(layout, proc())).toMatchObject({ pid: other.pid, startedClosed: true })
})

it('Believes an inode of another device only where the process runs in the folder of the data', async () => {
  await holdsLock({ device: 'fff:ff' })
  expect(await findServerOn(layout, proc())).toBeUndefined()
  await rm(join(proc(), String(other.pid), 'cwd'))
  await holdsLock({ device: 'fff:ff', cwd: layout.dataDir })
  expect(await findServerOn(layout, proc())).toMatchObject({ pid: other.pid })
})

it.each([
  ['another file', { inodeOff: 1 }],
  ['the file for reading alone', { kind: 'POSIX  ADVISORY  READ ' }],
  ['the file as a tool of a person does', { program: ['/usr/bin/innochecksum', 'ibdata1'] }],
])('Leaves a process alone that has locked %s', async (_, seen) => {
  await holdsLock(seen)
  expect(await here().findOther?.()).toBeNull()
})

it.each(['end', 'kill'] as const)('Is ended by %s, and was never the agent’s own', async (how) => {
  await holdsLock()
  const process = here()
  const found = await process.findOther?.()
  await (how === 'end' ? found?.end() : process.kill())
  await vi.waitUntil(() => other.signalCode === 'SIGKILL', { timeout: 5_000 })
  expect([process.state, process.pid]).toEqual(['absent', null])
  expect(await process.findOther?.()).toBeNull()
})
