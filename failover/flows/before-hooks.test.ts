import { describe, expect, it } from 'vitest'
import { decide } from '../decide.ts'
import { aSituation, deadServer, fetchIntent, promised, shop1 } from '../testing.ts'
import type { HookRun, Recovery } from '../protocol/notes.ts'
import { askAgainMs } from './before-hooks.ts'

const hooks = { beforeFailover: [{ command: ['vip'] }, { command: ['dns'], onFailure: 'stop' as const }] }
const wallMs = 1_000_000

const runOf = (index: number, state: HookRun['state'], more: Partial<HookRun> = {}): HookRun => ({
  ...{ moment: 'beforeFailover', index, hook: index === 0 ? 'vip' : 'dns', state, by: 'm' },
  ...{ beganWallMs: wallMs, ms: 10, said: 'exit 1', ...more },
})

function recoveryWith(runs: readonly HookRun[], outcome: Recovery['outcome'] = 'running'): Recovery {
  return {
    ...{ id: 'one', kind: 'failover', startedWallMs: 0, analysis: '', sentence: '', from: null, to: null },
    ...{ fromEpoch: aSituation().record.epoch, toEpoch: null, outcome, timeline: [] },
    hooks: { failureType: '', runs },
  }
}

function decided(runs: readonly HookRun[] | null, given: object = {}, outcome: Recovery['outcome'] = 'running') {
  const lost = aSituation({ views: { 'shop-0': deadServer }, spec: { hooks } })
  const recovery = runs === null ? undefined : recoveryWith(runs, outcome)
  return decide({
    ...lost,
    ...{ manager: 'm', wallMs },
    notes: { ...lost.notes, recoveries: recovery ? [recovery] : [] },
    ...(recovery && outcome === 'running' && { recovery }),
    ...given,
  })
}

const kindsOf = ({ actions }: ReturnType<typeof decide>) => [...new Set(actions.map(({ kind }) => kind))]

describe('A failover behind its hooks', () => {
  it('begins with them, and asks nobody to promise meanwhile', () => {
    expect(decided(null)).toMatchObject({
      flow: 'failover',
      actions: [{ kind: 'hooks', moment: 'beforeFailover', successor: null, request: null }],
      sentence: expect.stringMatching(/^2 hooks before this: failing over/) as string,
    })
  })

  it('waits for one that runs, and has the next one run', () => {
    const waiting = decided([runOf(0, 'running'), runOf(1, 'due')])
    expect(waiting.actions).toEqual([])
    expect(waiting.sentence).toMatch(/^hook vip runs before this: failing over/)
    expect(kindsOf(decided([runOf(0, 'succeeded'), runOf(1, 'due')]))).toEqual(['hooks'])
  })

  it('goes on once they have ended, failed or not', () => {
    for (const state of ['succeeded', 'failed', 'unknown', 'skipped'] as const)
      expect(kindsOf(decided([runOf(0, state), runOf(1, 'succeeded')]))).toEqual(['promise'])
  })

  it('does not wait for one that a manager began which is gone', () => {
    expect(kindsOf(decided([runOf(0, 'running', { by: 'another' }), runOf(1, 'succeeded')]))).toEqual(['promise'])
  })

  it('goes on where its epoch is committed already, whatever hooks there are', () => {
    const { recovery: _none, ...begun } = { recovery: undefined }
    const committed = { ...recoveryWith([]), fromEpoch: aSituation().record.epoch - 1 }
    expect(kindsOf(decided(null, { ...begun, recovery: committed }))).toEqual(['promise'])
  })

  it('is not held up without hooks', () => {
    const lost = aSituation({ views: { 'shop-0': deadServer } })
    expect(kindsOf(decide(lost))).toEqual(['promise'])
  })
})

describe('A failover that a hook stops', () => {
  const stopping = [runOf(0, 'succeeded'), runOf(1, 'failed', { stops: true })]
  const asked = { requests: [{ kind: 'failover', id: 'a', to: null, acceptLoss: false }] }

  it('ends, with what the hook said, and what a person can do', () => {
    expect(decided(stopping)).toMatchObject({
      flow: null,
      blocked: true,
      actions: [],
      stopped: 'no failover: hook dns stopped it: exit 1',
      sentence: expect.stringMatching(/asked again in 5 min; by hand: regent failover$/) as string,
    })
  })

  it('is not begun for a while, and that is no news', () => {
    const held = decided(stopping, {}, 'undone')
    expect(held).toMatchObject({ flow: null, blocked: true, actions: [] })
    expect(held.stopped).toBeUndefined()
  })

  it('is begun again, and asked again, after that', () => {
    const later = { wallMs: wallMs + 10 + askAgainMs }
    expect(kindsOf(decided(stopping, { wallMs: later.wallMs - 1 }, 'undone'))).toEqual([])
    expect(kindsOf(decided(stopping, later, 'undone'))).toEqual(['hooks'])
  })

  it('is not held up by a clock that went back', () => {
    expect(kindsOf(decided(stopping, { wallMs: 0 }, 'undone'))).toEqual(['hooks'])
  })

  it('is done for a person', () => {
    expect(kindsOf(decided(stopping, asked))).toEqual(['promise'])
    expect(kindsOf(decided(stopping, asked, 'undone'))).toEqual(['hooks'])
  })
})

describe('A failover that accepts a loss, behind a hook that switches the lost primary off', () => {
  const lostTo = { server: { channel: { ioRunning: 'connecting' } } } as const
  const powerOff = [{ command: ['ipmi'] }]
  const ofPower = (state: HookRun['state'], more: Partial<HookRun> = {}) =>
    runOf(0, state, { moment: 'powerOff', hook: 'ipmi', ...more })

  function lost(runs: readonly HookRun[] | null, given: object = {}, outcome: Recovery['outcome'] = 'running') {
    const situation = aSituation({
      views: {
        'shop-0': { reachable: false },
        'shop-1': { ...lostTo, ...promised() },
        'shop-2': { ...lostTo, ...promised() },
      },
      spec: { mode: 'async', failover: { automatic: true, acceptLoss: 'always' }, hooks: { powerOff } },
      record: { acks: 0, acksWanted: 0, intent: fetchIntent() },
      nowMs: 60_000,
      leaseBlockedSinceMs: 50_000,
    })
    const recovery = runs === null ? undefined : recoveryWith(runs, outcome)
    return decide({
      ...situation,
      wallMs,
      notes: { ...situation.notes, recoveries: recovery ? [recovery] : [] },
      ...(recovery && outcome === 'running' && { recovery }),
      ...given,
    })
  }

  it('asks for the proof before another one leads', () => {
    expect(lost(null).actions).toMatchObject([{ kind: 'hooks', moment: 'powerOff', successor: shop1 }])
    expect(lost([ofPower('running', { by: 'me' })]).actions).toEqual([])
  })

  it('goes on with the proof', () => {
    expect(kindsOf(lost([ofPower('succeeded')]))).toEqual(['commit'])
  })

  it.each(['failed', 'unknown', 'skipped'] as const)('stops with a hook that is %s, which proves nothing', (state) => {
    expect(lost([ofPower(state, { said: 'no answer' })])).toMatchObject({
      ...{ flow: null, blocked: true, actions: [] },
      stopped: 'no failover: hook ipmi stopped it: no answer',
    })
  })

  it('asks anew at once where nobody knows how it ended, and after a while where it failed', () => {
    expect(kindsOf(lost([ofPower('unknown')], {}, 'undone'))).toEqual(['hooks'])
    const failed = [ofPower('failed', { stops: true })]
    expect(kindsOf(lost(failed, {}, 'undone'))).toEqual([])
    expect(kindsOf(lost(failed, { wallMs: wallMs + 10 + askAgainMs }, 'undone'))).toEqual(['hooks'])
  })
})
