import { describe, expect, it } from 'vitest'
import { groupScripts } from './all.ts'
import { playSimulatedGroup } from './simulated-stage.ts'

/** The order of what happens at one moment is drawn: none of that may show. */
const seeds = [1, 2, 3]

describe('In a simulated group', () => {
  it.each(groupScripts)('$title', async (script) => {
    for (const seed of seeds) expect(await playSimulatedGroup(script, seed)).toEqual(script.seen)
  })
})
