import { describe, expect, it } from 'vitest'
import { parseGtidSet } from '#topology/gtid/gtid-set.ts'
import { sourceA } from '#backup/objects/testing.ts'
import type { AnsweredRow } from '#agents/ports/throw-away.ts'
import { applyBatch } from './applying.ts'

const batch = {
  channel: 'batch1',
  firstFile: 'replayed-batch1.000001',
  gtids: parseGtidSet(`${sourceA}:1-9`),
  lastMs: 0,
}
const running = { state: 'ON', error: '', stage: 'Reading event from the relay log' }
const allRead = { ...running, stage: 'Replica has read all relay log; waiting for more updates' }

interface Shown {
  readonly c: AnsweredRow
  readonly w?: AnsweredRow
  readonly executed: string
}

/** A server whose applier shows these states, the last one for good. */
async function applied(...states: readonly Shown[]) {
  const said: string[] = []
  let [look, seen] = [0, 0]
  const query = async (statement: string): Promise<readonly AnsweredRow[]> => {
    const state: Shown = states[Math.min(look, states.length - 1)] ?? { c: running, executed: '' }
    if (statement.includes('by_coordinator')) return [state.c]
    if (statement.includes('by_worker')) return [state.w ?? { applying: '', error: '' }]
    if (statement.includes('gtid_executed')) {
      look += 1
      return [{ executed: state.executed }]
    }
    said.push(statement.replace(/ (TO|FOR) .*/, ''))
    return []
  }
  await applyBatch(batch, { server: { query }, timers: { sleep: async () => undefined }, progress: () => (seen += 1) })
  return { said, seen }
}

describe('A batch', () => {
  it('is applied from its first relay log until all of it is executed, and leaves no channel', async () => {
    const { said, seen } = await applied(
      { c: running, executed: `${sourceA}:1-4` },
      { c: running, executed: `${sourceA}:1-9` },
    )
    expect(said).toEqual(['CHANGE REPLICATION SOURCE', 'START REPLICA SQL_THREAD', 'STOP REPLICA', 'RESET REPLICA ALL'])
    expect(seen).toBe(2)
  })

  it('goes on where its applier failed and stands elsewhere, or does so at the second attempt', async () => {
    const failed = { c: { ...running, state: 'OFF' }, w: { applying: '', error: 'XAER_NOTA: Unknown XID' } }
    const { said } = await applied(
      { ...failed, executed: `${sourceA}:1-4` },
      { ...failed, executed: `${sourceA}:1-6` },
      { c: running, executed: `${sourceA}:1-9` },
    )
    expect(said.filter((statement) => statement === 'START REPLICA SQL_THREAD')).toHaveLength(3)
  })

  it('of which a transaction fails twice is told in the words of the worker, which name the transaction', async () => {
    const stopped = { ...running, state: 'OFF', error: 'Coordinator stopped' }
    const error = `Worker 1 failed executing transaction '${sourceA}:5'; duplicate entry`
    await expect(applied({ c: stopped, w: { applying: '', error }, executed: `${sourceA}:1-4` })).rejects.toThrow(
      `a transaction could not be replayed: ${error}`,
    )
  })

  it('that the server has read and not executed is not waited for', async () => {
    await expect(applied({ c: allRead, executed: `${sourceA}:1-4:6-9` })).rejects.toThrow(
      `the server has read all, and did not replay 1 transaction (${sourceA}:5)`,
    )
  })

  it('that is executed a moment after the applier had nothing to read is whole', async () => {
    const idle = Array.from({ length: 7 }, () => ({ c: allRead, executed: `${sourceA}:1-8` }))
    await applied(...idle, { c: allRead, executed: `${sourceA}:1-9` })
  })
})
