import type { ClusterSpec } from '../../failover/protocol/spec.ts'
import type { ClusterRecord } from '../../failover/protocol/record.ts'
import { acksFor } from '../../failover/protocol/spec.ts'
import { GtidSet } from '../../topology/gtid/gtid-set.ts'
import { unionOf } from '../../topology/snapshot/holdings.ts'
import { instanceOf } from '../../topology/snapshot/member.ts'
import { Clients } from './clients.ts'
import { drawKinds, strike } from './faults/draw.ts'
import { heal, slowDown } from './faults/heal.ts'
import type { Machine } from './machine.ts'
import { giveUp } from './operations/accepted-loss.ts'
import { isBeyondPeople, notesOf } from './operations/after-healing.ts'
import { whatBreaks } from './rules.ts'
import { shapeOf, type Family, type Shape } from './families.ts'
import { SeededRandom } from './seeded-random.ts'
import { Watch } from './watch/watch.ts'
import { SimulatedCluster, type ClusterOptions } from './simulated-cluster.ts'

export interface Outcome {
  /** The rule that was broken; undefined for none. */
  readonly violation: string | undefined
  /** Writes that clients heard OK for. */
  readonly acknowledged: number
  readonly events: number
  /** How many faults follow from the seed. */
  readonly faults: number
}

export interface PlayOptions {
  /** Only these of the seed's faults happen, by their places in the order that the seed draws; all unless given. */
  readonly only?: readonly number[] | undefined
  /** Gets a line for what happens. */
  readonly trace?: ((line: string) => void) | undefined
  /** All machines are equally fast. */
  readonly alike?: boolean
  /** Only faults of this family, in its clusters. */
  readonly family?: Family | undefined
}

const mostFaults = 8
/** How often the rules are looked at, besides at each change of what is stored. */
const lookMs = 100
/** Between two writes of a client, at most. */
const paces = [10, 50, 200, 200]
/** A new cluster takes writes after this long, with everybody in the sync set. */
const beginsMs = 20_000
/** Once nothing is broken any more, clients go on for so long, and then everything is whole within the other time. */
const healedMs = 1_500
const wholeMs = 90_000
/** Until replicas have applied what came last: one that lost its connection notices that after 5 s. */
const appliedMs = 20_000

/** Plays what follows from one seed: a cluster comes up, suffers, is healed, and must have lost nothing. */
export async function play(seed: number, { only, trace, alike = false, family }: PlayOptions = {}): Promise<Outcome> {
  const random = new SeededRandom(seed)
  const shape: Partial<Shape> = family === undefined ? {} : shapeOf(family)
  const cluster = new SimulatedCluster({
    seed: random.below(4_294_967_296),
    ...drawShape(random, shape),
    trace,
  })
  const { time, spec } = cluster
  cluster.network.repeats = shape.repeats ?? cluster.network.repeats
  cluster.say(`a cluster of ${spec.instances}, ${spec.durability}, acks ${acksFor(spec, spec.instances)}`)
  const clients = new Clients(cluster, random.pick(paces))
  let broken: string | undefined
  // One that leads no more may open as well, where nobody has told it. Nobody acknowledges to that server.
  cluster.onHappening((happening) => {
    broken ??= giveUp(cluster, clients, happening)
    if (happening.kind !== 'opened' || !cluster.record) return
    const { machine } = happening
    if (machine === primaryOf(cluster, cluster.record)) broken ??= lacksAcknowledged(machine, clients)
  })
  const watch = new Watch(cluster, clients)
  const look = (): void => {
    watch.look()
    broken ??= watch.broken ?? whatBreaks(cluster, clients)
  }
  cluster.cells.changed = look
  const lookAgain = (): void => {
    look()
    time.after(lookMs, lookAgain)
  }
  lookAgain()
  const violation = (): string | undefined => watch.broken ?? broken ?? violationIn(cluster)
  const isOver = (): boolean => violation() !== undefined
  const isWhole = (): boolean => isOver() || whatIsMissing(cluster) === undefined

  cluster.start()
  await time.runUntil(beginsMs, isWhole)
  if (!alike) slowDown(cluster, new SeededRandom(seed ^ 0x510e))
  clients.start()
  const faults = 1 + random.below(mostFaults)
  const drawn = drawKinds(random)
  const kinds = shape.kinds ?? drawn
  const lastsMs = 500 + faults * random.pick([150, 400, 1_000])
  const endMs = time.nowMs + Math.max(lastsMs, shape.lastsMs ?? 0)
  for (let fault = 0; fault < faults; fault += 1) {
    const draws = random.fork()
    const inMs = draws.between(200, lastsMs)
    if (only === undefined || only.includes(fault)) time.after(inMs, () => strike(cluster, kinds, draws))
  }
  await time.runUntil(endMs, isOver)
  heal(cluster)
  clients.slowDown()
  await time.runUntil(endMs + healedMs, isOver)
  clients.stop()
  await time.runUntil(endMs + wholeMs, isWhole)
  const found = violation() ?? whyStuck(cluster)
  const lost = (): string | undefined => lostInTheEnd(cluster, clients)
  if (found === undefined) await time.runUntil(time.nowMs + appliedMs, () => isOver() || lost() === undefined)
  const violated = found ?? violation() ?? lost()
  if (violated !== undefined) cluster.say(`══ ${violated}`)
  return {
    violation: violated,
    acknowledged: clients.count,
    events: time.count,
    faults,
  }
}

/** How many instances, and what a person may have said of them. */
function drawShape(random: SeededRandom, shape: Partial<Shape>): Pick<ClusterOptions, 'instances' | 'spec'> {
  const instances = random.pick(shape.instances ?? [1, 2, 2, 3, 3, 3, 3, 3, 4, 5])
  const never = instances > 2 && random.chance(0.1) ? { 'shop-1': { promotion: 'never', priority: 0 } as const } : {}
  return {
    instances,
    spec: {
      acks: random.chance(0.3) ? random.below(instances) : null,
      ...(shape.acks === undefined ? {} : { acks: shape.acks }),
      durability: random.pick(['strict', 'strict', 'available']),
      failover: {
        automatic: true,
        ...(random.chance(0.8) ? { budget: { failovers: 16, windowMs: 1_000 } } : drawLimit(random)),
      },
      policies: never,
      cloneAboveTransactions: random.pick([0, 20, 1_000]),
    },
  }
}

/** How few failovers there may be. */
function drawLimit(random: SeededRandom): Partial<ClusterSpec['failover']> {
  return random.pick([
    {},
    { windowMs: 0 },
    { windowMs: 20_000 },
    { budget: { failovers: 1, windowMs: 5_000 } },
    { budget: { failovers: 2, windowMs: 30_000 } },
  ])
}

function violationIn({ cells, machines, excuses }: SimulatedCluster): string | undefined {
  // Where a person gave writes up, the old primary still has them committed: its agent finds that out once it runs.
  const broken = excuses.isLossAccepted ? undefined : machines.find((machine) => machine.broken !== undefined)?.broken
  return cells.violation ?? broken
}

function lacksAcknowledged({ name, folder }: Machine, { acknowledged }: Clients): string | undefined {
  const lost = folder === undefined ? acknowledged : acknowledged.subtract(folder.executed)
  return lost.isEmpty() ? undefined : `lost: ${name} lacks ${lost.toString()}, which was acknowledged`
}

/** What keeps the cluster from being whole; undefined for nothing. */
export function whatIsMissing(cluster: SimulatedCluster): string | undefined {
  const { record, machines } = cluster
  if (record === undefined) return 'there is no record'
  const primary = primaryOf(cluster, record)
  if (!primary?.mysqld?.mayWrite) return `${record.primary} takes no writes`
  if (primary.mysqld.waiting > 0) return 'writes wait'
  if (cluster.route?.instance !== primary.name) return `clients are sent to ${cluster.route?.instance}`
  if (record.syncSet.length < machines.length - 1)
    return `${record.syncSet.length} of ${machines.length - 1} replicas are in the sync set`
  if (record.intent !== null || record.leaving.length > 0 || record.acks !== record.acksWanted)
    return 'the record is not at rest'
  const wanted = notesOf(cluster)?.instances ?? cluster.spec.instances
  return machines.length === wanted ? undefined : `there are ${machines.length} instances, and ${wanted} are wanted`
}

function primaryOf({ machines }: SimulatedCluster, { primary }: ClusterRecord): Machine | undefined {
  return machines.find(({ name }) => name === instanceOf(primary))
}

function whyStuck(cluster: SimulatedCluster): string | undefined {
  const missing = whatIsMissing(cluster)
  if (missing === undefined || isBeyondPeople(cluster)) return undefined
  const sentences = cluster.managers.map((manager) => manager?.loop.decision?.sentence ?? 'nothing')
  return `stuck: ${missing}; managers say: ${sentences.join(' | ')}`
}

function lostInTheEnd(cluster: SimulatedCluster, clients: Clients): string | undefined {
  if (isBeyondPeople(cluster)) return undefined
  const lacking = cluster.machines.map((machine) => lacksAcknowledged(machine, clients))
  return lacking.find((one) => one !== undefined) ?? lostSilently(cluster, clients)
}

/** What a stop that nobody ordered acknowledged is there, or a person finds where that is. */
function lostSilently({ platform: { everybody } }: SimulatedCluster, { unproven }: Clients): string | undefined {
  // With a volume that is gone, so are its binlogs.
  if (everybody.some(({ goneMember }) => goneMember !== undefined)) return undefined
  const archived = unionOf(everybody.flatMap((machine) => machine.archived))
  const held = everybody.reduce((all, { folder }) => all.union(folder?.executed ?? GtidSet.empty), archived)
  const lost = unproven.subtract(held)
  return lost.isEmpty()
    ? undefined
    : `lost: ${lost.toString()}, acknowledged by the hand of a stranger, is in no archive`
}
