import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import { realWorld } from '#common/ports/real-world.ts'
import { noteInFile } from '#agents/far/note.ts'
import { OwnStart } from '#agents/far/own-start.ts'
import { SqlOnlyProcess } from './process.ts'

describe('The mysqld of a host that only SQL reaches', () => {
  let folder = ''
  let server: { startedAt: number; whyUnseen: RegentError | null; answered: () => void; close: () => Promise<void> }
  let closed = 0
  let ownStart = new OwnStart()

  async function adopted(): Promise<SqlOnlyProcess> {
    const process = new SqlOnlyProcess({
      clock: realWorld.clock,
      pulse: {
        get startedAt() {
          return server.startedAt
        },
        get whyUnseen() {
          return server.whyUnseen
        },
        onAnswer: (answered) => (server.answered = answered),
      },
      close: () => server.close(),
      ownStart,
      note: noteInFile(join(folder, 'note.json'), ['startedAt', 'closings', 'over']),
    })
    await process.adopt()
    return process
  }
  function answers(startedAt: number): void {
    server.startedAt = startedAt
    server.answered()
  }

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'regent-sql-only-'))
    closed = 0
    ownStart = new OwnStart()
    const close = () => Promise.resolve(void (closed += 1))
    server = { startedAt: 100, whyUnseen: null, answered: () => undefined, close }
  })
  afterEach(() => rm(folder, { recursive: true }))

  it('is taken as it runs, and stays so for an agent that is started again', async () => {
    const first = await adopted()
    expect(first).toMatchObject({ state: 'running' })
    expect(await adopted()).toMatchObject({ state: 'running', pid: first.pid })
    expect(closed).toBe(0)
  })

  it('is no dead one while it is silent: nobody sees it', async () => {
    const process = await adopted()
    server.whyUnseen = new RegentError('REGENT_SERVER_DOWN', say`connecting: ECONNREFUSED`)
    expect(process.state).toBe('running')
  })

  it('is dead once another start of it answers, until its agent takes that one, closed', async () => {
    const process = await adopted()
    const before = process.pid
    answers(200)
    expect(process).toMatchObject({ state: 'dead', pid: before })
    await process.start()
    expect(process.state).toBe('running')
    expect(process.pid).not.toBe(before)
    expect(closed).toBe(1)
  })

  it('is another one for an agent that was not there when it was started again', async () => {
    await adopted()
    server.startedAt = 200
    expect(await adopted()).toMatchObject({ state: 'dead' })
  })

  it('is closed by SQL where it is to be killed, counts as dead, and is another one after that', async () => {
    const process = await adopted()
    const before = process.pid
    await process.kill()
    expect(process.state).toBe('dead')
    expect(closed).toBe(1)
    answers(100)
    expect(process.state).toBe('dead')
    expect(await adopted()).toMatchObject({ state: 'dead' })
    await process.start()
    expect(process.state).toBe('running')
    expect(process.pid).not.toBe(before)
  })

  it('lives on where it could not be closed', async () => {
    const process = await adopted()
    server.close = () => Promise.reject(new RegentError('REGENT_SERVER_TIMEOUT', say`a lock`))
    await expect(process.kill()).rejects.toThrow('a lock')
    expect(process.state).toBe('running')
  })

  it('cannot be started while it does not answer', async () => {
    const process = await adopted()
    answers(200)
    server.whyUnseen = new RegentError('REGENT_SERVER_DOWN', say`connecting: ECONNREFUSED`)
    await expect(process.start()).rejects.toThrow('nobody can start it by SQL alone')
    expect(process.state).toBe('dead')
  })

  it('has sessions of the start that is its own, and of another one only to close that before it takes it', async () => {
    const process = await adopted()
    expect([ownStart.allows(100), ownStart.allows(140)]).toEqual([true, false])
    answers(140)
    expect([ownStart.allows(100), ownStart.allows(140)]).toEqual([false, false])
    let allowed = false
    server.close = async () => {
      answers(140)
      allowed = ownStart.allows(140)
    }
    await process.start()
    expect([allowed, ownStart.allows(140)]).toEqual([true, true])
  })

  it('has no sessions once its agent has closed it', async () => {
    const process = await adopted()
    await process.kill()
    expect(ownStart.allows(100)).toBe(false)
  })
})
