import { expect, test } from 'vitest'
import type { Recovery } from '#failover/protocol/notes.ts'
import { renderExplanation } from './explanation.ts'
import { paintFor } from '#cli/terminal/paint.ts'
import { renderRecoveries, renderTimeline } from './recovery-tables.ts'

const recovery: Recovery = {
  id: 'r1',
  kind: 'failover',
  startedWallMs: Date.UTC(2026, 0, 2, 3, 4, 5),
  analysis: 'DeadPrimary',
  sentence: 'demo-1 took over from demo-0, which died',
  from: 'demo-0@v0',
  to: 'demo-1@v1',
  fromEpoch: 1,
  toEpoch: 2,
  outcome: 'succeeded',
  loss: { transactions: 0, unheardSeconds: 0 },
  timeline: [
    { atMs: 0, what: 'demo-0 reported its mysqld dead' },
    { atMs: 12.34, what: 'record committed' },
    { atMs: 31.2, what: 'demo-1 writable' },
  ],
}

test('recoveries are a table, newest first as the manager gives them', () => {
  expect(
    `\n${renderRecoveries([recovery, { ...recovery, id: 'r0', kind: 'bootstrap', from: null, timeline: [] }]).join('\n')}\n`,
  ).toMatchInlineSnapshot(`
    "
    id  started (UTC)        kind       outcome    from → to        took   lost  because
    r1  2026-01-02 03:04:05  failover   succeeded  demo-0 → demo-1  31 ms  0     DeadPrimary
    r0  2026-01-02 03:04:05  bootstrap  succeeded  demo-1                  0     DeadPrimary
    "
  `)
  const wayOf = (changes: Partial<Recovery>) =>
    /(?:succeeded) +(\S.*?) {2}/.exec(renderRecoveries([{ ...recovery, ...changes }])[1] ?? '')?.[1]
  expect(wayOf({ to: recovery.from })).toBe('demo-0')
  expect(wayOf({ from: null, to: null })).toBe('nobody')
  const lostBy = (loss: Recovery['loss']) => renderTimeline({ ...recovery, ...(loss && { loss }) })[3]
  expect(lostBy({ transactions: 7, unheardSeconds: 6 })).toBe('lost: 7, and 6 s unheard')
  expect(lostBy({ transactions: null, unheardSeconds: null })).toBe('lost: unknown')
  expect(renderRecoveries([])).toEqual(['nothing was recovered yet'])
})

test('a timeline shows milliseconds since detection and since the step before', () => {
  expect(`\n${renderTimeline(recovery).join('\n')}\n`).toMatchInlineSnapshot(`
    "
    failover r1: succeeded, demo-0 → demo-1, epoch 1 → 2
    started 2026-01-02 03:04:05 UTC because of DeadPrimary
    demo-1 took over from demo-0, which died
    lost: 0

           0.0 ms       +0.0  demo-0 reported its mysqld dead
          12.3 ms      +12.3  record committed
          31.2 ms      +18.9  demo-1 writable
    "
  `)
})

test('an explanation has the sentence, what is seen, what was not chosen, and the record', () => {
  const view = {
    sentence: 'blocked: demo-0 is dead and only 0 of 1 members of the sync set promised',
    blocked: true,
    reasons: ['demo-2 is no candidate: not in the sync set'],
    analyses: [{ code: 'DeadPrimary', severity: 'critical', instance: 'demo-0', sentence: 'mysqld of demo-0 is dead' }],
    record: {
      version: 1,
      cluster: 'demo',
      epoch: 3,
      revision: 12,
      primary: 'demo-0@v0',
      syncSet: ['demo-1@v1'],
      leaving: ['demo-1@v1'],
      acks: 1,
      acksWanted: 2,
      intent: { kind: 'fetch', by: 'x', candidate: 'demo-1@v1' },
    },
  } as const
  expect(`\n${renderExplanation('demo', view, paintFor(false)).join('\n')}\n`).toMatchInlineSnapshot(`
    "
    demo: blocked: demo-0 is dead and only 0 of 1 members of the sync set promised

    what is seen:
      DeadPrimary  mysqld of demo-0 is dead

    why not otherwise:
      demo-2 is no candidate: not in the sync set

    the record:
      epoch 3, revision 12, primary demo-0@v0
      sync set: demo-1@v1; a write needs 1, being raised to 2 of them
      leaving the sync set: demo-1@v1
      under way: fetch to demo-1@v1
    "
  `)
})

test('hooks of a recovery stand below its timeline', () => {
  const run = { index: 0, hook: 'vip', by: 'm', beganWallMs: 0 }
  const runs = [
    { ...run, moment: 'beforeFailover', state: 'succeeded', ms: 12.34, said: 'exit 0' },
    { ...run, moment: 'afterFailover', state: 'unknown', ms: null, said: 'nobody knows how it ended' },
  ] as const
  const lines = renderTimeline({ ...recovery, hooks: { failureType: 'DeadPrimary', runs } })
  expect(lines.slice(-3).map((line) => line.replaceAll(/ +/g, ' ').trim())).toEqual([
    'hooks what state took how it ended',
    'beforeFailover vip succeeded 12.3 ms exit 0',
    'afterFailover vip unknown nobody knows how it ended',
  ])
})
