import { afterEach, describe, expect, it } from 'vitest'
import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import { realWorld } from '#common/ports/real-world.ts'
import { aServerState, quietVolume, ScriptedServer } from '../testing.ts'
import { OwnStart } from './own-start.ts'
import { FarProcess } from './process.ts'
import { sightOf } from './sight.ts'
import { ShellHere } from './testing-shell.ts'

const places = { dataDir: '', pidFile: '', binlogIndex: '', relayLogBase: '', relayLogIndex: '', errorLog: '' }

describe('An agent that reaches its server by SQL, and its host by SSH no more', () => {
  let process: FarProcess
  afterEach(() => process.stop())

  async function seen(syncRelayLogs: () => Promise<void>) {
    const shell = new ShellHere()
    const note = { read: () => Promise.resolve(undefined), write: () => Promise.resolve() }
    process = new FarProcess(
      { agentHost: '', user: '', passwordFile: '', serverUuid: '', places },
      {
        ...{ ...realWorld, shell, bootId: 'boot', rebooted: () => undefined, note, ownStart: new OwnStart() },
        taking: () => Promise.resolve(),
      },
    )
    shell.failure = new RegentError('REGENT_SSH_DOWN', say`no route`)
    const sight = sightOf({
      ...{ host: '10.0.0.1', clock: realWorld.clock, shell, bootId: 'boot', process, see: () => undefined },
      server: new ScriptedServer(aServerState()),
      volume: { ...quietVolume, syncRelayLogs },
    })
    await sight.ports.server.readState()
    return sight
  }

  it('shows what the server says', async () => {
    expect((await seen(() => Promise.resolve())).whyBlind()).toBeNull()
  })

  it('shows nothing from a promise on that it cannot keep: others would wait for that', async () => {
    const { ports, whyBlind } = await seen(() => Promise.reject(new Error('no route')))
    await expect(ports.volume.syncRelayLogs()).rejects.toThrow('no route')
    expect(whyBlind()?.message).toBe('no route')
  })
})
