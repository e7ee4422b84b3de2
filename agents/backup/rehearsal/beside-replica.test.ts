import { describe, expect, it } from 'vitest'
import { RegentError } from '#common/errors/errors.ts'
import { say, type Sentence } from '#common/sentence/sentence.ts'
import { aManifest, sourceA } from '#backup/objects/testing.ts'
import type { Plan } from '#backup/restore/restore-plan.ts'
import { MemoryStore } from '#object-store/testing-store.ts'
import type { StillView } from '#agents/ports/server.ts'
import type { ThrowAwayServer } from '#agents/ports/throw-away.ts'
import { aServerState, primaryOfEpoch3, replicaOfEpoch3, ScriptedServer, testParts } from '#agents/testing.ts'
import { compareWithReplica } from './beside-replica.ts'

const tablesOf = (names: readonly string[]) => names.map((name) => ({ inSchema: 'app', name }))
const sums = { n: 3, x: '7', s: '9' }

interface Given {
  readonly mode?: 'semisync' | 'group'
  readonly assignment?: typeof replicaOfEpoch3 | typeof primaryOfEpoch3
  readonly restoredAt?: string
  readonly onReplica?: StillView['query']
  readonly onRestored?: StillView['query']
  readonly restoredTables?: readonly string[]
  readonly replicaTables?: readonly string[]
  readonly storeSays?: string
}

/** A restored server at these transactions beside a replica at 1-9; the archive is empty. */
async function compared({
  mode = 'semisync',
  assignment = replicaOfEpoch3,
  restoredAt = '1-9',
  onReplica = async () => [sums],
  onRestored = async () => [sums],
  restoredTables = ['orders', 'people'],
  replicaTables = ['orders', 'people'],
  storeSays,
}: Given = {}) {
  let [nowMs, ended] = [0, 0]
  const own = new ScriptedServer(aServerState())
  own.stillView = async () => ({
    ...{ gtids: `${sourceA}:1-9`, there: tablesOf(replicaTables), query: onReplica, end: () => void (ended += 1) },
  })
  const parts = await testParts(own)
  Object.assign(parts, { config: { ...parts.config, mode } })
  await parts.file.update({ promise: 3, assignment })
  const query = async (statement: string) => {
    if (statement.includes('gtid_executed')) return [{ executed: `${sourceA}:${restoredAt}` }]
    if (statement.startsWith('SELECT TABLE_SCHEMA')) return tablesOf(restoredTables)
    const table = /`app`\.`(\w+)`/.exec(statement)?.[1] ?? ''
    if (!restoredTables.includes(table)) throw new RegentError('REGENT_SERVER_ERROR', say`no table ${table}`)
    return statement.startsWith('SHOW COLUMNS') ? [{ Field: 'id' }] : onRestored(statement)
  }
  const server = { query } as unknown as ThrowAwayServer
  const plan = { kind: 'plan', backup: aManifest({}), steps: [] } as unknown as Plan
  const store = new MemoryStore()
  if (storeSays !== undefined) store.get = store.list = () => failing(say`${storeSays}`)
  const timers = { sleep: async (ms: number) => void (nowMs += ms) }
  const found = await compareWithReplica(parts, { server, plan, folder: '' }, {
    ...{ store, key: null, spares: true, progress: () => undefined },
    signal: new AbortController().signal,
    world: { clock: { monotonicMs: () => nowMs }, timers },
  } as never)
  return { ...found, whyNot: String(found.whyNot), ended }
}

function failing(why: Sentence): never {
  throw new RegentError('REGENT_BACKUP_STORE', why)
}

describe('A restored server', () => {
  it('that has the rows of the replica beside is as that one, and the view ends', async () => {
    expect(await compared()).toEqual({ compared: 2, whyNot: '', ended: 1 })
  })

  it('of which one table differs is named with that table', async () => {
    const onReplica = async (select: string) => [select.includes('people') ? { ...sums, n: 4 } : sums]
    await expect(compared({ onReplica })).rejects.toThrow(/^table app.people .* 3 rows .* 4 rows/)
  })

  it('without a table of the replica beside, or with another one, is named with that table', async () => {
    await expect(compared({ restoredTables: ['orders'] })).rejects.toThrow(
      'table app.people is on the replica at the same transactions, and is not restored',
    )
    await expect(compared({ replicaTables: ['people'] })).rejects.toThrow(
      'table app.orders is restored, and is not on the replica at the same transactions',
    )
    expect(await compared({ restoredTables: [], replicaTables: [] })).toMatchObject({ compared: 0 })
  })

  it('is compared by the tables of that moment: what was dropped since the check is no failure', async () => {
    const left = { restoredTables: ['people'], replicaTables: ['people'] }
    expect(await compared(left)).toEqual({ compared: 1, whyNot: '', ended: 1 })
  })

  const withoutPeople = async (select: string) => {
    if (select.includes('people')) throw new RegentError('REGENT_SERVER_ERROR', say`it cannot be read`)
    return [sums]
  }

  it('is not compared by a table that the replica cannot read', async () => {
    expect(await compared({ onReplica: withoutPeople })).toMatchObject({ compared: 1, whyNot: '' })
  })

  it('that alone cannot read a table is not whole', async () => {
    await expect(compared({ onRestored: withoutPeople })).rejects.toThrow(
      'table app.people cannot be read where it was restored, and a replica has 3 rows with sums 7/9: it cannot be read',
    )
  })

  it.each<[string, Given, string]>([
    ['where the archive does not come to its transactions', { restoredAt: '1-8' }, 'the archive did not come to'],
    ['where the store cannot be read', { restoredAt: '1-8', storeSays: 'it is away' }, 'could not be read: it is away'],
    ['where the archive is ahead', { restoredAt: '1-10' }, 'the archive was ahead'],
    ['in a group', { mode: 'group' }, 'a member of a group'],
    ['beside a primary', { assignment: primaryOfEpoch3 }, 'no replica'],
  ])('is not compared %s, and that is said', async (_, given, why) => {
    const { compared: count, whyNot } = await compared(given)
    expect(count).toBe(0)
    expect(whyNot).toContain(why)
  })
})
