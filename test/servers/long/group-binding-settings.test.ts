import { it } from 'vitest'
import { withCluster } from '#test/support/with-cluster.ts'
import { failsOverUnderWorstValues } from '#test/support/worst-values.ts'

const shop = withCluster({ spec: { mode: 'group' } })

it('Agents of a group that start while every default that could bind their sessions has its worst value fail over', async () => {
  await failsOverUnderWorstValues(shop.current, { mode: 'group', refusedByMysql: ['default_table_encryption'] })
}, 400_000)
