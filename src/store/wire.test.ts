import { describe, expect, it } from 'vitest'
import { emptyNotes, type ClusterNotes } from '#failover/protocol/notes.ts'
import { codeOf, describeError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import { shop } from './contract.ts'
import { decodeText } from './shape.ts'
import { parseNotes, parseRecord, printNotes, printRecord } from './wire.ts'

const notes: ClusterNotes = {
  ...emptyNotes,
  paused: { reason: 'upgrade', wallMs: 1 },
  fenced: [{ instance: 'shop-1', keepPrimary: false, wallMs: 2.5 }],
  instances: 5,
  lastFailoverWallMs: 3,
  automaticFailovers: [1, 3],
  incarnations: { 'shop-0@a0': ['f00', 'e99'] },
  recoveries: [
    {
      id: 'r1',
      kind: 'failover',
      startedWallMs: 3,
      analysis: 'DeadPrimary',
      sentence: 'shop-0 died',
      from: 'shop-0@a0',
      to: null,
      fromEpoch: 1,
      toEpoch: 2,
      outcome: 'running',
      timeline: [{ atMs: 0.25, what: 'detected' }],
    },
  ],
}

const recordWith = (change: object) => JSON.stringify({ ...shop, ...change })
const notesWith = (change: object) => JSON.stringify({ ...notes, ...change })
const recordWithout = (field: string) =>
  JSON.stringify(Object.fromEntries(Object.entries(shop).filter(([key]) => key !== field)))

function failureOf(work: () => unknown): string {
  try {
    work()
  } catch (error) {
    return `${codeOf(error)} ${describeError(error)}`
  }
  return 'no error'
}

const ofGroup = { name: '0a0a0a0a-0b0b-8c0c-8d0d-0e0e0e0e0e0e', forming: false }

describe('A stored record', () => {
  it('of a group is read with the view by which that group was followed, and without', () => {
    for (const group of [ofGroup, { ...ofGroup, view: '17321234567890123:6' }])
      expect(parseRecord(recordWith({ group }), say`record of shop`).group).toEqual(group)
  })

  it('is read back as it was written', () => {
    expect(parseRecord(printRecord(shop, say`here`), say`here`)).toEqual(shop)
    const fetching = { ...shop, intent: { kind: 'fetch', by: 'x', candidate: 'shop-1@b1' } } as const
    expect(parseRecord(printRecord(fetching, say`here`), say`here`)).toEqual(fetching)
    const group = { ...ofGroup, parted: true } as const
    const chosen = { ...shop, doubted: { since: 2, members: ['shop-1@b1'] }, group } as const
    expect(parseRecord(printRecord(chosen, say`here`), say`here`)).toEqual(chosen)
  })

  it.each([
    ['not JSON', '{', 'is not JSON'],
    ['empty', '', 'is not JSON'],
    ['a list', '[]', 'must be a JSON object'],
    ['null', 'null', 'must be a JSON object'],
    ['no version', recordWithout('version'), 'version is missing'],
    ['a version of zero', recordWith({ version: 0 }), 'version is 0'],
    ['a version in words', recordWith({ version: 'one' }), 'version is "one"'],
    ['a missing field', recordWithout('acks'), 'lacks "acks"'],
    ['a group with a view that is none', recordWith({ group: { ...ofGroup, view: 'newest' } }), '"newest"'],
    ['epoch zero', recordWith({ epoch: 0 }), 'epoch is 0'],
    ['revision zero', recordWith({ revision: 0 }), 'revision is 0'],
    ['a fraction', recordWith({ epoch: 1.5 }), 'epoch is 1.5'],
    ['an epoch no number can count on from', recordWith({ epoch: 2 ** 53 }), 'epoch is 9007199254740992'],
    ['an epoch in quotes', recordWith({ epoch: '1' }), 'epoch is "1"'],
    ['acks below zero', recordWith({ acks: -1 }), 'acks is -1'],
    ['acksWanted below acks', recordWith({ acks: 2, acksWanted: 1 }), 'acksWanted is 1'],
    ['no primary', recordWith({ primary: null }), 'primary is null'],
    ['a primary without a volume', recordWith({ primary: 'shop-0' }), 'primary is "shop-0"'],
    [
      'a member of another cluster',
      recordWith({ primary: 'mall-0@a0' }),
      '"mall-0@a0" is not a member of the cluster shop',
    ],
    [
      'a member of a cluster whose name begins alike',
      recordWith({ primary: 'shop-a-0@a0' }),
      'is not a member of the cluster shop',
    ],
    ['the primary in its own sync set', recordWith({ syncSet: ['shop-0@a0', 'shop-2@c2'] }), 'is in its own syncSet'],
    ['a leaver that is not in the sync set', recordWith({ syncSet: ['shop-1@b1'] }), 'leaving has "shop-2@c2"'],
    [
      'a member twice',
      recordWith({ syncSet: ['shop-2@c2', 'shop-2@c2'] }),
      '"shop-2@c2" is in syncSet or leaving twice',
    ],
    ['a sync set that is a text', recordWith({ syncSet: 'shop-1@b1' }), 'syncSet is "shop-1@b1"'],
    ['an intent of an unknown kind', recordWith({ intent: { kind: 'dance', by: 'x' } }), 'intent'],
    ['half an intent', recordWith({ intent: { kind: 'fetch', by: 'x' } }), 'lacks "candidate"'],
  ])('with %s is refused, naming what is wrong', (_, text, complaint) => {
    const failure = failureOf(() => parseRecord(text, say`record of shop`))
    expect(failure).toContain('REGENT_BAD_FILE record of shop')
    expect(failure).toContain(complaint)
  })

  it('of a newer version is refused with a sentence, whatever else is in it', () => {
    expect(failureOf(() => parseRecord('{"version":2,"shape":"unknown"}', say`record of shop`))).toBe(
      'REGENT_NEWER_VERSION record of shop was written by a newer Regent: version 2, and this one understands up to 1',
    )
  })

  it.each([
    ['it', { hue: 'red' }, 'the top level has the unknown key "hue"'],
    ['its group', { group: { ...ofGroup, hue: 'red' } }, 'group has the unknown key "hue"'],
    [
      'its intent',
      { intent: { kind: 'fetch', by: 'x', candidate: 'shop-1@b1', hue: 'red' } },
      'the top level has the unknown key "hue"',
    ],
  ])('with a field in %s that a newer Regent may have written is not called damaged', (_, change, complaint) => {
    const failure = failureOf(() => parseRecord(recordWith(change), say`record of shop`))
    expect(failure).toContain('REGENT_NEWER_VERSION record of shop')
    expect(failure).toContain(complaint)
    expect(failure).toContain('A newer Regent wrote that, or another hand')
  })

  it('with an unknown field and another fault is damaged', () => {
    expect(failureOf(() => parseRecord(recordWith({ hue: 'red', epoch: 0 }), say`record of shop`))).toContain(
      'REGENT_BAD_FILE record of shop',
    )
  })

  it('that breaks a rule is never printed', () => {
    expect(failureOf(() => printRecord({ ...shop, epoch: 0 }, say`next record`))).toContain(
      'REGENT_BAD_FILE next record: epoch is 0',
    )
  })
})

describe('Stored notes', () => {
  it('are read back as they were written', () => {
    expect(parseNotes(printNotes(notes, say`here`), say`here`)).toEqual(notes)
    expect(parseNotes(printNotes(emptyNotes, say`here`), say`here`)).toEqual(emptyNotes)
    const unsettled = {
      ...notes,
      unsettled: [{ member: 'shop-0@a0', epoch: 2, agentRun: 'f00', sequence: 9 }],
    } as const
    expect(parseNotes(printNotes(unsettled, say`here`), say`here`)).toEqual(unsettled)
  })

  it('hold downtimes of instances, one each', () => {
    const with1 = { ...notes, downtimes: [{ instance: 'shop-1', untilWallMs: 5, reason: 'new disk', owner: 'ann' }] }
    expect(parseNotes(printNotes(with1, say`here`), say`here`)).toEqual(with1)
  })

  it('hold who has which instance in maintenance, each with a whole number', () => {
    const held = { id: 1_764_331_200_000, owner: 'ann', reason: 'disk', beganWallMs: 1.5, untilWallMs: 600_001.5 }
    const said = { ...notes, annotations: { maintenances: { 'shop-1': held } } }
    expect(parseNotes(printNotes(said, say`here`), say`here`)).toEqual(said)
    const broken = { ...notes, annotations: { maintenances: { 'shop-1': { ...held, id: 1.5 } } } }
    expect(failureOf(() => printNotes(broken, say`here`))).not.toBe('no error')
  })

  it('of an older manager, which knew of the last failover only, are read', () => {
    const { automaticFailovers: _, ...older } = notes
    expect(parseNotes(JSON.stringify(older), say`here`)).toEqual(older)
  })

  it.each([
    ['more failovers than are kept', notesWith({ automaticFailovers: Array(33).fill(1) }), 'automaticFailovers'],
    ['a number of instances out of range', notesWith({ instances: 17 }), 'instances is 17'],
    ['paused without a reason', notesWith({ paused: { wallMs: 1 } }), 'paused lacks "reason"'],
    [
      'a fence without a name',
      notesWith({ fenced: [{ instance: '', keepPrimary: true, wallMs: 1 }] }),
      'fenced.0.instance is ""',
    ],
    [
      'a downtime that ends never',
      notesWith({ downtimes: [{ instance: 'shop-1', untilWallMs: 1e17, reason: '', owner: '' }] }),
      'downtimes.0.untilWallMs is 100000000000000000',
    ],
    [
      'more downtimes than instances can have',
      notesWith({ downtimes: Array(101).fill({ instance: 'shop-1', untilWallMs: 1, reason: '', owner: '' }) }),
      'downtimes',
    ],
    [
      'an unsettled tail of nobody',
      notesWith({ unsettled: [{ member: 'shop-0', epoch: 1, agentRun: 'x', sequence: 1 }] }),
      'unsettled.0.member is "shop-0"',
    ],
    ['an incarnation of nobody', notesWith({ incarnations: { shop: 'x' } }), 'unknown key "shop"'],
    ['too many recoveries', notesWith({ recoveries: Array(51).fill(notes.recoveries[0]) }), 'recoveries'],
    [
      'an outcome nobody knows',
      notesWith({ recoveries: [{ ...notes.recoveries[0], outcome: 'fine' }] }),
      'recoveries.0.outcome is "fine"',
    ],
    [
      'a time that is a text',
      notesWith({ recoveries: [{ ...notes.recoveries[0], timeline: [{ atMs: '1', what: '' }] }] }),
      'recoveries.0.timeline.0.atMs is "1"',
    ],
  ])('with %s are refused, naming what is wrong', (_, text, complaint) => {
    const failure = failureOf(() => parseNotes(text, say`notes of shop`))
    expect(failure).toContain('REGENT_BAD_FILE notes of shop')
    expect(failure).toContain(complaint)
  })

  it('of a newer version, or with a field that a newer Regent may have written, are refused as that', () => {
    expect(failureOf(() => parseNotes(notesWith({ hue: [] }), say`notes of shop`))).toContain('REGENT_NEWER_VERSION')
    expect(failureOf(() => parseNotes(notesWith({ version: 9 }), say`notes of shop`))).toContain('REGENT_NEWER_VERSION')
  })
})

describe('Bytes of a stored object', () => {
  it('that are not UTF-8, or far too many, are refused', () => {
    expect(failureOf(() => decodeText(Uint8Array.of(0x7b, 0xff), say`record of shop`))).toBe(
      'REGENT_BAD_FILE record of shop is not UTF-8 text',
    )
    expect(failureOf(() => decodeText(new Uint8Array(9 * 1024 * 1024), say`record of shop`))).toContain(
      'REGENT_BAD_FILE record of shop has 9437184 bytes',
    )
  })
})
