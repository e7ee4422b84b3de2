import { isDeepStrictEqual } from 'node:util'
import { described, describeError, RegentError } from '#common/errors/errors.ts'
import { Repeats, timesLeftOut } from '#common/log/repeats.ts'
import type { Logger } from '#common/log/logger.ts'
import type { Timer, World } from '#common/ports/ports.ts'
import { duration, say, type Sayable, type Sentence } from '#common/sentence/sentence.ts'
import { jittered } from '../client/backoff.ts'
import { isAlreadyExists, isConflict, isNotFound } from '../client/kube-api-error.ts'
import type { KubeClient, RequestOptions } from '../client/kube-client.ts'
import { notLeader, type Leadership } from './leadership.ts'
import { leases, microTimeOf, type Lease, type LeaseSpec } from '../objects/lease.ts'
import { apiVersionOf, keyText, type ObjectKey } from '../objects/objects.ts'

export interface LeaseDurations {
  /** Others wait so long after the last renewal they saw. Whole seconds. */
  readonly leaseMs: number
  /** A leader that could not renew for so long gives up, before others may take over. */
  readonly renewDeadlineMs: number
  /** Between two tries to acquire or renew. */
  readonly retryMs: number
}

/** client-go's. */
export const defaultLeaseDurations: LeaseDurations = { leaseMs: 15_000, renewDeadlineMs: 10_000, retryMs: 2_000 }

/** Tries to acquire are this much of a period apart at most, besides the period; also client-go's. */
const retryJitter = 1.2

export interface LeaseElectorParts {
  /** Without a throttle: a renewal must not wait behind reconciles. */
  readonly client: Pick<KubeClient, 'get' | 'create' | 'update'>
  readonly lease: ObjectKey
  /** Unlike any other process's, also unlike that of the same pod's former container. */
  readonly identity: string
  readonly world: World
  readonly logger: Logger
  readonly durations?: LeaseDurations
  /**
   * Annotations of the lease that a holder writes; those of a former holder stay unless the present holder has them
   * too.
   */
  readonly annotations?: Readonly<Record<string, string>>
  /** Told whenever somebody else, or this process, is seen to hold the lease; '' where nobody does. */
  readonly onHolder?: (identity: string) => void
}

/**
 * An election of one leader at a time, by a Lease. Every write is a compare-and-swap by resourceVersion. Whether a
 * lease has run out is judged by this process's own monotonic clock since it last saw the lease change, never by the
 * time written in the lease: clocks of machines differ.
 */
export class LeaseElector {
  readonly #parts: LeaseElectorParts
  readonly #durations: LeaseDurations
  readonly #repeats: Repeats
  /** The lease as last seen, and when it was last seen to change. */
  #seen: { readonly lease: Lease; readonly changedAtMs: number } | undefined
  /** When the last renewal that succeeded was sent: others count from when they see it, which is later. */
  #renewedAtMs = -Infinity

  /** Throws `REGENT_BAD_REQUEST` for durations with which two could lead at once, or none for long. */
  constructor(parts: LeaseElectorParts) {
    this.#parts = parts
    this.#repeats = new Repeats(parts.world.clock)
    this.#durations = parts.durations ?? defaultLeaseDurations
    const contradiction = contradictionInDurations(this.#durations)
    if (contradiction !== undefined) throw new RegentError('REGENT_BAD_REQUEST', say`leader election: ${contradiction}`)
  }

  /** The lease as it was last seen; undefined before. */
  get lease(): Lease | undefined {
    return this.#seen?.lease
  }

  /**
   * Waits for the lease, calls `lead`, and renews until that ends. An abort of `signal` is for `lead` to notice: while
   * it ends its work the lease is still renewed, and released when it has. Resolves with `lost` where leadership was
   * lost meanwhile, after `lead` has ended, and with `stopped` otherwise. Rejects with what `lead` rejects with.
   */
  async run(signal: AbortSignal, lead: (leadership: Leadership) => Promise<void>): Promise<'lost' | 'stopped'> {
    if (!(await this.#acquire(signal))) return 'stopped'
    const term = new Term(this.#parts.world, this.#durations.renewDeadlineMs, () => this.#renewedAtMs)
    const ended = new AbortController()
    const renewing = this.#renew(term, ended.signal)
    let outcome: 'lost' | 'stopped' = 'lost'
    try {
      await lead(term)
    } finally {
      ended.abort()
      await renewing
      if (term.holds()) {
        outcome = 'stopped'
        // Before the release: nobody who kept the term may act on it while another leads.
        term.end(say`it ended its work`)
        await this.#release()
      }
    }
    return outcome
  }

  /** @returns false where the signal came first. */
  async #acquire(signal: AbortSignal): Promise<boolean> {
    const { world, logger, lease } = this.#parts
    while (!signal.aborted) {
      try {
        if (await this.#tryToAcquire({ deadlineMs: this.#durations.renewDeadlineMs, signal })) {
          logger.info({ lease: keyText(lease) }, `this process leads: it holds lease ${keyText(lease)}`)
          return true
        }
      } catch (error) {
        if (!signal.aborted) this.#warn(say`cannot acquire lease ${keyText(lease)}`, error)
      }
      await world.timers.sleep(this.#untilNextTryMs(), signal).catch(() => undefined)
    }
    return false
  }

  /** A lease that runs out before the next try is tried for right then: nobody leads meanwhile. */
  #untilNextTryMs(): number {
    const { world } = this.#parts
    const waitMs = jittered(this.#durations.retryMs, retryJitter, world.random)
    const leftMs = this.#untilRunOutMs()
    return leftMs < 0 ? waitMs : Math.min(waitMs, leftMs + 1)
  }

  async #tryToAcquire(options: RequestOptions): Promise<boolean> {
    const { client, lease: key, identity } = this.#parts
    const found = await client.get(leases, key, options)
    if (found === undefined) return this.#write(undefined, options)
    this.#see(found)
    const holder = found.spec?.holderIdentity ?? ''
    if (holder !== '' && holder !== identity && !this.#hasRunOut()) return false
    return this.#write(found, options)
  }

  /** @returns false where what is known of the lease is not what it is. */
  async #write(before: Lease | undefined, options: RequestOptions): Promise<boolean> {
    const { client, lease: key, world, annotations } = this.#parts
    const sentAtMs = world.clock.monotonicMs()
    try {
      const spec = this.#specAfter(before?.spec)
      const told = { ...(annotations && { annotations: { ...before?.metadata.annotations, ...annotations } }) }
      const written =
        before === undefined
          ? await client.create(
              leases,
              { apiVersion: apiVersionOf(leases), kind: leases.kind, metadata: { ...key, ...told }, spec },
              options,
            )
          : await client.update(leases, { ...before, metadata: { ...before.metadata, ...told }, spec }, options)
      this.#see(written)
      this.#renewedAtMs = sentAtMs
      return true
    } catch (error) {
      // What is not found by a create is the namespace: then nobody can lead, which must be said.
      if (isConflict(error) || isAlreadyExists(error) || (before !== undefined && isNotFound(error))) return false
      throw error
    }
  }

  #specAfter(before: LeaseSpec | undefined): LeaseSpec {
    const { identity, world } = this.#parts
    const now = microTimeOf(world.clock)
    const isMine = before?.holderIdentity === identity
    return {
      ...before,
      holderIdentity: identity,
      leaseDurationSeconds: this.#durations.leaseMs / 1_000,
      acquireTime: isMine ? (before.acquireTime ?? now) : now,
      renewTime: now,
      leaseTransitions: (before?.leaseTransitions ?? 0) + (before === undefined || isMine ? 0 : 1),
    }
  }

  /** Until `ended`, or until the term is lost. */
  async #renew(term: Term, ended: AbortSignal): Promise<void> {
    const { world, lease } = this.#parts
    const { retryMs, renewDeadlineMs } = this.#durations
    const over = AbortSignal.any([ended, term.lost])
    while (!over.aborted) {
      await world.timers.sleep(retryMs, over).catch(() => undefined)
      if (over.aborted || !term.holds()) return
      try {
        // Half the deadline at most, so that one request that hangs leaves time for another.
        const holder = await this.#tryToRenew({
          deadlineMs: Math.min(renewDeadlineMs / 2, term.leftMs()),
          signal: term.lost,
        })
        if (holder === this.#parts.identity) term.extend()
        else term.end(say`lease ${keyText(lease)} is held by ${holder === '' ? say`nobody` : holder} now`)
      } catch (error) {
        if (!term.lost.aborted)
          this.#warn(say`cannot renew lease ${keyText(lease)}, ${duration(term.leftMs())} are left`, error)
      }
    }
  }

  /** Tried every half second: one that fails for long fails a thousand times. */
  #warn(what: Sentence, error: unknown): void {
    const { logger, lease } = this.#parts
    const sentence = say`${what}: ${described(error)}`
    const leftOut = this.#repeats.toTell(sentence.news)
    if (leftOut !== null)
      logger.warn({ lease: keyText(lease), err: error }, `${String(sentence)}${timesLeftOut(leftOut)}`)
  }

  /** @returns who holds the lease now. */
  async #tryToRenew(options: RequestOptions): Promise<string> {
    const { client, lease: key, identity } = this.#parts
    // Without a look first: nobody else writes while the holder does.
    if (this.#seen !== undefined && (await this.#write(this.#seen.lease, options))) return identity
    const found = await client.get(leases, key, options)
    if (found !== undefined) {
      this.#see(found)
      // Empty or another's: somebody may have led meanwhile, and taking the lease again would hide it.
      if (found.spec?.holderIdentity !== identity) return found.spec?.holderIdentity ?? ''
    }
    if (await this.#write(found, options)) return identity
    throw new RegentError('REGENT_KUBE_API', say`lease ${keyText(key)} was changed by somebody else in between`)
  }

  /** So that the next leader need not wait. Best effort: where it fails the lease runs out by itself. */
  async #release(): Promise<void> {
    const { client, world, logger, lease: key } = this.#parts
    const before = this.#seen?.lease
    if (before === undefined) return
    const now = microTimeOf(world.clock)
    const spec: LeaseSpec = {
      ...before.spec,
      holderIdentity: '',
      leaseDurationSeconds: 1,
      acquireTime: now,
      renewTime: now,
    }
    try {
      this.#see(await client.update(leases, { ...before, spec }, { deadlineMs: this.#durations.renewDeadlineMs / 2 }))
      logger.info({ lease: keyText(key) }, `this process leads no longer: it released lease ${keyText(key)}`)
    } catch (error) {
      logger.warn(
        { lease: keyText(key), err: error },
        `cannot release lease ${keyText(key)}; it runs out by itself: ${describeError(error)}`,
      )
    }
    this.#renewedAtMs = -Infinity
  }

  #see(lease: Lease): void {
    const before = this.#seen
    // What others write into its labels is no sign of life of the holder.
    const isUnchanged = before !== undefined && isDeepStrictEqual(before.lease.spec, lease.spec)
    this.#seen = { lease, changedAtMs: isUnchanged ? before.changedAtMs : this.#parts.world.clock.monotonicMs() }
    const holder = lease.spec?.holderIdentity ?? ''
    if (before === undefined || (before.lease.spec?.holderIdentity ?? '') !== holder) this.#parts.onHolder?.(holder)
  }

  #hasRunOut(): boolean {
    return this.#untilRunOutMs() < 0
  }

  /** Infinite where no lease was seen yet. */
  #untilRunOutMs(): number {
    if (this.#seen === undefined) return Infinity
    const seconds = this.#seen.lease.spec?.leaseDurationSeconds
    const lastsMs = seconds === undefined ? this.#durations.leaseMs : seconds * 1_000
    return this.#seen.changedAtMs + lastsMs - this.#parts.world.clock.monotonicMs()
  }
}

/** A term of leading. */
class Term implements Leadership {
  readonly #world: World
  readonly #deadlineMs: number
  readonly #renewedAtMs: () => number
  readonly #lost = new AbortController()
  #timer: Timer | undefined

  constructor(world: World, deadlineMs: number, renewedAtMs: () => number) {
    this.#world = world
    this.#deadlineMs = deadlineMs
    this.#renewedAtMs = renewedAtMs
    this.extend()
  }

  get lost(): AbortSignal {
    return this.#lost.signal
  }

  leftMs(): number {
    return this.#deadlineMs - (this.#world.clock.monotonicMs() - this.#renewedAtMs())
  }

  /** By the clock, not by the timer: the timer is late in a process that was frozen or is starved. */
  holds(): boolean {
    if (!this.#lost.signal.aborted && this.leftMs() <= 0)
      this.end(say`the lease could not be renewed for ${this.#deadlineMs} ms`)
    return !this.#lost.signal.aborted
  }

  extend(): void {
    this.#timer?.cancel()
    this.#timer = this.#world.timers.after(Math.max(0, this.leftMs()), () => void this.holds())
  }

  end(why: Sayable): void {
    this.#timer?.cancel()
    this.#lost.abort(notLeader(why))
  }
}

/** What is wrong with durations with which two could lead at once, or none for long; undefined where nothing is. */
export function contradictionInDurations({ leaseMs, renewDeadlineMs, retryMs }: LeaseDurations): Sentence | undefined {
  if (leaseMs < 1_000 || leaseMs % 1_000 !== 0) return say`the lease's duration of ${leaseMs} ms is not whole seconds`
  if (renewDeadlineMs >= leaseMs)
    return say`the renew deadline of ${renewDeadlineMs} ms must be shorter than the lease's ${leaseMs} ms: a leader must give up before another may begin`
  if (retryMs <= 0 || renewDeadlineMs <= retryMs * retryJitter)
    return say`the renew deadline of ${renewDeadlineMs} ms must be longer than ${retryJitter} times the retry period of ${retryMs} ms`
  return undefined
}
