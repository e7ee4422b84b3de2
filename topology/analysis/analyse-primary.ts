import { counted, heard, say, text, type Sentence } from '#common/sentence/sentence.ts'
import type { Analysis, AnalysisCode } from './analysis.ts'
import { critical, warning, type AnalysisInput } from './analysis-input.ts'
import { parseGtidSet } from '../gtid/gtid-set.ts'
import { isWritable, type ServingView } from './instance-state.ts'
import type { InstanceName } from '../snapshot/member.ts'
import { describeOpening } from '../snapshot/opening.ts'
import { replicasOf, servingReplicas, type PrimaryCondition } from './primary-condition.ts'
import { sourceLinkOf } from '../snapshot/replication-tree.ts'
import { abbreviated, allOf } from '#common/text/words.ts'

/** Whether there is a primary that takes writes, and only one. */
export function analysePrimary(condition: PrimaryCondition, input: AnalysisInput): readonly Analysis[] {
  return [...analyseCondition(condition, input), ...analyseWriters(input)]
}

function analyseCondition(condition: PrimaryCondition, input: AnalysisInput): readonly Analysis[] {
  const primary = input.expected.primary
  switch (condition.kind) {
    case 'none':
      return [
        critical(
          'NoWritablePrimary',
          null,
          say`no primary is recorded yet for ${counted(input.snapshot.instances.length, 'instance')}`,
        ),
      ]
    case 'serving':
      return [...analyseServing(condition.view, input), ...analyseForeignSource(condition.view, input)]
    case 'silent':
      return [critical('NoWritablePrimary', primary, say`primary ${primary} takes no writes: ${condition.why}`)]
    case 'frozen':
      return [critical('FrozenPrimary', primary, say`primary ${primary} is frozen: ${condition.why}`)]
    case 'dead':
      return [analyseDeath(condition.why, input)]
    case 'agentLost':
      return [analyseLostAgent(condition.heardBy, input)]
    case 'unknown':
      return [
        critical(
          'UnreachablePrimary',
          primary,
          say`nobody knows whether primary ${primary} is alive: ${condition.why}`,
        ),
      ]
  }
}

function analyseDeath(why: Sentence, input: AnalysisInput): Analysis {
  const { primary } = input.expected
  const replicas = replicasOf(input).length
  const alive = servingReplicas(input).length
  const code = deathCode(replicas, alive)
  const left =
    replicas === 0
      ? say`it has no replicas`
      : say`${alive} of ${counted(replicas, 'replica')} ${alive === 1 ? say`is` : say`are`} alive`
  return critical(code, primary, say`primary ${primary} is dead: ${why}; ${left}`)
}

function deathCode(replicas: number, alive: number): AnalysisCode {
  if (replicas === 0) return 'DeadPrimaryWithoutReplicas'
  if (alive === 0) return 'DeadPrimaryAndReplicas'
  return alive < replicas ? 'DeadPrimaryAndSomeReplicas' : 'DeadPrimary'
}

function analyseLostAgent(heardBy: readonly InstanceName[], { expected: { primary } }: AnalysisInput): Analysis {
  const sentence = say`the agent of primary ${primary} is unreachable, its server is not: ${allOf(heardBy)} still ${heardBy.length === 1 ? say`receives` : say`receive`} from it`
  return warning('PrimaryAgentUnreachable', primary, sentence)
}

/** A primary that a person fenced is reported as that, not as a fault. */
export function analyseServing(view: ServingView, input: AnalysisInput): readonly Analysis[] {
  const lacks = parseGtidSet(view.observation.lacksElected ?? '')
  if (!lacks.isEmpty()) {
    const lacking = counted(lacks.count(), 'transaction')
    return [
      critical(
        'ElectedSetLost',
        view.name,
        say`primary ${view.name} stays closed: it lacks ${lacking} of the set that it was elected for: ${text(abbreviated(lacks.toString()))}`,
      ),
    ]
  }
  const { readOnly, superReadOnly, offlineMode } = view.observation.server
  if (!(readOnly || superReadOnly || offlineMode) || input.expected.fenced.includes(view.name)) return []
  const opening = describeOpening(view.observation)
  if (opening !== null)
    return [critical('NoWritablePrimary', view.name, say`primary ${view.name} takes no writes: it ${opening}`)]
  const on = Object.entries({ read_only: readOnly, super_read_only: superReadOnly, offline_mode: offlineMode })
  const switches = on.filter(([, isOn]) => isOn).map(([name]) => name)
  const doing = view.observation.converged.done ? '' : say`; its agent: ${heard(view.observation.converged.sentence)}`
  return [
    critical(
      'NoWritablePrimary',
      view.name,
      say`primary ${view.name} takes no writes: ${switches.join(', ')} ${switches.length === 1 ? say`is` : say`are`} on${doing}`,
    ),
  ]
}

/**
 * What it receives from outside was acknowledged elsewhere and is written here beside its clients. The channel it
 * followed by before it was promoted, stopped, is still there for a moment.
 */
function analyseForeignSource(view: ServingView, { snapshot }: AnalysisInput): readonly Analysis[] {
  const { channel, readOnly } = view.observation.server
  // Before it opens it applies what it received as a replica.
  if (channel === null || readOnly) return []
  const link = sourceLinkOf(view, snapshot)
  const stopped = channel.ioRunning === 'no' && !channel.sqlRunning
  if (link.kind === 'instance' && stopped) return []
  const source =
    link.kind === 'instance'
      ? link.instance
      : say`${channel.sourceHost}:${channel.sourcePort}, which is none of this cluster`
  return [
    warning(
      'PrimaryHasSource',
      view.name,
      say`primary ${view.name} has a replication channel of its own, from ${source}: what arrives there is written beside what its clients write`,
    ),
  ]
}

/** A replica that takes writes is one writer too many even while nothing is heard of the primary. */
export function analyseWriters({ snapshot, limits, expected }: AnalysisInput): readonly Analysis[] {
  const writers = snapshot.instances.filter((view) => isWritable(view, limits)).map(({ name }) => name)
  const wrong = writers.filter((name) => name !== expected.primary)
  if (wrong.length === 0 || (expected.primary === null && writers.length < 2)) return []
  const should = expected.primary === null ? say`no primary is recorded` : say`only ${expected.primary} may`
  return [
    critical(
      'TwoWritablePrimaries',
      wrong[0] ?? null,
      say`${counted(writers.length, 'instance')} can be written to: ${writers.join(', ')}; ${should}`,
    ),
  ]
}
