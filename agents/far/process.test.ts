import { spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import { realWorld } from '#common/ports/real-world.ts'
import { readProcessStat } from '#common/process/process-stat.ts'
import { noteInFile } from './note.ts'
import { OwnStart } from './own-start.ts'
import { FarProcess } from './process.ts'
import { killScript, startScript } from './scripts.ts'
import { ShellHere } from './testing-shell.ts'

const places = { dataDir: '', pidFile: '', binlogIndex: '', relayLogBase: '', relayLogIndex: '', errorLog: '' }
const config = { agentHost: '', user: '', passwordFile: '', serverUuid: '', places }

/** A process that works in the data folder for so many seconds, and writes its number down. */
function worksThere(seconds: number, pidFile = 'pid'): string {
  return `cd ${places.dataDir} && { sleep ${seconds} & echo $! > ${pidFile}; }`
}

describe('The mysqld of a far host', () => {
  let folder = ''
  let shell = new ShellHere()
  let process: FarProcess
  const taken: number[] = []
  let rebooted = 0

  async function watched(
    start?: string,
    first = '7 100 R',
    other: Partial<typeof realWorld> = {},
  ): Promise<FarProcess> {
    process = new FarProcess(
      { ...config, ...(start !== undefined && { start }) },
      {
        ...{
          ...realWorld,
          ...other,
          ...{ shell, bootId: 'boot-1', rebooted: () => void (rebooted += 1) },
          ownStart: new OwnStart(),
          note: noteInFile(join(folder, 'note.json'), ['pid', 'startTicks']),
        },
        taking: ({ pid }) => Promise.resolve(void taken.push(pid)),
      },
    )
    const adopted = process.adopt()
    await expect.poll(() => shell.heard).toBeDefined()
    shell.heard?.line(first)
    await adopted
    return process
  }

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'regent-far-process-'))
    Object.assign(places, { dataDir: folder, pidFile: join(folder, 'pid'), errorLog: join(folder, 'error.log') })
    shell = new ShellHere()
    taken.length = 0
    rebooted = 0
  })
  afterEach(async () => {
    process.stop()
    await rm(folder, { recursive: true })
  })

  it('is taken as it runs, and marked before that', async () => {
    expect(await watched()).toMatchObject({ state: 'running', pid: 7 })
    expect(taken).toEqual([7])
  })

  it('is not said to be absent where the host says nothing at first', async () => {
    const adopting = watched(undefined, 'boot boot-1')
    await expect(adopting).rejects.toMatchObject({ code: 'REGENT_SSH_DOWN' })
    expect(taken).toEqual([])
  })

  it('is meant by its number and its start time where the host is asked again what becomes of it', async () => {
    await watched()
    expect(shell.told.slice(4)).toEqual(['', ''])
    process.lookEvery(100)
    await expect.poll(() => shell.told.slice(4)).toEqual(['7', '100'])
    process.stop()
    shell.heard = undefined
    await watched()
    expect(shell.told.slice(4)).toEqual(['7', '100'])
  })

  it('is dead once another one runs there, until its agent starts it', async () => {
    await watched()
    shell.heard?.line('8 200 R')
    expect(process).toMatchObject({ state: 'dead', pid: 7 })
    expect(String(process.note)).toBe('mysqld 7 ended; mysqld 8 came up closed since, and waits')
    await process.start()
    expect(process).toMatchObject({ state: 'running', pid: 8 })
    expect(shell.ran).toEqual([])
  })

  it('is the same one for an agent that is started again, and another one is not', async () => {
    await watched()
    process.stop()
    shell.heard = undefined
    expect(await watched(undefined, '8 200 R')).toMatchObject({ state: 'dead', pid: 7 })
  })

  it('is starting, and not dead, while its start command runs', async () => {
    await watched(worksThere(3))
    shell.heard?.line('none')
    expect(process.state).toBe('dead')
    const seen: string[] = []
    shell.during = () => {
      seen.push(process.state)
      shell.heard?.line('9 300 R')
    }
    await process.start()
    expect([seen, shell.ran, process.state, process.pid]).toEqual([['starting'], [startScript], 'running', 9])
  })

  it('is dead again where its start command fails, and the next start makes that good', async () => {
    await watched('exit 7')
    shell.heard?.line('none')
    await expect(process.start()).rejects.toThrow('the start command ended with 7')
    expect(process.state).toBe('dead')
    expect(process.startFailed).toContain('the start command ended with 7')
  })

  it('is dead again where it ends before it is up, with the first error of that start', async () => {
    await writeFile(
      places.errorLog,
      [
        '2026-11-27T12:16:18.2Z 0 [ERROR] [MY-000001] [Server] Of an earlier start.',
        '2026-11-27T12:16:18.2Z 0 [System] [MY-010116] [Server] mysqld (mysqld 9.7.4) starting as process 1247',
        '2026-11-27T12:16:19.2Z 0 [ERROR] [MY-010259] [Server] Another process with pid 7 is using unix socket file.',
        '2026-11-27T12:16:19.2Z 0 [ERROR] [MY-010119] [Server] Aborting',
      ].join('\n'),
    )
    await watched(worksThere(0.3, 'another-file'))
    shell.heard?.line('none')
    await expect(process.start()).rejects.toThrow(
      'ended before it was up: [MY-010259] [Server] Another process with pid 7 is using unix socket file.',
    )
    expect(process.state).toBe('dead')
  })

  it('is not started while the old one still has its number', async () => {
    const old = spawn('sleep', ['0.5'])
    const gone = new Promise((resolve) => old.once('exit', resolve))
    await watched(
      `[ ! -e /proc/${old.pid} ] && ${worksThere(3)}`,
      `${old.pid} ${readProcessStat(old.pid ?? 0)?.startTicks} R`,
    )
    shell.heard?.line('none')
    shell.during = () => shell.heard?.line('9 300 R')
    await process.start()
    await gone
    expect(process.pid).toBe(9)
  })

  it('rests after a start that failed at once: whoever hears that it is dead again starts it again', async () => {
    const slept: number[] = []
    const sleep = (ms: number): Promise<void> => realWorld.timers.sleep(slept.push(ms) && 1)
    await watched('true', '7 100 R', { timers: { ...realWorld.timers, sleep } })
    shell.heard?.line('none')
    slept.length = 0
    shell.failure = new RegentError('REGENT_SSH_DOWN', say`no route`)
    const states: string[] = []
    process.onChange(() => states.push(`${process.state} ${slept.length}`))
    await expect(process.start()).rejects.toThrow('no route')
    expect(states).toEqual(['starting 0', 'dead 1'])
  })

  it('stays down without a start command, and it is said what is missing', async () => {
    await watched()
    shell.heard?.line('none')
    await expect(process.start()).rejects.toThrow('the hosts file has no start command')
  })

  it('is killed by its number and its start time', async () => {
    await watched()
    shell.during = (_, args) => {
      expect(args).toEqual(['7', '100'])
      shell.heard?.line('none')
    }
    await process.kill()
    expect([shell.ran, process.state]).toEqual([[killScript], 'dead'])
  })

  it('is not taken after a boot of its host, nor is anything heard of it: the agent begins anew', async () => {
    await watched()
    shell.heard?.line('boot boot-1')
    expect([rebooted, process.state]).toEqual([0, 'running'])
    shell.heard?.line('boot boot-2')
    shell.heard?.line('none')
    expect([rebooted, process.state]).toEqual([1, 'running'])
  })

  it('is as it was, whatever else somebody says on its host: a program that the login began, or a boot without its id', async () => {
    await watched()
    for (const words of ['2 updates are ready', 'boot', 'boot ', '', '-bash: fork: Resource temporarily unavailable'])
      shell.heard?.line(words)
    expect([process.state, process.pid, rebooted]).toEqual(['running', 7, 0])
    shell.heard?.line('. 2\r')
    expect(process.freeBytes).toBe(2_048)
    shell.heard?.line('. -')
    shell.heard?.line('none\r')
    expect([process.state, process.freeBytes]).toEqual(['dead', 2_048])
  })

  it('lacks SSH where nothing is heard of its host, with what stands in the way', async () => {
    await watched()
    expect(await process.lacks()).toEqual([])
    const later = new FarProcess(config, {
      ...{
        ...realWorld,
        ...{ shell, bootId: 'boot-1', rebooted: () => undefined },
        ownStart: new OwnStart(),
        note: noteInFile('', ['pid', 'startTicks']),
        taking: () => Promise.resolve(),
      },
      clock: { ...realWorld.clock, monotonicMs: () => realWorld.clock.monotonicMs() + 60_000 },
    })
    shell.failure = new RegentError('REGENT_HOST_KEY', say`shows another key`)
    const [lack] = await later.lacks()
    expect([String(lack?.what), String(lack?.cure)]).toEqual([
      'SSH to its host',
      expect.stringContaining('shows another key'),
    ])
  })
})
