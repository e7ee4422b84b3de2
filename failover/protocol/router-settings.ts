import { anyBoolean, described, integer, objectOf, oneOf, optional, type Shaped } from '#common/input/shapes.ts'
import { duration, say, type Said } from '#common/sentence/sentence.ts'

const milliseconds = (minimum: number, maximum: number, description: string) =>
  optional(described(integer(minimum, maximum), description))

/** What may be said of the reads of a router. */
export const readsFields = {
  maxLagMs: milliseconds(1, 86_400_000, 'A replica further behind gets no new sessions; 5000 unless given.'),
  fallback: optional(
    described(
      { type: 'string', ...oneOf('primary', 'none') },
      'Where reads go while no replica may have them: to the primary, or nowhere, so that they wait; primary unless given.',
    ),
  ),
}

/** What may be said of a router, besides its reads. */
export const routerFields = {
  waitMs: milliseconds(0, 60_000, 'So long a new session waits while no server may have it; 2000 unless given.'),
  connectMs: milliseconds(
    10,
    1_000,
    'So long a server may take to accept a connection, before it is tried again; 50 unless given.',
  ),
  drainMs: milliseconds(
    0,
    3_600_000,
    'So long sessions may go on at a replica that left, and at a router that ends; 30000 unless given.',
  ),
  maxConnections: optional(
    described(integer(1, 9_000), 'Sessions at a time at either port of a router; 4000 unless given.'),
  ),
  logSessions: optional(
    described(
      anyBoolean,
      'Each session has a line in the log of its router, with the address of the client; false unless given.',
    ),
  ),
}

/** What may be said of a router; what is left out has its default. */
export const saidOfRouter = objectOf({
  ...routerFields,
  reads: optional(described(objectOf(readsFields), 'Which replicas are read.')),
})
export type SaidOfRouter = Shaped<typeof saidOfRouter>

export interface RouterSettings {
  /** So long a new session waits for a server. */
  readonly waitMs: number
  /** So long a server may take to accept a connection; then it is tried again, within `waitMs`. */
  readonly connectMs: number
  /** So long sessions may go on at a replica that left. */
  readonly drainMs: number
  /** Sessions at a time, at either port. */
  readonly maxConnections: number
  /** Each session has a line in the log, with the address of the client. */
  readonly logSessions: boolean
  readonly reads: {
    readonly maxLagMs: number
    /** Where reads go while no replica may have them. */
    readonly fallback: 'primary' | 'none'
  }
}

export function routerSettings({ reads = {}, ...said }: SaidOfRouter): RouterSettings {
  return {
    waitMs: 2_000,
    connectMs: 50,
    drainMs: 30_000,
    maxConnections: 4_000,
    logSessions: false,
    ...said,
    reads: { maxLagMs: 5_000, fallback: 'primary', ...reads },
  }
}

/**
 * Why no replica could keep to these settings; '' where one can.
 *
 * @param heartbeatMs how often the primary writes its heartbeat; 0 for never
 */
export function whyTooExact({ reads = {} }: Pick<SaidOfRouter, 'reads'>, heartbeatMs: number): Said {
  const { maxLagMs } = routerSettings({ reads }).reads
  if (maxLagMs >= heartbeatMs) return ''
  return say`reads.maxLagMs is ${duration(maxLagMs)}, and a lag is known to ${duration(heartbeatMs)} only (backup.heartbeat): give at least that`
}
