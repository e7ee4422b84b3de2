import { described } from '#common/errors/errors.ts'
import { reported, say, type Sentence } from '#common/sentence/sentence.ts'
import type { Pod } from '../pods/stateful-set.ts'
import { isGoverned, rolesOf, type Owner, type Role } from './component.ts'
import { unchanged, type PodDecision } from './decision.ts'
import { roleMessageOf } from './messages.ts'
import { orderBoundsAt, saidAt, type SaidAt } from './order-bounds.ts'
import type { PodEvent } from './pod-event.ts'
import { roleLabel } from './marks.ts'
import { RoleBoard } from './role-board.ts'
import { roleClaimOf, type PodRole, type RoleClaim } from './role-claim.ts'
import type { Version } from './seat.ts'

/** A pod whose role probe said something that counts, if owner and peers of the pod allow. */
export interface Speaker {
  readonly event: PodEvent
  readonly pod: Pod
  readonly claim: RoleClaim
}

export interface RoleQuestion extends Speaker {
  /** What made the pod; undefined where nothing known did. */
  readonly owner: Owner | undefined
  /** The owner's other pods. */
  readonly peers: readonly Pod[]
  /** What the API server's clock says. Milliseconds since 1970. */
  readonly serverMs: number
}

/** A mistake of a person's is looked at again after this time. */
export const mistakenMs = 30_000

/**
 * What event and pod decide alone, without a look at owner and peers; else the speaker.
 * @param pod the pod of that name as it is now; undefined where there is none
 */
export function hearRole(event: PodEvent, pod: Pod | undefined): PodDecision | Speaker {
  const name = event.involvedObject?.name ?? ''
  const message = roleMessageOf(event)
  if (message === undefined)
    return unchanged('RoleNotUnderstood', say`${name}: its message is no role probe's`, 'warning')
  if (pod === undefined) return unchanged('PodGone', say`${name} is gone`)
  if (pod.metadata.uid !== event.involvedObject?.uid)
    return unchanged('PodGone', say`${name} is another pod than the one of which its role was said`)
  if (isGoverned(pod))
    return unchanged(
      'RoleGoverned',
      say`${name} has the role that Regent's record says, whatever its probe says`,
      'notice',
    )
  if (message.code !== 0) return unchanged('RoleProbeFailed', failed(pod, message.message), 'warning')
  return { event, pod, claim: roleClaimOf(message.output) }
}

function failed({ metadata }: Pod, why: string): Sentence {
  const role = metadata.labels?.[roleLabel]
  const kept = role === undefined ? say`it has no role, and gets none` : say`its label as ${role} stays`
  return say`${metadata.name}: its role probe failed, and ${kept}: ${why === '' ? say`it does not say why` : reported(why)}`
}

/**
 * What the role probe of a pod changes: the label of that pod, and of peers that held an exclusive role. The rules are
 * those of both generations of KubeBlocks' manager; where Regent differs, docs/guide/pod-events.md says why. A label
 * comes off the old holder before the new one gets it: in between the role's Service has nobody, and never two.
 */
export function decideRole({ event, pod, claim, owner, peers, serverMs }: RoleQuestion): PodDecision {
  const { name } = pod.metadata
  if (owner === undefined)
    return unchanged(
      'OwnerUnknown',
      say`${name} is no pod of a StatefulSet or an InstanceSet: its role is not kept`,
      'notice',
    )
  if (claim.is === 'rejected') return unchanged('RoleNotUnderstood', say`${name}: ${reported(claim.why)}`, 'warning')
  let roles: readonly Role[] | undefined
  try {
    roles = rolesOf(owner)
  } catch (error) {
    const sentence = say`${owner.kind} ${owner.metadata.name}: its roles cannot be read: ${described(error)}`
    return { ...unchanged('RolesNotUnderstood', sentence, 'warning'), againAfterMs: mistakenMs }
  }
  const bounds = orderBoundsAt(serverMs)
  const said = saidAt(event, serverMs)
  const version = versionOf(claim, said)
  if (version.number > bounds[version.kind]) return unchanged('OrderRefused', tooGreat(name, version), 'warning')
  const board = new RoleBoard([pod, ...peers], roles, bounds)
  for (const role of saidBy(claim, pod)) board.claim(role, version)
  return claim.is === 'plain' ? byClock(board.decision(), name, said) : board.decision()
}

function versionOf(claim: Exclude<RoleClaim, { is: 'rejected' }>, said: SaidAt): Version {
  if (claim.is === 'versioned') return { kind: 'authoritative', number: claim.version }
  return { kind: 'snapshot', number: claim.is === 'snapshot' ? claim.term : said.micros }
}

function tooGreat(pod: string, { kind, number }: Version): Sentence {
  const what = say`${kind === 'authoritative' ? 'version' : 'term'} ${number}`
  const why = say`greater than any can be by the API server’s clock`
  return say`${pod} says its role with ${what}, which is ${why}: nothing is changed, since no later word would count`
}

/** A clock that is ahead is said, and moves nothing into the future. */
function byClock(decision: PodDecision, pod: string, { aheadMs }: SaidAt): PodDecision {
  if (aheadMs === undefined) return decision
  const seconds = Math.round(aheadMs / 1_000)
  const ahead = say`the clock of ${pod} is ${seconds} s ahead of the API server’s`
  const sentence = say`${decision.sentence}; ${ahead}, and its word counts as said when it came: set the clock of its node right`
  return { ...decision, weight: 'warning', reason: 'ClockAhead', sentence }
}

function saidBy(claim: Exclude<RoleClaim, { is: 'rejected' }>, { metadata }: Pod): readonly PodRole[] {
  return claim.is === 'snapshot' ? claim.pods : [{ pod: metadata.name, uid: metadata.uid ?? '', role: claim.role }]
}
