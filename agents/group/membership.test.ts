import { say } from '#common/sentence/sentence.ts'
import { describe, expect, it } from 'vitest'
import type { Assignment, GroupTask } from '#failover/protocol/assignment.ts'
import { gtids, uuidOf, type ServerOverrides } from '#topology/testing.ts'
import { groupName, inGroup, outsideGroup, type GroupShape } from '#topology/testing-group.ts'
import type { Stage } from '../instance/life.ts'
import { viewOf } from '../instance/pass.ts'
import type { Parts } from '../instance/parts.ts'
import type { StoredState } from '../instance/stored-state.ts'
import type { GroupPort, GroupSettings } from '../ports/group.ts'
import { aServerState, primaryOfEpoch3, replicaOfEpoch3, ScriptedServer, testParts } from '../testing.ts'
import { changeLife, settable } from '../testing-known.ts'
import { convergedIn, perform, told } from '../testing-passes.ts'
import { Group } from './group.ts'
import { leadsGroup } from './stage.ts'
import { pauseBeforeJoining, type NextPass } from './steps.ts'

const open: ServerOverrides = { readOnly: false, superReadOnly: false, offlineMode: false }
const readable: ServerOverrides = { readOnly: true, superReadOnly: true, offlineMode: false }
const closed: ServerOverrides = { readOnly: true, superReadOnly: true, offlineMode: true }

/** What the agent of shop-0 is told, knows and sees; by default told to join, and outside of the group. */
interface Case {
  readonly does?: GroupTask['does']
  readonly fenced?: boolean
  readonly sees?: GroupShape
  readonly server?: ServerOverrides
  readonly stored?: Partial<StoredState>
  readonly stage?: Stage
  readonly lowSpace?: true
  readonly isStarting?: true
  readonly failure?: string
}

const follows: Stage = { is: 'following', step: 'started', as: 'secondary', sinceMs: 0 }

function assignmentOf({ does = 'join', fenced = false }: Case): Assignment {
  const group: GroupTask = { name: groupName, does, consistency: 'BEFORE_ON_PRIMARY_FAILOVER' }
  const base = does === 'form' ? primaryOfEpoch3 : replicaOfEpoch3
  return { ...base, fenced, group }
}

async function given(known: Case, port?: GroupPort): Promise<Parts> {
  const state = aServerState({ ...inGroup('shop-0', known.sees ?? outsideGroup(), known.server ?? closed) })
  const server = new ScriptedServer(state)
  const parts = await testParts(Object.assign(server, port === undefined ? {} : { group: port }))
  await parts.file.update({ promise: 3, revision: 10, ...known.stored })
  if (known.stage) changeLife(parts, { stage: known.stage })
  if (known.lowSpace) settable(parts).guards.closed.space = say`low space: 3 MiB`
  if (known.isStarting) settable(parts).jobs.startingGroup = new Promise(() => undefined)
  settable(parts).jobs.groupFailure = known.failure ?? ''
  settable(parts).told.trustsAssignment = true
  return parts
}

function next(parts: Parts, known: Case): NextPass {
  return new Group(parts).next(viewOf(parts, (parts.server as ScriptedServer).state), assignmentOf(known))
}

async function decided(known: Case): Promise<NextPass> {
  return next(await given(known), known)
}

const led1: GroupShape = { primary: 'shop-1' }
const lost: GroupShape = { members: { 'shop-0': 'ONLINE', 'shop-1': 'UNREACHABLE', 'shop-2': 'UNREACHABLE' } }
const one: GroupShape = { members: { 'shop-0': 'ONLINE', 'shop-1': 'ONLINE', 'shop-2': 'UNREACHABLE' } }
const inError: GroupShape = { members: { 'shop-0': 'ERROR' } }
const recovering: GroupShape = { members: { 'shop-0': 'RECOVERING', 'shop-1': 'ONLINE' }, primary: 'shop-1' }

describe('Outside of the group, a member', () => {
  it.each<[string, Case, string]>([
    ['is closed before anything else', { server: readable }, 'closeToEverybody'],
    [
      'is closed also where only writes are refused no more',
      { server: { ...closed, superReadOnly: false } },
      'closeToEverybody',
    ],
    [
      'that is not admitted waits, and joins in turn later',
      { does: 'stayOut' },
      'know joinsInTurn; outside of the group: it waits until it is told to join',
    ],
    ['that is admitted joins', {}, 'joinGroup; joins the group'],
    ['that is to form the group forms it', { does: 'form' }, 'joinGroup 3; forms the group'],
    [
      'that formed the group in this epoch never does so again: it joins',
      { does: 'form', stored: { formedEpoch: 3 } },
      'joinGroup; joins the group',
    ],
    [
      'that formed the group in an earlier epoch forms it anew',
      { does: 'form', stored: { formedEpoch: 2 } },
      'joinGroup 3; forms the group',
    ],
    ['that is joining already is not told to again', { isStarting: true }, 'joins the group'],
    [
      'that failed to join says why while it tries again',
      { isStarting: true, failure: 'it has more transactions than the group' },
      'joins the group; before: it has more transactions than the group',
    ],
  ])('%s', async (_, known, words) => {
    expect(told(await decided(known))).toBe(words)
  })
})

describe('A member that could not join', () => {
  it('waits before it tries again, longer each time, and at most a minute', async () => {
    const parts = await given({})
    const waited = (): number => {
      pauseBeforeJoining(parts)
      const pass = next(parts, {})
      expect(pass.steps ?? []).toEqual([])
      return typeof pass.next === 'object' ? Math.round(pass.next.afterMs / 100) * 100 : 0
    }
    expect(Array.from({ length: 9 }, waited)).toEqual([500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000])
  })
})

describe('A member', () => {
  it.each<[string, Case, string]>([
    [
      'in error says why, leaves what is left of the group, and is closed',
      { sees: { ...inError, error: 'duplicate key' }, server: readable },
      'closeToEverybody; notice GroupMemberInError; leaveInError; outdate; leaves the group: duplicate key',
    ],
    [
      'in error without a word was expelled, or alone for long',
      { sees: inError },
      'notice GroupMemberInError; leaveInError; outdate; leaves the group: it was expelled, or lost its majority for long',
    ],
    [
      'that recovers lets nobody in, and says how much is left',
      { sees: { ...recovering, applying: 40 }, server: readable },
      'closeToEverybody; recovers from another member: 40 transactions to apply',
    ],
    [
      'that recovers, and that the record has let go meanwhile, leaves',
      { does: 'stayOut', sees: recovering },
      'leaveGroup; outdate',
    ],
    [
      'that recovers and is closed does nothing',
      { sees: recovering },
      'recovers from another member: 0 transactions to apply',
    ],
    [
      'that does not know its own state waits',
      { sees: { members: { 'shop-0': 'UNREACHABLE' } } },
      'this member does not know its own state',
    ],
    [
      'that hears no majority is closed: neither writes nor reads',
      { sees: lost, server: open },
      'closeWithoutMajority; closed: 2 of 3 members do not answer, which is no majority',
    ],
    [
      'that hears half of four is closed too',
      {
        sees: { members: { 'shop-0': 'ONLINE', 'shop-1': 'ONLINE', 'shop-2': 'UNREACHABLE', 'shop-3': 'UNREACHABLE' } },
        server: readable,
      },
      'closeWithoutMajority; closed: 2 of 4 members do not answer, which is no majority',
    ],
    [
      'that hears two of three goes on',
      { sees: one, server: open, stage: leadsGroup },
      'primary of the group, 2 of 3 members online',
    ],
    [
      'that is admitted no more leaves',
      { does: 'stayOut', sees: led1, server: readable },
      'closeWithoutMajority; leaveGroup; outdate',
    ],
    [
      'that is fenced is closed, and stays a member',
      { sees: led1, server: readable, fenced: true },
      'closeToEverybody; closed: fenced by a person',
    ],
    [
      'that runs out of space is closed',
      { sees: {}, server: open, lowSpace: true, stage: leadsGroup },
      'closeToEverybody; closed: low space: 3 MiB',
    ],
    [
      'that has formed the group has that on disk before anything else',
      { does: 'form', sees: { members: { 'shop-0': 'ONLINE' } }, server: closed },
      'stores formedEpoch; open; outdate',
    ],
    [
      'that may have forgotten something has got it from the others',
      { sees: led1, server: readable, stage: follows, stored: { forgetful: true } },
      'stores forgetful; secondary of the group, 3 of 3 members online',
    ],
  ])('%s', async (_, known, words) => {
    expect(told(await decided(known))).toBe(words)
  })
})

describe('The primary of the group', () => {
  it.each<[string, Case, string]>([
    [
      'that the group opened runs events',
      { sees: {}, server: open },
      'becomePrimary; primary of the group, 3 of 3 members online',
    ],
    [
      'that is primary already does nothing',
      { sees: {}, server: open, stage: leadsGroup },
      'primary of the group, 3 of 3 members online',
    ],
    [
      'lets readers in where it takes writes and nobody may log in',
      { sees: {}, server: { ...open, offlineMode: true }, stage: leadsGroup },
      'letReadersIn; outdate; primary of the group, 3 of 3 members online',
    ],
    ['opens again what its agent had closed', { sees: {}, server: closed }, 'open; outdate'],
    [
      'opens again, and says so, what another hand had closed',
      { sees: {}, server: readable, stage: leadsGroup },
      'open; outdate; notice Opened',
    ],
    [
      'that the group has just elected waits for the group to open it',
      { sees: {}, server: readable },
      'elected by the group: it applies what it received before',
    ],
    [
      'opens nothing before everything received is applied',
      { sees: { applying: 3 }, server: closed },
      'elected by the group: it applies what it received before',
    ],
    [
      'opens nothing before what its channel received is executed',
      { sees: {}, server: { ...closed, received: gtids('shop-1', 5) } },
      'elected by the group: it applies what it received before',
    ],
  ])('%s', async (_, known, words) => {
    expect(told(await decided(known))).toBe(words)
  })
})

describe('A secondary of the group', () => {
  it.each<[string, Case, string]>([
    [
      'that has just joined stops events, and lets readers in',
      { sees: led1 },
      'becomeMember; letReadersIn; outdate; secondary of the group, 3 of 3 members online',
    ],
    [
      'that is as it should be does nothing',
      { sees: led1, server: readable, stage: follows },
      'secondary of the group, 3 of 3 members online',
    ],
    [
      'that was primary stops events',
      { sees: led1, server: readable, stage: leadsGroup },
      'becomeMember; secondary of the group, 3 of 3 members online',
    ],
    [
      'that takes writes, and was not seen closed before, is closed: the group may be just doing so',
      { sees: led1, server: open, stage: leadsGroup },
      'closeAsMember',
    ],
    [
      'that takes writes and had been closed is in doubt, on disk before that is said',
      { sees: led1, server: open, stage: follows },
      'stores opened; notice OpenedByHand',
    ],
  ])('%s', async (_, known, words) => {
    expect(told(await decided(known))).toBe(words)
  })

  it('that says it is as told is done; any that waits is not', async () => {
    const done = await decided({ sees: led1, server: readable, stage: follows })
    expect(convergedIn(done.then)).toMatchObject({ revision: 10, done: true })
    for (const known of [{}, { sees: recovering }, { sees: lost }, { sees: inError }])
      expect(convergedIn((await decided(known)).then)).toMatchObject({ revision: 10, done: false })
  })
})

describe('To join', () => {
  const [first, second] = ['shop-1', 'shop-2'].map((instance) => ({
    instance,
    host: '10.0.0.1',
    port: 3306,
    agent: '',
  }))

  /** A port whose start is answered when a test says so. */
  function port() {
    const calls: string[] = []
    let answer: { resolve: () => void; reject: (error: Error) => void } | undefined
    const it: GroupPort = {
      agree: async () => undefined,
      viewId: async () => '17:3',
      start: (settings: GroupSettings, forms) => {
        calls.push(`${forms ? 'form' : 'join'} ${settings.name} ${settings.consistency} ${settings.seeds.join()}`)
        return new Promise<void>((resolve, reject) => (answer = { resolve, reject }))
      },
      stop: async () => void calls.push('stop'),
      electPrimary: async (uuid) => void calls.push(`elect ${uuid}`),
      leadAlone: async () => undefined,
      forgetMode: async () => undefined,
      setAccount: async () => undefined,
      applyReceived: async () => void calls.push('apply received'),
      setConsistency: async (consistency) => void calls.push(`consistency ${consistency}`),
      protocol: async () => '8.0.27',
      setProtocol: async () => undefined,
      repeatConfiguration: async () => undefined,
    }
    return { it, calls, answered: () => answer }
  }

  async function begins(known: Case, group: GroupPort): Promise<Parts> {
    const parts = await given(known, group)
    const peers = [{ ...first!, instance: 'shop-0', host: '10.0.0.9' }, first!, { ...second!, host: '127.24.1.3' }]
    const view = viewOf(parts, (parts.server as ScriptedServer).state)
    await perform(parts, new Group(parts).next(view, { ...assignmentOf(known), peers }))
    return parts
  }

  it('a member is given the others as seeds, and goes on without waiting for the end', async () => {
    const { it: group, calls } = port()
    const parts = await begins({}, group)
    expect(calls).toEqual([`join ${groupName} BEFORE_ON_PRIMARY_FAILOVER 10.0.0.1:3306,127.0.0.1:3306`])
    expect(parts.jobs.startingGroup).not.toBeNull()
  })

  it('is begun once, however often it is decided', async () => {
    const { it: group, calls } = port()
    const parts = await begins({}, group)
    await perform(parts, next(parts, {}))
    expect(calls).toHaveLength(1)
  })

  it('that fails is kept with its reason, told, and may be begun again', async () => {
    const { it: group, answered } = port()
    const parts = await begins({}, group)
    const starting = parts.jobs.startingGroup
    answered()?.reject(new Error('the seeds do not answer'))
    await starting
    expect(parts.jobs).toMatchObject({ startingGroup: null, groupFailure: 'the seeds do not answer' })
    expect(parts.notices.list.map(({ code }) => code)).toEqual(['GroupNotJoined'])
    expect(parts.file.current.formedEpoch).toBe(0)
  })

  it('that is done is no failure any more', async () => {
    const { it: group, answered } = port()
    const parts = await begins({ failure: 'before' }, group)
    const starting = parts.jobs.startingGroup
    answered()?.resolve()
    await starting
    expect(parts.jobs).toMatchObject({ startingGroup: null, groupFailure: '' })
    expect(parts.file.current.formedEpoch).toBe(0)
  })

  it('nobody else is asked by the one that forms the group, and that it did is on disk once it is done, not before', async () => {
    const { it: group, calls, answered } = port()
    const known: Case = { does: 'form', server: { ...closed, received: '' } }
    const parts = await begins(known, group)
    const starting = parts.jobs.startingGroup
    await new Promise((resolve) => setImmediate(resolve))
    expect(calls[0]).toMatch(/^form /)
    expect(parts.file.current.formedEpoch).toBe(0)
    answered()?.resolve()
    await starting
    expect(parts.file.current.formedEpoch).toBe(3)
  })

  it('whoever formed the group has looked at its server since before that is on disk', async () => {
    const { it: group, answered } = port()
    const parts = await begins({ does: 'form', server: { ...closed, received: '' } }, group)
    const formedAtLooks: number[] = []
    const refresh = parts.observer.refresh.bind(parts.observer)
    parts.observer.refresh = async () => {
      formedAtLooks.push(parts.file.current.formedEpoch)
      if (formedAtLooks.length === 1) throw new Error('it does not answer yet')
      return refresh()
    }
    const starting = parts.jobs.startingGroup
    await new Promise((resolve) => setImmediate(resolve))
    answered()?.resolve()
    await starting
    expect(formedAtLooks.slice(0, 2)).toEqual([0, 0])
    expect(parts.file.current.formedEpoch).toBe(3)
  })

  it('what an earlier life received is applied before a group is formed of it', async () => {
    const { it: group, calls } = port()
    const received = gtids('shop-0', 104)
    const parts = await begins({ does: 'form', server: { ...closed, received } }, group)
    await new Promise((resolve) => setImmediate(resolve))
    expect(calls[0]).toBe('apply received')
    expect((parts.server as ScriptedServer).calls).toContain(`waitExecuted ${received}`)
    expect(calls[1]).toMatch(/^form /)
  })
})

describe('A switchover that is ordered here', () => {
  async function demote(sees: GroupShape): Promise<readonly string[]> {
    const calls: string[] = []
    const group: GroupPort = {
      agree: async () => undefined,
      viewId: async () => '17:3',
      start: async () => undefined,
      stop: async () => undefined,
      applyReceived: async () => undefined,
      setConsistency: async () => undefined,
      protocol: async () => '8.0.27',
      setProtocol: async () => undefined,
      repeatConfiguration: async () => undefined,
      leadAlone: async () => undefined,
      forgetMode: async () => undefined,
      setAccount: async () => undefined,
      electPrimary: async (uuid, { graceMs }) => void calls.push(`${uuid} ${graceMs}`),
    }
    const parts = await given({ sees, server: open }, group)
    const order = { ...assignmentOf({}), electUuid: uuidOf('shop-1'), graceMs: 1_000, deadlineMs: 8_000 }
    await new Group(parts).demote(order)
    return calls
  }

  it('has the group elect the candidate', async () => {
    expect(await demote({})).toEqual([`${uuidOf('shop-1')} 1000`])
  })

  it.each<[string, GroupShape]>([
    ['the group has another primary by now', led1],
    ['this member hears no majority of its group', lost],
    [
      'the candidate is unreachable in the group',
      { members: { ...one.members, 'shop-1': 'UNREACHABLE', 'shop-2': 'ONLINE' } },
    ],
    ['the candidate is no member in the group', { members: { 'shop-0': 'ONLINE', 'shop-2': 'ONLINE' } }],
  ])('is refused where %s', async (why, sees) => {
    await expect(demote(sees)).rejects.toMatchObject({
      code: 'REGENT_ORDER_NOT_ALLOWED',
      message: expect.stringContaining(why) as string,
    })
  })
})

it('A secondary in doubt that a hand opens once more is closed again', async () => {
  const known: Case = { stage: follows, sees: led1, server: open, stored: { opened: true } }
  expect((await decided(known)).steps).toContainEqual({ do: 'closeForWrites' })
})
