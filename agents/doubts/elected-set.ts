import { counted, say, text } from '#common/sentence/sentence.ts'
import type { PrimaryAssignment } from '#failover/protocol/assignment.ts'
import { parseGtidSet, type GtidSet } from '#topology/gtid/gtid-set.ts'
import type { GtidText } from '#topology/snapshot/gtid-text.ts'
import { notice, type NextPass, type View } from '../instance/pass.ts'

/**
 * So much of the set is kept on disk. An agent that starts again before the opening checks this part of a longer set,
 * until its manager names the set again.
 */
const keptCharacters = 16_384

/** How soon a primary that stays closed is looked at again. */
const lookAgainMs = 500

/** The part of the set that is kept with the assignment on disk: whole servers from its beginning. */
export function keptOfElected(elected: GtidText): GtidText {
  if (elected.length <= keptCharacters) return elected
  const end = elected.slice(0, keptCharacters).lastIndexOf(',')
  return end === -1 ? '' : elected.slice(0, end)
}

/**
 * Checks that the server holds, and has executed, the set that this primary was elected for. What was received at the
 * election and was not applied yet may have been thrown away since then, by whoever changed the channel. Clients saw
 * those writes acknowledged.
 * @param executed what the server has executed
 * @returns the pass that leaves the server closed; null for a server that may open
 */
export function staysClosedWithout(
  { told, doubts }: Pick<View, 'told' | 'doubts'>,
  assignment: PrimaryAssignment,
  executed: GtidSet,
): NextPass | null {
  const lacks = lacking(told.elected ?? assignment.elected ?? '', executed)
  if (lacks === '')
    return doubts.lacksElected === '' ? null : { now: [{ fact: 'electedLacks', lacksElected: '' }], next: 'at once' }
  const what = say`${counted(parseGtidSet(lacks).count(), 'transaction')} of the set that it was elected for (${text(lacks.slice(0, 120))})`
  const why = say`received and unapplied transactions were thrown away by another hand`
  const news = say`this primary lacks ${what}: ${why}. It stays closed until another instance, or a person, takes over`
  return {
    now: [
      { fact: 'electedLacks', lacksElected: lacks },
      // Revision 0: no replica connects to it.
      { fact: 'converged', revision: 0, done: false, sentence: say`stays closed: it lacks ${what}` },
    ],
    steps: lacks === doubts.lacksElected ? [] : [notice('ElectedSetLost', news)],
    next: { afterMs: lookAgainMs },
  }
}

function lacking(elected: GtidText, executed: GtidSet): GtidText {
  return elected === '' ? '' : parseGtidSet(elected).subtract(executed).toString()
}
