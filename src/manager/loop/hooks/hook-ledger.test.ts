import { describe, expect, it } from 'vitest'
import { emptyNotes, type ClusterNotes, type HookRun, type Recovery } from '#failover/protocol/notes.ts'
import { Claim, due, endedRun, forgotten, keyText, runsOf, skipped } from './hook-ledger.ts'
import { withRecovery } from '../books/repair-codes.ts'

const recovery: Recovery = {
  ...{ id: 'one', kind: 'failover', startedWallMs: 0, analysis: '', sentence: '', from: null, to: null },
  ...{ fromEpoch: 3, toEpoch: null, outcome: 'running', timeline: [] },
}
const key = { recovery: 'one', moment: 'afterFailover', index: 0 } as const
const hooks = [{ command: ['first'] }, { command: ['second'] }]
const planned = due(recovery, 'DeadPrimary', { moment: 'afterFailover', hooks })(emptyNotes)

const stateIn = ({ recoveries }: ClusterNotes, id = 'one') =>
  recoveries.filter((one) => one.id === id).flatMap((one) => runsOf(one, 'afterFailover').map(({ state }) => state))

function claimed(
  notes: ClusterNotes,
  by: string,
  at: typeof key | { recovery: string; moment: 'afterFailover'; index: number } = key,
) {
  const claim = new Claim(at, by, 1_000)
  const after = claim.change(notes)
  return { after, isOurs: claim.isOurs }
}

describe('What is to run', () => {
  it('is written beside its recovery, which is filed with it', () => {
    expect(stateIn(planned)).toEqual(['due', 'due'])
    expect(planned.recoveries[0]?.hooks?.failureType).toBe('DeadPrimary')
  })

  it('is not due again, whoever writes it down a second time', () => {
    const { after } = claimed(planned, 'a')
    expect(due(recovery, '', { moment: 'afterFailover', hooks })(after)).toEqual(after)
  })

  it('stays where the recovery is filed again as it ends', () => {
    const { after } = claimed(planned, 'a')
    const filed = withRecovery({ ...recovery, outcome: 'succeeded' })(after)
    expect(filed.recoveries[0]?.outcome).toBe('succeeded')
    expect(stateIn(filed)).toEqual(['running', 'due'])
  })
})

describe('A run', () => {
  it('is begun by one manager: another one finds it running', () => {
    const { after, isOurs } = claimed(planned, 'a')
    expect(isOurs).toBe(true)
    expect(claimed(after, 'b')).toEqual({ after, isOurs: false })
  })

  it('is begun by who wrote it down where the store did not answer', () => {
    const { after } = claimed(planned, 'a')
    expect(claimed(after, 'a').isOurs).toBe(true)
  })

  it('is not begun once it ended, nor where it is not written down', () => {
    const ended = endedRun(key, { state: 'failed', said: '' })(claimed(planned, 'a').after)
    expect(claimed(ended, 'a').isOurs).toBe(false)
    expect(claimed(emptyNotes, 'a').isOurs).toBe(false)
  })

  it('is not begun where another manager began the same for the same failure under another name', () => {
    const other: Recovery = { ...recovery, id: 'two' }
    const both = due(other, '', { moment: 'afterFailover', hooks })(claimed(planned, 'a').after)
    const late = claimed(both, 'b', { ...key, recovery: 'two' })
    expect(late.isOurs).toBe(false)
    expect(stateIn(late.after, 'two')).toEqual(['skipped', 'due'])
    expect(claimed(both, 'b', { ...key, recovery: 'two', index: 1 }).isOurs).toBe(true)
  })

  it('of a manager that is gone is unknown; that of another one goes on', () => {
    const { after } = claimed(planned, 'a')
    expect(stateIn(forgotten(key, 'b')(after))).toEqual(['running', 'due'])
    expect(stateIn(forgotten(key, 'a')(after))).toEqual(['unknown', 'due'])
  })

  it('that was due before a recovery which is over is not begun any more', () => {
    const { after } = claimed(planned, 'a')
    const [first, second] = runsOf(
      skipped('one', ['afterFailover'], 'over')(after).recoveries[0] ?? recovery,
      'afterFailover',
    )
    expect([first?.state, second?.state, second?.said]).toEqual(['running', 'skipped', 'over'])
  })

  it('has a key that tells recovery, moment and place', () => {
    expect(keyText({ ...key, index: 1 } satisfies Pick<HookRun, 'moment' | 'index'> & { recovery: string })).toBe(
      'one.afterFailover.1',
    )
  })
})
