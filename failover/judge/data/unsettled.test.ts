import { saying } from '#test/support/said-as-text.ts'
import { describe, expect, it } from 'vitest'
import { anObservation, aSnapshot, memberOf, type ViewOverrides } from '#topology/testing.ts'
import { decide } from '#failover/decide.ts'
import { isUnsettled, revocation } from '../election/durability.ts'
import { emptyNotes, type ClusterNotes } from '#failover/protocol/notes.ts'
import { aRecord, aSituation, deadServer, lostAgent, ordersOf, promised, shop0, shop1 } from '#failover/testing.ts'
import { saysUnsettled, withUnsettled } from './unsettled.ts'

const note = { member: shop0, epoch: 1, agentRun: 'run-of-shop-0', sequence: 7 } as const
const noted: Partial<ClusterNotes> = { unsettled: [note] }
/** The start of its agent that was noted last. */
const start = { incarnation: 'b', earlierIncarnations: ['a'] }
const knowing = (more: Partial<ClusterNotes> = {}): ClusterNotes => ({
  ...emptyNotes,
  incarnations: { [shop0]: ['b', 'a'] },
  ...more,
})

function heardOf(primary: ViewOverrides) {
  return aSnapshot({ 'shop-0': { sequence: 7, ...primary, stored: { ...start, ...primary.stored } } })
}

describe('a primary that was noted as unsettled', () => {
  it.each<[string, ViewOverrides]>([
    ['was never heard by this manager', { unheard: true }],
    ['is silent, and was settled when it was last heard', lostAgent],
    ['is on another volume now', { member: 'shop-0@other' }],
  ])('is so although it %s: the sync set alone revokes nothing', (_what, primary) => {
    const situation = aSituation({
      notes: noted,
      views: { 'shop-0': primary, 'shop-1': promised(), 'shop-2': promised() },
    })
    expect(isUnsettled(situation)).toBe(true)
    expect(revocation(situation, 2)).toMatchObject({
      revoked: false,
      missing: saying(/^its agent must promise/),
    })
  })

  it('is not failed over from by a manager that never heard its agent, which says who must come back', () => {
    const decision = decide(
      aSituation({
        notes: noted,
        nowMs: 60_000,
        views: { 'shop-0': { unheard: true } },
        snapshot: aSnapshot({ 'shop-0': { unheard: true }, 'shop-1': gone(), 'shop-2': gone() }),
      }),
    )
    expect(decision.sentence).toMatch(
      /^no automatic failover: .* its last writes may have been acknowledged and no replica that could lead holds them all; bring back shop-0, or/,
    )
    expect(ordersOf(decision)).toEqual([])
  })

  it('counts no more once another one leads', () => {
    expect(isUnsettled(aSituation({ notes: noted, record: { epoch: 2, primary: shop1, syncSet: [shop0] } }))).toBe(
      false,
    )
  })
})

/** A replica that has lost its source. */
function gone(): ViewOverrides {
  return { server: { channel: { ioRunning: 'connecting', silentMs: null } } }
}

describe('a note of an unsettled tail', () => {
  it('is made of what the record’s primary says, with which word that was, and once', () => {
    const heard = heardOf({ ...deadServer, stored: { unsettled: true } })
    expect(saysUnsettled(knowing(), heard, aRecord())).toBe(true)
    const notes = withUnsettled(knowing(), heard, aRecord())
    expect(notes).toEqual(knowing(noted))
    expect(saysUnsettled(notes, heard, aRecord())).toBe(false)
    expect(withUnsettled(notes, heardOf({ sequence: 8, stored: { unsettled: true } }), aRecord())).toBe(notes)
  })

  it('is not made of another one, nor of a volume that went back in time', () => {
    const other = aSnapshot({ 'shop-1': { stored: { unsettled: true } } })
    expect(withUnsettled(knowing(), other, aRecord())).toEqual(knowing())
    const past = heardOf({ stored: { unsettled: true, incarnation: 'c', earlierIncarnations: [] } })
    expect(withUnsettled(knowing(), past, aRecord())).toEqual(knowing())
  })

  it.each<[string, boolean, ViewOverrides]>([
    ['the same run of its agent says later that it is settled', true, { sequence: 8 }],
    ['a later run says so', true, { agentRun: 'next', sequence: 1 }],
    ['its agent still says that it is not', false, { sequence: 8, stored: { unsettled: true } }],
    ['a word from before it comes late', false, { sequence: 6 }],
    [
      'a word of an earlier run comes late',
      false,
      { agentRun: 'before', stored: { incarnation: 'a', earlierIncarnations: [] } },
    ],
    [
      'its volume went back in time',
      false,
      { agentRun: 'next', stored: { incarnation: 'c', earlierIncarnations: [] } },
    ],
    [
      'a run says so that is not noted yet',
      false,
      { agentRun: 'next', stored: { incarnation: 'c', earlierIncarnations: ['b', 'a'] } },
    ],
    ['another volume is there', false, { member: 'shop-0@other', agentRun: 'next' }],
  ])('when %s, goes: %s', (_what, goes, primary) => {
    const notes = withUnsettled(knowing(noted), heardOf(primary), aRecord())
    expect(notes).toEqual(goes ? knowing() : knowing(noted))
  })

  it('goes on the word of its member also when another one leads, and nobody else takes it away', () => {
    const record = aRecord({ epoch: 2, primary: shop1, syncSet: [shop0] })
    expect(withUnsettled(knowing(noted), aSnapshot({ 'shop-0': { unheard: true } }), record)).toEqual(knowing(noted))
    expect(withUnsettled(knowing(noted), heardOf({ sequence: 8 }), record)).toEqual(knowing())
  })

  it('is one of sixteen at most, the newest', () => {
    const many = Array.from({ length: 16 }, (_, number) => ({ ...note, member: memberOf(`shop-${number + 1}`) }))
    const { unsettled } = withUnsettled(
      knowing({ unsettled: many }),
      heardOf({ stored: { unsettled: true } }),
      aRecord(),
    )
    expect(unsettled).toHaveLength(16)
    expect(unsettled?.at(-1)).toEqual(note)
  })

  it('is not made before there is a record', () => {
    expect(
      saysUnsettled(
        knowing(),
        aSnapshot({ 'shop-0': anObservation({ instance: 'shop-0', stored: { unsettled: true } }) }),
        undefined,
      ),
    ).toBe(false)
  })
})
