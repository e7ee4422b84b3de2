import { counted, say, text } from '#common/sentence/sentence.ts'
import { errantKind, provenErrant } from '../judge/data/errant.ts'
import { isServing, liveViews, type LiveView, type Situation } from '../judge/situation.ts'
import { orderFor } from '../steps/assignments.ts'
import { step, type FlowStep } from '../steps/step.ts'

/**
 * Errant transactions that changed no data need no copy: the primary writes empty ones with their GTIDs, and from then
 * on everybody has them. Undefined where there are none.
 */
export function emptyingStep(situation: Situation, primary: LiveView): FlowStep | undefined {
  const view = liveViews(situation.snapshot).find(
    (one) => isServing(one, situation.timings) && one.past === undefined && errantKind(situation, one) === 'harmless',
  )
  if (view === undefined) return undefined
  const errant = provenErrant(situation, view)
  const some = counted(errant.count(), 'errant transaction')
  const gtids = text(errant.toString().slice(0, 120))
  const harmless = say`${view.name} has ${some} that changed no data (FLUSH, ANALYZE or OPTIMIZE: ${gtids})`
  return step(
    say`${harmless}: ${primary.name} writes empty ones in their place, and nothing is copied`,
    [
      {
        kind: 'empty',
        to: primary.name,
        order: {
          ...orderFor(situation, primary.observation.member, situation.record.epoch),
          of: view.name,
          gtids: errant.toString(),
        },
      },
    ],
    { revisitMs: 500 },
  )
}
