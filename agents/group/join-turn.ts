import { instanceOf, type InstanceName } from '#topology/snapshot/member.ts'
import type { Assignment } from '#failover/protocol/assignment.ts'
import { learn } from '../instance/learn.ts'
import { step, type Step, type View } from '../instance/pass.ts'

/** A member was seen to need 0.2 to 0.7 s, on a busy machine, until the group had taken its request to join. */
export const turnMs = 1_000

/**
 * How many others begin to join before this one. Who waited outside while a group was formed is let in together with
 * the others, and joins one after the other: mysqld takes one connection for its group at a time. Two that started at
 * the same moment kept each other out for up to 20 s. 0 for whoever was not told to stay out in this epoch.
 */
export function turnOf({ jobs }: Pick<View, 'jobs'>, assignment: Assignment): number {
  if (jobs.joinsInTurn !== assignment.epoch) return 0
  const joiners = assignment.peers
    .map(({ instance }) => instance)
    .filter((instance) => instance !== leaderIn(assignment))
  return Math.max(0, joiners.indexOf(instanceOf(assignment.member)))
}

export function waitForTurn(turn: number): Step {
  return step('wait for its turn to join', async (parts) => {
    learn(parts, { fact: 'joinsNotBefore', untilMs: parts.world.clock.monotonicMs() + turn * turnMs })
    learn(parts, { fact: 'joinsInTurn', joinsInTurn: null })
  })
}

/** For an instance that is to stay out. */
export function joinInTurn({ epoch }: Assignment): Step {
  return step('join in turn later', async (parts) => learn(parts, { fact: 'joinsInTurn', joinsInTurn: epoch }))
}

/** Who leads by this assignment; null for the leader itself. */
export function leaderIn(assignment: Assignment): InstanceName | null {
  return assignment.role === 'replica' ? assignment.source.instance : null
}
