import { printed } from '#common/sentence/sentence.ts'
import { saying } from '#test/support/said-as-text.ts'
import { describe, expect, it } from 'vitest'
import { gtids } from '#topology/testing.ts'
import { aSituation, deadServer, type SituationOverrides } from '../testing.ts'
import { planSwitchover } from '../semisync/switchover.ts'
import { whyNoFailover } from './asked-failover.ts'
import { wayOut, type Command } from './way-out.ts'

const lostAgent = { reachable: false, heardAtMs: 100 }
/** It has lost its source as well. */
const deaf = { server: { channel: { ioRunning: 'connecting', silentMs: null } } } as const
const strayed = new Map([
  ['shop-1', 0],
  ['shop-2', 0],
])
/** shop-0 runs, and nobody acknowledges. */
const unacknowledged: SituationOverrides = {
  nowMs: 60_000,
  strayingSince: strayed,
  views: { 'shop-0': { server: { dumpThreads: [] } } },
}
const bothDead: SituationOverrides = {
  ...unacknowledged,
  views: { ...unacknowledged.views, 'shop-1': lostAgent, 'shop-2': lostAgent },
}
const paused = { paused: { reason: 'maintenance', wallMs: 0 } }
const failover = { verb: 'failover', to: null, acceptLoss: false } as const
const byForce = { ...failover, acceptLoss: true }

const cases: Readonly<Record<string, readonly [SituationOverrides, Command | null, string]>> = {
  'two of three are dead: the primary goes on alone': [
    bothDead,
    byForce,
    'use: regent failover --accept-loss (shop-0 goes on as primary, and its writes need no acknowledgement until shop-1 and shop-2 follow again: what only shop-0 holds is lost with its volume)',
  ],
  'replicas are there and cannot connect: one of them leads': [
    unacknowledged,
    failover,
    'use: regent failover (failing over: shop-0 is healthy; asking shop-1 and shop-2 to promise epoch 2)',
  ],
  '… and the only one that counts cannot: it leads': [
    { ...unacknowledged, shape: { instances: 2 } },
    failover,
    'use: regent failover (failing over: shop-0 is healthy; asking shop-1 to promise epoch 2)',
  ],
  '… for a moment: nothing is to be done': [
    { ...unacknowledged, nowMs: 500 },
    null,
    'no command is needed: no action: primary shop-0 is healthy',
  ],
  'the primary is fenced': [
    {
      views: { 'shop-0': { server: { readOnly: true } } },
      notes: { fenced: [{ instance: 'shop-0', keepPrimary: true, wallMs: 0 }] },
    },
    { verb: 'unfence', instance: 'shop-0' },
    'use: regent unfence shop-0 (shop-0 takes writes again)',
  ],
  'sessions that begin now are read-only: the agent of the primary puts that right': [
    {
      views: {
        'shop-0': {
          server: {
            changedSettings: [{ name: 'transaction_read_only', seen: '1', wanted: 'OFF', refusesWrites: true }],
          },
        },
      },
    },
    null,
    'no command is needed: writes of clients are refused while transaction_read_only is 1 on shop-0, and its agent sets it to OFF',
  ],
  'the primary is dead, and fails over by itself': [
    { views: { 'shop-0': deadServer } },
    null,
    'no command is needed: failing over: mysqld of shop-0 is dead',
  ],
  '… while the cluster is paused': [
    { views: { 'shop-0': lostAgent, 'shop-1': deaf, 'shop-2': deaf }, nowMs: 60_000, notes: paused },
    failover,
    'use: regent failover (failing over: ',
  ],
  '… and too few could promise': [
    { views: { 'shop-0': lostAgent, 'shop-1': lostAgent, 'shop-2': deaf }, nowMs: 60_000 },
    byForce,
    'use: regent failover --accept-loss (forced failover: asking shop-2 to promise epoch 2)',
  ],
  '… and Kubernetes is starting those: nothing is to be given up': [
    {
      views: { 'shop-0': lostAgent, 'shop-1': { ...lostAgent, starting: true }, 'shop-2': deaf },
      nowMs: 60_000,
    },
    null,
    'no command is needed: shop-1 is being started by Kubernetes at this moment, and is waited for',
  ],
  'the primary is starting': [
    { views: { 'shop-0': { process: 'starting', processSinceMs: 10, server: null } } },
    null,
    'no command is needed: ',
  ],
  'the primary keeps itself closed: another one takes over': [
    {
      views: {
        'shop-0': {
          server: { readOnly: true, superReadOnly: false },
          converged: { done: false, revision: 1, sentence: 'closed: its disk is nearly full' },
        },
      },
    },
    { verb: 'switchover' },
    'use: regent switchover (shop-1 takes over)',
  ],
  'nobody answers': [
    { views: { 'shop-0': lostAgent, 'shop-1': lostAgent, 'shop-2': lostAgent }, nowMs: 60_000 },
    null,
    'no command helps: no action: this manager reaches no instance at all',
  ],
  'the record is from the past': [
    { views: { 'shop-0': { server: { readOnly: true } }, 'shop-1': { stored: { promise: 9 } } } },
    null,
    'no command helps: record from the past',
  ],
}

describe('how it ends that a cluster takes no writes', () => {
  it.each(Object.entries(cases))('%s', (_, [given, command, says]) => {
    const found = wayOut(aSituation(given))
    expect(found).toEqual({ command, sentence: saying(new RegExp(`^${escaped(says)}`)) })
  })

  it('is not asked while it takes writes, nor while it does in all likelihood and its agent alone is silent', () => {
    expect(wayOut(aSituation())).toBeNull()
    expect(wayOut(aSituation({ views: { 'shop-0': lostAgent }, nowMs: 60_000 }))).toBeNull()
  })

  it('without a record no instance in doubt is offered before the others', () => {
    const views = { 'shop-0': { stored: { opened: true } }, 'shop-1': lostAgent }
    const lost = { ...aSituation({ views, nowMs: 60_000 }), record: undefined }
    expect(String(wayOut(lost)?.sentence)).toContain('use: regent failover --accept-loss --to shop-2 ')
  })

  it('without a record a former primary that is forgetful is in no doubt: a primary forgets nothing', () => {
    const views = { 'shop-0': { stored: { forgetful: true } }, 'shop-1': lostAgent }
    const lost = { ...aSituation({ views, nowMs: 60_000 }), record: undefined }
    expect(wayOut(lost)?.command).toEqual({ verb: 'failover', to: 'shop-0', acceptLoss: true })
    const replicas = { ...views, 'shop-0': lostAgent, 'shop-1': { stored: { forgetful: true } } }
    const without = { ...aSituation({ views: replicas, nowMs: 60_000 }), record: undefined }
    expect(wayOut(without)?.command).toEqual({ verb: 'failover', to: 'shop-2', acceptLoss: true })
  })

  it.each(['semisync', 'group'] as const)(
    'of a new cluster in mode %s whose servers hold different data is that a person chooses the leader',
    (mode) => {
      const stored = { promise: 0, revision: 0, assignment: null }
      const holding = (instance: string, last: number, received = '') =>
        ({ stored, server: { executed: gtids(instance, last), received, channel: null } }) as const
      const views = { 'shop-0': holding('shop-0', 2), 'shop-1': holding('shop-1', 7), 'shop-2': holding('shop-0', 1) }
      const fresh = (more: SituationOverrides = {}) =>
        wayOut({ ...aSituation({ views, nowMs: 60_000, spec: { mode }, ...more }), record: undefined })
      expect(fresh()?.command).toEqual({ verb: 'failover', to: 'shop-1', acceptLoss: true })
      const same = { views: { ...views, 'shop-1': holding('shop-0', 2) } }
      expect(fresh(same)?.command).toBeNull()
      expect(fresh({ views: { ...views, 'shop-2': { stored, server: null } } })?.command).toBeNull()
    },
  )

  it('without a record a person chooses who leads, once somebody is missed', () => {
    const lost = { ...aSituation({ views: { 'shop-1': lostAgent }, nowMs: 60_000 }), record: undefined }
    expect(wayOut(lost)?.command).toEqual({ verb: 'failover', to: 'shop-0', acceptLoss: true })
  })

  it('is in the words of the place where the cluster is', () => {
    const place = { kind: 'kubernetes', namespace: 'db', cluster: 'shop' } as const
    expect(printed(wayOut(aSituation(bothDead))?.sentence ?? '', place)).toMatch(
      /^use: kubectl regent failover shop -n db --accept-loss \(/,
    )
  })
})

describe('two refusals', () => {
  const situations = Object.entries(cases).filter(([, [, command]]) => command !== null)
  it.each(situations)('never refer to each other: %s', (_, [given]) => {
    const situation = aSituation(given)
    const plan = planSwitchover(situation, null)
    const refused = whyNoFailover(situation, failover)
    if ('refusal' in plan) expect(plan.refusal).not.toContain('regent failover')
    if (refused !== null && 'refusal' in plan) expect(refused).not.toContain('regent switchover')
  })

  it('of a failover to another instance while only the primary can go on names the command that has it go on', () => {
    expect(
      whyNoFailover(aSituation({ ...bothDead, views: { ...bothDead.views, 'shop-2': {} } }), {
        to: 'shop-2',
        acceptLoss: true,
      }),
    ).toEqual(
      'no failover to shop-2: it may lack what shop-0 holds: shop-0 is healthy, and a write needs 1 acknowledgement, and 0 replicas can give one; bring back shop-1, or let shop-0 go on without: regent failover --accept-loss',
    )
  })
})

function escaped(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')
}
