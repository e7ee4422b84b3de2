import { Checker } from './checks.ts'
import { events, goOn, goOnApplying } from './events.ts'
import { isPast } from './instance.ts'
import { isWithin } from './ledger.ts'
import { describeRecord } from './model-words.ts'
import { ModelWorld, type WorldOptions } from './model-world.ts'

/** One thing that happens: a number that picks it and to whom. */
export type Happening = number

const names = Object.keys(events)
/** What must go on in every run. */
const essential = new Set([
  'all goes on for a while',
  'a client writes',
  'a replica receives',
  'a manager looks at all and acts',
  'the oldest orders arrive',
  'all agents converge',
  'an agent starts',
  'mysqld crashes',
  'time passes',
])

const table = Object.entries(events).flatMap(([name, [weight]]) => Array.from({ length: weight }, () => name))

/**
 * For `WorldOptions.without`: nothing happens but what must and these events (and a few others, which share their
 * bits).
 */
export function onlyWith(...wanted: readonly string[]): number {
  return wanted.reduce((without, name) => without & ~(1 << (names.indexOf(name) % 30)), 2 ** 30 - 1)
}

/** What became of one schedule. */
export interface Outcome {
  /** The rule that broke, or undefined. */
  readonly violation: string | undefined
  readonly world: ModelWorld
}

/** Lets everything of the schedule happen, and after each looks whether the rules hold. */
export function play(options: WorldOptions, schedule: readonly Happening[], trace: string[] | null = null): Outcome {
  const world = new ModelWorld(options)
  world.trace = trace
  const checker = new Checker(world)
  for (const happening of schedule) {
    happen(world, happening, options.without)
    const violation = checker.violation()
    if (violation !== undefined) return { violation, world }
  }
  return { violation: undefined, world }
}

function happen(world: ModelWorld, happening: Happening, without: number): void {
  const name = table[happening % table.length] ?? ''
  if (((without >> (names.indexOf(name) % 30)) & 1) !== 0 && !essential.has(name)) return
  let rest = Math.floor(happening / table.length)
  const draw = (sides: number): number => {
    const drawn = rest % sides
    rest = Math.floor(rest / sides)
    return drawn
  }
  const instance = world.instances[draw(world.instances.length)]
  const manager = world.managers[draw(world.managers.length)]
  const event = events[name]
  if (!instance || !manager || !event) return
  world.say(`${name} (${instance.name}, manager ${manager.number}, ${rest})`)
  event[1](world, { instance, manager, dice: rest })
  world.nowMs += 20
}

/** Rounds that a cluster gets to be whole again once nothing is broken any more. */
const rounds = 120

/**
 * Everything that was broken ends, everybody comes back, and all goes on fairly. Gives what is still wrong after many
 * rounds, or undefined once the cluster takes writes and every instance is in the sync set.
 */
export function recover(world: ModelWorld): string | undefined {
  endFaults(world)
  const checker = new Checker(world)
  for (let round = 0; round < rounds; round += 1) {
    if (world.managers[0]) goOn(world, world.managers[0], 1)
    const violation = checker.violation()
    if (violation !== undefined) return violation
    if (whatIsWrong(world) === undefined) return undefined
  }
  if (isForAPerson(world)) return undefined
  return `liveness: ${whatIsWrong(world)}; manager: ${world.managers[0]?.lastSentence} (${describeRecord(world.record)})`
}

/**
 * Nothing heals by itself where the primary's volume is gone, or went back in time, and the sync set cannot say what
 * was acknowledged, or where nobody holds any more what the primary was elected for.
 */
function isForAPerson(world: ModelWorld): boolean {
  const { primary, record, ledger, instances, spec } = world
  const elected = ledger.writesIn(record.elected ?? '')
  const mayLead = instances.filter(({ name }) => spec.policies[name]?.promotion !== 'never')
  if (primary === undefined || isPast(primary) || world.isBehindNotes(primary)) return true
  return !mayLead.some(({ held }) => isWithin(elected, held))
}

function endFaults(world: ModelWorld): void {
  world.letters = []
  world.diesAfterWriting = false
  world.notes = { ...world.notes, fenced: [], paused: null, instances: null }
  for (const manager of world.managers) {
    manager.cutFrom.clear()
    manager.requests = []
  }
  goOnApplying(world)
  for (const instance of world.instances) {
    instance.isolated = false
    if (instance.mysqld === 'stopped' && !instance.ending) instance.mysqld = 'running'
    if (instance.exists) world.startAgent(instance)
  }
}

function whatIsWrong({ record, primary, instances }: ModelWorld): string | undefined {
  if (!primary?.server.open || primary.mysqld !== 'running') return 'the primary does not take writes'
  if (primary.committed !== primary.held) return 'writes wait'
  if (record.syncSet.length !== instances.length - 1)
    return `${record.syncSet.length} of ${instances.length - 1} replicas are in the sync set`
  return record.leaving.length > 0 || record.intent !== null ? 'the record is not at rest' : undefined
}
