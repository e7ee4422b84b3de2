import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { TestCluster } from '#test/support/cluster.ts'
import { Strangers } from '#test/support/strangers.ts'
import { stopWriters, Writer } from '#test/support/writer.ts'

const megabyte = 1_048_576
/** A hundred writes are a tail of a megabyte. */
const bodyBytes = 10_000

describe('SSH that fails while only the dead primary has what clients were told', () => {
  let strangers: Strangers
  let cluster: TestCluster

  beforeAll(async () => {
    strangers = await Strangers.start({ roads: true })
    cluster = await strangers.manage()
  })
  afterAll(async () => {
    await stopWriters()
    await strangers.end()
  })

  const begin = async (table: string): Promise<Writer> => {
    await cluster.whole()
    return Writer.start(cluster, { table, bodyBytes })
  }

  const resume = (): Promise<number> => strangers.resume(cluster)

  const nothingIsLost = async (writer: Writer, sinceMs: number): Promise<void> => {
    await writer.next(sinceMs)
    await cluster.whole()
    expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
  }

  it('is made again, and goes on where it was cut while the tail was read', async () => {
    const writer = await begin('cut_while_read')
    const { road } = strangers.hostOf(await strangers.endWithTail(cluster, writer))
    const cut = road?.closeAfter(megabyte / 2, 'back')
    const resumedMs = await resume()
    await cut
    setTimeout(() => road?.mend(), 2_000)
    await nothingIsLost(writer, resumedMs)
  })

  it('stays away where the tail was being written: then the tail is given to another candidate', async () => {
    const writer = await begin('cut_while_written')
    const dead = await strangers.endWithTail(cluster, writer)
    const roads = strangers.hosts.flatMap((host) => (host === strangers.hostOf(dead) ? [] : (host.road ?? [])))
    const cuts = roads.map((road) => road.closeAfter(megabyte / 2, 'there').then(() => road))
    const resumedMs = await resume()
    const away = await Promise.race(cuts)
    for (const road of roads) if (road !== away) road.mend()
    await writer.next(resumedMs, { notBy: strangers.hostOf(dead).address })
    away.mend()
    await nothingIsLost(writer, resumedMs)
  })

  it('takes its time, and so does the failover', async () => {
    const writer = await begin('slow')
    const dead = await strangers.endWithTail(cluster, writer)
    for (const { road } of strangers.hosts) if (road) [road.delayMs, road.bytesPerSecond] = [100, 4 * megabyte]
    const resumedMs = await resume()
    await writer.next(resumedMs, { notBy: strangers.hostOf(dead).address })
    for (const { road } of strangers.hosts) if (road) [road.delayMs, road.bytesPerSecond] = [0, Infinity]
    await nothingIsLost(writer, resumedMs)
  })

  it('is refused: it is said why, nobody leads without what only that host has, and all goes on when it is back', async () => {
    const writer = await begin('refused')
    const dead = await strangers.endWithTail(cluster, writer)
    const { road } = strangers.hostOf(dead)
    road?.close()
    const resumedMs = await resume()
    const { primary, epoch } = await declined(cluster, dead, /root@.*:2222: /)
    expect(primary).toBe(dead)
    expect(writer.begunSince(resumedMs)).toEqual([])
    road?.mend()
    await nothingIsLost(writer, resumedMs)
    expect((await cluster.view()).epoch).toBeGreaterThan(epoch)
  })

  it('shows another host key: nothing is sent there until a person has pinned that', async () => {
    const writer = await begin('another_key')
    const dead = await strangers.endWithTail(cluster, writer)
    const { sshd } = strangers.hostOf(dead)
    await sshd?.stop()
    await sshd?.newHostKey()
    await sshd?.start(`${strangers.home}/id.pub`)
    const resumedMs = await resume()
    const { primary } = await declined(cluster, dead, /shows the ssh-ed25519 key SHA256:\S+, another one than/)
    expect(primary).toBe(dead)
    await strangers.writeKnownHosts()
    await nothingIsLost(writer, resumedMs)
  })
})

/** No failover: the agent of the dead primary is awaited, and says why it shows nothing. */
function declined(cluster: TestCluster, dead: string, why: RegExp) {
  return cluster.waitFor('it is said who is awaited and why', ({ sentence, instances }) => {
    const row = instances.find(({ name }) => name === dead)
    return /^no automatic failover: .*bring back shop-\d/.test(sentence) && why.test(row?.trouble ?? '')
  })
}
