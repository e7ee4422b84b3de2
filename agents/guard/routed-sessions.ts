import type { Parts } from '../instance/parts.ts'

/** MySQL has ended so few sooner than a router has heard. */
const few = 20
const lookAgainMs = 8
/** Looks in a row without one session less: routers have heard by then, and end what is theirs at once. */
const looksInVain = 5

/**
 * Tells routers that this server takes no writes, and gives them the time to end its sessions: all at once, since a
 * session whose client goes ends by itself. `offline_mode` ends one after the other, and MySQL waits for the thread of
 * each: about a millisecond where processors are few. Without a router, and with few sessions, nothing is waited for.
 */
export async function letRoutersEnd(
  { observer, routers, server, world }: Pick<Parts, 'observer' | 'routers' | 'server' | 'world'>,
  deadlineMs: number,
): Promise<void> {
  if (routers() === 0) return
  observer.outdate()
  // What routers are not told, MySQL ends.
  await observer.refresh().catch(() => undefined)
  let left = await server.foreignSessions()
  for (let inVain = 0; left > few && inVain < looksInVain && world.clock.monotonicMs() < deadlineMs;) {
    await world.timers.sleep(lookAgainMs)
    const now = await server.foreignSessions()
    inVain = now < left ? 0 : inVain + 1
    left = now
  }
}
