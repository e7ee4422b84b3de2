import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { realWorld } from '#common/ports/real-world.ts'
import { linesThrough } from './connection.ts'
import type { OpenLine } from './line.ts'
import { GroupMembership } from './member-connections.ts'
import type { Configuration, MemberIdentity } from './messages.ts'
import { aConfiguration, groupId, PlayedMember } from './testing.ts'
import { patienceMs } from '#test/support/patience.ts'

const facts = { versions: ['9.7.4'], singleLeader: false }
const timings = { openMs: patienceMs, answerMs: patienceMs, beatMs: 20 }
let members: [PlayedMember, PlayedMember, PlayedMember]
let membership: GroupMembership
/** The addresses of those that are to be found silent: they alone are given up soon. */
let silent: Set<string>
const soonMs = 300

const open: OpenLine = async (address, deadlineMs) => {
  const within = (ms: number) => (silent.has(address) ? soonMs : ms)
  const line = await linesThrough(() => ({ kind: 'xcom', tls: null }), realWorld.timers)(address, within(deadlineMs))
  const state = line.state.bind(line)
  return Object.assign(line, { state: (ms: number) => state(within(ms)) })
}

beforeEach(async () => {
  members = [await PlayedMember.start(), await PlayedMember.start(), await PlayedMember.start()]
  tellAll(configurationOf(members))
  silent = new Set()
  const { clock, timers } = realWorld
  membership = new GroupMembership({ open, clock, timers }, timings)
})

afterEach(async () => {
  membership.rest()
  for (const member of members) await member.stop()
})

const identityOf = ({ address }: PlayedMember): MemberIdentity => ({ address, incarnation: `1${address.slice(-5)}` })

function configurationOf(of: readonly PlayedMember[], message = 40n): Configuration {
  return aConfiguration(of.map(identityOf), { start: { group: groupId, message, node: 0 } })
}

function tellAll(...configurations: readonly Configuration[]): void {
  for (const member of members) member.configurations = configurations
}

const connected = () => membership.connections.map(({ address }) => address).toSorted()
const addresses = (of: readonly PlayedMember[]) => of.map(({ address }) => address).toSorted()
const count = (member: PlayedMember, what: string) => member.asked.filter((question) => question === what).length

describe('The members of a group', () => {
  it('are read once, from the first seed that answers, on a connection that is closed then', async () => {
    const [first, second, third] = members
    first.answer = () => null
    silent.add(first.address)
    const group = await membership.refresh(addresses([first]).concat(second.address, third.address), facts)
    expect(group).toEqual({ id: groupId, configuration: second.configurations[0], ...facts })
    expect(members.map((member) => count(member, 'snapshot'))).toEqual([0, 1, 0])
    expect(membership.identityOf(third.address)).toEqual(identityOf(third))
    expect(membership.identityOf('127.0.0.1:1')).toBeNull()
    await expect.poll(() => [second.open, third.open]).toEqual([1, 1])
    expect(members.map((member) => count(member, 'snapshot'))).toEqual([0, 1, 0])
  })

  it('have one connection each', async () => {
    await membership.refresh([members[0].address], facts)
    await expect.poll(connected).toEqual(addresses(members))
    await expect.poll(() => members.map(({ open }) => open)).toEqual([1, 1, 1])
  })

  it('are silent for as long as they answer nothing, on whatever connection, and not any more once they do', async () => {
    await membership.refresh([members[0].address], facts)
    await expect.poll(connected).toEqual(addresses(members))
    const [first, second, third] = members.map(
      ({ address }) =>
        () =>
          membership.silence.get(address) ?? Number.NaN,
    )
    members[1].answer = () => null
    silent.add(members[1].address)
    await members[2].stop()
    await expect.poll(() => Math.min(second!(), third!())).toBeGreaterThan(200)
    await expect.poll(first!).toBeLessThan(100)
    members[1].answer = (question) => members[1].usual(question)
    await expect.poll(second!).toBeLessThan(100)
    await expect.poll(third!).toBeGreaterThan(200)
  })

  it('are asked how far they are again and again, and connected to again after they were lost', async () => {
    await membership.refresh([members[0].address], facts)
    await expect.poll(() => count(members[1], 'state')).toBeGreaterThan(3)
    members[1].cut()
    await expect.poll(() => members[1].connections).toBe(2)
    await expect.poll(connected).toEqual(addresses(members))
    expect(count(members[1], 'snapshot')).toBe(0)
  })

  it('that do not answer are left, and asked on another connection', async () => {
    await membership.refresh([members[0].address], facts)
    await expect.poll(connected).toEqual(addresses(members))
    silent.add(members[2].address)
    members[2].answer = (question) => (question === 'state' ? null : members[2].usual(question))
    await expect.poll(() => members[2].connections).toBeGreaterThan(2)
    expect(members[1].connections).toBe(1)
  })

  it('that went are left alone, those that came are connected to', async () => {
    await membership.refresh([members[0].address], facts)
    await expect.poll(connected).toEqual(addresses(members))
    tellAll(configurationOf(members), configurationOf(members.slice(0, 2), 90n))
    await membership.refresh([members[0].address], facts)
    await expect.poll(connected).toEqual(addresses(members.slice(0, 2)))
    await expect.poll(() => members[2].open).toBe(0)
    tellAll(configurationOf(members, 120n))
    await membership.refresh([members[0].address], facts)
    await expect.poll(connected).toEqual(addresses(members))
    expect(members[1].connections).toBe(1)
  })

  it('are not those of an older configuration that a member tells late', async () => {
    tellAll(configurationOf(members.slice(0, 2), 90n))
    await membership.refresh([members[0].address], facts)
    tellAll(configurationOf(members))
    const group = await membership.refresh([members[0].address], { versions: [], singleLeader: true })
    expect(group.configuration.members).toHaveLength(2)
    expect(group).toMatchObject({ versions: [], singleLeader: true })
  })

  it('whose removal was asked for are remembered until they are gone, or back as another incarnation', async () => {
    await membership.refresh([members[0].address], facts)
    const [first, second, third] = members.map(identityOf) as [MemberIdentity, MemberIdentity, MemberIdentity]
    membership.asked.push(third)
    await membership.refresh([members[0].address], facts)
    expect(membership.asked).toEqual([third])
    const back = aConfiguration([first, second, { ...third, incarnation: '2' }], {
      start: { group: groupId, message: 99n, node: 0 },
    })
    tellAll(back)
    await membership.refresh([members[0].address], facts)
    expect(membership.asked).toEqual([])
  })

  it('stay as they were read where nobody tells', async () => {
    await membership.refresh([members[0].address], facts)
    const known = membership.group
    for (const member of members) member.answer = () => null
    silent = new Set(addresses(members))
    const asking = membership.refresh(addresses(members), facts)
    await expect(asking).rejects.toThrow(/no member tells who is in the group: .*; .*; /)
    expect(membership.group).toBe(known)
  })

  it('of no group are nobody', async () => {
    tellAll()
    await expect(membership.refresh([members[1].address], facts)).rejects.toThrow(/knows of no members/)
  })

  it('are left while it rests, also one that was just being connected to, and known anew afterwards', async () => {
    await membership.refresh([members[0].address], facts)
    const asking = membership.refresh([members[0].address], facts)
    membership.rest()
    await expect(asking).rejects.toThrow(/were closed/)
    await expect.poll(() => members.map(({ open }) => open)).toEqual([0, 0, 0])
    expect([membership.connections, membership.group]).toEqual([[], null])
    const before = members.map(({ connections }) => connections)
    await realWorld.timers.sleep(4 * timings.beatMs)
    expect(members.map(({ connections }) => connections)).toEqual(before)
    // A group that was formed anew counts from the beginning.
    tellAll(configurationOf(members.slice(0, 2), 3n))
    await membership.refresh([members[0].address], facts)
    await expect.poll(connected).toEqual(addresses(members.slice(0, 2)))
  })
})
