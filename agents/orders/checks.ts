import { RegentError } from '#common/errors/errors.ts'
import { say, text, type Sayable, type Sentence } from '#common/sentence/sentence.ts'
import type { Assignment } from '#failover/protocol/assignment.ts'
import type { Addressed } from '#failover/protocol/message.ts'
import type { RenounceOrder, ReseedOrder } from '#failover/protocol/order.ts'
import { memberId } from '#topology/snapshot/member.ts'
import type { PromiseReport, ProcessState } from '#topology/snapshot/observation.ts'
import type { StoredState } from '../instance/stored-state.ts'

/** What the checks look at. */
export interface OrderState {
  readonly cluster: string
  readonly instance: string
  /** The id of this start of the agent. */
  readonly run: string
  readonly stored: StoredState
  readonly process: ProcessState
  readonly promiseReport: PromiseReport | null
  /** What it holds now, as text, for a re-seed; null while unknown. */
  readonly holds: string | null
  /** Why its data may not be given up now (`Mode.whyNotSeeded`); null where they may. */
  readonly whyNotSeeded: Sentence | null
}

export type Check = readonly [failed: boolean, why: Sayable]

/**
 * What an agent checks of every order before anything is written or done (docs/why/safety.md, "Whole orders"). Throws
 * `REGENT_WRONG_MEMBER` or `REGENT_STALE_ORDER` with the rule that failed.
 */
export function requireCurrent(name: string, order: Addressed & { readonly run?: string }, state: OrderState): void {
  const { stored } = state
  const member = memberId(state.instance, stored.volume)
  requireAddressee(name, order, { cluster: state.cluster, member })
  if (order.epoch < stored.promise)
    throw new RegentError(
      'REGENT_STALE_ORDER',
      say`${name} of epoch ${order.epoch}: ${member} promised epoch ${stored.promise}`,
    )
  if (order.revision < stored.revision)
    throw new RegentError(
      'REGENT_STALE_ORDER',
      say`${name} of revision ${order.revision}: ${member} acted on revision ${stored.revision}`,
    )
  if (order.run !== undefined && order.run !== state.run) {
    throw new RegentError(
      'REGENT_STALE_ORDER',
      say`${name} was made for start ${order.run} of the agent of ${state.instance}; this is ${state.run}`,
    )
  }
}

/** The part of one kind of order. Throws `REGENT_ORDER_NOT_ALLOWED` with the first rule that failed. */
export function requireAllowed(name: string, { epoch }: Addressed, checks: readonly Check[], state: OrderState): void {
  const failed = checks.find(([fails]) => fails)
  if (failed)
    throw new RegentError(
      'REGENT_ORDER_NOT_ALLOWED',
      say`${name} of epoch ${epoch} refused by ${memberId(state.instance, state.stored.volume)}: ${failed[1]}`,
    )
}

/**
 * Another cluster’s manager may have this address in its list, with the same token where a folder was copied. Throws
 * `REGENT_WRONG_MEMBER` with both names.
 */
export function requireAddressee(
  name: string,
  order: Pick<Addressed, 'cluster' | 'member'>,
  { cluster, member }: Pick<Addressed, 'cluster' | 'member'>,
): void {
  if (order.cluster === cluster && order.member === member) return
  throw new RegentError(
    'REGENT_WRONG_MEMBER',
    say`${name} is for ${order.member} of cluster ${order.cluster}; this is ${member} of cluster ${cluster}`,
  )
}

/** The promise is smaller, or equal and everything is still stopped. */
export function promiseChecks(order: Addressed, { stored }: OrderState): readonly Check[] {
  const acted = stored.assignment?.epoch ?? 0
  return [[acted >= order.epoch, say`it acts on an assignment of epoch ${acted} already`]]
}

export function demoteChecks(order: Addressed, { stored, process }: OrderState): readonly Check[] {
  return [
    [stored.assignment?.role !== 'primary', say`it is no primary`],
    [stored.assignment?.epoch !== order.epoch - 1, say`it is primary of epoch ${stored.assignment?.epoch ?? 0}`],
    [process !== 'running', say`mysqld is ${process}`],
  ]
}

export function assignChecks(order: Assignment, { stored, process }: OrderState): readonly Check[] {
  const now = stored.assignment
  const acted = now?.epoch ?? 0
  const isNow = acted === order.epoch ? now?.role : undefined
  return [
    [acted > order.epoch, say`it acts on epoch ${acted}`],
    [stored.seeding, say`a seeding has not ended`],
    [order.role === 'replica' && isNow === 'primary', say`it is the primary of that very epoch`],
    [order.role === 'primary' && isNow === 'replica', say`it is a replica in that very epoch`],
    [
      order.role === 'primary' && !order.mayRestart && isNow !== 'primary' && process !== 'running',
      say`mysqld is ${process}`,
    ],
  ]
}

export function fetchChecks(order: Addressed, { stored, promiseReport, process }: OrderState): readonly Check[] {
  return [
    [stored.promise !== order.epoch, say`it promised epoch ${stored.promise}`],
    [promiseReport?.epoch !== order.epoch, say`it has not stopped under that promise`],
    [process !== 'running', say`mysqld is ${process}`],
  ]
}

export function reseedChecks(order: ReseedOrder, { stored, holds, whyNotSeeded }: OrderState): readonly Check[] {
  const now = stored.assignment
  const acts = !stored.seeding && stored.promise === order.epoch && now?.epoch === order.epoch
  const isBeside = order.beside === true
  const isAsTold = stored.seeding || holds === order.destroys
  return [
    [leadsSince(now, order.epoch), say`it is the primary`],
    [stored.unproven, say`a copy is not proven yet`],
    [now?.role === 'replica' && now.counted && !isBeside, say`it is counted in the sync set`],
    [whyNotSeeded !== null, whyNotSeeded],
    [isBeside && !acts, say`it holds nothing any more, or does not act on epoch ${order.epoch}`],
    [!isAsTold, say`it holds ${abbreviate(holds)}, the order destroys ${abbreviate(order.destroys)}`],
  ]
}

/** Nothing is restored over data, or in the place of somebody who has a part in the cluster. */
export function restoreChecks({ stored, holds }: OrderState): readonly Check[] {
  return [
    [stored.promise > 0 || stored.assignment !== null, say`it has its place in the cluster already`],
    [holds !== '', holds === null ? say`what it holds is not known` : say`it holds ${abbreviate(holds)}`],
  ]
}

function leadsSince(now: Assignment | null, epoch: number): boolean {
  return now?.role === 'primary' && now.epoch >= epoch
}

/** Judged by what it reported: an order that comes after the next start of the agent speaks of somebody else. */
export function renounceChecks(order: RenounceOrder, { stored }: OrderState): readonly Check[] {
  return [
    [
      stored.incarnation !== order.incarnation,
      say`its incarnation is ${stored.incarnation}, the order is for ${order.incarnation}`,
    ],
  ]
}

/** What it writes replicates: only the primary of that very epoch may, as it would take a client's write. */
export function writeChecks(order: Addressed, { stored, process }: OrderState): readonly Check[] {
  return [
    [stored.assignment?.role !== 'primary', say`it is no primary`],
    [stored.assignment?.epoch !== order.epoch, say`it is primary of epoch ${stored.assignment?.epoch ?? 0}`],
    [process !== 'running', say`mysqld is ${process}`],
  ]
}

/** Whether the member is silent is looked at when it is done (`Mode.expel`). */
export function expelChecks(order: Addressed, { stored, process }: OrderState): readonly Check[] {
  return [
    [stored.assignment?.epoch !== order.epoch, say`it acts on epoch ${stored.assignment?.epoch ?? 0}`],
    [process !== 'running', say`mysqld is ${process}`],
  ]
}

function abbreviate(set: string | null): Sayable {
  if (set === null) return say`something unknown`
  return set === '' ? say`nothing` : text(set.slice(0, 80))
}
