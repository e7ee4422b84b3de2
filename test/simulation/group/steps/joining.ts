import { endsOf, holdsOf, outcomeOf } from '#test/simulation/mysqld/steps/moves.ts'
import { becomes, form, formOfAll, groupOf, haveAll, join, settingsFor, shows, standingOf } from './moves.ts'
import { startAll, stateOf, viewOf, writes } from './moves.ts'
import type { GroupScript, StagedMember } from './stage.ts'

type One = readonly [StagedMember]
type Two = readonly [StagedMember, StagedMember]
type Three = readonly [StagedMember, StagedMember, StagedMember]

/** Who forms a group, who comes into one, and what they have then. */
export const joining: readonly GroupScript[] = [
  {
    title: 'One server forms a group: it is ONLINE, primary, and takes writes by the name of the group',
    servers: 1,
    play: async (stage, note) => {
      const [one] = (await startAll(stage)) as unknown as One
      note('before', await standingOf(one))
      note('the view before', await viewOf([one], one))
      await one.group.start(settingsFor(stage, one), true)
      await becomes(stage, one, 'ONLINE')
      note('it has formed', await standingOf(one))
      await one.port.setOffline(false)
      note('the client hears', await writes(one, 2))
      note('the view', await viewOf([one], one))
      note('it', await holdsOf(one))
      note('the same view id', (await one.group.viewId()) === (await groupOf(one)).viewId)
      note('formed once more', await outcomeOf(one.group.start(settingsFor(stage, one), true)))
    },
    seen: [
      'before: OFFLINE read-only, super, offline',
      'the view before: one OFFLINE',
      'it has formed: ONLINE PRIMARY offline',
      'the client hears: OK, OK',
      'the view: one ONLINE PRIMARY',
      'it: executed A:1-2',
      'the same view id: true',
      'formed once more: REGENT_SERVER_ERROR',
    ],
  },
  {
    title: 'Who joins gets from another member what it lacks before it is ONLINE, and writes of the group from then on',
    servers: 2,
    play: async (stage, note) => {
      const [one, two] = (await startAll(stage)) as unknown as Two
      await form(stage, one)
      await writes(one, 3)
      const alone = await one.group.viewId()
      await two.group.start(settingsFor(stage, two), false)
      await becomes(stage, two, 'ONLINE')
      note('it has joined', await standingOf(two))
      note('it', await holdsOf(two))
      await shows(stage, one, two, 'ONLINE')
      note('the view', await viewOf([one, two], one))
      note('the view of the joiner', await viewOf([one, two], two))
      note('another view id', (await one.group.viewId()) !== alone)
      note('the same at both', (await one.group.viewId()) === (await two.group.viewId()))
      note('the primary', await standingOf(one))
      note('the client hears', await writes(one, 2))
      await haveAll(one, two)
      note('it', (await two.port.readHolds()).executed)
      await two.port.setOffline(false)
      note('a client of the joiner hears', await endsOf(await two.write()))
    },
    seen: [
      'it has joined: ONLINE SECONDARY read-only, super, offline',
      'it: executed A:1-3',
      'the view: one ONLINE PRIMARY, two ONLINE SECONDARY',
      'the view of the joiner: one ONLINE PRIMARY, two ONLINE SECONDARY',
      'another view id: true',
      'the same at both: true',
      'the primary: ONLINE PRIMARY open',
      'the client hears: OK, OK',
      'it: A:1-5',
      'a client of the joiner hears: refused',
    ],
  },
  {
    title: 'A server with a transaction that the group has not joins nobody',
    servers: 2,
    play: async (stage, note) => {
      const [one, two] = (await startAll(stage)) as unknown as Two
      await form(stage, one)
      await writes(one, 1)
      await two.port.setReadOnly('accounts')
      await two.port.open()
      note('a client of the errant one hears', await endsOf(await two.write()))
      note('the start', await outcomeOf(two.group.start(settingsFor(stage, two), false)))
      note('the errant one', await standingOf(two))
      await shows(stage, one, two, undefined)
      note('the view', await viewOf([one, two], one))
      note('it', await holdsOf(two))
      note('the client hears', await writes(one, 1))
    },
    seen: [
      'a client of the errant one hears: OK',
      'the start: REGENT_SERVER_ERROR',
      'the errant one: OFFLINE open',
      'the view: one ONLINE PRIMARY',
      'it: executed A:1',
      'the client hears: OK',
    ],
  },
  {
    title:
      'A server that is killed and starts again is outside, holds what it had, and is another member once it joins',
    servers: 3,
    play: async (stage, note) => {
      const members = (await formOfAll(stage)) as unknown as Three
      const [one, , three] = members
      await writes(one, 2)
      await haveAll(one, three)
      await three.kill()
      note('the client hears', await writes(one, 1))
      await three.start()
      note('it comes back', await standingOf(three))
      note('it', (await three.port.readHolds()).executed)
      // The one that was killed is still in the view: the group takes nobody at its address before.
      await join(stage, three)
      note('it has joined again', await standingOf(three))
      note('it', (await three.port.readHolds()).executed)
      await shows(stage, one, three, 'ONLINE')
      note('the view', await viewOf(members, one))
    },
    seen: [
      'the client hears: OK',
      'it comes back: OFFLINE read-only, super, offline',
      'it: A:1-2',
      'it has joined again: ONLINE SECONDARY read-only, super',
      'it: A:1-3',
      'the view: one ONLINE PRIMARY, two ONLINE SECONDARY, three ONLINE SECONDARY',
    ],
  },
  {
    title: 'Where every server is killed nobody is in a group afterwards, and each holds what it had',
    servers: 3,
    play: async (stage, note) => {
      const members = (await formOfAll(stage)) as unknown as Three
      const [one, two, three] = members
      await writes(one, 2)
      await haveAll(one, two, three)
      await Promise.all(members.map((member) => member.kill()))
      await Promise.all(members.map((member) => member.start()))
      for (const member of members) note('it comes back', `${await standingOf(member)}, ${await holdsOf(member)}`)
      note('the second joins', await outcomeOf(two.group.start(settingsFor(stage, two), false)))
      await form(stage, two)
      await join(stage, one)
      note('the client hears', await writes(two, 1))
      note('the view', await viewOf(members, two))
      note('it', await holdsOf(two))
      note('the third', await stateOf(three, three))
    },
    seen: [
      'it comes back: OFFLINE read-only, super, offline, executed A:1-2',
      'it comes back: OFFLINE read-only, super, offline, executed A:1-2, received A:1-2',
      'it comes back: OFFLINE read-only, super, offline, executed A:1-2, received A:1-2',
      'the second joins: REGENT_SERVER_ERROR',
      'the client hears: OK',
      'the view: one ONLINE SECONDARY, two ONLINE PRIMARY',
      'it: executed A:1-3, received A:1-2',
      'the third: OFFLINE',
    ],
  },
]
