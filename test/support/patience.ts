/**
 * How long a test waits for what must come, unless its subject is a deadline: a busy machine may need a minute for what
 * takes a second on an idle one, and a wait that is over early costs nothing.
 */
export const patienceMs = 180_000

/** So long a write probe waits for somebody's lock, and then for the answer who holds that: a busy machine is slow. */
export const probeMs = 10_000
