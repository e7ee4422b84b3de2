import { watch, type FSWatcher } from 'node:fs'
import { basename } from 'node:path'
import { RegentError } from '../common/errors.ts'
import type { Platform, PlatformInstance, PrimaryRoute } from '../common/platform.ts'
import { writeAgentConfigs } from './agent-config.ts'
import { instancesFor, readCluster, writeCluster, type LocalInstance } from './cluster-file.ts'
import { askSupervisor } from './control.ts'
import { publishRoute, readRoute } from './routes.ts'
import { readSpec } from './spec-file.ts'
import { layoutOf, type StateLayout } from './state-layout.ts'

/** Ending a leaver takes its agent's grace and a kill. */
const reloadDeadlineMs = 20_000

export interface LocalPlatform extends Platform {
  close(): void
}

/** The machine we are on as a place where a cluster runs: what is in the cluster's folder, and its supervisor. */
export function localPlatform(dir: string): LocalPlatform {
  const layout = layoutOf(dir)
  const watchers: FSWatcher[] = []
  // Publishing reads, compares and writes: one at a time, so that two calls of this manager cannot pass each other.
  let publishing: Promise<unknown> = Promise.resolve()
  return {
    instances: async () => (await readCluster(dir)).instances.map(platformInstance),
    onChange: (changed) => {
      // The folder, not the file: each change renames a new file into place.
      watchers.push(watch(dir, (_event, name) => name === basename(layout.cluster) && changed()))
    },
    publishPrimary: (route: PrimaryRoute) => {
      const published = publishing.then(() => publishRoute(layout.routes, route))
      publishing = published.catch(() => undefined)
      return published
    },
    publishedPrimary: () => readRoute(layout.routes),
    scaleTo: (count) => scaleTo(layout, count),
    close: () => watchers.forEach((watcher) => watcher.close()),
  }
}

function platformInstance(instance: LocalInstance): PlatformInstance {
  return { name: instance.name, host: instance.address, port: instance.port, agent: `${instance.address}:${instance.agentPort}` }
}

async function scaleTo(layout: StateLayout, count: number): Promise<void> {
  if (!Number.isInteger(count) || count < 1 || count > 16) throw new RegentError('REGENT_BAD_REQUEST', `the number of instances is ${count}; allowed is an integer from 1 to 16`)
  const before = await readCluster(layout.dir)
  const cluster = { ...before, instances: instancesFor(layout.dir, before, count) }
  const spec = await readSpec(layout, cluster.name)
  await writeAgentConfigs(layout, cluster, spec)
  await writeCluster(layout.dir, cluster)
  const told = await askSupervisor(layout.control, { command: 'reload' }, reloadDeadlineMs)
  if (told === undefined) throw new RegentError('REGENT_REFUSED', `no supervisor runs for cluster ${cluster.name}, so nothing starts or stops instances; "regent local up ${cluster.name}" starts it`)
}
