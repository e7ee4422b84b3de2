import { eventTypes } from '#binlog/events.ts'
import { begunBy, isGtidEvent, type BegunTransaction } from '#binlog/gtid-event.ts'
import type { Segment } from '#binlog/segments.ts'
import { GtidSet } from '#topology/gtid/gtid-set.ts'
import type { Step } from '../archive/chain.ts'
import { gtidsOf, type Piece } from '../objects/piece-name.ts'
import type { Plan } from './restore-plan.ts'

/** A stretch of what is replayed. */
export type Replayed =
  /** A piece begins: the Format_description event of its binlog file. The piece before came whole. */
  | { readonly kind: 'piece'; readonly piece: Piece; readonly bytes: Buffer }
  | { readonly kind: 'transaction'; readonly begun: BegunTransaction; readonly bytes: Buffer }
  | { readonly kind: 'more'; readonly bytes: Buffer }

/**
 * The transactions of a plan, in their order. A piece gives the transactions that its step names. Nothing comes behind
 * the first transaction that was committed too late. The last piece is read to its end all the same: only its end shows
 * that a piece is whole.
 */
export async function* replayedOf(
  { steps, untilMs }: Pick<Plan, 'steps' | 'untilMs'>,
  read: (piece: Piece) => AsyncIterable<Segment>,
): AsyncGenerator<Replayed, void, void> {
  for (const step of steps) {
    const choice = new Choice(step, untilMs)
    for await (const segment of read(step.piece)) {
      const chosen = choice.of(segment)
      if (chosen !== null) yield chosen
    }
    if (choice.isPast) return
  }
}

/** The choice of transactions of one piece. */
class Choice {
  readonly #step: Step
  readonly #untilMs: number
  readonly #isWhole: boolean
  #takes = false
  isPast = false

  constructor(step: Step, untilMs: number | null) {
    this.#step = step
    this.#untilMs = untilMs ?? Infinity
    this.#isWhole = step.gtids.contains(gtidsOf(step.piece))
  }

  of({ event, begins, bytes }: Segment): Replayed | null {
    if (event.type === eventTypes.formatDescription) return { kind: 'piece', piece: this.#step.piece, bytes }
    if (!begins || !isGtidEvent(event.type)) return this.#takes ? { kind: 'more', bytes } : null
    const begun = begunBy(bytes)
    this.isPast ||= begun.committedMs > this.#untilMs
    this.#takes = !this.isPast && this.#names(begun)
    return this.#takes ? { kind: 'transaction', begun, bytes } : null
  }

  #names({ source, number }: BegunTransaction): boolean {
    return this.#isWhole || this.#step.gtids.contains(GtidSet.parse(`${source}:${number}`))
  }
}
