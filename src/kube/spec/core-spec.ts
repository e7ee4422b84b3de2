import { RegentError } from '#common/errors/errors.ts'
import { reported, say } from '#common/sentence/sentence.ts'
import { complaintAbout } from '#common/input/schema-complaint.ts'
import type { ObjectKey } from '#controller-runtime/objects/objects.ts'
import { clusterSpecSchema, whyNotInMode, whyTooMany, type ClusterSpec } from '#failover/protocol/spec.ts'
import type { InstancePolicy } from '#failover/protocol/instance-policy.ts'
import { instanceName, isInstanceOf } from '#topology/snapshot/member.ts'
import { complaintAboutHooks } from '#failover/protocol/hook.ts'
import { coreBackupOf, coreRestoreOf } from './backup-places.ts'
import type { MySQLClusterSpec } from './spec-schema.ts'

/**
 * What the core needs to know of a resource's spec; the rest is the platform's. Throws `REGENT_BAD_REQUEST` where it is
 * no spec, although the API server took it.
 * @param key the resource's; instances are named after its name
 */
export function coreSpecOf(key: ObjectKey, spec: MySQLClusterSpec): ClusterSpec {
  const cluster = key.name
  const {
    instances,
    mode,
    durability,
    acks,
    failover,
    switchover,
    group,
    reseed,
    cloneAboveTransactions,
    maxLagSeconds,
    lowSpaceBytes,
    keepBinlogsSeconds,
    heldBinlogsBytes,
    archiveBytes,
    hooks,
  } = spec
  const core: ClusterSpec = {
    version: 1,
    ...{
      instances,
      mode,
      durability,
      switchover,
      group,
      reseed,
      cloneAboveTransactions,
      maxLagSeconds,
      lowSpaceBytes,
      keepBinlogsSeconds,
      heldBinlogsBytes,
      archiveBytes,
    },
    acks: acks ?? null,
    failover: failoverOf(failover),
    policies: policiesOf(cluster, spec),
    ...(hooks && { hooks }),
    ...coreBackupOf(key, spec),
    ...coreRestoreOf(key, spec),
  }
  const complaint =
    complaintAbout(clusterSpecSchema, core) ??
    whyTooMany(core, core.instances) ??
    whyNotInMode(core) ??
    complaintAboutHooks(core.hooks, 'secretRef')
  if (complaint !== undefined)
    throw new RegentError('REGENT_BAD_REQUEST', say`spec of ${cluster}: ${reported(complaint)}`)
  return core
}

function failoverOf({
  automatic,
  acceptLoss,
  acceptLossUpTo,
  backAfterSeconds,
  budget,
  windowSeconds,
}: MySQLClusterSpec['failover']): ClusterSpec['failover'] {
  return {
    automatic,
    ...(acceptLoss !== undefined && { acceptLoss }),
    ...(acceptLossUpTo !== undefined && { acceptLossUpTo }),
    ...(backAfterSeconds !== undefined && { backAfterSeconds }),
    ...(budget !== undefined && { budget: { failovers: budget.failovers, windowMs: budget.windowSeconds * 1_000 } }),
    ...(windowSeconds !== undefined && { windowMs: windowSeconds * 1_000 }),
  }
}

/** Only what differs from the default: an instance that is not named is like any other. */
function policiesOf(
  cluster: string,
  { primary, instances }: MySQLClusterSpec,
): Readonly<Record<string, InstancePolicy>> {
  const stranger = [...Object.keys(primary.preferred), ...primary.never].find((name) => !isInstanceOf(cluster, name))
  if (stranger !== undefined)
    throw new RegentError(
      'REGENT_BAD_REQUEST',
      say`spec of ${cluster}: primary names "${stranger.slice(0, 60)}"; allowed are the instances ${cluster}-0 to ${cluster}-15`,
    )
  const priorities = primary.lastOrdinal
    ? Object.fromEntries(Array.from({ length: instances }, (_, ordinal) => [instanceName(cluster, ordinal), ordinal]))
    : primary.preferred
  const never = new Set(primary.never)
  const named = new Set([...Object.keys(priorities), ...never])
  return Object.fromEntries(
    [...named].map((name) => [
      name,
      { promotion: never.has(name) ? 'never' : 'neutral', priority: priorities[name] ?? 0 },
    ]),
  )
}
