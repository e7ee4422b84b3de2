import { setTimeout as sleep } from 'node:timers/promises'
import { describeError } from '#common/errors/errors.ts'
import type { TestCluster } from '../support/cluster.ts'
import type { WriterOptions } from '../support/writer.ts'
import { Writer } from '../support/writer.ts'
import type { WritesCheck } from '../support/writes-check.ts'
import { handFaults } from './hand-faults.ts'
import { changesOfServer } from './judgement.ts'
import { groupFaults } from './group-faults.ts'
import { networkFaults } from './network-faults.ts'
import { processFaults } from './process-faults.ts'
import type { Fault, Heal, Scene } from './scene.ts'

const faults: readonly Fault[] = [...processFaults, ...handFaults, ...groupFaults, ...networkFaults]

/** Faults of one round strike within this time. */
const spreadMs = 1_500
/**
 * After the last fault has ended, writes must go on within this time, and everybody be back within the other: seeding
 * takes its time on a busy machine.
 */
const writableMs = 90_000
export const wholeMs = 180_000
const longestStrikeMs = 20_000

/** What a round did and what it found. `wrong` is empty where everything is as it should be. */
export interface Round {
  readonly did: readonly string[]
  readonly acknowledged: number
  readonly wrong: readonly string[]
}

/**
 * Who waits long for an acknowledgement hears of one that comes late; who gives up soon tries everybody. Those that are
 * pinned try to write where nobody should. In one round of six somebody writes rows of 10 MB: faults strike while a
 * transaction is on its way.
 */
function clientsOf(scene: Scene): readonly WriterOptions[] {
  const pinned = scene.instances.map((instance, at) => ({
    table: `pinned_${at}`,
    pinnedTo: instance,
    unheard: true as const,
    attemptMs: 2_000,
    everyMs: 25,
    retryMs: 50,
  }))
  const large = { table: 'large', attemptMs: 30_000, everyMs: 1_000, bodyBytes: 10_000_000 }
  const others = scene.dice.between(1, 6) === 1 ? [large] : []
  return [
    { table: 'impatient', everyMs: 15 },
    { table: 'patient', attemptMs: 30_000, everyMs: 10 },
    ...others,
    ...pinned,
  ]
}

/**
 * Draws faults, lets them strike under clients' writes, ends them, and looks for every acknowledged write once the
 * cluster is whole again. Never rejects: a round that cannot go on is stuck.
 */
export async function playRound(scene: Scene, say: (line: string) => void): Promise<Round> {
  const { cluster } = scene
  const writers: Writer[] = []
  const did: string[] = []
  const note = (line: string): void => {
    did.push(line)
    say(line)
  }
  try {
    const before = await cluster.view()
    for (const options of clientsOf(scene)) writers.push(await Writer.start(cluster, options))
    const drawn = await strikeAndHeal(scene, note)
    const mostWriters = drawn.some(({ letsSeveralWrite }) => letsSeveralWrite) ? 'several' : 'one'
    const wrong = await whatIsWrong(scene, writers, { epochBefore: before.epoch ?? 0, mostWriters })
    return { did, acknowledged: acknowledgedBy(writers), wrong }
  } catch (error) {
    return { did, acknowledged: acknowledgedBy(writers), wrong: [`stuck: ${describeError(error)}`] }
  } finally {
    await Promise.all(writers.map((writer) => writer.stop()))
  }
}

function acknowledgedBy(writers: readonly Writer[]): number {
  return writers.reduce((sum, { count }) => sum + count, 0)
}

async function strikeAndHeal(scene: Scene, note: (line: string) => void): Promise<readonly Fault[]> {
  const { dice } = scene
  const drawn = draw(scene)
  const moments = drawn.map(() => dice.between(0, spreadMs))
  const healAfterMs = dice.between(500, 8_000)
  const heals: Heal[] = []
  const striking = Promise.all(
    drawn.map((fault, at) =>
      strike(fault, scene, moments[at] ?? 0).then(({ did, heal }) => {
        note(did)
        if (heal !== undefined) heals.push(heal)
      }),
    ),
  )
  // One fault may wait for a lock that another one holds until that is healed.
  await Promise.race([striking, sleep(longestStrikeMs)])
  await sleep(healAfterMs)
  await healAll(heals.splice(0))
  await striking
  await healAll(heals)
  return drawn
}

/** Each, also where one cannot: what is not healed would be blamed on the cluster. */
async function healAll(heals: readonly Heal[]): Promise<void> {
  const failures: unknown[] = []
  for (const heal of heals) await heal().catch((error: unknown) => failures.push(error))
  if (failures.length > 0) throw new Error(`a fault could not be ended: ${failures.map(describeError).join('; ')}`)
}

/** One that found its target down already struck nobody, which is told too. */
async function strike(
  fault: Fault,
  scene: Scene,
  afterMs: number,
): Promise<{ readonly did: string; readonly heal?: Heal }> {
  await sleep(afterMs)
  return fault.strike(scene).catch((error: unknown) => ({
    did: `${fault.name}: could not (${error instanceof Error ? error.message : String(error)})`,
  }))
}

function draw(scene: Scene): readonly Fault[] {
  const { dice, network, instances, mode } = scene
  const able = faults.filter(
    ({ needsNetwork, leastInstances = 1, mode: only = mode }) =>
      only === mode && (needsNetwork !== true || network !== undefined) && instances.length >= leastInstances,
  )
  const table = able.flatMap((fault) => Array.from({ length: fault.weight }, () => fault))
  const first = dice.pick(table)
  if (first.alone === true) return [first]
  const others = table.filter(({ alone }) => alone !== true)
  return [first, ...Array.from({ length: dice.pick([0, 0, 1, 1, 2]) }, () => dice.pick(others))]
}

function wrongRows(table: string, { lost, duplicated, differing }: WritesCheck): readonly string[] {
  const wrong: readonly (readonly [number, string])[] = [
    [lost.length, `lost: ${lost.length} acknowledged writes of ${table}, ${lost.slice(0, 5).join(', ')} …`],
    [duplicated.length, `twice: ${duplicated.length} writes of ${table}`],
    [differing.length, `split: ${differing.join(', ')} has other rows of ${table} than the primary`],
  ]
  return wrong.filter(([count]) => count > 0).map(([, words]) => words)
}

interface Expected {
  readonly epochBefore: number
  /** How many servers may have taken writes at one time. */
  readonly mostWriters: 'one' | 'several'
}

/** Clients rest for the second half: an instance that comes back to a busy machine may never catch up with them. */
async function whole(cluster: TestCluster, instances: number, writers: readonly Writer[]): Promise<void> {
  await cluster.whole(instances, wholeMs / 2).catch(async () => {
    await Promise.all(writers.map((writer) => writer.stop()))
    await cluster.whole(instances, wholeMs / 2)
  })
}

async function whatIsWrong(
  scene: Scene,
  writers: readonly Writer[],
  { epochBefore, mostWriters }: Expected,
): Promise<readonly string[]> {
  const { cluster, instances } = scene
  const stuck = await writers[0]
    ?.next(undefined, { deadlineMs: writableMs })
    .then(() => whole(cluster, instances.length, writers))
    .then(
      () => undefined,
      (error: unknown) => String(error),
    )
  if (stuck !== undefined) return [`stuck: ${stuck}; ${cluster.views.latest?.sentence ?? 'the manager says nothing'}`]
  const wrong: string[] = []
  for (const writer of writers) {
    const checked = await checkedOnceWhole(scene, writer).catch((error: unknown) => String(error))
    if (typeof checked === 'string') return [...wrong, `stuck: ${writer.table} cannot be read: ${checked}`]
    wrong.push(...wrongRows(writer.table, checked))
  }
  const epochs = ((await cluster.view()).epoch ?? 0) - epochBefore
  return mostWriters === 'several' ? wrong : [...wrong, ...tooManyChanges(scene, writers, epochs)]
}

/** A server that is lost between two looks cannot be read: on a machine that stands still it is taken for frozen. */
async function checkedOnceWhole({ cluster, instances }: Scene, writer: Writer): Promise<WritesCheck> {
  return writer.check().catch(async () => {
    await cluster.whole(instances.length, wholeMs)
    return writer.check()
  })
}

/** A group elects by itself: while no manager looks, each member may lead once, and the record follows the last one. */
function tooManyChanges({ mode, instances }: Scene, writers: readonly Writer[], epochs: number): readonly string[] {
  const unseen = mode === 'group' ? instances.length - 1 : 0
  const changes = changesOfServer(writers.flatMap(({ report }) => report.acknowledged))
  return changes > epochs + unseen
    ? [`split: writes were acknowledged by ${changes + 1} servers in turn within ${epochs + 1} epochs`]
    : []
}
