import { join } from 'node:path'
import { expect, it } from 'vitest'
import { writeCluster } from '#local/folder/cluster-file.ts'
import { layoutOf } from '#local/folder/state-layout.ts'
import { RoutesFile } from '#local/platform/routes.ts'
import { clusterIn, temporaryFolder } from '#local/testing.ts'
import { instanceNamed } from './instance-named.ts'

it('"primary" is whoever was published last as the primary, so that nobody breaks a replica by surprise', async () => {
  const home = await temporaryFolder()
  const dir = join(home, 'shop')
  await writeCluster(dir, clusterIn(dir))
  await expect(instanceNamed('primary', home)).rejects.toMatchObject({ code: 'REGENT_NOT_FOUND' })
  const routes = new RoutesFile(layoutOf(dir).routes)
  await routes.publish({ epoch: 1, instance: 'shop-0', host: '127.24.198.1', port: 3306 })
  await routes.publish({ epoch: 2, instance: 'shop-2', host: '127.24.198.3', port: 3306 })
  for (const named of ['primary', 'shop/primary', 'shop-2'])
    expect(await instanceNamed(named, home)).toMatchObject({ dir, instance: 'shop-2', cluster: { name: 'shop' } })
  await expect(instanceNamed('other/primary', home)).rejects.toMatchObject({ code: 'REGENT_NOT_FOUND' })
})
