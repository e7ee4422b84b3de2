import type { Request } from '../../failover/judge/situation.ts'
import { isNotedUnsettled } from '../../failover/judge/unsettled.ts'
import { instanceOf } from '../../topology/snapshot/member.ts'
import { isHeldBack, killMysqld, memberOf, waitingOf, type Instance } from './instance.ts'
import { converge, finishSeeding } from './model-agent.ts'
import type { ModelManager } from './model-manager.ts'
import type { ModelWorld } from './model-world.ts'

/** What a random number makes happen, and to whom. */
export interface Draw {
  readonly instance: Instance
  readonly manager: ModelManager
  /** Any number, for what an event decides itself. */
  readonly dice: number
}

type Happening = (world: ModelWorld, draw: Draw) => void

/**
 * Everything that can happen, and how often: the weights make quorums, failovers and races of late orders likely in
 * short schedules.
 */
export const events: Readonly<Record<string, readonly [weight: number, happen: Happening]>> = {
  'all goes on for a while': [16, (world, { manager, dice }) => goOn(world, manager, 1 + (dice % 3))],
  'a client writes': [
    14,
    (world, { instance, dice }) => void world.write(dice % 3 === 0 ? instance : (world.primary ?? instance)),
  ],
  'a replica receives': [26, (world, { instance, dice }) => receiveSome(world, instance, dice)],
  'a source counts acknowledgements': [
    10,
    (world, { instance, dice }) => world.countAcknowledgements(dice % 2 === 0 ? instance : (world.primary ?? instance)),
  ],
  'a manager looks at all and acts': [26, (world, { manager }) => lookAndAct(world, manager)],
  'a manager acts on what it knows': [5, (world, { manager }) => act(world, manager)],
  'a manager looks at one': [5, (_world, { manager, instance }) => manager.look(instance.name)],
  'a manager reads the record': [3, (_world, { manager }) => manager.readRecord()],
  'the oldest orders arrive': [24, (world, { dice }) => deliverOldest(world, 1 + (dice % 4))],
  'an order arrives': [8, (world, { dice }) => deliverOne(world, dice)],
  'an order arrives twice': [2, (world, { dice }) => deliverTwice(world, dice)],
  'an order is lost': [2, (world, { dice }) => void world.letters.splice(dice % Math.max(1, world.letters.length), 1)],
  'an agent converges': [10, (world, { instance }) => world.asAgent(instance, () => converge(world, instance))],
  'all agents converge': [6, (world) => convergeAll(world)],
  'a copy is done': [3, (world) => finishSeedings(world)],
  'mysqld crashes': [
    3,
    (world, { instance, dice }) => killMysqld(dice % 2 === 0 ? instance : (world.primary ?? instance)),
  ],
  'an agent dies': [1, (world, { instance }) => crash(world, instance, 'agent')],
  'an agent will die after its next write': [1, (world) => void (world.diesAfterWriting = true)],
  'an agent starts': [9, (world, { instance }) => startAgent(world, instance)],
  'an instance crashes': [1, (world, { instance }) => crash(world, instance, 'instance')],
  'a machine crashes': [1, (world, { instance, dice }) => crashMachine(world, instance, dice)],
  'an instance loses its volume': [1, (world, { instance }) => loseVolume(world, instance)],
  'somebody writes on a replica by hand': [1, (world, { instance }) => world.writeByHand(instance)],
  'mysqld freezes': [
    1,
    (_world, { instance }) => void (instance.mysqld = instance.mysqld === 'running' ? 'stopped' : instance.mysqld),
  ],
  'mysqld thaws': [4, (_world, { instance }) => thaw(instance)],
  'a stranger stops the primary': [1, (world, { dice }) => stopByStranger(world, dice % 2 === 0)],
  'a manager loses an instance': [2, (world, { manager, instance }) => loseSight(world, manager, instance)],
  'a manager reaches all again': [4, (_world, { manager }) => manager.cutFrom.clear()],
  'an instance is isolated': [1, (_world, { instance }) => void (instance.isolated = true)],
  'isolation ends': [4, (_world, { instance }) => void (instance.isolated = false)],
  'a primary comes back alone': [1, (world, { instance }) => comeBackAlone(world, instance)],
  'a manager is restarted': [1, (_world, { manager }) => manager.restart()],
  'time passes': [5, (world) => void (world.nowMs += 1_500)],
  'somebody asks for a switchover': [
    2,
    (world, draw) =>
      ask(draw, {
        kind: 'switchover',
        id: `request-${world.nowMs}`,
        to: draw.dice % 2 === 0 ? draw.instance.name : null,
        deadlineWallMs: world.nowMs + 10_000,
        reason: 'asked for',
      }),
  ],
  'somebody asks for a failover': [
    1,
    (world, draw) => ask(draw, { kind: 'failover', id: `request-${world.nowMs}`, to: null, acceptLoss: false }),
  ],
  'somebody fences': [1, (world, { instance }) => fence(world, instance)],
  'fences end': [2, (world) => void (world.notes = { ...world.notes, fenced: [], paused: null })],
  'somebody copies a volume': [1, (world, { instance }) => takeSnapshot(world, instance)],
  'a volume goes back in time': [1, (world, { instance }) => putBack(world, instance)],
  'an applier is held back': [3, (_world, { instance }) => void (instance.delayed = instance.server.channel !== null)],
  'appliers go on': [3, (world) => goOnApplying(world)],
  'received, unapplied writes are thrown away by a hand': [
    2,
    (world, { instance, dice }) => world.throwAway(dice % 2 === 0 ? instance : (world.primary ?? instance)),
  ],
  'somebody scales': [1, (world, { dice }) => scale(world, dice)],
}

/** Nothing goes wrong between the instances and one manager. */
export function goOn(world: ModelWorld, manager: ModelManager, rounds: number): void {
  for (let round = 0; round < rounds; round += 1) {
    for (const instance of world.instances) {
      world.asAgent(instance, () => finishSeeding(world, instance))
      world.asAgent(instance, () => converge(world, instance))
    }
    for (let again = true; again;) again = world.instances.map((replica) => world.receiveOne(replica)).includes(true)
    for (const instance of world.instances) world.countAcknowledgements(instance)
    lookAndAct(world, manager)
    const mine = world.letters.filter(({ from }) => from === manager)
    world.letters = world.letters.filter(({ from }) => from !== manager)
    for (const letter of mine) world.deliver(letter)
    world.nowMs += 300
  }
}

function receiveSome(world: ModelWorld, replica: Instance, dice: number): void {
  for (let times = 1 + (dice % 3); times > 0; times -= 1) world.receiveOne(replica)
}

function lookAndAct(world: ModelWorld, manager: ModelManager): void {
  manager.lookAtAll()
  act(world, manager)
}

function act(world: ModelWorld, manager: ModelManager): void {
  if (isTailInDoubt(world, world.primary)) manager.look(instanceOf(world.record.primary))
  const { sentence } = manager.act()
  world.say(`  manager ${manager.number}: ${sentence}`)
}

function deliverOldest(world: ModelWorld, count: number): void {
  for (const letter of world.letters.splice(0, count)) world.deliver(letter)
}

function deliverOne(world: ModelWorld, dice: number): void {
  const [letter] = world.letters.splice(dice % Math.max(1, world.letters.length), 1)
  if (letter) world.deliver(letter)
}

function deliverTwice(world: ModelWorld, dice: number): void {
  const letter = world.letters[dice % Math.max(1, world.letters.length)]
  if (letter) world.deliver(letter)
}

function convergeAll(world: ModelWorld): void {
  for (const instance of world.instances) world.asAgent(instance, () => converge(world, instance))
}

function finishSeedings(world: ModelWorld): void {
  for (const instance of world.instances)
    if (instance.seedsFrom !== null) world.asAgent(instance, () => finishSeeding(world, instance))
}

export function goOnApplying({ instances }: ModelWorld): void {
  for (const instance of instances) {
    if (isHeldBack(instance) && instance.mysqld === 'running') instance.committed = instance.held
    instance.delayed = false
  }
}

function startAgent(world: ModelWorld, instance: Instance): void {
  if (instance.exists) world.startAgent(instance)
}

/** Not covered (docs/why/safety.md): an agent that is lost before a manager has noted that its tail is unsettled. */
function isTailInDoubt(world: ModelWorld, instance: Instance | undefined): boolean {
  if (instance === undefined || instance !== world.primary) return false
  return instance.ending || (instance.disk.unsettled && !isNotedUnsettled(world.notes, memberOf(instance)))
}

function crash(world: ModelWorld, instance: Instance, what: 'agent' | 'instance'): void {
  if (isTailInDoubt(world, instance)) return
  if (what === 'instance') killMysqld(instance)
  world.killAgent(instance)
}

/** What was received last is lost, as much as the dice say. */
function crashMachine(world: ModelWorld, instance: Instance, dice: number): void {
  if (!isTailInDoubt(world, instance)) world.crashMachine(instance, -1 << (1 + (dice % Math.max(1, world.ledger.size))))
}

function loseVolume(world: ModelWorld, instance: Instance): void {
  if (instance.exists && !isTailInDoubt(world, instance)) world.loseVolume(instance)
}

function takeSnapshot(world: ModelWorld, instance: Instance): void {
  if (instance.exists && !isTailInDoubt(world, instance)) world.takeSnapshot(instance)
}

/** Not of one that somebody stopped by hand: as with a lost volume, its mark would be gone. */
function putBack(world: ModelWorld, instance: Instance): void {
  if (instance.exists && !isTailInDoubt(world, instance)) world.putBack(instance)
}

function loseSight(world: ModelWorld, manager: ModelManager, instance: Instance): void {
  if (!isTailInDoubt(world, instance)) manager.cutFrom.add(instance.name)
}

function thaw(instance: Instance): void {
  if (instance.mysqld === 'stopped' && !instance.ending) instance.mysqld = 'running'
}

/**
 * SIGTERM by another hand: the server tells every waiting client OK and goes down, at once or after a while in which it
 * answers nothing. Not covered (docs/why/safety.md): a failover of this epoch has begun, or nobody hears of it from the
 * agent.
 */
function stopByStranger(world: ModelWorld, slowly: boolean): void {
  const { primary, record } = world
  if (
    primary?.mysqld !== 'running' ||
    !primary.agentUp ||
    primary.disk.assignment?.role !== 'primary' ||
    primary.disk.assignment.epoch !== record.epoch
  )
    return
  const begun =
    world.instances.some(({ disk }) => disk.promise > record.epoch) ||
    world.letters.some(({ sent }) => sent.kind === 'promise')
  if (begun || primary.disk.promise !== record.epoch) return
  world.tellClients(primary.held & ~primary.committed)
  if (waitingOf(primary) > 0) world.say('  what waited was acknowledged')
  primary.mysqld = 'stopped'
  primary.ending = true
  if (!slowly) killMysqld(primary)
  for (const manager of world.managers) {
    manager.cutFrom.delete(primary.name)
    manager.look(primary.name)
  }
}

/** No manager was heard for long: its agent starts it by itself. */
function comeBackAlone(world: ModelWorld, instance: Instance): void {
  if (!world.managers.every(({ cutFrom }) => cutFrom.has(instance.name))) return
  instance.memory.alone = true
  world.asAgent(instance, () => converge(world, instance))
}

function ask({ manager }: Draw, request: Request): void {
  if (manager.requests.length === 0) manager.requests = [request]
}

function fence(world: ModelWorld, instance: Instance): void {
  const keepPrimary = instance.name === instanceOf(world.record.primary)
  world.notes = {
    ...world.notes,
    fenced: [...world.notes.fenced, { instance: instance.name, keepPrimary, wallMs: world.nowMs }],
  }
}

function scale(world: ModelWorld, dice: number): void {
  world.notes = { ...world.notes, instances: 1 + (dice % world.instances.length) }
}
