import { describe, expect, it } from 'vitest'
import type { Assignment, GroupTask } from '#failover/protocol/assignment.ts'
import { groupName, inGroup, outsideGroup, type GroupShape } from '#topology/testing-group.ts'
import type { ServerOverrides } from '#topology/testing.ts'
import type { Stage } from '../instance/life.ts'
import { viewOf } from '../instance/pass.ts'
import type { Parts } from '../instance/parts.ts'
import type { GroupPort } from '../ports/group.ts'
import { aServerState, replicaOfEpoch3, ScriptedServer, testParts } from '../testing.ts'
import { changeLife, settable } from '../testing-known.ts'
import { perform, told } from '../testing-passes.ts'
import { Group } from './group.ts'
import { leadsGroup } from './stage.ts'

const open: ServerOverrides = { readOnly: false, superReadOnly: false, offlineMode: false }
const readable: ServerOverrides = { readOnly: true, superReadOnly: true, offlineMode: false }
const closed: ServerOverrides = { readOnly: true, superReadOnly: true, offlineMode: true }
const led1: GroupShape = { primary: 'shop-1' }
const follows: Stage = { is: 'following', step: 'started', as: 'secondary', sinceMs: 0 }
const mode = 'group_replication_single_primary_mode'

/** What another hand made of shop-0, which is told to join. */
interface Case {
  readonly does?: GroupTask['does']
  readonly sees?: GroupShape
  readonly server?: ServerOverrides
  readonly stage?: Stage
}

async function given({ sees = outsideGroup(), server: more = closed, stage }: Case, port?: GroupPort): Promise<Parts> {
  const server = new ScriptedServer(aServerState(inGroup('shop-0', sees, more)))
  const parts = await testParts(Object.assign(server, port === undefined ? {} : { group: port }))
  await parts.file.update({ promise: 3, revision: 10 })
  if (stage) changeLife(parts, { stage })
  settable(parts).told.trustsAssignment = true
  return parts
}

async function decided(known: Case): Promise<string> {
  const parts = await given(known)
  const group: GroupTask = { name: groupName, does: known.does ?? 'join', consistency: 'BEFORE_ON_PRIMARY_FAILOVER' }
  const assignment: Assignment = { ...replicaOfEpoch3, group }
  return told(new Group(parts).next(viewOf(parts, (parts.server as ScriptedServer).state), assignment))
}

describe('What another hand changed', () => {
  it.each<[string, Case, string]>([
    [
      'puts its own account and settings right before it joins',
      {
        sees: outsideGroup({ accountTrouble: 'is locked' }),
        server: { ...closed, changedSettings: [{ name: 'group_replication_ssl_mode', seen: 'X', wanted: 'REQUIRED' }] },
      },
      'putSettingsRight; setOwnAccount is locked; outdate; joinGroup; joins the group',
    ],
    [
      'puts its own account right while it waits to be admitted',
      { does: 'stayOut', sees: outsideGroup({ accountTrouble: 'is locked' }) },
      'setOwnAccount is locked; outdate; know joinsInTurn; outside of the group: it waits until it is told to join',
    ],
    [
      'sets the account of the group for all members, where another hand changed it',
      { sees: { accountTrouble: 'is locked' }, server: open, stage: leadsGroup },
      'setAccountOfAll is locked; outdate; primary of the group, 3 of 3 members online',
    ],
    [
      'writes no account while it is closed',
      { sees: { accountTrouble: 'is locked', applying: 3 }, server: closed },
      'elected by the group: it applies what it received before',
    ],
    [
      'that another hand made a second primary is closed for writes and runs no events',
      { sees: { writers: ['shop-0', 'shop-1'] }, server: open, stage: follows },
      'closeAsMember; closed for writes: the group is in multi-primary mode by another hand, and another member goes on alone',
    ],
    [
      'leaves the account of the group to the primary',
      { sees: { ...led1, accountTrouble: 'is locked' }, server: readable, stage: follows },
      'secondary of the group, 3 of 3 members online',
    ],
    [
      'forgets what another hand had the server persist, once the group is in its mode again',
      { sees: led1, server: { ...readable, persisted: [mode] }, stage: follows },
      'forgetMode; outdate; secondary of the group, 3 of 3 members online',
    ],
    [
      'forgets nothing before that',
      {
        sees: led1,
        server: { ...readable, persisted: [mode], changedSettings: [{ name: mode, seen: '0', wanted: 'ON' }] },
        stage: follows,
      },
      'putSettingsRight; secondary of the group, 3 of 3 members online',
    ],
  ])('%s', async (_, known, words) => {
    expect(await decided(known)).toBe(words)
  })
})

it('An account is changed outside of the group by a server that is closed again, also where that failed', async () => {
  for (const fails of [false, true]) {
    const port = { setAccount: () => (fails ? Promise.reject(new Error('no')) : Promise.resolve()) }
    const parts = await given({ sees: outsideGroup() }, port as unknown as GroupPort)
    await perform(parts, { steps: [{ do: 'setOwnAccount', trouble: 'is locked' }] }).catch(() => undefined)
    expect((parts.server as ScriptedServer).calls).toEqual(['readOnly accounts', 'readOnly closed'])
    expect(parts.notices.list.map(({ sentence }) => sentence)).toEqual(
      fails
        ? []
        : ['the account regent_group of this server was changed by another hand (it is locked), and is right again'],
    )
  }
})
