import { describe, expect, it } from 'vitest'
import { say } from '#common/sentence/sentence.ts'
import type { MySQLClusterStatus } from '#kube/spec/status-schema.ts'
import { aCluster, aPod } from '#kube/testing.ts'
import { withoutFigures, refusedStatusOf, statusOf, type StatusInput } from './status.ts'
import { aRow, aView } from '../testing.ts'

const whole = 'no action: primary shop-0 is healthy, 2 of 2 replicas in the sync set'
const cluster = aCluster({ instances: 3 }, { generation: 7 })
const input: StatusInput = {
  cluster,
  view: aView(),
  pods: [aPod(0), aPod(1), aPod(2)],
  update: '',
  progress: { generation: 7, trouble: '' },
  wallMs: Date.UTC(2026, 10, 21),
}
const statusWith = (overrides: Partial<StatusInput>): MySQLClusterStatus => statusOf({ ...input, ...overrides })

/** `Ready: True Whole "…"`, without the messages that are no more than the loop's sentence. */
function conditionsOf(status: MySQLClusterStatus): Readonly<Record<string, string>> {
  return Object.fromEntries(
    (status.conditions ?? []).map(({ type, status: is, reason, message }) => [
      type,
      `${is} ${reason}: ${message === status.sentence ? 'the sentence' : message}`,
    ]),
  )
}

const downtime = { untilWallMs: Date.UTC(2026, 10, 21, 2), reason: 'new disk', owner: 'ann' }
const settled = { Progressing: 'False Settled: nothing is under way', Paused: 'False NotAsked: Regent acts by itself' }

describe('a status', () => {
  it('says when it was said, and is no news for that alone', () => {
    const now = statusWith({})
    const later = statusWith({ cluster: { ...cluster, status: now }, wallMs: input.wallMs + 90_000 })
    expect([now.observedAt, later.observedAt]).toEqual(['2026-11-21T00:00:00Z', '2026-11-21T00:01:30Z'])
    expect(withoutFigures(later)).toBe(withoutFigures(now))
  })

  it('says of agents that do not trust its manager that they do not, and not that they are silent', () => {
    const view = aView({
      writable: false,
      instances: [aRow(0), aRow(1, { reachable: false }), aRow(2)],
      sentence: 'shop-1 is not heard',
    })
    const why =
      '10.0.0.2:9400 answered 401: the caller’s certificate is refused: it is of an authority that is not trusted here (ca.crt)'
    const degraded = statusWith({ view, distrust: new Map([['10.0.0.2:9400', why]]) }).conditions?.find(
      ({ type }) => type === 'Degraded',
    )
    expect(degraded).toMatchObject({ status: 'True', reason: 'NotTrusted' })
    expect(degraded?.message).toMatch(
      /^shop-1: .*do not trust each other.*no failover.*Secret shop-certificates.*not trusted here/,
    )
  })
})

describe('the status of a replication group', () => {
  const member = (state: 'ONLINE' | 'RECOVERING' | 'MISSING') => ({
    group: { state, role: null, certifying: 0, applying: 0, lacks: null },
  })
  const group = {
    ...{ name: 'a-group', condition: 'partial' as const, viewId: '17:5', primary: 'shop-0' },
    ...{ online: 2, expected: 3, mayBeLost: 0 },
  }
  const partial = aView({
    mode: 'group',
    group,
    instances: [aRow(0, member('ONLINE')), aRow(1, member('ONLINE')), aRow(2, member('RECOVERING'))],
    sentence: 'no action: shop-0 is primary of the group, 2 of 3 members online: shop-2 is recovering',
  })

  it('shows the view of the majority, and each member', () => {
    const status = statusWith({ view: partial })
    expect(status.group).toEqual({
      ...{ summary: '2 of 3 ONLINE, none may be lost', name: 'a-group', condition: 'partial', viewId: '17:5' },
      ...{ online: 2, expected: 3, mayBeLost: 0 },
    })
    expect(status.instances?.map(({ name, member: state }) => [name, state])).toEqual([
      ['shop-0', 'ONLINE'],
      ['shop-1', 'ONLINE'],
      ['shop-2', 'RECOVERING'],
    ])
  })

  it('does not count a member that is not ONLINE, though the record admits it', () => {
    const status = statusWith({ view: partial })
    expect(status.ready).toBe(2)
    expect(conditionsOf(status)).toMatchObject({
      Ready: 'False NotWhole: the sentence',
      Degraded: expect.stringMatching(/^True InstancesMissing: shop-2 does not take part; /) as string,
    })
  })

  it.each([
    ['noQuorum', 'no majority'],
    ['outage', 'nobody is in the group'],
    ['uncertain', 'nobody who answers is in the group'],
    ['splitBrain', 'two groups'],
  ] as const)('says in a word that there is no majority: %s', (condition, summary) => {
    const view = aView({ group: { ...group, condition, viewId: null }, writable: false })
    expect(statusWith({ view }).group).toMatchObject({ summary, condition })
    expect(statusWith({ view }).group).not.toHaveProperty('viewId')
  })

  it('is not there where there is no group', () => {
    expect(statusWith({})).not.toHaveProperty('group')
    expect(statusWith({}).instances?.[0]).not.toHaveProperty('member')
  })
})

describe('the conditions of a cluster', () => {
  it.each<[string, Partial<StatusInput>, Readonly<Record<string, string>>]>([
    [
      'that is whole',
      {},
      {
        Ready: 'True Whole: the sentence',
        Available: 'True Writable: shop-0 takes writes',
        Degraded: 'False Whole: the sentence',
        ...settled,
      },
    ],
    [
      'that bootstraps',
      {
        view: aView({
          epoch: 0,
          revision: 0,
          primary: null,
          writable: false,
          syncSet: [],
          sentence: 'waiting for shop-1',
          instances: [aRow(0, { role: 'none', inSyncSet: false }), aRow(1, { reachable: false })],
        }),
      },
      {
        Ready: 'False NotWritable: the sentence',
        Available: 'False NoPrimary: the sentence',
        Degraded: 'False Changing: the sentence',
        Progressing: 'True Changing: the sentence',
        Paused: settled.Paused,
      },
    ],
    [
      'whose primary is being replaced',
      { view: aView({ writable: false, sentence: 'DeadPrimary: shop-0 is dead; shop-1 is promoted' }) },
      {
        Ready: 'False NotWritable: the sentence',
        Available: 'False NotWritable: the sentence',
        Degraded: 'False Changing: the sentence',
        ...settled,
      },
    ],
    [
      'whose first restarted instance refuses the settings of the spec',
      {
        view: aView({
          instances: [aRow(0), aRow(1), aRow(2, { process: 'absent', settingsRefused: "unknown variable 'bogus=1'" })],
          sentence: 'shop-2 is dead',
        }),
        update: say`rolling update waits`,
      },
      {
        ...{
          Ready: 'False NotWhole: the sentence',
          Available: 'True Writable: shop-0 takes writes',
          Progressing: 'True Changing: rolling update waits',
          Paused: settled.Paused,
        },
        Degraded:
          "True SettingsRefused: mysqld of shop-2 refuses its settings: unknown variable 'bogus=1'. Put spec.settings right; shop-2 is dead",
      },
    ],
    [
      'that has lost a replica',
      {
        view: aView({ instances: [aRow(0), aRow(1), aRow(2, { reachable: false })], sentence: 'shop-2 is not heard' }),
      },
      {
        Ready: 'False NotWhole: the sentence',
        Available: 'True Writable: shop-0 takes writes',
        Degraded: 'True InstancesMissing: shop-2 does not take part; shop-2 is not heard',
        ...settled,
      },
    ],
    [
      'that has lost a replica in downtime: it is not whole, and nobody is called for that',
      {
        view: aView({
          instances: [aRow(0), aRow(1), aRow(2, { reachable: false, downtime })],
          sentence: 'shop-2 is not heard',
        }),
      },
      {
        Ready: 'False NotWhole: the sentence',
        Available: 'True Writable: shop-0 takes writes',
        Degraded: 'False Downtime: shop-2: downtime until 2026-11-21 02:00:00 UTC by ann: new disk',
        ...settled,
      },
    ],
    [
      'that has lost a replica in downtime, and another one',
      {
        view: aView({
          instances: [aRow(0), aRow(1, { reachable: false }), aRow(2, { reachable: false, downtime })],
          sentence: 'both are not heard',
        }),
      },
      {
        Ready: 'False NotWhole: the sentence',
        Available: 'True Writable: shop-0 takes writes',
        Degraded: 'True InstancesMissing: shop-1 does not take part; both are not heard',
        ...settled,
      },
    ],
    [
      'that is whole while one is in downtime',
      { view: aView({ instances: [aRow(0), aRow(1), aRow(2, { downtime })] }) },
      {
        Ready: 'True Whole: the sentence',
        Available: 'True Writable: shop-0 takes writes',
        Degraded: 'False Whole: the sentence',
        ...settled,
      },
    ],
    [
      'one of whose replicas counts and is far behind',
      { view: aView({ instances: [aRow(0), aRow(1, { behind: true, lagSeconds: 666.2, backlog: 9_104 }), aRow(2)] }) },
      {
        Ready: 'False ReplicasLagging: the sentence',
        Available: 'True Writable: shop-0 takes writes',
        Degraded: `True ReplicasLagging: shop-1 is 666 s behind with 9104 transactions to apply; ${whole}`,
        ...settled,
      },
    ],
    [
      'that is blocked',
      { view: aView({ writable: false, blocked: true, sentence: 'nothing can be done: shop-1 must come back' }) },
      {
        Ready: 'False NotWritable: the sentence',
        Available: 'False NotWritable: the sentence',
        Degraded: 'True Blocked: the sentence',
        ...settled,
      },
    ],
    [
      'that is blocked and writable',
      { view: aView({ blocked: true, sentence: 'scale-in waits' }) },
      {
        Ready: 'False NotWhole: the sentence',
        Available: 'True Writable: shop-0 takes writes',
        Degraded: 'True Blocked: the sentence',
        ...settled,
      },
    ],
    [
      'that is paused',
      { view: aView({ paused: true, sentence: 'paused: maintenance' }) },
      {
        Ready: 'True Whole: the sentence',
        Available: 'True Writable: shop-0 takes writes',
        Degraded: 'False Whole: the sentence',
        Progressing: settled.Progressing,
        Paused: 'True Asked: the sentence',
      },
    ],
    [
      'that is scaled out',
      { cluster: aCluster({ instances: 5 }) },
      {
        Ready: 'False NotWhole: the sentence',
        Available: 'True Writable: shop-0 takes writes',
        Degraded: 'False Changing: the sentence',
        Progressing: `True Changing: from 3 to 5 instances: ${whole}`,
        Paused: settled.Paused,
      },
    ],
    [
      'that is being updated',
      { update: say`rolling update: shop-2 restarts; 3 of 3 pods are not as the spec says` },
      {
        ...{
          Ready: 'True Whole: the sentence',
          Available: 'True Writable: shop-0 takes writes',
          Degraded: 'False Whole: the sentence',
        },
        ...{
          Progressing: 'True Changing: rolling update: shop-2 restarts; 3 of 3 pods are not as the spec says',
          Paused: settled.Paused,
        },
      },
    ],
    [
      'whose changed spec cannot be followed',
      { progress: { generation: 6, trouble: 'spec of shop: acks is 9' } },
      {
        Ready: 'True Whole: the sentence',
        Available: 'True Writable: shop-0 takes writes',
        Degraded: 'True SpecNotFollowed: spec of shop: acks is 9',
        Progressing: 'False SpecNotFollowed: spec of shop: acks is 9',
        Paused: settled.Paused,
      },
    ],
  ])('%s say so', (_what, overrides, expected) => {
    expect(conditionsOf(statusWith(overrides))).toEqual(expected)
  })

  it('keep the time at which each last changed, and no other', () => {
    const first = statusWith({})
    const later = statusWith({
      cluster: { ...cluster, status: first },
      view: aView({ writable: false }),
      wallMs: input.wallMs + 60_000,
    })
    expect(later.conditions?.map(({ type, lastTransitionTime }) => [type, lastTransitionTime])).toEqual([
      ['Ready', '2026-11-21T00:01:00Z'],
      ['Available', '2026-11-21T00:01:00Z'],
      ['Progressing', '2026-11-21T00:00:00Z'],
      ['Degraded', '2026-11-21T00:00:00Z'],
      ['Paused', '2026-11-21T00:00:00Z'],
    ])
  })

  it('are of the generation that is applied, not of one that is merely asked for', () => {
    const status = statusWith({ progress: { generation: 6, trouble: '' } })
    expect([
      status.observedGeneration,
      ...(status.conditions ?? []).map(({ observedGeneration }) => observedGeneration),
    ]).toEqual([6, 6, 6, 6, 6, 6])
    expect(statusWith({ progress: { generation: undefined, trouble: '' } })).not.toHaveProperty('observedGeneration')
  })
})

describe('the status of a cluster', () => {
  it('shows the record, each instance with its node, and what scaling and binding need', () => {
    const wrong = [
      { code: 'ReplicaLagging', sentence: 'replica shop-2 is 40 s behind' },
      { code: 'AgentUnreachable', sentence: 'the agent of shop-2 is silent' },
    ]
    const instances = [
      aRow(0),
      aRow(1, { lagSeconds: 2 }),
      aRow(2, { inSyncSet: false, version: null, executed: null, problems: wrong }),
    ]
    const status = statusWith({ view: aView({ instances }), pods: [aPod(0), aPod(1)] })
    expect(status).toMatchObject({
      primary: 'shop-0',
      epoch: 1,
      revision: 4,
      syncSet: ['shop-1', 'shop-2'],
      acks: 1,
      sentence: whole,
      replicas: 3,
      ready: 2,
      selector: 'regent.dev/cluster=shop',
      binding: { name: 'shop-client' },
    })
    expect(status.instances).toEqual([
      {
        name: 'shop-0',
        role: 'primary',
        node: 'node-0',
        version: '8.4.6',
        executed: 'uuid:1-5',
        lagSeconds: null,
        inSyncSet: false,
      },
      {
        name: 'shop-1',
        role: 'replica',
        node: 'node-1',
        version: '8.4.6',
        executed: 'uuid:1-5',
        lagSeconds: 2,
        inSyncSet: true,
      },
      { name: 'shop-2', role: 'replica', lagSeconds: null, inSyncSet: false, problems: wrong },
    ])
  })

  it.each<[string, Parameters<typeof aRow>[1]]>([
    ['is not heard', { reachable: false }],
    ['has no mysqld running', { process: 'dead' }],
    ['is not in the sync set', { inSyncSet: false }],
  ])('does not count a replica that %s', (_what, row) => {
    expect(statusWith({ view: aView({ instances: [aRow(0), aRow(1), aRow(2, row)] }) }).ready).toBe(2)
  })

  it('does not count a primary that takes no writes', () => {
    expect(statusWith({ view: aView({ writable: false }) }).ready).toBe(2)
  })

  it('of a spec that was never followed says why, and that of one that was keeps what was said before', () => {
    const progress = { generation: undefined, trouble: 'spec of shop: acks is 9' }
    const never = refusedStatusOf({ cluster, progress, wallMs: input.wallMs })
    expect(never.sentence).toBe('spec of shop: acks is 9')
    expect(conditionsOf(never)).toMatchObject({
      Ready: 'False SpecNotFollowed: the sentence',
      Available: 'False NotManaged: the sentence',
      Degraded: 'True SpecNotFollowed: the sentence',
    })
    const before = statusWith({})
    expect(
      refusedStatusOf({
        cluster: { ...cluster, status: before },
        progress: { ...progress, generation: 7 },
        wallMs: input.wallMs,
      }),
    ).toMatchObject({ primary: 'shop-0', epoch: 1, observedGeneration: 7 })
  })
})

describe('what is news in a status', () => {
  const gist = withoutFigures(statusWith({}))

  it.each<[string, Partial<StatusInput>]>([
    [
      'GTID sets and lag',
      { view: aView({ instances: [aRow(0, { executed: 'uuid:1-6' }), aRow(1, { lagSeconds: 3 }), aRow(2)] }) },
    ],
    ['the words of a sentence', { view: aView({ sentence: 'shop-2 is not heard' }) }],
  ])('are not %s', (_what, overrides) => {
    expect(withoutFigures(statusWith(overrides))).toBe(gist)
  })

  it.each<[string, Partial<StatusInput>]>([
    ['another reason of a condition', { view: aView({ blocked: true }) }],
    ['another epoch', { view: aView({ epoch: 2 }) }],
    [
      'an instance that left the sync set',
      { view: aView({ instances: [aRow(0), aRow(1), aRow(2, { inSyncSet: false })] }) },
    ],
    ['another node', { pods: [aPod(0), aPod(1)] }],
  ])('is %s', (_what, overrides) => {
    expect(withoutFigures(statusWith(overrides))).not.toBe(gist)
  })

  it('does not depend on the order in which the API server gives keys', () => {
    const status = statusWith({})
    const turned = Object.fromEntries(Object.entries(status).reverse()) as MySQLClusterStatus
    expect(withoutFigures(turned)).toBe(withoutFigures(status))
    expect(withoutFigures(undefined)).toBe('')
  })
})
