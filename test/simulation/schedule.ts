import type { InstancePolicy } from '#failover/protocol/instance-policy.ts'
import { acksFor, type ClusterSpec } from '#failover/protocol/spec.ts'
import { Clients } from './clients.ts'
import { shapeOf, type Family, type Shape } from './families.ts'
import { drawKinds, strike } from './faults/draw.ts'
import { heal, slowDown } from './faults/heal.ts'
import { GroupWatch } from './group/watch.ts'
import { giveUp } from './operations/accepted-loss.ts'
import { lacksAcknowledged, lostInTheEnd, primaryOf, violationIn, whatIsMissing, whyStuck } from './outcome.ts'
import { whatBreaks } from './rules.ts'
import { drawAcceptedLoss, drawReach } from './far/families.ts'
import { FarWatch } from './far/watch.ts'
import { makeRouters } from './routers/routers.ts'
import { RouterWatch } from './routers/watch.ts'
import { SeededRandom } from './seeded-random.ts'
import { SimulatedCluster, type ClusterOptions } from './simulated-cluster.ts'
import { Watch } from './watch/watch.ts'
import { WaysOut } from './watch/ways-out.ts'

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
/** A start that finds nobody gives up after a minute, and the next one waits for up to another. */
const groupWholeMs = 300_000
/** Until replicas have applied what came last: one that lost its connection notices that after 5 s. */
const appliedMs = 20_000

/** Plays what follows from one seed: a cluster comes up, suffers, is healed, and must have lost nothing. */
export async function play(seed: number, options: PlayOptions = {}): Promise<Outcome> {
  const { only, trace, alike = false, family } = options
  const random = new SeededRandom(seed)
  const shape: Partial<Shape> = family === undefined ? {} : shapeOf(family)
  const cluster = new SimulatedCluster({ seed: random.below(4_294_967_296), ...drawShape(random, shape), trace })
  const { time, spec } = cluster
  cluster.network.repeats = shape.repeats ?? cluster.network.repeats
  cluster.say(`a cluster of ${spec.instances}, ${spec.durability}, acks ${acksFor(spec, spec.instances)}`)
  cluster.routers = makeRouters(cluster, shape.routers ?? 0)
  const clients = new Clients(cluster, random.pick(paces), shape.writesAbroad)
  const violation = watchRules(cluster, clients)
  const isWhole = (): boolean => violation() !== undefined || whatIsMissing(cluster) === undefined

  cluster.start()
  await time.runUntil(beginsMs, isWhole)
  if (!alike) slowDown(cluster, new SeededRandom(seed ^ 0x510e))
  for (const router of cluster.routers) router.start()
  clients.start()
  const { faults, endMs } = drawFaults(cluster, random, { shape, only })
  await time.runUntil(endMs, () => violation() !== undefined)
  const violated = await healed(cluster, clients, violation)
  if (violated !== undefined) cluster.sayBroken(violated)
  return { violation: violated, acknowledged: clients.count, events: time.count, faults }
}

/** Looks at the rules at each step that matters, and in between. Tells which one was broken first. */
function watchRules(cluster: SimulatedCluster, clients: Clients): () => string | undefined {
  const { groups } = cluster
  const watch = groups === null ? new Watch(cluster, clients) : new GroupWatch(cluster, groups, clients)
  const far = cluster.machines.some((machine) => machine.far !== null) ? new FarWatch(cluster, clients) : null
  const routers = cluster.routers.length > 0 ? new RouterWatch(cluster) : null
  if (routers !== null) clients.told = (at, write) => routers.acknowledged(at, write)
  const waysOut = new WaysOut(cluster)
  let broken: string | undefined
  cluster.onHappening((happening) => {
    broken ??= giveUp(cluster, clients, happening)
    if (happening.kind !== 'opened' || !cluster.record) return
    // One that leads no more may open as well, where nobody has told it. Nobody acknowledges to that server.
    const { machine } = happening
    if (machine === primaryOf(cluster, cluster.record)) broken ??= lacksAcknowledged(machine, clients)
  })
  const look = (): void => {
    watch.look()
    waysOut.look()
    far?.look()
    routers?.look()
    broken ??= far?.broken ?? routers?.broken ?? watch.broken ?? waysOut.broken ?? whatBreaks(cluster, clients)
  }
  const lookAgain = (): void => {
    look()
    cluster.time.after(lookMs, lookAgain)
  }
  cluster.cells.changed = look
  lookAgain()
  return () => watch.broken ?? broken ?? violationIn(cluster)
}

interface Drawing {
  readonly shape: Partial<Shape>
  readonly only: PlayOptions['only']
}

/** The faults of a seed, each at its moment. */
function drawFaults(cluster: SimulatedCluster, random: SeededRandom, { shape, only }: Drawing) {
  const { time } = cluster
  const faults = 1 + random.below(mostFaults)
  const drawn = drawKinds(random)
  const kinds = shape.kinds ?? drawn
  const lastsMs = 500 + faults * random.pick([150, 400, 1_000])
  const spreadMs = shape.lastsOneOfMs === undefined ? 0 : random.pick(shape.lastsOneOfMs)
  const endMs = time.nowMs + Math.max(lastsMs, spreadMs, shape.lastsMs ?? 0)
  for (let fault = 0; fault < faults; fault += 1) {
    const draws = random.fork()
    const inMs = draws.between(200, Math.max(lastsMs, spreadMs / 2))
    if (only === undefined || only.includes(fault)) time.after(inMs, () => strike(cluster, kinds, draws))
  }
  return { faults, endMs }
}

/** Heals everything, and tells what is broken, missing or lost in the end. */
async function healed(
  cluster: SimulatedCluster,
  clients: Clients,
  violation: () => string | undefined,
): Promise<string | undefined> {
  const { time } = cluster
  const isOver = (): boolean => violation() !== undefined
  const endMs = time.nowMs
  heal(cluster)
  clients.slowDown()
  await time.runUntil(endMs + healedMs, isOver)
  clients.stop()
  await time.runUntil(
    endMs + (cluster.groups === null ? wholeMs : groupWholeMs),
    () => isOver() || whatIsMissing(cluster) === undefined,
  )
  const found = violation() ?? whyStuck(cluster)
  if (found !== undefined) return found
  const lost = (): string | undefined => lostInTheEnd(cluster, clients)
  // A replica that still applies goes on with that: thousands of writes may be left.
  let before: string | undefined
  do {
    before = lost()
    await time.runUntil(time.nowMs + appliedMs, () => isOver() || lost() === undefined)
  } while (!isOver() && lost() !== undefined && lost() !== before)
  return violation() ?? lost()
}

/** How many instances, and what a person may have said of them. */
function drawShape(random: SeededRandom, shape: Partial<Shape>): Pick<ClusterOptions, 'instances' | 'spec' | 'far'> {
  const instances = random.pick(shape.instances ?? [1, 2, 2, 3, 3, 3, 3, 3, 4, 5])
  const never = drawNever(random, instances)
  const back = goingBack(shape, instances)
  return {
    instances,
    far: shape.far && drawReach(random, instances),
    spec: {
      ...(shape.mode === undefined ? {} : { mode: shape.mode }),
      acks: random.chance(0.3) ? random.below(instances) : null,
      ...(shape.acks === undefined ? {} : { acks: shape.acks }),
      // As `regent adopt manage` has it.
      ...(shape.far && { reseed: 'manual' as const }),
      durability: random.pick(['strict', 'strict', 'available']),
      failover: {
        automatic: true,
        ...drawAcceptedLoss(random, shape.acceptsLoss),
        ...(random.chance(0.8) ? { budget: { failovers: 16, windowMs: 1_000 } } : drawLimit(random)),
        ...back.failover,
      },
      policies: back.policies ?? never,
      cloneAboveTransactions: random.pick([0, 20, 1_000]),
    },
  }
}

function drawNever(random: SeededRandom, instances: number): ClusterSpec['policies'] {
  return instances > 2 && random.chance(0.1) ? { 'shop-1': policyOf('never') } : {}
}

/** The last instance leads again once all has been well for a moment. */
function goingBack({ goesBack }: Partial<Shape>, instances: number) {
  return goesBack
    ? { failover: { backAfterSeconds: 1 }, policies: { [`shop-${instances - 1}`]: policyOf('prefer') } }
    : {}
}

function policyOf(promotion: InstancePolicy['promotion']): InstancePolicy {
  return { promotion, priority: 0 }
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
