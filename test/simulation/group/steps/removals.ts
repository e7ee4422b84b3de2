import type { GroupScript, StagedMember } from './stage.ts'
import { formOfAll, groupOf, join, shows, viewOf, writes } from './moves.ts'
import type { GroupStage } from './stage.ts'

type Three = readonly [StagedMember, StagedMember, StagedMember]

/** Knows the group, and has a connection to each member that answers. */
async function knows({ until }: GroupStage, { expulsion, name }: StagedMember, by: StagedMember): Promise<void> {
  expulsion.know(await groupOf(by))
  await until(() => expulsion.silence.size === 3 && Math.max(...expulsion.silence.values()) === 0, `${name} knows all`)
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
      note('it says', said.slice(0, 'The removal of '.length))
      await shows(stage, one, dead, undefined)
      note('the view', await viewOf(members, one))
      note('the client hears', await writes(one, 1))
    },
    seen: ['it says: The removal of ', 'the view: one ONLINE PRIMARY, two ONLINE SECONDARY', 'the client hears: OK'],
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
      note('it says', said.slice(0, 'The members refuse to remove'.length))
      await stage.sleep(8_000)
      note('the view', await viewOf(members, one))
      note('the same view id', (await one.group.viewId()) === before)
    },
    seen: [
      'it says: The members refuse to remove',
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
      note('it says', said.slice(0, 'The removal of '.length))
      await shows(stage, one, alive, undefined)
      note('the view', await viewOf(members, one))
    },
    seen: ['it says: The removal of ', 'the view: one ONLINE PRIMARY, two ONLINE SECONDARY'],
  },
]
