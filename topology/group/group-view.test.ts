import { describe, expect, it } from 'vitest'
import { aSnapshot, uuidOf, type ServerOverrides, type ViewOverrides } from '../testing.ts'
import { groupName, groupViews, outsideGroup, viewId, type GroupShape } from '../testing-group.ts'
import { groupView } from './group-view.ts'

type Shapes = Readonly<Record<string, GroupShape>>

const frozenMs = 1_500

function seen(shapes: Shapes, more: Readonly<Record<string, ViewOverrides>> = {}, expected?: readonly string[]) {
  return groupView(aSnapshot(groupViews(shapes, more)), {
    name: groupName,
    expected: expected ?? ['shop-0', 'shop-1', 'shop-2'],
    frozenMs,
  })
}

const same = (shape: GroupShape): Shapes => ({ 'shop-0': shape, 'shop-1': shape, 'shop-2': shape })
const out = outsideGroup()
const without0: GroupShape = { members: { 'shop-1': 'ONLINE', 'shop-2': 'ONLINE' }, primary: 'shop-1' }
const without2: GroupShape = { members: { 'shop-0': 'ONLINE', 'shop-1': 'ONLINE' } }
const lostBoth: GroupShape = { members: { 'shop-0': 'ONLINE', 'shop-1': 'UNREACHABLE', 'shop-2': 'UNREACHABLE' } }

describe('A group of three is', () => {
  it('online where a majority agrees and each expected member is', () => {
    expect(seen({})).toMatchObject({
      condition: 'online',
      primary: 'shop-0',
      sentence: 'shop-0 is primary of the group, 3 of 3 members online',
    })
  })

  it('online with two where nobody else is expected', () => {
    expect(seen({ ...same(without2), 'shop-2': out }, {}, ['shop-0', 'shop-1'])).toMatchObject({
      condition: 'online',
      sentence: 'shop-0 is primary of the group, 2 of 2 members online',
    })
  })

  it('as large as it is expected to be, whoever else is in it still', () => {
    expect(String(seen({}, {}, ['shop-0', 'shop-1']).sentence)).toBe(
      'shop-0 is primary of the group, 2 of 2 members online',
    )
  })

  it('partial where a member recovers, and names who', () => {
    const recovering: GroupShape = { members: { 'shop-0': 'ONLINE', 'shop-1': 'ONLINE', 'shop-2': 'RECOVERING' } }
    expect(seen(same(recovering))).toMatchObject({
      condition: 'partial',
      primary: 'shop-0',
      sentence: 'shop-0 is primary of the group, 2 of 3 members online: shop-2 is recovering',
    })
  })

  it('partial where somebody is in no view, and names who', () => {
    const { members, ...view } = seen({ 'shop-0': out, 'shop-1': without0, 'shop-2': without0 })
    expect(view).toEqual({
      condition: 'partial',
      primary: 'shop-1',
      viewId: viewId(5),
      forks: [],
      sentence: 'shop-1 is primary of the group, 2 of 3 members online: shop-0 is missing',
    })
    expect([...members]).toEqual([
      ['shop-1', 'ONLINE'],
      ['shop-2', 'ONLINE'],
    ])
  })

  it('partial, and not lost, where the majority hears one member no more', () => {
    const lost0: GroupShape = { members: { 'shop-0': 'UNREACHABLE', 'shop-1': 'ONLINE', 'shop-2': 'ONLINE' } }
    expect(seen({ 'shop-1': lost0, 'shop-2': lost0 }, { 'shop-0': { reachable: false } })).toMatchObject({
      condition: 'partial',
      sentence: 'the group has no primary now, 2 of 3 members online: shop-0 is unreachable',
    })
  })

  it('without a majority where one of three is left and hears nobody', () => {
    expect(
      seen({ 'shop-0': lostBoth }, { 'shop-1': { reachable: false }, 'shop-2': { reachable: false } }),
    ).toMatchObject({
      condition: 'noQuorum',
      primary: null,
      sentence: 'no majority: the group does not reach shop-1 and shop-2, and writes wait',
    })
  })

  it('without a majority where one of two hears the other no more', () => {
    const half: GroupShape = { members: { 'shop-0': 'ONLINE', 'shop-1': 'UNREACHABLE' } }
    expect(seen({ 'shop-0': half, 'shop-1': out, 'shop-2': out }, {}, ['shop-0', 'shop-1'])).toMatchObject({
      condition: 'noQuorum',
    })
  })

  it('gone where all answer and nobody is in the group', () => {
    expect(seen(same(out))).toMatchObject({
      condition: 'outage',
      primary: null,
      sentence: 'no instance is in the group',
    })
  })

  it('gone where a member is there in error only', () => {
    const inError: GroupShape = { members: { 'shop-0': 'ERROR' } }
    expect(seen({ 'shop-0': inError, 'shop-1': out, 'shop-2': out })).toMatchObject({ condition: 'outage' })
  })

  it('uncertain where nobody who answers is in the group, and an expected member is silent', () => {
    expect(seen({ 'shop-0': out, 'shop-1': out }, { 'shop-2': { reachable: false } })).toMatchObject({
      condition: 'uncertain',
      primary: null,
      sentence: 'nobody who answers is in the group; silent: shop-2',
    })
  })

  it('gone, not uncertain, where the silent one is not expected', () => {
    expect(
      seen({ 'shop-0': out, 'shop-1': out }, { 'shop-2': { reachable: false } }, ['shop-0', 'shop-1']),
    ).toMatchObject({ condition: 'outage' })
  })

  it('uncertain where an expected member has no instance any more', () => {
    expect(seen(same(out), {}, ['shop-0', 'shop-1', 'shop-7'])).toMatchObject({
      condition: 'uncertain',
      sentence: 'nobody who answers is in the group; silent: shop-7',
    })
  })

  it('two where two majorities have no member in common: nobody is primary', () => {
    const alone: GroupShape = { members: { 'shop-0': 'ONLINE' } }
    expect(seen({ 'shop-0': alone, 'shop-1': without0, 'shop-2': without0 })).toEqual({
      condition: 'splitBrain',
      primary: null,
      viewId: '',
      members: new Map([
        ['shop-1', 'ONLINE'],
        ['shop-2', 'ONLINE'],
      ]),
      forks: [],
      sentence:
        'two groups: shop-1 and shop-2, and shop-0. Nothing is done; a person decides whose writes count: regent failover --accept-loss --to <instance>',
    })
  })

  it('not two where one part has no majority of its own view', () => {
    expect(seen({ 'shop-0': lostBoth, 'shop-1': without0, 'shop-2': without0 })).toMatchObject({
      condition: 'partial',
      primary: 'shop-1',
    })
  })

  it('not two where another group has another name', () => {
    const other: GroupShape = { name: 'another', members: { 'shop-0': 'ONLINE' } }
    expect(seen({ 'shop-0': other, 'shop-1': without0, 'shop-2': without0 })).toMatchObject({
      condition: 'partial',
      primary: 'shop-1',
    })
  })
})

describe('Of members that recover alone, with nobody who is online', () => {
  const alone: GroupShape = { members: { 'shop-2': 'RECOVERING' }, primary: null }
  const two: GroupShape = { members: { 'shop-1': 'RECOVERING', 'shop-2': 'RECOVERING' }, primary: null }

  it.each<[string, Shapes, string]>([
    ['one', { 'shop-0': out, 'shop-1': out, 'shop-2': alone }, 'shop-2 recovers'],
    ['two', { 'shop-0': out, 'shop-1': two, 'shop-2': two }, 'shop-1 and shop-2 recover'],
  ])('%s is no majority: nobody can give what is lacking, and nobody can be elected', (_, shapes, who) => {
    expect(seen(shapes)).toMatchObject({
      condition: 'noQuorum',
      primary: null,
      viewId: '',
      sentence: `no majority: ${who}, and nobody is online whom to recover from`,
    })
  })

  it('one that hears nobody who is online any more is none either', () => {
    const left: GroupShape = { members: { 'shop-0': 'UNREACHABLE', 'shop-1': 'RECOVERING', 'shop-2': 'RECOVERING' } }
    expect(seen({ 'shop-0': out, 'shop-1': left, 'shop-2': left })).toMatchObject({ condition: 'noQuorum' })
  })
})

describe('A group of this name that another hand formed', () => {
  const formed = '17321234567890123'
  const hand: Partial<GroupShape> = { viewId: '17329999999999999:1' }
  const knows = (shapes: Shapes, more: Readonly<Record<string, ViewOverrides>> = {}, view = `${formed}:1`) =>
    groupView(aSnapshot(groupViews(shapes, more)), {
      name: groupName,
      expected: ['shop-0', 'shop-1', 'shop-2'],
      frozenMs,
      formed: view,
    })
  const forked: GroupShape = { ...hand, members: { 'shop-1': 'ONLINE' }, primary: 'shop-1' }
  const without1: GroupShape = { members: { 'shop-0': 'ONLINE', 'shop-2': 'ONLINE' } }

  it('is no part of the group, though formed later: the rest goes on', () => {
    expect(knows({ 'shop-0': without1, 'shop-1': forked, 'shop-2': without1 })).toMatchObject({
      condition: 'partial',
      primary: 'shop-0',
      viewId: viewId(5),
      forks: ['shop-1'],
      sentence:
        'shop-0 is primary of the group, 2 of 3 members online: shop-1 is missing; shop-1 leaves a group formed by hand',
    })
  })

  it('is no majority where the rest has none', () => {
    const half: GroupShape = { members: { 'shop-0': 'UNREACHABLE', 'shop-2': 'ONLINE' } }
    expect(knows({ 'shop-1': forked, 'shop-2': half }, { 'shop-0': { reachable: false } })).toMatchObject({
      condition: 'noQuorum',
      primary: null,
      forks: ['shop-1'],
    })
  })

  it('is no majority where nobody else is in the group', () => {
    expect(knows({ 'shop-0': out, 'shop-1': forked, 'shop-2': out })).toMatchObject({
      condition: 'outage',
      primary: null,
      forks: ['shop-1'],
      sentence: 'no instance is in the group; shop-1 leaves a group formed by hand',
    })
    expect(knows({ 'shop-1': forked, 'shop-2': out }, { 'shop-0': { reachable: false } })).toMatchObject({
      condition: 'uncertain',
      forks: ['shop-1'],
    })
  })

  const large: GroupShape = { ...hand, members: { 'shop-0': 'ONLINE', 'shop-1': 'ONLINE' }, primary: 'shop-1' }

  it('is not ended where the primary and most others are in that, and nobody else goes on: a person decides', () => {
    expect(knows({ 'shop-0': large, 'shop-1': large, 'shop-2': out })).toMatchObject({
      condition: 'splitBrain',
      primary: null,
      viewId: '',
      forks: [],
      sentence:
        'two groups: another hand formed one of shop-0 and shop-1, without shop-2. Nothing is done; a person decides whose writes count: regent failover --accept-loss --to <instance>',
    })
  })

  it('is ended, large as that may be, while the group goes on', () => {
    const alone: GroupShape = { members: { 'shop-2': 'ONLINE' }, primary: 'shop-2' }
    expect(knows({ 'shop-0': large, 'shop-1': large, 'shop-2': alone })).toMatchObject({
      condition: 'partial',
      primary: 'shop-2',
      forks: ['shop-0', 'shop-1'],
    })
  })

  it('is ended where the primary is not in that: no client is sent there', () => {
    const others: GroupShape = { ...hand, members: { 'shop-1': 'ONLINE', 'shop-2': 'ONLINE' }, primary: 'shop-1' }
    expect(knows({ 'shop-0': out, 'shop-1': others, 'shop-2': others })).toMatchObject({
      condition: 'outage',
      forks: ['shop-1', 'shop-2'],
      sentence: 'no instance is in the group; shop-1 and shop-2 leave groups formed by hand',
    })
  })

  it('counts as the group once everybody is online in it', () => {
    const whole: GroupShape = { ...hand, primary: 'shop-1' }
    expect(knows(same(whole))).toMatchObject({ condition: 'online', primary: 'shop-1', forks: [] })
  })

  it('cannot be told from the group where the record does not know when that was formed', () => {
    const shapes = { 'shop-0': without1, 'shop-1': forked, 'shop-2': without1 }
    expect(knows(shapes, {}, '')).toMatchObject({ condition: 'splitBrain', forks: [] })
  })
})

describe('Primary is', () => {
  it.each([
    [9, 10, 'shop-1'],
    [10, 9, 'shop-0'],
  ])('whom the newest view calls so: with views %i and %i that is %s', (old, other, primary) => {
    const views = {
      'shop-0': { viewId: viewId(old), primary: 'shop-0' },
      'shop-1': { viewId: viewId(other), primary: 'shop-1' },
      'shop-2': { viewId: viewId(Math.min(old, other)), primary: old < other ? 'shop-0' : 'shop-1' },
    }
    expect(seen(views).primary).toBe(primary)
  })

  it.each([
    ['has no primary yet', { primary: null }, null],
    ['has another primary', { primary: 'shop-2' }, 'shop-2'],
  ] as const)('nobody of a view that is over: the newer one, without the old primary, %s', (_, newer, primary) => {
    const stale: GroupShape = { viewId: viewId(5), primary: 'shop-0' }
    const now: GroupShape = { ...without0, ...newer, viewId: viewId(6) }
    const seenNow = seen({ 'shop-0': stale, 'shop-1': now, 'shop-2': stale })
    expect(seenNow).toMatchObject({ condition: 'partial', primary, viewId: viewId(6) })
    expect([...seenNow.members.keys()]).toEqual(['shop-1', 'shop-2'])
  })

  it.each([
    ['formed later, whatever the number of its view', '17321234567890123:9', '17321234567890124:1', 'shop-1'],
    ['of numbers that are compared as numbers', '9321234567890123:9', '17321234567890123:1', 'shop-1'],
    ['formed later, where that is another one', '17321234567890125:1', '17321234567890124:9', 'shop-0'],
  ])('whom the group calls so that was %s', (_, old, other, primary) => {
    const three: GroupShape = { members: { 'shop-0': 'ONLINE', 'shop-1': 'ONLINE', 'shop-2': 'ONLINE' } }
    const later: GroupShape = { ...three, viewId: other, primary: 'shop-1' }
    expect(seen({ 'shop-0': { ...three, viewId: old }, 'shop-1': later, 'shop-2': later }).primary).toBe(primary)
  })

  it('of several that another hand made write, the one that the record names first, or else as the group elects', () => {
    const several = same({ writers: ['shop-2', 'shop-1'] })
    expect(seen(several, {}, ['shop-2', 'shop-0', 'shop-1']).primary).toBe('shop-2')
    expect(seen(several, {}, ['shop-0', 'shop-1', 'shop-2']).primary).toBe('shop-1')
  })

  it('nobody where two members of the same view name two', () => {
    expect(seen({ 'shop-1': { primary: 'shop-1' } })).toMatchObject({
      primary: null,
      sentence: 'the group has no primary now, 3 of 3 members online',
    })
  })

  it('nobody where that is a server of no instance, which is said', () => {
    const members = { 'shop-1': 'ONLINE', 'shop-2': 'ONLINE', 'shop-9': 'ONLINE' } as const
    const shape = { members, primary: 'shop-9' }
    const view = seen({ 'shop-0': out, 'shop-1': shape, 'shop-2': shape })
    expect(view.primary).toBeNull()
    expect(String(view.sentence)).toMatch(
      /^a server at \S+:3306 is primary of the group and no instance of the cluster, 2 of 3/,
    )
  })

  it('nobody whom no view shows ONLINE', () => {
    const members = { 'shop-0': 'UNREACHABLE', 'shop-1': 'ONLINE', 'shop-2': 'ONLINE' } as const
    expect(seen(same({ members })).primary).toBeNull()
  })

  it('nobody on the word of a member without a majority', () => {
    const stale: GroupShape = { ...lostBoth, viewId: viewId(99) }
    expect(seen({ 'shop-0': stale, 'shop-1': without0, 'shop-2': without0 }).primary).toBe('shop-1')
  })
})

describe('Of the group nothing is said by a server', () => {
  const others = { 'shop-1': without0, 'shop-2': without0 }
  const alone: GroupShape = { members: { 'shop-0': 'ONLINE' } }

  it.each<[string, ViewOverrides]>([
    ['that has been silent for too long', { silentMs: frozenMs }],
    ['whose agent is not heard', { reachable: false }],
    ['whose mysqld is dead', { process: 'dead' }],
    ['that is stopped', { process: 'stopped' }],
  ])('%s', (_, more) => {
    expect(seen({ ...others, 'shop-0': alone }, { 'shop-0': more })).toMatchObject({
      condition: 'partial',
      primary: 'shop-1',
    })
  })

  it('that answered a moment ago, it still counts', () => {
    expect(seen({ ...others, 'shop-0': alone }, { 'shop-0': { silentMs: frozenMs - 1 } })).toMatchObject({
      condition: 'splitBrain',
    })
  })

  it('that recovers, it counts: a joiner knows the view', () => {
    const joining: GroupShape = { members: { 'shop-0': 'ONLINE', 'shop-2': 'RECOVERING' } }
    expect(
      seen({ 'shop-2': joining }, { 'shop-0': { reachable: false }, 'shop-1': { reachable: false } }),
    ).toMatchObject({ condition: 'partial', primary: 'shop-0' })
  })
})

describe('A member is', () => {
  const elsewhere: ServerOverrides = { uuid: uuidOf('shop-9') }

  it('the instance of its server, at whatever address that is by now', () => {
    const snapshot = aSnapshot(groupViews({ 'shop-0': out, 'shop-1': without0, 'shop-2': without0 }))
    const moved = snapshot.instances.map((view) => (view.name === 'shop-2' ? { ...view, host: '127.24.1.77' } : view))
    const { members } = groupView({ instances: moved }, { name: groupName, expected: ['shop-1', 'shop-2'], frozenMs })
    expect([...members.keys()]).toEqual(['shop-1', 'shop-2'])
  })

  it('nobody whose server is another one, though it has the address now', () => {
    const { members } = seen({ 'shop-1': out }, { 'shop-1': { server: elsewhere } })
    expect([...members.keys()]).toEqual(['shop-0', '127.24.1.2:3306', 'shop-2'])
  })

  it('the instance at its address where nothing is known of the server there', () => {
    const { members } = seen({}, { 'shop-1': { process: 'dead', server: null } })
    expect([...members.keys()]).toEqual(['shop-0', 'shop-1', 'shop-2'])
  })
})

it('A member at the address of no instance is named by its address', () => {
  const stranger: GroupShape = { members: { 'shop-0': 'ONLINE', 'shop-8': 'ONLINE' } }
  expect([...seen(same(stranger), {}, ['shop-0']).members.keys()]).toContain('127.24.1.9:3306')
})
