import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import type { Platform } from '#common/ports/platform.ts'
import { writeAgentConfigs } from '../folder/agent-config.ts'
import { instancesFor, readCluster, writeCluster } from '../folder/cluster-file.ts'
import { askSupervisor } from '../supervisor/control.ts'
import { localInstances } from './instances.ts'
import { giveUp } from './replacement.ts'
import { RoutesFile, type CommittedEpoch, type Meddling } from './routes.ts'
import { readSpec } from '../folder/spec-file.ts'
import { layoutOf, type StateLayout } from '../folder/state-layout.ts'

/** Ending a leaver takes its agent's grace and a kill. */
const reloadDeadlineMs = 20_000

export interface LocalPlatform extends Platform {
  /**
   * Somebody else changed or removed what is published: clients on this machine do not find the primary until it is put
   * right.
   */
  onMeddling(meddling: Meddling): void
  close(): void
}

/**
 * The machine we are on as a place where a cluster runs: what is in the cluster's folder, and its supervisor.
 * `committedEpoch` reads the record's, against which a published one is judged.
 */
export function localPlatform(dir: string, committedEpoch?: CommittedEpoch): LocalPlatform {
  const layout = layoutOf(dir)
  const routes = new RoutesFile(layout.routes, committedEpoch)
  const { instances, onChange, close } = localInstances(dir)
  return {
    instances,
    onChange,
    onMeddling: (meddling) => routes.watch(meddling),
    publishPrimary: (route) => routes.publish(route),
    publishedPrimary: () => routes.published(),
    scaleTo: (count) => scaleTo(layout, count),
    replace: (instance) => giveUp(layout, instance),
    close: () => {
      routes.close()
      close()
    },
  }
}

async function scaleTo(layout: StateLayout, count: number): Promise<void> {
  if (!Number.isInteger(count) || count < 1 || count > 16)
    throw new RegentError(
      'REGENT_BAD_REQUEST',
      say`the number of instances is ${count}; allowed is an integer from 1 to 16`,
    )
  const before = await readCluster(layout.dir)
  if (before.far === true)
    throw new RegentError(
      'REGENT_REFUSED',
      say`the servers of ${before.name} were adopted: nothing here starts or stops one; change the hosts file, and adopt again`,
    )
  const cluster = { ...before, instances: instancesFor(layout.dir, before, count) }
  const spec = await readSpec(layout, cluster.name)
  await writeAgentConfigs(layout, cluster, spec)
  await writeCluster(layout.dir, cluster)
  const told = await askSupervisor(layout.control, { command: 'reload' }, reloadDeadlineMs)
  if (told === undefined)
    throw new RegentError(
      'REGENT_REFUSED',
      say`no supervisor runs for cluster ${cluster.name}, so nothing starts or stops instances; "regent local up ${cluster.name}" starts it`,
      { remedy: '' },
    )
}
