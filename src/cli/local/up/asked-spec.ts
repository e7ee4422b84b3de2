import { isDeepStrictEqual } from 'node:util'
import type { ClusterSpec } from '#failover/protocol/spec.ts'
import type { FoundCluster } from '#local/clusters/cluster-index.ts'
import { composeSpec, readSpec } from '#local/folder/spec-file.ts'
import { layoutOf } from '#local/folder/state-layout.ts'
import type { UpOptions } from './up-options.ts'

/**
 * The spec that a file and options ask of a cluster that exists. What a cluster is made with once, and what only
 * `scale` changes, is not the file's to say. For servers that Regent made the file says all. For adopted servers the
 * file says what changes: their hosts file said the rest, and no command may forget that.
 */
export async function askedSpec(
  { dir, cluster }: FoundCluster,
  { config, acks, durability }: Pick<UpOptions, 'config' | 'acks' | 'durability'>,
): Promise<ClusterSpec> {
  const stored = await readSpec(layoutOf(dir), cluster.name)
  const { mode, instances } = stored
  const isKept = config === undefined || cluster.far === true
  return composeSpec(cluster.name, config, { mode, instances, acks, durability }, isKept ? stored : {})
}

/** Top-level keys, by name. */
export function changedKeys(before: ClusterSpec, after: ClusterSpec): readonly (keyof ClusterSpec)[] {
  const keys = [...new Set([...Object.keys(before), ...Object.keys(after)])] as (keyof ClusterSpec)[]
  return keys.filter((key) => !isDeepStrictEqual(before[key], after[key])).toSorted()
}
