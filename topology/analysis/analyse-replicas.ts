import { counted, heard, joined, say, text, type Said, type Sentence } from '#common/sentence/sentence.ts'
import type { Analysis } from './analysis.ts'
import { critical, warning, type AnalysisInput } from './analysis-input.ts'
import { abbreviated } from '#common/text/words.ts'
import { errantOf } from '../snapshot/comparison.ts'
import { describeProcess, isHeard, isServing, type HeardView, type ServingView } from './instance-state.ts'
import { describeLag, isBehind, maxBacklog } from '../snapshot/lag.ts'
import type { InstanceName } from '../snapshot/member.ts'
import type { Channel, Observation } from '../snapshot/observation.ts'
import { readsFromPrimary, replicasOf, type PrimaryCondition } from './primary-condition.ts'
import { sourceLinkOf } from '../snapshot/replication-tree.ts'
import { isGone, type InstanceView } from '../snapshot/snapshot.ts'

/**
 * Whether the replicas are alive and follow the primary; instances of a cluster without a primary are looked at like
 * replicas.
 */
export function analyseReplicas(condition: PrimaryCondition, input: AnalysisInput): readonly Analysis[] {
  const replicas = replicasOf(input)
  return [
    ...analyseAll(condition, input),
    ...replicas.flatMap((view) => [
      ...analyseReplica(view, condition, input),
      ...(countsAsItIs(view, condition, input) ? [] : analyseSeeding(view)),
    ]),
  ]
}

function analyseAll(condition: PrimaryCondition, input: AnalysisInput): readonly Analysis[] {
  const replicas = replicasOf(input)
  if (
    condition.kind !== 'serving' ||
    replicas.length === 0 ||
    replicas.some((view) => isReplicating(view, condition, input))
  )
    return []
  const { name } = condition.view
  const waits =
    input.expected.acks > 0 ? say`; every write waits for ${counted(input.expected.acks, 'acknowledgement')}` : ''
  const sentence = say`none of ${counted(replicas.length, 'replica')} replicates from primary ${name}${waits}`
  return [(waits === '' ? warning : critical)('AllReplicasNotReplicating', name, sentence)]
}

function isReplicating(
  view: InstanceView,
  condition: PrimaryCondition,
  { snapshot, expected, limits }: AnalysisInput,
): boolean {
  if (!isHeard(view)) return readsFromPrimary(view, condition)
  const link = sourceLinkOf(view, snapshot)
  return (
    isServing(view, limits) &&
    link.kind === 'instance' &&
    link.instance === expected.primary &&
    link.running &&
    view.observation.server.channel?.sqlRunning === true
  )
}

/** The replica follows and counts, so that no copy is tried any more: a copy that failed once is no trouble. */
function countsAsItIs(view: InstanceView, condition: PrimaryCondition, input: AnalysisInput): boolean {
  const isCopied = view.observation?.stored.seeding === true || view.observation?.seedingProgress != null
  return !isCopied && input.expected.syncSet.includes(view.name) && isReplicating(view, condition, input)
}

function analyseReplica(view: InstanceView, condition: PrimaryCondition, input: AnalysisInput): readonly Analysis[] {
  if (!isHeard(view)) return [unreachable(view, condition)]
  if (isGone(view.observation))
    return [
      warning(
        'ReplicaDead',
        view.name,
        say`${condition.kind === 'none' ? say`instance` : say`replica`} ${view.name} is dead: ${describeProcess(view.observation)}${seedingOf(view.observation)}`,
      ),
    ]
  if (condition.kind === 'none') return []
  if (!isServing(view, input.limits)) {
    return [
      warning(
        'ReplicaNotReplicating',
        view.name,
        say`replica ${view.name} does not replicate: ${describeProcess(view.observation)}${seedingOf(view.observation)}`,
      ),
    ]
  }
  return [
    ...analyseChannel(view, condition, input),
    ...analyseLag(view, input),
    ...analyseErrant(view, input),
    ...analyseHole(view, input),
  ]
}

function analyseHole({ name, observation }: ServingView, { expected }: AnalysisInput): readonly Analysis[] {
  const why = expected.passedOver?.get(name) ?? ''
  if (why === '' || observation.stored.seeding) return []
  return [warning('ReplicaPassedOver', name, say`replica ${name} ${why}; it does not count until it was seeded again`)]
}

export function seedingOf({ seedingProgress }: Observation): Said {
  if (seedingProgress === null) return ''
  const { stage, percent, donor } = seedingProgress
  return say`; it is being seeded${donor === undefined ? '' : say` from ${donor}`}: ${heard(stage)}, ${percent} %`
}

function unreachable(view: InstanceView, condition: PrimaryCondition): Analysis {
  const { name, observation } = view
  if (observation === null)
    return warning('InstanceUnreachable', name, say`the agent of ${name} was never heard by this manager`)
  const server = readsFromPrimary(view, condition)
    ? say`its server is still connected to the primary`
    : say`its process was ${observation.process} when last heard`
  return warning('InstanceUnreachable', name, say`the agent of ${name} is unreachable; ${server}`)
}

/** Said as long as it was not seeded, also while another donor is tried. */
export function analyseSeeding(view: InstanceView): readonly Analysis[] {
  const failures = isHeard(view) ? (view.observation.seedingFailures ?? []) : []
  return failures.map(({ donor, times, error }) => {
    const from = donor === view.name ? '' : say` from ${donor}`
    return warning(
      'SeedingFailed',
      view.name,
      say`${view.name} could not be seeded${from} (${counted(times, 'failure')}): ${text(abbreviated(error))}`,
    )
  })
}

/** A channel has one finding at most: a wrong source, or else why nothing arrives or nothing is applied. */
function analyseChannel(view: ServingView, condition: PrimaryCondition, input: AnalysisInput): readonly Analysis[] {
  const { channel } = view.observation.server
  const wrong = channel === null ? undefined : wrongSourceOf(view, channel, input)
  if (wrong !== undefined) return [warning('WrongSource', view.name, wrong)]
  const problems =
    channel === null
      ? [missingChannel(view.observation, input)]
      : [receiverProblem(channel, condition), applierProblem(channel)]
  const why = problems.filter((problem) => problem !== undefined)
  return why.length === 0
    ? []
    : [warning('ReplicaNotReplicating', view.name, say`replica ${view.name} does not replicate: ${joined(why, '; ')}`)]
}

function wrongSourceOf(
  view: ServingView,
  channel: Channel,
  { snapshot, expected }: AnalysisInput,
): Sentence | undefined {
  const { name, observation } = view
  const link = sourceLinkOf(view, snapshot)
  if (link.kind === 'instance' && link.instance === expected.primary) return undefined
  // Where the primary's address is not known, an unknown source may well be the primary.
  if (link.kind === 'stranger' && !snapshot.instances.some((other) => other.name === expected.primary)) return undefined
  const source =
    link.kind === 'instance'
      ? link.instance
      : say`${channel.sourceHost}:${channel.sourcePort}, which is none of this cluster,`
  const told = observation.stored.assignment
  const since =
    told !== null && told.epoch < expected.epoch
      ? say`; it was last told whom to follow in epoch ${told.epoch}, now is ${expected.epoch}`
      : ''
  return say`replica ${name} follows ${source} instead of primary ${expected.primary}${since}`
}

function missingChannel({ stored }: Observation, { expected }: AnalysisInput): Sentence {
  return stored.promise > expected.epoch
    ? say`it promised epoch ${stored.promise} and follows nobody until that is decided`
    : say`it follows nobody`
}

/** Without a primary to receive from a receiver cannot run: that is the primary's finding, not the replica's. */
function receiverProblem(channel: Channel, condition: PrimaryCondition): Sentence | undefined {
  const blameless = condition.kind !== 'serving' && condition.kind !== 'agentLost'
  if (channel.ioRunning === 'yes' || blameless) return undefined
  const state = channel.ioRunning === 'connecting' ? say`its IO thread cannot connect` : say`its IO thread is stopped`
  return channel.ioError === '' ? state : say`${state}: ${text(abbreviated(channel.ioError))}`
}

function applierProblem(channel: Channel): Sentence | undefined {
  if (channel.sqlRunning) return undefined
  const state = say`its SQL thread is stopped with ${counted(channel.backlogTransactions, 'transaction')} to apply`
  return channel.sqlError === '' ? state : say`${state}: ${text(abbreviated(channel.sqlError))}`
}

function analyseLag({ name, observation }: ServingView, { limits }: AnalysisInput): readonly Analysis[] {
  const channel = observation.server.channel
  if (channel === null || !isBehind(channel, limits.maxLagSeconds)) return []
  const allowed = channel.lagSeconds === null ? counted(maxBacklog, 'transaction') : say`${limits.maxLagSeconds} s`
  return [warning('ReplicaLagging', name, say`replica ${name} is ${describeLag(channel)}; ${allowed} are allowed`)]
}

/** What a member holds while it is seeded is nobody's. */
export function analyseErrant(
  { name, observation }: HeardView,
  { snapshot, expected }: AnalysisInput,
): readonly Analysis[] {
  const source = primaryObservation(snapshot.instances, expected.primary)
  if (
    source?.server === null ||
    source === undefined ||
    observation.stored.seeding ||
    (source.lacksElected ?? '') !== ''
  )
    return []
  const errant = errantOf(observation, source)
  if (errant.isEmpty()) return []
  const have = counted(errant.count(), 'transaction')
  return [
    warning(
      'ErrantTransactions',
      name,
      say`replica ${name} has ${have} that primary ${expected.primary} has not: ${text(abbreviated(errant.toString()))}`,
    ),
  ]
}

function primaryObservation(instances: readonly InstanceView[], primary: InstanceName | null): Observation | undefined {
  return instances.find(({ name }) => name === primary)?.observation ?? undefined
}
