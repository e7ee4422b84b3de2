import { notice, type NextPass, type View } from '../instance/pass.ts'

/**
 * A server that is no primary takes no writes. Where another hand opened it all the same, whoever wrote there may have
 * written what the others do not have, and no GTID tells: with the binary log off there is none, and a group certifies
 * nothing of a member that is not to write. That it is closed again proves nothing. Such an instance counts for nothing
 * until it is a copy of another one. On disk before anybody hears of it.
 *
 * @param isOpen the server takes writes, of anybody or of those with CONNECTION_ADMIN, and its agent had closed it
 * @param wrote transactions that began here although it was closed at each look
 * @returns null where it was not open, or that is known already
 */
export function noticesOpening(
  { stored }: Pick<View, 'stored'>,
  { isOpen, wrote }: { readonly isOpen: boolean; readonly wrote: number },
): NextPass | null {
  if (stored.opened || !(isOpen || wrote > 0)) return null
  const seen = isOpen
    ? 'it was opened for writes by another hand while it was no primary'
    : `${wrote === 1 ? '1 transaction' : `${wrote} transactions`} began here by another hand while it was no primary`
  return {
    store: { opened: true },
    steps: [
      notice('OpenedByHand', `${seen}: nobody can tell what was written, and it counts for nothing until it is seeded`),
    ],
    next: 'at once',
  }
}
