import { command, counted, joined, say, text, type Sentence } from '#common/sentence/sentence.ts'
import { lackedOf } from '#topology/snapshot/comparison.ts'
import { describeProcess } from '#topology/analysis/instance-state.ts'
import { ordinalOf, type InstanceName } from '#topology/snapshot/member.ts'
import type { Observation } from '#topology/snapshot/observation.ts'
import type { InstanceView } from '#topology/snapshot/snapshot.ts'
import { whyDoubtedWithoutRecord } from '../judge/data/doubted-data.ts'
import type { ForcedBootstrap } from './mode.ts'
import {
  isLive,
  isServing,
  liveViews,
  viewNamed,
  wantedInstances,
  type DecisionInput,
  type LiveView,
} from '../judge/situation.ts'

/** How a command makes a blocked bootstrap go on, as the end of a sentence. */
export const forcedAdvice = say`choose who leads (--dry-run names what is given up): ${command('failover', '--accept-loss', '--to', '<instance>')}`

/** Whom a person chose to lead although there is no record; undefined where nobody did. */
export function chosenLeader({ requests }: DecisionInput): InstanceName | undefined {
  const forced = requests.find((request) => request.kind === 'failover' && request.acceptLoss && request.to !== null)
  return forced?.kind === 'failover' ? (forced.to ?? undefined) : undefined
}

/** What it means to let `to` lead, whatever others hold; or why it cannot. */
export function planForcedBootstrap(
  input: DecisionInput,
  to: InstanceName,
): ForcedBootstrap | { readonly refusal: Sentence } {
  const leader = viewNamed(input.snapshot, to)
  const refusal = whyNotLeader(input, leader)
  if (refusal !== null || !isLive(leader)) return { refusal: say`${to} ${refusal}` }
  const asked = liveViews(input.snapshot).filter(({ past }) => past === undefined)
  const others = input.snapshot.instances.filter(({ name }) => name !== to)
  const unknown = others.filter((view) => !isLive(view) || view.past !== undefined).map(({ name }) => name)
  const losses = [
    ...others.flatMap((view) => lossOf(view, leader)),
    ...(whyDoubtedWithoutRecord(leader.observation.stored) !== null ? [say`what ${to} lacks (in doubt)`] : []),
  ]
  return { leader, asked, unknown, givenUp: joined(losses, '; ') || say`nothing` }
}

/**
 * Instances whose promise is waited for: the leader, a former primary, whose agent can always promise, and every
 * instance whose server runs.
 */
export function mustPromise({ leader, asked }: ForcedBootstrap, { timings }: DecisionInput): readonly LiveView[] {
  return asked.filter(
    (view) =>
      view.name === leader.name || view.observation.stored.assignment?.role === 'primary' || isServing(view, timings),
  )
}

function whyNotLeader(input: DecisionInput, view: InstanceView | undefined): Sentence | null {
  if (!isLive(view)) return say`cannot lead: its agent is silent`
  const seen = view.observation
  const { stored, server } = seen
  if (ordinalOf(view.name) >= wantedInstances(input))
    return say`cannot lead: the cluster should have ${counted(wantedInstances(input), 'instance')}, and it is beyond them`
  if (view.past !== undefined) return say`cannot lead: its volume went back in time, and it must be seeded first`
  if (stored.seeding) return say`cannot lead: it began to be seeded and holds nothing that counts`
  if (server !== null && server.foreignTables.length > 0)
    return say`cannot lead: it has tables that are not InnoDB (${server.foreignTables.join(', ')})`
  const answers = stored.promise > 0 || isServing(view, input.timings)
  return answers ? null : say`cannot lead: ${describeProcess(seen)}`
}

const shownCharacters = 200

function lossOf(view: InstanceView, leader: LiveView): readonly Sentence[] {
  if (!isLive(view)) return [say`what ${view.name} alone holds (silent)`]
  if (view.past !== undefined) return [say`what ${view.name} alone holds (its volume went back)`]
  const seen = view.observation
  if (!isKnown(seen)) return [say`what ${view.name} alone holds (${describeProcess(seen)})`]
  // Nobody leads, so nothing is written: neither look is too old, whichever came first.
  const lacking = lackedOf(leader.observation, seen)
  if (lacking.isEmpty()) return []
  const all = lacking.toString()
  const many = lacking.count() === 1 ? say`one transaction` : say`${lacking.count()} transactions`
  return [
    say`${many} of ${view.name} that ${leader.name} lacks (${text(all.length > shownCharacters ? `${all.slice(0, shownCharacters)}…` : all)})`,
  ]
}

/** Its agent has said what it holds; one that is empty, or gives up what it has, holds nothing. */
function isKnown({ promiseReport, server, binlogSet, stored }: Observation): boolean {
  return promiseReport !== null || server !== null || binlogSet !== null || stored.seeding
}
