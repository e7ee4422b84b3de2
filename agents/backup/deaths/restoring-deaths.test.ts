import { existsSync } from 'node:fs'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { aPrimary, range } from '#agents/backup/archive/testing-archiver.ts'
import { Restoring } from '#agents/backup/rebuild/restoring.ts'
import { aFolder, aReplica, ended, inSmallParts, name, said } from '#agents/backup/testing-backups.ts'
import { Converger } from '#agents/converge/converger.ts'
import { freshState, StoredStateFile } from '#agents/instance/stored-state.ts'
import { volumeLayout } from '#agents/instance/volume-layout.ts'
import type { AnsweredRow, ThrowAwayPort, ThrowAwayServer } from '#agents/ports/throw-away.ts'
import { anAgentConfig, aServerState, MemoryDisk, ScriptedProcess, ScriptedServer, testParts } from '#agents/testing.ts'
import { createVolume } from '#agents/volume/volume.ts'
import { MemoryStore } from '#object-store/testing-store.ts'
import { uuid } from '#test/support/synthetic-binlog.ts'
import { MortalDisk } from './testing-copy-disk.ts'
import { atEachStep, Life, moments } from './testing-life.ts'

/** Some parts of the backup are noted by then. */
const stepsOfHalf = 50
const lastPart = 7

/** What outlives an agent: its volume, its state file, and perhaps its mysqld and a throw-away server. */
interface Machine {
  readonly path: string
  readonly disk: MemoryDisk
  readonly process: ScriptedProcess
  /** The folder of a throw-away server that runs. */
  runsOn: string
}

const whole = `backup ${name} of cluster shop, with 4 transactions behind that`
const noted = ({ disk }: Machine) => StoredStateFile.open(disk, 'state', () => freshState('volume-0', 'boot'))

/** Parts of the backup begin and end in these. */
const [content, more] = [
  Buffer.alloc(70_000, 'x'),
  { 'app/orders.ibd': Buffer.alloc(25_000, 'y'), undo_001: Buffer.alloc(30_000, 'u') },
]

/** A whole backup, and four transactions in the archive behind that. */
async function aStore(): Promise<MemoryStore> {
  const store = new MemoryStore()
  const replica = await aReplica(store, { content, more })
  replica.server.state = { ...replica.server.state, executed: `${uuid}:1-4` }
  await replica.parts.observer.refresh()
  replica.backUp.begin(said)
  expect(await ended(replica)).toMatchObject({ stage: 'done' })
  const primary = await aPrimary(store)
  await primary.has([range(1, 8)], 8)
  await primary.archiver.look()
  await inSmallParts(store, 20_000)
  return store
}

/** The agent begins, and restores where no note says that this was done: as the manager orders. */
async function agentOn(machine: Machine, store: MemoryStore, life = new Life(), before?: MortalDisk) {
  const { path, process } = machine
  const server = new ScriptedServer({ ...aServerState(), executed: (await hasData(path)) ? `${uuid}:1-8` : '' })
  const disk = new MortalDisk(life, before)
  const volume = life.living(
    createVolume(anAgentConfig({ volume: path }), () => 0, disk),
    [
      ...(['setUnusedAside', 'dropUnused', 'restoredFrom', 'freshSeedFolder', 'unpackInto'] as const),
      ...(['halfCopy', 'giveUpHalfCopy', 'noteRestored', 'swapIn'] as const),
    ],
  )
  const file = life.living(await noted(machine), ['update'])
  const parts = {
    ...(await testParts(life.living(server, ['readHolds', 'forgetSource']), {
      process: life.living(process, ['kill', 'start', 'dropAccountsFile']),
      volume,
    })),
    file,
  }
  const asked: number[] = []
  const get = (of: string) => {
    const part = /part-(\d+)$/.exec(of)?.[1]
    if (part !== undefined) asked.push(Number(part))
    return life.reading(store.get(of))
  }
  const reading = { ...life.storing(store), get }
  const open = async () => ({ store: reading, key: null })
  const throwAway = throwAwayOn(machine, life)
  const restoring = new Restoring(parts, new Converger(parts, () => undefined), { lineage: 'other', open, throwAway })
  const end = await life.lives(async () => {
    await throwAway.endLeftover()
    await restoring.takeUp()
    await volume.setUnusedAside({ needsBeside: false })
    await volume.dropUnused()
    if (file.current.restored !== undefined) return
    if (!existsSync(join(path, 'data'))) await emptyData(path)
    await process.start()
    await parts.observer.refresh()
    restoring.begin({ ...said, epoch: 1, revision: 0, of: 'shop' })
    await life.until(() => parts.copying.progress === null)
    expect([...parts.copying.failures.values()].map(({ error }) => error)).toEqual([])
  })
  await disk.settled()
  return { end, disk, asked }
}

/** The last part that the journal names; 0 for none. */
async function keptParts({ path }: Machine): Promise<number> {
  const journal = await readFile(volumeLayout(path).seedJournal, 'utf8').catch(() => '')
  return Math.max(0, ...[...journal.matchAll(/"part":(\d+)/g)].map(([, part]) => Number(part)))
}

/** Throw-away servers, each statement to which may be the last one of the agent. They outlive the agent. */
function throwAwayOn(machine: Machine, life: Life): ThrowAwayPort {
  const start = async (folder: string): Promise<ThrowAwayServer> => {
    expect(machine.runsOn).toBe('')
    expect(await readdir(folder)).toContain('mysql.ibd')
    machine.runsOn = folder
    const gone = async () => void (machine.runsOn = '')
    return life.living({ query: (statement: string) => answer(folder, statement), shutDown: gone, kill: gone }, [
      ...(['query', 'shutDown', 'kill'] as const),
    ])
  }
  return life.living({ start, endLeftover: async () => void (machine.runsOn = '') }, ['start', 'endLeftover'])
}

/** The applier executes all in the moment of its start. */
async function answer(folder: string, statement: string): Promise<readonly AnsweredRow[]> {
  if (statement.startsWith('START REPLICA')) {
    expect(await readdir(folder)).toContain('replayed-batch1.000001')
    await writeFile(join(folder, 'orders.ibd'), 'replayed')
  }
  if (statement.includes('by_coordinator')) return [{ state: 'ON', error: '', stage: '' }]
  return statement.includes('gtid_executed') ? [{ executed: `${uuid}:1-8` }] : []
}

function hasData(path: string): Promise<boolean> {
  return readFile(join(path, 'data/mysql.ibd'), 'utf8').then(
    (content) => content === 'dictionary',
    () => false,
  )
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
  return { path, disk: new MemoryDisk(), process: new ScriptedProcess(), runsOn: '' }
}

/** Base and binary logs, no relay log, and nothing beside. */
async function expectRestored(machine: Machine): Promise<void> {
  expect(await readFile(join(machine.path, 'data/mysql.ibd'), 'utf8')).toBe('dictionary')
  expect(await readFile(join(machine.path, 'data/orders.ibd'), 'utf8')).toBe('replayed')
  expect((await readFile(join(machine.path, 'data/ibdata1'))).equals(content)).toBe(true)
  for (const [file, bytes] of Object.entries(more))
    expect((await readFile(join(machine.path, 'data', file))).equals(bytes)).toBe(true)
  expect((await readdir(join(machine.path, 'data'))).filter((file) => file.startsWith('replayed-'))).toEqual([])
}

/** After the death of an agent, or of all its machine; gives the last part that is noted. */
async function afterDeath(machine: Machine, disk: MortalDisk, crashes: boolean): Promise<number> {
  const { seedDir, seedJournal } = volumeLayout(machine.path)
  if (crashes) {
    await disk.crash(seedDir, seedJournal)
    machine.process.state = 'dead'
    machine.runsOn = ''
  }
  return keptParts(machine)
}

/** The last agent does all that is left, and fetches no part up to this one. */
async function expectEnded(machine: Machine, store: MemoryStore, kept: number): Promise<void> {
  const { end, asked } = await agentOn(machine, store)
  expect(end).toBe('ended')
  expect(asked.filter((part) => part <= kept)).toEqual([])
  await expectRestored(machine)
  expect((await readdir(machine.path)).toSorted()).toEqual(['agent', 'data'])
  expect((await noted(machine)).current.restored).toContain(whole)
  expect(machine.runsOn).toBe('')
}

const [before, behind] = moments

describe.each([
  ['agent', before, false],
  ['agent', behind, false],
  // What is on the disk behind a step is there before the next one.
  ['machine', behind, true],
] as const)('A restore whose %s dies at any step', (_, [when, isDone], crashes) => {
  it(`${when} ends with the backup in its place, fetches no part that was noted, and leaves nothing beside`, async () => {
    const store = await aStore()
    let mostKept = 0
    const deaths = await atEachStep(isDone, async (life, at) => {
      const machine = await aMachine()
      const { end, disk } = await agentOn(machine, store, life)
      // Nobody may take for restored what is not.
      if ((await noted(machine)).current.restored !== undefined) await expectRestored(machine)
      if (end === 'ended') return end
      machine.process.state = at % 2 === 0 ? 'dead' : machine.process.state
      const kept = await afterDeath(machine, disk, crashes)
      mostKept = Math.max(mostKept, kept)
      await expectEnded(machine, store, kept)
      return end
    })
    expect(deaths).toBeGreaterThan(60)
    expect(mostKept).toBeGreaterThanOrEqual(5)
  })
})

it('A restore whose machine dies once more, while the next agent goes on with what is there, loses no part either', async () => {
  const store = await aStore()
  const deaths = await atEachStep(true, async (life) => {
    const machine = await aMachine()
    const first = await agentOn(machine, store, new Life(stepsOfHalf))
    const keptOnce = await afterDeath(machine, first.disk, true)
    expect(keptOnce).toBeGreaterThanOrEqual(2)
    const second = await agentOn(machine, store, life, first.disk)
    expect(second.asked.filter((part) => part <= keptOnce)).toEqual([])
    if (second.end === 'ended') return second.end
    const kept = await afterDeath(machine, second.disk, true)
    // The journal goes once all parts are there.
    expect(kept >= keptOnce || second.asked.includes(lastPart)).toBe(true)
    await expectEnded(machine, store, kept)
    return second.end
  })
  expect(deaths).toBeGreaterThan(40)
})
