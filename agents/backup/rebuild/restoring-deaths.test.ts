import { existsSync } from 'node:fs'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { MemoryStore } from '#object-store/testing-store.ts'
import { Converger } from '#agents/converge/converger.ts'
import { freshState, StoredStateFile } from '#agents/instance/stored-state.ts'
import { anAgentConfig, aServerState, MemoryDisk, ScriptedProcess, ScriptedServer, testParts } from '#agents/testing.ts'
import { createVolume } from '#agents/volume/volume.ts'
import { aFolder, backedUp, name, said, throwAway } from '../testing-backups.ts'
import { Restoring } from './restoring.ts'

/** What outlives an agent: its volume, its state file, and perhaps its mysqld. */
interface Machine {
  readonly path: string
  readonly disk: MemoryDisk
  readonly process: ScriptedProcess
}

/** Counts the steps of an agent into its ports. At one of them the agent dies: nothing goes on behind that. */
class Life {
  steps = 0
  readonly died = Promise.withResolvers<'died'>()
  readonly #diesAt: number
  readonly #isDone: boolean

  /** @param isDone the step at which the agent dies is done by then */
  constructor(diesAt: number, isDone: boolean) {
    this.#diesAt = diesAt
    this.#isDone = isDone
  }

  /** A port, each step of which may be the last one. */
  living<Port extends object>(port: Port, names: readonly (keyof Port)[]): Port {
    return new Proxy(port, {
      get: (target, key) => {
        const value: unknown = Reflect.get(target, key)
        if (typeof value !== 'function') return value
        const step = (value as (...args: unknown[]) => unknown).bind(target)
        return names.includes(key as keyof Port) ? (...args: unknown[]) => this.#step(() => step(...args)) : step
      },
    })
  }

  async #step(step: () => unknown): Promise<unknown> {
    this.steps += 1
    const isLast = this.steps === this.#diesAt
    if (this.steps < this.#diesAt) return step()
    if (isLast && this.#isDone) await step()
    this.died.resolve('died')
    return new Promise(() => undefined)
  }
}

const whole = `backup ${name} of cluster shop`

/** The agent begins, and restores where no note says that this was done: as the manager orders. */
async function agentOn({ path, disk, process }: Machine, store: MemoryStore, life: Life): Promise<'died' | 'ended'> {
  const server = new ScriptedServer({ ...aServerState(), executed: '' })
  const volume = life.living(
    createVolume(anAgentConfig({ volume: path }), () => 0),
    [
      ...(['setUnusedAside', 'dropUnused', 'restoredFrom', 'freshSeedFolder', 'unpackInto'] as const),
      ...(['noteRestored', 'swapIn'] as const),
    ],
  )
  const file = life.living(await StoredStateFile.open(disk, 'state', () => freshState('volume-0', 'boot')), ['update'])
  const parts = {
    ...(await testParts(life.living(server, ['readHolds', 'forgetSource']), {
      process: life.living(process, ['kill', 'start', 'dropAccountsFile']),
      volume,
    })),
    file,
  }
  const open = async () => ({ store, key: null })
  const restoring = new Restoring(parts, new Converger(parts, () => undefined), { lineage: 'other', open, throwAway })
  const ended = async (): Promise<'ended'> => {
    await restoring.takeNote()
    await volume.setUnusedAside()
    await volume.dropUnused()
    if (file.current.restored !== undefined) return 'ended'
    if (!existsSync(join(path, 'data'))) await emptyData(path)
    await process.start()
    await parts.observer.refresh()
    restoring.begin({ ...said, epoch: 1, revision: 0, of: 'shop' })
    while (parts.copying.progress !== null) await new Promise((resolve) => setTimeout(resolve, 1))
    expect([...parts.copying.failures.values()].map(({ error }) => error)).toEqual([])
    return 'ended'
  }
  return Promise.race([life.died.promise, ended()])
}

/** What a mysqld makes that has no data. */
async function emptyData(path: string): Promise<void> {
  await mkdir(join(path, 'data'))
  await writeFile(join(path, 'data/mysql.ibd'), 'empty')
}

async function aMachine(): Promise<Machine> {
  const path = await aFolder()
  await mkdir(join(path, 'agent'))
  await emptyData(path)
  return { path, disk: new MemoryDisk(), process: new ScriptedProcess() }
}

describe('A restore whose agent dies at any step', () => {
  it.each([
    ['before it', false],
    ['behind it', true],
  ])('%s ends with the backup in its place, and nothing beside', async (_, isDone) => {
    const { store } = await backedUp()
    let deaths = 0
    for (let at = 1; ; at++) {
      const machine = await aMachine()
      const first = await agentOn(machine, store, new Life(at, isDone))
      const isNoted = (await StoredStateFile.open(machine.disk, 'state', () => freshState('volume-0', 'boot'))).current
        .restored
      // Nobody may take for restored what is not.
      if (isNoted !== undefined) expect(await readFile(join(machine.path, 'data/mysql.ibd'), 'utf8')).toBe('dictionary')
      if (first === 'died') {
        deaths += 1
        machine.process.state = at % 2 === 0 ? 'dead' : machine.process.state
        expect(await agentOn(machine, store, new Life(Infinity, false))).toBe('ended')
      }
      expect(await readFile(join(machine.path, 'data/mysql.ibd'), 'utf8'), `death ${at}`).toBe('dictionary')
      expect((await readdir(machine.path)).toSorted(), `death ${at}`).toEqual(['agent', 'data'])
      const { current } = await StoredStateFile.open(machine.disk, 'state', () => freshState('volume-0', 'boot'))
      expect(current.restored, `death ${at}`).toBe(whole)
      if (first === 'ended') break
    }
    expect(deaths).toBeGreaterThan(12)
  })
})
