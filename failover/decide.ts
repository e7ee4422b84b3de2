import type { Decision } from './decision.ts'
import { decideSemisync } from './semisync.ts'
import type { DecisionInput } from './situation.ts'

/** What to do now and why, for the cluster's mode. Pure: the same input always gives the same decision. */
export function decide(input: DecisionInput): Decision {
  switch (input.spec.mode) {
    case 'semisync':
      return decideSemisync(input)
  }
}
