import { play } from '../simulation/schedule.ts'
import type { Family } from '../simulation/families.ts'

/** What one process plays, as its only argument in JSON. */
export interface Hunt {
  readonly first: number
  readonly count: number
  readonly family?: Family | undefined
}

/** The only line that the process prints. */
export interface Found {
  readonly seed: number
  /** How many were played. */
  readonly schedules: number
  /** Undefined where every rule was kept in all of them. */
  readonly broke: string | undefined
}

/** An agent that cannot start says so to nobody here: its cluster is stuck, and that is what is found. */
process.on('unhandledRejection', () => undefined)

async function hunt({ first, count, family }: Hunt): Promise<Found> {
  for (let seed = first; seed < first + count; seed += 1) {
    const { violation } = await play(seed, { family })
    if (violation !== undefined) return { seed, schedules: seed - first + 1, broke: violation }
  }
  return { seed: first + count, schedules: count, broke: undefined }
}

if (import.meta.main) {
  console.log(JSON.stringify(await hunt(JSON.parse(process.argv[2] ?? '') as Hunt)))
  process.exit(0)
}
