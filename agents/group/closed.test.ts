import { say } from '#common/sentence/sentence.ts'
import { describe, expect, it } from 'vitest'
import { allOnline, groupName, inGroup, type GroupShape } from '#topology/testing-group.ts'
import { viewOf } from '../instance/pass.ts'
import { aServerState, primaryOfEpoch3, replicaOfEpoch3, ScriptedServer, testParts } from '../testing.ts'
import { settable } from '../testing-known.ts'
import { runPass } from '../converge/runner.ts'
import { RegentError } from '#common/errors/errors.ts'
import { convergedIn } from '../testing-passes.ts'
import { Group } from './group.ts'
import type { NextPass } from './steps.ts'

interface Given {
  readonly isPrimary?: boolean
  readonly fenced?: boolean
  readonly space?: string
  readonly isClosed?: boolean
}

/** What the agent of shop-0 does, which is a member of the group. */
async function passOf({ isPrimary = true, fenced = false, space, isClosed = false }: Given): Promise<NextPass> {
  const sees: GroupShape = isPrimary ? {} : { primary: 'shop-1' }
  const closed = { readOnly: isClosed || !isPrimary, superReadOnly: isClosed || !isPrimary, offlineMode: isClosed }
  const server = aServerState({ ...inGroup('shop-0', sees), ...closed })
  const parts = await testParts(new ScriptedServer(server))
  settable(parts).guards.closed.space = space === undefined ? null : say`${space}`
  const group = { name: groupName, does: 'join', consistency: 'EVENTUAL' } as const
  const assignment = { ...(isPrimary ? primaryOfEpoch3 : replicaOfEpoch3), fenced, group }
  return new Group(parts).next(viewOf(parts, server), assignment)
}

const saidBy = ({ then }: NextPass) => convergedIn(then).sentence

describe('A member that a person fences', () => {
  it.each([true, false])('is closed for everybody and stays a member (primary: %s)', async (isPrimary) => {
    const pass = await passOf({ isPrimary, fenced: true })
    expect(pass.steps).toEqual([{ do: 'closeToEverybody' }])
    expect(String(saidBy(pass))).toBe('closed: fenced by a person')
  })

  it('is opened again once the fence is gone', async () => {
    expect((await passOf({ isClosed: true })).steps).toEqual([{ do: 'open' }, { do: 'outdate' }])
  })

  it('as a secondary lets readers in again, and nobody write', async () => {
    expect((await passOf({ isPrimary: false, isClosed: true })).steps).toEqual([
      { do: 'becomeMember' },
      { do: 'letReadersIn' },
      { do: 'outdate' },
    ])
  })
})

describe('A member that is short of space', () => {
  it('as primary is closed before its disk is full, and stays a member', async () => {
    const pass = await passOf({ space: 'low space: 40 MiB free' })
    expect(pass.steps).toEqual([{ do: 'closeToEverybody' }])
    expect(String(saidBy(pass))).toBe('closed: low space: 40 MiB free')
  })

  it('as secondary still serves reads: what is written there the group writes', async () => {
    const pass = await passOf({ isPrimary: false, space: 'low space: 40 MiB free' })
    expect(pass.steps).toEqual([{ do: 'becomeMember' }])
    expect(convergedIn(pass.then).done).toBe(true)
  })
})

describe('A primary without a majority', () => {
  const unreachable = { ...allOnline, 'shop-1': 'UNREACHABLE', 'shop-2': 'UNREACHABLE' } as const
  const tooLate = new RegentError(
    'REGENT_SERVER_TIMEOUT',
    say`1 sessions were killed and are still there after 2000 ms`,
  )

  /** A write waits for the group: its session stays, and holds read-only up. */
  async function converges(error: RegentError): Promise<string> {
    const server = aServerState({ ...inGroup('shop-0', { members: unreachable }) })
    const scripted = new ScriptedServer(server)
    const parts = await testParts(
      Object.assign(scripted, {
        killForeignSessions: () => Promise.reject(error),
        setReadOnly: () => Promise.reject(error),
      }),
    )
    const group = { name: groupName, does: 'join', consistency: 'EVENTUAL' } as const
    await runPass(parts, new Group(parts).next(viewOf(parts, server), { ...primaryOfEpoch3, group }))
    expect(scripted.calls).toEqual(['offline on'])
    return String(parts.course.converged.sentence)
  }

  it('says so, also while a write that waits for one holds read-only up', async () => {
    expect(await converges(tooLate)).toBe('closed: 2 of 3 members do not answer, which is no majority')
  })

  it('is not said to be closed where its server fails otherwise', async () => {
    const other = new RegentError('REGENT_SERVER_DOWN', say`mysqld ended`)
    await expect(converges(other)).rejects.toThrow('mysqld ended')
  })
})
