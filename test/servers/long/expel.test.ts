import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { linesThrough } from '#agents/group/xcom/connection.ts'
import { GroupMembership } from '#agents/group/xcom/member-connections.ts'
import type { MemberIdentity } from '#agents/group/xcom/messages.ts'
import { removeDeadMember, type Removal } from '#agents/group/xcom/removal.ts'
import type { XcomStack } from '#agents/group/xcom/stream.ts'
import { readProcessStat } from '#common/process/process-stat.ts'
import { realWorld } from '#common/ports/real-world.ts'
import { BareGroup, memberName, streamAccount, type BareMember } from '#test/support/bare-group.ts'
import { until } from '#test/support/bare-instance.ts'
import { GroupWriter } from '#test/support/group-writer.ts'
import { removeTemplate, rows, value } from '#test/support/lone-server.ts'
import { monotonicMs } from '#test/support/monotonic.ts'

let group: BareGroup
let stack: XcomStack
let writer: GroupWriter
const memberships: GroupMembership[] = []

afterEach(() => {
  for (const membership of memberships.splice(0)) membership.rest()
})

afterAll(removeTemplate)

async function startGroup(firstPort: number, kind: XcomStack['kind']): Promise<void> {
  group = await BareGroup.start(firstPort, 3, kind)
  const tls = { ca: group.ca, name: memberName }
  stack = kind === 'mysql' ? { kind, ...streamAccount, tls } : { kind, tls }
  writer = new GroupWriter(group.members)
}

async function stopGroup(): Promise<void> {
  await writer?.stop()
  await group?.remove()
}

/** What the agent of a member keeps: connections to all. */
async function membershipOf(member: BareMember): Promise<GroupMembership> {
  const { clock, timers } = realWorld
  const membership = new GroupMembership({ open: linesThrough(() => stack, timers), clock, timers })
  memberships.push(membership)
  const told = await group.told(member)
  const facts = { versions: told.map(({ version }) => version), singleLeader: false }
  const { configuration } = await membership.refresh([member.address], facts)
  const wanted = configuration.members.length
  await until(() => membership.connections.length === wanted, `${wanted} connections are open`)
  return membership
}

function remove(through: GroupMembership, victim: Partial<MemberIdentity>, groupId?: number): Promise<Removal> {
  const known = through.group
  const identity = through.identityOf(victim.address ?? '')
  if (known === null || identity === null) throw new Error(`${victim.address} is not known`)
  const asked = { ...known, id: groupId ?? known.id }
  return removeDeadMember({ group: asked, victim: { ...identity, ...victim }, through }, realWorld)
}

/** As an agent sees it: by what the kernel says of the process. */
async function seenDead({ server: { pid } }: BareMember): Promise<void> {
  const isDead = () => {
    const stat = readProcessStat(pid)
    return stat === undefined || stat.exiting || stat.state === 'Z'
  }
  await until(isDead, `process ${pid} ends`)
}

const othersThan = (victim: BareMember) => group.members.filter((member) => member !== victim)

/** The member at this place of the group's own order, in which those that came back are last. */
async function memberAt(place: number): Promise<BareMember> {
  const known = (await membershipOf(group.members[0] as BareMember)).group
  const address = known?.configuration.members[place]?.address
  return group.members.find((member) => member.address === address) as BareMember
}

async function makePrimary(member: BareMember): Promise<void> {
  await member.root.query('select group_replication_set_as_primary(@@server_uuid)')
  await until(async () => (await group.primary(member)) === member, `${member.address} is primary`)
}

/** Kills a primary that is written to, and has the others remove it as soon as the kernel says that it is dead. */
async function killAndRemove(victim: BareMember, through: readonly GroupMembership[]): Promise<readonly Removal[]> {
  await writer.next(monotonicMs())
  const killedMs = monotonicMs()
  victim.server.signal('SIGKILL')
  await seenDead(victim)
  const deadMs = monotonicMs()
  const removals = await Promise.all(through.map((membership) => remove(membership, { address: victim.address })))
  const first = await writer.next(killedMs, victim)
  const inForce = removals.flatMap((removal) =>
    removal.removed === 'accepted' ? Object.values(removal.inForceMs) : [],
  )
  const told = inForce.map((ms) => `${(deadMs - killedMs + ms).toFixed(0)}`).join(', ')
  console.log(
    `killed → seen dead ${(deadMs - killedMs).toFixed(0)} ms → in force ${told} ms → first write acknowledged elsewhere ${(first.ackedMs - killedMs).toFixed(0)} ms`,
  )
  return removals
}

/** By SQL, at each of those that are left: they are the group, ONLINE, and one of them is primary and writable. */
async function expectGone(victim: BareMember): Promise<void> {
  for (const member of othersThan(victim)) {
    const isSettled = async () => {
      const told = await group.told(member)
      return told.length === 2 && told.some(({ role }) => role === 'PRIMARY')
    }
    await until(isSettled, `${member.address} tells of two members, and a primary`)
    const told = await group.told(member)
    expect(told.map(({ port, state }) => [port, state])).toEqual(othersThan(victim).map(({ port }) => [port, 'ONLINE']))
    expect(told.filter(({ role }) => role === 'PRIMARY')).toHaveLength(1)
    const isPrimary = (await group.primary(member)) === member
    expect(await value(member.root, 'select @@global.super_read_only')).toBe(isPrimary ? '0' : '1')
  }
}

async function comeBack(victim: BareMember): Promise<void> {
  await victim.server.ended()
  await group.boot(victim)
  await group.join(victim)
}

/** Every member has every write that was acknowledged. */
async function expectNothingLost(): Promise<void> {
  const acknowledged = writer.acknowledged.map(({ id }) => id)
  expect(acknowledged.length).toBeGreaterThan(50)
  for (const { root, address } of group.members) {
    const hasAll = async () => {
      const ids = new Set((await rows<{ id: number }>(root, 'select id from app.writes')).map(({ id }) => id))
      return acknowledged.every((id) => ids.has(id))
    }
    await until(hasAll, `${address} has every acknowledged write`)
  }
}

describe('A group that speaks over the servers’ own ports, with TLS', () => {
  beforeAll(() => startGroup(24_361, 'mysql'), 300_000)
  afterAll(stopGroup)

  it('tells who is in it, oldest first, each with its address and an incarnation', async () => {
    const known = (await membershipOf(group.members[0] as BareMember)).group
    expect(known?.id).toBeGreaterThan(0)
    const members = known?.configuration.members ?? []
    expect(members.map(({ address }) => address)).toEqual(group.members.map(({ address }) => address))
    for (const { incarnation } of members) expect(incarnation).toMatch(/^1\d{16}$/)
    expect(new Set(members.map(({ incarnation }) => incarnation)).size).toBe(3)
  })

  it('removes nobody that is named wrongly, because nothing is sent', async () => {
    const [one, two] = group.members as [BareMember, BareMember]
    const view = () =>
      value(
        two.root,
        'select view_id from performance_schema.replication_group_member_stats where member_id = @@server_uuid',
      )
    const before = await view()
    const through = await membershipOf(one)
    const { address } = one
    const refusals = [
      await remove(through, { address, incarnation: '' }),
      await remove(through, { address, incarnation: '17637293912345678' }),
      await remove(through, { address }, 0),
    ]
    expect(refusals.map((removal) => removal.removed === 'refused' && removal.reason)).toEqual([
      'noIncarnation',
      'otherIncarnation',
      'noGroup',
    ])
    // The incarnation of a living one is known; in another group it would be nobody's, and members say so themselves.
    expect(await remove(through, { address }, 4_711)).toMatchObject({ removed: 'refused', reason: 'noMajority' })
    expect((await group.told(two)).map(({ state }) => state)).toEqual(['ONLINE', 'ONLINE', 'ONLINE'])
    expect(await view()).toBe(before)
  })

  it('gives its stream to nobody who may not have it', async () => {
    const { address } = group.members[0] as BareMember
    const { clock, timers } = realWorld
    const asking = (more: Partial<XcomStack & { kind: 'mysql' }>) => {
      const other = { ...stack, ...more } as XcomStack
      const membership = new GroupMembership({ open: linesThrough(() => other, timers), clock, timers })
      return membership.refresh([address], { versions: [], singleLeader: false })
    }
    await expect(asking({ user: 'client', password: 'a third password of tests only' })).rejects.toThrow(
      /1227.*GROUP_REPLICATION_STREAM/,
    )
    await expect(asking({ password: 'wrong' })).rejects.toThrow(/Access denied.*1045/)
    await expect(asking({ tls: { ca: group.ca, name: 'another.regent.test' } })).rejects.toThrow(
      /another\.regent\.test/,
    )
    await expect(asking({ kind: 'xcom' } as never)).rejects.toThrow(new RegExp(address))
  })

  it.each([
    ['the oldest member', 0],
    ['not the oldest', 1],
    ['the oldest member', 0],
    ['not the oldest', 2],
  ])(
    'has another primary soon after its primary was killed, when that one’s agent asks; it was %s',
    async (_, place) => {
      const victim = await memberAt(place)
      await makePrimary(victim)
      const through = await membershipOf(victim)
      expect(await killAndRemove(victim, [through])).toEqual([expect.objectContaining({ removed: 'accepted' })])
      await expectGone(victim)
      await comeBack(victim)
      await expectNothingLost()
    },
    120_000,
  )

  it('hears several who ask at once, and removes one member; of two that are left none is removed', async () => {
    const victim = await memberAt(1)
    await makePrimary(victim)
    const [one, other] = othersThan(victim) as [BareMember, BareMember]
    const asking = [await membershipOf(victim), await membershipOf(one), await membershipOf(other)]
    const removals = await killAndRemove(victim, asking)
    expect(removals.map(({ removed }) => removed)).toContain('accepted')
    for (const removal of removals)
      if (removal.removed !== 'accepted') expect(removal).toMatchObject({ reason: 'membersRefused' })
    await expectGone(victim)
    const ofTwo = await membershipOf(one)
    expect(await remove(ofTwo, { address: one.address })).toMatchObject({ removed: 'refused', reason: 'noMajority' })
    await expectGone(victim)
    await comeBack(victim)
    await expectNothingLost()
  }, 120_000)
})

describe('A group that speaks over ports of its own, with TLS', () => {
  beforeAll(() => startGroup(24_371, 'xcom'), 300_000)
  afterAll(stopGroup)

  it('has another primary soon after its primary was killed, when that one’s agent asks', async () => {
    const victim = await memberAt(1)
    await makePrimary(victim)
    const through = await membershipOf(victim)
    expect(await killAndRemove(victim, [through])).toEqual([expect.objectContaining({ removed: 'accepted' })])
    await expectGone(victim)
    await comeBack(victim)
    await expectNothingLost()
  }, 120_000)
})
