import { printed } from '#common/sentence/sentence.ts'
import type { Analyses, Decision } from './protocol/decision.ts'
import type { Mode } from './flows/mode.ts'
import { group } from './group/decide-group.ts'
import { semisync } from './semisync/decide-semisync.ts'
import type { DecisionInput } from './judge/situation.ts'
import type { ClusterSpec } from './protocol/spec.ts'

/** What to do now and why, for the cluster's mode. Pure: the same input always gives the same decision. */
export function decide(input: DecisionInput): Decision {
  const { sentence, reasons, stopped, ...decided } = modeOf(input.spec).decide(input)
  return {
    ...decided,
    sentence: printed(sentence, input.place),
    news: sentence.news,
    reasons: reasons.map((reason) => printed(reason, input.place)),
    ...(stopped && { stopped: printed(stopped, input.place) }),
  }
}

/**
 * What is wrong, by name, for people. Pure as `decide` is, and asked only where somebody looks: nothing that is decided
 * follows from it.
 */
export function analyse(input: DecisionInput): Analyses {
  return modeOf(input.spec)
    .analyse(input)
    .map(({ sentence, ...finding }) => ({ ...finding, sentence: printed(sentence, input.place) }))
}

/** The switch between modes for whoever decides; the agents have another (`agents/converge/mode-of.ts`). */
export function modeOf({ mode }: Pick<ClusterSpec, 'mode'>): Mode {
  switch (mode) {
    case 'semisync':
    case 'async':
      return semisync
    case 'group':
      return group
  }
}
