import { described } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import { parseGtidSet } from '#topology/gtid/gtid-set.ts'
import { LookFailure } from '../servers/failure.ts'
import type { SeenServer } from '../servers/seen.ts'

/**
 * Throws a `LookFailure` for sets of GTIDs that nobody understands: whoever judges the servers goes by them, and an
 * answer that is none of a MySQL is no look at a server.
 */
export function refuseUnreadable({ executed, channels }: Pick<SeenServer, 'executed' | 'channels'>): void {
  refuse('gtid_executed', executed)
  for (const { received } of channels) refuse('Retrieved_Gtid_Set', received)
}

function refuse(what: string, gtids: string): void {
  try {
    parseGtidSet(gtids)
  } catch (error) {
    throw new LookFailure('unasked', say`its ${what} is no set of GTIDs: ${described(error)}`, error)
  }
}
