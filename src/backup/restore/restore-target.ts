import { codeOf, described, RegentError } from '#common/errors/errors.ts'
import { counted, type Said, say, type Sentence, text } from '#common/sentence/sentence.ts'
import { GtidSet } from '#topology/gtid/gtid-set.ts'
import type { Asked, Target } from './restore-plan.ts'

/** The wanted end of a restore, in the words of a person. */
export interface WantedState {
  /** Name of a backup to begin with. Nothing behind the backup is replayed, unless another field is given. */
  readonly backup?: string | undefined
  /** A time of RFC 3339 with its zone, to the second. */
  readonly until?: string | undefined
  /** Everything until these transactions are there, and nothing behind the last of them. */
  readonly untilGtids?: string | undefined
  /** Everything before this one transaction. */
  readonly before?: string | undefined
}

type Wish = Exclude<keyof WantedState, 'backup'>
const wishes: readonly Wish[] = ['until', 'untilGtids', 'before']

/** Why nothing can be restored so; '' where the answer depends on the store. */
export function whyBadTarget(wanted: WantedState): Said {
  try {
    targetOf(wanted)
    return ''
  } catch (error) {
    return say`${described(error)}`
  }
}

/** Throws `REGENT_BAD_REQUEST`, or `REGENT_BAD_GTID_SET`. */
export function targetOf(wanted: WantedState): Pick<Asked, 'target' | 'from'> {
  const { backup: from } = wanted
  const given = wishes.filter((wish) => wanted[wish] !== undefined)
  if (given.length > 1)
    throw bad(say`a restore goes to one place, and ${given.join(' and ')} are given: name one of them`)
  const [wish] = given
  if (wish !== undefined) return { target: targets[wish](wanted[wish] ?? ''), from }
  return { target: from === undefined ? { kind: 'newest' } : { kind: 'backup', name: from } }
}

const targets: Readonly<Record<Wish, (words: string) => Target>> = {
  until: (words) => ({ kind: 'moment', ms: momentOf('until', words) }),
  untilGtids: (words) => ({ kind: 'gtids', gtids: transactions('untilGtids', words) }),
  before: (words) => {
    const gtids = transactions('before', words)
    if (gtids.count() !== 1)
      throw bad(say`before is ${counted(gtids.count(), 'transaction')}: name one, such as UUID:23`)
    return { kind: 'before', gtids }
  },
}

const form = /^(\d{4}-\d\d-\d\d)[Tt](\d\d:\d\d:\d\d)([Zz]|[+-]\d\d:\d\d)$/

/** A whole second, with its zone, in milliseconds. Throws `REGENT_BAD_REQUEST` */
export function momentOf(what: string, words: string): number {
  const [, day, clock, zone = ''] = form.exec(words) ?? []
  const ms = Date.parse(`${day}T${clock}${zone.toUpperCase()}`)
  // JavaScript reads the 31st of June as the 1st of July, and 24:00 as the next day.
  const isThatDay = new Date(Date.parse(`${day}T${clock}Z`) || 0).toISOString().startsWith(`${day}T${clock}`)
  if (day !== undefined && !Number.isNaN(ms) && isThatDay) return ms
  throw bad(
    say`${what} is "${text(words.slice(0, 64))}": write a whole second with its time zone, such as 2026-11-25T03:12:09Z or 2026-11-25T04:12:09+01:00`,
  )
}

function transactions(what: Wish, words: string): GtidSet {
  try {
    const gtids = GtidSet.parse(words)
    if (!gtids.isEmpty()) return gtids
  } catch (error) {
    if (codeOf(error) !== 'REGENT_BAD_GTID_SET') throw error
    throw bad(say`${what} is no set of transactions: ${described(error)}`)
  }
  throw bad(say`${what} names no transaction: name some, such as UUID:1-23`)
}

function bad(why: Sentence): RegentError {
  return new RegentError('REGENT_BAD_REQUEST', why)
}
