import { expect, it } from 'vitest'
import { virtualWorld } from '#common/ports/testing-world.ts'
import type { HookDocument } from '#failover/protocol/hook-document.ts'
import type { HookRun, Recovery } from '#failover/protocol/notes.ts'
import { aSituation } from '#failover/testing.ts'
import { memoryStore } from '#store/memory.ts'
import type { Store } from '#store/store.ts'
import { NotesDesk } from '../books/notes-desk.ts'
import { withRecovery } from '../books/repair-codes.ts'
import { HookDesk } from './hook-desk.ts'
import { runsOf } from './hook-ledger.ts'

const manager = 'm'
const hooks = { beforeFailover: [{ command: ['vip'] }] }
const recovery: Recovery = {
  ...{ id: 'one', kind: 'failover', startedWallMs: 0, analysis: '', sentence: '', from: null, to: null },
  ...{ fromEpoch: 3, toEpoch: null, outcome: 'running', timeline: [] },
}

/** The hooks of a failover under way, whose manager decides each second; a test says how its store fares. */
async function deskOf(runs?: readonly HookRun[]) {
  const world = virtualWorld()
  const memory = memoryStore()
  const seen = { refuses: false, isUnanswered: false, begun: [] as HookDocument[], endsAfterMs: 100 }
  const updateNotes: Store['updateNotes'] = async (cluster, change) => {
    if (seen.refuses) throw new Error('no route')
    const notes = await memory.updateNotes(cluster, change)
    if (seen.isUnanswered) throw new Error('no answer')
    return notes
  }
  const notes = new NotesDesk({
    store: { updateNotes, readNotes: memory.readNotes.bind(memory) },
    ...{ timers: world.timers, cluster: 'shop', failed: () => undefined, mended: () => undefined },
  })
  const input = () => ({ ...aSituation({ spec: { hooks } }), manager, notes: notes.notes, recovery })
  const desk = new HookDesk({
    ...{ world, notes, failed: () => undefined, ended: () => undefined },
    book: { current: recovery, note: () => undefined },
    loop: { leads: true, input, wake: () => undefined },
    hooks: {
      machine: '',
      async run(_, told) {
        seen.begun.push(told)
        await world.timers.sleep(seen.endsAfterMs)
        return { isDone: true, said: 'exit 0' }
      },
    },
  })
  await notes.change(withRecovery({ ...recovery, ...(runs && { hooks: { failureType: '', runs } }) }))
  world.timers.every(1_000, () => desk.keep(input(), null))
  const stateIn = (list: readonly Recovery[]): readonly HookRun['state'][] =>
    list.flatMap((one) => runsOf(one, 'beforeFailover').map(({ state }) => state))
  return {
    ...{ world, seen, desk },
    known: () => stateIn(notes.notes.recoveries),
    stored: async () => stateIn((await memory.readNotes('shop')).recoveries),
  }
}

it('A hook of which the store has written that it begins, and has not said so, is begun, once', async () => {
  const { world, seen, desk, known } = await deskOf()
  seen.isUnanswered = true
  desk.begin({ kind: 'hooks', moment: 'beforeFailover', successor: null, request: null })
  await world.advance(10)
  seen.isUnanswered = false
  await world.advance(10_000)
  expect(seen.begun).toHaveLength(1)
  expect(known()).toEqual(['succeeded'])
})

it('The end of a hook is written down as soon as the store takes that again, however long that took', async () => {
  const { world, seen, desk, known, stored } = await deskOf()
  desk.begin({ kind: 'hooks', moment: 'beforeFailover', successor: null, request: null })
  await world.advance(10)
  expect(await stored()).toEqual(['running'])
  seen.refuses = true
  await world.advance(120_000)
  seen.refuses = false
  await world.advance(60_000)
  expect([known(), await stored()]).toEqual([['succeeded'], ['succeeded']])
  expect(seen.begun).toHaveLength(1)
})

it('A hook that an earlier loop of this very manager began, and was ended, holds nothing up: how it ended is unknown', async () => {
  const { world, seen, stored } = await deskOf([
    {
      moment: 'beforeFailover',
      index: 0,
      hook: 'vip',
      state: 'running',
      by: manager,
      beganWallMs: 0,
      ms: null,
      said: '',
    },
  ])
  await world.advance(10_000)
  expect([await stored(), seen.begun]).toEqual([['unknown'], []])
})
