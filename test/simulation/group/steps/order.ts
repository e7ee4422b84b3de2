import { endsOf } from '#test/simulation/mysqld/steps/moves.ts'
import { becomes, form, formOfAll, haveAll, settingsFor, shows, startAll, standingOf, writes } from './moves.ts'
import type { GroupScript, StagedMember } from './stage.ts'

type Two = readonly [StagedMember, StagedMember]
type Three = readonly [StagedMember, StagedMember, StagedMember]

/** In which order transactions are agreed on, and who has them. */
export const order: readonly GroupScript[] = [
  {
    title: 'What clients write at the same time gets one order, and each member has all of that',
    servers: 3,
    play: async (stage, note) => {
      const [one, two, three] = (await formOfAll(stage)) as unknown as Three
      const begun = await Promise.all(Array.from({ length: 5 }, () => one.write()))
      const heard: string[] = []
      for (const write of begun) heard.push(await endsOf(write))
      note('the clients hear', heard.join(', '))
      await haveAll(one, two, three)
      for (const member of [one, two, three]) note('executed', (await member.port.readHolds()).executed)
    },
    seen: ['the clients hear: OK, OK, OK, OK, OK', 'executed: A:1-5', 'executed: A:1-5', 'executed: A:1-5'],
  },
  {
    title:
      'A primary that was elected numbers its writes in a block of its own, and in the former block once that leads',
    servers: 3,
    play: async (stage, note) => {
      const [one, two, three] = (await formOfAll(stage)) as unknown as Three
      const limits = { graceMs: 1_000, deadlineMs: 20_000 }
      await writes(one, 2)
      for (const [from, to] of [
        [one, two],
        [two, three],
        [three, one],
      ] as const) {
        await from.group.electPrimary((await to.port.readState()).uuid, limits)
        await stage.until(async () => (await standingOf(to)).includes('open'), `${to.name} is open`)
        note('the client hears', await writes(to, 2))
      }
      await haveAll(one, two, three)
      for (const member of [one, two, three]) note('executed', (await member.port.readHolds()).executed)
    },
    seen: [
      'the client hears: OK, OK',
      'the client hears: OK, OK',
      'the client hears: OK, OK',
      'executed: A:1-4:1000001-1000002:2000001-2000002',
      'executed: A:1-4:1000001-1000002:2000001-2000002',
      'executed: A:1-4:1000001-1000002:2000001-2000002',
    ],
  },
  {
    title: 'Who joins while clients write has what was before and what has come meanwhile once it is ONLINE',
    servers: 2,
    play: async (stage, note) => {
      const [one, two] = (await startAll(stage)) as unknown as Two
      await form(stage, one)
      await writes(one, 20)
      let isWriting = true
      const writing = (async () => {
        let count = 0
        for (; isWriting; count += 1) await writes(one, 1)
        return count
      })()
      await two.group.start(settingsFor(stage, two), false)
      await becomes(stage, two, 'ONLINE')
      const { executed } = await two.port.readHolds()
      await shows(stage, one, two, 'ONLINE')
      isWriting = false
      const meanwhile = await writing
      note('clients wrote meanwhile', meanwhile > 0)
      note('it began with all that was before', /^[0-9a-f-]{36}:1-(\d+)$/.exec(executed.trim())?.[1] !== undefined)
      await haveAll(one, two)
      const [all, own] = [(await one.port.readHolds()).executed, (await two.port.readHolds()).executed]
      note('it has the same as the primary', all === own)
      note('nothing is left out', all.endsWith(`:1-${20 + meanwhile}`))
    },
    seen: [
      'clients wrote meanwhile: true',
      'it began with all that was before: true',
      'it has the same as the primary: true',
      'nothing is left out: true',
    ],
  },
]
