import { spawn, type ChildProcess } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { realWorld } from '#common/ports/real-world.ts'
import { Launcher } from './launcher.ts'
import { endingFrom, sentenceOf } from './running-program.ts'

const script = join(import.meta.dirname, '../../src/kube/pods/launcher.sh')
let folder: string
let shell: ChildProcess | undefined
let launcher: Launcher

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'regent-launcher-'))
  launcher = new Launcher(folder, realWorld)
})
afterEach(async () => {
  shell?.kill('SIGKILL')
  shell = undefined
  await rm(folder, { recursive: true })
})

async function begin(): Promise<void> {
  shell = spawn('sh', [script, folder], { stdio: 'ignore' })
  await vi.waitUntil(async () => (await readdir(folder)).includes('word'), { timeout: 10_000 })
}

describe('a launcher', () => {
  it('that is not there yet is said to be silent, and nothing of the word stays', async () => {
    await expect(launcher.run(['true'])).rejects.toMatchObject({ code: 'REGENT_LAUNCHER_SILENT' })
    expect(await readdir(folder)).toEqual([])
  })

  it('that died is said to be silent', async () => {
    await begin()
    shell?.kill('SIGKILL')
    await vi.waitUntil(() => shell?.signalCode === 'SIGKILL')
    await expect(launcher.run(['true'])).rejects.toMatchObject({ code: 'REGENT_LAUNCHER_SILENT' })
  })

  it('runs a program, tells its process and how it ended, and leaves nothing behind', async () => {
    await begin()
    const { pid, ended } = await launcher.run(['sleep', '60'])
    // The launcher tells of a forked process. For a moment that process still bears the shell's name.
    await vi.waitFor(async () => expect(await readFile(`/proc/${pid}/cmdline`, 'utf8')).toBe('sleep\0' + '60\0'), {
      timeout: 10_000,
    })
    process.kill(pid, 'SIGKILL')
    expect(await ended).toEqual({ status: null, signal: 'SIGKILL' })
    expect((await readdir(folder)).toSorted()).toEqual(['beside', 'word'])
    expect(await (await launcher.run(['sh', '-c', 'exit 3'])).ended).toEqual({ status: 3, signal: null })
  })

  it('hands on what a program prints, to either of its outputs, and leaves nothing behind', async () => {
    await begin()
    expect(await launcher.answerOf(['sh', '-c', 'echo "$1"; echo so >&2; exit 1', 'x', 'a b'])).toEqual({
      status: 1,
      output: 'a b\nso\n',
    })
    expect((await readdir(folder)).toSorted()).toEqual(['beside', 'word'])
  })

  it('runs a program beside the one that it waits for', async () => {
    await begin()
    const server = await launcher.run(['sleep', '60'])
    const other = await launcher.runBeside(['sh', '-c', 'exit 4'])
    expect(await other.ended).toEqual({ status: 4, signal: null })
    process.kill(server.pid, 'SIGKILL')
    expect(await server.ended).toEqual({ status: null, signal: 'SIGKILL' })
  })

  it('is not told an argument of two lines, which would be two', async () => {
    await expect(launcher.run(['echo', 'a\nb'])).rejects.toMatchObject({ code: 'REGENT_INTERNAL' })
  })

  it('hears that the agent lives', async () => {
    const beating = launcher.beat()
    const first = await vi.waitFor(() => readFile(join(folder, 'heartbeat'), 'utf8'))
    await vi.waitFor(async () => expect(await readFile(join(folder, 'heartbeat'), 'utf8')).not.toBe(first), {
      timeout: 5_000,
    })
    beating.cancel()
    await realWorld.timers.sleep(50)
  })
})

describe('how a program ended', () => {
  it('is told by a shell in one number', () => {
    expect([0, 1, 137, 143, 200].map((status) => sentenceOf(endingFrom(status)))).toEqual([
      'ended with status 0',
      'ended with status 1',
      'was ended by SIGKILL',
      'was ended by SIGTERM',
      'ended with status 200',
    ])
  })
})
