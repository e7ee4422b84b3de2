import { reported, say } from '#common/sentence/sentence.ts'
import type { Pod } from '../pods/stateful-set.ts'
import { availabilityPolicyIn, defaultPolicy, type AvailabilityPolicy } from './availability-policy.ts'
import { isGoverned, type Owner, type OwnerPlace } from './component.ts'
import { holds, type ProbeResult } from './condition-tree.ts'
import { metadataChange, unchanged, type PodDecision } from './decision.ts'
import { marks, roleLabel } from './marks.ts'
import { jsonObject, probeMessageOf } from './messages.ts'
import { phaseOf } from './phase.ts'
import { happenedMicros, type PodEvent } from './pod-event.ts'
import { reportPeriodSeconds } from './report-period.ts'
import { wantedOf } from './wanted.ts'

export interface AvailabilityQuestion {
  readonly place: OwnerPlace
  readonly owner: Owner
  /** The owner's pods. */
  readonly pods: readonly Pod[]
  /** What their availability probes said, as far as the API server still has it. */
  readonly events: readonly PodEvent[]
  readonly nowMs: number
}

/** Condition `Available` of an owner: annotation `regent.dev/available`. */
interface AvailableCondition {
  readonly type: 'Available'
  readonly status: 'True' | 'False' | 'Unknown'
  readonly reason: string
  readonly message: string
}

/** Phases and roles are looked at again after this time: their changes are not all told by Events. */
export const lookAgainMs = 30_000

/** A pod's word, and when. */
interface Word {
  readonly result: ProbeResult
  readonly atMs: number
}

/**
 * Whether a component is available, by the policy of its owner. Nothing is shown of an owner that has neither a policy
 * nor pods with an availability probe: nobody asked. A cluster that Regent governs tells by its resource.
 */
export function decideAvailability(question: AvailabilityQuestion): PodDecision {
  const { owner } = question
  const written = owner.metadata.annotations?.[marks.availability]
  if (isGoverned(owner) || (written === undefined && question.events.length === 0)) return notAsked(question)
  try {
    return shown(question, written === undefined ? defaultPolicy : availabilityPolicyIn(written))
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    const message = `the policy in ${marks.availability} cannot be read: ${error.message}`
    const condition = { type: 'Available', status: 'Unknown', reason: 'PolicyNotUnderstood', message } as const
    return { ...change(question, condition), againAfterMs: lookAgainMs }
  }
}

function notAsked({ place, owner }: AvailabilityQuestion): PodDecision {
  const { name, annotations } = owner.metadata
  const sentence = say`nobody asks whether ${name} is available`
  if (annotations?.[marks.available] === undefined) return unchanged('AvailabilityNotAsked', sentence)
  const changes = [metadataChange(place.resource, owner, { annotations: { [marks.available]: null } })]
  return { changes, weight: 'routine', reason: 'AvailabilityNotAsked', sentence }
}

function shown(question: AvailabilityQuestion, policy: AvailabilityPolicy): PodDecision {
  const { withProbe } = policy
  if (withProbe === undefined)
    return { ...change(question, byPhaseAndRole(question, policy)), againAfterMs: lookAgainMs }
  const windowMs = (withProbe.timeWindowSeconds ?? 2 * reportPeriodSeconds(question.pods)) * 1_000
  const heard = latestWords(question).filter(({ atMs }) => atMs + windowMs > question.nowMs)
  const condition = byProbe(question, withProbe, heard)
  const decision = change(question, condition)
  if (heard.length === 0) return decision
  const firstEndMs = Math.min(...heard.map(({ atMs }) => atMs)) + windowMs
  // What was said by a clock that is ahead ends late, and is looked at in between.
  return { ...decision, againAfterMs: Math.min(firstEndMs - question.nowMs, windowMs) }
}

const available = (message: string) => ({ type: 'Available', status: 'True', reason: 'Available', message }) as const
const notAvailable = (reason: string, message: string) =>
  ({ type: 'Available', status: 'False', reason, message }) as const

function byProbe(
  { owner }: AvailabilityQuestion,
  { condition, description }: NonNullable<AvailabilityPolicy['withProbe']>,
  heard: readonly Word[],
): AvailableCondition {
  const replicas = owner.spec?.replicas ?? 1
  const results = heard.map(({ result }) => result)
  const isMet = holds(condition ?? defaultPolicy.withProbe?.condition ?? {}, results, replicas)
  const good = results.filter(({ code }) => code === 0).length
  const what = description === undefined ? '' : `${description}: `
  const counts = `${what}${results.length} of ${replicas} pods were heard in time, ${good} of them with success`
  return isMet ? available(counts) : notAvailable('ProbeCheckFail', counts)
}

function byPhaseAndRole(
  { owner, pods }: AvailabilityQuestion,
  { withPhases, withRole }: AvailabilityPolicy,
): AvailableCondition {
  const phase = phaseOf(owner, pods)
  const phases = withPhases?.split(',').map((each) => each.trim().toLowerCase())
  if (phases !== undefined && !phases.includes(phase.toLowerCase()))
    return notAvailable('PhaseCheckFail', `the phase is ${phase}, and not ${phases.join(' or ')}`)
  if (withRole !== undefined && !pods.some((pod) => isActive(pod, withRole)))
    return notAvailable('RoleCheckFail', `the role ${withRole} is not present`)
  return available(withRole === undefined ? `the phase is ${phase}` : `the role ${withRole} is present`)
}

function isActive({ metadata }: Pod, role: string): boolean {
  return metadata.deletionTimestamp === undefined && metadata.labels?.[roleLabel]?.toLowerCase() === role.toLowerCase()
}

/** The latest word of each pod that is there now and wanted; what an earlier pod of its name said is nothing. */
function latestWords({ owner, pods, events }: AvailabilityQuestion): readonly Word[] {
  const uids = new Map(wantedOf(owner, pods).map(({ metadata }) => [metadata.name, metadata.uid]))
  const latest = new Map<string, Word>()
  for (const event of events) {
    const { name = '', uid } = event.involvedObject ?? {}
    const said = probeMessageOf(event)
    // The time of the last repeat: `lastTimestamp` stays at the first, and would let a healthy pod fall silent.
    const atMs = Number(happenedMicros(event) / 1_000n)
    if (said === undefined || uid === undefined || uids.get(name) !== uid) continue
    if ((latest.get(name)?.atMs ?? -1) >= atMs) continue
    const { code, output, message } = said
    latest.set(name, { result: { pod: name, code, stdout: output, stderr: message }, atMs })
  }
  return [...latest.values()]
}

function change({ place, owner, nowMs }: AvailabilityQuestion, condition: AvailableCondition): PodDecision {
  const { name, annotations } = owner.metadata
  const before = jsonObject(annotations?.[marks.available]) ?? {}
  const isTrue = condition.status === 'True'
  const sentence = say`${name} is ${isTrue ? '' : say`not `}available: ${reported(condition.message)}`
  const reason = isTrue ? 'Available' : 'NotAvailable'
  const isSame = (['status', 'reason', 'message'] as const).every((field) => before[field] === condition[field])
  if (isSame) return unchanged(reason, sentence)
  const hasMoved = before['status'] !== condition.status
  const lastTransitionTime = hasMoved ? new Date(nowMs).toISOString() : before['lastTransitionTime']
  const text = JSON.stringify({ ...condition, lastTransitionTime })
  const changes = [metadataChange(place.resource, owner, { annotations: { [marks.available]: text } })]
  return { changes, weight: !hasMoved ? 'routine' : isTrue ? 'news' : 'warning', reason, sentence }
}
