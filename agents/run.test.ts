import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import { realWorld } from '#common/ports/real-world.ts'
import type { AgentConfig } from './instance/config.ts'
import { farMedium } from './instance/medium.ts'
import { placeOf, type Place } from './place.ts'
import { runAgent } from './run.ts'
import { freePort } from '#test/support/free-port.ts'
import { aServerState, anAgentConfig, quietVolume, ScriptedProcess, ScriptedServer } from './testing.ts'

const rebooted = new RegentError('REGENT_REBOOTED', say`its host was started anew`)

describe('A far agent', () => {
  let folder = ''
  let config: AgentConfig
  /** What goes on again and again. */
  let repeating = 0
  let closed = 0
  let beginAnew: (why: RegentError) => void
  let mysqld = new ScriptedProcess()
  let volume = quietVolume

  const every: typeof realWorld.timers.every = (ms, task) => {
    const timer = realWorld.timers.every(ms, task)
    let isOver = false
    repeating += 1
    return {
      cancel() {
        repeating -= isOver ? 0 : 1
        isOver = true
        timer.cancel()
      },
    }
  }
  const world = { ...realWorld, timers: { ...realWorld.timers, every } }

  const placeFor: typeof placeOf = (_, given): Place => {
    beginAnew = given.beginAnew
    return {
      ports: {
        machine: { bootId: () => Promise.resolve('boot') },
        medium: { read: () => Promise.resolve(farMedium) },
        process: mysqld,
        server: new ScriptedServer(aServerState()),
        volume: given.life.port(volume),
      },
      whyBlind: () => null,
      serve() {
        const watching = world.timers.every(1_000, () => undefined)
        return () => watching.cancel()
      },
      close: () => void (closed += 1),
    }
  }
  const begun = () => runAgent(config, { stop: new AbortController().signal, world, placeFor })
  const answers = async (): Promise<boolean> => {
    const port = config.agentPort
    return fetch(`http://127.0.0.1:${port}/live`).then(
      ({ ok }) => ok,
      () => false,
    )
  }

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'regent-run-'))
    const [tokenFile, accountSecretFile] = ['token', 'secret'].map((name) => join(folder, name)) as [string, string]
    for (const file of [tokenFile, accountSecretFile])
      await writeFile(file, 'a-secret-of-many-characters\n', { mode: 0o600 })
    const places = { dataDir: '', pidFile: '', binlogIndex: '', relayLogBase: '', relayLogIndex: '', errorLog: '' }
    config = anAgentConfig({
      ...{ instance: 'shop-0', mode: 'async', logLevel: 'silent', volume: join(folder, 'volume') },
      ...{ tokenFile, accountSecretFile, agentPort: await freePort() },
      far: { agentHost: '127.0.0.1', user: '', passwordFile: '', serverUuid: '', places },
    })
    ;[repeating, closed, mysqld, volume] = [0, 0, new ScriptedProcess(), quietVolume]
  })

  afterEach(() => rm(folder, { recursive: true }))

  it('leaves nothing behind when it begins anew: no timer, no connection, no listener, no lock', async () => {
    for (const times of [1, 2]) {
      const running = begun()
      await expect.poll(answers).toBe(true)
      expect(repeating).toBeGreaterThan(0)
      beginAnew(rebooted)
      await expect(running).rejects.toBe(rebooted)
      expect([repeating, closed, await answers()]).toEqual([0, times, false])
    }
  })

  it('has ended once nothing of it is being written', async () => {
    const writing = Promise.withResolvers<void>()
    volume = { ...quietVolume, notePurged: () => writing.promise }
    let isOver = false
    const running = begun().catch(() => (isOver = true))
    await expect.poll(answers).toBe(true)
    beginAnew(rebooted)
    await expect.poll(answers).toBe(false)
    await expect(begun()).rejects.toMatchObject({ code: 'REGENT_ALREADY_RUNNING' })
    expect(isOver).toBe(false)
    writing.resolve()
    await running
    expect(isOver).toBe(true)
  })

  it('leaves nothing behind either where it could not begin', async () => {
    mysqld = Object.assign(new ScriptedProcess(), { adopt: () => Promise.reject(rebooted) })
    for (const times of [1, 2]) {
      await expect(begun()).rejects.toBe(rebooted)
      expect([repeating, closed]).toEqual([0, times])
    }
  })
})
