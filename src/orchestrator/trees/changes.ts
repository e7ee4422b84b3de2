import { GtidSet } from '#topology/gtid/gtid-set.ts'
import type { Instance } from '../documents/instance.ts'
import { isSameKey, keyText } from '../documents/key.ts'
import { detachedMark, isDetached } from '../documents/watched-fields.ts'
import {
  isReplica,
  whyOtherGtids,
  whyMember,
  whyNoReplica,
  whyNotFrom,
  whyNotMove,
  whyNotSeen,
  type WhyNot,
} from './checks.ts'
import { lockOf, unless } from './moves.ts'
import { keepReceived } from './received.ts'
import type { Planned, SourceThen, Step } from './step.ts'
import { masterOf, replicasOf, type Tree } from './tree.ts'

/** At most so many empty transactions at once. */
const mostInjected = 10_000

/** Its source is made to follow it, too. */
export function makeCoMaster(tree: Tree, one: Instance): Planned {
  const early = whyNotMove(one) ?? whyMember(one, 'MakeCoMaster')
  if (early !== undefined) return { why: early }
  const master = masterOf(tree, one)
  if (master === undefined)
    return { why: `Cannot GetInstanceMaster() for ${keyText(one.Key)}: it is none of this cluster` }
  const why = whyNotSeen(master) ?? whyNotPair(tree, one, master) ?? whyNotFrom(master, one) ?? whySpreads(one, master)
  const [at, with_] = [master.InstanceAlias, one.InstanceAlias]
  const steps = (): readonly Step[] => [
    // The master may follow a lost server, or be detached: then what it has received goes with its relay logs.
    ...keepReceived(tree, master, one),
    ...(isReplica(master) ? [{ do: 'stop', at } as const] : []),
    {
      do: 'follow',
      at,
      source: { instance: with_ },
      from: one.UsingOracleGTID ? 'gtids' : { endOf: with_ },
      ...(!isReplica(master) && { login: true }),
    },
    { do: 'start', at },
  ]
  return unless(why, steps, [
    lockOf(one, `make co-master of ${keyText(master.Key)}`),
    lockOf(master, `${keyText(one.Key)} turns into co-master of this`),
  ])
}

function whyNotPair(tree: Tree, one: Instance, master: Instance): WhyNot {
  const [key, above] = [keyText(one.Key), keyText(master.Key)]
  if (isSameKey(master.MasterKey, one.Key)) return `instance ${key} is already co master of ${above}`
  if (!one.ReadOnly) return `instance ${key} is not read-only; first make it read-only before making it co-master`
  const other = masterOf(tree, master)
  if (!master.IsCoMaster)
    return isReplica(master) && !isDetached(master.MasterKey.Hostname)
      ? `${above} is not a real master; it replicates from: ${keyText(master.MasterKey)}`
      : undefined
  return other?.IsLastCheckValid === true && !other.ReadOnly
    ? `master ${above} is already co-master with ${keyText(other.Key)}, and ${keyText(other.Key)} is alive, and ` +
        'not read-only; cowardly refusing to demote it. Please set it as read-only beforehand'
    : undefined
}

/** What only the replica has would be applied where clients write. */
function whySpreads(one: Instance, master: Instance): WhyNot {
  return one.GtidErrant === ''
    ? undefined
    : `${keyText(one.Key)} has errant GTID ${one.GtidErrant}, which ${keyText(master.Key)} would apply; call gtid-errant-inject-empty first`
}

/** The replica is kept away from its source until it is reattached. */
export function detach(tree: Tree, one: Instance): Planned {
  return unless(whyNotDetached(one), () => [...keepReceived(tree, one), ...awaySteps(one)], [
    lockOf(one, 'detach-replica-master-host'),
  ])
}

export function whyNotDetached(one: Instance): WhyNot {
  const { Hostname: host } = one.MasterKey
  const why = whyNoReplica(one) ?? (isDetached(host) ? `instance already detached: ${keyText(one.Key)}` : undefined)
  return why ?? whyNotSeen(one) ?? whyOtherGtids(one)
}

export function awaySteps(one: Instance): readonly Step[] {
  return [...away(one), { do: 'start', at: one.InstanceAlias }]
}

function away(one: Instance): readonly Step[] {
  const { Hostname, Port } = one.MasterKey
  return [{ do: 'stop', at: one.InstanceAlias }, followAs(one, { host: `${detachedMark}${Hostname}`, port: Port })]
}

/** From where it was. */
function followAs(one: Instance, source: SourceThen): Step {
  const { InstanceAlias: at } = one
  return { do: 'follow', at, source, from: one.UsingOracleGTID ? 'gtids' : { appliedBy: at } }
}

export function reattach(_: Tree, one: Instance): Planned {
  const { Hostname: host, Port: port } = one.MasterKey
  const why =
    whyNoReplica(one) ??
    whyNotSeen(one) ??
    whyOtherGtids(one) ??
    (isDetached(host) ? undefined : `instance does not seem to be detached: ${keyText(one.Key)}`)
  const { InstanceAlias: at } = one
  const steps = (): readonly Step[] => [
    { do: 'stop', at },
    followAs(one, { host: host.slice(detachedMark.length), port }),
    { do: 'start', at },
  ]
  return unless(why, steps, [lockOf(one, 'reattach-replica-master-host')])
}

const replicaOnly =
  (...does: readonly ('stop' | 'start' | 'stopReceiving' | 'drain')[]) =>
  (_: Tree, one: Instance): Planned =>
    unless(whyNoReplica(one) ?? whyNotSeen(one), () => does.map((each) => ({ do: each, at: one.InstanceAlias })))

export const startReplica = replicaOnly('start')
export const stopReplica = replicaOnly('stop')
/** What it has received is applied before it stands. Where that cannot be, a receiver that stood still does. */
export function stopNicely(tree: Tree, one: Instance): Planned {
  const does = one.ReplicationIOThreadState === 0 ? [] : (['stopReceiving'] as const)
  return replicaOnly(...does, 'drain', 'stop')(tree, one)
}
export const restartReplica = replicaOnly('stop', 'start')

/** The server follows nobody any more. */
export function resetReplica(_: Tree, one: Instance): Planned {
  const { InstanceAlias: at } = one
  const steps = (): readonly Step[] => [
    { do: 'stop', at },
    { do: 'reset', at },
  ]
  return unless(whyNotSeen(one), () => (isReplica(one) ? steps() : []), [lockOf(one, 'reset replica')])
}

export const setReadOnly =
  (on: boolean) =>
  (_: Tree, one: Instance): Planned =>
    unless(whyNotSeen(one), () => [{ do: 'readOnly', at: one.InstanceAlias, on }])

export const setSemiSync =
  (side: 'source' | 'replica', on: boolean) =>
  (_: Tree, one: Instance): Planned =>
    unless(
      whyNotSeen(one) ??
        (one.SemiSyncAvailable ? undefined : `${keyText(one.Key)}: semi-sync plugins are not installed there`),
      () => {
        const { InstanceAlias: at } = one
        const restarts = side === 'replica' && isReplica(one)
        return [
          { do: 'semiSync', at, side, on },
          // A receiver tells its source when it connects whether it acknowledges.
          ...(restarts ? [{ do: 'stop', at } as const, { do: 'start', at } as const] : []),
        ]
      },
    )

export function flushLogs(_: Tree, one: Instance): Planned {
  return unless(whyNotSeen(one), () => [{ do: 'flushLogs', at: one.InstanceAlias }])
}

/**
 * What a replica has beyond its source is taken out of its GTIDs, with its binlogs; its data stay. The replica is
 * detached meanwhile: without its GTIDs it would apply everything once more.
 */
export function errantReset(tree: Tree, one: Instance): Planned {
  const key = keyText(one.Key)
  const what = 'gtid-errant-reset-master'
  const replicas = replicasOf(tree, one).length
  const why =
    whyNotSeen(one) ??
    (one.GtidErrant === '' ? `${what} will not operate on ${key} because no errant GTID is found` : undefined) ??
    (one.SupportsOracleGTID ? undefined : `${what} requested for ${key} but it is not using oracle-gtid`) ??
    (replicas > 0
      ? `${what} will not operate on ${key} because it has ${replicas} replicas. Expecting no replicas`
      : undefined) ??
    whyNoReplica(one)
  const { InstanceAlias: at } = one
  const { Hostname: host, Port: port } = one.MasterKey
  const steps = (): readonly Step[] => [
    ...away(one),
    { do: 'resetGtids', at, without: one.GtidErrant },
    followAs(one, { host, port }),
    { do: 'start', at },
  ]
  return unless(why, steps, [lockOf(one, 'reset-master-gtid')])
}

/** The writable head of the cluster gets empty transactions with these GTIDs, and all others from there. */
export function errantInject(tree: Tree, one: Instance): Planned {
  const head = tree.find((each) => keyText(each.Key) === one.ClusterName && !each.ReadOnly && each.IsLastCheckValid)
  return unless(whyNotSeen(one) ?? whyNotInjected(one, head), () => [
    { do: 'inject', at: head?.InstanceAlias ?? '', gtids: one.GtidErrant },
  ])
}

function whyNotInjected(one: Instance, head: Instance | undefined): WhyNot {
  const key = keyText(one.Key)
  const what = 'gtid-errant-inject-empty'
  if (one.GtidErrant === '') return `${what} will not operate on ${key} because no errant GTID is found`
  if (!one.SupportsOracleGTID) return `${what} requested for ${key} but it does not support oracle-gtid`
  if (head === undefined) return `${what} found no writabel master for ${one.ClusterName} cluster`
  if (!head.SupportsOracleGTID)
    return `${what} requested for ${key} but the cluster's master ${keyText(head.Key)} does not support oracle-gtid`
  const count = GtidSet.parse(one.GtidErrant).count()
  return count > mostInjected
    ? `${what}: ${count} transactions are more than ${mostInjected}; seed ${key} again`
    : undefined
}
