import type { Machine } from '../machine.ts'
import type { CallMoment, ProcessLife } from '../process-life.ts'
import type { SeededRandom } from '../seeded-random.ts'
import type { Happening } from '../happening.ts'
import type { SimulatedCluster } from '../simulated-cluster.ts'
import { later, restartAgent, strikeLater } from './fault.ts'

/** What changes something or says what is held. Looks that an agent takes all the time are none of the steps. */
const steps = [
  ...['writeAt', 'post', 'readHolds', 'syncRelayLogs', 'readBinlogSet', 'endedHow'],
  ...['stopReceiver', 'startReceiver', 'pointTo', 'forgetSource', 'setSemiSyncReplica', 'setSemiSyncSource'],
  ...[
    'startApplier',
    'stopApplier',
    'waitExecuted',
    'waitApplied',
    'waitReceived',
    'setGates',
    'killDumpThreads',
    'waitSessionsGone',
  ],
  ...['setOffline', 'setReadOnly', 'killForeignSessions', 'open', 'writeMarker', 'kill', 'start'],
  ...['judgeTail', 'trimTail', 'archiveErrant', 'cloneInto', 'swapIn', 'swapBeside', 'swapBack', 'dropBeside'],
]
const managerSteps = ['post', 'swapCell', 'readCell', 'publishPrimary']
/** Who is aimed at for longer is struck out of the blue. */
const aimMs = 4_000

/** One step of a program: the n-th call of such a verb, and which moment of the call. */
export interface Step {
  /** Undefined for any step. */
  readonly verb: string | undefined
  readonly number: number
  /** `heard`: the program has gone on with the answer, up to the next call. */
  readonly moment: CallMoment | 'heard'
}

export function drawStep(random: SeededRandom): Step {
  const verb = random.chance(0.5) ? undefined : random.pick(steps)
  return {
    verb,
    number: random.below(verb === undefined ? 8 : 2),
    moment: random.pick(['before', 'acted', 'heard']),
  }
}

/** Calls `strike` at this step of a program, unless everything is healed before, or the program takes no such step. */
export function atStep(cluster: SimulatedCluster, life: ProcessLife, step: Step, strike: () => void): void {
  let left = step.number
  const counted = step.moment === 'heard' ? 'acted' : step.moment
  const endMs = cluster.time.nowMs + aimMs
  const watcher = (verb: string, moment: CallMoment): void => {
    const isStep = step.verb === undefined ? steps.includes(verb) || managerSteps.includes(verb) : step.verb === verb
    if (!isStep || moment !== counted) return
    left -= 1
    if (left >= 0) return
    life.watchers.delete(watcher)
    if (cluster.isHealed || cluster.time.nowMs > endMs) return
    cluster.say(`── at ${verb}: ${step.moment}`)
    if (step.moment === 'heard') strikeLater(cluster, 0, strike)
    else strike()
  }
  life.watchers.add(watcher)
}

/** Calls `task` the next time that this happens, unless everything is healed before. */
export function whenNext(
  cluster: SimulatedCluster,
  matches: (happening: Happening) => boolean,
  task: (happening: Happening) => void,
): void {
  const stop = cluster.onHappening((happening) => {
    if (!cluster.isHealed && !matches(happening)) return
    stop()
    if (!cluster.isHealed) task(happening)
  })
}

/** What becomes of a machine at a step. */
export type Blow = (cluster: SimulatedCluster, machine: Machine, random: SeededRandom) => void

const soonMs = [5, 20, 50, 200, 1_000, 3_000]

export const blows: readonly Blow[] = [
  (cluster, machine, random) => {
    cluster.killAgent(machine)
    restartAgent(cluster, machine, random.pick(soonMs))
  },
  (cluster, machine, random) => {
    cluster.killAgent(machine)
    restartAgent(cluster, machine, random.pick(soonMs))
  },
  (cluster, machine, random) => {
    cluster.crashMachine(machine)
    restartAgent(cluster, machine, random.pick(soonMs))
  },
  (cluster, machine, random) => {
    cluster.killAgent(machine)
    machine.mysqld?.die()
    restartAgent(cluster, machine, random.pick(soonMs))
  },
  (_, machine) => machine.mysqld?.die(),
  (cluster, { agentLife }, random) => {
    agentLife?.freeze()
    later(cluster, random.pick([100, 1_000, 4_000]), () => agentLife?.thaw())
  },
  (cluster, { agentLife, mysqld }, random) => {
    agentLife?.freeze()
    mysqld?.freeze()
    later(cluster, random.pick([100, 1_000, 2_500, 8_000]), () => {
      mysqld?.thaw()
      agentLife?.thaw()
    })
  },
]

/** At a step of a machine's agent something befalls the machine. */
export function aimAt(cluster: SimulatedCluster, machine: Machine | undefined, random: SeededRandom): void {
  const [step, blow] = [drawStep(random), random.pick(blows)]
  if (machine?.agentLife == null) return
  atStep(cluster, machine.agentLife, step, () => blow(cluster, machine, random))
}

/** At a step of the manager that leads, the manager dies or stands still. */
export function aimAtManager(cluster: SimulatedCluster, random: SeededRandom): void {
  const index = cluster.managers.findIndex((one) => one?.loop.leads === true && one.life.runs)
  const life = cluster.managers[index]?.life
  const verb = random.chance(0.5) ? undefined : random.pick(managerSteps)
  const step = { verb, number: random.below(6), moment: random.pick(['before', 'acted', 'heard'] as const) }
  const dies = random.chance(0.6)
  const ms = random.pick([20, 300, 2_000, 5_000])
  if (life === undefined) return
  atStep(cluster, life, step, () => {
    if (dies) cluster.killManager(index)
    else life.freeze()
    later(cluster, ms, () => (dies ? cluster.startManager(index) : life.thaw()))
  })
}
