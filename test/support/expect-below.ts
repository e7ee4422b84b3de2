import { expect } from 'vitest'

/** `npm run test:all` sets this; a machine that others use says nothing about a change. */
const isJudged = process.env['REGENT_JUDGE_MEASURES'] === 'true'

/**
 * A time or a size that was measured is below `limit`. `npm run test:all` judges that; where tests run beside others,
 * as a change is tested, it is only told: a busy machine is not a fault of the change.
 */
export function expectBelow(limit: number, measured: number | undefined): void {
  if (isJudged) expect(measured).toBeLessThan(limit)
  else if (!(measured !== undefined && measured < limit))
    console.warn(`${expect.getState().currentTestName ?? ''}: measured ${measured}, expected to be below ${limit}`)
}
