import type { StillView } from '#agents/ports/server.ts'
import type { GtidSet } from '#topology/gtid/gtid-set.ts'

/** A simulated server has no tables. */
export function noTablesAt(executed: GtidSet): StillView {
  return { gtids: executed.toString(), there: [], query: async () => [], end: () => undefined }
}
