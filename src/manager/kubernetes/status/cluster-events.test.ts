import { say, type Sentence } from '#common/sentence/sentence.ts'
import { describe, expect, it } from 'vitest'
import { realWorld } from '#common/ports/real-world.ts'
import { EventCorrelator, type Happening } from '#controller-runtime/events/event-correlator.ts'
import { testingInformer } from '#controller-runtime/testing-informer.ts'
import { aCluster } from '#kube/testing.ts'
import type { Recovery } from '#failover/protocol/notes.ts'
import { ClusterEvents, eventLimits } from './cluster-events.ts'

const key = { namespace: 'shops', name: 'shop' }
const well = { blocked: false, sentence: 'no action: primary shop-0 is healthy', news: 'healthy' }

function aRecovery(overrides: Partial<Recovery> = {}): Recovery {
  return {
    ...{
      id: 'r1',
      kind: 'failover',
      startedWallMs: 0,
      analysis: 'DeadPrimary',
      sentence: 'shop-0 is dead',
      from: null,
      to: null,
      fromEpoch: 1,
      toEpoch: null,
      outcome: 'running',
      timeline: [],
    },
    ...overrides,
  }
}

function events(leads = true) {
  const happenings: Happening[] = []
  const lines: string[] = []
  const debug = (line: string): void => void lines.push(line)
  const made = new ClusterEvents({
    debug,
    recorder: { record: (happening) => void happenings.push(happening) },
    clusters: testingInformer('mysqlclusters', [aCluster()]),
    leads: () => leads,
  })
  return {
    events: made,
    debugged: () => lines.splice(0),
    told: () => happenings.splice(0).map(({ type, reason, action, note }) => `${type} ${reason} ${action}: ${note}`),
    happenings,
  }
}

describe('the Events of a cluster', () => {
  it('tell how a hook ended', () => {
    const { events: all, told } = events()
    const run = { moment: 'afterFailover', index: 0, hook: 'vip', by: 'm', beganWallMs: 0, ms: 5 } as const
    all.hookEnded(key, { ...run, state: 'succeeded', said: 'exit 0' }, aRecovery())
    all.hookEnded(key, { ...run, state: 'failed', said: 'exit 1' }, aRecovery())
    expect(told()).toEqual([
      'Normal HookRan RunHook: hook vip of afterFailover succeeded: exit 0 (failover)',
      'Warning HookFailed RunHook: hook vip of afterFailover failed: exit 1 (failover)',
    ])
  })

  it('tell of a recovery as it begins, once, and how it ended', () => {
    const { events: all, told } = events()
    for (let decision = 0; decision < 3; decision++) all.decided(key, well, aRecovery())
    expect(told()).toEqual(['Warning FailoverBegan Failover: shop-0 is dead'])
    all.ended(
      key,
      aRecovery({ outcome: 'succeeded', sentence: 'shop-1 leads epoch 2', timeline: [{ atMs: 81.4, what: 'ended' }] }),
    )
    expect(told()).toEqual(['Normal FailoverSucceeded Failover: after 81 ms: shop-1 leads epoch 2'])
    all.decided(key, well, aRecovery({ id: 'r2', kind: 'switchover', sentence: 'asked by a person' }))
    all.ended(key, aRecovery({ id: 'r2', kind: 'switchover', outcome: 'undone', sentence: 'its deadline passed' }))
    expect(told()).toEqual([
      'Normal SwitchoverBegan Switchover: asked by a person',
      'Warning SwitchoverUndone Switchover: after 0 ms: its deadline passed',
    ])
  })

  it('tell the whole story of a recovery in the one that ends it, and its steps nowhere else but in the debug log', () => {
    const { events: all, told, debugged } = events()
    const timeline = [
      { atMs: 0, what: 'noticed: failing over: shop-0 is dead' },
      { atMs: 41.6, what: 'promise shop-1: 41.4 ms' },
    ]
    all.decided(key, well, aRecovery({ timeline }))
    all.decided(key, well, aRecovery({ timeline }))
    expect(told()).toEqual(['Warning FailoverBegan Failover: shop-0 is dead'])
    expect(debugged()).toEqual([
      'shops/shop: failover at 0 ms: noticed: failing over: shop-0 is dead',
      'shops/shop: failover at 42 ms: promise shop-1: 41.4 ms',
    ])
    const whole = [
      ...timeline,
      { atMs: 49.7, what: 'committed revision 9, epoch 2' },
      { atMs: 80, what: 'ended: succeeded' },
    ]
    all.ended(key, aRecovery({ outcome: 'succeeded', sentence: 'shop-1 leads epoch 2', timeline: whole }))
    const story =
      'after 80 ms: shop-1 leads epoch 2. At 42 ms promise shop-1: 41.4 ms; at 50 ms committed revision 9, epoch 2'
    expect(told()).toEqual([`Normal FailoverSucceeded Failover: ${story}`])
    expect(debugged()).toEqual(['shops/shop: failover at 50 ms: committed revision 9, epoch 2'])
  })

  it('name the setting that a mysqld refuses, once', () => {
    const { events: all, told } = events()
    const refused = {
      code: 'SettingsRefused',
      severity: 'warning',
      instance: 'shop-2',
      sentence: "mysqld of shop-2 refuses its settings: unknown variable 'bogus=1'",
    } as const
    for (let decision = 0; decision < 3; decision++) all.decided(key, { ...well, analyses: [refused] }, null)
    expect(told()).toEqual([`Warning SettingsRefused Start: ${refused.sentence}`])
    all.decided(key, { ...well, analyses: [] }, null)
    all.decided(key, { ...well, analyses: [refused] }, null)
    expect(told()).toHaveLength(1)
  })

  it('leave out steps in the middle of a story that is longer than an Event may be', () => {
    const { events: all, told } = events()
    const steps = Array.from({ length: 60 }, (_, step) => ({
      atMs: step,
      what: `promise shop-1 once more, for the time ${step}`,
    }))
    const timeline = [{ atMs: 0, what: 'noticed: it is dead' }, ...steps, { atMs: 59, what: 'ended: abandoned' }]
    all.ended(key, aRecovery({ outcome: 'abandoned', sentence: 'nobody answers', timeline }))
    const [story = ''] = told()
    const note = story.slice(story.indexOf(': ') + 2)
    expect(new TextEncoder().encode(note).length).toBeLessThanOrEqual(1_024)
    expect(note).toMatch(/^after 59 ms: nobody answers\. At 0 ms .*; … \d+ steps …; .*for the time 59$/)
  })

  it.each([true, false])('say what was refused, by a manager that leads (%s) or not', (leads) => {
    const { events: all, told } = events(leads)
    all.declined(key, 'no switchover: shop-1 lags 7 s')
    expect(told()).toEqual(['Warning RequestRefused Refuse: no switchover: shop-1 lags 7 s'])
  })

  it('say why something stands still, again only when the reason is another one', () => {
    const { events: all, told } = events()
    const blocked = (said: Sentence) =>
      all.decided(key, { blocked: true, sentence: String(said), news: said.news }, null)
    for (let seconds = 1; seconds < 20; seconds++)
      blocked(say`shop-0 has been silent for ${seconds + 0.5} s; shop-1 must come back`)
    expect(told()).toEqual(['Warning Blocked Wait: shop-0 has been silent for 1.5 s; shop-1 must come back'])
    blocked(say`shop-0 has been silent for ${30} s; shop-2 must come back`)
    expect(told()).toHaveLength(1)
    all.decided(key, well, null)
    expect(told()).toEqual([])
    blocked(say`shop-0 has been silent for ${31} s; shop-2 must come back`)
    expect(told()).toHaveLength(1)
  })

  it('say once that a spec cannot be followed, and again when that comes back', () => {
    const { events: all, told } = events()
    all.refused(key, 'spec of shop: acks is 9')
    all.refused(key, 'spec of shop: acks is 9')
    expect(told()).toEqual(['Warning SpecNotFollowed Apply: spec of shop: acks is 9'])
    all.refused(key, '')
    expect(told()).toEqual([])
    all.refused(key, 'spec of shop: acks is 9')
    expect(told()).toHaveLength(1)
  })

  it('tell how far a rotation of passwords is, and once what it waits for', () => {
    const { events: all, told } = events()
    all.passwords(key, 'Began', 'new passwords')
    for (let look = 0; look < 3; look++) all.passwords(key, 'Waits', 'the cluster takes no writes now')
    all.passwords(key, 'Changed', 'Secrets have them')
    expect(told()).toEqual([
      'Normal PasswordRotationBegan RotatePasswords: new passwords',
      'Normal PasswordRotationWaits RotatePasswords: the cluster takes no writes now',
      'Normal PasswordRotationChanged RotatePasswords: Secrets have them',
    ])
  })

  it('tell the story of each recovery, also of many in a row', () => {
    const { events: all, happenings } = events()
    for (let epoch = 2; epoch < 42; epoch++)
      all.ended(key, aRecovery({ id: `r${epoch}`, outcome: 'succeeded', sentence: `shop-1 leads epoch ${epoch}` }))
    const correlator = new EventCorrelator(realWorld.clock, eventLimits)
    const notes = happenings.map((happening) => correlator.observe(happening)?.happening.note)
    expect(new Set(notes).size).toBe(40)
    expect(notes.join()).not.toContain('combined from similar')
  })

  it('are about the cluster, so that describe shows them', () => {
    const { events: all, happenings } = events()
    all.refused(key, 'no')
    expect(happenings[0]?.regarding).toEqual(aCluster())
  })

  it('begin anew for a cluster that was made again', () => {
    const { events: all, told } = events()
    all.refused(key, 'no')
    all.forget(key)
    all.refused(key, 'no')
    expect(told()).toHaveLength(2)
  })

  it('are told by nobody who does not lead, nor of a cluster that is gone', () => {
    const { events: all, told } = events(false)
    all.decided(key, { blocked: true, sentence: 'no', news: 'no' }, aRecovery())
    all.ended(key, aRecovery({ outcome: 'succeeded' }))
    expect(told()).toEqual([])
    const leading = events()
    leading.events.refused({ ...key, name: 'gone' }, 'no')
    expect(leading.told()).toEqual([])
  })
})
