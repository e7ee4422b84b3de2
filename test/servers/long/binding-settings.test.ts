import { expect, it } from 'vitest'
import { logOf } from '#test/support/instance-files.ts'
import { withCluster } from '#test/support/with-cluster.ts'
import { failsOverUnderWorstValues, keepsAgentsOut, startUnder } from '#test/support/worst-values.ts'

const shop = withCluster()

it('Agents that start while every default that could bind their sessions has its worst value keep their servers, and fail over', async () => {
  await failsOverUnderWorstValues(shop.current, { mode: 'semisync' })
})

it('An agent whose server takes no login but with a compression that the agent does not speak has that server start anew', async () => {
  const cluster = shop.current
  const { primary } = await cluster.whole()
  const [replica] = await cluster.replicas()
  for (const name of [replica!, primary!]) {
    const { pid } = await cluster.instance(name)
    await startUnder(cluster, name, { [keepsAgentsOut]: 'zstd' })
    await cluster.otherMysqld(name, pid, 60_000)
    await cluster.whole()
    expect(await logOf(cluster, name)).toMatch(/mysqld refuses its own agent/)
    expect(await cluster.value(name, `select @@global.${keepsAgentsOut}`)).toContain('uncompressed')
  }
})
