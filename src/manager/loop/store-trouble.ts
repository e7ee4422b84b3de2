import type { Decision } from '#failover/protocol/decision.ts'

/**
 * What can be in the way of a commit, in the words of who refused it, each taken back only by what disproves it: the
 * whole store (told by who renews leadership in it), this cluster's record, which cannot be read, or the last commit,
 * which was refused. '' where that stands in the way no more.
 */
export interface Trouble {
  readonly store: string
  readonly reading: string
  readonly committing: string
  /** The store answered, and what it keeps cannot be used. */
  readonly isDamaged: boolean
}

export const noTrouble: Trouble = { store: '', reading: '', committing: '', isDamaged: false }

/**
 * Why nothing can be committed now; '' where something can. The reason belongs into every sentence until it is over.
 */
export function whyNoCommit({ store, reading, committing }: Trouble): string {
  return store || reading || committing
}

/** A decision as it can be carried out; by one that does not lead, not at all. */
export function limited(decision: Decision, trouble: Trouble, leads: boolean): Decision {
  const reason = whyNoCommit(trouble)
  if (reason === '') return decision
  const isDamage = trouble.isDamaged && trouble.reading === reason
  const cannot = `nothing can be committed until ${isDamage ? 'the record can be used again' : 'the store is back'}`
  return {
    ...decision,
    condition: 'storeAway',
    sentence: `${decision.sentence}; ${cannot}: ${reason}`,
    news: `${decision.news}; ${cannot}`,
    blocked: true,
    actions: leads ? decision.actions : [],
  }
}
