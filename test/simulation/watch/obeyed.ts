import type { ClusterRecord } from '#failover/protocol/record.ts'
import { orders } from '#failover/protocol/order.ts'
import { words } from '#failover/protocol/word.ts'
import type { MemberId } from '#topology/snapshot/member.ts'
import type { Observation } from '#topology/snapshot/observation.ts'
import type { Happening } from '../happening.ts'
import type { SimulatedCluster } from '../simulated-cluster.ts'

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
  if (path === words.leaseVote.route) return wronglyGranted(epoch, answer)
  const { observation } = answerOf(answer)
  if (observation === undefined) return undefined
  const wrong = [
    ...wrongForAny({ epoch, revision, run }, observation),
    [member !== observation.member && path !== orders.renounce.route, `which was for ${member}`] as const,
    [
      path === orders.assign.route && observation.stored.promise < epoch,
      `of epoch ${epoch} without a promise`,
    ] as const,
    [path === orders.fetch.route && lacksIntent(record, order as Order), 'and the record has no such intent'] as const,
  ]
  const found = wrong.find(([isSo]) => isSo)
  return found && `${observation.instance} obeys ${path.split('/').at(-1)} ${found[1]}`
}

function wronglyGranted(epoch: number, answer: unknown): string | undefined {
  const { granted, promise = 0 } = answerOf(answer)
  return granted === true && promise > epoch ? `epoch ${epoch} is confirmed by who promised ${promise}` : undefined
}

type Wrong = readonly [isSo: boolean, why: string]

function wrongForAny(
  { epoch, revision, run }: { epoch: number; revision: number; run: string | undefined },
  { stored, agentRun }: Observation,
): readonly Wrong[] {
  return [
    [stored.promise > epoch, `of epoch ${epoch} and has promised ${stored.promise}`],
    [stored.revision > revision, `of revision ${revision} and has acted on ${stored.revision}`],
    [run !== undefined && run !== agentRun, 'which was for an earlier start of its agent'],
  ]
}

/** As far as nobody has changed the record since. */
function lacksIntent(record: ClusterRecord | undefined, { revision, member }: Order): boolean {
  return record !== undefined && record.revision === revision && record.intent?.candidate !== member
}
