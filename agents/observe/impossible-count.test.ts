import { saying } from '#test/support/said-as-text.ts'
import { describe, expect, it } from 'vitest'
import {
  aServerState,
  primaryOfEpoch3,
  replicaOfEpoch3,
  ScriptedProcess,
  ScriptedServer,
  testParts,
} from '../testing.ts'
import { ImpossibleCountWatch } from './impossible-count.ts'

const right = { enabled: true, acks: 1, waiting: 2, unacknowledged: 3 }
/** −1, as a server shows that of a number without a sign. */
const wrapped = Number('18446744073709551615')

async function looked(assignment: typeof primaryOfEpoch3 | typeof replicaOfEpoch3, counts: Partial<typeof right>) {
  const process = new ScriptedProcess()
  const server = new ScriptedServer(aServerState({ semiSyncSource: { ...right, ...counts } }))
  const parts = await testParts(server, { process })
  await parts.file.update({ promise: 3, revision: 10, assignment })
  await parts.observer.refresh()
  const watch = new ImpossibleCountWatch(parts)
  watch.look()
  watch.look()
  return { parts, process }
}

describe('A primary whose server counts what cannot be', () => {
  it.each([
    ['sessions that wait', { waiting: -1 }],
    ['sessions that wait', { waiting: wrapped }],
    ['transactions that were acknowledged by nobody', { unacknowledged: wrapped }],
    ['acknowledgements that a write waits for', { acks: -1 }],
  ])('is ended, once, with its tail in doubt: %s, %o', async (what, counts) => {
    const { parts, process } = await looked(primaryOfEpoch3, counts)
    await expect.poll(() => process.state).toBe('dead')
    expect(parts.file.current.unsettled).toBe(true)
    expect(parts.notices.list).toMatchObject([{ code: 'ImpossibleCount', sentence: saying(what) }])
  })

  it('is left alone where the counts are right, or where it is a replica, which lets nobody wait', async () => {
    for (const [assignment, counts] of [
      [primaryOfEpoch3, {}],
      [replicaOfEpoch3, { waiting: -1 }],
    ] as const) {
      const { parts, process } = await looked(assignment, counts)
      await parts.file.update({})
      expect([process.state, parts.file.current.unsettled]).toEqual(['running', false])
    }
  })
})
