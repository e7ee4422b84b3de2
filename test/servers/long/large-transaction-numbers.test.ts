import type { Connection, RowDataPacket } from 'mysql2/promise'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readFileSets, lastBinlogFile } from '#agents/binlog/set.ts'
import { GtidSet } from '#topology/gtid/gtid-set.ts'
import { byHand } from '#test/support/by-hand.ts'
import { LoneServer, removeTemplate, value } from '#test/support/lone-server.ts'
import { withCluster } from '#test/support/with-cluster.ts'
import { Writer } from '#test/support/writer.ts'

const uuid = 'aaaaaaaa-1111-2222-3333-444444444444'
const largest = '9223372036854775806'
/** Where numbers stop to be exact as plain ones, and those that MySQL says least of. */
const corners = [1n, 2n ** 31n, 2n ** 53n - 8n, 2n ** 62n, 2n ** 63n - 12n]

/** The same numbers each time: what differs from the server must be found again. */
function dice(seed: number): (sides: number) => number {
  let state = seed
  return (sides) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
    return (state >>> 8) % sides
  }
}

function someSet(roll: (sides: number) => number): string {
  const intervals = Array.from({ length: 1 + roll(6) }, () => {
    const from = (corners[roll(corners.length)] ?? 1n) + BigInt(roll(6))
    const to = roll(4) === 0 ? 2n ** 63n - 2n : from + BigInt(roll(5))
    return `${['', ':app'][roll(2)]}:${from}-${to}`
  })
  return intervals.map((interval) => `${uuid}${interval}`).join(',')
}

describe('A server', () => {
  let server: LoneServer
  let root: Connection
  beforeAll(async () => {
    server = await LoneServer.create()
    root = await server.start()
  })
  afterAll(async () => {
    await server.remove()
    await removeTemplate()
  })

  it('and Regent say the same of 5,000 pairs of sets with the largest numbers', async () => {
    const roll = dice(20_261_123)
    const pairs = Array.from({ length: 5_000 }, () => [someSet(roll), someSet(roll)] as const)
    for (let at = 0; at < pairs.length; at += 500) {
      const some = pairs.slice(at, at + 500)
      const asked = some
        .map(([a, b]) => `SELECT GTID_SUBSET('${a}', '${b}') AS subset, GTID_SUBTRACT('${a}', '${b}') AS rest`)
        .join(' UNION ALL ')
      const [rows] = await root.query<RowDataPacket[]>(asked)
      for (const [index, [a, b]] of some.entries()) {
        const [left, right] = [GtidSet.parse(a), GtidSet.parse(b)]
        const rest = String(rows[index]?.['rest']).replaceAll(/\s/g, '')
        expect([right.contains(left) ? 1 : 0, left.subtract(right).toString(), GtidSet.parse(rest).toString()]).toEqual(
          [rows[index]?.['subset'], rest, rest],
        )
        expect(left.subtract(right).union(left.intersect(right)).equals(left)).toBe(true)
      }
    }
  })

  it('writes the largest numbers, tagged or not, into binlogs that are read back exactly', async () => {
    const tagged = `${uuid}:app:9007199254740993`
    for (const gtid of [`${uuid}:${largest}`, tagged, `${uuid}:app:${largest}`])
      await root.query(`set gtid_next = '${gtid}'; begin; commit; set gtid_next = automatic`)
    const executed = GtidSet.parse(await value(root, 'select @@global.gtid_executed'))
    const own = (await readFileSets((await lastBinlogFile(server.dataDir)) ?? '')).own
    expect(own.contains(GtidSet.parse(`${uuid}:${largest}:app:9007199254740993:${largest}`))).toBe(true)
    await root.query('flush binary logs')
    const { previous } = await readFileSets((await lastBinlogFile(server.dataDir)) ?? '')
    expect(previous.toString()).toBe(executed.toString())
  })

  it('refuses the number after the largest, as Regent does', async () => {
    await expect(root.query(`set gtid_next = '${uuid}:9223372036854775807'`)).rejects.toThrow()
    expect(() => GtidSet.parse(`${uuid}:9223372036854775807`)).toThrow(largest)
  })
})

describe('A cluster', () => {
  const shop = withCluster()

  it('in which somebody used the largest numbers of all fails over, and back, and nothing acknowledged is lost', async () => {
    const cluster = shop.current
    await cluster.whole()
    const writer = await Writer.start(cluster)
    const first = await cluster.primary()
    const own = await cluster.value(first, 'select @@server_uuid')
    const used = [`${uuid}:${largest}`, `${uuid}:app:9007199254740993`, `${own}:${largest}`]
    for (const [index, gtid] of used.entries())
      await byHand(cluster, first, `set gtid_next = '${gtid}'`, `create table app.large_${index} (id int primary key)`)
    await writer.next()
    const { pid } = await cluster.instance(first)
    await cluster.fault(first, 'kill-mysqld')
    await cluster.waitFor('another one leads', ({ primary, writable }) => writable && primary !== first)
    await cluster.otherMysqld(first, pid)
    await cluster.whole()
    await cluster.switchover({ to: first })
    await cluster.whole()
    await writer.next()
    const executed = GtidSet.parse(await cluster.value(first, 'select @@global.gtid_executed'))
    for (const gtid of used) expect(executed.contains(GtidSet.parse(gtid))).toBe(true)
    expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
  })
})
