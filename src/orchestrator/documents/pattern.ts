import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'

const longest = 200
/** Each more would multiply how long a text is searched. */
const mostRepetitions = 3

/**
 * Whether an address is meant by a pattern, as scripts say which replicas are to be moved; '' means everybody. Throws
 * `REGENT_BAD_REQUEST` for what is no pattern, and for one that could take for ever.
 */
export function patternOf(text: string): (address: string) => boolean {
  if (text === '') return () => true
  const [, flag, rest = ''] = /^(\(\?i\))?(.*)$/s.exec(text) ?? []
  const pattern = isQuick(rest) ? compiled(rest, flag === undefined ? '' : 'i') : undefined
  if (pattern === undefined)
    throw new RegentError(
      'REGENT_BAD_REQUEST',
      say`pattern is not understood; allowed is a regular expression of ${longest} characters with at most ${mostRepetitions} repetitions, none of them of a group`,
    )
  return (address) => pattern.test(address)
}

/** Repetitions of repetitions, and many of them beside each other, may take longer than anybody waits. */
function isQuick(text: string): boolean {
  const plain = text.replaceAll(/\\./gs, '')
  return text.length <= longest && !/\)[*+?{]/.test(plain) && (plain.match(/[*+{]/g) ?? []).length <= mostRepetitions
}

function compiled(text: string, flags: string): RegExp | undefined {
  try {
    return new RegExp(text, flags)
  } catch {
    return undefined
  }
}
