import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { RegentError } from '#common/errors/errors.ts'
import { command, say } from '#common/sentence/sentence.ts'
import { injectFault } from '../faults/fault.ts'
import { readCluster } from '../folder/cluster-file.ts'
import { archiveFolder, type StateLayout } from '../folder/state-layout.ts'
import { syncFolder } from '#common/files/sync-folder.ts'

/** The agent's configuration, and what was archived: copies of transactions that may be nowhere else. */
const kept: ReadonlySet<string> = new Set(['agent.json', archiveFolder])

/**
 * Ends an instance, removes what is on its volume, and starts it again: it comes up as a new member. Asked again after
 * whatever ended in the middle, it goes on to the end: until then the instance stays down.
 */
export async function giveUp(layout: StateLayout, name: string): Promise<void> {
  const cluster = await readCluster(layout.dir)
  if (cluster.far === true)
    throw new RegentError(
      'REGENT_REFUSED',
      say`the servers of ${cluster.name} were adopted: nothing here makes one anew; ${command('reseed', name)} makes it a copy of another`,
    )
  // Refuses an instance that is not the cluster's.
  await injectFault(layout, cluster, name, 'kill')
  const { volume } = cluster.instances.find((one) => one.name === name) ?? { volume: '' }
  for (const entry of await readdir(volume))
    if (!kept.has(entry)) await rm(join(volume, entry), { recursive: true, force: true })
  await syncFolder(volume)
  await injectFault(layout, cluster, name, 'start')
}
