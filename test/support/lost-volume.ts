import { mkdir, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestCluster } from './cluster.ts'

/** What the platform itself keeps on the volume of an instance; a new volume has it too. */
const ofThePlatform = ['agent.json']

/** An instance dies and comes back on an empty volume when a test says so. */
export async function loseVolume(cluster: TestCluster, instance: string): Promise<void> {
  await cluster.fault(instance, 'kill')
  const { volume } = await cluster.instance(instance)
  for (const name of await readdir(volume))
    if (!ofThePlatform.includes(name)) await rm(join(volume, name), { recursive: true })
  await mkdir(volume, { recursive: true })
}
