import { RegentError } from '#common/errors/errors.ts'
import { say, type Sentence } from '#common/sentence/sentence.ts'

/** What an agent that is far from its server cannot do, in one sentence. */
export function farCannot(what: Sentence): RegentError {
  return new RegentError('REGENT_FAR_CANNOT', say`Regent cannot ${what} on a host where nothing of it runs`)
}
