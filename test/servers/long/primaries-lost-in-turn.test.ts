import { expect, it } from 'vitest'
import { runEpisode } from '#test/support/episode.ts'
import { withCluster } from '#test/support/with-cluster.ts'
import { Writer } from '#test/support/writer.ts'

const shop = withCluster()

it('A cluster survives the loss of one primary after another', async () => {
  const cluster = shop.current
  const writer = await Writer.start(cluster)
  const { epoch } = await cluster.view()
  for (let round = 1; round <= 3; round++) await runEpisode(cluster, writer, 'kill')
  expect((await cluster.view()).epoch).toBe(epoch + 3)
  expect(await writer.check()).toMatchObject({ lost: [], duplicated: [], differing: [], instances: 3 })
})
