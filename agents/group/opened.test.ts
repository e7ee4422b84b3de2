import { describe, expect, it } from 'vitest'
import type { Assignment, GroupTask } from '#failover/protocol/assignment.ts'
import { groupName, inGroup, outsideGroup, type GroupShape } from '#topology/testing-group.ts'
import type { ServerOverrides } from '#topology/testing.ts'
import type { Parts } from '../instance/parts.ts'
import { viewOf } from '../instance/pass.ts'
import type { VolumePort } from '../ports/volume.ts'
import type { GroupPort } from '../ports/group.ts'
import { runPass } from '../converge/runner.ts'
import { aServerState, primaryOfEpoch3, replicaOfEpoch3, ScriptedServer, testParts } from '../testing.ts'
import { settable } from '../testing-known.ts'
import { Group } from './group.ts'

const closed: ServerOverrides = { readOnly: true, superReadOnly: true, offlineMode: true }
const readable: ServerOverrides = { ...closed, offlineMode: false }
const open: ServerOverrides = { readOnly: false, superReadOnly: false, offlineMode: false }
const led1: GroupShape = { primary: 'shop-1' }
const group: GroupTask = { name: groupName, does: 'stayOut', consistency: 'BEFORE_ON_PRIMARY_FAILOVER' }

type Look = readonly [GroupShape, ServerOverrides]

/** The agent of shop-0 sees this, one look after the other, and does what follows from each. */
async function after(...looks: readonly Look[]): Promise<Parts> {
  return afterReading({}, ...looks)
}

async function afterReading(volume: Partial<VolumePort>, ...looks: readonly Look[]): Promise<Parts> {
  const server = new ScriptedServer(aServerState())
  const parts = await testParts(server, { volume })
  await parts.file.update({ promise: 3, revision: 10 })
  settable(parts).told.trustsAssignment = true
  const mode = new Group(parts)
  for (const [sees, more] of looks) {
    server.state = aServerState(inGroup('shop-0', sees, more))
    const does = sees.state === 'OFFLINE' ? 'stayOut' : 'join'
    const assignment: Assignment = { ...replicaOfEpoch3, group: { ...group, does } }
    await runPass(parts, mode.next(viewOf(parts, server.state), assignment))
  }
  return parts
}

const isInDoubt = async (...looks: readonly Look[]) => (await after(...looks)).file.current.opened

describe('A member that is not to write', () => {
  it('is in doubt once another hand opened it, and says so once', async () => {
    const parts = await after([led1, readable], [led1, open], [led1, readable], [led1, open])
    expect(parts.file.current.opened).toBe(true)
    expect(parts.notices.list.map(({ code, sentence }) => `${code}: ${String(sentence)}`)).toEqual([
      'OpenedByHand: this instance was opened for writes by another hand while it was no primary: nobody can tell what was written, and it counts for nothing until it is seeded',
    ])
  })

  it('is in doubt also where only those with CONNECTION_ADMIN may write', async () => {
    expect(await isInDoubt([led1, readable], [led1, { ...readable, superReadOnly: false }])).toBe(true)
  })

  it('is in doubt outside of the group too', async () => {
    expect(await isInDoubt([outsideGroup(), closed], [outsideGroup(), open])).toBe(true)
  })

  it('is in doubt where transactions began at it, although it was closed at each look', async () => {
    const parts = await after(
      [{ ...led1, proposed: 7 }, readable],
      [{ ...led1, proposed: 7 }, readable],
      [{ ...led1, proposed: 9 }, readable],
    )
    expect(parts.notices.list.map(({ sentence }) => sentence)).toEqual([
      '2 transactions began here by another hand while it was no primary: nobody can tell what was written, and it counts for nothing until it is seeded',
    ])
  })
})

describe('What began at a member that was closed at each look', () => {
  const looks: readonly Look[] = [
    [{ ...led1, proposed: 7 }, readable],
    [{ ...led1, proposed: 9 }, readable],
    [{ ...led1, proposed: 9 }, readable],
  ]
  const codes = async (begunHere: VolumePort['begunHere']) =>
    (await afterReading({ begunHere }, ...looks)).notices.list.map(({ code }) => code)

  it('is no reason for doubt where the binlogs say that all of it changed no data, from where they ended before', async () => {
    const asked: unknown[] = []
    const found = await codes(async (from) => {
      asked.push(from)
      return { all: 2, changing: 0 }
    })
    const { binlogNumber, binlogPosition = 0 } = aServerState()
    expect([found, asked]).toEqual([[], [{ file: binlogNumber, position: binlogPosition }]])
  })

  it.each<[string, VolumePort['begunHere'], readonly string[]]>([
    ['where a part of it did', async () => ({ all: 2, changing: 1 }), ['OpenedByHand']],
    ['where it is not found', async () => ({ all: 1, changing: 0 }), ['OpenedByHand']],
    ['where nobody can read it', () => Promise.reject(new Error('damaged')), ['BegunNotRead', 'OpenedByHand']],
  ])('is one %s', async (_, begunHere, said) => {
    expect(await codes(begunHere)).toEqual(said)
  })
})

describe('A member of a group that another hand formed', () => {
  it('is in doubt, on disk, before it leaves that: what is written there may have the names that the group gives as well', async () => {
    const server = new ScriptedServer(aServerState(inGroup('shop-0', { members: { 'shop-0': 'ONLINE' } }, open)))
    const stop = async (): Promise<void> => void server.calls.push(`stop, in doubt: ${parts.file.current.opened}`)
    const parts = await testParts(Object.assign(server, { group: { stop } as unknown as GroupPort }))
    await parts.file.update({ promise: 3, revision: 10 })
    const assignment: Assignment = { ...replicaOfEpoch3, group: { ...group, fork: true } }
    const mode = new Group(parts)
    for (let pass = 0; pass < 2; pass += 1) await runPass(parts, mode.next(viewOf(parts, server.state), assignment))
    expect(server.calls.at(-1)).toBe('stop, in doubt: true')
    expect(parts.file.current.forked).toBe(true)
    expect(parts.notices.list.map(({ sentence }) => sentence)).toEqual([
      'this instance was in a group that was formed by another hand while it was no primary: nobody can tell what was written, and it counts for nothing until it is seeded',
    ])
  })
})

it('A member that was in doubt before knows as well that it was in a group that another hand formed, and says no more', async () => {
  const server = new ScriptedServer(aServerState(inGroup('shop-0', { members: { 'shop-0': 'ONLINE' } }, open)))
  const parts = await testParts(server)
  await parts.file.update({ promise: 3, revision: 10, opened: true })
  const assignment: Assignment = { ...replicaOfEpoch3, group: { ...group, fork: true } }
  await runPass(parts, new Group(parts).next(viewOf(parts, server.state), assignment))
  expect([parts.file.current.forked, parts.notices.list]).toEqual([true, []])
})

it('A member that forms the group gives its names from then on, whatever group it was in before', async () => {
  const server = new ScriptedServer(aServerState(inGroup('shop-0', { members: { 'shop-0': 'ONLINE' } }, closed)))
  const parts = await testParts(server)
  await parts.file.update({ promise: 3, revision: 10, opened: true, forked: true })
  const assignment: Assignment = { ...primaryOfEpoch3, group: { ...group, does: 'form' } }
  await runPass(parts, new Group(parts).next(viewOf(parts, server.state), assignment))
  expect(parts.file.current).toMatchObject({ formedEpoch: 3, opened: true, forked: false })
})

describe('Nobody is in doubt', () => {
  it.each<[string, readonly Look[]]>([
    [
      'whom the group makes primary',
      [
        [led1, readable],
        [{}, open],
        [{}, open],
      ],
    ],
    [
      'whom the group closes a moment after it made another one primary',
      [
        [{}, open],
        [led1, open],
        [led1, readable],
      ],
    ],
    [
      'who was primary and wrote',
      [
        [{ proposed: 3 }, open],
        [{ ...led1, proposed: 9 }, readable],
        [{ ...led1, proposed: 9 }, readable],
      ],
    ],
    [
      'who joined again, and counts from the beginning',
      [
        [{ ...led1, proposed: 9 }, readable],
        [outsideGroup(), closed],
        [{ ...led1, proposed: 0 }, readable],
        [{ ...led1, proposed: 0 }, readable],
      ],
    ],
    [
      'whom another hand had the group make a second primary',
      [
        [led1, readable],
        [{ writers: ['shop-0', 'shop-1'] }, open],
        [{ ...led1, proposed: 2 }, open],
        [{ ...led1, proposed: 2 }, readable],
      ],
    ],
    ['who was never seen closed', [[led1, open]]],
  ])('%s', async (_, looks) => {
    expect(await isInDoubt(...looks)).toBe(false)
  })
})
