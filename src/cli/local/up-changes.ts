import { isDeepStrictEqual } from 'node:util'
import { RegentError } from '../../common/errors/errors.ts'
import type { FoundCluster } from '../../local/clusters/cluster-index.ts'
import { readHosts } from '../../local/addresses/hosts-file.ts'
import { readSpec } from '../../local/folder/spec-file.ts'
import { layoutOf } from '../../local/folder/state-layout.ts'
import { parseRedisAddress } from '../../store/redis-address.ts'
import type { UpOptions } from './up-options.ts'

/**
 * Refuses options of `up` that contradict a cluster that exists: a second `up` never changes silently what the first
 * one made. Throws `REGENT_ALREADY_RUNNING` for one that is up, `REGENT_REFUSED` for one that is down.
 */
export async function refuseChanges(found: FoundCluster, options: UpOptions, isUp: boolean): Promise<void> {
  const { name } = found.cluster
  const change =
    shapeChange(found, options) ??
    (await hostsChange(found, options)) ??
    (isUp ? await settingChange(found, options) : undefined)
  if (change !== undefined)
    throw new RegentError(
      isUp ? 'REGENT_ALREADY_RUNNING' : 'REGENT_REFUSED',
      `${name} ${isUp ? 'is up' : 'exists already'} ${change}`,
    )
}

/** What only a new cluster can have otherwise. */
function shapeChange({ cluster }: FoundCluster, options: UpOptions): string | undefined {
  const count = cluster.instances.length
  if (options.instances !== undefined && options.instances !== count)
    return `with ${count} instances, not ${options.instances}; "regent local scale ${cluster.name} ${options.instances}" changes that once it is up`
  if (options.store !== undefined && placeOf(options.store) !== placeOf(cluster.store))
    return 'with its record in another store than --store names; a record does not move'
  return undefined
}

/** Without the login, which may change. */
function placeOf(store: string): string {
  return store === 'file' ? store : parseRedisAddress(store).shown
}

async function hostsChange({ cluster }: FoundCluster, options: UpOptions): Promise<string | undefined> {
  if (options.hosts === undefined || isDeepStrictEqual(await readHosts(options.hosts, 1), cluster.hosts))
    return undefined
  return 'with other addresses than --hosts names; instances do not move'
}

/** What takes effect when the processes start. */
async function settingChange({ dir, cluster }: FoundCluster, options: UpOptions): Promise<string | undefined> {
  const spec = await readSpec(layoutOf(dir), cluster.name)
  const restart = `"regent local down ${cluster.name}" first, then up with it`
  if (options.store !== undefined && hasLogin(options.store) && options.store !== cluster.store)
    return `with another login for its store; ${restart}`
  if (options.port !== undefined && options.port !== cluster.api.port)
    return `with its API on port ${cluster.api.port}, not ${options.port}; ${restart}`
  if (options.durability !== undefined && options.durability !== spec.durability)
    return `with durability ${spec.durability}, not ${options.durability}; ${restart}`
  if (options.acks !== undefined && options.acks !== spec.acks)
    return `with ${spec.acks ?? 'the default number of'} acknowledgements, not ${options.acks}; ${restart}`
  if (options.config !== undefined) return `so --config would have no effect; ${restart}`
  return undefined
}

/** One that names no password is content with what is known. */
export function hasLogin(store: string): boolean {
  return store !== 'file' && parseRedisAddress(store).options.password !== undefined
}
