import { endsOf, holdsOf, outcomeOf } from '#test/simulation/mysqld/steps/moves.ts'
import { becomes, formOfAll, haveAll, join, shows, standingOf, viewOf, writes } from './moves.ts'
import type { GroupScript, GroupStage, StagedMember } from './stage.ts'

type Three = readonly [StagedMember, StagedMember, StagedMember]

const limits = { graceMs: 1_000, deadlineMs: 20_000 }

async function three(stage: GroupStage, former = 0): Promise<Three> {
  return (await formOfAll(stage, former)) as unknown as Three
}

/** Who goes, in order or not, and who leads then. */
export const leaving: readonly GroupScript[] = [
  {
    title: 'A member that dies is UNREACHABLE, then removed, and the others take writes all the time',
    servers: 3,
    play: async (stage, note) => {
      const members = await three(stage)
      const [one, two, dead] = members
      const before = await one.group.viewId()
      await dead.kill()
      await shows(stage, one, dead, 'UNREACHABLE')
      note('the view', await viewOf(members, one))
      note('the same view id', (await one.group.viewId()) === before)
      note('the client hears', await writes(one, 1))
      await shows(stage, one, dead, undefined)
      await shows(stage, two, dead, undefined)
      note('the view', await viewOf(members, one))
      note('another view id', (await one.group.viewId()) !== before)
      note('the view of the other', await viewOf(members, two))
      note('the client hears', await writes(one, 1))
      await haveAll(one, two)
      note('the other', (await two.port.readHolds()).executed)
    },
    seen: [
      'the view: one ONLINE PRIMARY, two ONLINE SECONDARY, three UNREACHABLE SECONDARY',
      'the same view id: true',
      'the client hears: OK',
      'the view: one ONLINE PRIMARY, two ONLINE SECONDARY',
      'another view id: true',
      'the view of the other: one ONLINE PRIMARY, two ONLINE SECONDARY',
      'the client hears: OK',
      'the other: A:1-2',
    ],
  },
  {
    title: 'Of equal members the one with the smallest uuid is elected once the primary is removed, and not before',
    servers: 3,
    play: async (stage, note) => {
      const members = await three(stage, 1)
      const [one, former, other] = members
      note('the view', await viewOf(members, one))
      await writes(former, 2)
      await former.kill()
      await shows(stage, one, former, 'UNREACHABLE')
      note('the view', await viewOf(members, one))
      note('one', await standingOf(one))
      await shows(stage, one, former, undefined)
      await stage.until(async () => (await standingOf(one)).includes('open'), 'the elected one is open')
      note('one', await standingOf(one))
      await shows(stage, other, former, undefined)
      note('the view', await viewOf(members, other))
      note('three', await standingOf(other))
      note('the client hears', await writes(one, 1))
      note('one', (await one.port.readHolds()).executed)
    },
    seen: [
      'the view: one ONLINE SECONDARY, two ONLINE PRIMARY, three ONLINE SECONDARY',
      'the view: one ONLINE SECONDARY, two UNREACHABLE PRIMARY, three ONLINE SECONDARY',
      'one: ONLINE SECONDARY read-only, super',
      'one: ONLINE PRIMARY open',
      'the view: one ONLINE PRIMARY, three ONLINE SECONDARY',
      'three: ONLINE SECONDARY read-only, super',
      'the client hears: OK',
      'one: A:1-2:1000001',
    ],
  },
  {
    title: 'A member that leaves is in no view at once, read-only, and holds what it had',
    servers: 3,
    play: async (stage, note) => {
      const members = await three(stage)
      const [one, two, leaver] = members
      await writes(one, 2)
      await haveAll(one, leaver)
      await leaver.group.stop()
      note('the leaver', await standingOf(leaver))
      note('its view', await viewOf(members, leaver))
      note('its view id', await leaver.group.viewId())
      await shows(stage, one, leaver, undefined)
      note('the view', await viewOf(members, two))
      note('the client hears', await writes(one, 1))
      note('the leaver', await holdsOf(leaver))
      await leaver.group.stop()
      await join(stage, leaver)
      note('back again', `${await standingOf(leaver)}, ${(await leaver.port.readHolds()).executed}`)
    },
    seen: [
      'the leaver: OFFLINE read-only, super',
      'its view: three OFFLINE',
      'its view id: ',
      'the view: one ONLINE PRIMARY, two ONLINE SECONDARY',
      'the client hears: OK',
      'the leaver: executed A:1-2, received A:1-2',
      'back again: ONLINE SECONDARY read-only, super, A:1-3',
    ],
  },
  {
    title: 'A primary that leaves is followed by the smallest uuid, and takes no write any more',
    servers: 3,
    play: async (stage, note) => {
      const members = await three(stage, 2)
      const [one, , former] = members
      await writes(former, 1)
      await former.group.stop()
      note('the former', await standingOf(former))
      note('its client hears', await endsOf(await former.write()))
      await stage.until(async () => (await standingOf(one)).includes('open'), 'the elected one is open')
      note('the view', await viewOf(members, one))
      note('the client hears', await writes(one, 1))
      note('the elected', (await one.port.readHolds()).executed)
    },
    seen: [
      'the former: OFFLINE read-only, super',
      'its client hears: refused',
      'the view: one ONLINE PRIMARY, two ONLINE SECONDARY',
      'the client hears: OK',
      'the elected: A:1:1000001',
    ],
  },
  {
    title:
      'A primary whose server is stopped in order leaves first: another one leads at once, and has all of its writes',
    servers: 3,
    play: async (stage, note) => {
      const members = await three(stage, 2)
      const [one, , former] = members
      await writes(former, 3)
      await former.terminate()
      note('the view', (await viewOf(members, one)).includes('UNREACHABLE'))
      await stage.until(async () => (await standingOf(one)).includes('open'), 'the elected one is open')
      note('the view', await viewOf(members, one))
      note('the client hears', await writes(one, 1))
      note('the elected', (await one.port.readHolds()).executed)
      await former.start()
      note('it comes back', await standingOf(former))
      await join(stage, former)
      note('it has', (await former.port.readHolds()).executed)
    },
    seen: [
      'the view: false',
      'the view: one ONLINE PRIMARY, two ONLINE SECONDARY',
      'the client hears: OK',
      'the elected: A:1-3:1000001',
      'it comes back: OFFLINE read-only, super, offline',
      'it has: A:1-3:1000001',
    ],
  },
  {
    title: 'A primary that is told to makes another member primary, and refuses who is no member',
    servers: 3,
    play: async (stage, note) => {
      const members = await three(stage)
      const [former, , next] = members
      await writes(former, 1)
      const { uuid } = await next.port.readState()
      note('to nobody', await outcomeOf(former.group.electPrimary('c0ffee00-0000-4000-8000-000000000009', limits)))
      note('the former', await standingOf(former))
      note('to the third', await outcomeOf(former.group.electPrimary(uuid, limits)))
      note('the former', await standingOf(former))
      await stage.until(async () => (await standingOf(next)).includes('open'), 'the next one is open')
      note('the view', await viewOf(members, next))
      note('the client of the former hears', await endsOf(await former.write()))
      note('the client hears', await writes(next, 1))
      note('the next', (await next.port.readHolds()).executed)
      const { uuid: formerUuid } = await former.port.readState()
      note('the former once more', await outcomeOf(next.group.electPrimary(formerUuid, limits)))
      await stage.until(async () => (await standingOf(former)).includes('open'), 'the former is open')
      note('the client hears', await writes(former, 1))
      note('the former', (await former.port.readHolds()).executed)
    },
    seen: [
      'to nobody: REGENT_SERVER_ERROR',
      'the former: ONLINE PRIMARY open',
      'to the third: done',
      'the former: ONLINE SECONDARY read-only, super',
      'the view: one ONLINE SECONDARY, two ONLINE SECONDARY, three ONLINE PRIMARY',
      'the client of the former hears: refused',
      'the client hears: OK',
      'the next: A:1:1000001',
      'the former once more: done',
      'the client hears: OK',
      'the former: A:1-2:1000001',
    ],
  },
  {
    title: 'A member that stands still is removed, finds that out when it goes on, and is closed to everybody',
    servers: 3,
    play: async (stage, note) => {
      const members = await three(stage)
      const [one, , still] = members
      still.freeze()
      await shows(stage, one, still, 'UNREACHABLE')
      await shows(stage, one, still, undefined)
      note('the view', await viewOf(members, one))
      note('the client hears', await writes(one, 1))
      still.thaw()
      await becomes(stage, still, 'ERROR')
      note('it', await standingOf(still))
      note('its view', await viewOf(members, still))
      note('it has', (await still.port.readHolds()).executed)
      await still.group.stop()
      note('once it has left', await standingOf(still))
      await join(stage, still)
      note('back again', `${await standingOf(still)}, ${(await still.port.readHolds()).executed}`)
    },
    seen: [
      'the view: one ONLINE PRIMARY, two ONLINE SECONDARY',
      'the client hears: OK',
      'it: ERROR read-only, super, offline',
      'its view: three ERROR',
      'it has: ',
      'once it has left: OFFLINE read-only, super, offline',
      'back again: ONLINE SECONDARY read-only, super, A:1',
    ],
  },
]
