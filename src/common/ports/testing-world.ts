import type { Random, Timer, World } from './ports.ts'

/** A clock that stands still until a test moves it, and timers and randomness that belong to it. */
export interface VirtualWorld extends World {
  /**
   * Moves the clock on, running what falls due in its order; what a timer sets in motion is settled before the next one
   * runs.
   */
  advance(ms: number): Promise<void>
  /** Lets everything run that needs no time to pass. */
  settle(): Promise<void>
  /** How many timers are set. */
  readonly pending: number
}

interface Due {
  readonly task: () => void
  readonly order: number
  atMs: number
  readonly everyMs?: number
}

/** @param wallMs what the calendar says at the start. */
export function virtualWorld(wallMs = Date.UTC(2026, 0, 1)): VirtualWorld {
  let nowMs = 0
  let orders = 0
  const set = new Set<Due>()

  function arm(ms: number, task: () => void, everyMs?: number): Timer {
    const due: Due = {
      task,
      order: orders++,
      atMs: nowMs + Math.max(ms, 0),
      ...(everyMs === undefined ? {} : { everyMs }),
    }
    set.add(due)
    return { cancel: () => void set.delete(due) }
  }

  async function advance(ms: number): Promise<void> {
    const endMs = nowMs + ms
    await settle()
    for (let due = earliest(set); due && due.atMs <= endMs; due = earliest(set)) {
      nowMs = Math.max(nowMs, due.atMs)
      if (due.everyMs === undefined) set.delete(due)
      else due.atMs = nowMs + due.everyMs
      due.task()
      await settle()
    }
    nowMs = endMs
  }

  return {
    clock: { monotonicMs: () => nowMs, wallMs: () => wallMs + nowMs },
    timers: {
      after: (ms, task) => arm(ms, task),
      every: (ms, task) => arm(ms, task, ms),
      sleep: (ms, signal) =>
        new Promise((resolve, reject) => {
          const abort = () => {
            timer.cancel()
            reject(signal?.reason as Error)
          }
          const timer = arm(ms, () => {
            signal?.removeEventListener('abort', abort)
            resolve()
          })
          if (signal?.aborted) abort()
          else signal?.addEventListener('abort', abort, { once: true })
        }),
    },
    random: countingRandom(),
    advance,
    settle,
    get pending() {
      return set.size
    },
  }
}

function earliest(set: ReadonlySet<Due>): Due | undefined {
  let first: Due | undefined
  for (const due of set)
    if (!first || due.atMs < first.atMs || (due.atMs === first.atMs && due.order < first.order)) first = due
  return first
}

/** Promise callbacks all run before the event loop's next turn. */
function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

/** Different each time and the same in every run. */
function countingRandom(): Random {
  let count = 0
  const hex = (length: number) =>
    ((++count * 2_654_435_761) % 2 ** 32).toString(16).padStart(length, '0').slice(-length)
  return { hex, uuid: () => `${hex(8)}-0000-4000-8000-${hex(12)}` }
}
