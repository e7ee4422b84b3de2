import { heardOf } from '#test/simulation/mysqld/steps/moves.ts'
import { becomes, formOfAll, groupOf, join, shows, viewOf, writes } from './moves.ts'
import type { GroupScript, GroupStage, StagedMember } from './stage.ts'

type Two = readonly [StagedMember, StagedMember]
type Three = readonly [StagedMember, StagedMember, StagedMember]

/** Knows the group, and has a connection to each member that answers. */
async function knows({ until }: GroupStage, { expulsion, name }: StagedMember, by: StagedMember): Promise<void> {
  const group = await groupOf(by)
  expulsion.know(group)
  const { length } = group.members
  await until(
    () => expulsion.silence.size === length && Math.max(...expulsion.silence.values()) === 0,
    `${name} knows all`,
  )
}

/** What members do where they are asked from outside of the group to remove one. */
export const removals: readonly GroupScript[] = [
  {
    title: 'A dead member is removed at once where its agent asks for that',
    servers: 3,
    play: async (stage, note) => {
      const members = (await formOfAll(stage)) as unknown as Three
      const [one, , dead] = members
      // Members that have just joined agree slowly.
      await writes(one, 20)
      await knows(stage, dead, one)
      await dead.kill()
      const said = await dead.expulsion.expel(dead.address)
      note('it says', String(said).slice(0, 'the removal of '.length))
      await shows(stage, one, dead, undefined)
      note('the view', await viewOf(members, one))
      note('the client hears', await writes(one, 1))
    },
    seen: ['it says: the removal of ', 'the view: one ONLINE PRIMARY, two ONLINE SECONDARY', 'the client hears: OK'],
  },
  {
    title: 'Who asks for the removal of an earlier life of a member is refused, and the newer one stays',
    servers: 3,
    play: async (stage, note) => {
      const members = (await formOfAll(stage)) as unknown as Three
      const [one, , dead] = members
      await knows(stage, dead, one)
      await dead.kill()
      await dead.start()
      await join(stage, dead)
      await shows(stage, one, dead, 'ONLINE')
      const before = await one.group.viewId()
      const said = await dead.expulsion.expel(dead.address)
      note('it says', String(said).slice(0, 'the members refuse to remove'.length))
      await stage.sleep(8_000)
      note('the view', await viewOf(members, one))
      note('the same view id', (await one.group.viewId()) === before)
    },
    seen: [
      'it says: the members refuse to remove',
      'the view: one ONLINE PRIMARY, two ONLINE SECONDARY, three ONLINE SECONDARY',
      'the same view id: true',
    ],
  },
  {
    title: 'A member that lives is removed as well where somebody asks for that: nobody in the group looks',
    servers: 3,
    play: async (stage, note) => {
      const members = (await formOfAll(stage)) as unknown as Three
      const [one, , alive] = members
      await writes(one, 20)
      await knows(stage, one, one)
      const said = await one.expulsion.expel(alive.address)
      note('it says', String(said).slice(0, 'the removal of '.length))
      await shows(stage, one, alive, undefined)
      note('the view', await viewOf(members, one))
    },
    seen: ['it says: the removal of ', 'the view: one ONLINE PRIMARY, two ONLINE SECONDARY'],
  },
  {
    title:
      'A member that stands still is removed at once, finds that out when it goes on, and is another member once back',
    servers: 3,
    play: async (stage, note) => {
      const members = (await formOfAll(stage)) as unknown as Three
      const [one, two, still] = members
      await writes(one, 20)
      await knows(stage, one, one)
      still.freeze()
      const said = await one.expulsion.expel(still.address)
      note('it says', String(said).slice(0, 'the removal of '.length))
      for (const other of [one, two]) await shows(stage, other, still, undefined)
      note('the view', await viewOf(members, two))
      note('the client hears', await writes(one, 1))
      still.thaw()
      await becomes(stage, still, 'ERROR')
      await still.group.stop()
      await join(stage, still)
      await shows(stage, one, still, 'ONLINE')
      const again = await two.expulsion.expel(still.address)
      note('who knows of nobody says', String(again).slice(0, 'the members of the group were not known'.length))
      note('the view', await viewOf(members, one))
    },
    seen: [
      'it says: the removal of ',
      'the view: one ONLINE PRIMARY, two ONLINE SECONDARY',
      'the client hears: OK',
      'who knows of nobody says: the members of the group were not known',
      'the view: one ONLINE PRIMARY, two ONLINE SECONDARY, three ONLINE SECONDARY',
    ],
  },
  {
    title: 'Of two members neither has the other removed: one is no majority, and its writes wait',
    servers: 2,
    play: async (stage, note) => {
      const members = await formOfAll(stage)
      const [one, dead] = members as unknown as Two
      await writes(one, 20)
      for (const member of members) await knows(stage, member, one)
      await dead.kill()
      for (const member of members) {
        const said = await member.expulsion.expel(dead.address)
        note('it says', String(said).replace(dead.address, 'the dead one'))
      }
      await shows(stage, one, dead, 'UNREACHABLE')
      const write = await one.write()
      await stage.sleep(8_000)
      note('the client hears', heardOf(write))
      note('the view', await viewOf(members, one))
    },
    seen: [
      'it says: 1 of 2 members answer without the dead one, and 2 must agree',
      'it says: 1 of 2 members answer without the dead one, and 2 must agree',
      'the client hears: nothing',
      'the view: one ONLINE PRIMARY, two UNREACHABLE SECONDARY',
    ],
  },
]
