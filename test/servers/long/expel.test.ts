import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { GroupMembership } from '../../../agents/group/xcom/membership.ts'
import { removeDeadMember, type Removal } from '../../../agents/group/xcom/removal.ts'
import type { XcomStack } from '../../../agents/group/xcom/stream.ts'
import { readProcessStat } from '../../../src/common/process/process-stat.ts'
import { realWorld } from '../../../src/common/ports/real-world.ts'
import { BareGroup, memberName, streamAccount, type BareMember } from '../../support/bare-group.ts'
import { until } from '../../support/bare-instance.ts'
import { GroupWriter } from '../../support/group-writer.ts'
import { removeTemplate, rows } from '../../support/lone-server.ts'
import { monotonicMs } from '../../support/monotonic.ts'

let group: BareGroup
let stack: XcomStack
let writer: GroupWriter

beforeAll(async () => {
  group = await BareGroup.start(24_361, 3)
  stack = { kind: 'mysql', ...streamAccount, tls: { ca: group.ca, name: memberName } }
  writer = new GroupWriter(group.members)
}, 300_000)

afterAll(async () => {
  await writer?.stop()
  await group?.remove()
  await removeTemplate()
})

/** What an agent of `own` would keep. */
async function membershipOf(own: BareMember, isWitness = false): Promise<GroupMembership> {
  const { clock, timers } = realWorld
  const membership = new GroupMembership({ own: isWitness ? null : own.address, stack: () => stack, clock, timers })
  await refresh(membership, own)
  const wanted = isWitness ? 3 : 2
  await until(() => membership.connections.length === wanted, `${wanted} connections are open`)
  return membership
}

async function refresh(membership: GroupMembership, seed: BareMember): Promise<void> {
  const versions = (await group.told(seed)).map(({ version }) => version)
  await membership.refresh([seed.address], { versions, singleLeader: false })
}

function remove(membership: GroupMembership, victim: BareMember): Promise<Removal> {
  const identity = membership.identityOf(victim.address)
  if (membership.group === null || identity === null) throw new Error(`${victim.address} is not known`)
  return removeDeadMember({ group: membership.group, victim: identity, through: membership }, realWorld)
}

/** As an agent does it: it reads what the kernel says of the process. */
async function seenDead(pid: number): Promise<void> {
  await until(() => {
    const stat = readProcessStat(pid)
    return stat === undefined || stat.exiting || stat.state === 'Z'
  }, `process ${pid} ends`)
}

const others = (victim: BareMember) => group.members.filter((member) => member !== victim)

async function makePrimary(member: BareMember): Promise<void> {
  await member.root.query('select group_replication_set_as_primary(@@server_uuid)')
  await until(async () => (await group.primary(member)) === member, `${member.address} is primary`)
}

interface Expelled {
  readonly removals: readonly Removal[]
  /** From SIGKILL to the first write acknowledged by another server. */
  readonly outageMs: number
}

/** Kills the primary, and asks the others at once to remove it. Brings it back afterwards. */
async function killAndRemove(victim: BareMember, memberships: readonly GroupMembership[]): Promise<Expelled> {
  const killedMs = monotonicMs()
  victim.server.signal('SIGKILL')
  await seenDead(victim.server.pid)
  const removals = await Promise.all(memberships.map((membership) => remove(membership, victim)))
  const first = await writer.next(killedMs, victim)
  return { removals, outageMs: first.ackedMs - killedMs }
}

async function expectGone(victim: BareMember): Promise<void> {
  for (const member of others(victim)) {
    const told = await group.told(member)
    expect(told.map(({ port }) => port)).toEqual(others(victim).map(({ port }) => port))
    expect(told.map(({ state }) => state)).toEqual(['ONLINE', 'ONLINE'])
    expect(told.filter(({ role }) => role === 'PRIMARY')).toHaveLength(1)
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
  for (const member of group.members) {
    const has = async () => {
      const found = await rows<{ id: number }>(member.root, 'select id from app.writes')
      const ids = new Set(found.map(({ id }) => id))
      return acknowledged.filter((id) => !ids.has(id))
    }
    await until(async () => (await has()).length === 0, `${member.address} has every acknowledged write`)
  }
}

async function rankOf(membership: GroupMembership, member: BareMember): Promise<number> {
  return membership.group?.configuration.members.findIndex(({ address }) => address === member.address) ?? -1
}

describe('A primary of a group that was killed', () => {
  it('is a member as its address and incarnation, which the others tell', async () => {
    const [first] = group.members as [BareMember]
    const membership = await membershipOf(first)
    const known = membership.group
    expect(known?.id).toBeGreaterThan(0)
    expect(known?.configuration.members.map(({ address }) => address)).toEqual(
      group.members.map(({ address }) => address),
    )
    for (const { incarnation } of known?.configuration.members ?? []) expect(incarnation).toMatch(/^\d{16,20}$/)
    expect(known?.configuration.mostLeaders).not.toBe(1)
    membership.close()
  })

  it.each(Array.from({ length: Number(process.env['RUNS'] ?? 2) }, () => ['the oldest', 'not the oldest']).flat())(
    'is gone at once when its agent asks the others; it was %s member',
    async (which) => {
      const look = await membershipOf(group.members[0] as BareMember)
      const ranks = await Promise.all(group.members.map((member) => rankOf(look, member)))
      look.close()
      const victim = group.members[ranks.indexOf(which === 'the oldest' ? 0 : 1)] as BareMember
      await makePrimary(victim)
      const membership = await membershipOf(victim)
      await writer.next(monotonicMs())
      const { removals, outageMs } = await killAndRemove(victim, [membership])
      console.log(`${which}: ${outageMs.toFixed(0)} ms`, JSON.stringify(removals))
      expect(removals).toEqual([expect.objectContaining({ removed: 'accepted' })])
      await expectGone(victim)
      membership.close()
      await comeBack(victim)
      await expectNothingLost()
    },
    120_000,
  )
})
