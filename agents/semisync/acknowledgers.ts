import { joined, say, type Sentence } from '#common/sentence/sentence.ts'
import type { PrimaryAssignment } from '#failover/protocol/assignment.ts'
import type { DumpThread } from '#topology/snapshot/observation.ts'
import { replicationUser } from '../ports/server.ts'

/**
 * Dump threads whose acknowledgements the server counts and the record does not: of another account, or of another
 * server that has a counted replica's account and password (a copy carries both).
 */
export function strangersAmong(threads: readonly DumpThread[], assignment: PrimaryAssignment): readonly DumpThread[] {
  return threads.filter((thread) => thread.semiSync && whyStrange(thread, assignment) !== null)
}

/** A replica whose acknowledgement the record counts. */
export function isCounted(thread: DumpThread, assignment: PrimaryAssignment): boolean {
  return whyStrange(thread, assignment) === null
}

/** What is reported of them. */
export function sentenceAbout(strangers: readonly DumpThread[], assignment: PrimaryAssignment): Sentence {
  const told = strangers.map((thread) => say`${thread.user}@${thread.host} ${whyStrange(thread, assignment)}`)
  return say`${joined(told, ', and ')}; its connection is ended`
}

/** Null for a counted replica. A replica whose uuid is not known yet is known by its account alone. */
function whyStrange(
  { user, serverUuid }: DumpThread,
  { counted, countedUuids = {} }: PrimaryAssignment,
): Sentence | null {
  const instance = counted.find((one) => replicationUser(one) === user)
  if (instance === undefined) return say`acknowledged without being counted`
  const known = countedUuids[instance] ?? ''
  if (known === '' || serverUuid === known) return null
  return say`acknowledged with the account of ${instance} and is another server (its server_uuid is ${serverUuid || say`not told`}, that of ${instance} ${known})`
}
