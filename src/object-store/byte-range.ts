import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import type { ByteRange } from './object-store.ts'

/** With its end, which is endless where the range has none. @throws RegentError `REGENT_BAD_REQUEST` */
export function requireRange({ from, to = Infinity }: ByteRange = { from: 0 }): Required<ByteRange> {
  if (Number.isSafeInteger(from) && from >= 0 && (to === Infinity || Number.isSafeInteger(to)) && to >= from)
    return { from, to }
  throw new RegentError(
    'REGENT_BAD_REQUEST',
    say`Bytes ${from} to ${to} are no range of an object: 0 or more, and in order.`,
  )
}
