import type { World } from '#common/ports/ports.ts'
import { say, type Sentence } from '#common/sentence/sentence.ts'
import type { Haproxy } from './haproxy.ts'
import { sessionsIn, statisticsIn } from './haproxy-statistics.ts'

/** New sessions may come to an ending router for so long: their senders hear of the end later. */
const stillComingMs = 3_000
const drainLookMs = 200

export interface Draining {
  readonly haproxy: Pick<Haproxy, 'tell'>
  readonly withinMs: number
  readonly world: Pick<World, 'clock' | 'timers'>
  readonly inform: (sentence: Sentence) => void
}

/** Waits until the last session is over, or the deadline has passed. HAProxy is led meanwhile as before. */
export async function drain({ haproxy, withinMs, world, inform }: Draining): Promise<void> {
  if (withinMs === 0) return
  inform(say`router is told to stop; its sessions may go on for ${withinMs / 1_000} s`)
  const { clock, timers } = world
  const beganMs = clock.monotonicMs()
  for (;;) {
    const sinceMs = clock.monotonicMs() - beganMs
    const isOver = sinceMs >= stillComingMs && (await hasNoSession(haproxy))
    if (isOver || sinceMs >= withinMs) return
    await timers.sleep(drainLookMs)
  }
}

/** An HAProxy that does not answer may have sessions all the same. */
async function hasNoSession(haproxy: Pick<Haproxy, 'tell'>): Promise<boolean> {
  try {
    return sessionsIn(statisticsIn(await haproxy.tell(['show stat']))) === 0
  } catch {
    return false
  }
}
