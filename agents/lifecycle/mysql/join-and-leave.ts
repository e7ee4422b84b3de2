import { heard, say, type Sentence } from '#common/sentence/sentence.ts'
import { described } from '#common/errors/errors.ts'
import { orderVersion } from '#failover/protocol/message.ts'
import { sayWord, type LeavingAnswer, type LeavingRequest } from '#failover/protocol/word.ts'
import { hearLeaving, sayAgainMs } from '#agents/instance/leaving.ts'
import type { Learner } from '#agents/instance/learn.ts'
import type { Parts } from '#agents/instance/parts.ts'
import { askUntil } from './ask-until.ts'
import type { BuiltInAction, Parameters, Patience } from '../built-in/built-in-action.ts'
import { refusal, succeeded, type ActionResult } from '../wire/calls.ts'

export type MembershipParts = Learner & Pick<Parts, 'config' | 'file' | 'world' | 'transport' | 'timings' | 'process'>

/**
 * `memberLeave` has an instance hand over, leave the sync set or the group, and stop its mysqld, which then stays down.
 * `memberJoin` takes that back, and waits until the instance counts. Each may be called at any agent of the cluster:
 * the agent of the instance does the work. Each may be called again, and goes on where it was.
 */
export function membershipActions(parts: MembershipParts): readonly BuiltInAction[] {
  return [
    { name: 'memberLeave', run: (given, patience) => bringAbout(parts, { given, patience, leaves: true }) },
    { name: 'memberJoin', run: (given, patience) => bringAbout(parts, { given, patience, leaves: false }) },
  ]
}

interface Wish {
  readonly given: Parameters
  readonly patience: Patience
  readonly leaves: boolean
}

async function bringAbout(parts: MembershipParts, { given, patience, leaves }: Wish): Promise<ActionResult> {
  const { config } = parts
  const parameter = leaves ? 'KB_LEAVE_MEMBER_POD_NAME' : 'KB_JOIN_MEMBER_POD_NAME'
  const instance = given[parameter] ?? config.instance
  const refused = objectionTo(parts, instance, leaves)
  if (refused !== undefined) return refusal('preconditionFailed', say`${parameter}: ${refused}`)
  try {
    const answer = await askUntil(parts.world, patience, sayAgainMs, () => tell(parts, instance, leaves))
    return answer.done
      ? succeeded(Buffer.from(`${instance}: ${String(answer.sentence)}`))
      : refusal('timedOut', say`${instance} has not ${leaves ? say`left` : say`joined`}: ${heard(answer.sentence)}`)
  } catch (error) {
    return refusal('failed', say`the agent of ${instance} does not answer: ${described(error)}`)
  }
}

function objectionTo({ config, file }: MembershipParts, instance: string, leaves: boolean): Sentence | undefined {
  const peers = (file.current.assignment?.peers ?? []).map((peer) => peer.instance)
  if (instance !== config.instance && !peers.includes(instance))
    return say`there is no instance ${instance}; known here are ${[...new Set([config.instance, ...peers])].sort().join(', ')}`
  const others = peers.filter((peer) => peer !== instance)
  return leaves && instance === config.instance && others.length === 0
    ? say`${instance} is the only instance of its cluster, and nobody could take over`
    : undefined
}

async function tell(parts: MembershipParts, instance: string, leaves: boolean): Promise<LeavingAnswer> {
  const { config, file, transport, timings } = parts
  if (instance === config.instance) return hearLeaving(parts, leaves)
  const peer = file.current.assignment?.peers.find((one) => one.instance === instance)
  if (peer === undefined) throw new Error('the record names it no more')
  const request: LeavingRequest = { version: orderVersion, cluster: config.cluster, instance, leaves }
  return sayWord({ transport, deadlineMs: timings.leaseRenewMs }, peer.agent, 'leaving', request)
}
