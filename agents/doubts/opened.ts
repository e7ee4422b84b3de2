import { say, type Sentence } from '#common/sentence/sentence.ts'
import { notice, type NextPass, type View } from '../instance/pass.ts'
import type { Parts } from '../instance/parts.ts'

/**
 * A server that is no primary takes no writes. Where another hand opened it all the same, whoever wrote there may have
 * written what the others do not have, and no GTID tells: with the binary log off there is none, and a group certifies
 * nothing of a member that is not to write. Its being closed again proves nothing. Such an instance counts for nothing
 * until it is a copy of another one. On disk before anybody hears of it.
 *
 * @param isOpen the server takes writes, of anybody or of those with CONNECTION_ADMIN, and its agent had closed it
 * @param seen what was found
 * @returns null where it was not open, or that is known already
 */
export function noticesOpening(
  { stored }: Pick<View, 'stored'>,
  isOpen: boolean,
  seen = say`this instance was opened for writes`,
): NextPass | null {
  if (stored.opened || !isOpen) return null
  const { code, sentence } = telling(seen)
  return { store: { opened: true }, steps: [notice(code, sentence)], next: 'at once' }
}

/** The same where that was found out by a step. @param seen what was found */
export async function doubtOpening({ file, notices }: Pick<Parts, 'file' | 'notices'>, seen: Sentence): Promise<void> {
  const { code, sentence } = telling(seen)
  await file.update({ opened: true })
  notices.add(code, sentence)
}

function telling(seen: Sentence) {
  return {
    code: 'OpenedByHand',
    sentence: say`${seen} by another hand while it was no primary: nobody can tell what was written, and it counts for nothing until it is seeded`,
  }
}
