import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { until } from '#test/support/bare-instance.ts'
import { here, Namespaces } from '#test/support/namespaces.ts'
import type { Answered } from '#test/support/orchestrator-commands.ts'
import { WatchedTrees } from '#test/support/watched-trees.ts'

const follows = [null, 0, 1, 1, 0]
const names = follows.map((_, at) => `shop-${at}`)
const whyNot = await Namespaces.whyNot()
if (whyNot !== undefined) console.warn(`orchestrator-network-cut.test.ts is skipped: ${whyNot}`)

/** `shop`: 1 and 4 below 0, 2 and 3 below 1; each a machine of its own. */
describe.skipIf(whyNot !== undefined)('A watched tree on a network that is cut', () => {
  let network: Namespaces
  let trees: WatchedTrees
  beforeAll(async () => {
    network = await Namespaces.create(names)
    trees = await WatchedTrees.start({ shop: follows }, { network })
    await trees.adopt('shop', trees.listen)
    await trees.allow()
    await until(async () => (await ask('-c all-instances')).stdout.split('\n').length === 5, 'all servers are seen')
  })
  afterAll(async () => {
    await trees.end()
    await network.remove()
  })

  const ask = async (words: string): Promise<Answered> => {
    const parts = words.split(' ').map((word) => (/^shop-\d$/.test(word) ? trees.key(word) : word))
    const { code, stdout, stderr } = await trees.client()(...parts)
    return { code, stdout: trees.named(stdout), stderr: trees.named(stderr) }
  }
  const seen = (code: string) =>
    until(async () => (await ask('-c replication-analysis')).stdout.includes(code), `${code} is seen`)
  const isWell = () => until(async () => (await ask('-c replication-analysis')).stdout === '', 'nothing is wrong')
  const links = async () => (await trees.links('shop')).join(' ')
  const isClosed = async (name: string) => {
    const [row] = await trees.at(name).sql('SELECT @@read_only AS closed')
    return Number(row?.['closed']) === 1
  }

  it('is not touched where only the manager does not hear one in the middle', async () => {
    const before = await links()
    await network.cut(here, 'shop-1')
    await seen('shop-1 (cluster shop-0): UnreachableIntermediateMaster')
    expect((await ask('-c recover -i shop-1')).stderr).toBe('Recovery not attempted')
    await trees.spreads('shop-0', 'shop-1', 'shop-2', 'shop-3', 'shop-4')
    expect(await links()).toBe(before)
    await network.mend()
    await isWell()
  })

  it('is not touched where only the manager does not hear the root', async () => {
    const before = await links()
    await network.cut(here, 'shop-0')
    await seen('shop-0 (cluster shop-0): UnreachableMaster')
    expect((await ask('-c recover -i shop-0')).stderr).toMatch(/^Recovery not attempted: shop-0 may be alive: /)
    await trees.spreads('shop-0', 'shop-1', 'shop-2', 'shop-3', 'shop-4')
    expect([await links(), await isClosed('shop-0'), await isClosed('shop-1')]).toEqual([before, false, true])
    await network.mend()
    await isWell()
  })

  it('goes on below others where one in the middle is cut off from everybody, and gets that one back', async () => {
    await network.isolate('shop-1')
    await seen('shop-1 (cluster shop-0): DeadIntermediateMaster')
    const { code, stdout } = await ask('-c recover -i shop-1')
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^shop-[04]$/)])
    expect(await links()).toBe(`shop-1<shop-0 shop-2<${stdout} shop-3<${stdout} shop-4<shop-0`)
    await trees.spreads('shop-0', 'shop-2', 'shop-3', 'shop-4')
    await network.mend()
    await trees.spreads('shop-0', 'shop-1')
    await isWell()
  })

  it('has another root where a person says so, and the old one is named when the network is whole again', async () => {
    await network.isolate('shop-0')
    await seen('shop-0 (cluster shop-0): DeadMaster')
    const { code, stdout } = await ask('-c force-master-failover -i shop')
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^shop-[1234]$/)])
    expect(await isClosed(stdout)).toBe(false)
    await trees.spreads(stdout, ...names.filter((name) => name !== 'shop-0' && name !== stdout))
    await trees.at('shop-0').sql(`INSERT INTO t.t (word) VALUES ('behind the cut')`)
    await network.mend()
    await until(
      async () => (await trees.regent('topology', 'shop')).stdout.includes('shop-0 has 1 transaction that primary'),
      'what only the old root has is said',
    )
    expect((await ask('-c which-gtid-errant -i shop-0')).stdout).toMatch(/^[0-9a-f-]{36}:\d+$/)
    expect((await ask(`-c relocate -i shop-0 -d ${stdout}`)).code).toBe(1)
    expect((await ask('-c which-cluster-master -i shop')).stdout).toBe(stdout)
    expect((await trees.regent('topology', 'shop')).stdout).toContain('3 of 4 other servers follow it')
  })
})
