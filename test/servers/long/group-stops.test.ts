import { describe, expect, it } from 'vitest'
import { withCluster } from '#test/support/with-cluster.ts'
import { Writer } from '#test/support/writer.ts'

const shop = withCluster({ spec: { mode: 'group' } })
const wholeMs = 120_000
const nothingLost = { lost: [], duplicated: [], differing: [], instances: 3 }

async function roleOf(whose: string): Promise<string> {
  const cluster = shop.current
  const { primary } = await cluster.whole(3, wholeMs)
  return whose === 'the primary' ? primary! : (await cluster.replicas())[0]!
}

const both = ['the primary', 'a secondary']

describe('A member of a group', () => {
  it.each(both)(
    'whose agent is ended by SIGTERM, %s, stays what it is: its server goes on, and the next agent finds it so',
    async (whose) => {
      const cluster = shop.current
      const name = await roleOf(whose)
      const { epoch, primary } = await cluster.view()
      const { pid, agentPid } = await cluster.instance(name)
      const writer = await Writer.start(cluster)
      process.kill(agentPid ?? 0, 'SIGTERM')
      await cluster.until('another agent', async () => {
        const now = (await cluster.instance(name)).agentPid
        return now !== null && now !== agentPid
      })
      expect(await cluster.whole(3, wholeMs)).toMatchObject({ epoch, primary })
      expect(await cluster.instance(name)).toMatchObject({ pid })
      await writer.next()
      console.log(`agent of ${whose} ended: longest pause ${Math.round(writer.longestPause().pauseMs)} ms`)
      expect(await writer.check()).toMatchObject(nothingLost)
    },
    180_000,
  )

  it.each(both)(
    'whose server is ended by SIGTERM, %s, leaves in order, comes back, and nothing is lost',
    async (whose) => {
      const cluster = shop.current
      const name = await roleOf(whose)
      const { pid } = await cluster.instance(name)
      const writers = [await Writer.start(cluster), await Writer.start(cluster, { table: 'more', everyMs: 0 })]
      process.kill(pid ?? 0, 'SIGTERM')
      await cluster.otherMysqld(name, pid)
      await cluster.whole(3, wholeMs)
      for (const writer of writers) await writer.next()
      console.log(`server of ${whose} ended: longest pause ${Math.round(writers[0]!.longestPause().pauseMs)} ms`)
      for (const writer of writers) expect(await writer.check()).toMatchObject(nothingLost)
    },
    180_000,
  )

  it('that is fenced hands over first where it is the primary, and takes no clients until it is unfenced', async () => {
    const cluster = shop.current
    const { primary: from } = await cluster.whole(3, wholeMs)
    const writer = await Writer.start(cluster)
    expect(await cluster.regent('fence', from!)).toMatchObject({ code: 0 })
    await cluster.waitFor(
      'it is fenced, and another one leads',
      ({ primary, writable, instances }) =>
        primary !== from &&
        writable &&
        instances.some((row) => row.name === from && row.fenced && row.offline === true),
    )
    await expect(cluster.sql(from!, 'select 1', { user: 'client' })).rejects.toMatchObject({ errno: 3032 })
    await expect(cluster.switchover({ to: from! })).rejects.toMatchObject({
      message: expect.stringContaining(`${from} is fenced`) as string,
    })
    expect(await cluster.regent('unfence', from!)).toMatchObject({ code: 0 })
    await cluster.whole(3, wholeMs)
    expect(await cluster.sql(from!, 'select 1', { user: 'client' })).toHaveLength(1)
    await writer.next()
    expect(await writer.check()).toMatchObject(nothingLost)
  }, 180_000)

  it('that is fenced as a secondary stays a member, and the others go on', async () => {
    const cluster = shop.current
    const { primary, epoch } = await cluster.whole(3, wholeMs)
    const [name = ''] = await cluster.replicas()
    const writer = await Writer.start(cluster)
    await cluster.operate('fence', { instance: name })
    await cluster.waitFor('it is fenced', ({ instances }) =>
      instances.some((row) => row.name === name && row.fenced && row.offline === true),
    )
    await expect(cluster.sql(name, 'select 1', { user: 'client' })).rejects.toMatchObject({ errno: 3032 })
    const row = (await cluster.view()).instances.find((one) => one.name === name)
    expect(row?.group).toMatchObject({ state: 'ONLINE' })
    await writer.next()
    await cluster.operate('unfence', { instance: name })
    expect(await cluster.whole(3, wholeMs)).toMatchObject({ primary, epoch })
    expect(await writer.check()).toMatchObject(nothingLost)
  }, 180_000)

  it('that is fenced and kept as the primary is a deliberate outage: the group elects nobody else', async () => {
    const cluster = shop.current
    const { epoch } = await cluster.whole(3, wholeMs)
    const primary = await cluster.primary()
    const writer = await Writer.start(cluster)
    await cluster.operate('fence', { instance: primary, keepPrimary: true })
    const { sentence } = await cluster.waitFor('nobody writes', ({ writable }) => !writable, 5_000)
    expect(sentence).toContain('closed: fenced by a person')
    await new Promise((resolve) => setTimeout(resolve, 3_000))
    expect(await cluster.view()).toMatchObject({ primary, epoch, writable: false })
    await cluster.operate('unfence', { instance: primary })
    expect(await cluster.whole(3, wholeMs)).toMatchObject({ primary, epoch })
    await writer.next()
    expect(await writer.check()).toMatchObject(nothingLost)
  }, 180_000)
})
