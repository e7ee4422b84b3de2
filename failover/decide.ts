import type { Analyses, Decision } from './protocol/decision.ts'
import { inPlace, type Place } from '#common/errors/commands.ts'
import type { Mode } from './flows/mode.ts'
import { group } from './group/decide-group.ts'
import { semisync } from './semisync/decide-semisync.ts'
import type { DecisionInput } from './judge/situation.ts'
import type { ClusterSpec } from './protocol/spec.ts'

/** What to do now and why, for the cluster's mode. Pure: the same input always gives the same decision. */
export function decide(input: DecisionInput): Decision {
  return said(modeOf(input.spec).decide(input), input.place)
}

/**
 * What is wrong, by name, for people. Pure as `decide` is, and asked only where somebody looks: nothing that is decided
 * follows from it.
 */
export function analyse(input: DecisionInput): Analyses {
  const found = modeOf(input.spec).analyse(input)
  const { place } = input
  if (place === undefined || place.kind === 'local') return found
  return found.map((analysis) => ({ ...analysis, sentence: inPlace(analysis.sentence, place) }))
}

/** The switch between modes for whoever decides; the agents have another (`agents/converge/mode-of.ts`). */
export function modeOf({ mode }: Pick<ClusterSpec, 'mode'>): Mode {
  switch (mode) {
    case 'semisync':
      return semisync
    case 'group':
      return group
  }
}

/** With the commands of the place where the cluster is. */
function said(decision: Decision, place: Place | undefined): Decision {
  if (place === undefined || place.kind === 'local') return decision
  return {
    ...decision,
    sentence: inPlace(decision.sentence, place),
    reasons: decision.reasons.map((reason) => inPlace(reason, place)),
    actions: decision.actions.map((action) =>
      action.kind === 'commit' ? { ...action, why: inPlace(action.why, place) } : action,
    ),
  }
}
