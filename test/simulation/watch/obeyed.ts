import type { ClusterRecord } from '../../../failover/protocol/record.ts'
import { agentRoutes } from '../../../failover/protocol/order.ts'
import type { MemberId } from '../../../topology/snapshot/member.ts'
import type { Observation } from '../../../topology/snapshot/observation.ts'
import type { Happening, SimulatedCluster } from '../simulated-cluster.ts'

interface Order {
  readonly epoch?: number
  readonly revision?: number
  readonly run?: string
  readonly member?: MemberId
}

export type Answered = Extract<Happening, { kind: 'answered' }>

interface Answer {
  readonly observation?: Observation
  readonly granted?: boolean
  readonly promise?: number
}

function answerOf(answer: unknown): Answer {
  return answer ?? {}
}

export function observationIn({ answer }: Answered): Observation | undefined {
  return answerOf(answer).observation
}

/** What is wrong with an order that an agent has just carried out. */
export function wronglyObeyed({ record }: SimulatedCluster, { path, order, answer }: Answered): string | undefined {
  const { epoch = 0, revision = 0, run, member } = (order ?? {}) as Order
  const { observation, granted, promise = 0 } = answerOf(answer)
  if (path === agentRoutes.leaseVote)
    return granted === true && promise > epoch ? `epoch ${epoch} is confirmed by who promised ${promise}` : undefined
  if (observation === undefined) return undefined
  const { instance, stored, agentRun } = observation
  const wrong: readonly (readonly [boolean, string])[] = [
    [stored.promise > epoch, `of epoch ${epoch} and has promised ${stored.promise}`],
    [stored.revision > revision, `of revision ${revision} and has acted on ${stored.revision}`],
    [run !== undefined && run !== agentRun, 'which was for an earlier start of its agent'],
    [member !== observation.member && path !== agentRoutes.renounce, `which was for ${member}`],
    [path === agentRoutes.assign && stored.promise < epoch, `of epoch ${epoch} without a promise`],
    [path === agentRoutes.fetch && lacksIntent(record, order as Order), 'and the record has no such intent'],
  ]
  const found = wrong.find(([isSo]) => isSo)
  return found && `${instance} obeys ${path.split('/').at(-1)} ${found[1]}`
}

/** As far as nobody has changed the record since. */
function lacksIntent(record: ClusterRecord | undefined, { revision, member }: Order): boolean {
  return record !== undefined && record.revision === revision && record.intent?.candidate !== member
}
