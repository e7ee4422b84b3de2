import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { stringify } from 'yaml'
import { integerFrom } from '#cli/terminal/arguments.ts'
import { modes, type ModeName } from '#failover/protocol/mode-name.ts'
import { describeError } from '#common/errors/errors.ts'
import { startCluster, type TestCluster } from '../support/cluster.ts'
import { diagnose } from '../support/diagnosis.ts'
import { interruption, untilInterrupted } from '../support/interruption.ts'
import { monotonicMs } from '../support/monotonic.ts'
import { Namespaces } from '../support/namespaces.ts'
import { diceOf, type Dice } from './dice.ts'
import { modeFrom, seedFrom } from './options.ts'
import { runCampaign } from './run.ts'
import { playRound, wholeMs, type Round } from './round.ts'
import type { Scene } from './scene.ts'

/**
 * `npm run campaign [-- --seed S] [--minutes M] [--mode semisync|async|group] [--instances N] [--keep]`: real clusters
 * under clients' writes, of all modes in turn unless one is given; random faults, hands among them, alone and several
 * at once, and after each round a look for every acknowledged write. Exits with 2 when anything was lost or split, with
 * 1 when something was stuck.
 */
const roundsPerCluster = 8

interface Options {
  readonly seed: number
  readonly minutes: number
  /** Undefined: both, one cluster after the other. */
  readonly mode: ModeName | undefined
  /** Undefined: drawn for each cluster. */
  readonly instances: number | undefined
  /** The first cluster on which something is wrong goes on running, for a look at it. */
  readonly keep: boolean
}

interface Tally {
  rounds: number
  acknowledged: number
  readonly wrong: string[]
}

function readOptions(): Options {
  const { values } = parseArgs({
    options: {
      seed: { type: 'string' },
      minutes: { type: 'string', default: '5' },
      mode: { type: 'string' },
      instances: { type: 'string' },
      keep: { type: 'boolean', default: false },
    },
  })
  return {
    seed: seedFrom(values.seed),
    minutes: integerFrom(1, 1_440)(values.minutes),
    mode: values.mode === undefined ? undefined : modeFrom(values.mode),
    instances: values.instances === undefined ? undefined : integerFrom(2, 7)(values.instances),
    keep: values.keep,
  }
}

async function campaign(options: Options): Promise<number> {
  const { seed, minutes, keep } = options
  console.log(
    `campaign of ${minutes} min, seed ${seed}: repeat its draws with npm run campaign -- ${repeating(options)}`,
  )
  const dice = diceOf(seed)
  const tally: Tally = { rounds: 0, acknowledged: 0, wrong: [] }
  const endMs = monotonicMs() + minutes * 60_000
  const whyNoNetwork = await Namespaces.whyNot()
  if (whyNoNetwork !== undefined) console.log(`no network is cut: ${whyNoNetwork}`)
  for (let turn = 0; monotonicMs() < endMs && !(keep && tally.wrong.length > 0); turn += 1) {
    const mode = options.mode ?? modes[turn % modes.length] ?? 'semisync'
    const instances = options.instances ?? dice.pick([2, 3, 3, 3, 5])
    const names = Array.from({ length: instances }, (_, ordinal) => `shop-${ordinal}`)
    const cut = dice.share() < 0.5 && whyNoNetwork === undefined
    await withNetwork(cut ? names : undefined, (network, flags) =>
      onOneCluster({ network, flags, names, mode, dice, endMs, keep }, tally),
    )
  }
  return report(tally)
}

function repeating({ seed, minutes, mode, instances }: Options): string {
  const words = [
    `--seed ${seed} --minutes ${minutes}`,
    ...(mode === undefined ? [] : [`--mode ${mode}`]),
    ...(instances === undefined ? [] : [`--instances ${instances}`]),
  ]
  return words.join(' ')
}

/** @returns the exit status: 2 where a promise was broken, 1 where something stood still or nothing was tried */
function report(tally: Tally): number {
  for (const line of tally.wrong) console.log(`WRONG  ${line}`)
  console.log(`${tally.rounds} rounds, ${tally.acknowledged} acknowledged writes, wrong in ${tally.wrong.length}`)
  console.log(`${tally.rounds - tally.wrong.length} passed, ${tally.wrong.length} failed`)
  if (tally.wrong.some((line) => !line.includes(': stuck:'))) return 2
  return tally.wrong.length === 0 && tally.rounds > 0 ? 0 : 1
}

/** Machines of one network that can be cut, where `names` are given. */
async function withNetwork(
  names: readonly string[] | undefined,
  use: (network: Namespaces | undefined, flags: readonly string[]) => Promise<void>,
): Promise<void> {
  if (names === undefined) return use(undefined, [])
  const network = await Namespaces.create(names)
  const scratch = await mkdtemp(join(tmpdir(), 'regent-campaign-'))
  try {
    const hosts = join(scratch, 'hosts.yaml')
    await writeFile(
      hosts,
      stringify(names.map((name) => ({ address: network.address(name), wrapper: network.wrapper(name) }))),
    )
    await use(network, ['--hosts', hosts])
  } finally {
    await rm(scratch, { recursive: true, force: true })
    await network.remove()
  }
}

interface Setting {
  readonly network: Namespaces | undefined
  readonly flags: readonly string[]
  readonly names: readonly string[]
  readonly mode: ModeName
  readonly dice: Dice
  readonly endMs: number
  readonly keep: boolean
}

/** So many rounds on one cluster, fewer where one finds something wrong: what comes after could be its consequence. */
async function onOneCluster({ network, flags, names, mode, dice, endMs, keep }: Setting, tally: Tally): Promise<void> {
  const cluster = await startCluster({ instances: names.length, flags, spec: { mode } })
  console.log(
    `── a cluster of ${names.length}, mode ${mode}${network === undefined ? '' : ', each on a machine of its own'}`,
  )
  let fine = true
  const rounds = async (): Promise<void> => {
    await cluster.whole(names.length, wholeMs)
    for (let turn = 0; fine && turn < roundsPerCluster && monotonicMs() < endMs; turn += 1)
      fine = await oneRound(cluster, { network, mode, dice, instances: names }, tally)
  }
  try {
    await untilInterrupted(rounds, interrupted)
  } finally {
    if (fine || !keep) await cluster.down()
    else
      console.log(
        `kept: REGENT_HOME=${cluster.home} bin/regent topology; end it with REGENT_HOME=${cluster.home} bin/regent local down --purge`,
      )
  }
}

async function oneRound(
  cluster: TestCluster,
  world: Pick<Scene, 'network' | 'mode' | 'dice' | 'instances'>,
  tally: Tally,
): Promise<boolean> {
  const began = monotonicMs()
  const primary = await cluster.primary()
  tally.rounds += 1
  console.log(`round ${tally.rounds}, primary ${primary}`)
  const round: Round = await playRound(
    { ...world, cluster, primary, replicas: world.instances.filter((name) => name !== primary) },
    (line) => console.log(`    ${line}`),
  )
  tally.acknowledged += round.acknowledged
  console.log(
    `    ${round.wrong.length === 0 ? 'fine' : 'WRONG'}: ${round.acknowledged} writes acknowledged, ${((monotonicMs() - began) / 1000).toFixed(1)} s`,
  )
  if (round.wrong.length === 0) return true
  tally.wrong.push(`round ${tally.rounds}: ${round.wrong.join(' · ')} · after ${round.did.join('; ')}`)
  console.log([...round.wrong, ...(await diagnose(cluster))].map((line) => `    ${line}`).join('\n'))
  return false
}

/** The cluster and its network are taken away before the campaign ends. */
const interrupted = interruption()
interrupted.addEventListener('abort', () => console.error(`the campaign is ${describeError(interrupted.reason)}`))

await runCampaign(readOptions, campaign)
