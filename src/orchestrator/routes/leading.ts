import { describeError } from '#common/errors/errors.ts'
import { counted } from '#common/text/words.ts'
import { longestDowntimeMs } from '#failover/judge/downtime.ts'
import type { Death, RecoveryBegun, RecoveryEnded } from '#manager/clusters/watched.ts'
import type { Instance } from '../documents/instance.ts'
import { keyText } from '../documents/key.ts'
import type { Server } from '../fleet/fleet.ts'
import { countLost, leadInstead, standStill, tryAgain, whyNobodyLeads, type PlannedLead } from '../trees/failover.ts'
import type { RecoveryUnderWay } from '../trees/hands.ts'
import { relocateReplicas } from '../trees/moves.ts'
import type { PlannedRecovery } from '../trees/recoveries.ts'
import type { Change, Lock } from '../trees/step.ts'
import { designate, handOver, siblingsFirst } from '../trees/takeover.ts'
import { at, type Tree } from '../trees/tree.ts'
import { operate } from './operate.ts'
import { handsOf, lookAt, moveEach, unlocked, whyFailed, whyLocked, type Seen } from './rearranging.ts'
import type { Call } from './route.ts'

/** A recovery that was made: its number in the list of them, and who leads. */
export interface Recovered {
  readonly id: string
  readonly successor: Instance
}

/** Another server leads instead of a root that is lost, or why not. */
type Outcome = Recovered | string

/** A death is looked for so often: replicas that have just lost their source say so a moment later. */
const looksForDeath = 6
const betweenLooksMs = 400

interface Forced {
  readonly wanted: Server | undefined
  /** Whatever may be lost by that. */
  readonly isForced: boolean
  readonly command: string
}

/**
 * The root of a tree does not answer, and its replicas have lost it: the one that holds most, or is preferred, leads
 * once it has got all that any other one holds.
 */
export async function failOver(call: Call, root: Server, { wanted, isForced, command }: Forced): Promise<Outcome> {
  const judged = await lookForDeath(call, root)
  const { seen, death } = judged
  const key = keyText(root.key)
  if (death === null) return whyAlive(root, judged)
  if (!isForced && !death.isLossAccepted)
    return `${death.loss}, and failover.acceptLoss of the adoption does not allow that: force-master-failover does it all the same`
  const why = whyNobodyLeads(seen.tree, seen.one, named(seen, wanted))
  if (why !== undefined) return why
  const begun = begunWith('failover', `DeadMaster: ${key}: ${death.words} (${command})`, root)
  return recovering(call, root, begun, (under) => lead(call, under, { root, wanted, death, isForced, seen }))
}

function begunWith(kind: RecoveryBegun['kind'], analysis: string, { name: from }: Server): RecoveryBegun {
  return { kind, analysis, from }
}

function named({ tree }: Seen, server: Server | undefined): Instance | undefined {
  return tree.find(({ InstanceAlias }) => InstanceAlias === server?.name)
}

/** The servers once a death is proven; or why the lost server may be alive. */
export async function seenDead(call: Call, server: Server): Promise<Seen | string> {
  const judged = await lookForDeath(call, server)
  return judged.death === null ? whyAlive(server, judged) : judged.seen
}

function whyAlive({ key }: Server, { seen, doubt }: Judged): string {
  return seen.one.IsLastCheckValid
    ? `${keyText(key)} answers: graceful-master-takeover-auto is for that`
    : `${keyText(key)} may be alive: ${doubt}. Nobody leads beside a living server: end it, or start replicas that stand, so that they show whether it is lost`
}

interface Judged {
  readonly seen: Seen
  readonly death: Death | null
  readonly doubt: string
}

async function lookForDeath(call: Call, root: Server): Promise<Judged> {
  for (let look = 1; ; look += 1) {
    const judged = await judgedNow(call, root)
    const { tree, one } = judged.seen
    if (judged.death !== null || one.IsLastCheckValid || look === looksForDeath) return judged
    const carryOut = async (change: Change): Promise<void> => handsOf(call).carryOut(root.cluster.name, change)
    // A replica that cannot try again testifies nothing, and hinders nobody.
    for (const step of look === 1 ? tryAgain(tree, one) : []) await whyFailed({ steps: [step] }, carryOut)
    await call.timers.sleep(betweenLooksMs)
  }
}

async function judgedNow(call: Call, root: Server): Promise<Judged> {
  const seen = await lookAt(call, root)
  const { watched } = call.clusters.known().find(({ name }) => name === root.cluster.name) ?? {}
  if (watched?.primary !== root.name) return { seen, death: null, doubt: 'another server leads there' }
  return { seen, death: watched.death, doubt: watched.doubt }
}

interface Lost extends Omit<Forced, 'command'> {
  readonly root: Server
  readonly death: Death
  readonly seen: Seen
}

async function lead(call: Call, under: RecoveryUnderWay, lost: Lost): Promise<Recovered> {
  const { root, wanted, death } = lost
  const still = standStill(lost.seen.tree, lost.seen.one)
  await under.carryOut(still)
  under.tell('nobody receives from the lost server any more, and what was received is applied')
  const seen = await lookAt(call, root).catch((error: unknown) => giveUp(under, still.undo, describeError(error)))
  const planned = leadInstead(seen.tree, seen.one, { wanted: named(seen, wanted), undo: still.undo })
  if (seen.one.IsLastCheckValid) return giveUp(under, still.undo, `${keyText(root.key)} answers again`)
  if (typeof planned === 'string') return giveUp(under, still.undo, planned)
  const count = countLost(seen.tree, seen.one)
  const words = `nobody holds ${counted(count ?? 0, 'transaction')} any more that ${keyText(root.key)} had`
  const isMore = (count ?? 0) > 0 && death.loss === ''
  if (isMore && !lost.isForced) return giveUp(under, still.undo, words)
  under.tell(isMore ? words : death.loss || 'nothing that was acknowledged is lost')
  return conclude(call, under, { planned, root, isRootLost: true })
}

/** Rejects, once replicas receive again from whom they received: each that can. */
async function giveUp(under: RecoveryUnderWay, undo: PlannedLead['undo'], why: string): Promise<never> {
  const failed = await under.carryOut({ steps: [], undo })
  throw new Error([why, ...failed].join('; '))
}

interface Concluding {
  readonly planned: PlannedLead
  readonly root: Server
  readonly isRootLost: boolean
}

async function conclude(
  call: Call,
  under: RecoveryUnderWay,
  { planned, root, isRootLost }: Concluding,
): Promise<Recovered> {
  const { successor } = planned
  const failed = await under.carryOut(planned)
  for (const why of failed) under.tell(`it does not follow: ${why}`)
  const lost = [...planned.lost.map(({ InstanceAlias }) => InstanceAlias), ...failed.map(nameIn)]
  const rest = lost.length === 0 ? '' : `; ${lost.join(', ')} could not be made to follow`
  await noteLost(call, under, root, { successor, lost: isRootLost ? [root.name, ...lost] : lost })
  under.end({
    ...{ outcome: 'succeeded', to: successor.InstanceAlias, lost },
    sentence: `${keyText(successor.Key)} leads${rest}`,
  })
  return { id: under.id, successor }
}

function nameIn(failure: string): string {
  return failure.split(':', 1)[0] ?? ''
}

interface Noted {
  readonly successor: Instance
  readonly lost: readonly string[]
}

async function noteLost(call: Call, under: RecoveryUnderWay, server: Server, noted: Noted): Promise<void> {
  await note(call, server, noted).catch((error: unknown) =>
    under.tell(`no downtime was noted: ${describeError(error)}`),
  )
}

/** A lost server calls nobody until a person has looked there, as at orchestrator. */
async function note(call: Call, { cluster }: Server, { successor, lost }: Noted): Promise<void> {
  for (const instance of lost)
    await operate(call, cluster, 'downtime', {
      ...{ instance, forMs: longestDowntimeMs, reason: 'lost-in-recovery', owner: 'regent' },
    })
  if (successor.IsDowntimed) await operate(call, cluster, 'end-downtime', { instance: successor.InstanceAlias })
  await handsOf(call).lookNow(cluster.name)
}

/** Ends the recovery whatever comes; gives why nothing was done, in the words of what was in the way. */
async function recovering(
  call: Call,
  { cluster }: Server,
  begun: RecoveryBegun,
  run: (under: RecoveryUnderWay) => Promise<Recovered>,
): Promise<Outcome> {
  const under = handsOf(call).begin(cluster.name, begun)
  let isEnded = false
  const watched: RecoveryUnderWay = {
    ...under,
    end(ended: RecoveryEnded) {
      isEnded = true
      under.end(ended)
    },
  }
  try {
    return await run(watched)
  } catch (error) {
    const why = describeError(error)
    if (!isEnded) under.end({ outcome: 'undone', sentence: why, to: null, lost: [] })
    return why
  }
}

export interface Designated {
  readonly wanted: Server | undefined
  readonly isAuto: boolean
  readonly command: string
}

/** A root that answers hands over: it takes no writes before its successor has everything. */
export async function handOverGracefully(
  call: Call,
  root: Server,
  { wanted, isAuto, command }: Designated,
): Promise<Outcome> {
  const seen = await lookAt(call, root)
  const successor = designate(seen.tree, seen.one, { wanted: named(seen, wanted), isAuto })
  if (typeof successor === 'string') return successor
  const siblings = siblingsFirst(seen.tree, seen.one, successor)
  if (typeof siblings === 'string') return siblings
  const begun = begunWith('switchover', `DeadMaster: ${keyText(root.key)} hands over (${command})`, root)
  return recovering(call, root, begun, async (under) => {
    for (const sibling of siblings) {
      const planned = unlocked(call, root.cluster.name, sibling.planned)
      if ('steps' in planned) await under.carryOut(planned)
    }
    const { tree, one } = await lookAt(call, root)
    const to = tree.find(({ InstanceAlias }) => InstanceAlias === successor.InstanceAlias) ?? successor
    const whyHeld = (lock: Lock): string | undefined => whyLocked(call, root.cluster.name, lock)
    const planned = handOver(tree, one, { successor: to, isAuto, whyLocked: whyHeld })
    if (typeof planned === 'string') throw new Error(planned)
    return conclude(call, under, { planned, root, isRootLost: false })
  })
}

export interface RecoveredBelow {
  readonly code: string
  readonly planned: PlannedRecovery
  readonly seen: Seen
}

/** Replicas of a server in the middle, or of one of two that followed each other, go on below another one. */
export async function recoverBelow(
  call: Call,
  lost: Server,
  { code, planned, seen }: RecoveredBelow,
): Promise<Outcome> {
  const { successor, first, replicas } = planned
  const begun = begunWith(code.includes('CoMaster') ? 'failover' : 'repair', `${code}: ${keyText(lost.key)}`, lost)
  return recovering(call, lost, begun, async (under) => {
    const carryOut = async (change: Change): Promise<unknown> => under.carryOut(change)
    const why = await whyFailed(first, carryOut)
    if (why !== undefined) throw new Error(why)
    const { unmoved, errors } = await moveEach(call, lost, {
      first: { seen, planned: replicas },
      plan: (tree, one) => belowNow(tree, one, successor),
      carryOut,
    })
    const failed = `Recovery attempted, with errors: ${errors.join('; ')}`
    const isOpened = 'steps' in first && first.steps.length > 0
    if (!isOpened && errors.length > 0 && unmoved.length === replicas.length) throw new Error(failed)
    if (code.includes('CoMaster')) await noteLost(call, under, lost, { successor, lost: [lost.name, ...unmoved] })
    // What was done is done, whatever is seen of that.
    await lookAt(call, lost).catch((error: unknown) => under.tell(describeError(error)))
    const rest = errors.length === 0 ? '' : `. ${failed}`
    const sentence = `${keyText(successor.Key)} has the replicas of ${keyText(lost.key)}${rest}`
    under.end({ outcome: 'succeeded', sentence, to: successor.InstanceAlias, lost: unmoved })
    return { id: under.id, successor }
  })
}

function belowNow(tree: Tree, lost: Instance, { Key }: Instance): ReturnType<typeof relocateReplicas> {
  const successor = at(tree, Key)
  return successor === undefined ? `Cannot read instance: ${keyText(Key)}` : relocateReplicas(tree, lost, successor)
}
