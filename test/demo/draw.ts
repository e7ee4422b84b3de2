import type { ClusterView } from '#api-contract/views.ts'
import { monotonicMs } from '../support/monotonic.ts'
import type { Writer } from '../support/writer.ts'
import { picture, summary } from './picture.ts'
import type { Screen } from './screen.ts'

const drawEveryMs = 100

/**
 * Draws what changed, at most every `drawEveryMs`; the client's counter counts as a change. Gives the function that
 * ends it.
 */
export function draw(screen: Screen, writer: Writer, latest: () => ClusterView | undefined): () => void {
  const timer = setInterval(() => {
    const view = latest()
    if (view === undefined) return
    const last = writer.lastBefore(Infinity)?.ackedMs ?? monotonicMs()
    screen.live(picture(view, { count: writer.count, sinceMs: monotonicMs() - last }, screen.colour), summary(view))
  }, drawEveryMs)
  return () => {
    clearInterval(timer)
    screen.clear()
  }
}
