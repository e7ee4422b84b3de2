import type { Timer } from '#common/ports/ports.ts'

interface Event {
  readonly atMs: number
  /** Between events of the same moment: the seed decides. */
  readonly order: number
  readonly task: () => void
  cancelled: boolean
}

/** A clock that goes on from event to event. Nothing waits for real time. */
export class VirtualTime {
  readonly #draw: () => number
  readonly #heap: Event[] = []
  nowMs = 0
  /** How many events have happened. */
  count = 0

  /** @param draw from 0 to 1: orders what is due at the same moment */
  constructor(draw: () => number) {
    this.#draw = draw
  }

  after(ms: number, task: () => void): Timer {
    const event: Event = { atMs: this.nowMs + Math.max(0, ms), order: this.#draw(), task, cancelled: false }
    this.#push(event)
    return { cancel: () => void (event.cancelled = true) }
  }

  /** Lets everything happen until then, or until `ended` says so. What each event awakes is done before the next. */
  async runUntil(atMs: number, ended: () => boolean = () => false): Promise<void> {
    await inTurns(() => !ended() && this.#step(atMs))
    this.nowMs = Math.max(this.nowMs, Math.min(atMs, this.#heap[0]?.atMs ?? atMs))
  }

  /** The next event that is due by then; false where there is none. */
  #step(atMs: number): boolean {
    for (;;) {
      const event = this.#heap[0]
      if (event === undefined || event.atMs > atMs) return false
      this.#pop()
      if (event.cancelled) continue
      this.nowMs = event.atMs
      this.count += 1
      event.task()
      return true
    }
  }

  #push(event: Event): void {
    const heap = this.#heap
    let at = heap.push(event) - 1
    while (at > 0) {
      const above = (at - 1) >> 1
      if (!isBefore(heap[at], heap[above])) break
      swap(heap, at, above)
      at = above
    }
  }

  #pop(): void {
    const heap = this.#heap
    const last = heap.pop()
    if (last === undefined || heap.length === 0) return
    heap[0] = last
    let at = 0
    for (;;) {
      const [left, right] = [2 * at + 1, 2 * at + 2]
      let first = at
      if (isBefore(heap[left], heap[first])) first = left
      if (isBefore(heap[right], heap[first])) first = right
      if (first === at) return
      swap(heap, at, first)
      at = first
    }
  }
}

function isBefore(one: Event | undefined, other: Event | undefined): boolean {
  if (one === undefined || other === undefined) return false
  return one.atMs < other.atMs || (one.atMs === other.atMs && one.order < other.order)
}

function swap(heap: Event[], one: number, other: number): void {
  const [a, b] = [heap[one], heap[other]]
  if (a === undefined || b === undefined) return
  heap[one] = b
  heap[other] = a
}

/** So many turns are asked for at once: one round of Node's event loop is dearer than what most turns do. */
const turnsAtOnce = 64

/**
 * Calls `turn` until that says false, each time once no promise has anything left to do: Node empties its queue of
 * promises before each of the functions that `setImmediate` was given, also of those that run in the same round.
 */
function inTurns(turn: () => boolean): Promise<void> {
  return new Promise((resolve, reject) => {
    let isOver = false
    const take = (): void => {
      if (isOver) return
      try {
        if (turn()) return
        resolve()
      } catch (error) {
        reject(error instanceof Error ? error : new Error(String(error)))
      }
      isOver = true
    }
    const round = (): void => {
      for (let number = 0; number < turnsAtOnce; number += 1) setImmediate(take)
      setImmediate(() => isOver || round())
    }
    round()
  })
}
