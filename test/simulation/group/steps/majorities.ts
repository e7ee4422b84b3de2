import { endsOf, heardOf, outcomeOf } from '#test/simulation/mysqld/steps/moves.ts'
import { becomes, formOfAll, haveAll, join, shows, standingOf, viewOf, writes } from './moves.ts'
import type { GroupScript, GroupStage, StagedMember } from './stage.ts'

interface Alone {
  readonly members: readonly StagedMember[]
  /** The primary, which shows both others as UNREACHABLE. */
  readonly one: StagedMember
  readonly others: readonly StagedMember[]
}

/** Both others stand still, and the primary has noticed. One write was acknowledged before. */
async function alone(stage: GroupStage): Promise<Alone> {
  const members = await formOfAll(stage)
  const [one, ...others] = members
  if (one === undefined) throw new RangeError('a group has a member')
  await writes(one, 1)
  await haveAll(one, ...others)
  for (const other of others) other.freeze()
  for (const other of others) await shows(stage, one, other, 'UNREACHABLE')
  return { members, one, others }
}

/** Whatever is still to be heard of a write is heard by then. */
const quietMs = 2_000

/** What a member does that hears no majority. */
export const majorities: readonly GroupScript[] = [
  {
    title: 'A primary that hears no majority shows the others as UNREACHABLE, and its writes wait for one',
    servers: 3,
    play: async (stage, note) => {
      const { members, one, others } = await alone(stage)
      note('the view', await viewOf(members, one))
      note('one', await standingOf(one))
      const write = await one.write()
      await stage.sleep(quietMs)
      note('the client hears', heardOf(write))
      note('one executes', (await one.port.readHolds()).executed)
      for (const other of others) other.thaw()
      note('the client hears', await endsOf(write))
      note('one', await standingOf(one))
      note('one executes', (await one.port.readHolds()).executed)
    },
    seen: [
      'the view: one ONLINE PRIMARY, two UNREACHABLE SECONDARY, three UNREACHABLE SECONDARY',
      'one: ONLINE PRIMARY open',
      'the client hears: nothing',
      'one executes: A:1',
      'the client hears: OK',
      'one: ONLINE PRIMARY open',
      'one executes: A:1-2',
    ],
  },
  {
    title: 'Who waits for a majority and is killed hears so, and the write is there once the majority is back',
    servers: 3,
    play: async (stage, note) => {
      const { one, others } = await alone(stage)
      const write = await one.write()
      await stage.sleep(quietMs)
      await write.kill()
      note('the client hears', await endsOf(write))
      note('one executes', (await one.port.readHolds()).executed)
      for (const other of others) other.thaw()
      note('the client hears', await writes(one, 1))
      note('one executes', (await one.port.readHolds()).executed)
    },
    seen: ['the client hears: lost', 'one executes: A:1', 'the client hears: OK', 'one executes: A:1-3'],
  },
  {
    title:
      'A write that waits for a majority holds read-only up, and a stop, which whoever looks waits for; offline mode closes at once',
    servers: 3,
    play: async (stage, note) => {
      const { one, others } = await alone(stage)
      const write = await one.write()
      await stage.sleep(quietMs)
      note('read-only', await outcomeOf(one.port.setReadOnly('closed', 500)))
      note('offline', await outcomeOf(one.port.setOffline(true)))
      note('the sessions end', await outcomeOf(one.port.killForeignSessions()))
      note('read-only', await outcomeOf(one.port.setReadOnly('closed', 500)))
      note('the client hears', await endsOf(write))
      note('one', await standingOf(one))
      note('a stop', await outcomeOf(one.group.stop(1_500)))
      note('its state', await outcomeOf(one.port.readState()))
      note('its view id', await outcomeOf(one.group.viewId()))
      note('one executes', (await one.port.readHolds()).executed)
      for (const other of others) other.thaw()
      await stage.until(async () => (await outcomeOf(one.port.readState())) === 'done', 'the stop has ended')
      note('one', await standingOf(one))
    },
    seen: [
      'read-only: REGENT_SERVER_TIMEOUT',
      'offline: done',
      'the sessions end: REGENT_SERVER_TIMEOUT',
      'read-only: REGENT_SERVER_TIMEOUT',
      'the client hears: lost',
      'one: ONLINE PRIMARY offline',
      'a stop: REGENT_SERVER_TIMEOUT',
      'its state: REGENT_SERVER_TIMEOUT',
      'its view id: REGENT_SERVER_TIMEOUT',
      'one executes: A:1',
      'one: OFFLINE read-only, super, offline',
    ],
  },
  {
    title: 'A member that hears no majority for 20 s leaves its group, and is closed to everybody',
    servers: 3,
    play: async (stage, note) => {
      const { members, one, others } = await alone(stage)
      const write = await one.write()
      await becomes(stage, one, 'ERROR')
      note('one', await standingOf(one))
      note('the client hears', await endsOf(write))
      note('the view', await viewOf(members, one))
      note('one executes', (await one.port.readHolds()).executed)
      for (const other of others) other.thaw()
      await one.group.stop()
      const [two] = others
      if (two === undefined) throw new RangeError('there are others')
      await shows(stage, two, one, undefined)
      await stage.until(async () => (await standingOf(two)).includes('open'), 'the others have elected')
      note('the view', await viewOf(members, two))
      await join(stage, one)
      note('back again', await standingOf(one))
    },
    seen: [
      'one: ERROR read-only, super, offline',
      'the client hears: lost',
      'the view: one ERROR, two UNREACHABLE SECONDARY, three UNREACHABLE SECONDARY',
      'one executes: A:1',
      'the view: two ONLINE PRIMARY, three ONLINE SECONDARY',
      'back again: ONLINE SECONDARY read-only, super',
    ],
  },
]
