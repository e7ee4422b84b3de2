import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { keyOf } from '#backup/objects/object-key.ts'
import { Rehearsing } from '#agents/backup/rehearsal/rehearsing.ts'
import { aFolder, backedUp, inSmallParts, lineage, name, said } from '#agents/backup/testing-backups.ts'
import { freshState, StoredStateFile } from '#agents/instance/stored-state.ts'
import type { AnsweredRow, ThrowAwayPort, ThrowAwayServer } from '#agents/ports/throw-away.ts'
import { anAgentConfig, aServerState, MemoryDisk, replicaOfEpoch3, ScriptedServer, testParts } from '#agents/testing.ts'
import { createVolume } from '#agents/volume/volume.ts'
import { MemoryStore } from '#object-store/testing-store.ts'
import { MortalDisk } from './testing-copy-disk.ts'
import { atEachStep, Life, moments } from './testing-life.ts'

/** What outlives an agent: its volume, its state file, and perhaps a throw-away server. */
interface Machine {
  readonly path: string
  readonly disk: MemoryDisk
  /** The folder of a throw-away server that runs. */
  runsOn: string
}

const rehearsal = '20261129T040000Z'
const verified = keyOf({ kind: 'verified', cluster: 'shop', name })
const state = { ...aServerState(), readOnly: true, superReadOnly: true, offlineMode: false }

async function aMachine(): Promise<Machine> {
  const machine = { path: await aFolder(), disk: new MemoryDisk(), runsOn: '' }
  for (const folder of ['agent', 'data']) await mkdir(join(machine.path, folder))
  await writeFile(join(machine.path, 'data/mysql.ibd'), 'its own')
  return machine
}

/** A replica begins, and rehearses where that is asked for. */
async function agentOn(machine: Machine, store: MemoryStore, asked: string | null, life = new Life()) {
  const stored = await StoredStateFile.open(machine.disk, 'state', () => freshState('volume-0', 'boot'))
  const disk = new MortalDisk(life)
  const volume = life.living(
    createVolume(anAgentConfig({ volume: machine.path }), () => 0, disk),
    ['hasRehearsalFolder', 'freshRehearsalFolder', 'unpackInto', 'dropRehearsalFolder'],
  )
  const server = new ScriptedServer(state)
  const there = [{ inSchema: 'app', name: 'orders' }]
  server.stillView = async () => ({ gtids: state.executed, there, query: async () => [], end: () => undefined })
  const parts = { ...(await testParts(server, { volume })), file: life.living(stored, ['update']) }
  const throwAway = throwAwayOn(machine, life)
  const reading = { ...life.storing(store), get: (of: string) => life.reading(store.get(of)) }
  const rehearsing = new Rehearsing(parts, { lineage, throwAway, open: async () => ({ store: reading, key: null }) })
  await stored.update({ promise: 3, assignment: replicaOfEpoch3 })
  const end = await life.lives(async () => {
    await rehearsing.removeLeftovers()
    await parts.observer.refresh()
    if (asked === null) return
    rehearsing.begin({ ...said, name: asked })
    await life.until(() => ['done', 'failed'].includes(parts.jobs.rehearsal?.stage ?? ''))
  })
  await disk.settled()
  return { end, seen: parts.jobs.rehearsal }
}

function throwAwayOn(machine: Machine, life: Life): ThrowAwayPort {
  const gone = async () => void (machine.runsOn = '')
  const start = async (folder: string): Promise<ThrowAwayServer> => {
    expect(machine.runsOn).toBe('')
    expect(await readdir(folder)).toContain('mysql.ibd')
    machine.runsOn = folder
    const query = async (statement: string) => answer(statement)
    return life.living({ query, shutDown: gone, kill: gone }, ['query', 'shutDown', 'kill'])
  }
  return life.living({ start, endLeftover: gone }, ['start', 'endLeftover'])
}

function answer(statement: string): readonly AnsweredRow[] {
  if (statement.startsWith('SELECT TABLE_SCHEMA')) return [{ inSchema: 'app', name: 'orders' }]
  if (statement.startsWith('CHECK TABLE')) return [{ Msg_type: 'status', Msg_text: 'OK' }]
  if (statement.startsWith('SHOW COLUMNS')) return [{ Field: 'id' }]
  if (statement.startsWith('SELECT @@GLOBAL.gtid_executed')) return [{ executed: state.executed }]
  return statement.startsWith('SELECT COUNT') ? [{ rows_there: 42 }] : []
}

describe('A rehearsal whose agent dies at any step', () => {
  it.each(moments)('%s leaves no server, no folder and no false proof, and says that it failed', async (_, isDone) => {
    const { store: whole } = await backedUp()
    await inSmallParts(whole, 1_000_000)
    const ends = new Set<string>()
    const deaths = await atEachStep(isDone, async (life, at) => {
      const [machine, store] = [await aMachine(), new MemoryStore()]
      for (const [key, bytes] of whole.objects) store.objects.set(key, bytes)
      const { end, seen } = await agentOn(machine, store, rehearsal, life)
      if (end === 'ended') {
        expect(seen).toMatchObject({ stage: 'done' })
        return end
      }
      const isProven = store.objects.has(verified)
      const next = await agentOn(machine, store, null)
      expect((await readdir(machine.path)).toSorted(), `death ${at}`).toEqual(['agent', 'data'])
      expect(await readFile(join(machine.path, 'data/mysql.ibd'), 'utf8')).toBe('its own')
      expect(machine.runsOn).toBe('')
      ends.add(`${next.seen?.stage ?? 'nothing'}, ${isProven ? 'proven' : 'not proven'}`)
      expect(next.seen?.stage ?? 'failed').toBe('failed')
      const again = await agentOn(machine, store, '20261129T050000Z')
      expect(again.seen, `death ${at}`).toMatchObject({ stage: 'done' })
      expect(store.objects.has(verified)).toBe(true)
      return end
    })
    expect(deaths).toBeGreaterThan(25)
    const known = ['failed, not proven', 'failed, proven', 'nothing, not proven']
    // Behind the last step nothing is left of it.
    expect([...ends].toSorted()).toEqual(isDone ? [...known, 'nothing, proven'] : known)
  })
})
