import { describe, expect, it } from 'vitest'
import { GtidSet } from '#topology/gtid/gtid-set.ts'
import type { Archive } from '../archive/history.ts'
import { describePlan, planRestore, type Asked, type Target } from './restore-plan.ts'
import { whyNotForServer } from './server-fit.ts'
import { aManifest, aPiece, sourceA, sourceB, startMs } from '../objects/testing.ts'

const second = (seconds: number) => startMs + seconds * 1_000
const ten = (nth: number, given = {}) =>
  aPiece({
    from: nth * 10 + 1,
    to: nth * 10 + 10,
    preceding: nth * 10,
    firstMs: second(nth * 10 + 1),
    lastMs: second(nth * 10 + 10),
    offset: nth,
    ...given,
  })
const old = aManifest({ gtids: `${sourceA}:1-5`, endedAtMs: second(5) })
const newer = aManifest({ gtids: `${sourceA}:1-25`, endedAtMs: second(25) })
const whole: Archive = {
  manifests: [old, newer],
  openings: [{ epoch: 1, atMs: startMs, gtids: GtidSet.empty }],
  pieces: [0, 1, 2, 3].map((nth) => ten(nth)),
}

const plan = (target: Target, given: Partial<Asked> = {}, archive = whole) =>
  planRestore(archive, { target, serverVersion: '9.7.0', keyIds: [], ...given })
const gtids = (text: string) => GtidSet.parse(`${sourceA}:${text}`)

/** From which backup, which transactions of which pieces, and until when. */
function shown(target: Target, given: Partial<Asked> = {}, archive = whole) {
  const planned = plan(target, given, archive)
  if (planned.kind === 'refused') return String(planned.why)
  const steps = planned.steps.map((step) => step.gtids.toString().replace(`${sourceA}:`, ''))
  return [
    planned.backup === old ? 'old' : 'newer',
    steps,
    planned.untilMs,
    planned.gtids.toString().replace(`${sourceA}:`, ''),
  ]
}

it('To the newest a restore says where that is the end before a hole, and is silent of holes elsewhere', () => {
  const holed = { ...whole, pieces: whole.pieces.filter(({ from }) => Number(from) !== 31).concat(ten(4)) }
  const said = (target: Target) => {
    const planned = plan(target, {}, holed)
    return planned.kind === 'plan' ? String(describePlan(planned)) : ''
  }
  expect(said({ kind: 'newest' })).toMatch(
    /and 5 transactions behind that are replayed; behind that is a hole: the archive lacks 10 transactions/,
  )
  expect(said({ kind: 'moment', ms: second(27) })).not.toContain('hole')
  expect(said({ kind: 'backup', name: newer.name })).not.toContain('hole')
})

it('To the newest a restore takes the chain with the most transactions, where a clock was set back before a backup', () => {
  const back = { firstMs: second(-3_000), lastMs: second(-2_990) }
  const holed = [ten(0), ten(2), ten(3, back)]
  const afterHole = aManifest({ gtids: `${sourceA}:1-30`, endedAtMs: second(-3_001) })
  const archive = { ...whole, manifests: [old, afterHole], pieces: holed }
  expect(shown({ kind: 'newest' }, {}, archive)).toEqual(['newer', ['31-40'], null, '1-40'])
})

describe('a restore', () => {
  it.each<[Target, Partial<Asked>, unknown]>([
    [{ kind: 'newest' }, {}, ['newer', ['26-30', '31-40'], null, '1-40']],
    [{ kind: 'newest' }, { from: old.name }, ['old', ['6-10', '11-20', '21-30', '31-40'], null, '1-40']],
    [{ kind: 'backup', name: old.name }, {}, ['old', [], null, '1-5']],
    [{ kind: 'moment', ms: second(27) }, {}, ['newer', ['26-30'], second(27), '1-30']],
    [{ kind: 'moment', ms: second(30) }, {}, ['newer', ['26-30'], second(30), '1-30']],
    [{ kind: 'moment', ms: second(40) }, {}, ['newer', ['26-30', '31-40'], second(40), '1-40']],
    [{ kind: 'moment', ms: second(24) }, {}, ['old', ['6-10', '11-20', '21-30'], second(24), '1-30']],
    [{ kind: 'gtids', gtids: gtids('33') }, {}, ['newer', ['26-30', '31-33'], null, '1-33']],
    [{ kind: 'gtids', gtids: gtids('1-25') }, {}, ['newer', [], null, '1-25']],
    [{ kind: 'gtids', gtids: gtids('1-12') }, {}, ['old', ['6-10', '11-12'], null, '1-12']],
    [{ kind: 'before', gtids: gtids('33') }, {}, ['newer', ['26-30', '31-32'], null, '1-32']],
    [{ kind: 'before', gtids: gtids('31') }, {}, ['newer', ['26-30'], null, '1-30']],
    [{ kind: 'before', gtids: gtids('25') }, {}, ['old', ['6-10', '11-20', '21-24'], null, '1-24']],
  ])('to %j, asked with %j, takes the newest backup from which that can be reached', (target, given, expected) => {
    expect(shown(target, given)).toEqual(expected)
  })

  it('does not begin with a copy that may hold what is to be left out: it was committed while that was made', () => {
    const doubtful = { ...newer, gtidsAtMost: `${sourceA}:1-28` }
    const archive = { ...whole, manifests: [old, doubtful] }
    const from = (target: Target) => {
      const planned = plan(target, {}, archive)
      return planned.kind === 'plan' ? planned.backup : planned.why
    }
    expect(from({ kind: 'before', gtids: gtids('27') })).toBe(old)
    expect(from({ kind: 'before', gtids: gtids('29') })).toBe(doubtful)
    expect(from({ kind: 'gtids', gtids: gtids('1-27') })).toBe(old)
    expect(from({ kind: 'gtids', gtids: gtids('1-28') })).toBe(doubtful)
  })

  it('takes pieces that two senders shipped once', () => {
    const twice = {
      ...whole,
      pieces: [
        ...whole.pieces,
        ten(3, { from: 33, preceding: 32, sender: 'shop-1@b0' }),
        ten(2, { sender: 'shop-1@b0' }),
      ],
    }
    expect(shown({ kind: 'newest' }, {}, twice)).toEqual(shown({ kind: 'newest' }))
  })

  it('by its GTID finds what was lost at a failover, where that was shipped before', () => {
    const openings = [...whole.openings, { epoch: 2, atMs: second(41), gtids: gtids('1-35') }]
    const ofB = ten(4, { epoch: 2, source: sourceB, from: 1, to: 10, preceding: 35 })
    const archive = { ...whole, openings, pieces: [...whole.pieces, ofB] }
    expect(shown({ kind: 'newest' }, {}, archive)).toEqual([
      'newer',
      ['26-30', '31-35', `${sourceB}:1-10`],
      null,
      `1-35,${sourceB}:1-10`,
    ])
    expect(shown({ kind: 'gtids', gtids: gtids('38') }, {}, archive)).toEqual([
      'newer',
      ['26-30', '31-38'],
      null,
      '1-38',
    ])
  })

  it('up to transactions takes no backup that holds what a later primary did, and refuses where there is no other', () => {
    const openings = [...whole.openings, { epoch: 2, atMs: second(41), gtids: gtids('1-40') }]
    const ofB = ten(4, { epoch: 2, source: sourceB, from: 1, to: 10, preceding: 40 })
    const ofEpoch2 = { epoch: 2, gtids: `${sourceA}:1-40,${sourceB}:1-7`, endedAtMs: second(47) }
    const archive = { manifests: [old, aManifest(ofEpoch2)], openings, pieces: [...whole.pieces, ofB] }
    const target: Target = { kind: 'gtids', gtids: gtids('1-40') }
    expect(shown(target, {}, archive)).toEqual(['old', ['6-10', '11-20', '21-30', '31-40'], null, '1-40'])
    expect(shown(target, {}, { ...archive, manifests: [aManifest(ofEpoch2)] })).toBe(
      `transactions ${sourceA}:1-40 are in each backup, with later ones: an older backup is needed; possible is up to ${sourceA}:1-40,${sourceB}:1-10`,
    )
    const doubtful = aManifest({ ...ofEpoch2, gtids: gtids('1-40').toString(), gtidsAtMost: ofEpoch2.gtids })
    expect(shown(target, {}, { ...archive, manifests: [old, doubtful] })[0]).toBe('old')
    const exact = aManifest({ epoch: 2, gtids: gtids('1-40').toString(), endedAtMs: second(42) })
    expect(shown(target, {}, { ...archive, manifests: [old, exact] })).toEqual(['newer', [], null, '1-40'])
  })

  it('to a moment goes on behind a piece whose last transactions were lost at a failover, whatever their time', () => {
    const openings = [...whole.openings, { epoch: 2, atMs: second(36), gtids: gtids('1-35') }]
    const times = { firstMs: second(36), lastMs: second(38) }
    const ofB = ten(4, { epoch: 2, source: sourceB, from: 1, to: 10, preceding: 35, ...times })
    const archive = { ...whole, openings, pieces: [...whole.pieces, ofB] }
    const steps = ['26-30', '31-35', `${sourceB}:1-10`]
    expect(shown({ kind: 'moment', ms: second(37) }, {}, archive)).toEqual([
      'newer',
      steps,
      second(37),
      `1-35,${sourceB}:1-10`,
    ])
    expect(shown({ kind: 'moment', ms: second(37) }, {}, { ...archive, pieces: whole.pieces })).toContain(
      'to 2026-11-18T11:07:11Z',
    )
  })

  const possible = 'possible is 2026-11-18T11:06:45Z to 2026-11-18T11:07:20Z'
  const holed = { ...whole, manifests: [old], pieces: whole.pieces.filter(({ from }) => from !== 11) }
  const encrypted = {
    ...whole,
    manifests: [
      aManifest({
        ...old,
        encryption: { scheme: 'aes-256-gcm', keyId: 'k1', salt: '4'.repeat(64), signature: '5'.repeat(64) },
      }),
    ],
  }
  it.each<[Target, Partial<Asked>, Archive, string]>([
    [{ kind: 'moment', ms: second(4) }, {}, whole, `moment 2026-11-18T11:06:44Z is outside of the window: ${possible}`],
    [
      { kind: 'moment', ms: second(41) },
      {},
      whole,
      `moment 2026-11-18T11:07:21Z is outside of the window: ${possible}`,
    ],
    [
      { kind: 'moment', ms: second(35) },
      {},
      holed,
      `moment 2026-11-18T11:07:15Z is behind a hole: the archive lacks 10 transactions (${sourceA}:11-20), committed after ` +
        '2026-11-18T11:06:50Z and before 2026-11-18T11:07:01Z; possible is 2026-11-18T11:06:45Z to 2026-11-18T11:06:50Z',
    ],
    [
      { kind: 'gtids', gtids: gtids('1-41') },
      {},
      whole,
      `transactions ${sourceA}:41 are in no backup and behind none: possible is up to ${sourceA}:1-40`,
    ],
    [
      { kind: 'before', gtids: gtids('3') },
      {},
      whole,
      `transactions ${sourceA}:3 are in each backup, with later ones: an older backup is needed; possible is up to ${sourceA}:1-40`,
    ],
    [
      { kind: 'backup', name: '20200101T000000Z' },
      {},
      whole,
      `backup 20200101T000000Z is not there or not whole; there are: ${old.name}, ${newer.name}`,
    ],
    [
      { kind: 'newest' },
      {},
      { ...whole, manifests: [] },
      'the store has no whole backup of this cluster: make one first',
    ],
    [
      { kind: 'newest' },
      { serverVersion: '9.6.1' },
      whole,
      `backup ${newer.name} is of MySQL 9.7.0, which MySQL 9.6.1 is too old for: restore with MySQL 9.7.0 or newer`,
    ],
    [
      { kind: 'newest' },
      {},
      encrypted,
      `backup ${old.name} is encrypted with key k1, and no key was given: give the file of that key`,
    ],
    [
      { kind: 'newest' },
      { keyIds: ['k2', 'k3'] },
      encrypted,
      `backup ${old.name} is encrypted with key k1, not k2, k3: give the file of that key`,
    ],
  ])('to %j, asked with %j, is refused with what would be possible: %#', (target, given, archive, why) => {
    expect(shown(target, given, archive)).toBe(why)
  })

  it('with the key of the backup is possible', () => {
    expect(plan({ kind: 'newest' }, { keyIds: ['k2', 'k1'] }, encrypted).kind).toBe('plan')
  })
})

describe('a server', () => {
  it.each([
    ['8.0.26', '8.0.26', ''],
    ['8.0.44', '8.4.3', ''],
    ['8.4.3', '9.7.0', ''],
    ['9.6.0', '9.7.0', ''],
    ['9.7.2', '10.1.0', ''],
    [
      '9.7.1',
      '9.7.0',
      'backup b is of MySQL 9.7.1, which MySQL 9.7.0 is too old for: restore with MySQL 9.7.1 or newer',
    ],
    [
      '8.0.44',
      '9.7.0',
      'backup b is of MySQL 8.0.44, which MySQL 9.7.0 cannot upgrade: restore with MySQL 8.4, and upgrade then',
    ],
    [
      '8.4.3',
      '10.0.0',
      'backup b is of MySQL 8.4.3, which MySQL 10.0.0 cannot upgrade: restore with MySQL 8.4, and upgrade then',
    ],
  ])('opens data of MySQL %s with MySQL %s, or this is why not: %s', (backup, server, why) => {
    expect(String(whyNotForServer('b', backup, server))).toBe(why)
  })
})
