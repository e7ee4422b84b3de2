import type { Parts } from '../instance/parts.ts'

/** MySQL has ended so few sooner than a router has heard. */
const few = 20
const lookAgainMs = 8
/** Looks in a row without fewer sessions than ever: routers have heard by then, and end what is theirs at once. */
const looksInVain = 5

/**
 * Tells routers that this server takes no writes, and gives them the time to end its sessions: all at once, since a
 * session whose client goes ends by itself. `offline_mode` ends one after the other, and MySQL waits for the thread of
 * each: about a millisecond where processors are few. Without a router, and with few sessions, nothing is waited for.
 * Clients that no router leads may come as fast as others go. So only the fewest sessions count, and half of the time
 * is left to MySQL.
 */
export async function letRoutersEnd(
  { observer, routers, server, world: { clock, timers } }: Pick<Parts, 'observer' | 'routers' | 'server' | 'world'>,
  deadlineMs: number,
): Promise<void> {
  if (routers() === 0) return
  const untilMs = (clock.monotonicMs() + deadlineMs) / 2
  observer.outdate()
  // What routers are not told, MySQL ends.
  await observer.refresh().catch(() => undefined)
  let fewest = await server.foreignSessions()
  for (let inVain = 0; fewest > few && inVain < looksInVain && clock.monotonicMs() < untilMs;) {
    await timers.sleep(lookAgainMs)
    const now = await server.foreignSessions()
    inVain = now < fewest ? 0 : inVain + 1
    fewest = Math.min(fewest, now)
  }
}
