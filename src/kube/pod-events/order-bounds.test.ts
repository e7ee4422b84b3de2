import { describe, expect, it } from 'vitest'
import type { Pod } from '../pods/stateful-set.ts'
import { marks, roleLabel } from './marks.ts'
import type { PodEvent } from './pod-event.ts'
import {
  aMember,
  anOwner,
  changed,
  decidedRole,
  exclusivePrimary,
  microsOf,
  momentOf,
  roleSaid,
} from './testing-component.ts'

const owner = anOwner({ [marks.roles]: exclusivePrimary })
const three = [aMember(0), aMember(1), aMember(2)]
/** What the API server's clock says: later than all that is said here in time. */
const serverMs = Date.UTC(2026, 0, 2)

function decided(event: PodEvent, all: readonly Pod[]) {
  const pod = all.find(({ metadata }) => metadata.name === event.involvedObject?.name)
  return decidedRole(event, { pod, owner, peers: all.filter((other) => other !== pod), serverMs })
}

/** The pods after all of these were handled, in this order. */
function after(events: readonly PodEvent[], all: readonly Pod[]): readonly Pod[] {
  return events.reduce((now, event) => changed(now, decided(event, now).changes), all)
}

const rolesOf = (all: readonly Pod[]) => all.map(({ metadata }) => metadata.labels?.[roleLabel] ?? '-').join(' ')

describe('A number from the future', () => {
  const future = momentOf(86_400 + 7_200)
  const most = 18_446_744_073_709_551_615n

  it('that is a time pins nothing: the word counts as said when it came, and that is said', () => {
    const creationTimestamp = momentOf(100)
    const early = roleSaid(0, 'primary', { at: 90 })
    const ahead = { ...early, eventTime: future, metadata: { ...early.metadata, creationTimestamp } }
    const { sentence, ...rest } = decided(ahead, three)
    expect(rest).toMatchObject({ weight: 'warning', reason: 'ClockAhead' })
    expect(String(sentence)).toBe(
      'db-0 is primary now; the clock of db-0 is 7200 s ahead of the API server’s, and its word counts as said when it came: set the clock of its node right',
    )
    expect(rolesOf(after([ahead], three))).toBe('primary - -')
    expect(rolesOf(after([ahead, roleSaid(1, 'primary', { at: 101 })], three))).toBe('- primary -')
  })

  it.each([
    ['version', `primary ${most}`],
    ['version', `primary ${BigInt(serverMs + 3_600_000) * 1_000_000n}`],
    [
      'term',
      JSON.stringify({
        term: String(most),
        PodRoleNamePairs: [{ podName: 'db-0', roleName: 'primary', podUid: 'uid-0' }],
      }),
    ],
  ])('that is a %s changes nothing, and that is said', (what, output) => {
    const decision = decided(roleSaid(0, output), three)
    expect(decision).toMatchObject({ changes: [], weight: 'warning', reason: 'OrderRefused' })
    expect(String(decision.sentence)).toContain(`db-0 says its role with ${what} `)
  })

  it('that is written already is taken back with the next word, and that is said', () => {
    const pinned = [
      aMember(0, { role: 'primary', authoritative: String(most) }),
      aMember(1, { role: 'secondary', snapshot: microsOf(86_400 + 7_200) }),
    ]
    const decision = decided(roleSaid(1, 'primary', { at: 120 }), pinned)
    expect(decision).toMatchObject({ weight: 'warning', reason: 'OrderTakenBack' })
    expect(String(decision.sentence)).toContain(
      `db-0: ${most}, by which its role was ordered, is greater than any number can be`,
    )
    const now = changed(pinned, decision.changes)
    expect(rolesOf(now)).toBe('- primary')
    expect(now[0]?.metadata.annotations).not.toHaveProperty([marks.authoritativeVersion])
    expect(now[1]?.metadata.annotations?.[marks.snapshotVersion]).toBe(microsOf(120))
  })

  it('is none where an engine counts in nanoseconds', () => {
    const version = BigInt(serverMs) * 1_000_000n
    expect(rolesOf(after([roleSaid(0, `primary ${version}`)], three))).toBe('primary - -')
  })
})
