import type { Sentence } from '#common/sentence/sentence.ts'
import { saying } from '#test/support/said-as-text.ts'
import { describe, expect, it } from 'vitest'
import type { Assignment } from '#failover/protocol/assignment.ts'
import { gtids, uuidOf } from '#topology/testing.ts'
import type { Life } from '../instance/life.ts'
import { viewOf } from '../instance/pass.ts'
import type { StoredState } from '../instance/stored-state.ts'
import { Semisync } from '../semisync/semisync.ts'
import {
  aServerState,
  primaryOfEpoch3,
  replicaOfEpoch3,
  ScriptedProcess,
  ScriptedServer,
  testParts,
} from '../testing.ts'
import { changeLife, settable } from '../testing-known.ts'
import { convergedIn, opened } from '../testing-passes.ts'
import type { Known } from '../instance/known.ts'
import { nextPass } from './next-pass.ts'
import type { NextPass } from './steps.ts'

/** What an agent of shop-0 knows where its mysqld is dead, and what it decides. */
interface Case {
  readonly stored?: Partial<StoredState>
  readonly life?: Partial<Life>
  readonly told?: Partial<Known['told']>
  readonly course?: Partial<Known['course']>
  readonly doubts?: Partial<Known['doubts']>
  readonly silentForMs?: number
  readonly writesNoMore?: boolean
}

async function decided(state: ScriptedProcess['state'], known: Case): Promise<NextPass> {
  const process = new ScriptedProcess()
  process.state = state
  process.writesNoMore = known.writesNoMore ?? false
  const parts = await testParts(new ScriptedServer(aServerState()), { process })
  await parts.file.update({ promise: 3, revision: 10, ...known.stored })
  changeLife(parts, known.life ?? {})
  Object.assign(parts.told, known.told)
  Object.assign(parts.course, known.course)
  Object.assign(parts.doubts, known.doubts)
  settable(parts).contact.managerHeardAtMs = parts.world.clock.monotonicMs() - (known.silentForMs ?? 0)
  return nextPass(viewOf(parts, null), new Semisync(parts))
}

const held = gtids('shop-0', 100)
const saidBy = ({ now, then }: NextPass) => convergedIn(now, then).sentence ?? ''
const starts = [{ do: 'initialiseWhereEmpty' }, { do: 'start' }] as const
const tailIsJudged = { do: 'store', change: { mayHaveTail: false } } as const
const crashed: Partial<Life> = { ending: { how: 'crashed', sentence: '' } }
const stopped = { ending: { how: 'stopped', sentence: 'its error log says so' } } as const
const tail = { mayHaveTail: true, assignment: primaryOfEpoch3 } as const
const follows = { mayHaveTail: true, assignment: replicaOfEpoch3 } as const
const reported = { epoch: 4, holds: held, executed: held, asPrimary: true }
const report = (asPrimary: boolean) => ({ promiseReport: { ...reported, asPrimary }, binlogSet: held })

describe('With its mysqld torn down by the kernel, an agent', () => {
  const ending = (writesNoMore: boolean, known: Case) => decided('exiting', { ...known, writesNoMore })

  it('waits while one of its threads may still write', async () => {
    expect((await ending(false, { stored: tail })).steps).toBeUndefined()
    expect((await ending(false, { stored: { promise: 4, ...tail } })).steps).toMatchObject([{ do: 'kill' }, {}])
  })

  it('reads how it ended and what it holds once none of them does, and starts nothing', async () => {
    expect((await ending(true, { stored: tail })).steps).toEqual([{ do: 'readEnding' }])
    expect((await ending(true, { stored: tail, life: stopped, course: report(true) })).steps).toEqual([
      { do: 'keepAsUnsettled', ending: stopped.ending },
    ])
    expect((await ending(true, { stored: tail, life: crashed, course: report(true) })).steps).toBeUndefined()
  })

  it('that promised a newer epoch reports what it holds, and does not wait for its memory', async () => {
    expect((await ending(true, { stored: { promise: 4, ...tail } })).steps).toEqual([
      { do: 'reportTheDead', epoch: 4, purged: '' },
    ])
    const read = await ending(true, { stored: { promise: 4, ...tail }, life: crashed, course: { binlogSet: held } })
    expect(read.steps).toEqual([{ do: 'know', fact: { fact: 'reported', report: reported } }])
  })

  it('of a replica reads nothing', async () => {
    expect(await ending(true, { stored: { assignment: replicaOfEpoch3 } })).toEqual({ next: 'when something changes' })
  })
})

describe('With a mysqld that does not come up, an agent', () => {
  const after = async (startsFailed: number, downForMs: number) => {
    const process = Object.assign(new ScriptedProcess(), { state: 'dead', startsFailed })
    const parts = await testParts(new ScriptedServer(aServerState()), { process })
    await parts.file.update({ promise: 3, revision: 10, assignment: replicaOfEpoch3 })
    Object.assign(process, { changedAtMs: parts.world.clock.monotonicMs() - downForMs })
    return nextPass(viewOf(parts, null), new Semisync(parts))
  }

  it('tries again at once, and later each time once that has failed again and again', async () => {
    expect((await after(3, 0)).steps).toEqual(starts)
    const pass = await after(5, 500)
    expect(pass.steps).toBeUndefined()
    expect(pass.next).toEqual({ afterMs: expect.closeTo(1_500, -2) as number })
    expect(String(saidBy(pass))).toBe(
      'mysqld stays down: 5 starts in a row failed, and the next one comes 2 s after the last',
    )
    expect((await after(5, 2_001)).steps).toEqual(starts)
    expect((await after(500, 14_000)).steps).toBeUndefined()
    expect((await after(500, 15_001)).steps).toEqual(starts)
  })
})

describe('With its mysqld dead, an agent', () => {
  it.each<[string, Case, NonNullable<NextPass['steps']>, string]>([
    [
      'starts the server of a replica, closed',
      { stored: { assignment: replicaOfEpoch3 } },
      starts,
      'starting mysqld: read-only, offline, replication stopped',
    ],
    [
      'takes back a copy that was not proven, before anything else',
      { stored: { unproven: true, promise: 4, ...tail } },
      [{ do: 'takeBack' }],
      '',
    ],
    [
      'waits while a seeding has not ended',
      { stored: { seeding: true, assignment: replicaOfEpoch3 } },
      [],
      'mysqld stays down: a seeding has not ended; it waits to be seeded again',
    ],
    [
      'that promised a newer epoch as primary reports what the dead server holds, and starts nothing before that',
      { stored: { promise: 4, ...tail } },
      [{ do: 'reportTheDead', epoch: 4, purged: '' }],
      'stopped under the promise of epoch 4',
    ],
    [
      'that promised a newer epoch after it was primary, and was assigned to follow, does so too',
      { stored: { promise: 4, ...follows } },
      [{ do: 'reportTheDead', epoch: 4, purged: '' }],
      'stopped under the promise of epoch 4',
    ],
    [
      'that promised a newer epoch as primary, and reported, finds out how its server ended',
      { stored: { promise: 4, ...tail }, course: report(true) },
      [{ do: 'initialiseWhereEmpty' }, { do: 'readEnding' }],
      '',
    ],
    [
      'that promised a newer epoch as primary keeps its server down',
      { stored: { promise: 4, ...tail }, course: report(true), life: crashed },
      [],
      'mysqld stays down: it was primary and promised epoch 4',
    ],
    [
      'that promised a newer epoch as replica starts its server, to say what that holds',
      { stored: { promise: 4, assignment: replicaOfEpoch3 } },
      starts,
      'starting mysqld: read-only, offline, replication stopped',
    ],
    [
      'of a primary stores a doubt that its disk did not take, before anything is started or cut',
      { stored: tail, life: crashed, course: { binlogSet: held }, doubts: { raised: 1, unkept: 1 } },
      [{ do: 'keepDoubt' }],
      '',
    ],
    [
      'of a primary waits for its manager',
      { stored: tail, life: crashed, course: { binlogSet: held } },
      [],
      'mysqld stays down: it was primary; it waits for the manager to fail over or to let it start again',
    ],
    [
      'of a primary that a stranger stopped has the doubt on disk first, also where it may start again',
      { stored: tail, life: stopped, course: { binlogSet: held }, told: { mayRestart: true } },
      [{ do: 'keepAsUnsettled', ending: stopped.ending }],
      '',
    ],
    [
      'of a primary that may start again starts it, to be opened in place',
      { stored: tail, life: crashed, course: { binlogSet: held, reopening: true }, told: { mayRestart: true } },
      starts,
      'starting mysqld: read-only, offline, replication stopped',
    ],
    [
      'of a primary that heard no manager for long does so by itself',
      {
        stored: tail,
        life: crashed,
        course: { binlogSet: held, reopening: true },
        told: { trustsAssignment: true },
        silentForMs: 1e7,
      },
      starts,
      'starting mysqld: read-only, offline, replication stopped',
    ],
    [
      'of a primary whose volume may be of the past waits for its manager, however long no manager was heard',
      { stored: tail, life: crashed, course: { binlogSet: held }, told: { trustsAssignment: false }, silentForMs: 1e7 },
      [],
      'mysqld stays down: it was primary; it waits for the manager to fail over or to let it start again',
    ],
    [
      'that follows another primary now waits to hear what that holds',
      { stored: follows, life: crashed, course: { binlogSet: held } },
      [],
      'mysqld stays down: it waits to hear what the new primary holds, to judge its own tail',
    ],
    [
      'whose tail the new primary holds settles that',
      { stored: follows, life: crashed, course: { binlogSet: held }, told: { sourceHolds: held } },
      [{ do: 'settle', raised: 0, change: { mayHaveTail: false } }],
      '',
    ],
    [
      'whose tail the new primary lacks has it judged',
      { stored: follows, life: crashed, course: { binlogSet: held }, told: { sourceHolds: gtids('shop-0', 99) } },
      [{ do: 'judgeTail', sourceHolds: gtids('shop-0', 99) }],
      '',
    ],
    [
      'whose tail was judged to be cut archives and cuts it',
      {
        stored: follows,
        life: { ...crashed, tail: { kind: 'trim', gtids: held, sentence: '' } },
        course: { binlogSet: held },
        told: { sourceHolds: gtids('shop-0', 99) },
      },
      [{ do: 'cutTail', sourceHolds: gtids('shop-0', 99), transactions: 1 }, tailIsJudged],
      '',
    ],
    [
      'whose tail is not to be cut keeps it, and it is said what becomes of it',
      {
        stored: follows,
        life: { ...crashed, tail: { kind: 'refuse', gtids: held, sentence: 'only SQL reaches the host' } },
        course: { binlogSet: held },
        told: { sourceHolds: gtids('shop-0', 99) },
      },
      [
        {
          do: 'notice',
          code: 'TailKept',
          sentence: saying(
            'the tail of 1 transaction stays: only SQL reaches the host; what the primary lacks of it is ErrantTransactions',
          ) as unknown as Sentence,
        },
        tailIsJudged,
      ],
      '',
    ],
    [
      'never cuts a tail that may have been acknowledged',
      {
        stored: { ...follows, unsettled: true },
        life: { ...stopped, tail: { kind: 'trim', gtids: held, sentence: '' } },
        course: { binlogSet: held },
        told: { sourceHolds: gtids('shop-0', 99) },
      },
      [{ do: 'archiveUnsettled', extra: `${uuidOf('shop-0')}:100` }, tailIsJudged],
      '',
    ],
  ])('%s', async (_, known, steps, sentence) => {
    const pass = await decided('dead', known)
    expect([pass.steps ?? [], saidBy(pass)]).toEqual([steps, sentence])
  })

  it('that promised as replica remembers that it stopped in order, before its server starts again', async () => {
    const stored = { promise: 4, stoppedInOrder: false, assignment: replicaOfEpoch3 }
    expect(await decided('dead', { stored, course: report(false) })).toEqual({
      store: { stoppedInOrder: true },
      next: 'at once',
    })
  })
})

describe('With its mysqld running, an agent', () => {
  it.each<[string, Partial<StoredState>, NonNullable<NextPass['steps']>]>([
    [
      'that promised a newer epoch as primary kills it, never drains it, and reports after that',
      { promise: 4, ...tail },
      [{ do: 'kill' }, { do: 'reportTheDead', epoch: 4, purged: '' }],
    ],
    [
      'that promised a newer epoch as replica stops receiving before it reads what it reports',
      { promise: 4, assignment: replicaOfEpoch3 },
      [{ do: 'stopReceiver' }, { do: 'setAcknowledging', on: false }, { do: 'reportHeld', epoch: 4 }],
    ],
    [
      'that gives up what it has reports nothing of that',
      { promise: 4, seeding: true, assignment: replicaOfEpoch3 },
      [{ do: 'know', fact: { fact: 'reported', report: { epoch: 4, holds: '', executed: '', asPrimary: false } } }],
    ],
  ])('%s', async (_, stored, steps) => {
    const pass = await decided('running', { stored })
    expect([pass.steps, saidBy(pass)]).toEqual([steps, 'stopped under the promise of epoch 4'])
  })

  it('looks at it before anything is decided by what it says', async () => {
    const assignments: readonly Assignment[] = [primaryOfEpoch3, replicaOfEpoch3]
    for (const assignment of assignments)
      expect(await decided('running', { stored: { assignment }, life: { stage: opened } })).toEqual({
        next: 'after a look',
      })
  })
})
