import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { purgeCluster } from './background.ts'
import { layoutOf } from '../folder/state-layout.ts'
import { temporaryFolder } from '../testing.ts'

test('A purge removes what is the cluster’s, also the draft of a manager that was killed while it wrote, and nobody else’s files', async () => {
  const dir = await temporaryFolder()
  const layout = layoutOf(dir)
  await mkdir(layout.logs, { recursive: true })
  for (const name of ['cluster.json', 'routes.json', 'routes.json.4711.k3j2h1.new', 'diary.txt', 'diary.new'])
    await writeFile(join(dir, name), '')
  await purgeCluster(layout)
  expect((await readdir(dir)).sort()).toEqual(['diary.new', 'diary.txt'])
})

test('A purge leaves no folder of a cluster that had nothing else in it, and may be done again', async () => {
  const dir = join(await temporaryFolder(), 'shop')
  await mkdir(dir)
  await writeFile(join(dir, 'spec.json.1.a.new'), '')
  await purgeCluster(layoutOf(dir))
  await purgeCluster(layoutOf(dir))
  await expect(readdir(dir)).rejects.toMatchObject({ code: 'ENOENT' })
})
