import { counted } from '#common/text/words.ts'
import type { Instance } from '../documents/instance.ts'
import { isSameKey, keyText } from '../documents/key.ts'
import { held, ruleRank, whyNoCandidate } from './candidates.ts'
import {
  canMoveByGtids,
  isReplica,
  whyLags,
  whyMember,
  whyNotByGtids,
  whyNotFrom,
  whyNotReplicating,
  whyNotSeen,
} from './checks.ts'
import type { PlannedLead } from './failover.ts'
import { followByGtids, lockOf, moveBelow, type PlannedReplicas } from './moves.ts'
import type { Lock, Step } from './step.ts'
import { replicasOf, type Tree } from './tree.ts'

const graceful = 'GracefulMasterTakeover'

/** The server that is to take over from a master that answers; or why none does, as orchestrator says that. */
export function designate(
  tree: Tree,
  master: Instance,
  { wanted, isAuto }: { readonly wanted: Instance | undefined; readonly isAuto: boolean },
): Instance | string {
  const direct = replicasOf(tree, master)
  const key = keyText(master.Key)
  if (direct.length === 0) return `Master ${key} doesn't seem to have replicas`
  const chosen = wanted ?? choose(direct, master, isAuto)
  if (typeof chosen === 'string') return chosen
  if (!isSameKey(chosen.MasterKey, master.Key))
    return `${graceful}: indicated designated instance ${keyText(chosen.Key)} must be directly replicating from the master ${key}`
  return whyNotDesignated(chosen, master) ?? chosen
}

function choose(direct: Tree, master: Instance, isAuto: boolean): Instance | string {
  const [only] = direct
  if (direct.length === 1 && only !== undefined) return only
  const key = keyText(master.Key)
  if (!isAuto)
    return (
      `${graceful}: target instance not indicated, auto=false, and master ${key} has ` +
      `${counted(direct.length, 'replica')}. orchestrator cannot choose where to failover to. Aborting`
    )
  const fit = direct.filter(
    (one) => whyNoCandidate(one, master, direct) === undefined && whyNotReady(one) === undefined,
  )
  const [best] = fit.toSorted(
    (one, other) => ruleRank(one) - ruleRank(other) || held(other).count() - held(one).count(),
  )
  return (
    best ??
    `${graceful}: no target instance indicated, failed to auto-detect candidate replica for master ${key}. Aborting`
  )
}

function whyNotReady(one: Instance): string | undefined {
  return whyNotSeen(one) ?? whyNotReplicating(one) ?? whyLags(one)
}

function whyNotDesignated(one: Instance, master: Instance): string | undefined {
  const key = keyText(one.Key)
  if (one.PromotionRule === 'must_not')
    return `${graceful}: designated instance ${key} cannot be promoted due to promotion rule or it is explicitly ignored in PromotionIgnoreHostnameFilters configuration`
  if (whyLags(one) !== undefined)
    return `Desginated instance ${key} seems to be lagging too much for this operation. Aborting.`
  const why =
    whyNotReady(one) ??
    whyNotSeen(master) ??
    whyMember(one, graceful) ??
    whyNoCandidate(one, master, [one]) ??
    whyNotFrom(master, one) ??
    whyNotClosed(master)
  return why && `${graceful}: ${why}`
}

/** Before 5.7 accounts with SUPER write to a server that is read-only. */
function whyNotClosed({ Key, Version }: Instance): string | undefined {
  const [major = 0, minor = 0] = Version.split('.').map(Number)
  return major > 5 || (major === 5 && minor >= 7)
    ? undefined
    : `${keyText(Key)} has version ${Version} without super_read_only: accounts with SUPER would go on writing there`
}

/** By places siblings have to be below before anything else; by GTIDs they find their place alone, afterwards. */
export function siblingsFirst(tree: Tree, master: Instance, successor: Instance): PlannedReplicas | string {
  const siblings = replicasOf(tree, master).filter((one) => one !== successor)
  const needs = siblings.filter((one) => !canMoveByGtids(one, successor))
  if (needs.length > 0 && master.SemiSyncMasterEnabled && master.SemiSyncMasterWaitForReplicaCount > 1)
    return `${graceful}: ${keyText(master.Key)} waits for ${master.SemiSyncMasterWaitForReplicaCount} acknowledgements, which would hang while its replicas are moved`
  return needs.map((replica) => ({ replica, planned: moveBelow(tree, replica, successor) }))
}

interface HandingOver {
  readonly successor: Instance
  readonly isAuto: boolean
  /** Why a sibling is not to be touched. */
  readonly whyLocked?: (lock: Lock) => string | undefined
}

/**
 * The master takes no writes from then on. The successor gets all of them, and leads; the master follows its successor.
 * Where the hand-over does not end, the master takes writes again.
 */
export function handOver(
  tree: Tree,
  master: Instance,
  { successor, isAuto, whyLocked = () => undefined }: HandingOver,
): PlannedLead | string {
  const siblings = replicasOf(tree, master).filter((one) => one !== successor)
  const whyNot = (one: Instance): string | undefined =>
    whyNotBelow(one, successor) ?? whyLocked(lockOf(one, `move below ${keyText(successor.Key)}`))
  const able = siblings.filter((one) => whyNot(one) === undefined)
  const left = siblings.filter((one) => !able.includes(one))
  const stuck = left.find(({ IsDowntimed }) => !IsDowntimed)
  if (stuck !== undefined)
    return `Desginated instance ${keyText(successor.Key)} cannot take over all of its siblings. Error: ${whyNot(stuck)}`
  const [at, old] = [successor.InstanceAlias, master.InstanceAlias]
  const byGtids = successor.UsingOracleGTID
  const reached: readonly Step[] = byGtids
    ? [{ do: 'catchUp', at, with: old }]
    : [
        { do: 'stop', at },
        { do: 'advance', at, to: { endOf: old } },
      ]
  return {
    steps: [
      { do: 'readOnly', at: old, on: true },
      ...reached,
      { do: 'follow', at: old, source: { instance: at }, from: byGtids ? 'gtids' : { endOf: at }, login: true },
      { do: 'lead', at },
      ...(isAuto ? [{ do: 'start', at: old } as const] : []),
      ...able.flatMap((one) => followByGtids(one, { instance: at })),
    ],
    undo: [
      ...(master.ReadOnly ? [] : [{ do: 'readOnly', at: old, on: false } as const]),
      ...asBefore(master),
      { do: 'start', at },
    ],
    successor,
    lost: left,
  }
}

/** A root follows nobody. A detached root keeps the address and the login, for the person who reattaches it. */
function asBefore(root: Instance): readonly Step[] {
  const { InstanceAlias: at, MasterKey, UsingOracleGTID } = root
  if (!isReplica(root) || !UsingOracleGTID) return [{ do: 'reset', at }]
  return followByGtids(root, { host: MasterKey.Hostname, port: MasterKey.Port })
}

function whyNotBelow(one: Instance, successor: Instance): string | undefined {
  return whyNotSeen(one) ?? whyNotFrom(one, successor) ?? whyNotByGtids(one, successor)
}
