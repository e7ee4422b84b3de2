import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { RegentError } from '#common/errors/errors.ts'
import { realWorld } from '#common/ports/real-world.ts'
import { FarProcess } from './process.ts'
import { killScript, startScript } from './scripts.ts'
import { ShellHere } from './testing-shell.ts'

const places = {
  dataDir: '/data',
  pidFile: '/data/pid',
  binlogIndex: '',
  relayLogBase: '',
  relayLogIndex: '',
  errorLog: '',
}
const config = { agentHost: '', user: '', passwordFile: '', serverUuid: '', places }

describe('The mysqld of a far host', () => {
  let folder = ''
  let shell = new ShellHere()
  let process: FarProcess
  const taken: number[] = []

  async function watched(start?: string, first = '7 100 R'): Promise<FarProcess> {
    process = new FarProcess(
      { ...config, ...(start !== undefined && { start }) },
      {
        ...{ ...realWorld, shell, bootId: 'boot', noteFile: join(folder, 'note.json') },
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
    shell = new ShellHere()
    taken.length = 0
  })
  afterEach(async () => {
    process.stop()
    await rm(folder, { recursive: true })
  })

  it('is taken as it runs, and marked before that', async () => {
    expect(await watched()).toMatchObject({ state: 'running', pid: 7 })
    expect(taken).toEqual([7])
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
    await watched('true')
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

  it('is dead again where its start command fails', async () => {
    await watched('false')
    shell.heard?.line('none')
    shell.fails.push(new RegentError('REGENT_SSH_DOWN', 'it answered 1'))
    await expect(process.start()).rejects.toThrow('it answered 1')
    expect(process.state).toBe('dead')
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

  it('lacks SSH where nothing is heard of its host, with what stands in the way', async () => {
    await watched()
    expect(await process.lacks()).toEqual([])
    const later = new FarProcess(config, {
      ...{ ...realWorld, shell, bootId: '', noteFile: '', taking: () => Promise.resolve() },
      clock: { ...realWorld.clock, monotonicMs: () => realWorld.clock.monotonicMs() + 60_000 },
    })
    shell.failure = new RegentError('REGENT_HOST_KEY', 'shows another key')
    const [lack] = await later.lacks()
    expect([String(lack?.what), String(lack?.cure)]).toEqual([
      'SSH to its host',
      expect.stringContaining('shows another key'),
    ])
  })
})
