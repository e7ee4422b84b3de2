import { say } from '#common/sentence/sentence.ts'
import { describe, expect, it } from 'vitest'
import type { Assignment } from '#failover/protocol/assignment.ts'
import { groupName, inGroup, outsideGroup, type GroupShape } from '#topology/testing-group.ts'
import type { ServerOverrides } from '#topology/testing.ts'
import { viewOf } from '../instance/pass.ts'
import type { Parts } from '../instance/parts.ts'
import type { GroupPort } from '../ports/group.ts'
import { aServerState, replicaOfEpoch3, ScriptedServer, testParts } from '../testing.ts'
import { changeLife, settable } from '../testing-known.ts'
import { perform, told } from '../testing-passes.ts'
import { Group } from './group.ts'
import { leadsGroup } from './stage.ts'
import type { NextPass } from './steps.ts'

const readable: ServerOverrides = { readOnly: true, superReadOnly: true, offlineMode: false }
const closed: ServerOverrides = { readOnly: true, superReadOnly: true, offlineMode: true }
const open: ServerOverrides = { readOnly: false, superReadOnly: false, offlineMode: false }
const led1: GroupShape = { primary: 'shop-1' }

interface Case {
  readonly sees: GroupShape
  readonly server: ServerOverrides
  readonly isInDoubt?: true
  readonly fenced?: true
}

/** The agent of shop-0, which is told BEFORE_ON_PRIMARY_FAILOVER, and does what its member is to do otherwise. */
async function given({ sees, server: more, isInDoubt = undefined }: Case, group?: GroupPort): Promise<Parts> {
  const server = new ScriptedServer(aServerState(inGroup('shop-0', sees, more)))
  const parts = await testParts(Object.assign(server, group === undefined ? {} : { group }))
  await parts.file.update({ promise: 3, revision: 10, opened: isInDoubt === true })
  const follows = { is: 'following', step: 'started', as: 'secondary', sinceMs: 0 } as const
  changeLife(parts, { stage: sees.primary === undefined ? leadsGroup : follows })
  settable(parts).told.trustsAssignment = true
  return parts
}

function next(parts: Parts, { fenced = undefined }: Partial<Case> = {}): NextPass {
  const group = { name: groupName, does: 'join', consistency: 'BEFORE_ON_PRIMARY_FAILOVER' } as const
  const assignment: Assignment = { ...replicaOfEpoch3, fenced: fenced === true, group }
  return new Group(parts).next(viewOf(parts, (parts.server as ScriptedServer).state), assignment)
}

describe('A member that left because its disk was full', () => {
  const full: Case = { sees: outsideGroup({ error: 'is full, Error_code: 1114' }), server: closed }
  const lowSpace = say`low space: 0.0 MiB free`

  it('joins once there is space, and not before: it would stop there again', async () => {
    const parts = await given(full)
    settable(parts).guards.closed.space = lowSpace
    expect(told(next(parts))).toBe(`the disk was full: it joins the group once there is space (${String(lowSpace)})`)
    settable(parts).guards.closed.space = null
    expect(told(next(parts))).toBe('joinGroup; joins the group')
  })

  it('waits for nothing where that was no matter of space', async () => {
    const parts = await given({ ...full, sees: outsideGroup({ error: 'Duplicate entry, Error_code: 1062' }) })
    settable(parts).guards.closed.space = lowSpace
    expect(told(next(parts))).toBe('joinGroup; joins the group')
  })
})

describe('A member that is online', () => {
  const changedSettings = [{ name: 'group_replication_member_expel_timeout', seen: '3600', wanted: '0' }]

  it.each<[string, Case, string]>([
    [
      'takes the consistency that the spec says now, as secondary',
      { sees: { ...led1, consistency: 'AFTER' }, server: readable },
      'setConsistency BEFORE_ON_PRIMARY_FAILOVER; outdate; secondary of the group, 3 of 3 members online',
    ],
    [
      'and as primary',
      { sees: { consistency: 'AFTER' }, server: open },
      'setConsistency BEFORE_ON_PRIMARY_FAILOVER; outdate; primary of the group, 3 of 3 members online',
    ],
    [
      'leaves the consistency that it was told',
      { sees: { ...led1, consistency: 'BEFORE_ON_PRIMARY_FAILOVER' }, server: readable },
      'secondary of the group, 3 of 3 members online',
    ],
    [
      'puts right what somebody changed',
      { sees: led1, server: { ...readable, changedSettings } },
      'putSettingsRight; secondary of the group, 3 of 3 members online',
    ],
    [
      'is to be elected last while its data are in doubt',
      { sees: { ...led1, weight: 50 }, server: readable, isInDoubt: true },
      'setWeight 0; secondary of the group, 3 of 3 members online',
    ],
    [
      'is to be elected last while a person has it fenced: as primary it would be closed',
      { sees: { ...led1, weight: 50 }, server: closed, fenced: true },
      'setWeight 0; closed: fenced by a person',
    ],
    [
      'is elected as any other once they are not',
      { sees: { ...led1, weight: 0 }, server: readable },
      'setWeight 50; secondary of the group, 3 of 3 members online',
    ],
  ])('%s', async (_, known, words) => {
    expect(told(next(await given(known), known))).toBe(words)
  })

  it('says which consistency it has from now on', async () => {
    const calls: string[] = []
    const group = { setConsistency: async (consistency: string) => void calls.push(consistency) } as GroupPort
    const known: Case = { sees: { ...led1, consistency: 'AFTER' }, server: readable }
    const parts = await given(known, group)
    await perform(parts, next(parts))
    expect(calls).toEqual(['BEFORE_ON_PRIMARY_FAILOVER'])
    expect(parts.notices.list.map(({ sentence }) => sentence)).toEqual([
      'group_replication_consistency is BEFORE_ON_PRIMARY_FAILOVER for sessions that begin now',
    ])
  })
})
