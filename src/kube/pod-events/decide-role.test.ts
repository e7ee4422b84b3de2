import { describe, expect, it } from 'vitest'
import { labels } from '../names/names.ts'
import { pods, type Pod } from '../pods/stateful-set.ts'
import type { Owner } from './component.ts'
import { mistakenMs } from './decide-role.ts'
import { marks, roleLabel } from './marks.ts'
import type { PodEvent } from './pod-event.ts'
import { contestedMs } from './role-board.ts'
import {
  aMember,
  anOwner,
  changed,
  decidedRole,
  exclusivePrimary,
  legacySaid,
  microsOf,
  roleSaid,
  said,
} from './testing-component.ts'

const owner = anOwner({ [marks.roles]: exclusivePrimary })

/** Later than all that is said here. */
const serverMs = Date.UTC(2026, 0, 2)

function decided(event: PodEvent, all: readonly Pod[], of: Owner | undefined = owner) {
  const pod = all.find(({ metadata }) => metadata.name === event.involvedObject?.name)
  return decidedRole(event, { pod, owner: of, peers: all.filter((other) => other !== pod), serverMs })
}

/** The pods after all of these were handled, in this order. */
function after(events: readonly PodEvent[], all: readonly Pod[], of: Owner = owner): readonly Pod[] {
  return events.reduce((now, event) => changed(now, decided(event, now, of).changes), all)
}

const rolesOf = (all: readonly Pod[]) => all.map(({ metadata }) => metadata.labels?.[roleLabel] ?? '-').join(' ')
const three = [aMember(0), aMember(1), aMember(2)]

/** A probe's word with this output, as it stands in the message. */
function badOutput(output: unknown): PodEvent {
  return said(0, 'roleProbe', { instance: 'db', probe: 'roleProbe', code: 0, output }, { at: 99 })
}

/** Every order of a list. */
function ordersOf<Item>(items: readonly Item[]): readonly (readonly Item[])[] {
  if (items.length < 2) return [items]
  return items.flatMap((item, at) => ordersOf(items.toSpliced(at, 1)).map((rest) => [item, ...rest]))
}

/** Numbers from 0 to 1, the same each time: `mulberry32`. */
function randomFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

describe('A role that a pod says it has', () => {
  it('becomes its label, with the time at which it was said', () => {
    const { changes, ...rest } = decided(roleSaid(1, 'secondary\n', { at: 90 }), three)
    expect(rest).toEqual({ weight: 'news', reason: 'RoleChanged', sentence: 'db-1 is secondary now' })
    expect(changes).toEqual([
      {
        resource: pods,
        key: { namespace: 'shops', name: 'db-1' },
        patch: {
          metadata: {
            resourceVersion: '7',
            labels: { [roleLabel]: 'secondary' },
            annotations: { [marks.snapshotVersion]: microsOf(90) },
          },
        },
      },
    ])
  })

  it.each([
    ['PRIMARY', exclusivePrimary, 'primary'],
    ['leader', '[{"name":"Leader"}]', 'Leader'],
    ['Anything-goes', undefined, 'anything-goes'],
  ])('is compared without regard to case and has the spelling of its definition: %s', (output, roles, label) => {
    const of = anOwner(roles === undefined ? {} : { [marks.roles]: roles })
    expect(rolesOf(after([roleSaid(0, output)], [aMember(0)], of))).toBe(label)
  })

  it('is one of those of its InstanceSet, where no annotation says otherwise', () => {
    const set = anOwner({}, { roles: [{ name: 'leader', isExclusive: true }, { name: 'follower' }] })
    const said = [roleSaid(0, 'leader', { at: 1 }), roleSaid(1, 'leader', { at: 2 })]
    expect(rolesOf(after(said, three, set))).toBe('- leader -')
  })

  it('that stays the same moves the time on, and is no news', () => {
    const decision = decided(roleSaid(0, 'primary', { at: 9 }), [
      aMember(0, { role: 'primary', snapshot: microsOf(8) }),
    ])
    expect(decision).toMatchObject({
      weight: 'routine',
      reason: 'RoleUnchanged',
      sentence: 'db-0 is primary, as before',
    })
    expect(decision.changes).toMatchObject([
      { patch: { metadata: { annotations: { [marks.snapshotVersion]: microsOf(9) } } } },
    ])
    expect(decision.changes[0]?.patch['metadata']).not.toHaveProperty('labels')
  })

  it('that is none takes the label away', () => {
    const decision = decided(roleSaid(0, '', { at: 9 }), [aMember(0, { role: 'primary', snapshot: microsOf(8) })])
    expect(String(decision.sentence)).toBe('db-0 has no role now')
    expect(decision.changes).toMatchObject([{ patch: { metadata: { labels: { [roleLabel]: null } } } }])
  })

  it('that its component does not have takes the label away, and is told', () => {
    const decision = decided(roleSaid(0, 'candidate'), [aMember(0, { role: 'primary' })])
    expect(decision).toMatchObject({ weight: 'warning', reason: 'RoleUndefined' })
    expect(String(decision.sentence)).toBe(
      'db-0 says it is "candidate", which is none of its component\'s roles (primary, secondary); db-0 has no role now',
    )
    expect(decision.changes).toMatchObject([{ patch: { metadata: { labels: { [roleLabel]: null } } } }])
  })

  it('that cannot be a label is no role, where the component defines none', () => {
    expect(decided(roleSaid(0, 'pri/mary'), [aMember(0)], anOwner())).toMatchObject({ reason: 'RoleUndefined' })
  })
})

describe('A role probe that failed', () => {
  it.each([
    ['primary', 'db-0: its role probe failed, and its label as primary stays: timedOut'],
    [undefined, 'db-0: its role probe failed, and it has no role, and gets none: timedOut'],
  ])('leaves the label %s, and says so', (role, sentence) => {
    const member = aMember(0, role === undefined ? {} : { role })
    expect(decided(roleSaid(0, 'secondary', { code: -1, message: 'timedOut' }), [member])).toEqual({
      changes: [],
      weight: 'warning',
      reason: 'RoleProbeFailed',
      sentence,
    })
  })
})

describe('Nothing changes', () => {
  const [labelled] = [aMember(0, { role: 'secondary', snapshot: microsOf(60) })]
  it.each([
    ['a pod of another uid', roleSaid(0, 'primary', { uid: 'uid-old', at: 99 }), 'PodGone', /another pod/],
    ['a pod that is gone', roleSaid(5, 'primary'), 'PodGone', /^db-5 is gone$/],
    ['what was said before', roleSaid(0, 'primary', { at: 59 }), 'RoleUnchanged', /is no later than/],
    ['what was said at that very moment', roleSaid(0, 'primary', { at: 60 }), 'RoleUnchanged', /is no later than/],
    ['what is no JSON', roleSaid(0, '', { event: { message: 'primary' } }), 'RoleNotUnderstood', /no role probe's/],
    ['an output that is no base64', badOutput('cHJpbWFyeQ'), 'RoleNotUnderstood', /no role probe's/],
    ['an output of other letters', badOutput('primary!'), 'RoleNotUnderstood', /no role probe's/],
    ['an output that is no text', badOutput(7), 'RoleNotUnderstood', /no role probe's/],
    ['three words', roleSaid(0, 'primary 7 x', { at: 99 }), 'RoleNotUnderstood', /neither a role nor/],
    ['a version that is no number', roleSaid(0, 'primary v7', { at: 99 }), 'RoleNotUnderstood', /neither a role nor/],
    ['a version that is too large', roleSaid(0, `primary ${2n ** 64n}`), 'RoleNotUnderstood', /neither a role nor/],
    ['a negative version', roleSaid(0, 'primary -1'), 'RoleNotUnderstood', /neither a role nor/],
    ['a snapshot without a term', roleSaid(0, '{"PodRoleNamePairs":[]}'), 'RoleNotUnderstood', /no snapshot/],
    ['a snapshot without pods', roleSaid(0, '{"term":"7"}'), 'RoleNotUnderstood', /no snapshot/],
  ])('by %s', (_what, event, reason, sentence) => {
    const decision = decided(event, [labelled])
    expect(decision).toMatchObject({ changes: [], reason })
    expect(String(decision.sentence)).toMatch(sentence)
  })

  it('of a pod that Regent governs, whose role is in its record', () => {
    const governed = aMember(0, { metadata: { labels: { [labels.cluster]: 'shop' } } })
    expect(decided(roleSaid(0, 'primary'), [governed])).toEqual({
      changes: [],
      weight: 'notice',
      reason: 'RoleGoverned',
      sentence: "db-0 has the role that Regent's record says, whatever its probe says",
    })
  })

  it('of a pod without a known owner', () => {
    const event = roleSaid(0, 'primary')
    const decision = decidedRole(event, { pod: aMember(0), owner: undefined, peers: [], serverMs })
    expect(decision).toMatchObject({ changes: [], reason: 'OwnerUnknown' })
  })

  it.each(['primary', '{"name":"primary"}', '[{"name":"pri/mary"}]', '[{"name":"a","isExclusive":"yes"}]'])(
    'while the roles of the owner cannot be read: %s; they are looked at again',
    (roles) => {
      expect(decided(roleSaid(0, 'primary'), three, anOwner({ [marks.roles]: roles }))).toMatchObject({
        changes: [],
        weight: 'warning',
        reason: 'RolesNotUnderstood',
        againAfterMs: mistakenMs,
      })
    },
  )
})

describe('An exclusive role', () => {
  const held = [aMember(0, { role: 'primary', snapshot: microsOf(60) }), aMember(1), aMember(2)]

  it('comes off its old holder before the new one gets it', () => {
    const decision = decided(roleSaid(1, 'primary', { at: 61 }), held)
    expect(String(decision.sentence)).toBe('db-1 is primary now, and db-0 no longer')
    expect(decision.changes.map(({ key, patch }) => [key.name, patch['metadata']])).toMatchObject([
      [
        'db-0',
        {
          labels: { [roleLabel]: null },
          annotations: {
            [marks.snapshotVersion]: microsOf(61),
            [marks.lostRole]: `primary ${microsOf(61)} ${microsOf(60)}`,
          },
        },
      ],
      ['db-1', { labels: { [roleLabel]: 'primary' } }],
    ])
  })

  it('that was lost is not got back by a late word, at a manager of KubeBlocks either', () => {
    const [old] = after([roleSaid(1, 'primary', { at: 61 })], held)
    // KubeBlocks' manager takes a word whose time is later than this annotation.
    expect(old?.metadata.annotations?.[marks.snapshotVersion]).toBe(microsOf(61))
    const late = [roleSaid(1, 'primary', { at: 70 }), roleSaid(0, 'secondary', { at: 65 })]
    const [heard] = after(late, held)
    expect(heard?.metadata.labels?.[roleLabel]).toBe('secondary')
    expect(heard?.metadata.annotations?.[marks.snapshotVersion]).toBe(microsOf(70))
  })

  it.each([
    // As it was written before the time stood at the old holder too.
    ['primary 70', 60],
    ['primary 70 60', 70],
  ])('that was lost, "%s", leaves room for what was said before that and is heard of late', (lost, snapshot) => {
    const [word = '', seconds = '', own] = lost.split(' ')
    const lostRole = [word, microsOf(Number(seconds)), ...(own === undefined ? [] : [microsOf(Number(own))])].join(' ')
    const annotations = { [marks.snapshotVersion]: microsOf(snapshot), [marks.lostRole]: lostRole }
    const all = [aMember(0, { metadata: { annotations } }), aMember(1, { role: 'primary', snapshot: microsOf(70) })]
    expect(rolesOf(after([roleSaid(0, 'secondary', { at: 60 })], all))).toBe('- primary')
    expect(rolesOf(after([roleSaid(0, 'secondary', { at: 61 })], all))).toBe('secondary primary')
    expect(rolesOf(after([roleSaid(0, 'primary', { at: 69 })], all))).toBe('- primary')
  })

  it('that another manager told of meanwhile is as new as that manager says', () => {
    const annotations = {
      [marks.snapshotVersion]: microsOf(80),
      [marks.lostRole]: `primary ${microsOf(70)} ${microsOf(60)}`,
    }
    const all = [aMember(0, { metadata: { annotations } })]
    expect(rolesOf(after([roleSaid(0, 'secondary', { at: 79 })], all))).toBe('-')
    expect(rolesOf(after([roleSaid(0, 'secondary', { at: 81 })], all))).toBe('secondary')
  })

  it('comes off a holder whose label another manager wrote in lower case', () => {
    const roles = anOwner({ [marks.roles]: '[{"name":"Leader","isExclusive":true}]' })
    const all = [aMember(0, { role: 'leader', snapshot: microsOf(60) }), aMember(1)]
    expect(rolesOf(after([roleSaid(1, 'leader', { at: 61 })], all, roles))).toBe('- Leader')
  })

  it('stays with who said so later and is ready; the other is asked again', () => {
    expect(decided(roleSaid(1, 'primary', { at: 59 }), held)).toMatchObject({
      changes: [],
      weight: 'warning',
      reason: 'RoleContested',
      againAfterMs: contestedMs,
    })
  })

  it('goes to the other where who said so later is not ready: clocks of nodes differ', () => {
    const ill = [aMember(0, { role: 'primary', snapshot: microsOf(60), ready: false }), aMember(1)]
    expect(rolesOf(after([roleSaid(1, 'primary', { at: 59 })], ill))).toBe('- primary')
  })

  it('that is no exclusive one many have', () => {
    expect(rolesOf(after([roleSaid(1, 'secondary'), roleSaid(2, 'secondary')], three))).toBe('- secondary secondary')
  })
})

describe('Events in any order', () => {
  const story = [
    roleSaid(0, 'primary', { at: 10 }),
    roleSaid(1, 'secondary', { at: 11 }),
    roleSaid(0, 'secondary', { at: 20 }),
    roleSaid(1, 'primary', { at: 21 }),
  ]

  it('each of them twice, end in the roles that were said last', () => {
    for (const order of ordersOf(story)) {
      // One that is contested is not handled: it is looked at again once the others are.
      const end = after([...order, ...order], three)
      expect(rolesOf(end)).toBe('secondary primary -')
    }
  })

  it('in a burst end in what was said last', () => {
    const burst = Array.from({ length: 200 }, (_, at) => roleSaid(at % 3, 'primary', { at: 100 + at / 10 }))
    const shuffled = burst.toSorted((one, other) => (one.metadata.name < other.metadata.name ? -1 : 1)).toReversed()
    for (const order of [burst, burst.toReversed(), shuffled])
      expect(rolesOf(after([...order, ...order], three))).toBe('- primary -')
  })

  /** Failovers from pod to pod. The old primary says so sooner than the new one, later, or never. */
  function history(random: () => number) {
    const events: PodEvent[] = []
    const last = ['', '', '']
    const say = (pod: number, role: string, at: number): void => {
      events.push(roleSaid(pod, role, { at }))
      last[pod] = role
    }
    let [primary, at] = [0, 10]
    say(0, 'primary', at)
    for (let failovers = 1 + Math.floor(random() * 6); failovers > 0; failovers -= 1) {
      const [old, later] = [primary, random()]
      primary = (primary + 1 + Math.floor(random() * 2)) % 3
      at += 10
      if (later < 0.8) say(old, 'secondary', at + (later < 0.4 ? -1 : 1))
      say(primary, 'primary', at)
    }
    return { events, last, primary }
  }

  it('and any of them lost, late or twice, end in what was said last, once each was heard', () => {
    const random = randomFrom(7)
    for (let round = 0; round < 300; round += 1) {
      const { events, last, primary } = history(random)
      const shuffled = () => events.map((event) => ({ event, key: random() })).sort((a, b) => a.key - b.key)
      const some = shuffled().slice(0, Math.floor(random() * events.length))
      const order = [...some, ...shuffled(), ...shuffled()].map(({ event }) => event)
      const end = rolesOf(after(order, three)).split(' ')
      // Who said primary last, and is not, lost that role: it has none, or the one from before where nobody asks again.
      const lost = last.map((role, pod) => pod !== primary && role === 'primary')
      const wanted = last.map((role, pod) => (lost[pod] && end[pod] !== 'primary' ? end[pod] : role || '-'))
      expect(end, order.map(({ metadata }) => metadata.name).join(' ')).toEqual(wanted)
    }
  })

  it('never show two pods with one exclusive role', () => {
    for (const order of ordersOf(story)) {
      let now: readonly Pod[] = three
      for (const event of order)
        for (const change of decided(event, now).changes) {
          now = changed(now, [change])
          expect(rolesOf(now).split('primary').length - 1).toBeLessThanOrEqual(1)
        }
    }
  })
})

describe('A role with a version', () => {
  it('is ordered by that alone, as a number', () => {
    const said = [roleSaid(0, 'secondary 9', { at: 99 }), roleSaid(0, 'primary 10', { at: 1 })]
    for (const order of ordersOf(said)) {
      const [pod] = after(order, [aMember(0, { snapshot: microsOf(3_600) })])
      expect(pod?.metadata.labels?.[roleLabel]).toBe('primary')
      expect(pod?.metadata.annotations).toMatchObject({
        [marks.authoritativeVersion]: '10',
        [marks.snapshotVersion]: microsOf(3_600),
      })
    }
  })

  it('is not changed by a claim without one, however late', () => {
    const versioned = aMember(0, { role: 'primary', authoritative: '10' })
    const snapshot = '{"term":"1767305600000000","PodRoleNamePairs":[{"podName":"db-0","podUid":"uid-0"}]}'
    for (const output of ['secondary', '', snapshot]) {
      const decision = decided(roleSaid(0, output, { at: 3_600 }), [versioned])
      expect(decision.changes).toEqual([])
      expect(String(decision.sentence)).toContain('its role has version 10')
    }
  })

  it.each([
    ['10', '9', 'primary -'],
    ['10', '10', 'primary -'],
    ['9', '10', '- primary'],
  ])('%s of a holder of an exclusive role, and %s of a claim: %s', (mine, theirs, roles) => {
    const all = [aMember(0, { role: 'primary', authoritative: mine }), aMember(1)]
    expect(rolesOf(after([roleSaid(1, `primary ${theirs}`)], all))).toBe(roles)
  })

  it('takes an exclusive role from who has none, and leaves the old holder’s time as it was', () => {
    const all = [aMember(0, { role: 'primary', snapshot: microsOf(3_600) }), aMember(1)]
    const [old] = decided(roleSaid(1, 'primary 1'), all).changes
    expect(old?.patch).toEqual({ metadata: { resourceVersion: '7', labels: { [roleLabel]: null } } })
  })

  it('holds an exclusive role against a claim without one', () => {
    const all = [aMember(0, { role: 'primary', authoritative: '1' }), aMember(1)]
    expect(rolesOf(after([roleSaid(1, 'primary', { at: 3_600 })], all))).toBe('primary -')
  })
})

describe('A snapshot of several pods', () => {
  const pairs = (...of: readonly [number, string, string?][]) =>
    of.map(([ordinal, roleName, podUid = `uid-${ordinal}`]) => ({ podName: `db-${ordinal}`, roleName, podUid }))
  const snapshot = (term: string | number, ...of: readonly [number, string, string?][]) =>
    JSON.stringify({ term, PodRoleNamePairs: pairs(...of) })

  it('labels the new leader and takes the label from the old one', () => {
    const said = roleSaid(1, snapshot('1700000000000001', [1, 'primary'], [0, '']))
    const all = [aMember(0, { role: 'primary', snapshot: '1700000000000000' }), aMember(1)]
    expect(rolesOf(after([said], all))).toBe('- primary')
  })

  it('is ordered by its term, as a number', () => {
    const said = [roleSaid(0, snapshot('9', [0, 'secondary']), { at: 99 }), roleSaid(0, snapshot(10, [0, 'primary']))]
    for (const order of ordersOf(said)) expect(rolesOf(after(order, [aMember(0)]))).toBe('primary')
  })

  it('is taken with keys in any case, as the older manager took it', () => {
    expect(rolesOf(after([roleSaid(0, snapshot('9', [0, 'Primary']).toLowerCase())], [aMember(0)]))).toBe('primary')
  })

  it('changes no pod of another uid, nor of another component, and the rest of it stands', () => {
    const said = roleSaid(0, snapshot('9', [0, 'primary', 'uid-old'], [7, 'primary'], [1, 'secondary']))
    expect(rolesOf(after([said], [aMember(0), aMember(1)]))).toBe('- secondary')
    expect(String(decided(said, [aMember(0), aMember(1)]).sentence)).toBe(
      'db-0 is another pod than the one of which its role was said; db-7 is no pod of this component; db-1 is secondary now',
    )
  })

  it('of no pod changes nothing, and says so', () => {
    expect(decided(roleSaid(0, snapshot('9')), three)).toMatchObject({ changes: [], sentence: 'it names no pod' })
  })

  it('forgets a version that is no number, as a manager before 1.0 wrote it', () => {
    const old = aMember(0, { snapshot: '2026-01-01T00:00:00Z' })
    expect(rolesOf(after([roleSaid(0, snapshot('9', [0, 'primary']))], [old]))).toBe('primary')
  })
})

describe('An agent before 1.0', () => {
  it.each([
    ['{"event":"Success","role":"primary"}', 'primary -'],
    ['{"event":"Success","originalRole":"primary","role":""}', '- -'],
    ['{"event":"roleChanged","originalRole":"secondary","role":"primary"}', 'secondary -'],
    ['{"event":"Failed","message":"no answer"}', 'secondary -'],
    ['Readiness probe failed: {"event":"Success","role":"primary"}', 'primary -'],
    ['Readiness probe failed: error: health rpc failed: {"event":"Success","role":"primary"}\n', 'primary -'],
    ['Readiness probe failed: timeout', 'secondary -'],
    [
      '{"event":"Success","role":"{\\"term\\":\\"7\\",\\"PodRoleNamePairs\\":[{\\"podName\\":\\"db-1\\",\\"roleName\\":\\"primary\\",\\"podUid\\":\\"uid-1\\"}]}"}',
      'secondary primary',
    ],
  ])('says %s', (message, roles) => {
    expect(rolesOf(after([legacySaid(0, message)], [aMember(0, { role: 'secondary' }), aMember(1)]))).toBe(roles)
  })
})
