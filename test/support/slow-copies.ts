import { readdir, readFile, writeFile } from 'node:fs/promises'
import { volumeLayout } from '#agents/instance/volume-layout.ts'
import { agentConfigPath } from '#local/folder/state-layout.ts'
import type { TestCluster } from './cluster.ts'

/** It dies and, once it is started, fetches so few mebibytes a second that a copy takes long. */
export async function killAndSlowDown(cluster: TestCluster, name: string): Promise<void> {
  await cluster.fault(name, 'kill')
  const path = agentConfigPath(cluster.layout, name)
  const config = JSON.parse(await readFile(path, 'utf8')) as object
  await writeFile(
    path,
    JSON.stringify({
      ...config,
      serverSettings: { loose_clone_max_data_bandwidth: '8', loose_clone_max_network_bandwidth: '8' },
    }),
  )
}

/** Waits until it is said that it is seeded, and part of the copy is there. */
export async function untilCopying(cluster: TestCluster, name: string): Promise<void> {
  await cluster.waitFor(
    `${name} is being copied`,
    ({ instances }) =>
      instances.some(
        (row) =>
          row.name === name &&
          row.problems.some(({ sentence }) => /^seeding from \w+-\d: (copying|file copy) \d+ %$/.test(sentence)),
      ),
    150_000,
  )
  const { seedDir } = volumeLayout((await cluster.instance(name)).volume)
  await cluster.until(`files of ${name} are there`, async () =>
    (await readdir(seedDir).catch((): string[] => [])).includes('ibdata1'),
  )
}
