import type { Command } from 'commander'
import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'

/**
 * The options of a verb of `adopt`. `adopt` reads its own wherever they stand, also behind a verb: throws
 * `REGENT_BAD_REQUEST` for one that the verb does not heed.
 */
export function optionsOf<Options extends object>(verb: Command): Options {
  const above = verb.parent
  const own = verb.options.map(({ long }) => long)
  const stranger = above?.options.find(
    (option) => above.getOptionValueSource(option.attributeName()) === 'cli' && !own.includes(option.long),
  )
  if (stranger === undefined) return verb.optsWithGlobals<Options>()
  throw new RegentError(
    'REGENT_BAD_REQUEST',
    say`${stranger.long} is an option of "adopt", and says nothing to "adopt ${verb.name()}": leave it out; nothing was done`,
  )
}
