import { describe, expect, it } from 'vitest'
import { scripts } from './all.ts'
import { playSimulated } from './simulated-stage.ts'

/** The order of what happens at one moment is drawn: none of that may show. */
const seeds = [1, 2, 3]

describe('On simulated servers', () => {
  it.each(scripts)('$title', async (script) => {
    for (const seed of seeds) expect(await playSimulated(script, seed)).toEqual(script.seen)
  })
})
