import { availableParallelism } from 'node:os'
import { parseArgs } from 'node:util'
import { Worker, isMainThread, parentPort, workerData } from 'node:worker_threads'
import { families, type Family } from './families.ts'
import { play, type Outcome, type PlayOptions } from './schedule.ts'
import { shortest } from './shortest.ts'

const help = `Plays clusters in memory: shipped agents and managers on simulated servers, disks, networks and clocks.

    npm run simulate                                20,000 schedules, seeds from a random one on
    npm run simulate -- --seeds N --seed S          N schedules, seeds S, S + 1, …
    npm run simulate -- --replay S [--only 0,3]     one schedule, told line by line; only these of its faults
    npm run simulate -- --alike --replay S          …, where all machines are equally fast
    npm run simulate -- --family F --replay S       …, of the faults of one family (test/simulation/families.ts)
    npm run simulate -- --family F --seeds N        N schedules of that family
    npm run simulate -- --mode group                the same as --family group: replication groups, of all their faults
    npm run simulate -- --mode async --far          the same as --family far: servers far from their agents
    npm run simulate -- --workers W                 W at once (default: one for each processor)

A schedule that breaks a rule is cut down to the faults that matter, told, and the exit code is 1.`

/** What a schedule makes is gone soon: a large young generation is collected seldom, and little of that is alive. */
const resourceLimits = { maxYoungGenerationSizeMb: 128 }

/** What one worker plays. */
interface Share {
  readonly first: number
  readonly step: number
  readonly end: number
  readonly family: Family | undefined
}

interface Played extends Outcome {
  readonly seed: number
}

if (isMainThread) process.exitCode = await main()
else await work(workerData as Share)

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      seeds: { type: 'string', default: '20000' },
      seed: { type: 'string' },
      replay: { type: 'string' },
      only: { type: 'string' },
      alike: { type: 'boolean', default: false },
      family: { type: 'string' },
      mode: { type: 'string' },
      far: { type: 'boolean', default: false },
      workers: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) {
    console.log(help)
    return 0
  }
  const family = familyIn(values.family ?? ofMode(values.mode, values.far))
  if (values.replay !== undefined)
    return replay(numberIn('replay', values.replay), values.only, { alike: values.alike, family })
  const count = numberIn('seeds', values.seeds)
  const first = values.seed === undefined ? Math.floor(Math.random() * 1_000_000_000) : numberIn('seed', values.seed)
  const workers = values.workers === undefined ? availableParallelism() : numberIn('workers', values.workers)
  return simulate({ first, count, family }, Math.max(1, workers))
}

function numberIn(option: string, text: string): number {
  if (!/^\d{1,10}$/.test(text)) throw new Error(`--${option} is ${JSON.stringify(text)}; allowed is a whole number`)
  return Number(text)
}

/** The family of all faults of a mode. */
function ofMode(mode: string | undefined, isFar: boolean): string | undefined {
  if (isFar && mode !== 'async') throw new Error('--far needs --mode async')
  if (isFar) return 'far'
  return mode === 'semisync' ? undefined : mode
}

function familyIn(name: string | undefined): Family | undefined {
  if (name === undefined || name in families) return name as Family | undefined
  throw new Error(`--family is ${JSON.stringify(name)}; there are ${Object.keys(families).join(', ')}`)
}

async function replay(seed: number, only: string | undefined, how: PlayOptions = {}): Promise<number> {
  const faults = only === '' ? [] : only?.split(',').map((fault) => numberIn('only', fault))
  const { violation, acknowledged } = await play(seed, { ...how, only: faults, trace: (line) => console.log(line) })
  console.log(`seed ${seed}: ${acknowledged} writes acknowledged; ${violation ?? 'every rule was kept'}`)
  return violation === undefined ? 0 : 1
}

async function simulate(
  { first, count, family }: { first: number; count: number; family: Family | undefined },
  workers: number,
): Promise<number> {
  const beganMs = performance.now()
  const seconds = (): number => (performance.now() - beganMs) / 1_000
  console.log(`${count} schedules, seeds ${first} to ${first + count - 1}, ${workers} at once`)
  const sums = { played: 0, acknowledged: 0, events: 0 }
  const broken: Played[] = []
  const tell = (): void => {
    const pace = `${(sums.played / seconds()).toFixed(1)} a second`
    console.log(
      `${seconds().toFixed(0).padStart(5)} s  ${sums.played} of ${count} played, ${pace}, ${broken.length} broke a rule`,
    )
  }
  const telling = setInterval(tell, 10_000)
  const heard = (played: Played): void => {
    sums.played += 1
    sums.acknowledged += played.acknowledged
    sums.events += played.events
    if (played.violation === undefined) return
    broken.push(played)
    console.log(`       seed ${played.seed}: ${played.violation}`)
  }
  await Promise.all(
    Array.from({ length: workers }, (_, at) =>
      inWorker({ first: first + at, step: workers, end: first + count, family }, heard),
    ),
  )
  clearInterval(telling)
  tell()
  console.log(`${sums.events} events, ${sums.acknowledged} writes acknowledged`)
  const one = broken.toSorted((a, b) => a.faults - b.faults)[0]
  if (one === undefined) return 0
  console.log(`\nCutting seed ${one.seed} down: which of its ${one.faults} faults matter?`)
  const only = (await shortest(one.seed, one, { family })).join(',')
  console.log(`These matter: ${only}. What happens then (── a fault, ══ the rule that is broken):\n`)
  await replay(one.seed, only, { family })
  const which = family === undefined ? '' : ` --family ${family}`
  console.log(`\nAgain: npm run simulate --${which} --replay ${one.seed} --only ${only}`)
  return 1
}

function inWorker(data: Share, heard: (played: Played) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL(import.meta.url), { workerData: data, resourceLimits })
    worker.on('message', heard)
    worker.on('error', reject)
    worker.on('exit', () => resolve())
  })
}

async function work({ first, step, end, family }: Share): Promise<void> {
  for (let seed = first; seed < end; seed += step) {
    const outcome = await play(seed, { family }).catch((error: unknown): Outcome => {
      const violation = `crashed: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`
      return { violation, acknowledged: 0, events: 0, faults: 0 }
    })
    parentPort?.postMessage({ seed, ...outcome })
  }
}
