import { configureGlobal } from 'fast-check'
import { SeededRandom } from '../simulation/seeded-random.ts'

/** What random tests draw from: one and the same for each change. `npm run test:all` gives another one each time. */
const given = process.env['REGENT_SEED']
export const seed = Number(given ?? 1)
configureGlobal({ seed })

/** Whether all of many like cases are tried: in `npm run test:all`. Where a change is tested, some of each kind are. */
export const isThorough = given !== undefined

/** Seeds that nobody played before, in `npm run test:all`; none where a change is tested: its draws are fixed. */
export function freshSeeds(count: number): readonly number[] {
  const random = new SeededRandom(seed)
  return isThorough ? Array.from({ length: count }, () => random.below(1_000_000_000)) : []
}
