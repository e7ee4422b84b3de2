import type { LeaderWord } from '#failover/protocol/word.ts'
import { learn, type Learner } from '../instance/learn.ts'
import type { Parts } from '../instance/parts.ts'
import type { NextPass, View } from '../instance/pass.ts'

/**
 * Another text for each time that this replica forgot something: what was said of its primary before tells nothing of
 * that.
 */
export function forgetfulAs({ run, doubts }: Pick<Parts, 'run' | 'doubts'>): string {
  return `${run}.${doubts.timesForgotten}`
}

/**
 * A primary hears which replicas have forgotten something. Only what its server says from now on includes all that
 * those replicas acknowledged: what it said before may be older than a write that a single replica held.
 */
export function hearOfForgetful(
  parts: Learner & Pick<Parts, 'changed' | 'observer'>,
  heardForgetful: NonNullable<LeaderWord['forgetful']>,
): void {
  const { observer, changed } = parts
  learn(parts, { fact: 'forgetfulNamed', heardForgetful })
  observer.outdate()
  observer.refresh().then(changed, () => undefined)
}

/** Its relay logs are on disk and grow no more: a crash of the machine takes nothing of what it acknowledged. */
export function remembersStop({ stored, course }: View): NextPass | null {
  const isStopped = course.promiseReport?.asPrimary === false && !course.receiverKept
  return isStopped && !stored.stoppedInOrder ? { store: { stoppedInOrder: true }, next: 'at once' } : null
}
