import { parseArgs } from 'node:util'
import type { Archive } from '#backup/archive/history.ts'
import { chainsOf, windowOf } from '#backup/restore/window.ts'
import { integerFrom } from '#cli/terminal/arguments.ts'
import { describeError } from '#common/errors/errors.ts'
import type { ModeName } from '#failover/protocol/mode-name.ts'
import { parseGtidSet } from '#topology/gtid/gtid-set.ts'
import { startCluster, type TestCluster } from '../../support/cluster.ts'
import { diagnose } from '../../support/diagnosis.ts'
import { interruption, untilInterrupted } from '../../support/interruption.ts'
import { monotonicMs } from '../../support/monotonic.ts'
import { diceOf, type Dice } from '../dice.ts'
import { modeFrom, seedFrom } from '../options.ts'
import { runCampaign } from '../run.ts'
import { playRound, wholeMs } from '../round.ts'
import { Diarist } from './diarist.ts'
import { beforeEntry, isAcked, judged, newest, untilEntry, untilSecond, type Entry, type Moment } from './diary.ts'
import { backUp, besideARound } from './faults.ts'
import { kinds, ticking } from './kinds.ts'
import { lookAt, restoredAt } from './restored.ts'
import { Stage } from './stage.ts'

/**
 * `npm run campaign:restores [-- --seed S] [--minutes M] [--restores N] [--mode semisync|group]`: clients that keep a
 * diary write to a real cluster while faults strike servers, agents, managers and the store of backups, and backups are
 * made. Then the cluster is restored to N moments, and each is compared with the diary. Exits with 2 where one differs.
 */
interface Options {
  readonly seed: number
  readonly minutes: number
  readonly restores: number
  readonly mode: ModeName
}

const instances = ['shop-0', 'shop-1', 'shop-2']
const diarists = 3
const numbersEach = 10_000_000

function readOptions(): Options {
  const { values } = parseArgs({
    options: {
      seed: { type: 'string' },
      minutes: { type: 'string', default: '5' },
      restores: { type: 'string', default: '20' },
      mode: { type: 'string', default: 'semisync' },
    },
  })
  return {
    seed: seedFrom(values.seed),
    minutes: integerFrom(1, 1_440)(values.minutes),
    restores: integerFrom(1, 10_000)(values.restores),
    mode: modeFrom(values.mode),
  }
}

async function campaign(options: Options): Promise<number> {
  const { seed, minutes, restores, mode } = options
  console.log(
    `${restores} restores after ${minutes} min, mode ${mode}: repeat the draws with --seed ${seed} --minutes ${minutes} --restores ${restores} --mode ${mode}`,
  )
  const stage = await Stage.make()
  console.log(`backups lie in ${stage.store.address}`)
  try {
    return await onStage(stage, options)
  } finally {
    await stage.remove()
  }
}

async function onStage(stage: Stage, { seed, minutes, restores, mode }: Options): Promise<number> {
  const dice = diceOf(seed)
  const backup = {
    store: stage.store,
    schedule: null,
    rehearsal: { schedule: null },
    archive: { everySeconds: 1 },
    retention: { last: 1_000 },
  }
  const cluster = await startCluster({ instances: instances.length, spec: { mode, backup } })
  try {
    const work = async () => {
      const diary = await written(cluster, { stage, dice, mode, endMs: monotonicMs() + minutes * 60_000 })
      const archive = await untilArchived(cluster, stage)
      return compared(cluster, { stage, diary, moments: momentsOf(diary, archive, restores, dice) })
    }
    return await untilInterrupted(work, interrupted)
  } catch (error) {
    console.log([...(await diagnose(cluster)), ...(await windowOfStore(cluster, stage))].join('\n'))
    throw error
  } finally {
    await cluster.down()
  }
}

interface Setting {
  readonly stage: Stage
  readonly dice: Dice
  readonly mode: ModeName
  readonly endMs: number
}

/** Rounds of faults beside clients with a diary. */
async function written(cluster: TestCluster, { stage, dice, mode, endMs }: Setting): Promise<readonly Entry[]> {
  await cluster.whole(instances.length, wholeMs)
  await makeTables(cluster)
  console.log(await backUp(cluster))
  const clients = Array.from(
    { length: diarists },
    (_, at) => new Diarist(cluster, diceOf(dice.between(0, 999_999_999)), at * numbersEach + 1),
  )
  try {
    for (let round = 1; monotonicMs() < endMs; round += 1) {
      const primary = await cluster.primary()
      const scene = { cluster, mode, network: undefined, dice, instances, primary }
      const replicas = instances.filter((name) => name !== primary)
      const say = (line: string) => console.log(`    ${line}`)
      console.log(`round ${round}, primary ${primary}`)
      const [played, beside] = await Promise.all([
        playRound({ ...scene, replicas }, say),
        besideARound({ cluster, stage, dice }),
      ])
      for (const line of beside) say(line)
      // What a busy machine had no time for is no subject here.
      for (const line of played.wrong) say(line)
      const broken = played.wrong.filter((line) => !line.startsWith('stuck:'))
      if (broken.length > 0) throw new Error(`round ${round} went wrong: ${broken.join(' · ')}`)
      await cluster.whole(instances.length, wholeMs)
    }
  } finally {
    await Promise.all(clients.map((client) => client.stop()))
  }
  await cluster.whole(instances.length, wholeMs)
  const diary = clients.flatMap(({ entries }) => entries)
  console.log(`${diary.filter(isAcked).length} transactions acknowledged, ${diary.length} tried`)
  return diary
}

async function makeTables(cluster: TestCluster): Promise<void> {
  const session = await cluster.session(await cluster.primary(), 'admin', 10_000)
  try {
    await session.query('use app')
    for (const statement of [...kinds.flatMap(({ tables }) => tables), ...ticking]) await session.query(statement)
  } finally {
    session.destroy()
  }
}

async function windowOfStore(cluster: TestCluster, stage: Stage): Promise<readonly string[]> {
  const archive = await stage.archive(cluster.name)
  const executed = parseGtidSet(await cluster.value(await cluster.primary(), 'select @@gtid_executed'))
  return [
    `executed: ${executed.toString()}`,
    ...chainsOf(archive).map(
      (chain) => `${chain.backup.name} reaches ${chain.gtids.toString()}, ${String(chain.hole?.why ?? 'no hole')}`,
    ),
  ]
}

async function untilArchived(cluster: TestCluster, stage: Stage): Promise<Archive> {
  const wanted = parseGtidSet(await cluster.value(await cluster.primary(), 'select @@gtid_executed'))
  return cluster.until(
    'the archive has all that was executed',
    async () => {
      const archive = await stage.archive(cluster.name)
      return chainsOf(archive).some(({ gtids }) => gtids.contains(wanted)) && archive
    },
    300_000,
  )
}

/** Drawn from what can be restored: seconds of the window, and transactions behind the first backup. */
function momentsOf(diary: readonly Entry[], archive: Archive, count: number, dice: Dice): readonly Moment[] {
  const { spans } = windowOf(archive)
  if (spans.length > 1) console.log(`the archive has holes: ${spans.length} spans`)
  const isIn = (atMs: number) => spans.some(({ fromMs, toMs }) => atMs > fromMs && atMs < toMs)
  const acked = diary.filter(isAcked).filter(({ beganMs, ackedMs }) => isIn(beganMs) && isIn(ackedMs))
  const draws = [
    () => {
      const { fromMs, toMs } = dice.pick(spans)
      return untilSecond(dice.between(Math.ceil(fromMs / 1_000), Math.floor(toMs / 1_000)))
    },
    () => untilEntry(dice.pick(acked)),
    () => beforeEntry(dice.pick(acked)),
  ]
  return [newest, ...Array.from({ length: count - 1 }, () => dice.pick(draws)())]
}

interface Compared {
  readonly stage: Stage
  readonly diary: readonly Entry[]
  readonly moments: readonly Moment[]
}

/** @returns the exit status */
async function compared(cluster: TestCluster, { stage, diary, moments }: Compared): Promise<number> {
  const { ticks } = await lookAt(cluster)
  let failed = 0
  for (const moment of moments) {
    const beganMs = monotonicMs()
    const wrong = await wrongAt(moment).catch((error: unknown) => [`no restore: ${describeError(error)}`])
    const seconds = ((monotonicMs() - beganMs) / 1_000).toFixed(1)
    const verdict = wrong.length === 0 ? 'as the diary' : `WRONG: ${wrong.length}: ${wrong.slice(0, 5).join('; ')}`
    console.log(`restore ${moment.words.join(' ') || 'to the newest'}: ${verdict}, ${seconds} s`)
    if (wrong.length > 0) failed += 1
  }
  console.log(`${moments.length - failed} passed, ${failed} failed`)
  return failed === 0 ? 0 : 2

  async function wrongAt(moment: Moment): Promise<readonly string[]> {
    const beganAt = new Date().toISOString().replace('T', ' ')
    const look = await restoredAt(stage, cluster.name, moment)
    // The event goes on in the new cluster.
    const old = look.ticks.filter((tick) => tick.split(' ').slice(1).join(' ') < beganAt)
    const strange = old.filter((tick, at) => ticks[at] !== tick)
    return [
      ...judged(diary, look.seen, moment),
      ...strange.map((tick) => `a row of the event is another one, or out of order: ${tick}`),
    ]
  }
}

/** The cluster is taken away before the campaign ends. */
const interrupted = interruption()

await runCampaign(readOptions, campaign)
