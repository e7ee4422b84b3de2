import { counted, say, type Sentence } from '#common/sentence/sentence.ts'
import { type AnalysisInput } from './analysis-input.ts'
import { describeProcess, isFrozen, isHeard, isServing, type HeardView, type ServingView } from './instance-state.ts'
import type { InstanceName } from '../snapshot/member.ts'
import { sourceLinkOf } from '../snapshot/replication-tree.ts'
import { isGone, type InstanceView } from '../snapshot/snapshot.ts'

/**
 * What is known of the primary. Its own agent's word is enough; where that agent is silent the replicas testify, as in
 * orchestrator: a primary is dead only when this manager *and* its replicas have lost it.
 */
export type PrimaryCondition =
  /** None is recorded yet. */
  | { readonly kind: 'none' }
  | { readonly kind: 'serving'; readonly view: ServingView }
  /** Its mysqld is there, and does not answer for a reason that is no death: it starts, or went silent just now. */
  | { readonly kind: 'silent'; readonly view: HeardView; readonly why: Sentence }
  | { readonly kind: 'frozen'; readonly why: Sentence }
  | { readonly kind: 'dead'; readonly why: Sentence }
  /** Its agent is unreachable, and these replicas still receive from its server. */
  | { readonly kind: 'agentLost'; readonly heardBy: readonly InstanceName[] }
  /** Its agent is unreachable, and no replica can testify either way. */
  | { readonly kind: 'unknown'; readonly why: Sentence }

export function primaryCondition(input: AnalysisInput): PrimaryCondition {
  const { primary } = input.expected
  if (primary === null) return { kind: 'none' }
  const view = input.snapshot.instances.find(({ name }) => name === primary)
  return isHeard(view) ? byItsOwnAgent(view, input) : byItsReplicas(primary, input)
}

function byItsOwnAgent(view: HeardView, { limits }: AnalysisInput): PrimaryCondition {
  const seen = view.observation
  if (isGone(seen)) return { kind: 'dead', why: say`its own agent says ${describeProcess(seen)}` }
  if (isFrozen(seen, limits)) return { kind: 'frozen', why: describeProcess(seen) }
  return isServing(view, limits) ? { kind: 'serving', view } : { kind: 'silent', view, why: describeProcess(seen) }
}

function byItsReplicas(primary: InstanceName, input: AnalysisInput): PrimaryCondition {
  const witnesses = servingReplicas(input)
  const hearing = witnesses.filter((replica) => receivesFrom(replica, primary, input)).map(({ name }) => name)
  if (hearing.length > 0) return { kind: 'agentLost', heardBy: hearing }
  const replicas = counted(replicasOf(input).length, 'replica')
  if (witnesses.length === 0)
    return { kind: 'unknown', why: say`its agent is unreachable and none of ${replicas} can testify` }
  const names = witnesses.map(({ name }) => name).join(', ')
  return {
    kind: 'dead',
    why: say`its agent is unreachable, and no replica that can testify (${names}) receives from it`,
  }
}

/** Everybody but the primary. */
export function replicasOf({ snapshot, expected }: AnalysisInput): readonly InstanceView[] {
  return snapshot.instances.filter(({ name }) => name !== expected.primary)
}

export function servingReplicas(input: AnalysisInput): readonly ServingView[] {
  return replicasOf(input).filter((view) => isServing(view, input.limits))
}

/**
 * The primary serves a dump thread to it: what is left to know of a replica whose agent is silent. A thread may outlive
 * its replica for minutes.
 */
export function readsFromPrimary({ observation }: InstanceView, condition: PrimaryCondition): boolean {
  const uuid = observation?.server?.uuid
  if (condition.kind !== 'serving' || uuid === undefined) return false
  return condition.view.observation.server.dumpThreads.some(({ serverUuid }) => serverUuid === uuid)
}

/**
 * Its receiver is connected to that source and the source still speaks. A source the platform no longer lists could be
 * any stranger.
 */
function receivesFrom(replica: ServingView, source: InstanceName, { snapshot, limits }: AnalysisInput): boolean {
  const link = sourceLinkOf(replica, snapshot)
  if (link.kind !== 'instance' && link.kind !== 'stranger') return false
  const silentMs = replica.observation.server.channel?.silentMs ?? 0
  if (!link.running || silentMs >= limits.frozenMs) return false
  return link.kind === 'instance' ? link.instance === source : !snapshot.instances.some(({ name }) => name === source)
}
