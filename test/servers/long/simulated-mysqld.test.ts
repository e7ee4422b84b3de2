import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { scripts } from '#test/simulation/mysqld/steps/all.ts'
import { playSimulated } from '#test/simulation/mysqld/steps/simulated-stage.ts'
import { playScript } from '#test/simulation/mysqld/steps/stage.ts'
import type { BareInstance } from '#test/support/bare-instance.ts'
import { prepareVolume, RealStage } from '#test/support/real-stage.ts'

let prepared: BareInstance

beforeAll(async () => {
  prepared = await prepareVolume()
})
afterAll(() => prepared.remove())

describe('A real mysqld and a simulated one do the same', () => {
  it.each(scripts)('$title', async (script) => {
    const stage = await RealStage.create(prepared, script.servers)
    try {
      expect(await playScript(script, stage)).toEqual(await playSimulated(script, 1))
    } finally {
      await stage.remove()
    }
  })
})
