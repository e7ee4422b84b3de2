import { watch, type FSWatcher } from 'node:fs'
import { basename } from 'node:path'
import type { Platform, PlatformInstance } from '#common/ports/platform.ts'
import { agentAddressOf, readCluster, type LocalInstance } from '../folder/cluster-file.ts'
import { layoutOf } from '../folder/state-layout.ts'

/** The instances of a local cluster, and word of each change. A router needs no more of the machine. */
export function localInstances(dir: string): Pick<Platform, 'instances' | 'onChange'> & { readonly close: () => void } {
  const watchers: FSWatcher[] = []
  const file = basename(layoutOf(dir).cluster)
  return {
    instances: async () => (await readCluster(dir)).instances.map(platformInstance),
    onChange: (changed) => {
      // The folder, not the file: each change renames a new file into place.
      watchers.push(watch(dir, (_event, name) => name === file && changed()))
    },
    close: () => watchers.forEach((watcher) => watcher.close()),
  }
}

function platformInstance(instance: LocalInstance): PlatformInstance {
  return {
    name: instance.name,
    host: instance.address,
    port: instance.port,
    agent: `${agentAddressOf(instance)}:${instance.agentPort}`,
  }
}
