import { anyBoolean, exactly, matching, oneOf, optional, type Shape } from '#common/input/shapes.ts'
import type { MemberId } from '#topology/snapshot/member.ts'
import type { Observation } from '#topology/snapshot/observation.ts'
import { backupToRestore, backupToSeedFrom } from './backup-store.ts'
import { primaryAssignment, replicaAssignment, type Assignment } from './assignment.ts'
import { duration, endpoint, endpoints, gtids, member, message, name, uuid } from './message.ts'

/** What a manager may order an agent to do: one entry for each order. What an agent does then: `agents/orders/`. */
export interface OrderEntry<T> {
  /** The path in the agent's HTTP interface: an order is POSTed there, and answered with an `OrderAnswer`. */
  readonly route: `/v1/${string}`
  /** The shape of this body: an assignment has the shape of its role. */
  shapeOf(body: unknown): Shape<T>
  /** How long the manager waits for the answer: `usualMs`, and what the order itself may take. */
  deadlineMs(order: T, usualMs: number): number
}

function entry<T>(
  route: OrderEntry<T>['route'],
  shape: Shape<T>,
  deadlineMs: OrderEntry<T>['deadlineMs'] = (_, usualMs) => usualMs,
): OrderEntry<T> {
  return { route, shapeOf: () => shape, deadlineMs }
}

const assign: OrderEntry<Assignment> = {
  route: '/v1/assign',
  shapeOf: (body) => ((body as { role?: unknown } | null)?.role === 'primary' ? primaryAssignment : replicaAssignment),
  deadlineMs: (_, usualMs) => usualMs,
}

const table = {
  assign,

  /** Promise `epoch` (the record's + 1): stop, then report what is held. */
  promise: entry(
    '/v1/promise',
    message({
      /** Wait, at most `waitMs`, until this set is received before stopping (a switchover's last transactions). */
      after: gtids,
      waitMs: duration,
      /**
       * A switchover's candidate: a receiver that follows it already goes on. Absent, as in every failover: it is
       * stopped, whomever it follows.
       */
      keepReceiverFrom: optional(name),
      /** The instance is to lead, or will most likely: it makes ready as soon as it has reported. */
      prepare: optional(anyBoolean),
    }),
    ({ waitMs }, usualMs) => waitMs + usualMs,
  ),

  /**
   * First half of a switchover, at the primary: stop taking writes, let what waits finish, then promise `epoch`. Undone
   * by the agent itself if it fails.
   */
  demote: entry(
    '/v1/demote',
    message({
      /** Time running statements and idle transactions get before they are killed. */
      graceMs: duration,
      deadlineMs: duration,
      /** In mode `group`: the `server_uuid` of the member that the group is to make primary. */
      electUuid: optional(uuid),
    }),
    ({ graceMs, deadlineMs }, usualMs) => deadlineMs + graceMs + usualMs,
  ),

  /** Follow a member until `until` is held, under a promise and an intent, before a commit. */
  fetch: entry(
    '/v1/fetch',
    message({
      from: endpoint,
      until: gtids,
      /** In a salvage: without anything that went on. */
      deadlineMs: duration,
      /**
       * The source is down and promised as well: its agent gives what is in its binlogs. The member whose volume it
       * is. Only said in mode `async`: an older agent refuses the word.
       */
      salvage: optional(member),
    }),
    ({ deadlineMs, salvage }, usualMs) => (salvage === undefined ? deadlineMs : longestSalvageMs) + usualMs,
  ),

  /** Archive what is errant, then replace everything by a copy of `donor`. Names exactly what it destroys. */
  reseed: entry(
    '/v1/reseed',
    message({
      donor: endpoint,
      source: endpoint,
      destroys: gtids,
      sourceHolds: gtids,
      /** As in `ReplicaAssignment`: the copy must have none of these. */
      errant: optional(gtids),
      peers: endpoints,
      /**
       * The sync set cannot spare it: what it has stays, beside the copy, until that is proven to hold all of
       * `sourceHolds`. The donor is the primary, closed.
       */
      beside: optional(exactly(true)),
      /** What takes the place of a copy of the donor. Only said to an agent that shows `seedsFromBackup`. */
      backup: optional(backupToSeedFrom),
    }),
    (_, usualMs) => usualMs * 12,
  ),

  /**
   * Before the cluster has its first primary: put a backup in the place of its empty data. Ordered again and again
   * until that is done.
   */
  restore: entry('/v1/restore', message(backupToRestore)),

  /**
   * The instance's volume went back in time: the member that it takes itself for has promised and received more. The
   * instance gives up that name, with promise, role and place in the sync set, and goes on as a new member that is to
   * be seeded.
   */
  renounce: entry(
    '/v1/renounce',
    message({
      /** The one that was judged; any later one refuses. */
      incarnation: name,
    }),
  ),

  /**
   * Gives the accounts for people and applications, at the primary, the passwords of a generation. Every agent derives
   * them: none is sent.
   */
  passwords: entry(
    '/v1/passwords',
    message({
      /** '' for the first passwords. */
      generation: matching('^[0-9a-f]{0,64}$'),
      /** What becomes of those that were before: accepted too, or not any more. */
      old: oneOf('kept', 'discarded'),
    }),
  ),

  /**
   * The primary writes an empty transaction with each of these GTIDs: on `of` they are of statements that changed no
   * data, which its agent has read in its binlog.
   */
  empty: entry('/v1/empty', message({ of: name, gtids })),

  /**
   * Has the replication group remove a member that nobody hears, before the group gives that member up by itself. An
   * agent that hears the member refuses.
   */
  expel: entry('/v1/expel', message({ silent: endpoint })),
}

type Bodies = { readonly [N in keyof typeof table]: (typeof table)[N] extends OrderEntry<infer T> ? T : never }

export type OrderName = keyof Bodies
/** The body of an order; of any, where no name is given. */
export type Order<N extends OrderName = OrderName> = Bodies[N]

export const orders: { readonly [N in OrderName]: OrderEntry<Bodies[N]> } = table
export const orderNames = Object.keys(table) as readonly OrderName[]

export type PromiseOrder = Order<'promise'>
export type DemoteOrder = Order<'demote'>
export type FetchOrder = Order<'fetch'>
export type ReseedOrder = Order<'reseed'>
export type RestoreOrder = Order<'restore'>
export type RenounceOrder = Order<'renounce'>
export type PasswordsOrder = Order<'passwords'>
export type EmptyOrder = Order<'empty'>
export type ExpelOrder = Order<'expel'>

export type PasswordsWish = Pick<PasswordsOrder, 'generation' | 'old'>

/** Every order is answered with what the agent sees right after it, and the steps it took with their durations. */
export interface OrderAnswer {
  readonly observation: Observation
  readonly steps: readonly Step[]
}

export interface Step {
  readonly name: string
  readonly ms: number
}

/** A salvage in which nothing goes on for so many times as long as another order may take is given up. */
export const salvageTakes = 12
/**
 * A replica may have much to apply that it received long ago. Where it is gone nobody waits for it (`isFetching`), and
 * only an answer that was lost is awaited for so long.
 */
const longestSalvageMs = 1_800_000

/**
 * What a fetch that failed is remembered by in `failedRequests`: without a revision, which each further attempt would
 * raise.
 */
export function fetchKey(candidate: MemberId, source: MemberId): string {
  return `fetch by ${candidate} from ${source}`
}
