import { describe, expect, it } from 'vitest'
import type { Assignment } from '#failover/protocol/assignment.ts'
import { gtids } from '#topology/testing.ts'
import type { ServerState } from '#topology/snapshot/observation.ts'
import { nextPass } from '../converge/next-pass.ts'
import { runPass } from '../converge/runner.ts'
import type { NextPass } from '../converge/steps.ts'
import { learn } from '../instance/learn.ts'
import { lifeOf } from '../instance/life.ts'
import { viewOf } from '../instance/pass.ts'
import type { Parts } from '../instance/parts.ts'
import { aServerState, primaryOfEpoch3, replicaOfEpoch3, ScriptedServer, testParts } from '../testing.ts'
import { changeLife, settable } from '../testing-known.ts'
import { told } from '../testing-passes.ts'
import { Semisync } from './semisync.ts'

const held = gtids('shop-0', 100)
const report = { epoch: 4, holds: held, executed: held, asPrimary: false }
const closed = aServerState({ readOnly: true, superReadOnly: true })
const open = aServerState({ readOnly: false, superReadOnly: false })

/** It promised epoch 4, has told what it holds, and was made ready to lead. */
async function promised(assignment: Assignment = replicaOfEpoch3): Promise<Parts> {
  const parts = await testParts(new ScriptedServer(closed))
  await parts.file.update({ promise: 4, revision: 11, assignment })
  settable(parts).course.promiseReport = report
  changeLife(parts, { stage: { is: 'prepared', epoch: 4, executed: held } })
  return parts
}

async function next(parts: Parts, seen: ServerState, looked: boolean): Promise<NextPass> {
  const view = { ...viewOf(parts, looked ? seen : null), server: seen }
  const pass = nextPass(view, new Semisync(parts))
  await runPass(parts, pass)
  return pass
}

describe('A replica whose promise is kept and told', () => {
  it('rests while it is closed', async () => {
    const parts = await promised()
    expect(await next(parts, closed, true)).toEqual({ next: 'when something changes' })
  })

  it('is in doubt once another hand opened it, on disk before that is said, and is closed; what it told before counts no more', async () => {
    const parts = await promised()
    expect(await next(parts, open, false)).toEqual({ next: 'after a look' })
    expect(told(await next(parts, open, true))).toBe('stores opened; notice OpenedByHand')
    expect(parts.course.promiseReport).toEqual(report)
    expect((await next(parts, open, true)).steps).toEqual([{ do: 'closeForWrites' }, { do: 'outdate' }])
    expect(parts.course.promiseReport).toBeNull()
    expect(lifeOf(parts).stage).toEqual({ is: 'closed' })
    expect(parts.file.current).toMatchObject({ promise: 4, opened: true })
  })

  it('is in no doubt where its agent opened it for a copy before, and is closed; in doubt where it is opened after that', async () => {
    const parts = await promised()
    learn(parts, { fact: 'openedByAgent' })
    expect((await next(parts, open, true)).steps).toEqual([{ do: 'closeForWrites' }, { do: 'outdate' }])
    expect(parts.file.current.opened).toBe(false)
    expect(parts.course.promiseReport).toEqual(report)
    expect(told(await next(parts, open, true))).toBe('stores opened; notice OpenedByHand')
  })

  it('is not where it was the primary: that is demoted, or killed', async () => {
    const parts = await promised(primaryOfEpoch3)
    expect(await next(parts, open, true)).toEqual({ next: 'when something changes' })
  })
})
