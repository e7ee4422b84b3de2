import { describe, expect, it } from 'vitest'
import { uuidOf, type ViewOverrides } from '#topology/testing.ts'
import { outsideGroup, type GroupShape } from '#topology/testing-group.ts'
import { decide } from '../decide.ts'
import { committed, never, shop1, shop2, switchoverIntent } from '../testing.ts'
import { planSwitchover } from './switchover.ts'
import { aGroupSituation, groupRecord, nobodyIn, revision, type GroupSituation } from './testing-group.ts'

const plan = (given: GroupSituation, to: string | null = null) => planSwitchover(aGroupSituation(given), to)
const busy = (applying: number): GroupShape => ({ applying })
const policies = (instance: string, policy: { promotion: 'prefer' | 'neutral' | 'never'; priority: number }) =>
  ({ spec: { policies: { [instance]: policy } } }) as const
const asked = (to: string | null) =>
  ({ requests: [{ kind: 'switchover', id: 'request-1', to, deadlineWallMs: 1_010_000, reason: 'asked for' }] }) as const

describe('The plan', () => {
  it('says each step', () => {
    expect(plan({})).toEqual({
      candidate: shop1,
      steps: [
        'put the intent into the record (revision 6)',
        'shop-0 has the group elect shop-1; transactions that run get 1000 ms, then their sessions are ended',
        'commit: shop-1 is primary of epoch 2, and the route moves',
      ],
    })
  })

  it('takes the one that was asked for', () => {
    expect(plan({}, 'shop-2')).toMatchObject({ candidate: shop2 })
  })

  it('takes the one with the least to apply', () => {
    expect(plan({ sees: { 'shop-1': busy(20), 'shop-2': busy(10) } })).toMatchObject({ candidate: shop2 })
  })

  it('prefers by policy and by priority before that', () => {
    const sees = { 'shop-2': busy(100) }
    expect(plan({ sees, ...policies('shop-2', { promotion: 'prefer', priority: 0 }) })).toMatchObject({
      candidate: shop2,
    })
    expect(plan({ sees, ...policies('shop-2', { promotion: 'neutral', priority: 1 }) })).toMatchObject({
      candidate: shop2,
    })
  })

  it('takes one that is in no downtime before that', () => {
    const notes = { downtimes: [{ instance: 'shop-1', untilWallMs: 1_000_001, reason: 'a new disk', owner: '' }] }
    const preferred = policies('shop-1', { promotion: 'prefer', priority: 1_000 })
    expect(plan({ notes, ...preferred, sees: { 'shop-2': busy(100) } })).toMatchObject({ candidate: shop2 })
    expect(plan({ notes, record: { syncSet: [shop1] } })).toMatchObject({ candidate: shop1 })
  })

  it('takes one that stays', () => {
    expect(plan({ record: { leaving: [shop1] } })).toMatchObject({ candidate: shop2 })
    expect(plan({ views: { 'shop-1': { terminating: true } } })).toMatchObject({ candidate: shop2 })
    expect(plan({ givenUp: [shop1] })).toMatchObject({ candidate: shop2 })
  })
})

describe('A transaction with many changed rows', () => {
  const views = { 'shop-0': { server: { openChanges: [{ session: 21, user: 'client', rows: 140_000 }] } } }

  it('is in the way where there is no time to undo it; a command that has the time is named', () => {
    expect(plan({ views }, 'shop-2')).toEqual({
      refusal:
        'session 21 of client has changed 140000 rows and not committed; undoing takes up to 14 s, and there are 7 s for that. Wait until that is committed or, ending it, use: regent switchover --to shop-2 --timeout 26s',
    })
  })

  it('is in the plan with what it costs where there is the time', () => {
    const planned = planSwitchover(aGroupSituation({ views }), null, 26_000)
    expect(String('steps' in planned && planned.steps[1])).toBe(
      'session 21 of client is ended, and 140000 rows are undone, for up to 14 s, before writes are stopped',
    )
  })

  it('that began after a person was answered is judged by the agent of the primary', () => {
    expect(decide(aGroupSituation({ views, ...asked('shop-2') })).sentence).toContain('switching over to shop-2')
  })
})

describe('A switchover is refused', () => {
  const two: GroupShape = { members: { 'shop-0': 'ONLINE', 'shop-2': 'ONLINE' } }
  const without1 = { 'shop-0': two, 'shop-1': outsideGroup(), 'shop-2': two }
  const recovering: GroupShape = { members: { 'shop-0': 'ONLINE', 'shop-1': 'RECOVERING', 'shop-2': 'ONLINE' } }
  const joins: GroupShape = { members: { 'shop-0': 'ONLINE', 'shop-1': 'ONLINE', 'shop-2': 'RECOVERING' } }
  const silent2: GroupShape = { members: { 'shop-0': 'ONLINE', 'shop-1': 'ONLINE', 'shop-2': 'UNREACHABLE' } }
  const half: GroupShape = {
    members: { 'shop-0': 'ONLINE', 'shop-1': 'ONLINE', 'shop-2': 'UNREACHABLE', 'shop-3': 'UNREACHABLE' },
  }
  const older = { versions: { 'shop-2': '9.7.3' } }

  it.each<[string, GroupSituation, string]>([
    [
      'while the primary’s agent is silent, whatever the group says',
      { views: { 'shop-0': { reachable: false } } },
      'the agent of shop-0 is unreachable, and only that agent can have the group elect another primary',
    ],
    ['to the primary', {}, 'shop-0 is the primary already'],
    ['to nobody there is', {}, 'there is no instance shop-7; there are shop-0, shop-1, shop-2'],
    ['to one outside of the group', { sees: without1 }, 'shop-1 is offline in the group'],
    ['to one that recovers', { sees: { 'shop-1': recovering } }, 'shop-1 is recovering in the group'],
    ['to one whose server is silent', { views: { 'shop-1': { silentMs: 60_000 } } }, 'shop-1 is silent in the group'],
    [
      'to one whose agent is silent',
      { views: { 'shop-1': { reachable: false } } },
      'shop-1 is no member of the group, or does not answer',
    ],
    [
      'to one that the record does not name',
      { record: { syncSet: [shop2] } },
      'shop-1 is no member of the group, or does not answer',
    ],
    ['to one that leaves', { record: { leaving: [shop1] } }, 'shop-1 is no member of the group, or does not answer'],
    [
      'to one with a backlog',
      { sees: { 'shop-1': busy(10_001) } },
      'shop-1 has 10001 transactions to apply (at most 10000)',
    ],
    [
      'to one that was open for writes',
      { views: { 'shop-1': { stored: { opened: true } } } },
      'shop-1 may not lead: it was open for writes while it was no primary and has not been seeded since',
    ],
    [
      'to one whose GTIDs do not tell what it holds',
      { views: { 'shop-1': { stored: { gtidsReset: true } } } },
      'shop-1 may not lead: its GTIDs were reset by another hand and it has not been seeded since',
    ],
    [
      'to one that has applied one large transaction for long',
      { sees: { 'shop-1': { applying: 1, lagSeconds: 40.2 } } },
      'shop-1 is 40 s behind (at most 30 s): clients would wait until it has applied that',
    ],
    [
      'to one that is fenced',
      { notes: { fenced: [{ instance: 'shop-1', keepPrimary: false, wallMs: 0 }] } },
      'shop-1 is fenced',
    ],
    ['to one that never leads', policies('shop-1', never), 'the policy of shop-1 is never'],
    [
      'to one of a newer version than another member’s',
      { sees: { 'shop-0': older, 'shop-1': older, 'shop-2': older } },
      'shop-1 runs MySQL 9.7.4, and a member at 127.24.1.3 runs 9.7.3: the lowest version leads',
    ],
    [
      'while somebody joins, whom MySQL would wait for',
      { sees: { 'shop-0': joins, 'shop-1': joins, 'shop-2': joins } },
      'MySQL elects nobody while shop-2 recovers in the group: wait until that is online',
    ],
    [
      'while the group does not hear somebody',
      { sees: { 'shop-0': silent2, 'shop-1': silent2, 'shop-2': silent2 } },
      'MySQL elects nobody while the group does not hear shop-2: that ends by itself',
    ],
    ['while another is under way', { record: { intent: switchoverIntent() } }, 'a switchover is under way'],
    ['before the group is formed', { record: groupRecord(true) }, 'the group is not formed yet'],
    [
      'where the primary is not online',
      { sees: { 'shop-0': outsideGroup() } },
      'shop-0 is not online in the group: the group elects another primary by itself',
    ],
    [
      'where there is no group: nobody elects',
      { sees: nobodyIn, views: { 'shop-2': { reachable: false } } },
      'nobody who answers is in the group; silent: shop-2',
    ],
    [
      'where half of the group does not hear the other half: that does not end by itself',
      { sees: { 'shop-0': half, 'shop-1': half, 'shop-2': outsideGroup() } },
      'no majority: the group does not reach shop-2 and 127.24.1.4:3306, and writes wait',
    ],
    [
      'before the primary has taken its epoch',
      { views: { 'shop-0': { stored: { promise: 0 } } } },
      'shop-0 has not taken epoch 1 yet',
    ],
  ])('%s', (title, given, refusal) => {
    const to = title === 'to the primary' ? 'shop-0' : title === 'to nobody there is' ? 'shop-7' : 'shop-1'
    expect(plan(given, to)).toEqual({ refusal })
  })

  it('to anybody where nobody can, each with its reason', () => {
    expect(plan({ sees: without1, ...policies('shop-2', never) })).toEqual({
      refusal: 'no member can take over: shop-1 is offline in the group; the policy of shop-2 is never',
    })
    expect(plan({ record: { syncSet: [] } })).toEqual({
      refusal: 'no member can take over: nobody else is in the group',
    })
  })

  it('not to one of the same version with another build, nor to an older one', () => {
    const versions = { versions: { 'shop-0': '9.7.4-1', 'shop-2': '9.7.4-2' } }
    const sees = { 'shop-0': versions, 'shop-1': versions, 'shop-2': versions }
    expect(plan({ sees }, 'shop-1')).toMatchObject({ candidate: shop1 })
    expect(plan({ views: { 'shop-1': { server: { version: '8.4.6' } } } }, 'shop-1')).toMatchObject({
      candidate: shop1,
    })
  })
})

describe('A switchover', () => {
  const intent = switchoverIntent()
  const under = (more: GroupSituation = {}) => decide(aGroupSituation({ ...more, record: { intent, ...more.record } }))

  it('begins with the intent in the record', () => {
    expect(committed(decide(aGroupSituation(asked('shop-1'))))).toMatchObject({
      epoch: 1,
      revision: revision + 1,
      intent: { by: 'me', candidate: shop1, request: 'request-1', deadlineWallMs: 1_010_000 },
    })
  })

  it('has the old primary make the group elect the candidate, within what is left of the deadline', () => {
    const { actions, sentence } = under()
    expect(actions).toEqual([
      {
        kind: 'demote',
        to: 'shop-0',
        order: expect.objectContaining({
          epoch: 2,
          revision,
          electUuid: uuidOf('shop-1'),
          graceMs: 1_000,
          deadlineMs: 8_000,
        }) as object,
      },
    ])
    expect(sentence).toBe('switching over: the group elects shop-1 in place of shop-0; 10 s left')
  })

  it('gives running transactions no longer than the deadline', () => {
    const [action] = under({ wallMs: intent.deadlineWallMs - 400 }).actions
    expect(action).toMatchObject({ order: { graceMs: 400, deadlineMs: 320 } })
  })

  it.each<[string, GroupSituation, string]>([
    ['its manager is gone', { manager: 'another' }, 'the manager that began it is gone'],
    ['its deadline passed', { wallMs: intent.deadlineWallMs }, 'its deadline passed'],
    [
      'its deadline passed, and the wall clock was set back before',
      { wallMs: 0, steadyWallMs: intent.deadlineWallMs },
      'its deadline passed',
    ],
    [
      'the order was refused',
      { failedRequests: new Map([['request-1', { why: 'a backup holds a lock', timedOut: false }]]) },
      'a backup holds a lock',
    ],
    ['the candidate is gone', { views: { 'shop-1': { reachable: false } } }, 'shop-1 is gone'],
  ])('is given up where %s; the primary stays', (_, given, why) => {
    const decision = under(given)
    expect(committed(decision)).toMatchObject({ epoch: 1, revision: revision + 1, intent: null })
    expect(decision.sentence).toBe(`the switchover that was under way is given up: ${why}`)
    expect(decision.actions.map(({ kind }) => kind)).toEqual(['commit'])
  })

  it('is over once the group has elected the candidate', () => {
    const elected: GroupShape = { primary: 'shop-1' }
    const decision = under({ sees: { 'shop-0': elected, 'shop-1': elected, 'shop-2': elected } })
    expect(committed(decision)).toMatchObject({ epoch: 2, primary: shop1, intent: null })
    expect(decision.flow).toBe('switchover')
  })

  it('that cannot be begun is not', () => {
    const view: ViewOverrides = { reachable: false }
    expect(
      decide(aGroupSituation({ ...asked('shop-1'), views: { 'shop-1': view } })).actions.filter(
        ({ kind }) => kind === 'commit',
      ),
    ).toEqual([])
  })
})
