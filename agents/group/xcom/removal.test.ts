import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { realWorld } from '#common/ports/real-world.ts'
import { XcomConnection } from './connection.ts'
import type { KnownGroup } from './may-remove.ts'
import { operations, type Answer, type MemberIdentity } from './messages.ts'
import { removalTimings, removeDeadMember, type Removal, type RemovalTimings, type Through } from './removal.ts'
import { aConfiguration, aMember, answerBody, framedAs, groupId, PlayedMember, type Question } from './testing.ts'
import { patienceMs } from '#test/support/patience.ts'

const stack = { kind: 'xcom', tls: null } as const
const { timers } = realWorld
const open = (address: string) => XcomConnection.open(address, stack, timers, patienceMs)
/** As long as a busy machine may need; a test in which somebody stays silent waits for that one less long. */
const patient = { ...removalTimings, stateMs: patienceMs, answerMs: patienceMs, askAgainMs: 60, allMs: patienceMs }
const silentMs = 1_000
let timings: RemovalTimings
const victim = aMember(1)

let survivors: [PlayedMember, PlayedMember]
let connections: XcomConnection[]
let asked: MemberIdentity[]
let group: KnownGroup

beforeEach(async () => {
  timings = patient
  survivors = [await PlayedMember.start(), await PlayedMember.start()]
  connections = await Promise.all(survivors.map(({ address }) => open(address)))
  asked = []
  const members = [victim, ...survivors.map(identityOf)]
  group = { id: groupId, configuration: aConfiguration(members), versions: ['9.7.4'], singleLeader: false }
  for (const survivor of survivors) survivor.configurations = [group.configuration]
})

afterEach(async () => {
  for (const connection of connections) connection.close()
  for (const survivor of survivors) await survivor.stop()
})

function identityOf({ address }: PlayedMember): MemberIdentity {
  return { address, incarnation: `17637293912345${address.slice(-3)}` }
}

function remove(
  more: { victim?: MemberIdentity; group?: KnownGroup; through?: Partial<Through> } = {},
): Promise<Removal> {
  const through = { connections, open, asked, ...more.through }
  return removeDeadMember({ group, victim, ...more, through }, realWorld, timings)
}

/** Answers a removal so; afterwards the configuration without the victim begins at the 61st message. */
function accepting(survivor: PlayedMember, answer: Answer = 'ok'): void {
  const without = group.configuration.members.filter((member) => member !== victim)
  survivor.answer = (question) => {
    if (typeof question !== 'object') return survivor.usual(question)
    survivor.delivered = 61n
    const start = { group: groupId, message: 61n, node: 0 }
    survivor.configurations = [group.configuration, aConfiguration(without, { start })]
    return answered(answer)
  }
}

const answered = (answer: Answer) => framedAs(answerBody({ operation: operations.clientReply, answer }))
const sent = () => survivors.map(({ removals }) => removals.length)
const pokes = () => survivors.map((survivor) => survivor.asked.filter((question) => question === 'snapshot').length)

describe('The removal of a dead member', () => {
  it('is asked for at all others, as it is in the group, and poked at each once the new configuration has begun', async () => {
    for (const survivor of survivors) accepting(survivor)
    const removal = await remove()
    const [first, second] = survivors.map(({ address }) => address) as [string, string]
    expect(removal).toMatchObject({ removed: 'accepted', answers: { [first]: 'ok', [second]: 'ok' } })
    expect(removal.removed === 'accepted' && Object.keys(removal.inForceMs).toSorted()).toEqual(
      [first, second].toSorted(),
    )
    expect(sent()).toEqual([1, 1])
    expect(pokes()).toEqual([1, 1])
    const [request] = survivors[0].removals as [Buffer]
    expect(request.readUInt32BE(96)).toBe(groupId)
    expect(request.readUInt32BE(156)).toBe(1)
    expect(request.toString('latin1')).toContain(victim.address)
    expect(request.toString('latin1')).toContain(victim.incarnation)
    expect(asked).toEqual([victim])
  })

  it.each([
    ['follows the dead one', 0],
    ['is the first one, where the dead one was the last', 2],
  ])(
    'is asked for first at the member that %s, and at the others though that one does not answer',
    async (_, place) => {
      const [older, newer] = survivors.map(identityOf) as [MemberIdentity, MemberIdentity]
      const members = place === 0 ? [victim, older, newer] : [older, newer, victim]
      group = { ...group, configuration: aConfiguration(members) }
      const order: string[] = []
      timings = { ...patient, answerMs: silentMs }
      for (const survivor of survivors) {
        accepting(survivor)
        const { answer } = survivor
        survivor.answer = (question) => {
          if (typeof question !== 'object') return survivor.usual(question)
          order.push(survivor.address)
          return survivor.address === older.address ? null : answer(question)
        }
      }
      connections.reverse()
      expect(await remove()).toMatchObject({ removed: 'accepted', answers: { [newer.address]: 'ok' } })
      expect(order.slice(0, 2)).toEqual([older.address, newer.address])
    },
  )

  it('does not poke before, and asks again, three times at most, where a member does not come to it', async () => {
    timings = { ...patient, allMs: 4 * silentMs }
    for (const survivor of survivors)
      survivor.answer = (question) => (typeof question === 'object' ? answered('ok') : survivor.usual(question))
    expect(await remove()).toMatchObject({ removed: 'accepted', inForceMs: {} })
    expect(sent()).toEqual([3, 3])
    expect(pokes()).toEqual([0, 0])
  })

  it('pokes again, eight times at most, where the log has gone on and the victim is still there', async () => {
    for (const survivor of survivors) {
      accepting(survivor)
      const accepts = survivor.answer
      survivor.answer = (question) => {
        const answer = accepts(question)
        survivor.configurations = [group.configuration]
        return answer
      }
    }
    expect(await remove()).toMatchObject({ removed: 'accepted', inForceMs: {} })
    expect(pokes()).toEqual([8, 8])
  })

  it('is accepted where one accepts and the other has carried it out already', async () => {
    accepting(survivors[0])
    accepting(survivors[1], 'fail')
    expect(await remove()).toMatchObject({ removed: 'accepted' })
    expect(pokes()).toEqual([1, 1])
  })

  it('is refused where all refuse, and nobody is poked', async () => {
    for (const survivor of survivors) accepting(survivor, 'fail')
    expect(await remove()).toMatchObject({ removed: 'refused', reason: 'membersRefused' })
    expect(pokes()).toEqual([0, 0])
  })

  it('is unanswered where nobody answers', async () => {
    timings = { ...patient, answerMs: silentMs }
    for (const survivor of survivors)
      survivor.answer = (question) => (typeof question === 'object' ? null : survivor.usual(question))
    expect(await remove()).toMatchObject({ removed: 'unanswered' })
    expect(sent()).toEqual([1, 1])
  })

  it('goes on where a member dies in the middle of it', async () => {
    accepting(survivors[0])
    survivors[1].answer = (question) => {
      if (typeof question === 'object') survivors[1].cut()
      return survivors[1].usual(question)
    }
    const removal = await remove()
    expect(removal).toMatchObject({ removed: 'accepted', answers: { [survivors[0].address]: 'ok' } })
  })

  it('pokes on the connection it has where another one cannot be had', async () => {
    for (const survivor of survivors) accepting(survivor)
    expect(await remove({ through: { open: () => Promise.reject(new Error('no more')) } })).toMatchObject({
      removed: 'accepted',
    })
    expect(pokes()).toEqual([1, 1])
  })

  it('leaves no connection open besides those it was given', async () => {
    for (const survivor of survivors) accepting(survivor)
    await remove()
    await expect.poll(() => survivors.map((survivor) => survivor.open)).toEqual([1, 1])
    expect(connections.every(({ isOpen }) => isOpen)).toBe(true)
  })
})

describe('Nothing is sent', () => {
  const silent = (question: Question) => question === 'version' || question === 'state'
  const refusedWith = async (removal: Promise<Removal>, reason: string) => {
    expect(await removal).toMatchObject({ removed: 'refused', reason })
    expect(survivors.flatMap((survivor) => survivor.asked).every(silent)).toBe(true)
  }

  it('without an incarnation, with another one, to no group, to a single leader, and on other versions', async () => {
    await refusedWith(remove({ victim: { ...victim, incarnation: '' } }), 'noIncarnation')
    await refusedWith(remove({ victim: { ...victim, incarnation: '1' } }), 'otherIncarnation')
    await refusedWith(remove({ victim: aMember(7) }), 'notAMember')
    await refusedWith(remove({ group: { ...group, id: 0 } }), 'noGroup')
    await refusedWith(remove({ group: { ...group, singleLeader: true } }), 'singleLeader')
    await refusedWith(remove({ group: { ...group, versions: ['9.7.4', '9.8.0'] } }), 'version')
    expect(asked).toEqual([])
  })

  it('while a member does not answer and the others are no majority', async () => {
    timings = { ...patient, stateMs: silentMs }
    survivors[1].answer = () => null
    await refusedWith(remove(), 'noMajority')
    await refusedWith(remove({ through: { connections: connections.slice(0, 1) } }), 'noMajority')
  })

  it('where a member is in another group by now, or in none', async () => {
    survivors[1].group = 77
    await refusedWith(remove(), 'noMajority')
    survivors[1].group = groupId
    survivors[1].answer = () => answered('fail')
    await refusedWith(remove(), 'noMajority')
  })

  it('for a second member of the same configuration, be it at the same time', async () => {
    const third = await PlayedMember.start()
    const more = await open(third.address)
    const [one, other] = [victim, aMember(2)]
    const configuration = aConfiguration([one, other, ...[...survivors, third].map(identityOf)])
    const request = { group: { ...group, configuration }, through: { connections: [...connections, more] } }
    for (const survivor of [...survivors, third]) accepting(survivor)
    const both = await Promise.all([remove({ ...request, victim: one }), remove({ ...request, victim: other })])
    expect(both).toMatchObject([{ removed: 'accepted' }, { removed: 'refused', reason: 'severalVictims' }])
    expect(await remove({ ...request, victim: other })).toMatchObject({ reason: 'severalVictims' })
    expect(sent()).toEqual([1, 1])
    expect(asked).toEqual([one])
    more.close()
    await third.stop()
  })

  it('to the victim, and to strangers', async () => {
    const stranger = await PlayedMember.start()
    const dead = await PlayedMember.start()
    const more = await Promise.all([open(stranger.address), open(dead.address)])
    const itself = { address: dead.address, incarnation: '176' }
    const configuration = aConfiguration([itself, ...survivors.map(identityOf)])
    for (const survivor of survivors) accepting(survivor)
    await remove({
      victim: itself,
      group: { ...group, configuration },
      through: { connections: [...connections, ...more] },
    })
    expect(sent()).toEqual([1, 1])
    expect([stranger.asked, dead.asked]).toEqual([['version'], ['version']])
    for (const connection of more) connection.close()
    for (const member of [stranger, dead]) await member.stop()
  })
})
