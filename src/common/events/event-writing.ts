import type { World } from '#common/ports/ports.ts'

/** What managers and lifecycle agents have in common when they write Events: the API server's limits, and patience. */

/** The longest note. The API server counts bytes, though its error says characters. */
export const longestNoteBytes = 1_024

const longestNameBytes = 253

/** The name of an Event about an object. Some kinds allow names that an Event may not have: `system:node`. */
export function eventName(objectName: string, suffix: string): string {
  const allowed = objectName
    .toLowerCase()
    .replace(/[^a-z0-9.-]/g, '-')
    .slice(0, longestNameBytes - suffix.length - 1)
  return `${allowed.replace(/[^a-z0-9]+$/, '')}.${suffix}`
}

/** A MicroTime, of microseconds since 1970 UTC: the API server takes exactly six digits after the point. */
export function microTime(micros: number): string {
  const seconds = new Date(micros / 1_000).toISOString().slice(0, 19)
  return `${seconds}.${String(micros % 1_000_000).padStart(6, '0')}Z`
}

export interface Patience {
  readonly attempts: number
  readonly pauseMs: number
  /** Whether another attempt would fail in the same way. */
  readonly isFinal?: (error: unknown) => boolean
}

/** Attempts a write until one succeeds. Rejects with the last failure, or with the signal's reason. */
export async function writePatiently(
  write: () => Promise<void>,
  { attempts, pauseMs, isFinal = () => false }: Patience,
  { timers, signal }: Pick<World, 'timers'> & { readonly signal: AbortSignal },
): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    signal.throwIfAborted()
    try {
      return await write()
    } catch (error) {
      if (attempt >= attempts || isFinal(error)) throw error
    }
    await timers.sleep(pauseMs, signal)
  }
}
