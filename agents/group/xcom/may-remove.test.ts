import { describe, expect, it } from 'vitest'
import { majorityOf, whyNotRemove, type KnownGroup } from './may-remove.ts'
import { aConfiguration, aMember, groupId } from './testing.ts'

const five = [1, 2, 3, 4, 5].map((port) => aMember(port))
const ofThree = five.slice(0, 3)
const [victim, second, third] = ofThree as [
  ReturnType<typeof aMember>,
  ReturnType<typeof aMember>,
  ReturnType<typeof aMember>,
]
const addresses = (members: readonly { readonly address: string }[]) => members.map(({ address }) => address)

function aGroup(members = ofThree, more: Partial<KnownGroup> = {}): KnownGroup {
  const versions = members.map(() => '9.7.4')
  return { id: groupId, configuration: aConfiguration(members), versions, singleLeader: false, ...more }
}

const ask = (group: KnownGroup, victims = [victim], answering = addresses([second, third])) =>
  whyNotRemove({ group, victims, answering })

describe('A member may be removed', () => {
  it('where it is in the group, as it is named, and a majority of the group answers without it', () => {
    expect(ask(aGroup())).toBeNull()
    expect(ask(aGroup(five))).toMatchObject({ reason: 'noMajority' })
    expect(ask(aGroup(five), [victim], addresses(five.slice(1, 4)))).toBeNull()
  })

  it.each([
    ['9.7.0', null],
    ['9.7.12', null],
    ['9.7.4-2', null],
    ['9.7.4-commercial', null],
    ['9.6.4', 'version'],
    ['9.70.1', 'version'],
    ['9.8.0', 'version'],
    ['8.4.6', 'version'],
    ['10.9.7', 'version'],
    ['9.7', 'version'],
    ['9.7.4.1', 'version'],
    ['', 'version'],
  ])('where no member is of a version that was never tried: %s', (version, reason) => {
    expect(ask(aGroup(ofThree, { versions: ['9.7.4', version, '9.7.4'] }))?.reason ?? null).toBe(reason)
  })
})

describe('A member may not be removed', () => {
  it('where nobody knows the versions of the members', () => {
    expect(ask(aGroup(ofThree, { versions: [] }))).toMatchObject({ removed: 'refused', reason: 'version' })
  })

  it('with a single leader in Paxos, whoever says so', () => {
    expect(ask(aGroup(ofThree, { singleLeader: true }))).toMatchObject({ reason: 'singleLeader' })
    const configuration = aConfiguration(ofThree, { mostLeaders: 1 })
    expect(ask(aGroup(ofThree, { configuration }))).toMatchObject({ reason: 'singleLeader' })
  })

  it('from a group without an id', () => {
    expect(ask(aGroup(ofThree, { id: 0 }))).toMatchObject({ reason: 'noGroup' })
  })

  it('together with another one, nor where none is named', () => {
    expect(ask(aGroup(five), [victim, second], addresses(five.slice(2)))).toMatchObject({ reason: 'severalVictims' })
    expect(ask(aGroup(), [])).toMatchObject({ reason: 'severalVictims' })
  })

  it('without its incarnation, even where the group has it without one', () => {
    const nobody = { ...victim, incarnation: '' }
    expect(ask(aGroup(), [nobody])).toMatchObject({ reason: 'noIncarnation' })
    expect(ask(aGroup([nobody, second, third]), [nobody])).toMatchObject({ reason: 'noIncarnation' })
  })

  it('where its address is not in the group, letter by letter', () => {
    expect(ask(aGroup(), [aMember(9)])).toMatchObject({ reason: 'notAMember' })
    expect(ask(aGroup(), [{ ...victim, address: 'localhost:1' }])).toMatchObject({ reason: 'notAMember' })
  })

  it('where it came back as another incarnation', () => {
    expect(ask(aGroup(), [{ ...victim, incarnation: '1' }])).toMatchObject({ reason: 'otherIncarnation' })
  })

  it.each([
    ['one of two', five.slice(0, 2), [second], 'noMajority'],
    ['two of three, one of which is the victim', ofThree, [victim, second], 'noMajority'],
    ['two of three, one of which is a stranger', ofThree, [second, aMember(9)], 'noMajority'],
    ['nobody', ofThree, [], 'noMajority'],
    ['two of four', five.slice(0, 4), [second, third], 'noMajority'],
    ['itself only, alone', five.slice(0, 1), [victim], 'noMajority'],
  ])('while no majority answers: %s', (_, members, answering, reason) => {
    expect(ask(aGroup(members), [victim], addresses(answering))).toMatchObject({ reason })
  })

  it.each([1, 2, 3, 4, 5, 6, 7, 8, 9])('of %i members unless more than half of all are left to agree', (count) => {
    const members = Array.from({ length: count }, (_, port) => aMember(port + 1))
    const { configuration } = aGroup(members)
    expect(majorityOf(configuration) * 2).toBeGreaterThan(count)
    for (let left = 0; left < count; left++) {
      const answering = addresses(members.slice(1, 1 + left))
      expect(ask(aGroup(members), [members[0] as typeof victim], answering) === null).toBe(left * 2 > count)
    }
  })
})
