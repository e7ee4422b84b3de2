import type { Decision } from './decision.ts'
import { inPlace, type Place } from '../src/common/commands.ts'
import { decideSemisync } from './semisync.ts'
import type { DecisionInput } from './situation.ts'

/** What to do now and why, for the cluster's mode. Pure: the same input always gives the same decision. */
export function decide(input: DecisionInput): Decision {
  return said(decided(input), input.place)
}

function decided(input: DecisionInput): Decision {
  switch (input.spec.mode) {
    case 'semisync':
      return decideSemisync(input)
  }
}

/** With the commands of the place where the cluster is. */
function said(decision: Decision, place: Place | undefined): Decision {
  if (place === undefined || place.kind === 'local') return decision
  return {
    ...decision,
    sentence: inPlace(decision.sentence, place),
    reasons: decision.reasons.map((reason) => inPlace(reason, place)),
    analyses: decision.analyses.map((analysis) => ({ ...analysis, sentence: inPlace(analysis.sentence, place) })),
    actions: decision.actions.map((action) =>
      action.kind === 'commit' ? { ...action, why: inPlace(action.why, place) } : action,
    ),
  }
}
